"""Errors of models, against closed forms and in the units of the recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import write_image
from roadworthy.models import Truth, callable_model
from roadworthy.models.scorers import Measure
from roadworthy.training import evaluate
from roadworthy.training.evaluation import SignalScorer, signal_errors, value_text


def by_name(measures: Sequence[Measure]) -> dict[str, Measure]:
    return {one.name: one for one in measures}


def test_errors_have_their_closed_forms() -> None:
    found = by_name(signal_errors("steering", np.array([1.0, -2.0, 3.0]), np.array([2.0, -2.0, 1.0])))
    assert found["steering MAE"].value == pytest.approx(1.0)
    assert found["steering MSE"].value == pytest.approx(5 / 3)
    assert found["steering MSE"].unit == "°²"
    assert found["steering RMSE"].value == pytest.approx((5 / 3) ** 0.5)
    assert found["steering RMSE of always 0"].value == pytest.approx((14 / 3) ** 0.5)
    assert found["steering MAE"].frames == 3


def test_a_model_is_compared_with_the_whole_data_set() -> None:
    data = load("world:town", count=5, size="32x16")
    truth = np.array([frame.signals.speed for frame in data])
    slow = callable_model(lambda frames: [Signals(speed=1.0) for _ in frames], name="slow")
    told: list[tuple[int, int]] = []
    found = by_name(evaluate(slow, data, batch=2, progress=lambda *given: told.append(given)))
    assert found["speed RMSE"].value == pytest.approx(np.sqrt(np.mean((truth - 1) ** 2)))
    assert "steering MAE" not in found
    assert told == [(2, 5), (4, 5), (5, 5)]


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A recording like Udacity's challenge 2: radians at the steering wheel, positive to the left."""
    (tmp_path / "frames").mkdir()
    lines = ["frame_id,steering_angle_rad"]
    for number, angle in enumerate([0.1, -0.2, 0.3]):
        name = str(1_479_425_441_182_877_835 + number * 50_000_000)
        lines.append(f"{name},{angle}")
        write_image(tmp_path / "frames" / f"{name}.png", np.zeros((8, 16, 3), np.uint8))
    (tmp_path / "steering.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_errors_are_also_told_in_the_unit_of_the_recording(drive: Path) -> None:
    data = load(f"udacity-ch2:{drive}")
    straight = callable_model(lambda frames: [Signals(steering=0.0) for _ in frames], name="straight")
    found = by_name(evaluate(straight, data))
    expected = np.sqrt(np.mean(np.square([0.1, 0.2, 0.3])))
    native = found["steering RMSE as recorded"]
    assert native.value == pytest.approx(expected)
    assert native.unit == "rad"
    assert found["steering RMSE of always 0 as recorded"].value == pytest.approx(expected)
    assert found["steering RMSE"].value == pytest.approx(np.degrees(expected) / 14.4)


def test_units_that_are_ours_are_told_once() -> None:
    frame = Frame("a", np.zeros((2, 2, 3), np.uint8), signals=Signals(steering=1.0))
    for units, count in (
        (SignalUnits(), 4),
        (SignalUnits(steering_positive="left"), 8),
        (SignalUnits(steering=25.0), 8),
    ):
        scorer = SignalScorer(units)
        scorer.add([frame], [Signals(steering=2.0)])
        assert len(scorer.measures()) == count


def test_speeds_are_told_as_recorded_too() -> None:
    frame = Frame("a", np.zeros((2, 2, 3), np.uint8), signals=Signals(speed=10.0))
    scorer = SignalScorer(SignalUnits("km/h"))
    scorer.add([frame], [Signals(speed=12.0)])
    found = by_name(scorer.measures())
    assert found["speed RMSE"].value == 2.0
    assert found["speed RMSE as recorded"].value == pytest.approx(7.2)


def test_earlier_frames_are_found_in_the_drive(drive: Path) -> None:
    from roadworthy.models import ImageInput, ModelSpec, RegressionOutput

    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput(width=4, height=2, history=1))
    moving = callable_model(lambda images: np.zeros((len(images), 1)), spec=spec, name="moving")
    assert evaluate(moving, load(f"udacity-ch2:{drive}"))[0].frames == 2
    with pytest.raises(InputError, match="moving sees 1 earlier frames, but no frame of world:town has them"):
        evaluate(moving, load("world:town", count=2, size="32x16"))


def test_what_cannot_be_evaluated(drive: Path) -> None:
    data = load("world:town", count=1, size="32x16")
    quiet = callable_model(lambda frames: [Signals(speed=1.0) for _ in frames], name="quiet")
    with pytest.raises(InputError, match="does not tell what is true of anything that quiet answers"):
        evaluate(quiet, load(f"udacity-ch2:{drive}"))
    labels = callable_model(lambda frames: [frame.labels for frame in frames], name="painter")
    with pytest.raises(InputError, match="painter answers for segmentation, and only answers for"):
        evaluate(labels, data)
    assert evaluate(Truth(), data)[0].value == 0
    with pytest.raises(InputError, match="batch must be 1 or more, got 0"):
        evaluate(Truth(), data, batch=0)


def test_values_for_people() -> None:
    assert value_text(Measure("speed MSE", 2.5, "(m/s)²", 2)) == "2.5 (m/s)²"
    assert value_text(Measure("mAP@0.5", 0.86318, "share", 2)) == "86.3%"
