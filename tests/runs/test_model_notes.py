from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import ClassScores, Prediction
from roadworthy.datasets import load
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, SystemUnderTest, callable_model
from roadworthy.runs.executors import executor_for
from roadworthy.runs.model_notes import _differ, first_look, note_models, notes
from roadworthy.runs.store.manifest import begin_manifest

DATA = load("world", count=1, size="64x32")
SPEEDS = (4.0, 6.0, 9.0, 11.0, 14.0, 8.0)
ANGLES = (-6.0, -2.0, 1.0, 4.0, 8.0, 0.5)


def framed(count: int = 6, *, speed: bool = True) -> list[Frame]:
    image = np.zeros((4, 6, 3), np.uint8)
    return [
        Frame(str(n), image, signals=Signals(speed=SPEEDS[n]) if speed else Signals(steering=ANGLES[n]))
        for n in range(count)
    ]


def system() -> SystemUnderTest:
    return callable_model(lambda frames: [Signals() for _ in frames], name="plain")


def noted(frames: Sequence[Frame], answers: Sequence[Prediction]) -> list[str]:
    return notes(system(), DATA, frames, answers)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(3.6, "km/h"), (1 / 3.6, "m/s and not km/h"), (2.3, "mph"), (1 / 2.237, "m/s and not mph")],
)
def test_a_conversion_of_units_is_noticed(factor: float, words: str) -> None:
    answers: list[Prediction] = [Signals(speed=factor * speed) for speed in SPEEDS]
    (note,) = noted(framed(), answers)
    assert note == (
        f"speed is {factor:.3g} times the truth: is output.units.speed right? The numbers look like {words}"
    )
    assert noted(framed(4), answers[:4]) == []


@pytest.mark.parametrize("factor", [0.05, 0.9, 1.5, 5.0, 12.0])
def test_other_factors_are_no_units(factor: float) -> None:
    told = noted(framed(), [Signals(speed=factor * speed) for speed in SPEEDS])
    assert not any("look like" in one for one in told)


def test_a_network_that_varies_by_chance_has_no_unit() -> None:
    (note,) = noted(framed(), [Signals(speed=40 + speed / 3.6) for speed in SPEEDS])
    assert note.endswith("the model is worse than a constant")


def test_a_model_that_is_worse_than_a_constant_is_told_with_both_errors() -> None:
    answers: list[Prediction] = [Signals(speed=14.0 - speed / 2) for speed in SPEEDS]
    error = float(np.sqrt(np.mean([(14.0 - 1.5 * speed) ** 2 for speed in SPEEDS])))
    # Each frame answered by the mean of the others.
    others = [np.mean([*SPEEDS[:n], *SPEEDS[n + 1 :]]) - SPEEDS[n] for n in range(len(SPEEDS))]
    constant = float(np.sqrt(np.mean(np.square(others))))
    assert error > constant
    assert noted(framed(), answers) == [
        f"speed is off by {error:.3g} m/s (RMSE of 6 frames), and always answering {np.mean(SPEEDS):.3g} m/s "
        f"would be off by {constant:.3g}: the model is worse than a constant"
    ]
    better: list[Prediction] = [Signals(speed=10.0 + (speed - 10.0) / 3) for speed in SPEEDS]
    assert noted(framed(), better) == []
    assert noted(framed(4), answers[:4]) == []


def test_answers_that_hardly_vary_and_negative_speeds_are_noticed() -> None:
    hardly: list[Prediction] = [Signals(speed=8.0 + speed / 100) for speed in SPEEDS]
    assert noted(framed(), hardly) == ["speed hardly varies, from 8.04 to 8.14 m/s in 6 frames"]
    # Without truth only answers that are nearly the same are told.
    unknown = [Frame(str(n), np.zeros((4, 6, 3), np.uint8)) for n in range(6)]
    assert noted(unknown, hardly) == []
    assert noted(unknown, [Signals(speed=8.0 + speed / 200) for speed in SPEEDS]) == [
        "speed hardly varies, from 8.02 to 8.07 m/s in 6 frames"
    ]
    backwards: list[Prediction] = [Signals(speed=speed - 7.0) for speed in SPEEDS]
    assert noted(unknown, backwards) == ["speed is negative in 2 of 6 frames, down to -3 m/s"]
    # Where the truth hardly varies either, that is as it should be.
    still = [Frame(str(n), unknown[0].image, signals=Signals(speed=8.0)) for n in range(6)]
    assert noted(still, hardly) == []


