"""The page Compare: two runs case by case, with the numbers of ``roadworthy compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from roadworthy.errors import InputError
from roadworthy.report.comparison import counted, explained, models_of, sentence
from roadworthy.report.results import clipped, count
from roadworthy.runs.comparison import Comparison, ComparisonVerdict, compare
from roadworthy.runs.store import StoredRun
from roadworthy.web.jobs.queue import Job
from roadworthy.web.services import Here, Services, folder_of
from roadworthy.web.working import Progress, stamp_of_run

_LONGEST = 90


@dataclass(frozen=True)
class Known:
    """A folder that a page can speak of.

    Attributes:
        name: What addresses call it.
        title: What people call it.
        folder: Where it is.
    """

    name: str
    title: str
    folder: Path


def known_runs(services: Services) -> tuple[Known, ...]:
    """Return the runs with rows, those that were given first."""
    given = (Known(name, name, services.folders.folder(name)) for name in services.folders.names)
    started = (
        Known(job.id, _title(job, services.declared.names(job.ask.models)), job.run)
        for job in services.queue.jobs()
    )
    return tuple(one for one in (*given, *started) if _has_rows(one.folder))


def systems_of(folder: Path, method: str = "") -> tuple[str, ...]:
    """Return the names of the models that a run tested, by one method if it is named; none if unreadable."""
    try:
        pairs = StoredRun.open(folder).pairs
        return tuple(sorted({one.system for one in pairs if method in ("", one.requirement.method)}))
    except InputError:
        return ()


def _has_rows(folder: Path) -> bool:
    return (folder / "runs").is_dir() or (folder / "requirements.jsonl").is_file()


def _title(job: Job, models: Sequence[str]) -> str:
    named = f"{job.ask.name}: {job.ask.title}" if job.ask.name else job.ask.title
    return f"{clipped(named, _LONGEST)} ({', '.join(models)}, {job.id})"


_MOST = 300
# The colours of verdicts.
_CHIPS = {
    ComparisonVerdict.REGRESSION: "violated",
    ComparisonVerdict.GONE: "interrupted",
    ComparisonVerdict.NEW: "running",
    ComparisonVerdict.NOT_COMPARED: "quiet",
    ComparisonVerdict.SAME: "quiet",
    ComparisonVerdict.IMPROVEMENT: "passed",
}

router = APIRouter(prefix="/compare")

Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(
    request: Request,
    services: Here,
    first: Short = "",
    second: Short = "",
    old: Short = "",
    new: Short = "",
    anyway: bool = False,
) -> Response:
    """Return the page: the choice of runs, and what became of each requirement."""
    folders = [folder_of(services, name) if name else None for name in (first, second)]
    awaited: dict[str, Any] = {"found": None, "problem": "", "work": ""}
    if bool(old) != bool(new):
        awaited["problem"] = "choose a model for both runs, or for neither to compare models of the same name"
    elif folders[0] is not None and folders[1] is not None:
        key = ("compare", first, second, old, new, anyway, *map(stamp_of_run, (folders[0], folders[1])))
        asked = partial(_compared, folders[0], folders[1], {old: new} if old else None, anyway)
        awaited = services.awaited(key, asked)
    return services.pages.page(
        request,
        "compare.html",
        runs=known_runs(services),
        first=first,
        second=second,
        old=old,
        new=new,
        anyway=anyway,
        systems=[() if one is None else systems_of(one) for one in folders],
        most=_MOST,
        chips=_CHIPS,
        sentence=sentence,
        counted=counted,
        models_of=models_of,
        explained=explained,
        **awaited,
    )


def _compared(
    first: Path, second: Path, systems: Mapping[str, str] | None, anyway: bool, progress: Progress
) -> Comparison:
    progress("Reading both runs.", None)
    before, after = StoredRun.open(first), StoredRun.open(second)
    cases = sum(sum(pair.counts.values()) for run in (before, after) for pair in run.pairs)
    progress(f"Putting {count(cases)} cases side by side.", None)
    return compare(before, after, systems=systems, anyway=anyway, stoppable=progress.interrupted_by)
