"""The process of one run: ``python -m roadworthy.web.jobs.worker FOLDER``.

It goes on when the server that started it is gone, and says in the folder how far it has come. Stopped by a
signal, it leaves what it has judged, and another process goes on from there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from roadworthy._starting import spare_torch
from roadworthy.errors import RoadworthyError
from roadworthy.report.html import write_report
from roadworthy.runs import run_several
from roadworthy.runs.model_notes import note_models
from roadworthy.runs.store import StoredRun, locked, what_is_tested
from roadworthy.web.jobs.queue import PID, Job, JobState, Stage, read_job, write_state
from roadworthy.web.jobs.trials import trial_of
from roadworthy.web.settings import REPORT

if TYPE_CHECKING:
    from roadworthy.runs import SeveralResults


MOST_KEPT = 1000
"""Frames of a run up to which the pictures of all cases are kept: some 200 MB of the built-in world."""
_PAUSE = 0.2  # seconds between two notes of how far it has come


class _Cancelled(BaseException):
    """Raised wherever the process is when it is told to stop."""


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    # A second one must not interrupt the clean end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise _Cancelled


class _Notes:
    """Writes how far a run has come, not too often."""

    def __init__(self, job: Job, total: int) -> None:
        self.folder = job.folder
        self.before = job.state.seconds
        self.state = JobState(Stage.RUNNING, job.state.done, total)
        self._start = time.monotonic()
        self._written = 0.0
        self.write()

    def progress(self, done: int) -> None:
        """Note how many cases are judged."""
        self.state = replace(self.state, done=done, total=max(done, self.state.total))
        if time.monotonic() - self._written >= _PAUSE:
            self.write()

    def write(self, **changes: Any) -> None:
        """Write how far it has come, with changes."""
        self._written = time.monotonic()
        seconds = self.before + self._written - self._start
        self.state = replace(self.state, seconds=round(seconds, 2), **changes)
        write_state(self.folder, self.state)


def work_on(folder: Path) -> Stage:
    """Carry out the job in a folder, from its start or from where it stopped, and return how that ended."""
    with locked(folder):
        (folder / PID).write_text(f"{os.getpid()}\n")
        job = read_job(folder)
        notes = _Notes(job, job.state.total)
        try:
            trial = trial_of(job.ask)
            if job.ask.kind == "rules":
                # A specification has a case for each object, and nobody knows how many there are.
                notes.write(total=len(trial.data))
            found = run_several(
                trial.method,
                [trial.requirement],
                trial.data,
                trial.systems,
                out=job.run,
                seed=job.ask.seed,
                # All of them, where that is not too much: a blind study also needs pairs that hold.
                images="all" if job.ask.frames <= MOST_KEPT else "failures",
                progress=notes.progress,
                resume=True,
                manifest=what_is_tested(
                    trial.systems,
                    trial.data,
                    seed=job.ask.seed,
                    settings={
                        "title": trial.requirement.id,
                        **job.ask.model_dump(mode="json", exclude={"seed"}),
                    },
                ),
            )
            note_models(job.run, trial.systems, trial.data)
            write_report(StoredRun.open(job.run), job.run / REPORT)
        except _Cancelled:
            notes.write(stage=Stage.CANCELLED, message="Stopped. It can go on where it was.")
        except RoadworthyError as error:
            notes.write(stage=Stage.FAILED, message=str(error))
        except Exception as error:
            traceback.print_exc()
            told = (
                f"{type(error).__name__}: {error}. This should not happen; log.txt says where it comes from."
            )
            notes.write(stage=Stage.FAILED, message=told)
        else:
            outcomes = _outcomes(found)
            total = max((sum(one["counts"].values()) for one in outcomes), default=0)
            notes.write(stage=Stage.FINISHED, done=total, total=total, outcomes=outcomes)
        return notes.state.stage


def _outcomes(found: SeveralResults) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "system": system,
            "status": str(result.outcome.status),
            "summary": result.outcome.summary,
            "notes": list(result.outcome.notes),
            "counts": {str(status): number for status, number in result.counts.items()},
        }
        for (_, system), result in found.results.items()
    )


def main(arguments: list[str]) -> int:
    """Work on the job in the folder that is given."""
    spare_torch()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    (folder,) = arguments
    return 0 if work_on(Path(folder)) is Stage.FINISHED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
