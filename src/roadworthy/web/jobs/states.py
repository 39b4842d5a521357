"""How far a run has come, in a file that both its process and the server read."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from roadworthy._files import as_record, read_json, write_text
from roadworthy.errors import InputError
from roadworthy.web.jobs.asks import BbslAsk, RulesAsk, read_ask

ASK, STATE, LOG, RUN, PID, CANCEL = "job.json", "state.json", "log.txt", "run", "pid.txt", "cancel"
ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{4}")
"""What jobs are called: when they were asked for, and some letters."""


class Stage(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in (Stage.WAITING, Stage.RUNNING)

    @property
    def can_continue(self) -> bool:
        """Whether it can go on where it stopped."""
        return self in (Stage.CANCELLED, Stage.INTERRUPTED, Stage.FAILED)


@dataclass(frozen=True)
class JobState:
    """How far a job has come.

    Attributes:
        stage: Where it stands.
        done: Cases that were judged.
        total: Cases that there will be; 0 while that is not known.
        message: What to tell the user, above all why it failed.
        seconds: How long it has been worked on, in all its goes.
        outcomes: Of each model: status, summary and counts, once it is finished.
    """

    stage: Stage = Stage.WAITING
    done: int = 0
    total: int = 0
    message: str = ""
    seconds: float = 0.0
    outcomes: tuple[dict[str, Any], ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class Job:
    """A run that was asked for.

    Attributes:
        id: What it is called; also its folder.
        folder: Where everything about it is.
        ask: What was asked for.
        state: How far it has come.
    """

    id: str
    folder: Path
    ask: RulesAsk | BbslAsk
    state: JobState

    @property
    def run(self) -> Path:
        """The folder of the run itself."""
        return self.folder / RUN

    def with_state(self, state: JobState) -> Job:
        """Return it with another state."""
        return replace(self, state=state)


def write_state(folder: Path, state: JobState) -> None:
    """Write how far a job has come, whole or not at all."""
    write_text(folder / STATE, json.dumps(state.as_dict()))


def read_state(folder: Path) -> JobState:
    """Return how far a job has come; waiting where nothing is written yet.

    Raises:
        InputError: The file is damaged.
    """
    if not (folder / STATE).is_file():
        return JobState()
    document = read_json(folder / STATE)
    try:
        return as_record(JobState, document)
    except ValueError as error:
        raise InputError(f"{folder / STATE} is damaged: {error}; delete the folder of the job") from error


def read_job(folder: Path) -> Job:
    """Return the job in a folder.

    Raises:
        InputError: There is none, or its files are damaged.
    """
    if not (folder / ASK).is_file():
        raise InputError(f"{folder} must be the folder of a job, got one without {ASK}")
    try:
        ask = read_ask(read_json(folder / ASK))
    except ValueError as error:
        raise InputError(f"{folder / ASK} is damaged: {error}; delete the folder of the job") from error
    return Job(folder.name, folder, ask, read_state(folder))


def new_id(letters: str) -> str:
    """Return what a job that begins now is called."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{letters}"
