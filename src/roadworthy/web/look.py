"""What runs found, as the page Look shows it: a wall of cases, one at a time, and what people say of it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from roadworthy.errors import InputError
from roadworthy.report.kinds import FILE, failures_of, kinds_of, recorded_kinds
from roadworthy.runs.store import StoredRun
from roadworthy.web.compare import known_runs
from roadworthy.web.jobs.queue import ID
from roadworthy.web.services import Here, RunFolder
from roadworthy.web.settings import REPORT, file_below
from roadworthy.web.wall import CaseMark, CaseName, Said, add_marks

router = APIRouter(prefix="/look")

_MOST = 200  # cases in one answer
_WATCHED = 15.0  # seconds without a question, after which nobody looks at a case any more


class _Cases(BaseModel):
    """Some cases."""

    cases: Annotated[tuple[CaseName, ...], Field(min_length=1, max_length=_MOST)]


class _Said(CaseName):
    """What somebody says of a case."""

    mark: Said
    note: Annotated[str, Field(max_length=2000)] | None = None
    rater: Annotated[str, Field(max_length=80)] = ""


class _Marks(BaseModel):
    """What somebody says of some cases."""

    marks: Annotated[tuple[_Said, ...], Field(min_length=1, max_length=_MOST)]


@router.get("")
def latest(services: Here) -> Response:
    """Lead to the wall of the run that wrote something last; without any, to the list of runs."""
    runs = sorted(known_runs(services), key=lambda one: one.folder.stat().st_mtime)
    return RedirectResponse(f"/look/{quote(runs[-1].name, safe='')}" if runs else "/runs", 303)


@router.get("/{name}")
def page(request: Request, services: Here, folder: RunFolder, name: str) -> Response:
    """Return the wall of a run."""
    try:
        services.walls.fresh(folder)
    except InputError as error:
        return services.pages.page(request, "error.html", heading="Nothing to look at yet", reason=str(error))
    return services.pages.page(
        request,
        "look.html",
        name=name,
        has_report=file_below(folder, REPORT) is not None,
        recorded=(folder / FILE).is_file(),
    )


@router.get("/{name}/table")
def table(services: Here, folder: RunFolder) -> dict[str, Any]:
    """Return all cases as columns, which the page filters, counts and sorts."""
    return services.walls.kept(folder).table()


@router.get("/{name}/kinds")
def kinds(services: Here, folder: RunFolder) -> dict[str, Any]:
    """Return the kinds of failures, or how far the server has come with finding them."""
    run = StoredRun.open(folder)
    rows, content = failures_of(run)
    if (recorded := recorded_kinds(run, content)) is not None:
        return {"found": recorded, "problem": "", "work": ""}
    return services.awaited(("kinds", content), partial(kinds_of, run, rows))


@router.post("/{name}/cases")
def cases(services: Here, folder: RunFolder, asked: _Cases) -> dict[str, Any]:
    """Return everything about some cases."""
    return {"cases": services.walls.kept(folder).cases(asked.cases)}


@router.get("/{name}/case")
def case(services: Here, folder: RunFolder, asked: Annotated[CaseName, Query()]) -> dict[str, Any]:
    """Return one case, which an address may name."""
    return services.walls.kept(folder).case(asked)


@router.post("/{name}/test")
def test(services: Here, folder: RunFolder, name: str, asked: _Cases) -> dict[str, str]:
    """Return some cases as a suite of their own, or why there is none."""
    ask = services.queue.job(name).ask if ID.fullmatch(name) else None
    found = [services.walls.kept(folder).case(one) for one in asked.cases]
    try:
        copied = services.copied(folder, found, ask)
    except InputError as error:
        return {"text": "", "file": "", "reason": str(error)}
    return {"text": copied.text, "file": copied.file, "reason": ""}


@router.post("/{name}/least")
@router.post("/{name}/attention")
def closer(request: Request, services: Here, folder: RunFolder, asked: CaseName) -> dict[str, Any]:
    """Return the least change with which a case still fails or what its model looks at, or how far it is."""
    found = services.walls.kept(folder).case(asked)
    what = request.url.path.rpartition("/")[2]
    key = (what, folder, found["pictures"], found["margin"], *asked.key)
    return services.awaited(key, partial(services.closer, what, folder, found), _WATCHED)


@router.post("/{name}/seen")
def seen(services: Here, folder: RunFolder, asked: CaseName) -> dict[str, Any]:
    """Return what each pixel of a case's pictures shows, and how near it is, as a network sees it."""
    return services.seen(folder, services.walls.kept(folder).case(asked))


@router.post("/{name}/marks", status_code=201)
def mark(services: Here, folder: RunFolder, said: _Marks) -> dict[str, int]:
    """Store what somebody says of some cases, or of none where one is not there."""
    wall = services.walls.kept(folder)
    if len(wall.cases(said.marks)) < len(said.marks):
        for one in said.marks:
            wall.case(one)
    add_marks(folder, [CaseMark(**one.model_dump()) for one in said.marks])
    return {"stored": len(said.marks)}
