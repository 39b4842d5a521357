"""The queue without processes: what it says of folders, and what it does to them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.errors import InputError
from roadworthy.runs.store import locked
from roadworthy.web.jobs import queue as queues
from roadworthy.web.jobs.asks import RulesAsk
from roadworthy.web.jobs.queue import (
    CANCEL,
    ID,
    PID,
    Job,
    JobState,
    ProcessQueue,
    Stage,
    read_job,
    read_state,
    write_state,
)

ASK = RulesAsk(text="If it rains, slow down.", models=("dave2",), data="world:town", frames=6)
FIRST, SECOND, THIRD = (f"20261115-12000{second}-aaaa" for second in (1, 2, 3))
STOPPED = "Stopped. It can go on where it was."


def put(out: Path, id: str, stage: Stage | None = None, **known: Any) -> Path:
    folder = out / id
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(ASK.model_dump_json())
    if stage is not None:
        write_state(folder, JobState(stage, **known))
    return folder


@pytest.fixture
def begun() -> list[str]:
    return []


@pytest.fixture
def queue(tmp_path: Path, begun: list[str]) -> ProcessQueue:
    """A queue that takes runs in and starts none."""
    made = ProcessQueue(tmp_path / "out")

    def began(job: Job) -> bool:
        begun.append(job.id)
        return True

    made._began = began  # type: ignore[method-assign]
    return made


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Any]:
    """Something else that works on the folder of a job, until the test ends."""
    go: list[Any] = []

    def begin(folder: Path) -> None:
        ready: list[int] = []
        done: list[int] = []

        def hold() -> None:
            with locked(folder):
                ready.append(1)
                while not done:
                    time.sleep(0.005)

        thread = Thread(target=hold)
        thread.start()
        go.append((thread, done))
        while not ready:
            time.sleep(0.005)

    yield begin
    for thread, done in go:
        done.append(1)
        thread.join()


@pytest.mark.parametrize(
    ("stage", "over", "continues"),
    [
        (Stage.WAITING, False, False),
        (Stage.RUNNING, False, False),
        (Stage.FINISHED, True, False),
        (Stage.FAILED, True, True),
        (Stage.CANCELLED, True, True),
        (Stage.INTERRUPTED, True, True),
    ],
)
def test_what_is_over_and_what_can_go_on(stage: Stage, over: bool, continues: bool) -> None:
    assert (stage.is_over, stage.can_continue) == (over, continues)


def test_a_run_has_a_folder_of_its_own_with_what_was_asked(queue: ProcessQueue, begun: list[str]) -> None:
    jobs = [queue.start(ASK) for _ in range(3)]
    assert len({one.id for one in jobs}) == 3
    for one in jobs:
        assert ID.fullmatch(one.id)
        assert one.folder == queue.out / one.id
        assert one.run == one.folder / "run"
        assert one.ask == ASK
        assert json.loads((one.folder / "job.json").read_text()) == json.loads(ASK.model_dump_json())
        assert json.loads((one.folder / "state.json").read_text())["stage"] == "waiting"
    assert abs(time.mktime(time.strptime(jobs[0].id[:15], "%Y%m%d-%H%M%S")) - time.time()) < 60
    assert begun == [jobs[0].id, *sorted(one.id for one in jobs[:2])[:1], min(one.id for one in jobs)]


def test_a_name_that_is_taken_is_drawn_again(queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter("aaaaaaaabbbb")
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    monkeypatch.setattr("time.strftime", lambda _: "20261115-120000")
    assert [queue.start(ASK).id for _ in range(2)] == ["20261115-120000-aaaa", "20261115-120000-bbbb"]


def test_only_what_waits_or_goes_on_counts_towards_the_most(tmp_path: Path) -> None:
    queue = ProcessQueue(tmp_path / "out", at_most=2)
    queue._began = lambda job: True  # type: ignore[method-assign]
    for number, stage in enumerate((Stage.FINISHED, Stage.FAILED, Stage.CANCELLED, Stage.INTERRUPTED)):
        put(queue.out, f"20261115-12000{number}-aaaa", stage)
    queue.start(ASK)
    queue.start(ASK)
    with pytest.raises(InputError, match=r"^2 runs are queued already: wait for one, or cancel some$"):
        queue.start(ASK)
    assert len(queue.jobs()) == 6


def test_how_many_go_before_one_that_waits(queue: ProcessQueue, works: Any) -> None:
    put(queue.out, "20261115-110000-aaaa", Stage.FINISHED)
    put(queue.out, FIRST, Stage.WAITING)
    put(queue.out, SECOND)
    put(queue.out, "20261115-120009-aaaa", Stage.WAITING)
    assert [queue.job(one).state.message for one in (FIRST, SECOND)] == [
        "",
        "Runs go one at a time: 1 ahead of this one.",
    ]
    # Names of one second are in no order: what goes on may have a later one.
    works(put(queue.out, THIRD, Stage.RUNNING, message="as it was"))
    assert queue.job(FIRST).state.message == "Runs go one at a time: 1 ahead of this one."
    assert queue.job(SECOND).state.message == "Runs go one at a time: 2 ahead of this one."
    assert queue.job(THIRD).state == JobState(Stage.RUNNING, message="as it was")


def test_what_nobody_works_on_is_interrupted_and_says_why(
    queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(queue.out, FIRST, Stage.RUNNING, done=3, total=9, seconds=1.5)
    free = 2**20
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    told = "The process ended before the run did. You can resume it."
    assert queue.job(FIRST).state == JobState(Stage.INTERRUPTED, 3, 9, told, 1.5)
    assert queue.jobs() == [queue.job(FIRST)]
    free -= 1
    told = f"The disk of {folder} is full. Free some space, then resume the run."
    assert queue.job(FIRST).state.message == told
    (folder / CANCEL).touch()
    assert queue.job(FIRST).state == JobState(Stage.CANCELLED, 3, 9, STOPPED, 1.5)
    # That is said, not written: whoever works on it writes.
    assert read_state(folder).stage is Stage.RUNNING


def test_what_ended_between_reading_and_looking_is_read_again(
    queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(queue.out, FIRST, Stage.RUNNING, total=9)

    def ends(job: Job) -> bool:
        write_state(folder, JobState(Stage.FINISHED, 9, 9))
        return False

    monkeypatch.setattr(queue, "_goes_on", ends)
    assert queue.job(FIRST).state == JobState(Stage.FINISHED, 9, 9)


def test_files_are_read_again_when_they_have_changed_and_only_then(
    queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roadworthy._files._SETTLED", 0.0)
    folder = put(queue.out, FIRST, Stage.FINISHED, done=1)
    read: list[Path] = []

    def reads(one: Path) -> Job:
        read.append(one)
        return read_job(one)

    monkeypatch.setattr(queues, "read_job", reads)
    assert [queue.job(FIRST).state.done for _ in range(3)] == [1, 1, 1]
    assert read == [folder]
    write_state(folder, JobState(Stage.FINISHED, 25))
    assert queue.job(FIRST).state.done == 25


def test_stopping_what_waits_what_goes_on_and_what_is_over(
    queue: ProcessQueue, works: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr("os.kill", lambda pid, number: sent.append((pid, number)))
    put(queue.out, FIRST, Stage.WAITING, done=2, total=8)
    assert queue.cancel(FIRST).state == JobState(Stage.CANCELLED, 2, 8, "Stopped before it started.")
    assert queue.cancel(FIRST).state.message == "Stopped before it started."
    finished = put(queue.out, SECOND, Stage.FINISHED)
    (finished / PID).write_text("4711\n")
    assert queue.cancel(SECOND).state == JobState(Stage.FINISHED)
    assert not (finished / CANCEL).exists()
    assert sent == []
    folder = put(queue.out, THIRD, Stage.RUNNING)
    works(folder)
    for text in (None, "", "none"):
        if text is not None:
            (folder / PID).write_text(text)
        assert queue.cancel(THIRD).state.stage is Stage.RUNNING
        assert sent == []
    (folder / PID).write_text("4711\n")
    assert queue.cancel(THIRD).state.stage is Stage.RUNNING
    assert sent == [(4711, signal.SIGTERM)]
    assert (folder / CANCEL).exists()

    def gone(pid: int, number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr("os.kill", gone)
    assert queue.cancel(THIRD).state.stage is Stage.RUNNING


def test_what_was_stopped_waits_again_with_what_it_has(queue: ProcessQueue, begun: list[str]) -> None:
    folder = put(queue.out, FIRST, Stage.RUNNING, done=3, total=9, message="…", seconds=1.5)
    (folder / CANCEL).touch()
    write_state(folder, JobState(Stage.CANCELLED, 3, 9, "Stopped.", 1.5))
    assert queue.resume(FIRST).state == JobState(Stage.WAITING, 3, 9, "", 1.5)
    assert not (folder / CANCEL).exists()
    assert begun == [FIRST]
    for stage in (Stage.FINISHED, Stage.WAITING):
        write_state(folder, JobState(stage))
        with pytest.raises(InputError, match=f"only a stopped run can be resumed; this one is {stage}"):
            queue.resume(FIRST)


def test_nothing_begins_while_something_goes_on(queue: ProcessQueue, begun: list[str], works: Any) -> None:
    put(queue.out, SECOND, Stage.WAITING)
    running = put(queue.out, THIRD, Stage.RUNNING)
    works(running)
    queue.advance()
    assert begun == []
    write_state(running, JobState(Stage.FINISHED))
    # Until its process is gone, the folder is not free.
    over: list[int] = []
    queue._processes[THIRD] = SimpleNamespace(poll=lambda: 0 if over else None)  # type: ignore[assignment]
    queue.advance()
    assert begun == []
    over.append(1)
    queue.advance()
    assert begun == [SECOND]
    assert queue._processes == {}


def test_one_that_may_not_begin_does_not_keep_the_next_from_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[object] = []

    def check(asked: object) -> None:
        if not refused:
            refused.append(asked)
            raise InputError("this server has no model 'dave2'")

    started: list[tuple[list[str], dict[str, Any]]] = []

    def popen(command: list[str], **given: Any) -> Any:
        started.append((command, given))
        return SimpleNamespace(poll=lambda: None)

    monkeypatch.setattr("subprocess.Popen", popen)
    queue = ProcessQueue(tmp_path / "out", check=check)
    put(queue.out, FIRST, Stage.WAITING)
    second = put(queue.out, SECOND, Stage.WAITING, done=2, message="old")
    (second / "log.txt").write_text("before\n")
    queue.advance()
    assert queue.job(FIRST).state == JobState(Stage.FAILED, message="this server has no model 'dave2'")
    assert queue.job(SECOND).state == JobState(Stage.RUNNING, 2)
    ((command, given),) = started
    assert command == [sys.executable, "-m", "roadworthy.web.jobs.worker", str(second)]
    assert (given["stdin"], given["start_new_session"]) == (subprocess.DEVNULL, True)
    assert given["stdout"] is given["stderr"]
    assert (given["stdout"].name, given["stdout"].mode) == (str(second / "log.txt"), "ab")


class _Process:
    """One that is told to end, and does or does not."""

    def __init__(self, *, stubborn: bool) -> None:
        self.stubborn, self.told, self.waited = stubborn, [], []  # type: ignore[var-annotated]

    def terminate(self) -> None:
        self.told.append("terminate")

    def kill(self) -> None:
        self.told.append("kill")

    def wait(self, seconds: float | None = None) -> None:
        self.waited.append(seconds)
        if self.stubborn and seconds is not None:
            raise subprocess.TimeoutExpired("worker", seconds)


def test_closing_ends_what_goes_on_in_the_end_by_force(
    queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((100.0, 103.0, 111.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock, 111.0))
    patient, stubborn = _Process(stubborn=False), _Process(stubborn=True)
    queue._processes = {FIRST: patient, SECOND: stubborn}  # type: ignore[dict-item]
    queue.close()
    assert (patient.told, patient.waited) == (["terminate"], [7.0])
    assert (stubborn.told, stubborn.waited) == (["terminate", "kill"], [0.0, None])
    assert queue._processes == {}


def test_a_process_of_this_server_is_told_itself(queue: ProcessQueue) -> None:
    folder = put(queue.out, FIRST, Stage.RUNNING)
    process = _Process(stubborn=False)
    process.poll = lambda: None  # type: ignore[attr-defined]
    queue._processes[FIRST] = process  # type: ignore[assignment]
    (folder / PID).write_text("1\n")
    assert queue.cancel(FIRST).state.stage is Stage.RUNNING
    assert process.told == ["terminate"]
    process.poll = lambda: -15  # type: ignore[attr-defined]
    assert queue.job(FIRST).state.message == STOPPED


def test_folders_that_are_no_jobs(queue: ProcessQueue, tmp_path: Path) -> None:
    assert queue.jobs() == []
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=re.escape(f"{empty} must be the folder of a job, got one without")):
        read_job(empty)
    elsewhere = put(tmp_path, "20261115-120000-zzzz", Stage.FINISHED)
    queue.out.mkdir()
    (queue.out / FIRST).symlink_to(elsewhere)
    (put(queue.out, SECOND, Stage.FINISHED) / "run").symlink_to(elsewhere)
    for id in (FIRST, SECOND):
        with pytest.raises(InputError, match="leads out of the folder of all jobs: show such a run with"):
            queue.job(id)
    put(queue.out, "notes", Stage.FINISHED)
    assert queue.jobs() == []
    for text, words in (("{", "line 1"), ('{"kind": "rules"}', "is damaged")):
        (elsewhere / "job.json").write_text(text)
        with pytest.raises(InputError, match=words):
            read_job(elsewhere)
