from __future__ import annotations

import contextvars
import ctypes
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import digests

from roadworthy.cases import (
    AWAIT_VERDICTS,
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    FrameSource,
    Outcome,
    OutcomeStatus,
    Predict,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.datasets import load
from roadworthy.errors import InputError, MissingExtraError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest, Truth, load_model
from roadworthy.runs import read_rows, run, run_several
from roadworthy.runs.store.locking import hold
from roadworthy.transforms import Transform, compose, make_transform

MIRROR = Requirement("R1", "The mirror image steers the other way", "mirror", {"tolerance": 1.0})


def make_frame(number: int) -> Frame:
    rng = np.random.default_rng(number)
    image = rng.integers(0, 256, (8, 12, 3), dtype=np.uint8)
    return Frame(f"f{number}", image, signals=Signals(speed=10.0, steering=float(number % 7) - 3))


class Frames:
    """The first frames of an endless drive; without a length, all of them."""

    name = "frames"

    def __init__(self, length: int = sys.maxsize) -> None:
        self.length = length
        self.made = 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int, /) -> Frame:
        self.made += 1
        return make_frame(index)

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in range(self.length))


class Mirror(BaseMethod):
    """The frame and its mirror image: steering must change sign."""

    name = "mirror"

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for frame in data:
            tolerance = requirement.parameters["tolerance"]
            assert isinstance(tolerance, float)
            asks = (Predict((frame, frame.mirrored)),)
            yield Case(frame.id, requirement.id, asks, {"tolerance": tolerance})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        before, after = answers.predicted().signal("steering")
        tolerance = case.parameters["tolerance"]
        assert isinstance(tolerance, float)
        measures = {"before": before, "after": after}
        return Verdict.from_margin(case, tolerance - abs(before + after), measures=measures)


class Recorder:
    """A driver that keeps the sizes of its batches; it pulls to the right by a bias."""

    name = "recorder"

    def __init__(self, bias: float = 0.0, blame: str = "", fault: str = "") -> None:
        self.bias = bias
        self.blame = blame
        self.fault = fault
        self.batches: list[list[str]] = []

    def predict(self, frames: Sequence[Frame], /) -> Any:
        self.batches.append([frame.id for frame in frames])
        answers: list[Any] = []
        for frame in frames:
            guilty = frame.id == self.blame
            if guilty and self.fault == "crash":
                raise ZeroDivisionError("no horizon")
            if guilty and self.fault in ("SystemExit", "GeneratorExit"):
                raise {"SystemExit": SystemExit, "GeneratorExit": GeneratorExit}[self.fault](0)
            if guilty and self.fault == "writes":
                # As torch.from_numpy(frame.image).mul_(0) does, whatever NumPy says of the array.
                ctypes.memset(frame.image.ctypes.data, 0, frame.image.nbytes)
            if guilty and self.fault == "missing":
                continue
            if guilty and self.fault == "number":
                answers.append(3.0)
                continue
            if guilty and self.fault == "no steering":
                answers.append(Signals(speed=1.0))
                continue
            assert frame.signals.steering is not None
            answers.append(Signals(steering=frame.signals.steering + self.bias))
        return None if self.fault == "nothing" else answers


def test_the_truth_passes_and_a_biased_driver_is_caught(tmp_path: Path) -> None:
    good = run(Mirror(), MIRROR, Frames(5), Truth(), out=tmp_path / "good")
    assert good.outcome.status is OutcomeStatus.PASSED
    assert good.counts[Status.PASSED] == 5
    assert [row["margin"] for row in read_rows(tmp_path / "good")] == [1.0] * 5
    assert [row["images"] for row in read_rows(tmp_path / "good")] == [""] * 5

    bad = run(Mirror(), MIRROR, Frames(5), Recorder(bias=0.75), out=tmp_path / "bad")
    assert bad.outcome.status is OutcomeStatus.VIOLATED
    assert (bad.outcome.rate, bad.folder) == (1.0, tmp_path / "bad")
    rows = list(read_rows(tmp_path / "bad"))
    assert [row["case"] for row in rows] == ["f0", "f1", "f2", "f3", "f4"]
    assert [row["margin"] for row in rows] == [-0.5] * 5
    assert [row["measure.before"] for row in rows] == [-2.25, -1.25, -0.25, 0.75, 1.75]
    assert all(len(str(row["images"]).split()) == 2 for row in rows)
    stored = json.loads((tmp_path / "bad" / "requirements.jsonl").read_text())
    assert stored["outcome"]["counts"]["violated"] == 5


