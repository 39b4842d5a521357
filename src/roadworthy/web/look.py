"""What runs found, as the page Look shows it: a wall of cases, one at a time, and what people say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from roadworthy.errors import InputError
from roadworthy.web.compare import known_runs
from roadworthy.web.jobs.queue import ID
from roadworthy.web.runs import found_in
from roadworthy.web.services import Here, RunFolder
from roadworthy.web.settings import REPORT, file_below
from roadworthy.web.wall import MARKS, CaseMark, Said, Selection, Word, add_mark

router = APIRouter(prefix="/look")

_MOST = 200  # cases in one answer
Name = Annotated[str, Field(max_length=2000)]


class _Case(BaseModel):
    """Which case is meant."""

    model_config = ConfigDict(extra="forbid")
    requirement: Word
    system: Word
    case: Name


class _Said(_Case):
    """What somebody says of a case."""

    mark: Said
    note: Annotated[str, Field(max_length=2000)] = ""
    rater: Annotated[str, Field(max_length=80)] = ""


@router.get("")
def choose(request: Request, services: Here) -> Response:
    """Return the list of runs to look at."""
    runs = [(one, _sentence(one.folder)) for one in known_runs(services)]
    return services.pages.page(request, "look_runs.html", runs=runs)


def _sentence(folder: Path) -> str:
    """Return what a run found in a sentence, or why it cannot be read."""
    try:
        return found_in(folder).whole.sentence
    except InputError as error:
        return str(error)


@router.get("/{name}")
def page(request: Request, services: Here, folder: RunFolder, name: str) -> Response:
    """Return the wall of a run."""
    try:
        wall = services.walls.fresh(folder)
    except InputError as error:
        return services.pages.page(request, "error.html", heading="Nothing to look at yet", reason=str(error))
    return services.pages.page(
        request,
        "look.html",
        name=name,
        shrinks=bool(ID.fullmatch(name)) and services.queue.job(name).ask.kind == "rules",
        facets=wall.facets(),
        amounts=wall.amounts(),
        orders=wall.orders(),
        texts=wall.texts,
        marks=MARKS,
        has_report=file_below(folder, REPORT) is not None,
    )


class _Window(Selection):
    """Some of the selected cases."""

    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=_MOST)] = 60


@router.get("/{name}/cases")
def cases(services: Here, folder: RunFolder, asked: Annotated[_Window, Query()]) -> dict[str, Any]:
    """Return some of the selected cases."""
    return services.walls.kept(folder).window(asked, asked.offset, asked.limit)


class _Place(Selection):
    """A case among the selected ones; it has its own words for what a selection says of many."""

    of: Word
    on: Word
    case: Name


@router.get("/{name}/place")
def place(services: Here, folder: RunFolder, asked: Annotated[_Place, Query()]) -> dict[str, int | None]:
    """Return the place of a case among the selected ones, so that one can go on from there."""
    return {"place": services.walls.kept(folder).place(asked, asked.of, asked.on, asked.case)}


@router.get("/{name}/case")
def case(services: Here, folder: RunFolder, asked: Annotated[_Case, Query()]) -> dict[str, Any]:
    """Return one case, which an address may name."""
    return services.walls.kept(folder).case(asked.requirement, asked.system, asked.case)


@router.get("/{name}/test")
def test(services: Here, folder: RunFolder, name: str, asked: Annotated[_Case, Query()]) -> dict[str, str]:
    """Return one case as a suite of its own, or why there is none."""
    found = services.walls.kept(folder).case(asked.requirement, asked.system, asked.case)
    ask = services.queue.job(name).ask if ID.fullmatch(name) else None
    try:
        copied = services.copied(folder, found, ask)
    except InputError as error:
        return {"text": "", "file": "", "reason": str(error)}
    return {"text": copied.text, "file": copied.file, "reason": ""}


@router.post("/{name}/least")
def least(services: Here, folder: RunFolder, name: str, asked: _Case) -> dict[str, Any]:
    """Return the least change with which a case still fails, of a run that was started here."""
    if not ID.fullmatch(name):
        raise InputError(
            "only cases of runs that were started here can be shrunk; `roadworthy rules run --shrink` does "
            "it for others"
        )
    found = services.walls.kept(folder).case(asked.requirement, asked.system, asked.case)
    return services.least(services.queue.job(name).ask, found)


@router.post("/{name}/marks", status_code=201)
def mark(services: Here, folder: RunFolder, said: _Said) -> dict[str, Any]:
    """Store what somebody says of a case."""
    services.walls.kept(folder).case(said.requirement, said.system, said.case)
    stored = add_mark(folder, CaseMark(**said.model_dump()))
    return {"mark": stored.mark, "note": stored.note, "time": stored.time}
