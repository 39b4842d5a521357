"""Driving in the built-in world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from roadworthy.errors import SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, Truth, callable_model
from roadworthy.training import drive_lap
from roadworthy.world import Simulation


class Still:
    name = "still"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        return [Signals(steering=0.0, speed=0.0) for _ in frames]


def test_the_careful_driver_keeps_its_lane_for_as_long_as_it_may_drive() -> None:
    lap = drive_lap(Truth(), minutes=0.1)
    assert lap.ended == "time over"
    assert lap.largest_offset < 0.2
    assert lap.share == pytest.approx(6 * 13 / Simulation("meadow").track.length, rel=0.6)


def test_a_model_that_does_not_steer_leaves_the_lane() -> None:
    straight = callable_model(
        lambda frames: [Signals(steering=0.0, speed=20.0) for _ in frames], name="straight"
    )
    lap = drive_lap(straight, "mountain")
    assert lap.ended == "left the lane"
    assert 0 < lap.share < 0.5
    assert lap.largest_offset > 1.5
    assert str(lap).startswith(f"{lap.share:.0%} of a lap of mountain with traffic 0 in ")


def test_a_model_that_stands_still_ends_the_lap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy.training.evaluation._LONGEST_STOP", 1.0)
    lap = drive_lap(Still())
    assert (lap.ended, round(lap.share, 1)) == ("stopped", 0)


def test_a_model_that_creeps_out_of_its_lane_has_left_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy.training.evaluation.LANE_WIDTH", -1.0)
    assert drive_lap(Still()).ended == "left the lane"


def test_what_a_model_does_not_answer_is_left_to_the_careful_driver() -> None:
    fast = callable_model(lambda frames: [Signals(speed=8.0) for _ in frames], name="fast")
    assert drive_lap(fast, minutes=0.05).largest_offset < 0.2
    assert drive_lap(fast, minutes=0.05) == drive_lap(fast, minutes=0.05)


def test_a_model_with_a_history_gets_it() -> None:
    seen: list[int] = []

    def drive(images: np.ndarray) -> np.ndarray:
        seen.append(len({image.tobytes() for image in images[0]}))
        return np.zeros((1, 1))

    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput(width=32, height=16, history=2))
    drive_lap(callable_model(drive, spec=spec, name="moving"), minutes=0.01)
    assert seen[:3] == [1, 2, 3]


def test_a_model_that_does_not_drive_is_refused() -> None:
    silent = callable_model(lambda frames: [Signals(throttle=0.1) for _ in frames], name="silent")
    with pytest.raises(SystemUnderTestError, match="silent must answer with steering or speed to drive"):
        drive_lap(silent)
