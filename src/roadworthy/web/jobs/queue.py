"""Runs that were started from the page: how far each has come, and the processes that carry them out."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any

from roadworthy._files import as_record, read_json, stamp_of, write_text
from roadworthy.errors import InputError
from roadworthy.runs.store import locked
from roadworthy.web.jobs.asks import AnyAsk, read_ask

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
        outcomes: Of each requirement on each model: status, summary and counts, once it is finished.
        notes: What to know before relying on it, a sentence each, once it is finished.
        exit_code: That of `roadworthy run` of the same suite, once it is over.
    """

    stage: Stage = Stage.WAITING
    done: int = 0
    total: int = 0
    message: str = ""
    seconds: float = 0.0
    outcomes: tuple[dict[str, Any], ...] = field(default=())
    notes: tuple[str, ...] = ()
    exit_code: int | None = None


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
    ask: AnyAsk
    state: JobState

    @property
    def run(self) -> Path:
        """The folder of the run itself."""
        return self.folder / RUN

    def standing(self, stage: Stage, message: str = "") -> JobState:
        """Return its state with another stage and message."""
        return replace(self.state, stage=stage, message=message)


def write_state(folder: Path, state: JobState) -> None:
    """Write how far a job has come, whole or not at all."""
    write_text(folder / STATE, json.dumps(asdict(state)))


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
    if folder.is_symlink() or (folder / RUN).is_symlink():
        raise InputError(f"{folder} leads out of the folder of all jobs: show such a run with --run")
    try:
        ask = read_ask(read_json(folder / ASK))
    except ValueError as error:
        raise InputError(f"{folder / ASK} is damaged: {error}; delete the folder of the job") from error
    return Job(folder.name, folder, ask, read_state(folder))