def test_radians_and_a_turned_sign_are_noticed() -> None:
    frames = framed(speed=False)
    (note,) = noted(frames, [Signals(steering=float(np.radians(angle))) for angle in ANGLES])
    assert note.endswith("is output.units.steering right? The numbers look like rad")
    against: list[Prediction] = [Signals(steering=-angle) for angle in ANGLES]
    assert noted(frames, against) == [
        "steering goes against the truth: is output.units.steering_positive right?"
    ]
    assert noted(frames[:4], against[:4]) == []
    # Weakly against it, and hardly reacting: both may be chance.
    assert noted(frames, [Signals(steering=value) for value in (1.0, -3.0, 2.0, -2.0, 0.0, 3.0)]) == []
    (hardly,) = noted(frames, [Signals(steering=-angle / 1000) for angle in ANGLES])
    assert hardly.startswith("steering hardly varies, from -0.008 to 0.006° in 6 frames")


def test_the_input_is_asked_about_only_where_there_is_one() -> None:
    frames = framed()
    answers: list[Prediction] = [Signals(speed=3.0) for _ in frames]
    assert noted(frames, answers) == ["speed is the same for every frame"]
    network = callable_model(len, spec=ModelSpec(RegressionOutput(("speed",))))
    assert notes(network, DATA, frames, answers) == [
        "speed is the same for every frame: are the input's colours and range right?"
    ]


def test_what_no_car_does_is_noticed_without_truth() -> None:
    unknown = [Frame(str(n), np.zeros((4, 6, 3), np.uint8)) for n in range(6)]
    fast: list[Prediction] = [
        Signals(speed=100 + speed, steering=angle) for speed, angle in zip(SPEEDS, ANGLES, strict=True)
    ]
    words = "speed reaches 114 m/s, and no car goes beyond 70 m/s: correct output.units.speed"
    assert noted(unknown, fast) == [words]
    network = callable_model(len, spec=ModelSpec(RegressionOutput(("speed", "steering"))))
    assert notes(network, DATA, unknown, fast) == [f"{words}, input.range and input.color"]
    (sharp,) = noted(unknown, [Signals(steering=-10 * angle) for angle in ANGLES])
    assert sharp.startswith(
        "steering reaches -80°, and no car goes beyond 60°: correct output.units.steering"
    )
    assert (
        noted(
            unknown,
            [
                Signals(speed=60 + speed / 2, steering=7 * angle)
                for speed, angle in zip(SPEEDS, ANGLES, strict=True)
            ],
        )
        == []
    )


def test_angles_that_may_be_radians_are_noticed_without_truth() -> None:
    unknown = [Frame(str(n), np.zeros((4, 6, 3), np.uint8)) for n in range(6)]
    (told,) = noted(unknown, [Signals(steering=angle / 20) for angle in ANGLES])
    assert told == (
        "steering is never more than 0.4°: if the numbers are radians, that is 23°, and "
        "output.units.steering must say rad"
    )
    assert noted(unknown, [Signals(steering=angle / 10) for angle in ANGLES]) == []
    # The truth tells more.
    known = noted(framed(speed=False), [Signals(steering=angle / 20) for angle in ANGLES])
    assert not any("never more" in one for one in known)


def test_a_range_of_the_input_with_which_answers_make_sense_is_named() -> None:
    """A network that learned values from 0 to 1 and gets 0 to 255 answers 255 times as much."""
    images = [np.full((8, 8, 3), shade, np.uint8) for shade in (20, 60, 100, 140, 180, 220)]
    frames = [Frame(str(n), image) for n, image in enumerate(images)]
    spec = ModelSpec(RegressionOutput(("speed",)), ImageInput(width=8, height=8, range=(0, 255)))
    network = callable_model(lambda images: images.mean(axis=(1, 2, 3))[:, None] * 20, spec=spec)
    told = first_look(network, DATA, frames).document["notes"]
    assert told[0].startswith("speed reaches 4.4e+03 m/s, and no car goes beyond 70 m/s")
    assert told[1] == (
        "speed is up to 4.4e+03 m/s, but speed is up to 17.3 m/s with -m input.range=0,1: "
        "are the input's colours and range right?"
    )


