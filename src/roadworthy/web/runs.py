"""The page Runs: what was started here or given with --run, how far each has come, and what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import FileResponse

from roadworthy.cases import Requirement, Status
from roadworthy.errors import InputError
from roadworthy.report.results import Result, Standing, Whole, results_of, whole_of
from roadworthy.runs.store import StoredRun, notes_of
from roadworthy.studies import ITSELF, open_study
from roadworthy.web.drives import find_drives
from roadworthy.web.folders import REPORT, REPORT_POLICY, RunFolders, file_below
from roadworthy.web.jobs.routes import document
from roadworthy.web.jobs.states import ID, Job
from roadworthy.web.services import Services, services_of
from roadworthy.web.showing import shown
from roadworthy.web.tolerated import has_answers

_REASONS = 8


@dataclass(frozen=True)
class Group:
    """One requirement on all models.

    Attributes:
        requirement: The requirement.
        results: What was found, the worst first.
    """

    requirement: Requirement
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Found:
    """What a run found.

    Attributes:
        groups: What was found of each requirement, the worst first.
        whole: What all of it says.
        worst: Violations as the page shows them: the worst of each requirement, then the second worst …
        reasons: Why cases do not apply, with how many there are.
        notes: What to know about the run and its models, a sentence each.
    """

    groups: tuple[Group, ...]
    whole: Whole
    worst: tuple[dict[str, Any], ...]
    reasons: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> Mapping[str, str]:
        """What the requirements say, by their ids."""
        return {one.requirement.id: one.requirement.text for one in self.groups}

    @property
    def methods(self) -> frozenset[str]:
        """Of which kinds the requirements are."""
        return frozenset(one.requirement.method for one in self.groups)

    @property
    def models(self) -> int:
        """How many models were tested."""
        return len({one.system for group in self.groups for one in group.results})


def found_in(folder: Path, count: int = 0) -> Found:
    """Return what the run in a folder found.

    Args:
        folder: The folder of the run.
        count: How many violations at most; with none of them and no reasons it takes no time to speak of.

    Raises:
        InputError: There is no run in it, or it cannot be read.
    """
    run = StoredRun.open(folder)
    results = sorted(results_of(run), key=lambda one: (one.order, one.requirement.id, one.system))
    grouped: dict[str, list[Result]] = {}
    for one in results:
        grouped.setdefault(one.requirement.id, []).append(one)
    groups = tuple(Group(some[0].requirement, tuple(some)) for some in grouped.values())
    reached = count > 0 and bool(groups)
    return Found(
        groups,
        whole_of(results),
        tuple(_worst(run, list(grouped), count)) if reached else (),
        tuple(_reasons(run)) if reached else (),
        tuple(notes_of(run.manifest)),
    )


def _worst(run: StoredRun, ids: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Return the worst of each requirement, then the second worst: their margins have different units."""
    rows = run.query(
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY requirement "
        'ORDER BY margin NULLS LAST, system, "case") AS rank FROM cases WHERE status = $1) WHERE rank <= $2',
        [str(Status.VIOLATED), count],
    )
    place = {id: number for number, id in enumerate(ids)}
    rows.sort(key=lambda row: (int(str(row["rank"])), place[str(row["requirement"])]))
    return [shown(row) for row in rows[:count]]


def _reasons(run: StoredRun) -> list[tuple[str, int]]:
    rows = run.query(
        "SELECT reason, count(*) AS number FROM cases WHERE status = $1 "
        "GROUP BY reason ORDER BY number DESC, reason LIMIT $2",
        [str(Status.NOT_APPLICABLE), _REASONS],
    )
    return [(str(row["reason"]), int(str(row["number"]))) for row in rows]


router = APIRouter(prefix="/runs")

_WORST = 6
_COVERAGE = ("coverage.json", "search.json", "evidence/functional_coverage.json")


@dataclass(frozen=True)
class _Link:
    """A page that says more about a folder, and what to call it."""

    path: str
    words: str


@dataclass(frozen=True)
class _Given:
    """A folder that was given with --run, as the list of runs shows it."""

    name: str
    folder: Path
    found: Found | None
    problem: str
    links: tuple[_Link, ...]

    @classmethod
    def of(cls, name: str, folder: Path) -> _Given:
        found, problem = _found_in(folder)
        links = _links(name, folder, found)
        return cls(name, folder, found, "" if links else problem, links)

    @property
    def cases(self) -> int:
        """How many cases the run has."""
        return sum(self.found.whole.cases.values()) if self.found else 0


