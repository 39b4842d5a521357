"""The page Look: a wall of failures, one of them closely, and what people say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from roadworthy.errors import InputError
from roadworthy.web.comparing.choosing import known_runs
from roadworthy.web.folders import REPORT, file_below
from roadworthy.web.jobs.states import ID
from roadworthy.web.looking.marks import MARKS, Mark, Said, add_mark
from roadworthy.web.looking.results import found_in
from roadworthy.web.looking.wall import Choice
from roadworthy.web.room import room_of
from roadworthy.web.routes.runs import folder_of

__all__ = ["router"]

router = APIRouter(prefix="/look")

_MOST = 200  # cases in one answer
Short = Annotated[str, Query(max_length=500)]
Name = Annotated[str, Query(max_length=2000)]
Limit = Annotated[float | None, Query(allow_inf_nan=False)]


class _Case(BaseModel):
    """Which case is meant."""

    model_config = ConfigDict(extra="forbid")
    requirement: Annotated[str, Field(max_length=500)]
    system: Annotated[str, Field(max_length=500)]
    case: Annotated[str, Field(max_length=2000)]


class _Said(_Case):
    """What somebody says of a case."""

    mark: Said
    note: Annotated[str, Field(max_length=2000)] = ""
    rater: Annotated[str, Field(max_length=80)] = ""


@router.get("")
def choose(request: Request) -> Response:
    """Return the list of runs to look at."""
    room = room_of(request)
    runs = [(one, _sentence(one.folder)) for one in known_runs(room)]
    return room.pages.page(request, "look_runs.html", runs=runs)


def _sentence(folder: Path) -> str:
    """Return what a run found in a sentence, or why it cannot be read."""
    try:
        return found_in(folder).whole.sentence
    except InputError as error:
        return str(error)


@router.get("/{name}")
def page(request: Request, name: str) -> Response:
    """Return the wall of a run."""
    room = room_of(request)
    folder = folder_of(room, name)
    try:
        wall = room.walls.fresh(folder)
    except InputError as error:
        return room.pages.page(
            request, "error.html", heading="There is nothing to look at yet", reason=str(error)
        )
    return room.pages.page(
        request,
        "look.html",
        name=name,
        shrinks=bool(ID.fullmatch(name)) and room.queue.job(name).ask.kind == "rules",
        facets=wall.facets(),
        amounts=wall.amounts(),
        orders=wall.orders(),
        texts=wall.texts,
        marks=MARKS,
        has_report=file_below(folder, REPORT) is not None,
    )


def _chosen(
    requirement: Short = "",
    system: Short = "",
    status: Short = "failures",
    change: Short = "",
    mark: Short = "",
    order: Short = "margin",
    tag: Short = "",
    amount: Short = "visual_change",
    least: Limit = None,
    most: Limit = None,
) -> Choice:
    """Return what an address chooses."""
    return Choice(requirement, system, status, change, mark, order, tag, amount, least, most)


Chosen = Annotated[Choice, Depends(_chosen)]


@router.get("/{name}/cases")
def cases(
    request: Request,
    name: str,
    choice: Chosen,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 60,
) -> dict[str, Any]:
    """Return some of the chosen cases."""
    room = room_of(request)
    return room.walls.kept(folder_of(room, name)).window(choice, offset, limit)


@router.get("/{name}/place")
def place(
    request: Request, name: str, choice: Chosen, of: Short, on: Short, case: Name
) -> dict[str, int | None]:
    """Return the place of a case among the chosen ones, so that one can go on from there."""
    room = room_of(request)
    return {"place": room.walls.kept(folder_of(room, name)).place(choice, of, on, case)}


@router.get("/{name}/case")
def case(request: Request, name: str, requirement: Short, system: Short, case: Name) -> dict[str, Any]:
    """Return one case, which an address may name."""
    room = room_of(request)
    return room.walls.kept(folder_of(room, name)).case(requirement, system, case)


@router.get("/{name}/test")
def test(request: Request, name: str, requirement: Short, system: Short, case: Name) -> dict[str, str]:
    """Return one case as a suite of its own, or why there is none."""
    room = room_of(request)
    folder = folder_of(room, name)
    found = room.walls.kept(folder).case(requirement, system, case)
    ask = room.queue.job(name).ask if ID.fullmatch(name) else None
    try:
        copied = room.copied(folder, found, ask)
    except InputError as error:
        return {"text": "", "file": "", "reason": str(error)}
    return {"text": copied.text, "file": copied.file, "reason": ""}


@router.post("/{name}/least")
def least(request: Request, name: str, asked: _Case) -> dict[str, Any]:
    """Return the least change with which a case still fails, of a run that was started here."""
    room = room_of(request)
    folder = folder_of(room, name)
    if not ID.fullmatch(name):
        raise InputError(
            "only cases of runs that were started here can be shrunk; `roadworthy rules run --shrink` does "
            "it for others"
        )
    found = room.walls.kept(folder).case(asked.requirement, asked.system, asked.case)
    return room.least(room.queue.job(name).ask, found)


@router.post("/{name}/marks", status_code=201)
def mark(request: Request, name: str, said: _Said) -> dict[str, Any]:
    """Store what somebody says of a case."""
    room = room_of(request)
    folder = folder_of(room, name)
    room.walls.kept(folder).case(said.requirement, said.system, said.case)
    stored = add_mark(folder, Mark(**said.model_dump()))
    return {"mark": stored.mark, "note": stored.note, "time": stored.time}
