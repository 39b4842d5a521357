"""What runs do for searches: inner workings, measures and cases taken back, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from roadworthy.cases import (
    AWAIT_VERDICTS,
    TAKE_BACK,
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    Feedback,
    Predict,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import Truth
from roadworthy.runs import read_rows, run, run_several

REQUIREMENT = Requirement("R1", "Steering stays small", "climb")


class Road:
    name = "road"

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int, /) -> Frame:
        image = np.full((2, 2, 3), index % 256, np.uint8)
        return Frame(f"f{index}", image, signals=Signals(steering=float(index % 10)))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


class Inside:
    """What happened inside: the ids of the frames."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, numbers: Sequence[int], /) -> Self:
        return type(self)([self.ids[number] for number in numbers])


class Driver:
    """A driver that can be looked into; it crashes on one frame, or hides something."""

    name = "driver"

    def __init__(self, blame: str = "", *, hides: bool = False) -> None:
        self.blame = blame
        self.hides = hides
        self.sizes: list[int] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        raise AssertionError("it was to be observed")

    def observe(self, frames: Sequence[Frame], /) -> tuple[list[Signals], Inside]:
        self.sizes.append(len(frames))
        if any(frame.id == self.blame for frame in frames):
            raise ZeroDivisionError("no horizon")
        ids = [frame.id for frame in frames]
        return [frame.signals for frame in frames], Inside(ids[1:] if self.hides else ids)


class Climb(BaseMethod):
    """Tries frames in rounds of four and takes back every third of them."""

    name = "climb"

    def __init__(self, rounds: int = 3) -> None:
        self.rounds = rounds
        self.begin = 0
        self.done = 0

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        self.done = self.begin
        for step in range(self.begin, self.rounds):
            for number in range(4 * step, 4 * step + 4):
                ask = Predict((partial(data.__getitem__, number),), observed=True)
                yield Case(f"{number}", requirement.id, (ask,), {"number": number})
            yield AWAIT_VERDICTS
            self.done = step + 1

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (inside,) = answers.predicted().internals
        (steering,) = answers.predicted().signal("steering")
        return Verdict.from_margin(case, 8.5 - steering, clue=inside)

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        number = int(case.id)
        if number % 3 == 2:
            return TAKE_BACK
        if verdict.clue is None:
            return None
        assert isinstance(verdict.clue, Inside)
        assert verdict.clue.ids == [f"f{number}"], "everyone gets what is inside for the own frame"
        return {"seen": number}


class Resumable(Climb):
    def state(self) -> Mapping[str, Any]:
        # All verdicts of the round that was awaited are in.
        return {"step": self.done + 1}

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:
        self.begin = int(state["step"])


@pytest.mark.parametrize("size", [1, 3, 32])
def test_feedback_adds_measures_and_takes_cases_back(tmp_path: Path, size: int) -> None:
    system = Driver()
    result = run(Climb(), REQUIREMENT, Road(), system, out=tmp_path, batch_size=size)
    rows = list(read_rows(tmp_path))
    kept = [number for number in range(12) if number % 3 != 2]
    assert [row["case"] for row in rows] == [str(number) for number in kept]
    assert [row["measure.seen"] for row in rows] == kept
    assert sum(result.counts.values()) == len(kept)
    assert result.counts[Status.VIOLATED] == 1, "steering 9 at frame 9"
    assert max(system.sizes) == min(size, 4)


def test_only_the_guilty_frame_of_an_observed_batch_is_an_error(tmp_path: Path) -> None:
    result = run(Climb(), REQUIREMENT, Road(), Driver("f4"), out=tmp_path)
    bad = [row for row in read_rows(tmp_path) if row["status"] == "error"]
    assert [row["case"] for row in bad] == ["4"]
    assert "driver crashed on frame 'f4': ZeroDivisionError: no horizon" in str(bad[0]["reason"])
    assert result.counts[Status.ERROR] == 1


def test_a_system_that_tells_of_fewer_frames_is_an_error(tmp_path: Path) -> None:
    result = run(Climb(1), REQUIREMENT, Road(), Driver(hides=True), out=tmp_path)
    assert result.counts[Status.ERROR] == 3
    assert {str(row["reason"]) for row in read_rows(tmp_path)} == {
        "driver told what happened inside it for 0 of 1 frames"
    }


def test_a_system_that_cannot_be_observed_ends_the_run() -> None:
    with pytest.raises(InputError, match="truth does not tell what happens inside it"):
        run(Climb(), REQUIREMENT, Road(), Truth())


def test_what_is_resumed_has_a_folder() -> None:
    with pytest.raises(InputError, match="give the folder"):
        run(Resumable(), REQUIREMENT, Road(), Driver(), resume=True)


