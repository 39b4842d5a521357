"""Runs in processes of their own: started, watched, stopped, continued, and found again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roadworthy.errors import InputError
from roadworthy.runs import read_rows
from roadworthy.runs.store import StoredRun
from roadworthy.web.jobs.asks import BbslAsk, Binding, RulesAsk
from roadworthy.web.jobs.queue import PID, Job, JobState, ProcessQueue, Stage, read_state, write_state
from roadworthy.web.jobs.worker import work_on

NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
FEW = 70  # frames: several batches
LONG = 2000  # frames: more than any of these tests lets a run finish


def ask(frames: int = 6, **more: Any) -> RulesAsk:
    return RulesAsk(text=NIGHT, models=("dave2",), data="world:town", frames=frames, **more)


def until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not found():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[ProcessQueue]:
    queue = ProcessQueue(tmp_path / "out")
    yield queue
    queue.close()


def stage_of(queue: ProcessQueue, job: Job) -> Stage:
    queue.advance()
    return queue.job(job.id).state.stage


def rows_of(folder: Path) -> list[dict[str, Any]]:
    (pair,) = StoredRun.open(folder).pairs
    return list(read_rows(pair.folder))


def test_the_eldest_begins_and_the_latest_is_listed_first(
    queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"20261115-12000{second}-aaaa" for second in (1, 2, 3)]
    for id in ids:
        (queue.out / id).mkdir(parents=True)
        (queue.out / id / "job.json").write_text(ask().model_dump_json())
    begun: list[str] = []

    def began(job: Job) -> bool:
        begun.append(job.id)
        return True

    monkeypatch.setattr(queue, "_began", began)
    queue.advance()
    assert begun == ids[:1]
    assert [job.id for job in queue.jobs()] == ids[::-1]
    assert queue.job(ids[1]).state.message == "Runs go one at a time: 1 ahead of this one."


def test_runs_are_carried_out_one_after_the_other(queue: ProcessQueue) -> None:
    first, second = queue.start(ask(LONG)), queue.start(ask(name="R7"))
    assert queue.job(first.id).state.stage is Stage.RUNNING
    assert queue.job(second.id).state.stage is Stage.WAITING
    assert queue.job(second.id).state.message == "Runs go one at a time: 1 ahead of this one."
    assert [one.id for one in queue.jobs()] == sorted([first.id, second.id], reverse=True)
    queue.cancel(first.id)
    until(lambda: stage_of(queue, second).is_over)
    assert queue.job(first.id).state.stage is Stage.CANCELLED
    state = queue.job(second.id).state
    assert (state.stage, state.done, state.total) == (Stage.FINISHED, 6, 6), state.message
    (outcome,) = state.outcomes
    assert outcome["system"] == "dave2"
    assert sum(outcome["counts"].values()) == 6
    (pair,) = StoredRun.open(second.run).pairs
    assert (pair.requirement.id, pair.requirement.text) == ("R7", NIGHT)


def test_a_run_that_waits_is_cancelled_at_once(queue: ProcessQueue) -> None:
    queue.start(ask(LONG))
    waiting = queue.start(ask())
    assert queue.cancel(waiting.id).state.stage is Stage.CANCELLED


def test_a_server_that_ends_stops_what_goes_on_and_the_next_one_goes_on(tmp_path: Path) -> None:
    queue = ProcessQueue(tmp_path / "out")
    job = queue.start(ask(FEW))
    until(lambda: queue.job(job.id).state.done > 0)
    queue.close()
    following = ProcessQueue(queue.out)
    stopped = following.job(job.id).state
    assert stopped.stage is Stage.CANCELLED
    assert 0 < stopped.done < FEW
    following.resume(job.id)
    until(lambda: stage_of(following, job).is_over)
    assert following.job(job.id).state.stage is Stage.FINISHED
    following.close()
    undisturbed = tmp_path / "20261115-120000-aaaa"
    undisturbed.mkdir()
    (undisturbed / "job.json").write_text(ask(FEW).model_dump_json())
    assert work_on(undisturbed) is Stage.FINISHED
    assert rows_of(job.run) == rows_of(undisturbed / "run")


STOPPED_BY_ITSELF = """
import os, signal

