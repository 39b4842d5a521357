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
from typing import Any

from roadworthy._starting import spare_torch
from roadworthy.errors import InputError, RoadworthyError, memory_advice
from roadworthy.report.publish import run_suite
from roadworthy.runs.executors import ImageRetention, default_executor
from roadworthy.runs.store import locked
from roadworthy.runs.suites import RunWatcher, SuiteResult
from roadworthy.web.jobs.asks import SuiteAsk
from roadworthy.web.jobs.queue import PID, Job, JobState, Stage, read_job, write_state

MOST_KEPT = 1000
"""Frames of a run up to which the pictures of all cases are kept, some 200 MB of the built-in world: a blind
study also needs pairs that hold."""
_PAUSE = 0.2  # seconds between two notes of how far it has come


class _Cancelled(KeyboardInterrupt):
    """Raised wherever the process is when it is told to stop, also inside a model, whose error it is not."""


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    # A second one must not interrupt the clean end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise _Cancelled


class _Notes(RunWatcher):
    """Writes how far a run has come, not too often."""

    def __init__(self, job: Job, total: int) -> None:
        self.folder = job.folder
        self.before = job.state.seconds
        self.state = JobState(Stage.RUNNING, job.state.done, total)
        self._start = time.monotonic()
        self._written = 0.0
        self._judges = False
        self.write()

    def prepares(self, what: str, total: int) -> None:
        """Hashing and the like are no cases."""
        del what, total
        self._judges = False

    def begins(self, what: str, cases: int) -> None:
        """Note how many cases there will be; a specification has one for each object, which nobody counts."""
        del what
        self._judges = True
        self.write(total=max(cases, self.state.total))

    def counts(self, cases: int) -> None:
        """Note how many cases are judged."""
        if not self._judges:
            return
        self.state = replace(self.state, done=cases, total=max(cases, self.state.total))
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
            few = isinstance(job.ask, SuiteAsk) or job.ask.frames > MOST_KEPT
            with default_executor() as executor:
                images: ImageRetention = "failures" if few else "all"
                published = run_suite(
                    job.ask.suite(), job.run, executor=executor, images=images, watcher=notes
                )
            result = published.result
            if result.failures:
                raise InputError("; ".join(result.failures.values()))
        except _Cancelled:
            notes.write(stage=Stage.CANCELLED, message="Stopped. It can go on where it was.")
        except RoadworthyError as error:
            notes.write(stage=Stage.FAILED, message=str(error), exit_code=2)
        except Exception as error:
            traceback.print_exc()
            told = memory_advice(error) or (
                f"{type(error).__name__}: {error}. This should not happen; log.txt says where it comes from."
            )
            notes.write(stage=Stage.FAILED, message=told, exit_code=2)
        else:
            outcomes = _outcomes(result)
            total = max((sum(one["counts"].values()) for one in outcomes), default=0)
            known = {"outcomes": outcomes, "notes": tuple(result.notes), "exit_code": result.exit_code()}
            notes.write(stage=Stage.FINISHED, done=total, total=total, **known)
        return notes.state.stage


def _outcomes(result: SuiteResult) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "requirement": id,
            "system": system,
            "status": str(outcome.status),
            "summary": outcome.summary,
            "notes": list(outcome.notes),
            "counts": outcome.counted,
        }
        for (id, system), outcome in result.outcomes.items()
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