@pytest.mark.parametrize(("images", "expected"), [("failures", 0), ("all", 6), ("none", 0)])
def test_which_images_are_kept_is_a_setting(tmp_path: Path, images: Any, expected: int) -> None:
    run(Mirror(), MIRROR, Frames(3), Truth(), out=tmp_path, images=images)
    assert len(list((tmp_path / "images").rglob("*.png"))) == expected


def test_a_run_that_is_not_stored_concludes_the_same(tmp_path: Path) -> None:
    stored = run(Mirror(), MIRROR, Frames(5), Recorder(bias=0.75), out=tmp_path)
    passing = run(Mirror(), MIRROR, Frames(5), Recorder(bias=0.75))
    assert passing.outcome == stored.outcome
    assert passing.folder is None


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, batch_size: int) -> None:
    run(Mirror(), MIRROR, Frames(7), Recorder(bias=0.75), out=tmp_path / "a")
    run(Mirror(), MIRROR, Frames(7), Recorder(bias=0.75), out=tmp_path / "b", batch_size=batch_size)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert len(digests(tmp_path / "a")) == 1 + 1 + 14


def test_frames_of_many_cases_share_a_batch() -> None:
    system = Recorder()
    run(Mirror(), MIRROR, Frames(7), system, batch_size=6)
    assert [len(batch) for batch in system.batches] == [6, 6, 2]


class Big(Mirror):
    """One case with more frames than a batch holds."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield Case("all", requirement.id, (Predict(tuple(data)),))

    def judge(self, case: Case, answers: Answers) -> Verdict:
        return Verdict.from_margin(case, sum(answers.predicted().signal("steering")))


def test_a_case_larger_than_a_batch_is_asked_in_parts() -> None:
    system = Recorder()
    assert run(Big(), MIRROR, Frames(8), system, batch_size=3).counts[Status.VIOLATED] == 1
    assert [len(batch) for batch in system.batches] == [3, 3, 2]


class PerObject(Mirror):
    """Several cases about one frame, as a method that judges objects has."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for frame in data:
            for number in range(10):
                yield Case(f"{frame.id}/{number}", requirement.id, (Predict((frame,)),), {"object": number})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (steering,) = answers.predicted().signal("steering")
        return Verdict.from_margin(case, 5.0 - abs(steering))


def test_a_frame_that_cases_share_is_predicted_once() -> None:
    system = Recorder()
    result = run(PerObject(), MIRROR, Frames(6), system, batch_size=4)
    assert result.counts[Status.PASSED] == 60
    assert system.batches == [["f0", "f1", "f2", "f3"], ["f4", "f5"]]


