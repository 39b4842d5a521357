"""The page Studies: what people are asked, how they answer, and what they think."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field

from roadworthy.errors import InputError
from roadworthy.studies import open_study, studies_in
from roadworthy.studies.clip_results import ClipStudy
from roadworthy.studies.pairs import PairStudy, draw_pairs
from roadworthy.studies.study import Study, rater_name
from roadworthy.web.compare import known_runs, systems_of
from roadworthy.web.pages import shown_file
from roadworthy.web.services import Here, Services, folder_of
from roadworthy.web.settings import file_below
from roadworthy.web.wall import mark_agreement

router = APIRouter(prefix="/studies")

Name = Annotated[str, Field(max_length=80)]


class _Form(BaseModel, extra="forbid"):
    """What a page sends."""


class _Draw(_Form):
    """What study to draw."""

    run: Annotated[str, Field(max_length=200)]
    system: Annotated[str, Field(max_length=500)]
    pairs: Annotated[int | None, Field(ge=2, le=2000)] = None
    groups: Annotated[int, Field(ge=1, le=100)] = 1
    raters: Annotated[int, Field(ge=2, le=100)] = 8
    balanced: bool = True
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class _Begin(_Form):
    """Who takes part."""

    rater: Name


class _Answer(_Begin):
    """What somebody answers."""

    item: Annotated[str, Field(max_length=200)]
    values: dict[str, int | float | str | None] = Field(max_length=8)


def _task(services: Here, run: str, id: str) -> Study:
    folder = folder_of(services, run)
    try:
        return open_study(folder, id)
    except InputError as error:
        raise HTTPException(404, str(error)) from error


_Task: TypeAlias = Annotated[Study, Depends(_task)]


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return the list of studies, and the form that draws one."""
    runs = known_runs(services)
    marks = [(one, mark_agreement(one.folder)) for one in runs]
    return services.pages.page(
        request,
        "studies.html",
        studies=[
            _listed(name, folder, id) for name, folder in _folders(services) for id in studies_in(folder)
        ],
        # Only rules have pairs that people can judge.
        runs=[(one, systems) for one in runs if (systems := systems_of(one.folder, "rules"))],
        marks=[(one, found) for one, found in marks if found.marked],
    )


@router.post("/draw", status_code=201)
def draw(services: Here, asked: _Draw) -> dict[str, str]:
    """Draw a blind study from a run."""
    how = asked.model_dump(exclude={"run", "system", "pairs"})
    id = draw_pairs(folder_of(services, asked.run), asked.system, count=asked.pairs, **how)
    return {"url": f"/studies/{quote(asked.run)}/{id}"}


@router.get("/{run}/{id}")
def study(request: Request, services: Here, task: _Task, run: str, id: str) -> Response:
    """Return how far a study has come."""
    parts = task.parts()
    given, asked = sum(min(one.raters, one.wanted) for one in parts), sum(one.wanted for one in parts)
    shown: dict[str, Any] = {"task": task, "url": f"/studies/{run}/{id}", "run": run, "parts": parts}
    return services.pages.page(request, "study.html", given=given, asked=asked, **shown)


@router.get("/{run}/{id}/take")
def take(request: Request, services: Here, task: _Task, run: str, id: str) -> Response:
    """Return the page on which people answer; nothing on it says what is asked about."""
    return services.pages.page(request, f"take_{task.kind}.html", task=task, url=f"/studies/{run}/{id}")


@router.get("/{run}/{id}/results")
def results(request: Request, services: Here, task: _Task, run: str, id: str) -> Response:
    """Return what people think."""
    problem, found = "The results of this experiment are on the page Thresholds.", None
    try:
        if isinstance(task, PairStudy | ClipStudy):
            problem, found = "", task.result()
    except InputError as error:
        problem = str(error)
    shown: dict[str, Any] = {"pairs": None, "clips": None, task.kind: found, "problem": problem}
    return services.pages.page(request, "study_results.html", task=task, url=f"/studies/{run}/{id}", **shown)


@router.post("/{run}/{id}/begin")
def begin(task: _Task, asked: _Begin) -> dict[str, Any]:
    """Return what a person is asked next."""
    rater = rater_name(asked.rater)
    return {"rater": rater, **task.begin(rater)}


@router.post("/{run}/{id}/answer", status_code=201)
def answer(task: _Task, said: _Answer) -> dict[str, str]:
    """Store an answer."""
    task.answer(rater_name(said.rater), said.item, said.values)
    return {"item": said.item}


@router.get("/{run}/{id}/shown/{path:path}")
def shown(task: _Task, path: str) -> Response:
    """Return a picture or a clip that the plan shows to people."""
    found = file_below(task.home, path) if path in task.shown_files else None
    return shown_file(found, films=True, otherwise="This study shows no such file.")


def _folders(services: Services) -> list[tuple[str, Path]]:
    given = [(name, services.folders.folder(name)) for name in services.folders.names]
    return given + [(job.id, job.run) for job in services.queue.jobs()]


def _listed(run: str, folder: Path, id: str) -> dict[str, Any]:
    """Return a study as the list shows it; without a task where it cannot be opened, but with the reason."""
    listed = {"run": run, "id": id, "url": f"/studies/{run}/{id}", "task": None, "problem": ""}
    try:
        return {**listed, "task": open_study(folder, id)}
    except InputError as error:
        return {**listed, "problem": str(error)}