def test_a_search_without_a_state_is_told_its_verdicts_again(tmp_path: Path) -> None:
    run(Climb(), REQUIREMENT, Road(), Driver(), out=tmp_path / "whole")

    def stop(counts: Mapping[Status, int]) -> None:
        if sum(counts.values()) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Climb(), REQUIREMENT, Road(), Driver(), out=tmp_path / "parts", batch_size=2, progress=stop)
    system = Driver()
    result = run(Climb(), REQUIREMENT, Road(), system, out=tmp_path / "parts", resume=True)
    assert sum(system.sizes) == 12, "all are asked again"
    assert list(read_rows(tmp_path / "parts")) == list(read_rows(tmp_path / "whole"))
    assert sum(result.counts.values()) == 8


def test_resuming_makes_again_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    run(Resumable(60), REQUIREMENT, Road(), Driver(), out=whole)
    parts = tmp_path / "parts"

    def stop(counts: Mapping[Status, int]) -> None:
        if sum(counts.values()) > 140:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Resumable(60), REQUIREMENT, Road(), Driver(), out=parts, progress=stop)
    # The rows that had been judged are on disk, beyond the checkpoint.
    assert len(list(read_rows(parts))) > 140
    system = Driver()
    result = run(Resumable(60), REQUIREMENT, Road(), system, out=parts, resume=True)
    assert sum(system.sizes) < 150, "what was done before the checkpoint is not done again"
    assert list(read_rows(parts)) == list(read_rows(whole))
    assert sum(result.counts.values()) == 160


@pytest.mark.parametrize(
    ("content", "message"), [("{}", "is no checkpoint of a run"), ("nonsense", "must be JSON")]
)
def test_a_broken_checkpoint_is_told(tmp_path: Path, content: str, message: str) -> None:
    run(Resumable(60), REQUIREMENT, Road(), Driver(), out=tmp_path)
    (tmp_path / "checkpoint.json").write_text(content)
    with pytest.raises(InputError, match=message):
        run(Resumable(60), REQUIREMENT, Road(), Driver(), out=tmp_path, resume=True)


def test_a_checkpoint_of_another_run_is_refused_and_missing_rows_too(tmp_path: Path) -> None:
    run(Resumable(60), REQUIREMENT, Road(), Driver(), out=tmp_path)
    with pytest.raises(InputError, match="a run with seed 0, and it cannot go on with seed 5"):
        run(Resumable(60), REQUIREMENT, Road(), Driver(), out=tmp_path, resume=True, seed=5)
    (tmp_path / "cases" / "part-00000000.parquet").unlink()
    with pytest.raises(InputError, match="should hold 160 rows and holds 0"):
        run(Resumable(60), REQUIREMENT, Road(), Driver(), out=tmp_path, resume=True)


def test_a_search_that_has_nothing_to_go_on_from_leaves_no_checkpoint(tmp_path: Path) -> None:
    class Late(Resumable):
        """Tells where it stands from its fiftieth round on, when more rows wait than a checkpoint takes."""

        def state(self) -> Mapping[str, Any]:
            return super().state() if self.done >= 50 else {}

    def stop(counts: Mapping[Status, int]) -> None:
        if sum(counts.values()) > 110:
            raise KeyboardInterrupt

    run(Late(60), REQUIREMENT, Road(), Driver(), out=tmp_path / "whole")
    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        run(Late(60), REQUIREMENT, Road(), Driver(), out=parts, progress=stop)
    assert list(read_rows(parts))
    assert not (parts / "checkpoint.json").exists()
    run(Late(60), REQUIREMENT, Road(), Driver(), out=parts, resume=True)
    assert list(read_rows(parts)) == list(read_rows(tmp_path / "whole"))


@pytest.mark.parametrize("method", ["rules", "climb"])
def test_resuming_never_deletes_the_rows_of_another_run(tmp_path: Path, method: str) -> None:
    other = Requirement("R1" if method == "rules" else "R2", "Something else", method)
    climb = Climb()
    climb.name = method
    run(climb, other, Road(), Driver(), out=tmp_path)
    before = list(read_rows(tmp_path))
    with pytest.raises(InputError, match="not the beginning of this search, and its rows would be lost"):
        run(Resumable(), REQUIREMENT, Road(), Driver(), out=tmp_path, resume=True)
    assert list(read_rows(tmp_path)) == before


def test_a_search_among_several_runs_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done > 140:
            raise KeyboardInterrupt

    run_several(Resumable(60), [REQUIREMENT], Road(), [Driver()], out=tmp_path / "whole")
    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        run_several(Resumable(60), [REQUIREMENT], Road(), [Driver()], out=parts, progress=stop)
    system = Driver()
    found = run_several(Resumable(60), [REQUIREMENT], Road(), [system], out=parts, resume=True)
    assert sum(system.sizes) < 150, "what was done before the checkpoint is not done again"
    folder = Path("runs", "r1", "driver")
    assert list(read_rows(parts / folder)) == list(read_rows(tmp_path / "whole" / folder))
    assert sum(found.results["R1", "driver"].counts.values()) == 160