class FirstFew(Mirror):
    """Stops by itself, whatever the length of the data."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number, case in enumerate(super().cases(requirement, data, rng)):
            if number == 20:
                return
            yield case


def test_cases_are_pulled_lazily_from_endless_data() -> None:
    data = Frames()
    progress: list[tuple[int, int]] = []
    run(
        FirstFew(),
        MIRROR,
        data,
        Truth(),
        batch_size=4,
        progress=lambda counts: progress.append((sum(counts.values()), data.made)),
    )
    # After every batch of two cases at most one more has been pulled.
    assert [judged for judged, _ in progress] == list(range(2, 21, 2))
    assert all(made <= judged + 1 for judged, made in progress)


class Search(BaseMethod):
    """Climbs to the steepest steering: each step depends on the verdicts of the step before."""

    name = "search"

    def __init__(self) -> None:
        self.best = (np.inf, 0)
        self.told: list[str] = []

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for step in range(6):
            centre = self.best[1]
            for number in sorted({max(0, centre + int(jump)) for jump in rng.integers(-9, 10, 5)}):
                asks = (Predict((partial(data.__getitem__, number),)),)
                yield Case(f"{step}/{number}", requirement.id, asks, {"number": number})
            yield AWAIT_VERDICTS

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (steering,) = answers.predicted().signal("steering")
        return Verdict.from_margin(case, 2.5 - abs(steering), clue=[steering])

    def feedback(self, case: Case, verdict: Verdict) -> None:
        number = case.parameters["number"]
        assert isinstance(number, int)
        assert verdict.margin is not None
        assert isinstance(verdict.clue, list)
        self.told.append(case.id)
        self.best = min(self.best, (verdict.margin, number))


def test_a_search_takes_the_same_course_whatever_the_batch_size(tmp_path: Path) -> None:
    requirement = Requirement("R2", "Steering stays moderate", "search")
    methods = {size: Search() for size in (1, 2, 32)}
    for size, method in methods.items():
        run(method, requirement, Frames(), Truth(), out=tmp_path / str(size), batch_size=size, seed=3)
    assert methods[1].told == methods[2].told == methods[32].told
    assert methods[1].best == methods[32].best
    assert digests(tmp_path / "1") == digests(tmp_path / "2") == digests(tmp_path / "32")
    assert [row["case"] for row in read_rows(tmp_path / "1")] == methods[1].told

    run(Search(), requirement, Frames(), Truth(), out=tmp_path / "other", seed=4)
    assert digests(tmp_path / "other") != digests(tmp_path / "1")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", "recorder crashed on frame 'f2': ZeroDivisionError: no horizon"),
        ("SystemExit", "recorder crashed on frame 'f2': SystemExit: 0"),
        ("GeneratorExit", "recorder crashed on frame 'f2': GeneratorExit: 0"),
        ("writes", "recorder wrote into the image of frame 'f2': let it work on a copy"),
        ("missing", "recorder gave a wrong number of predictions for frame 'f2': expected 1, got 0"),
        (
            "number",
            "recorder must answer frame 'f2' with one of Signals, Boxes, LabelMap, ClassScores, "
            "InverseDepth, PlannedPath, got float",
        ),
        ("no steering", "expected a prediction of steering for frame 'f2', got speed"),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 32])
def test_only_the_case_that_the_system_fails_on_is_an_error(
    tmp_path: Path, fault: str, reason: str, batch_size: int
) -> None:
    system = Recorder(blame="f2", fault=fault)
    result = run(Mirror(), MIRROR, Frames(5), system, out=tmp_path, batch_size=batch_size)
    assert result.counts[Status.ERROR] == 1
    assert result.counts[Status.PASSED] == 4
    assert result.outcome.status is OutcomeStatus.VIOLATED
    (row,) = (row for row in read_rows(tmp_path) if row["status"] == "error")
    assert (row["case"], row["reason"], row["margin"]) == ("f2", reason, None)
    assert len(str(row["images"]).split()) == 2
    if fault == "writes":
        run(Mirror(), MIRROR, Frames(5), Recorder(), out=tmp_path / "alone", images="all")
        shown = {one["case"]: one["images"] for one in read_rows(tmp_path / "alone")}
        assert row["images"] == shown["f2"], "what is stored is what was given, not what was made of it"


def test_a_system_that_answers_nothing_fails_every_case(tmp_path: Path) -> None:
    result = run(Mirror(), MIRROR, Frames(3), Recorder(fault="nothing"), out=tmp_path)
    assert result.counts[Status.ERROR] == 3
    assert {str(row["reason"]).partition(":")[0] for row in read_rows(tmp_path)} == {
        f"recorder crashed on frame 'f{number}'" for number in range(3)
    }


def test_truth_without_signals_says_what_to_do(tmp_path: Path) -> None:
    class Blind(Frames):
        def __getitem__(self, index: int, /) -> Frame:
            return super().__getitem__(index).replace(signals=Signals())

    run(Mirror(), MIRROR, Blind(1), Truth(), out=tmp_path)
    (row,) = read_rows(tmp_path)
    assert row["status"] == "error"
    assert "frame 'f0' must have signals for the model 'truth', got none; use data with" in str(row["reason"])


class Unfinished:
    name = "unfinished"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        raise MissingExtraError("torch", extra="torch", purpose="run the network")


def test_an_incomplete_setup_ends_the_run() -> None:
    with pytest.raises(MissingExtraError, match="torch is needed to run the network"):
        run(Mirror(), MIRROR, Frames(3), Unfinished())


class Changed(Mirror):
    """A change that only some frames allow."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number, frame in enumerate(data):
            yield Case(frame.id, requirement.id, (Predict((frame, partial(self.change, frame, number))),))

    @staticmethod
    def change(frame: Frame, number: int) -> Frame:
        if number % 2:
            raise NotApplicable(f"frame {frame.id!r} has no sidewalk")
        return frame.replace(visual_change=number / 10)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        if case.id == "f4":
            raise NotApplicable("the speed before is 0")
        return Verdict.from_margin(case, 0.0)