@dataclass(frozen=True)
class _Started:
    """A run that was started here, as the list of runs shows it."""

    job: Job
    models: tuple[str, ...]

    @property
    def standing(self) -> Standing | None:
        """What it found, the worst of all models; None while it has nothing to say."""
        if self.job.state.outcomes:
            found = {str(one.get("status")) for one in self.job.state.outcomes}
            return next((one for one in Standing if one in found), None)
        return Standing.UNFINISHED if self.job.state.stage.is_over and self.job.state.done else None

    @property
    def violations(self) -> int:
        """How many cases violate, of all models together."""
        return self._counted(Status.VIOLATED)

    @property
    def judged(self) -> int:
        """How many cases say something about a model, of all models together."""
        return self._counted(Status.PASSED, Status.VIOLATED, Status.ERROR)

    def _counted(self, *statuses: Status) -> int:
        # A file that was damaged has other things there; the rest of the list is shown all the same.
        counts = [one.get("counts") for one in self.job.state.outcomes]
        numbers = [one.get(status, 0) for one in counts if isinstance(one, dict) for status in statuses]
        return sum(one for one in numbers if isinstance(one, int))


@router.get("")
def page(request: Request) -> Response:
    """Return the list of runs."""
    services = services_of(request)
    given = [_Given.of(name, services.folders.folder(name)) for name in services.folders.names]
    started = [_Started(job, tuple(services.declared.names(job.ask.models))) for job in services.queue.jobs()]
    return services.pages.page(request, "runs.html", started=started, given=given, out=services.settings.out)


@router.get("/{name}")
def run(request: Request, name: str) -> Response:
    """Return what one run found, or how far it has come."""
    services = services_of(request)
    folder, job = _found(services, name)
    found, problem = _found_in(folder, _WORST)
    links = _links(name, folder, found)
    return services.pages.page(
        request,
        "run.html",
        name=name,
        folder=folder,
        job=job,
        models=[] if job is None else services.declared.names(job.ask.models),
        state=None if job is None else document(job),
        found=found,
        has_report=file_below(folder, REPORT) is not None,
        links=links,
        # A folder of drives or of an experiment is no run, and its own pages show it.
        problem="" if (job is not None and not job.state.stage.is_over) or links else problem,
    )


@router.get("/{name}/files/{path:path}")
def file(request: Request, name: str, path: str) -> Response:
    """Return a file of a run: pictures and its report to be shown, all else to be kept."""
    folder, _ = _found(services_of(request), name)
    found = file_below(folder, path)
    if found is None:
        raise HTTPException(404, "This run has no such file.")
    if path == REPORT:
        return FileResponse(found, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    media_type = RunFolders.media_type(found)
    if media_type is None:
        return FileResponse(found, media_type="application/octet-stream", filename=found.name)
    return FileResponse(found, media_type=media_type, headers={"cache-control": "private, max-age=3600"})


def _found(services: Services, name: str) -> tuple[Path, Job | None]:
    """Return the folder of a run, and the job it belongs to."""
    try:
        if ID.fullmatch(name):
            job = services.queue.job(name)
            return job.run, job
        return services.folders.folder(name), None
    except InputError as error:
        raise HTTPException(404, str(error)) from error


def folder_of(services: Services, name: str) -> Path:
    """Return the folder of a run that an address names.

    Raises:
        HTTPException: There is none.
    """
    return _found(services, name)[0]


def _found_in(folder: Path, count: int = 0) -> tuple[Found | None, str]:
    """Return what a run found, or why that cannot be read."""
    try:
        found = found_in(folder, count)
    except InputError as error:
        return None, str(error)
    return (found, "") if found.groups else (None, "nothing was judged yet")


def _links(name: str, folder: Path, found: Found | None) -> tuple[_Link, ...]:
    """Return the pages that say more about a folder."""
    path = quote(name, safe="")
    methods = frozenset[str]() if found is None else found.methods
    links = []
    if _is_study(folder):
        links.append(_Link(f"/studies/{path}/{ITSELF}", "The study"))
    elif "rules" in methods:
        links.append(_Link(f"/studies?run={path}", "Let people judge its pairs"))
    if "coverage" in methods or any(file_below(folder, one) is not None for one in _COVERAGE):
        links.append(_Link(f"/coverage/{path}", "Coverage"))
    if drives := find_drives(folder):
        only = next(iter(drives))
        links.append(
            _Link(f"/drives/{path}?drive={quote(only, safe='')}", "The drive")
            if len(drives) == 1
            else _Link("/drives", f"{len(drives)} drives")
        )
    if has_answers(folder):
        links.append(_Link(f"/thresholds/{path}", "Thresholds"))
    return tuple(links)


def _is_study(folder: Path) -> bool:
    try:
        open_study(folder, ITSELF)
    except InputError:
        return False
    return True
