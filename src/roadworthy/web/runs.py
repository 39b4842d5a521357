"""The page Runs: what was started here or given with --run, how far each has come, and what it found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, StreamingResponse

from roadworthy.cases import Status
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, InputError
from roadworthy.models.load import short_name
from roadworthy.report.kinds import told_kinds
from roadworthy.report.results import Result, Standing, Whole, by_requirement, ranked, whole_of
from roadworthy.runs.store import StoredRun, notes_of
from roadworthy.studies import ITSELF, open_study
from roadworthy.web.added import ENDINGS
from roadworthy.web.coverage import has_coverage
from roadworthy.web.drives import find_drives
from roadworthy.web.jobs.asks import Ask
from roadworthy.web.jobs.queue import Job, Stage
from roadworthy.web.pages import shown_file
from roadworthy.web.services import Here, RunFolder, Services, services_of, suite_title
from roadworthy.web.settings import REPORT, REPORT_POLICY, RunFolders, file_below
from roadworthy.web.showing import shown
from roadworthy.web.thresholds import has_answers

router = APIRouter()

_WORST, _REASONS = 6, 8
_LITTLE_LEFT = 0.9  # Δv above which a wall sets cases apart
_PAUSE = 0.25  # seconds between two looks at a run
_RETRY = 2000  # milliseconds after which a page asks again that is not told by itself
_SIGN_OF_LIFE = 15.0  # seconds after which something is sent, so that nobody takes the line for dead


@dataclass(frozen=True)
class RunSummary:
    """What a run found.

    Attributes:
        results: What was found of each requirement on each model, the worst first.
        whole: What all of it says.
        worst: Violations as the page shows them: the worst of each requirement, then the second worst …
        reasons: Why cases do not apply, with how many there are.
        remedy: How what would look drawn is made, where it was left out for that.
        notes: What to know about the run and its models, a sentence each.
        title: What the suite is called; empty where nobody named it.
        started: When, in UTC; empty where nobody wrote it down.
        asked: What is equal of runs that asked the same of the same data.
    """

    results: tuple[Result, ...]
    whole: Whole
    worst: tuple[dict[str, Any], ...]
    reasons: tuple[tuple[str, int], ...]
    remedy: str
    notes: tuple[str, ...] = ()
    title: str = ""
    started: str = ""
    asked: str = ""

    @property
    def rates(self) -> dict[str, tuple[int, int]]:
        """How many cases of each requirement on each model failed and were judged; a search tells no rate."""
        return {
            f"{one.requirement.id} on {one.system}": (one.failures, one.judged)
            for one in self.results
            if one.requirement.method != "coverage"
        }

    @property
    def groups(self) -> Mapping[str, list[Result]]:
        """What was found of each requirement, by its id."""
        return by_requirement(self.results)

    @property
    def texts(self) -> Mapping[str, str]:
        """What the requirements say, by their ids."""
        return {one.requirement.id: one.requirement.text for one in self.results}

    @property
    def methods(self) -> frozenset[str]:
        """Of which kinds the requirements are."""
        return frozenset(one.requirement.method for one in self.results)

    @property
    def models(self) -> int:
        """How many models were tested."""
        return len({one.system for one in self.results})


def found_in(folder: Path, count: int = 0) -> RunSummary:
    """Return what the run in a folder found.

    Args:
        folder: The folder of the run.
        count: How many violations at most; with none of them and no reasons it takes no time to speak of.

    Raises:
        InputError: There is no run in it, or it cannot be read.
    """
    run = StoredRun.open(folder)
    results = ranked(run)
    reached, about = count > 0 and bool(results), run.manifest or {}
    settings = about.get("settings") or {}
    title = suite_title(run.manifest)
    texts = sorted({(one.requirement.id, one.requirement.text) for one in results})
    asked = json.dumps([title, settings.get("sample"), about.get("data"), texts], sort_keys=True, default=str)
    return RunSummary(
        tuple(results),
        whole_of(results),
        tuple(_worst(run, list(by_requirement(results)), count)) if reached else (),
        *(_reasons(run) if reached else ((), "")),
        tuple(notes_of(run.manifest)),
        title,
        str(about.get("started") or ""),
        sha256(asked.encode("utf-8", "backslashreplace")).hexdigest()[:12],
    )


def _worst(run: StoredRun, ids: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Return the worst of each requirement, then the second worst: their margins have different units.

    As on the wall, those of which little of the picture is left come after the others.
    """
    rows = run.query(
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY requirement ORDER BY "
        "coalesce(isinf(margin), false), coalesce(visual_change > $3, false), "
        'margin NULLS LAST, system, "case") AS rank FROM cases WHERE status = $1) WHERE rank <= $2',
        [str(Status.VIOLATED), count, _LITTLE_LEFT],
    )
    place = {id: number for number, id in enumerate(ids)}
    rows.sort(key=lambda row: (int(str(row["rank"])), place[str(row["requirement"])]))
    return [shown(row) for row in rows[:count]]