def test_cases_that_do_not_apply_are_counted_with_their_reason(tmp_path: Path) -> None:
    system = Recorder()
    result = run(Changed(), MIRROR, Frames(5), system, out=tmp_path)
    assert result.counts[Status.NOT_APPLICABLE] == 3
    assert [row["reason"] for row in read_rows(tmp_path)] == [
        "",
        "frame 'f1' has no sidewalk",
        "",
        "frame 'f3' has no sidewalk",
        "the speed before is 0",
    ]
    assert [row["visual_change"] for row in read_rows(tmp_path)] == [0.0, None, 0.2, None, 0.4]
    # Nothing is asked about a case that does not apply.
    assert system.batches == [["f0", "f0", "f2", "f2", "f4", "f4"]]


class Seen(Mirror):
    """A case for each list of changes: the frame and what each of them makes of it."""

    def __init__(self, *changes: Sequence[FrameSource]) -> None:
        self._changes = changes

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number, changes in enumerate(self._changes):
            yield Case(str(number), requirement.id, (Predict((data[0], *changes)),))

    def judge(self, case: Case, answers: Answers) -> Verdict:
        return Verdict.from_margin(case, -1.0 if int(case.id) % 2 == 0 else 1.0)


class MeasuredLater:
    """A change whose visual change is measured when it is asked for."""

    def __init__(self, original: Frame, transform: Transform) -> None:
        self._original = original
        self._transform = transform

    def __call__(self) -> Frame:
        return self._transform(self._original, measure=False)

    def measured(self, frame: Frame) -> Frame:
        return self._transform.measured(self._original, frame)


def test_rows_say_whether_people_tolerate_so_much_of_a_change(tmp_path: Path) -> None:
    data = load("world:town", count=1)
    frame = data[0]
    weak, strong = (make_transform("contrast", gain=gain) for gain in (0.8, 0.02))
    both = compose([weak, make_transform("jpeg", quality=30)])
    rain = make_transform("rain:heavy")
    cases: list[list[FrameSource]] = [
        [partial(weak, frame)],
        [partial(strong, frame)],
        [partial(both, frame)],  # composed: nobody has shown it to people
        [partial(rain, frame)],
        [partial(weak, frame), partial(strong, frame)],  # two changed frames
        [MeasuredLater(frame, strong)],  # passes
        [MeasuredLater(frame, strong)],  # fails
    ]
    run(Seen(*cases), MIRROR, data, Recorder(), out=tmp_path)
    rows = list(read_rows(tmp_path))
    assert [row.get("measure.tolerated") for row in rows] == [True, False, None, None, None, None, False]
    changes = [row["visual_change"] for row in rows]
    assert changes[5] is None
    assert changes[6] == changes[4] == changes[1] == strong(frame).visual_change


class Buggy(Mirror):
    def judge(self, case: Case, answers: Answers) -> Verdict:
        if case.id == "f3":
            raise KeyError("a bug in the method")
        return super().judge(case, answers)


def test_a_bug_in_the_method_ends_the_run_and_keeps_what_was_judged(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="a bug in the method"):
        run(Buggy(), MIRROR, Frames(5), Truth(), out=tmp_path)
    assert [row["case"] for row in read_rows(tmp_path)] == ["f0", "f1", "f2"]


class Careless(Mirror):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def judge(self, case: Case, answers: Answers) -> Any:
        return self.answer


class Strayed(Mirror):
    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield Case("c", "R7", (Predict((data[0],)),))

    def judge(self, case: Case, answers: Answers) -> Verdict:
        return Verdict.from_margin(case, 1.0)


