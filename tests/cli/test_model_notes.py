from __future__ import annotations

import numpy as np
import pytest

from roadworthy.cases import Prediction
from roadworthy.cli._model_notes import notes
from roadworthy.datasets import load
from roadworthy.frames import Frame, Signals
from roadworthy.models import ModelSpec, RegressionOutput, SystemUnderTest, callable_model

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


def noted(frames: list[Frame], answers: list[Prediction]) -> list[str]:
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
    assert noted(framed(), [Signals(speed=factor * speed) for speed in SPEEDS]) == []


def test_a_network_that_varies_by_chance_has_no_unit() -> None:
    assert noted(framed(), [Signals(speed=40 + speed / 3.6) for speed in SPEEDS]) == []


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
    assert noted(frames, [Signals(steering=-angle / 1000) for angle in ANGLES]) == []


def test_the_input_is_asked_about_only_where_there_is_one() -> None:
    frames = framed()
    answers: list[Prediction] = [Signals(speed=3.0) for _ in frames]
    assert noted(frames, answers) == ["speed is the same for every frame"]
    network = callable_model(len, spec=ModelSpec(RegressionOutput(("speed",))))
    assert notes(network, DATA, frames, answers) == [
        "speed is the same for every frame: are the input's colours and range right?"
    ]
