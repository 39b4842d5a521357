"""The page Compare: two runs case by case, with the numbers of ``roadworthy compare``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from roadworthy.errors import InputError
from roadworthy.report.html.formats import count
from roadworthy.runs.comparison import compare
from roadworthy.runs.store import StoredRun
from roadworthy.web.comparing.choosing import known_runs, systems_of
from roadworthy.web.comparing.lines import Shown, shown
from roadworthy.web.routes.runs import folder_of
from roadworthy.web.services import Services, services_of
from roadworthy.web.working import Progress, stamp_of

__all__ = ["router"]

router = APIRouter(prefix="/compare")

_PATIENCE = 1.0  # seconds after which the page is shown without the comparison
Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(
    request: Request,
    first: Short = "",
    second: Short = "",
    old: Short = "",
    new: Short = "",
    anyway: bool = False,
) -> Response:
    """Return the page: the choice of runs, and what became of each requirement."""
    services = services_of(request)
    found: Shown | None = None
    problem = work = ""
    if first and second:
        try:
            work = _asked(services, first, second, old, new, anyway)
            found = services.bench.get(work).result(_PATIENCE)
        except InputError as error:
            problem = str(error)
    return services.pages.page(
        request,
        "compare.html",
        runs=known_runs(services),
        first=first,
        second=second,
        old=old,
        new=new,
        anyway=anyway,
        old_systems=systems_of(folder_of(services, first)) if first else (),
        new_systems=systems_of(folder_of(services, second)) if second else (),
        found=found,
        problem=problem,
        work="" if found or problem else work,
    )


def _asked(services: Services, first: str, second: str, old: str, new: str, anyway: bool) -> str:
    """Return the id of the comparison, which goes on when nobody waits for it."""
    if bool(old) != bool(new):
        raise InputError("choose a model of both runs, or of neither: then those of one name are compared")
    folders = folder_of(services, first), folder_of(services, second)

    def compared(progress: Progress) -> Shown:
        progress("Reading both runs.", None)
        before, after = map(StoredRun.open, folders)
        cases = sum(sum(pair.counts.values()) for run in (before, after) for pair in run.pairs)
        progress(f"Putting {count(cases)} cases side by side.", None)
        systems = {old: new} if old else None
        found = compare(before, after, systems=systems, anyway=anyway, stoppable=progress.interrupted_by)
        return shown(found, first, second)

    key = ("compare", first, second, old, new, anyway, *map(stamp_of, folders))
    return services.bench.ask(key, compared)
