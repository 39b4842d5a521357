"""What the process of a run says in its folder, without a run: how far, how long, and how it ended."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import Outcome, OutcomeStatus, Status
from roadworthy.errors import InputError
from roadworthy.runs.store import locked
from roadworthy.web.jobs import worker
from roadworthy.web.jobs.asks import AnyAsk, RulesAsk, SuiteAsk
from roadworthy.web.jobs.queue import JobState, Stage, read_job, read_state, write_state

ASK = RulesAsk(text="If it rains, slow down.", models=("dave2",), data="world:town", frames=6)
SUITE = SuiteAsk(document={"models": "dave2", "data": "world:town", "requirements": {"R1": ASK.text}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "20261115-120000-aaaa"
    made.mkdir()
    (made / "job.json").write_text(ASK.model_dump_json())
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_how_far_a_run_has_come_is_noted_and_not_too_often(folder: Path, clock: list[float]) -> None:
    write_state(folder, JobState(Stage.RUNNING, 3, 9, "old", 1.5))
    notes = worker._Notes(read_job(folder), 9)
    assert read_state(folder) == JobState(Stage.RUNNING, 3, 9, "", 1.5)
    notes.prepares("frames", 700)
    clock[0] += 1
    notes.counts(600)
    assert read_state(folder) == JobState(Stage.RUNNING, 3, 9, "", 1.5)
    notes.begins("dave2", 5)
    assert read_state(folder) == JobState(Stage.RUNNING, 3, 9, "", 2.5)
    notes.begins("dave2", 12)
    assert read_state(folder) == JobState(Stage.RUNNING, 3, 12, "", 2.5)
    clock[0] += 0.1
    notes.counts(4)
    assert read_state(folder).done == 3  # not yet
    clock[0] += 0.126
    notes.counts(5)
    assert read_state(folder) == JobState(Stage.RUNNING, 5, 12, "", 2.73)
    clock[0] += 0.1
    notes.counts(6)
    clock[0] += 0.11
    notes.counts(13)  # a specification has one for each object
    assert read_state(folder) == JobState(Stage.RUNNING, 13, 13, "", 2.94)
    notes.prepares("frames", 700)
    clock[0] += 1
    notes.counts(600)
    assert read_state(folder).done == 13


def an_outcome(status: str, violated: int, passed: int, *notes: str) -> Outcome:
    counts = {Status.VIOLATED: violated, Status.PASSED: passed, Status.ENGINE_ERROR: 0}
    return Outcome("R1", OutcomeStatus(status), counts, None, f"{violated} failed", {}, notes=notes)


def worked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, ask: AnyAsk = ASK, ends: Any = None, **result: Any
) -> tuple[JobState, dict[str, Any]]:
    """Return how a job ended, and what was asked of the runner."""
    given: dict[str, Any] = {}
    (folder / "job.json").write_text(ask.model_dump_json())

    def run_suite(suite: object, out: Path, **others: Any) -> Any:
        given.update(suite=suite, out=out, locked=(folder / ".lock").exists(), **others)
        if ends is not None:
            raise ends
        known = {"failures": {}, "outcomes": {}, "notes": [], "exit_code": lambda: 0}
        return SimpleNamespace(result=SimpleNamespace(**known | result))

    monkeypatch.setattr(worker, "run_suite", run_suite)
    assert worker.work_on(folder) is read_state(folder).stage
    with locked(folder):  # it has let go of it
        return read_state(folder), given


def test_a_run_that_ends_says_what_came_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    write_state(folder, JobState(Stage.RUNNING, 3, 99, seconds=2.0))
    outcomes = {
        ("R1", "dave2"): an_outcome("violated", 2, 3, "a note"),
        ("R1", "epoch"): an_outcome("passed", 0, 7),
    }
    state, given = worked(folder, monkeypatch, outcomes=outcomes, notes=["read this"], exit_code=lambda: 1)
    assert state == JobState(
        Stage.FINISHED,
        7,
        7,
        "",
        2.0,
        (
            {
                "requirement": "R1",
                "system": "dave2",
                "status": "violated",
                "summary": "2 failed",
                "notes": ["a note"],
                "counts": {"passed": 3, "violated": 2, "not applicable": 0, "error": 0},
            },
            {
                "requirement": "R1",
                "system": "epoch",
                "status": "passed",
                "summary": "0 failed",
                "notes": [],
                "counts": {"passed": 7, "violated": 0, "not applicable": 0, "error": 0},
            },
        ),
        ("read this",),
        1,
    )
    assert given["suite"] == ASK.suite()
    assert given["out"] == folder / "run"
    assert given["executor"] is not None
    assert isinstance(given["watcher"], worker._Notes)
    state, _ = worked(folder, monkeypatch)
    assert (state.stage, state.done, state.total) == (Stage.FINISHED, 0, 0)


@pytest.mark.parametrize(
    ("ask", "images"),
    [
        (ASK.model_copy(update={"frames": 1000}), "all"),
        (ASK.model_copy(update={"frames": 1001}), "failures"),
        (SUITE, "failures"),
    ],
    ids=["1000", "1001", "suite"],
)
def test_pictures_of_all_cases_are_kept_of_small_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ask: AnyAsk, images: str
) -> None:
    assert worked(folder, monkeypatch, ask=ask)[1]["images"] == images


@pytest.mark.parametrize(
    ("ends", "stage", "message", "code"),
    [
        (worker._Cancelled(), Stage.CANCELLED, "Stopped. It can go on where it was.", None),
        (InputError("no such model"), Stage.FAILED, "no such model", 2),
        (
            ValueError("odd"),
            Stage.FAILED,
            "ValueError: odd. This should not happen; log.txt says where it comes from.",
            2,
        ),
        (MemoryError("bad_alloc"), Stage.FAILED, "there is not enough memory (MemoryError: bad_alloc): ", 2),
    ],
    ids=["cancelled", "input", "bug", "memory"],
)
def test_a_run_that_does_not_end_well_says_why(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ends: BaseException,
    stage: Stage,
    message: str,
    code: int | None,
) -> None:
    state, _ = worked(folder, monkeypatch, ends=ends)
    assert (state.stage, state.exit_code) == (stage, code)
    assert state.message.startswith(message)
    # What is a fault of ours can be looked up.
    assert ("Traceback" in capsys.readouterr().err) is isinstance(ends, ValueError | MemoryError)


def test_requirements_that_could_not_be_tried_are_told_one_after_the_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = {("R1", "dave2"): "no engine", ("R2", "dave2"): "no frames"}
    state, _ = worked(folder, monkeypatch, failures=failures)
    assert (state.stage, state.message, state.exit_code) == (Stage.FAILED, "no engine; no frames", 2)


def test_how_the_process_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    handlers: dict[int, Any] = {}
    spared: list[int] = []
    monkeypatch.setattr("signal.signal", lambda number, handler: handlers.update({number: handler}))
    monkeypatch.setattr(worker, "spare_torch", lambda: spared.append(1))
    for stage in Stage:
        monkeypatch.setattr(worker, "work_on", lambda _, stage=stage: stage)
        assert worker.main([str(tmp_path)]) == (0 if stage is Stage.FINISHED else 1)
    assert len(spared) == len(Stage)
    assert set(handlers) == {signal.SIGTERM, signal.SIGINT}
    stop = handlers[signal.SIGTERM]
    assert handlers[signal.SIGINT] is stop
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGTERM, None)
    # A second one must not interrupt the clean end.
    assert handlers == {signal.SIGTERM: signal.SIG_IGN, signal.SIGINT: signal.SIG_IGN}