def drive(image):
    os.kill(os.getpid(), signal.SIGTERM)
    sum(range(10_000))  # a signal is heard between two steps of Python
    return {"steering": 0.0, "speed": 5.0}
"""


def test_a_stop_that_is_heard_inside_a_model_is_no_crash_of_the_model(
    tmp_path: Path, queue: ProcessQueue
) -> None:
    (tmp_path / "driver.py").write_text(STOPPED_BY_ITSELF)
    model = f"callable:{tmp_path / 'driver.py'}:drive"
    job = queue.start(RulesAsk(text=NIGHT, models=(model,), data="world:town", frames=6))
    until(lambda: stage_of(queue, job).is_over)
    assert queue.job(job.id).state.stage is Stage.CANCELLED


def test_killed_it_is_interrupted_and_goes_on(queue: ProcessQueue) -> None:
    job = queue.start(ask(FEW))
    until(lambda: queue.job(job.id).state.done > 0)
    os.kill(int((job.folder / PID).read_text()), signal.SIGKILL)
    until(lambda: stage_of(queue, job).is_over)
    killed = queue.job(job.id).state
    assert killed.stage is Stage.INTERRUPTED
    assert "resume" in killed.message
    queue.resume(job.id)
    until(lambda: stage_of(queue, job).is_over)
    assert len({row["case"] for row in rows_of(job.run)}) == len(rows_of(job.run)) == FEW


def test_a_server_that_is_gone_takes_nothing_along(queue: ProcessQueue) -> None:
    job = queue.start(ask(LONG))
    until(lambda: queue.job(job.id).state.done > 0)
    # Another server on the same folder: it did not start the process, and finds it all the same.
    another = ProcessQueue(queue.out)
    assert another.job(job.id).state.stage is Stage.RUNNING
    another.advance()
    before = another.job(job.id).state.done
    until(lambda: another.job(job.id).state.done > before)
    another.cancel(job.id)
    until(lambda: stage_of(another, job) is Stage.CANCELLED)


def test_a_specification_is_run_on_a_detector(tmp_path: Path) -> None:
    text = """exfunction v(): bb near(): interval endexfunction
    case stop PROJ_y(v()) ~ near() or PROJ_y(v()) < near() endcase
    case NOT stop PROJ_y(v()) > near() endcase"""
    bindings = {"v": Binding(source="object"), "near": Binding(source="value", value="100, 160")}
    folder = tmp_path / "20261115-120000-aaaa"
    folder.mkdir()
    form = BbslAsk(text=text, models=("detector",), data="world:town", frames=4, bindings=bindings)
    (folder / "job.json").write_text(form.model_dump_json())
    assert work_on(folder) is Stage.FINISHED
    assert read_state(folder).done == len(rows_of(folder / "run")) > 0


class TestRefusals:
    def test_what_the_server_does_not_allow(self, tmp_path: Path) -> None:
        def check(asked: object) -> None:
            raise InputError("this server has no model 'dave2'")

        queue = ProcessQueue(tmp_path / "out", check=check)
        with pytest.raises(InputError, match="has no model"):
            queue.start(ask())
        assert not queue.jobs()

    def test_what_waited_for_a_server_that_allowed_it(self, tmp_path: Path) -> None:
        def check(asked: object) -> None:
            raise InputError("this server has no model 'dave2'")

        before = ProcessQueue(tmp_path / "out")
        before._began = lambda job: True  # type: ignore[method-assign]  # takes it in and starts nothing
        job = before.start(ask())
        queue = ProcessQueue(tmp_path / "out", check=check)
        queue.advance()
        assert queue.job(job.id).state.stage is Stage.FAILED
        assert "has no model" in queue.job(job.id).state.message

    def test_too_many(self, tmp_path: Path) -> None:
        queue = ProcessQueue(tmp_path / "out", at_most=1)
        queue._began = lambda job: True  # type: ignore[method-assign]
        queue.start(ask())
        with pytest.raises(InputError, match="queued already"):
            queue.start(ask())

    @pytest.mark.parametrize("id", ["..", "../x", "20261115-120000-zzzz", "20261115-120000-aaaa/..", ""])
    def test_ids_that_are_none(self, queue: ProcessQueue, id: str) -> None:
        for call in (queue.job, queue.cancel, queue.resume):
            with pytest.raises(InputError, match="there is no run"):
                call(id)

    def test_a_job_elsewhere_is_none(self, queue: ProcessQueue) -> None:
        for place in (queue.out.parent / "elsewhere", queue.out / "other"):
            place.mkdir(parents=True)
            (place / "job.json").write_text(ask().model_dump_json())
        for id in ("../elsewhere", "other"):
            with pytest.raises(InputError, match="there is no run"):
                queue.job(id)

    def test_what_was_stopped_goes_on_only_where_it_is_allowed(self, tmp_path: Path) -> None:
        def check(asked: object) -> None:
            raise InputError("this server has no model 'dave2'")

        folder = tmp_path / "20261115-120000-aaaa"
        folder.mkdir()
        (folder / "job.json").write_text(ask().model_dump_json())
        write_state(folder, JobState(Stage.CANCELLED, 3, 6))
        queue = ProcessQueue(tmp_path, check=check)
        with pytest.raises(InputError, match="has no model"):
            queue.resume(folder.name)
        assert queue.job(folder.name).state == JobState(Stage.CANCELLED, 3, 6)

    def test_only_what_was_stopped_goes_on(self, tmp_path: Path) -> None:
        queue = ProcessQueue(tmp_path / "out")
        queue._began = lambda job: True  # type: ignore[method-assign]
        job = queue.start(ask())
        with pytest.raises(InputError, match="only a stopped run"):
            queue.resume(job.id)

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("a file")
        with pytest.raises(InputError, match="--out"):
            ProcessQueue(tmp_path / "out").start(ask())

    def test_a_disk_that_is_full(self, queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise InputError("cannot write: No space left on device")

        monkeypatch.setattr("roadworthy.web.jobs.queue.write_state", full)
        with pytest.raises(InputError, match="No space left"):
            queue.start(ask())
        assert list(queue.out.iterdir()) == []

    def test_damaged_folders_are_left_out(self, queue: ProcessQueue) -> None:
        folder = queue.out / "20261115-120000-aaaa"
        folder.mkdir(parents=True)
        (folder / "job.json").write_text('{"kind": "rules"}')
        (queue.out / "20261115-120000-bbbb").mkdir()
        unreadable = queue.out / "20261115-120000-cccc"
        unreadable.mkdir()
        (unreadable / "job.json").write_text('{"kind": "suite", "document": {"models": 5}}')
        assert queue.jobs() == []
        with pytest.raises(InputError, match="is damaged"):
            queue.job(folder.name)

    def test_what_cannot_be_tried_fails_with_its_reason(self, tmp_path: Path) -> None:
        folder = tmp_path / "20261115-120000-aaaa"
        folder.mkdir()
        wrong = ask().model_copy(update={"text": "If a unicorn appears, slow down."})
        (folder / "job.json").write_text(wrong.model_dump_json())
        assert work_on(folder) is Stage.FAILED
        assert "unicorn" in read_state(folder).message


def test_states_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_state(tmp_path) == JobState()
    state = JobState(Stage.RUNNING, 3, 9, "…", 1.5, ({"system": "dave2"},))
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    (tmp_path / "state.json").write_text('{"stage": "flying"}')
    with pytest.raises(InputError, match="is damaged"):
        read_state(tmp_path)