def test_answers_that_are_the_same_for_all_frames_are_noticed() -> None:
    frames = framed()
    boxes = Boxes(np.array([[0.0, 0, 2, 2]]), ["vehicle"], np.array([0.5]))
    same = [boxes] * 6
    assert noted(frames, same) == ["the answer is the same for every frame"]
    assert noted(frames, [Boxes.empty()] * 6) == ["no box is found in any frame"]
    assert noted(frames, [boxes] * 5 + [Boxes.empty()]) == []
    assert noted(frames[:4], [boxes] * 4) == []


class Fickle:
    """Answers otherwise each time, or ends its process on a frame, as the fault says."""

    name = "fickle"

    def __init__(self, fault: str = "") -> None:
        self.fault, self.asked = fault, 0

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        self.asked += 1
        if self.fault == "fails" and self.asked > 1:
            raise ZeroDivisionError("once is enough")
        if self.fault == "exits" and len(frames) == 1:
            os._exit(0)
        if self.fault == "exits":
            raise ZeroDivisionError("so that each frame is asked for alone")
        return [Signals(speed=10.0 + (self.asked if self.fault == "changes" else 0)) for _ in frames]


def test_a_model_that_answers_otherwise_each_time_is_noted(tmp_path: Path) -> None:
    begin_manifest(tmp_path, models={}, data={})
    data = load("world", count=8, size="64x32")
    told = note_models(tmp_path, [Fickle("changes")], data)
    assert (
        "fickle: its answers change when it is asked again (4 of 4 frames, such as 'meadow-000003'): "
        "rates vary from run to run, and a rerun will not repeat them"
    ) in told
    begin_manifest(tmp_path / "fails", models={}, data={})
    told = note_models(tmp_path / "fails", [Fickle("fails")], data)
    assert any("its answers change when it is asked again (4 of 4 frames, such as" in note for note in told)
    begin_manifest(tmp_path / "steady", models={}, data={})
    assert not any("asked again" in note for note in note_models(tmp_path / "steady", [Fickle()], data))


def test_a_model_that_ends_its_process_does_not_end_the_run(tmp_path: Path, several_threads: None) -> None:
    begin_manifest(tmp_path, models={}, data={})
    with executor_for("processes", workers=1) as executor:
        assert note_models(tmp_path, [Fickle("exits")], load("world", count=1, size="64x32"),
                           executor=executor) == []  # fmt: skip


BOXES = Boxes([[0, 0, 9, 9], [20, 0, 29, 9]], ["car", "tree"], scores=[0.9, 0.8])


def scores(car: float) -> ClassScores:
    return ClassScores(("car", "tree"), np.array([car, 1 - car]))


ROAD = LabelMap(np.zeros((4, 6), np.uint8), ("road", "sky"))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (BOXES, BOXES[np.array([1, 0])], False),  # in another order
        (BOXES, BOXES.replace(xyxy=BOXES.xyxy + 0.1), False),
        (BOXES, BOXES[:1], True),
        (BOXES, BOXES.replace(xyxy=BOXES.xyxy + 5), True),
        (BOXES, BOXES.replace(scores=np.array([0.9, 0.5])), True),
        (ROAD, LabelMap(np.zeros((4, 6), np.uint8), ("road", "sky")), False),
        (ROAD, LabelMap(np.ones((4, 6), np.uint8), ("road", "sky")), True),
        (ROAD, LabelMap(np.zeros((2, 6), np.uint8), ("road", "sky")), True),
        (scores(0.9), scores(0.9), False),
        (scores(0.9), scores(0.1), True),
        (Signals(speed=8.0), Signals(speed=8.0 + 1e-6), False),
        (Signals(speed=8.0), Signals(steering=8.0), True),
        (Signals(speed=8.0), BOXES, True),
    ],
)
def test_which_answers_differ(first: Prediction, second: Prediction, expected: bool) -> None:
    assert _differ(first, second) is expected
