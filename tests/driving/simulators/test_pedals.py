"""The foot on the pedals: it follows a wish without pressing throttle and brake in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import compute
from roadworthy.driving.simulators import Controls, DriveLimits, WorldSimulator, drive
from roadworthy.driving.simulators.world import Foot
from roadworthy.frames import Signals
from roadworthy.models import callable_model
from roadworthy.world import VehicleLimits

DT = 1 / 15


def _driven(wishes: list[float], start: float) -> Drive:
    """Follow wished speeds as the vehicle of the world does."""
    foot = Foot(VehicleLimits(), DT, start)
    speeds, throttle, brake = [start], [foot.throttle], [foot.brake]
    for wish in wishes:
        acceleration = foot.press(Controls(0.0, speed=wish), speeds[-1])
        speeds.append(max(0.0, speeds[-1] + DT * acceleration))
        throttle.append(foot.throttle)
        brake.append(foot.brake)
    time = DT * np.arange(len(speeds))
    return Drive("foot", time, {"speed": speeds, "throttle": throttle, "brake": brake})


def test_a_wish_that_flickers_presses_no_brake() -> None:
    wishes = np.random.default_rng(0).normal(10.0, 1.0, 900).tolist()
    driven = _driven(wishes, 10.0)
    table = compute(driven, ["Count(BR)", "Mean(SP)", "SD(SP)"], whole=True)
    assert table["Count(BR)"][0] == 0
    assert table["Mean(SP)"][0] == pytest.approx(10.0, abs=0.1)
    assert table["SD(SP)"][0] < 0.3


def test_a_stop_is_one_braking_with_a_braking_distance() -> None:
    driven = _driven([14.0] * 15 + [0.0] * 150, 14.0)
    table = compute(driven, ["Count(BR)", "BD", "Min(SP)"], whole=True)
    assert table["Count(BR)"][0] == 1
    assert table["Min(SP)"][0] == 0.0
    assert 14**2 / (2 * 7.0) < table["BD"][0] < 30
    assert driven.signals["brake"][-1] > 0.05  # the foot stays on it while standing
    slowed = _driven([14.0] * 15 + [11.0] * 60, 14.0).signals["brake"]
    assert slowed[slowed > 0].min() >= 0.06  # no touch so light that it would not count as braking
    assert np.count_nonzero(np.diff((slowed > 0.05).astype(int)) == 1) == 1
    assert driven.signals["throttle"][-1] == 0


def test_a_steady_speed_takes_the_throttle_that_resistance_costs() -> None:
    driven = _driven([10.0] * 100, 10.0)
    np.testing.assert_allclose(driven.signals["speed"], 10.0)
    np.testing.assert_allclose(driven.signals["throttle"], 0.5 / 3.0)


def test_one_slows_down_a_little_without_braking() -> None:
    driven = _driven([9.3] * 60, 10.0)
    assert not driven.signals["brake"].any()
    assert driven.signals["speed"][-1] == pytest.approx(9.3, abs=0.05)


@given(st.lists(st.floats(0.0, 60.0), min_size=1, max_size=60), st.floats(0.0, 40.0))
def test_pedals_stay_in_range_and_never_work_against_each_other(wishes: list[float], start: float) -> None:
    driven = _driven(wishes, start)
    throttle, brake = driven.signals["throttle"], driven.signals["brake"]
    assert ((throttle >= 0) & (throttle <= 1) & (brake >= 0) & (brake <= 1)).all()
    assert not ((throttle > 0) & (brake > 0)).any()
    change = np.diff(driven.signals["speed"]) / DT
    assert change.max() <= 2.5 + 1e-9
    assert change.min() >= -7.0 - 1e-9


@given(st.floats(1.0, 35.0), st.floats(0.0, 35.0))
def test_every_wish_is_reached(wish: float, start: float) -> None:
    driven = _driven([wish] * 15 * 30, start)
    assert driven.signals["speed"][-1] == pytest.approx(wish, abs=0.05)


def test_a_model_that_answers_throttle_has_its_foot_on_the_pedal() -> None:
    full = callable_model(
        lambda frames: [Signals(steering=0.0, speed=3.0, throttle=1.0) for _ in frames], name="full throttle"
    )
    driven = drive(full, WorldSimulator("meadow", traffic=0), limits=DriveLimits(seconds=1.0))
    np.testing.assert_allclose(driven.signals["throttle"][1:], 1.0)
    np.testing.assert_allclose(driven.signals["acceleration"][1:], 2.5)
    np.testing.assert_allclose(np.diff(driven.signals["speed"]), 2.5 / 15)


def test_the_vehicle_does_what_its_pedals_say() -> None:
    restless = np.random.default_rng(1).normal(9.0, 5.0, 61).tolist()
    wishes = iter(restless)
    model = callable_model(lambda frames: [Signals(speed=next(wishes)) for _ in frames], name="restless")
    driven = drive(model, WorldSimulator("meadow", traffic=0), limits=DriveLimits(seconds=4.0))
    signals = driven.signals
    assert signals["brake"].any()
    np.testing.assert_allclose(np.diff(signals["speed"]) * 15, signals["acceleration"][1:], atol=1e-9)
    np.testing.assert_allclose(
        signals["acceleration"][1:], (3.0 * signals["throttle"] - 6.5 * signals["brake"] - 0.5)[1:], atol=1e-9
    )