def _reasons(run: StoredRun) -> tuple[tuple[tuple[str, int], ...], str]:
    rows = run.query(
        "SELECT replace(reason, $4, '') AS told, count(*) AS number, bool_or(told <> reason) AS doubted "
        "FROM cases WHERE status IN ($1, $2) GROUP BY told ORDER BY number DESC, told LIMIT $3",
        [str(Status.NOT_APPLICABLE), str(Status.ENGINE_ERROR), _REASONS, f"; {DO_IT_ANYWAY}"],
    )
    told = tuple((str(row["told"]), int(str(row["number"]))) for row in rows)
    return told, HOW_ANYWAY if any(row["doubted"] for row in rows) else ""


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
    found: RunSummary | None
    problem: str
    links: tuple[_Link, ...]

    @classmethod
    def of(cls, name: str, folder: Path) -> _Given:
        found, problem = _summary(folder)
        links = _links(name, folder, found)
        return cls(name, folder, found, "" if links else problem, links)


@dataclass(frozen=True)
class _Started:
    """A run that was started here, as the list of runs shows it."""

    job: Job
    models: tuple[str, ...]

    @property
    def found(self) -> RunSummary | None:
        """What it found, once it is finished."""
        return _summary(self.job.run)[0] if self.job.state.stage is Stage.FINISHED else None

    @property
    def data(self) -> str:
        """What it runs on, without the folders of this machine."""
        return ", ".join(map(short_name, self.job.ask.data.split(", ")))

    @property
    def standing(self) -> Standing | None:
        """What it found, the worst of all models; None while it has nothing to say."""
        if self.job.state.outcomes:
            found = {str(one.get("status")) for one in self.job.state.outcomes}
            return next((one for one in Standing if one in found), None)
        return Standing.UNFINISHED if self.job.state.stage.is_over and self.job.state.done else None


@router.get("/runs")
def page(request: Request, services: Here) -> Response:
    """Return the list of runs."""
    given = [_Given.of(name, services.folders.folder(name)) for name in services.folders.names]
    started = [_Started(job, tuple(services.declared.names(job.ask.models))) for job in services.queue.jobs()]
    given.sort(key=lambda one: one.found.started if one.found else "", reverse=True)
    under = [one.name or "/" for one in services.settings.under]
    told: dict[str, Any] = {"started": started, "given": given, "under": under, "endings": ENDINGS}
    return services.pages.page(request, "runs.html", out=services.settings.out, **told)


@router.get("/runs/{name}/worst")
def worst(folder: RunFolder) -> dict[str, list[str]]:
    """Return the pictures of the worst case of a run; none where there are none."""
    worst = found_in(folder, _WORST).worst
    return {"pictures": next((one["pictures"] for one in worst if one["pictures"]), [])}


@router.get("/runs/{name}")
def run(request: Request, services: Here, name: str) -> Response:
    """Return what one run found, or how far it has come."""
    folder, job = services.run_of(name)
    found, problem = _summary(folder, _WORST)
    links = _links(name, folder, found)
    told: dict[str, Any] = {"name": name, "folder": folder, "job": job, "found": found, "links": links}
    return services.pages.page(
        request,
        "run.html",
        models=[] if job is None else services.declared.names(job.ask.models),
        has_report=file_below(folder, REPORT) is not None,
        # A folder of drives or of an experiment is no run, and its own pages show it.
        problem="" if (job is not None and not job.state.stage.is_over) or links else problem,
        kinds=[(one, shown(one.worst)["pictures"]) for one in told_kinds(StoredRun.open(folder))]
        if found
        else [],
        **told,
    )