_PATIENCE = 10.0  # seconds that a process gets to end cleanly
_LITTLE = 2**20  # bytes; with fewer no process can even say why it ended
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class ProcessQueue:
    """A queue whose runs are processes of this machine.

    A process goes on when the server is gone, however that ended; a server that is started on the same folder
    finds it again. What it says is in the folder alone, so there is nothing else to lose.

    Args:
        out: The folder of all jobs; it is made with the first one.
        at_most: How many may wait or go on at a time.
        check: Raises InputError for what may not be carried out: a model that was not declared.
    """

    def __init__(
        self, out: Path, *, at_most: int = 50, check: Callable[[AnyAsk], None] = lambda _: None
    ) -> None:
        self.out = out
        self._at_most = at_most
        self._check = check
        self._lock = RLock()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._read: dict[Path, tuple[str, Job]] = {}

    def start(self, ask: AnyAsk) -> Job:
        """Take a run in; it begins when its turn comes."""
        self._check(ask)
        with self._lock:
            if sum(not one.state.stage.is_over for one in self.jobs()) >= self._at_most:
                raise InputError(f"{self._at_most} runs are queued already: wait for one, or cancel some")
            job = self._new(ask)
            self.advance()
            return self.job(job.id)

    def _new(self, ask: AnyAsk) -> Job:
        text = ask.model_dump_json(indent=2)
        while True:
            letters = "".join(secrets.choice(_LETTERS) for _ in range(4))
            folder = self.out / f"{time.strftime('%Y%m%d-%H%M%S')}-{letters}"
            try:
                folder.mkdir(parents=True)
                break
            except FileExistsError:
                continue
            except OSError as error:
                raise InputError(
                    f"cannot make the folder {folder}: {error.strerror}; start the server with another --out"
                ) from error
        try:
            write_state(folder, JobState())
            # Last, for a folder counts as a job with it.
            write_text(folder / ASK, text)
        except InputError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return read_job(folder)

    def job(self, id: str) -> Job:
        """Return a run as it stands."""
        if not ID.fullmatch(id) or not (self.out / id / ASK).is_file():
            raise InputError(
                f"there is no run {id!r}: it may have been deleted; all runs are on the page Runs"
            )
        return self._with_place(self._as_it_stands(self._known(self.out / id)))

    def jobs(self) -> list[Job]:
        """Return all runs as they stand, the latest first; folders that are damaged are left out."""
        found = []
        if self.out.is_dir():
            for folder in sorted(self.out.iterdir(), reverse=True):
                if ID.fullmatch(folder.name):
                    with contextlib.suppress(InputError):
                        found.append(self._as_it_stands(self._known(folder)))
        return found

    def _known(self, folder: Path) -> Job:
        """Return a job; its files are read again only when they have changed: pages ask all the time."""
        stamp = stamp_of([folder / STATE])
        kept = self._read.get(folder)
        if kept is None or kept[0] != stamp:
            kept = self._read[folder] = stamp, read_job(folder)
        return kept[1]

    def _with_place(self, job: Job) -> Job:
        """Return a job that waits with how many go before it."""
        if job.state.stage is not Stage.WAITING:
            return job
        # Names of one second are in no order, so what runs already may have a later one.
        before = sum(
            one.state.stage is Stage.RUNNING or (not one.state.stage.is_over and one.id < job.id)
            for one in self.jobs()
        )
        told = f"Runs go one at a time: {before} ahead of this one." if before else ""
        return replace(job, state=job.standing(Stage.WAITING, told))

    def _as_it_stands(self, job: Job) -> Job:
        """Return a job, interrupted if nobody works on what is said to go on."""
        if job.state.stage is not Stage.RUNNING or self._goes_on(job):
            return job
        # It may have ended between reading and looking.
        again = read_job(job.folder)
        if again.state.stage is not Stage.RUNNING:
            return again
        if (job.folder / CANCEL).exists():
            # Told to stop before it was ready to listen.
            told = "Stopped. It can go on where it was."
            return replace(again, state=again.standing(Stage.CANCELLED, told))
        told = "The process ended before the run did. You can resume it."
        if shutil.disk_usage(job.folder).free < _LITTLE:
            told = f"The disk of {job.folder} is full. Free some space, then resume the run."
        return replace(again, state=again.standing(Stage.INTERRUPTED, told))

    def _goes_on(self, job: Job) -> bool:
        with self._lock:
            if (process := self._processes.get(job.id)) is not None:
                return process.poll() is None
        try:
            with locked(job.folder):
                return False
        except InputError:
            return True

    def cancel(self, id: str) -> Job:
        """Stop a run; what it has judged stays."""
        with self._lock:
            job = self.job(id)
            if job.state.stage is Stage.WAITING:
                write_state(job.folder, job.standing(Stage.CANCELLED, "Stopped before it started."))
            elif job.state.stage is Stage.RUNNING:
                with contextlib.suppress(OSError):
                    # It only says why a process ended that was not ready to listen yet; a disk may be full.
                    (job.folder / CANCEL).touch()
                self._signal(job)
        return self.job(id)

    def _signal(self, job: Job) -> None:
        if (process := self._processes.get(job.id)) is not None:
            process.terminate()
            return
        if (pid := _pid_of(job.folder)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def resume(self, id: str) -> Job:
        """Let a run go on that was stopped."""
        with self._lock:
            job = self.job(id)
            if not job.state.stage.can_continue:
                raise InputError(f"only a stopped run can be resumed; this one is {job.state.stage}")
            self._check(job.ask)
            (job.folder / CANCEL).unlink(missing_ok=True)
            write_state(job.folder, job.standing(Stage.WAITING))
            self.advance()
            return self.job(id)

    def advance(self) -> None:
        """See what has ended, and begin what waits, the eldest first."""
        with self._lock:
            for id, process in list(self._processes.items()):
                if process.poll() is not None:
                    del self._processes[id]
            if self._processes:
                # Also one that has said its last word: until it is gone, its folder is not free.
                return
            jobs = self.jobs()
            if any(one.state.stage is Stage.RUNNING for one in jobs):
                return
            for job in reversed(jobs):
                if job.state.stage is Stage.WAITING and self._began(job):
                    return

    def _began(self, job: Job) -> bool:
        try:
            self._check(job.ask)
        except InputError as error:
            # Asked for when the server was started with other models or data.
            write_state(job.folder, job.standing(Stage.FAILED, str(error)))
            return False
        write_state(job.folder, job.standing(Stage.RUNNING))
        with (job.folder / LOG).open("ab") as log:
            command = [sys.executable, "-m", "roadworthy.web.jobs.worker", str(job.folder)]
            # A session of its own: keys pressed at the server's terminal are not for it.
            self._processes[job.id] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        return True

    def close(self) -> None:
        """Stop what goes on, so that it can go on later."""
        with self._lock:
            for process in self._processes.values():
                process.terminate()
            end = time.monotonic() + _PATIENCE
            for process in self._processes.values():
                try:
                    process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            self._processes.clear()


def _pid_of(folder: Path) -> int | None:
    """Return the process that works on a job; while the folder is locked it is this one and no other."""
    try:
        return int((folder / PID).read_text())
    except (OSError, ValueError):
        return None