class NoFrame(Mirror):
    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield Case("c", requirement.id, (Predict((lambda: "a.png",)),))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Careless(None), "mirror.judge must return a Verdict on case 'f0', got NoneType"),
        (
            Careless(Verdict("other", "R1", Status.PASSED, 1.0)),
            "must return the verdict on case 'f0' of 'R1', got one on 'other' of 'R1'",
        ),
        (Strayed(), "case 'c' must be on 'R1', got 'R7'"),
        (NoFrame(), "a frame source must make a Frame, got str from"),
    ],
)
def test_a_method_that_breaks_the_protocol_is_told(method: Mirror, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(method, MIRROR, Frames(2), Truth())


class Laps(BaseMethod):
    """Two cases, one per sector, about each drive."""

    name = "laps"

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for track in ("oval", "moon", "hills"):
            drive = RecordDrive(track)
            for sector in range(2):
                yield Case(f"{track}/{sector}", requirement.id, (drive,), {"sector": sector})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        drive = answers.driven()
        assert isinstance(drive, list)
        sector = case.parameters["sector"]
        assert isinstance(sector, int)
        return Verdict.from_margin(case, 2.5 - drive[sector])


class Toy:
    """A simulator with two frames per drive."""

    def __init__(self) -> None:
        self.driven: list[object] = []

    def drive(self, scenario: object, system: SystemUnderTest, /) -> list[float]:
        self.driven.append(scenario)
        if scenario == "moon":
            raise NotApplicable("there is no road on the moon")
        numbers = (5, 6) if scenario == "oval" else (2, 3)
        answers = system.predict([make_frame(number) for number in numbers])
        return [answer.steering or 0.0 for answer in answers if isinstance(answer, Signals)]


def test_cases_may_ask_for_drives(tmp_path: Path) -> None:
    simulator = Toy()
    requirement = Requirement("D1", "Steering is moderate in every sector", "laps")
    system = Recorder(blame="f3", fault="crash")
    run(Laps(), requirement, Frames(0), system, out=tmp_path, simulator=simulator)
    assert simulator.driven == ["oval", "moon", "hills"]
    rows = list(read_rows(tmp_path))
    assert [(row["case"], row["status"]) for row in rows] == [
        ("oval/0", "passed"),
        ("oval/1", "violated"),
        ("moon/0", "not applicable"),
        ("moon/1", "not applicable"),
        ("hills/0", "error"),
        ("hills/1", "error"),
    ]
    assert rows[2]["reason"] == "there is no road on the moon"
    assert (
        rows[4]["reason"] == "recorder crashed on 2 frames from 'f2' to 'f3': ZeroDivisionError: no horizon"
    )


def test_a_drive_fills_a_batch_with_all_cases_about_it() -> None:
    requirement = Requirement("D1", "Steering is moderate in every sector", "laps")
    done: list[int] = []
    run(
        Laps(), requirement, Frames(0), Truth(), simulator=Toy(),
        progress=lambda counts: done.append(sum(counts.values())),
    )  # fmt: skip
    assert done == [2, 4, 6]


def test_a_drive_needs_a_simulator() -> None:
    requirement = Requirement("D1", "Steering is moderate in every sector", "laps")
    with pytest.raises(InputError, match="case 'oval/0' asks for a drive: expected a simulator, got None"):
        run(Laps(), requirement, Frames(0), Truth())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": object()}, "method must have name, cases, judge, conclude and feedback, got object"),
        ({"system": object()}, "system must have a name and predict, got object"),
        ({"method": Laps()}, "requirement 'R1' must be tested by 'mirror', got 'laps'"),
        ({"batch_size": 0}, "batch_size must be 1 or more, got 0"),
        ({"images": "some"}, "images must be one of failures, sample, all, none, got 'some'"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {
        "method": Mirror(),
        "requirement": MIRROR,
        "data": Frames(2),
        "system": Truth(),
        "out": tmp_path / "run",
        **changes,
    }
    with pytest.raises(InputError, match=message):
        run(**arguments)
    assert not (tmp_path / "run").exists()


class Source:
    """A frame source that counts how many of its kind are alive."""

    alive = 0
    most = 0

    def __init__(self, number: int) -> None:
        self.number = number
        Source.alive += 1
        Source.most = max(Source.most, Source.alive)

    def __del__(self) -> None:
        Source.alive -= 1

    def __call__(self) -> Frame:
        return make_frame(self.number)


class Many(PerObject):
    """A thousand cases, each with a source of its own."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number in range(1000):
            yield Case(f"c{number}", requirement.id, (Predict((Source(number),)),))


def test_memory_does_not_grow_with_the_number_of_cases() -> None:
    assert run(Many(), MIRROR, Frames(0), Truth(), batch_size=10).counts[Status.PASSED] == 1000
    # A batch that is being judged, the next one, and the case that was too much for it.
    assert Source.most <= 10 + 10 + 1
    assert Source.alive == 0


class Looking(Truth):
    """Notes how many rows are on disk whenever it is asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.seen: list[int] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Any]:
        self.seen.append(sum(1 for _ in read_rows(self.folder)))
        return super().predict(frames)


def test_the_rows_of_a_batch_are_on_disk_before_the_next_begins(tmp_path: Path) -> None:
    system = Looking(tmp_path / "run")
    run(Mirror(), MIRROR, Frames(5), system, out=tmp_path / "run", batch_size=2)
    assert system.seen == [0, 1, 2, 3, 4]


class Locked(Mirror):
    """Sees whether others could write while it concludes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        with pytest.raises(InputError, match="another run is writing to"):
            contextvars.Context().run(hold, self.folder)
        return super().conclude(requirement, verdicts)


def test_nobody_else_writes_until_a_run_has_concluded(tmp_path: Path) -> None:
    one, several = tmp_path / "one", tmp_path / "several"
    run(Locked(one), MIRROR, Frames(2), Truth(), out=one)
    run_several(Locked(several), [MIRROR], Frames(2), [Truth()], out=several)
    for folder in (one, several):
        contextvars.Context().run(hold, folder)()


def _town(**options: Any) -> Dataset:
    return load("world:town", count=6, size="64x48", **options)


def test_a_run_goes_on_only_with_the_data_that_it_began_with(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(Mirror(), MIRROR, _town(), Truth(), out=out)
    before = digests(out)
    with pytest.raises(
        InputError, match=r"other data of the name 'world:town'.*resume with the data as it was"
    ):
        run(Mirror(), MIRROR, _town(weather="rainy", seed=5), Truth(), out=out, resume=True)
    assert digests(out) == before
    run(Mirror(), MIRROR, _town(), Truth(), out=out, resume=True)
    assert digests(out) == before

    several = tmp_path / "several"
    run_several(Mirror(), [MIRROR], _town(), [Truth()], out=several)
    with pytest.raises(InputError, match="other data of the name"):
        run_several(Mirror(), [MIRROR], _town(time="night"), [Truth()], out=several, resume=True)


def test_a_run_goes_on_only_with_the_model_that_it_began_with(tmp_path: Path) -> None:
    """By its file and its settings: a name says nothing about weights."""
    (code := tmp_path / "drive.py").write_text(
        "from roadworthy.frames import Signals\n"
        "def drive(frames): return [Signals(steering=1.0) for _ in frames]\n"
    )

    def again(resume: bool = True, **options: Any) -> None:
        model = load_model(f"callable:{code}:drive", name="ours", **options)
        run(Mirror(), MIRROR, Frames(4), model, out=tmp_path / "run", resume=resume)

    again(resume=False)
    before = digests(tmp_path / "run")
    again()
    code.write_text(code.read_text().replace("1.0", "2.0"))
    told = r"a run of another model of the name 'ours'.*resume with the model as it was"
    with pytest.raises(InputError, match=told):
        again()
    assert digests(tmp_path / "run") == before


@pytest.mark.parametrize("change", ["pixels", "signals", "ids"])
def test_a_run_goes_on_only_with_frames_as_they_were(tmp_path: Path, change: str) -> None:
    class Changed(Frames):
        def __getitem__(self, index: int, /) -> Frame:
            frame = super().__getitem__(index)
            if change == "ids":
                return replace(frame, id=f"other-{frame.id}")
            if change == "signals":
                return replace(frame, signals=Signals(steering=0.5))
            return replace(frame, image=255 - frame.image)

    run(Mirror(), MIRROR, Frames(7), Truth(), out=tmp_path)
    with pytest.raises(InputError, match="other data of the name 'frames'"):
        run(Mirror(), MIRROR, Changed(7), Truth(), out=tmp_path, resume=True)


def test_a_run_of_before_that_does_not_say_its_content_goes_on(tmp_path: Path) -> None:
    run(Mirror(), MIRROR, Frames(7), Truth(), out=tmp_path)
    record = tmp_path / "requirements.jsonl"
    stored = json.loads(record.read_text())
    assert len(stored["run"].pop("data_content")) == 64
    record.write_text(json.dumps(stored) + "\n")
    assert run(Mirror(), MIRROR, Frames(7), Truth(), out=tmp_path, resume=True).counts[Status.PASSED] == 7
