"""Tests of your own stand beside them, with the same frames and models."""

from __future__ import annotations

import pytest

from roadworthy import Signals, load, load_model
from roadworthy.models import SystemUnderTest


@pytest.fixture(scope="module")
def driver() -> SystemUnderTest:
    """The network under test."""
    return load_model("dave2")


def test_a_little_less_light_changes_little(driver: SystemUnderTest) -> None:
    """A cloud before the sun is no reason to steer elsewhere."""
    frames = list(load("world:meadow", count=6))
    darker = [frame.replace(image=(frame.image * 0.95).astype("uint8")) for frame in frames]
    for frame, one, other in zip(frames, driver.predict(frames), driver.predict(darker), strict=True):
        assert isinstance(one, Signals)
        assert isinstance(other, Signals)
        assert one.steering == pytest.approx(other.steering, abs=1.0), frame.id


def test_it_answers_with_a_speed_that_a_car_can_drive(driver: SystemUnderTest) -> None:
    """Whatever the weather."""
    frames = [
        frame for weather in ("sunny", "rainy", "foggy") for frame in load("world", weather=weather, count=3)
    ]
    for frame, answer in zip(frames, driver.predict(frames), strict=True):
        assert isinstance(answer, Signals)
        assert -1.0 < (answer.speed or 0.0) < 50.0, frame.id