@router.get("/runs/{name}/files/{path:path}")
def file(folder: RunFolder, path: str) -> Response:
    """Return a file of a run: pictures and its report to be shown, all else to be kept."""
    if (found := file_below(folder, path)) is None:
        raise HTTPException(404, "This run has no such file.")
    if path == REPORT:
        return FileResponse(found, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    if RunFolders.media_type(found) is None:
        return FileResponse(found, media_type="application/octet-stream", filename=found.name)
    return shown_file(found, otherwise="")


def _summary(folder: Path, count: int = 0) -> tuple[RunSummary | None, str]:
    """Return what a run found, or why that cannot be read."""
    try:
        found = found_in(folder, count)
    except InputError as error:
        return None, str(error)
    return (found, "") if found.results else (None, "nothing has been judged yet")


def _links(name: str, folder: Path, found: RunSummary | None) -> tuple[_Link, ...]:
    """Return the pages that say more about a folder."""
    path = quote(name, safe="")
    methods = frozenset[str]() if found is None else found.methods
    links = []
    if _is_study(folder):
        links.append(_Link(f"/studies/{path}/{ITSELF}", "The study"))
    elif "rules" in methods:
        links.append(_Link(f"/studies?run={path}", "Let people judge its pairs"))
    if "coverage" in methods or has_coverage(folder):
        links.append(_Link(f"/coverage/{path}", "Coverage"))
    if drives := find_drives(folder):
        links.append(
            _Link(f"/drives/{path}?drive={quote(next(iter(drives)), safe='')}", "The drive")
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


@router.post("/jobs", status_code=201)
def start(services: Here, ask: Ask) -> dict[str, Any]:
    """Start a run."""
    return document(services.queue.start(ask))


@router.get("/jobs/{id}")
def job(services: Here, id: str) -> dict[str, Any]:
    """Return how far a run has come."""
    return document(services.queue.job(id))


@router.post("/jobs/{id}/cancel")
def cancel(services: Here, id: str) -> dict[str, Any]:
    """Stop a run."""
    return document(services.queue.cancel(id))


@router.post("/jobs/{id}/resume")
def resume(services: Here, id: str) -> dict[str, Any]:
    """Let a run go on."""
    return document(services.queue.resume(id))


@router.get("/jobs/{id}/events")
async def events(request: Request, id: str) -> StreamingResponse:
    """Send how far a run has come, whenever that changes, until it is over."""
    services = services_of(request)
    await run_in_threadpool(services.queue.job, id)
    return StreamingResponse(_events(request, services, id), media_type="text/event-stream")


async def _events(request: Request, services: Services, id: str) -> AsyncIterator[str]:
    if services.streams >= services.settings.limits.streams:
        # So many lines would keep the server busy with telling: who comes now asks again every other second.
        now = document(await run_in_threadpool(services.queue.job, id))
        yield f"retry: {_RETRY}\ndata: {json.dumps(now)}\n\n"
        return
    services.streams += 1
    try:
        async for event in _told(request, services, id):
            yield event
    finally:
        services.streams -= 1


async def _told(request: Request, services: Services, id: str) -> AsyncIterator[str]:
    told: dict[str, Any] | None = None
    quiet = 0.0
    while not await request.is_disconnected():
        try:
            found = await run_in_threadpool(services.queue.job, id)
        except InputError as error:
            yield f"event: gone\ndata: {json.dumps({'error': str(error)})}\n\n"
            return
        now = document(found)
        if now != told:
            told, quiet = now, 0.0
            yield f"data: {json.dumps(now)}\n\n"
        if found.state.stage.is_over:
            return
        await asyncio.sleep(_PAUSE)
        quiet += _PAUSE
        if quiet >= _SIGN_OF_LIFE:
            quiet = 0.0
            yield ": still there\n\n"


def document(job: Job) -> dict[str, Any]:
    """Return a run as the page shows it."""
    return {
        "id": job.id,
        "url": f"/runs/{job.id}",
        "folder": str(job.run),
        **asdict(job.state),
        "over": job.state.stage.is_over,
        "can_continue": job.state.stage.can_continue,
    }
