"""Which runs can be compared: those that were started here, and those that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roadworthy.errors import InputError
from roadworthy.runs.store import StoredRun
from roadworthy.web.jobs.states import Job
from roadworthy.web.services import Services

__all__ = ["Known", "known_runs", "systems_of"]

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
    text = job.ask.text if job.ask.kind == "rules" else "a specification in BBSL"
    named = f"{job.ask.name}: {text}" if job.ask.name else text
    short = named if len(named) <= _LONGEST else f"{named[: _LONGEST - 1]}…"
    return f"{short} ({', '.join(models)}, {job.id})"
