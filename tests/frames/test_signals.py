import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import FrameError
from roadworthy.frames import Signals, SignalUnits


def test_nothing_is_known_by_default() -> None:
    assert Signals().as_dict() == {}
    assert Signals() == Signals(speed=None)


@pytest.mark.parametrize("name", ["speed", "steering", "acceleration", "throttle", "brake", "timestamp"])
def test_not_finite_is_refused_by_name(name: str) -> None:
    values: list[Any] = [math.nan, math.inf, -math.inf, np.float32("nan")]
    for value in values:
        with pytest.raises(FrameError, match=f"signal {name} must be finite, got"):
            Signals(**{name: value})
    values = ["3", True, [1.0]]
    for value in values:
        with pytest.raises(FrameError, match=f"signal {name} must be a number, got"):
            Signals(**{name: value})


def test_extra_signals() -> None:
    signals = Signals(speed=np.float32(2), extra={"gear": 3})  # type: ignore[arg-type]
    assert signals.as_dict() == {"speed": 2.0, "gear": 3.0}
    assert type(signals.speed) is float
    with pytest.raises(FrameError, match="signal gear must be finite, got nan"):
        Signals(extra={"gear": math.nan})
    with pytest.raises(FrameError, match="extra signal 'speed' has the name of a signal: pass speed="):
        Signals(extra={"speed": 3.0})
    with pytest.raises(TypeError, match="cannot be changed"):
        signals.extra["gear"] = 4  # type: ignore[index]
    assert pickle.loads(pickle.dumps(signals)) == signals


def test_mirrored_steers_to_the_other_side_and_nothing_else() -> None:
    signals = Signals(speed=3.0, steering=-4.0, timestamp=1.0, extra={"yaw": 1.0})
    assert signals.mirrored() == Signals(speed=3.0, steering=4.0, timestamp=1.0, extra={"yaw": 1.0})
    assert signals.mirrored().mirrored() == signals
    assert Signals(speed=1.0).mirrored() == Signals(speed=1.0)
    straight = Signals(steering=0.0).mirrored().steering
    assert straight is not None
    assert math.copysign(1, straight) == 1


@pytest.mark.parametrize(
    ("unit", "value", "metres_per_second"),
    [("m/s", 7.0, 7.0), ("km/h", 36.0, 10.0), ("mph", 60.0, 26.8224), (0.5, 20.0, 10.0)],
)
def test_speed_units(unit: str | float, value: float, metres_per_second: float) -> None:
    units = SignalUnits(speed=unit)
    assert units.decode_speed(value) == pytest.approx(metres_per_second)
    assert units.encode_speed(metres_per_second) == pytest.approx(value)


def test_steering_units_sign_and_ratio() -> None:
    # A steering wheel turned left by a quarter turn, at a ratio of 15: six degrees left at the wheels.
    units = SignalUnits(steering="rad", steering_positive="left", steering_ratio=15)
    assert units.decode_steering(math.pi / 2) == pytest.approx(-6)
    assert Signals.from_units(units, steering=math.pi / 2, brake=0.5).steering == pytest.approx(-6)
    assert units.encode_steering(-6.0) == pytest.approx(math.pi / 2)
    assert math.copysign(1, units.decode_steering(0.0)) == 1


def test_batches_are_converted_at_once() -> None:
    units = SignalUnits(speed="km/h", steering=25.0, steering_positive="left")
    assert units.decode_steering(np.array([1.0, -0.5])).tolist() == [-25.0, 12.5]
    assert units.decode_speed(np.array([36.0, 72.0])).tolist() == [10.0, 20.0]


@given(
    st.floats(-100, 100),
    st.sampled_from(["m/s", "km/h", "mph", 0.5]),
    st.sampled_from(["deg", "rad", 25.0]),
    st.floats(0.5, 20),
)
def test_units_round_trip(value: float, speed: str | float, steering: str | float, ratio: float) -> None:
    units = SignalUnits(speed, steering, "left", ratio)
    assert units.encode_speed(units.decode_speed(value)) == pytest.approx(value)
    assert units.encode_steering(units.decode_steering(value)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"speed": "knots"}, "speed unit must be m/s, km/h, mph or a number, got 'knots'"),
        ({"steering": "grad"}, "steering unit must be deg, rad or a number, got 'grad'"),
        ({"steering": 0.0}, "steering unit must be a positive number, got 0.0"),
        ({"speed": math.inf}, "speed unit must be a positive number, got inf"),
        ({"steering_ratio": math.inf}, "steering_ratio must be above 0 and finite, got inf"),
        ({"steering_ratio": 0}, "steering_ratio must be above 0 and finite, got 0"),
        ({"steering": 1e99}, "the unit of steering must be one that is in use, got one of 1e[+]99"),
        ({"steering_positive": "up"}, "steering_positive must be one of left, right, got 'up'"),
        ({"steering_ratio": -1}, "steering_ratio must be above 0 and finite, got -1"),
        ({"steering_ratio": 1e-320}, "the unit of steering must be one that is in use, got one of inf"),
        ({"speed": 1e-320}, "the unit of speed must be one that is in use, got one of inf"),
    ],
)
def test_wrong_units_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(FrameError, match=message):
        SignalUnits(**arguments)


def test_from_units_refuses_what_is_no_number() -> None:
    with pytest.raises(FrameError, match="signal speed must be a number, got 'fast'"):
        Signals.from_units(SignalUnits(), speed="fast")  # type: ignore[arg-type]


def test_too_large_values_are_no_values_of_a_signal() -> None:
    units = SignalUnits(speed=10.0, steering="rad")
    assert units.decode_speed(np.array([1e308])).tolist() == [math.inf]
    assert units.decode_steering(np.array([-1e308])).tolist() == [-math.inf]
    with pytest.raises(FrameError, match="signal speed must be finite, got inf: leave an unknown signal out"):
        Signals.from_units(units, speed=1e308)


def test_from_units_converts_speed_and_steering_alone() -> None:
    units = SignalUnits(speed="km/h", steering=25.0, steering_positive="left", steering_ratio=2.0)
    found = Signals.from_units(
        units,
        speed=36,
        steering=0.5,
        acceleration=3.6,
        throttle=0.1,
        brake=0.2,
        timestamp=7,
        extra={"gear": 2},
    )
    assert found == Signals(10.0, -6.25, 3.6, 0.1, 0.2, 7.0, {"gear": 2.0})
    assert Signals.from_units(units, timestamp=3) == Signals(timestamp=3)


def test_from_units_takes_no_extra_signals() -> None:
    assert Signals.from_units(SignalUnits(), speed=3, extra=None) == Signals(speed=3)
