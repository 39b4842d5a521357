"""The page Runs: what was started here or given with --run, how far each has come, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import FileResponse

from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.runs.store import StoredPair, StoredRun
from roadworthy.web.drives.finding import find_drives
from roadworthy.web.folders import REPORT, REPORT_POLICY, RunFolders, file_below
from roadworthy.web.jobs.states import ID, Job
from roadworthy.web.room import Room, room_of
from roadworthy.web.routes.jobs import document

__all__ = ["folder_of", "router"]

router = APIRouter(prefix="/runs")

_WORST = 6
_FUNCTIONAL = "evidence/functional_coverage.json"


@dataclass(frozen=True)
class _Result:
    """What a run found of one requirement on one model, as the page shows it."""

    requirement: str
    text: str
    system: str
    status: str
    summary: str
    violated: int
    errors: int
    judged: int
    not_applicable: int
    method: str

    @classmethod
    def of(cls, pair: StoredPair) -> _Result:
        counts = pair.counts
        return cls(
            pair.requirement.id,
            pair.requirement.text,
            pair.system,
            str(pair.outcome.status) if pair.outcome else "open",
            pair.outcome.summary if pair.outcome else "The run has not concluded.",
            counts[Status.VIOLATED],
            counts[Status.ERROR],
            counts[Status.PASSED] + counts[Status.VIOLATED] + counts[Status.ERROR],
            counts[Status.NOT_APPLICABLE],
            pair.requirement.method,
        )


@router.get("")
def page(request: Request) -> Response:
    """Return the list of runs."""
    room = room_of(request)
    folders = [(name, room.folders.folder(name)) for name in room.folders.names]
    return room.pages.page(
        request, "runs.html", jobs=room.queue.jobs(), folders=folders, out=room.settings.out
    )


@router.get("/{name}")
def run(request: Request, name: str) -> Response:
    """Return what one run found, or how far it has come."""
    room = room_of(request)
    folder, job = _found(room, name)
    results, worst, reasons, problem = _results(folder)
    return room.pages.page(
        request,
        "run.html",
        name=name,
        folder=folder,
        job=job,
        state=None if job is None else document(job),
        results=results,
        worst=worst,
        reasons=reasons,
        has_report=file_below(folder, REPORT) is not None,
        others=_others(name, folder, results),
        problem=problem if job is None or job.state.stage.is_over else "",
    )


@router.get("/{name}/files/{path:path}")
def file(request: Request, name: str, path: str) -> Response:
    """Return a file of a run: pictures and its report to be shown, all else to be kept."""
    folder, _ = _found(room_of(request), name)
    found = file_below(folder, path)
    if found is None:
        raise HTTPException(404, "This run has no such file.")
    if path == REPORT:
        return FileResponse(found, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
    media_type = RunFolders.media_type(found)
    if media_type is None:
        return FileResponse(found, media_type="application/octet-stream", filename=found.name)
    return FileResponse(found, media_type=media_type, headers={"cache-control": "private, max-age=3600"})


def _found(room: Room, name: str) -> tuple[Path, Job | None]:
    """Return the folder of a run, and the job it belongs to."""
    try:
        if ID.fullmatch(name):
            job = room.queue.job(name)
            return job.run, job
        return room.folders.folder(name), None
    except InputError as error:
        raise HTTPException(404, str(error)) from error


def folder_of(room: Room, name: str) -> Path:
    """Return the folder of a run that an address names.

    Raises:
        HTTPException: There is none.
    """
    return _found(room, name)[0]


def _results(folder: Path) -> tuple[list[_Result], list[dict[str, Any]], list[tuple[str, int]], str]:
    """Return what a run found, its worst violations, why cases do not apply, and why it cannot be read."""
    try:
        stored = StoredRun.open(folder)
        results = [_Result.of(pair) for pair in stored.pairs]
        worst = [_violation(row) for row in stored.worst(count=_WORST)]
        rows = stored.query(
            "SELECT reason, count(*) AS number FROM cases WHERE status = $1 "
            "GROUP BY reason ORDER BY number DESC, reason LIMIT 8",
            [str(Status.NOT_APPLICABLE)],
        )
        return results, worst, [(str(row["reason"]), int(str(row["number"]))) for row in rows], ""
    except InputError as error:
        return [], [], [], str(error)


def _others(name: str, folder: Path, results: list[_Result]) -> list[tuple[str, str]]:
    """Return the pages that say more about a run, with what to call them."""
    path = quote(name, safe="")
    methods = {one.method for one in results}
    found = [("/studies", "Let people judge its pairs")] if "rules" in methods else []
    if "coverage" in methods or file_below(folder, _FUNCTIONAL) is not None:
        found.append((f"/coverage/{path}", "Coverage"))
    if find_drives(folder):
        found.append(("/drives", "Drives"))
    return found


def _violation(row: Any) -> dict[str, Any]:
    """Return a violation as the page shows it: pictures before and after, and what was answered."""
    digests = str(row.get("images") or "").split()
    return {
        "requirement": row["requirement"],
        "case": row["case"],
        "system": row["system"],
        "margin": row["margin"],
        "visual_change": row.get("visual_change"),
        "pictures": [f"images/{digest[:2]}/{digest}.png" for digest in digests],
        "output": row.get("param.output.1"),
        "before": row.get("measure.before.1"),
        "after": row.get("measure.after.1"),
        "expected": row.get("measure.expected"),
        "found": row.get("measure.found"),
    }
