"""Every metric of Table I, against closed forms and drives made so that the answer is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import (
    CATALOGUE,
    MetricSettings,
    availability,
    compute,
    parse_metric,
    per_step,
    primitives,
)
from roadworthy.driving.metrics.operators import band_power
from roadworthy.errors import InputError

RATE = 20.0


def _drive(seconds: float = 60.0, **signals: Any) -> Drive:
    time = np.arange(round(seconds * RATE)) / RATE
    events = signals.pop("events", {})
    made = {name: values(time) if callable(values) else values for name, values in signals.items()}
    happening = {name: flags(time) for name, flags in events.items()}
    return Drive("made", time, made, happening)


def _one(drive: Drive, metric: str, **changes: Any) -> float:
    told = MetricSettings.standard().with_changes(changes)
    return float(compute(drive, [metric], settings=told)[metric][0])


def _sine(amplitude: float, frequency: float) -> Any:
    return lambda t: amplitude * np.sin(2 * math.pi * frequency * t)


def test_table_1_has_126_metrics_and_784_uses_and_the_reaction_time_to_braking() -> None:
    uses = {str(entry.metric): entry.uses for entry in CATALOGUE}
    assert len(uses) == 127
    assert uses.pop("RT(BR)") == 26
    assert (len(uses), sum(uses.values())) == (126, 784)
    assert (len(primitives()), uses["SD(LP)"], uses["SP"]) == (28, 90, 91)


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("Mean(Speed)", "Mean(SP)"),
        ("Std(LP)", "SD(LP)"),
        ("Count(Braking)", "Count(BR)"),
        ("SWRR", "SARR"),
        ("TimeE(Coll)", "TimeE(COL)"),
        ("CountC(Max(TPP))", "CountC(Max(TPP))"),
        ("dist", "D"),
    ],
)
def test_other_spellings(spelt: str, name: str) -> None:
    assert str(parse_metric(spelt)) == name


@pytest.mark.parametrize("text", ["Mean(SP", "Average(SP)", "Mean(Spped)", "", "Mean()", "Mean(SP))"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        parse_metric(text)


# A sine of amplitude 2 at 0.5 Hz over 60 s: 30 whole periods.
SINE = _drive(lane_offset=_sine(2.0, 0.5), steering=_sine(2.0, 0.5), speed=lambda t: 10 + 0 * t)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("Max(LP)", 2.0),
        ("Min(LP)", 0.0),  # of the size
        ("Mean(LP)", 4 / math.pi),
        ("SD(LP)", math.sqrt(2.0)),
        ("Var(LP)", 2.0),
        ("RMSE(LP)", math.sqrt(2.0)),
        ("AbsDev(LP)", 4 / math.pi),
        ("DevT(LP)", 4 / math.pi),
        ("LP", 4 / math.pi),  # by itself, the mean over a sector
        ("SER(LP)", math.sqrt(2.0)),
        ("CountC(LP)", 60.0),  # twice a period above 1 m to either side
        ("TimeC(LP)", 40.0),  # two thirds of the time
        ("SARR", 60.0),  # two reversals a period, 30 periods a minute
        ("PowF(SA)", 2.0),  # half the square of the amplitude
        ("D", 599.5),
        ("T", 59.95),
        ("SD(SP)", 0.0),
    ],
)
def test_a_sine_has_its_closed_form(metric: str, value: float) -> None:
    # The filter of the reversals would flatten it.
    found = _one(SINE, metric, reversal={"below": None, "steering_ratio": 1})
    assert found == pytest.approx(value, rel=0.03, abs=0.02)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("Max(SAS)", 2 * math.pi), ("SD(LS)", math.sqrt(2.0) * math.pi), ("Var(LA)", 2.0 * math.pi**4)],
)
def test_rates_of_a_sine_have_their_closed_form(metric: str, value: float) -> None:
    # Fitting a parabola over 0.7 s flattens a sine of 0.5 Hz; a shorter window hardly does.
    assert _one(SINE, metric, smoothing=0.2) == pytest.approx(value, rel=0.06)


def test_reversals_smaller_than_the_gap_or_faster_than_the_filter_do_not_count() -> None:
    assert _one(SINE, "SARR", reversal={"gap": 4.5, "steering_ratio": 1, "below": None}) == 0
    fast = _drive(steering=lambda t: _sine(5.0, 0.1)(t) + _sine(3.0, 4.0)(t))
    assert _one(fast, "SARR", reversal={"gap": 20.0}) == pytest.approx(12.0, rel=0.1)  # 6 periods a minute
    assert _one(fast, "SARR", reversal={"below": None}) > 400


def test_the_gap_of_reversals_is_measured_at_the_steering_wheel() -> None:
    # 1 degree to either side at the wheels is 28.8 degrees from side to side at the steering wheel.
    drive = _drive(steering=_sine(1.0, 0.1))
    for gap, ratio, rate in ((25.0, 14.4, 12.0), (30.0, 14.4, 0.0), (30.0, 17.0, 12.0), (2.1, 1.0, 0.0)):
        told = {"gap": gap, "steering_ratio": ratio, "below": None}
        assert _one(drive, "SARR", reversal=told) == pytest.approx(rate, rel=0.1), told
    assert _one(_drive(steering=_sine(0.1, 0.1)), "SARR") == pytest.approx(12.0, rel=0.1)


def test_statistics_of_a_few_numbers() -> None:
    drive = Drive(
        "few", np.arange(5) * 0.1, {"throttle": [0.1, 0.1, 0.4, 0.8, 1.0], "speed": [3, 4, 4, 5, 9]}
    )
    assert _one(drive, "Med(TPP)") == 0.4
    assert _one(drive, "Mode(TPP)") == pytest.approx(0.1)
    assert _one(drive, "Ent(TPP)") == pytest.approx(-(0.4 * math.log2(0.4) + 3 * 0.2 * math.log2(0.2)))
    assert _one(drive, "CountC(Max(TPP))") == 1
    assert _one(drive, "CountC(TPP)") == 1  # above a half from 0.8 on, once
    assert _one(drive, "Diff(SP)") == 6
    assert _one(drive, "Skew(SP)") == pytest.approx((5 - 4) / math.sqrt(5.5))
    assert _one(drive, "Mean(DevT(SP))", targets={"SP": 4.0}) == pytest.approx(7 / 5)
    assert _one(drive, "SD(DevT(SP))", targets={"SP": 4.0}) == pytest.approx(np.std([1, 0, 0, 1, 5], ddof=1))


def test_rows_weigh_the_time_that_they_stand_for() -> None:
    # Steps of 0.1 and 0.3 s: their ends stand for as much outside. After a gap, a row for the usual 0.2 s.
    time, speed = np.array([0.0, 0.1, 0.4, 3.0]), np.array([3.0, 4.0, 8.0, 5.0])
    weights = np.array([0.1, 0.2, 0.3, 0.2])
    drive = Drive("few", time, {"speed": speed})
    mean = np.average(speed, weights=weights)
    squares = (weights * (speed - mean) ** 2).sum()
    assert _one(drive, "Mean(SP)") == pytest.approx(mean)
    # The unbiased variance of a sample with weights.
    variance = squares / (weights.sum() - (weights**2).sum() / weights.sum())
    assert _one(drive, "Var(SP)") == pytest.approx(variance)
    assert _one(drive, "SD(SP)") == pytest.approx(math.sqrt(variance))
    assert _one(drive, "AbsDev(SP)") == pytest.approx(np.average(np.abs(speed - mean), weights=weights))
    assert _one(drive, "SoS(SP)") == pytest.approx((weights * speed**2).sum())
    assert _one(drive, "Med(SP)") == 5.0  # 0.3 of 0.8 s are below, 0.3 s above
    left = speed - np.polyval(np.polyfit(time, speed, 1, w=np.sqrt(weights)), time)
    count = weights.sum() ** 2 / (weights**2).sum()
    error = math.sqrt((weights * left**2).sum() / weights.sum() * count / (count - 2))
    assert _one(drive, "SER(SP)") == pytest.approx(error)
    alone = compute(drive.with_sectors([0, 0, 0, 1]), ["SD(SP)", "Mean(SP)"])
    assert (math.isnan(alone["SD(SP)"][1]), alone["Mean(SP)"][1]) == (True, 5.0)


def test_of_equal_bins_the_lowest_is_the_mode() -> None:
    drive = Drive("few", np.arange(5) * 0.1, {"speed": [8, 3, 8, 3, 5]})
    assert _one(drive, "Mode(SP)") == 3
    # Bins of 0.5 are centred on multiples: 2.75 belongs to the one round 3, 2.74 to that round 2.5.
    assert _one(Drive("few", [0.0, 0.1, 0.2], {"speed": [2.75, 3.1, 2.74]}), "Mode(SP)") == 3


@pytest.mark.parametrize("count", [40, 41])
def test_all_power_of_a_signal_lies_in_the_widest_band(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    found = band_power(values, np.arange(count) / 10, (1e-9, 5.0))
    assert found == pytest.approx(values.var())  # Parseval; at half the rate, a swing of ±1 has the power 1


def test_sectors_follow_each_other() -> None:
    drive = _drive(
        10.0,
        speed=lambda t: 5 + t,
        lane_offset=lambda t: 0.1 * t,
        events={"braking": lambda t: (t > 3) & (t < 7)},
    ).cut_by_time(5.0)
    table = compute(drive, ["D", "T", "TO", "Count(BR)", "TimeC(BR)", "CountC(SP)"])
    # A sector lasts until the next begins, so that nothing lies between them.
    assert table["D"].sum() == pytest.approx(compute(drive, ["D"], whole=True)["D"][0])
    assert table["D"] == pytest.approx([37.5, 5 * 4.95 + (9.95**2 - 5**2) / 2])
    assert table["T"].tolist() == pytest.approx([5.0, 4.95])
    # From the first row of a sector to its last, 99 rows later.
    assert table["TO"].tolist() == pytest.approx([0.1 * 99 / 20] * 2)
    # What goes on from one sector to the next begins anew there.
    assert table["Count(BR)"].tolist() == [1, 1]
    assert table["TimeC(BR)"].tolist() == pytest.approx([5 - 3.05, 2.0])
    assert table["CountC(SP)"].tolist() == [0, 1]


def test_time_to_an_event_is_counted_from_the_begin_of_a_sector() -> None:
    drive = _drive(10.0, events={"crash": lambda t: t >= 7}).cut_by_time(5.0)
    assert compute(drive, ["TimeE(CR)"])["TimeE(CR)"].tolist() == pytest.approx([math.inf, 2.0])


def test_a_swing_of_exactly_the_gap_is_a_reversal() -> None:
    swing = Drive("swing", np.arange(5) / 1.0, {"steering": [0.0, 2.0, 0.0, 2.0, 0.0]}, gap=2)
    for gap, reversals in ((2.0, 4), (2.1, 0)):
        found = _one(swing, "SARR", reversal={"gap": gap, "steering_ratio": 1, "below": None})
        assert found == pytest.approx(reversals / 4 * 60)


def test_the_power_of_stretches_counts_by_their_length() -> None:
    # 10 s of amplitude 2, a gap, 30 s of none.
    time = np.concatenate([np.arange(200) / 20, 100 + np.arange(600) / 20])
    steering = np.where(time < 50, _sine(2.0, 0.5)(time), 0.0)
    found = _one(Drive("two", time, {"steering": steering}), "PowF(SA)")
    assert found == pytest.approx(2.0 * 9.95 / (9.95 + 29.95), rel=0.01)


def test_the_root_of_the_mean_square_leaves_out_rows_whose_target_is_not_known() -> None:
    drive = Drive("few", np.arange(4) * 0.1, {"speed": [3, 4, 9, 5], "target_speed": [0, 0, np.nan, 0]})
    # The rows beside it stand for its time, half each; the last stands for as long after as before.
    assert _one(drive, "RMSE(SP)") == pytest.approx(math.sqrt((9 * 0.1 + 16 * 0.15 + 25 * 0.2) / 0.45))
    assert _one(drive, "RMSE(SP)", targets={"SP": 3.0}) == pytest.approx(math.sqrt((0 + 1 + 36 + 4) / 4))


def test_a_steady_signal_has_no_skewness_and_no_coefficient_of_variation_of_0() -> None:
    drive = Drive("steady", np.arange(4) * 0.1, {"speed": [5.0] * 4, "lane_offset": [-0.1, 0.1, -0.1, 0.1]})
    assert math.isnan(_one(drive, "Skew(SP)"))
    assert math.isnan(_one(drive, "CV(LP)"))
    assert _one(drive, "CV(SP)") == 0


def test_what_is_unknown_is_never_0() -> None:
    # 10 m/s; the speed of two rows in between is not known, then that of three seconds.
    speed = np.full(101, 10.0)
    speed[[3, 4]] = speed[50:80] = np.nan
    drive = Drive("holes", np.arange(101) / 10, {"speed": speed})
    steps = per_step(drive, ["D"])["D"]
    assert steps[[0, 3, 5, 49]] == pytest.approx([0.0, 3.0, 5.0, 49.0])
    assert np.isnan(steps[50:80]).all()
    assert _one(drive, "D") == pytest.approx(100 - 31)  # as in a gap, nothing is said of the time between
    assert math.isnan(_one(Drive("one", [0.0], {"x": [1.0], "y": [2.0]}), "D"))


def test_signals_without_any_number_are_taken_from_others() -> None:
    nothing = np.full(20, np.nan)
    drive = Drive("log", np.arange(20) / 10, {"speed": nothing, "distance": np.arange(20) * 0.5})
    assert _one(drive, "Mean(SP)") == pytest.approx(5.0)
    headway = Drive("log", np.arange(20) / 10, {"lead_speed": nothing, "headway": 50 - np.arange(20) * 0.2})
    assert _one(headway, "Min(HS)") == pytest.approx(-2.0)


def test_lanes_that_are_not_known_are_no_lane_changes() -> None:
    drive = Drive("lanes", np.arange(6.0), {"lane": [1, np.nan, 1, 2, np.nan, 3]}, gap=2)
    assert per_step(drive, ["LC"])["LC"] == pytest.approx([0, np.nan, 0, 1, np.nan, 1], nan_ok=True)
    assert _one(drive, "Count(LC)") == 2
    again = Drive("lanes", [0.0, 1.0, 2.0], {"lane": [1, 2, 3]}, {"lane change sign": [0, 0, 1]}, gap=2)
    assert (_one(again, "Count(LC)"), _one(again, "RT(LC)")) == (2, 0)
    assert "how long it takes" in compute(drive, ["TimeC(LC)"]).missing["TimeC(LC)"]


def test_infinite_numbers_are_no_measurements() -> None:
    drive = Drive("log", np.arange(4) / 10, {"headway": [np.inf, 20.0, 30.0, np.inf], "speed": [10.0] * 4})
    assert _one(drive, "Mean(HP)") == 25.0
    assert _one(drive, "Mean(DevT(HP))") == 5.0
    huge = Drive("log", np.arange(9) / 10, {"own": np.arange(9), "speed": 1e300 * np.arange(1, 10)})
    assert huge.notes == ("9 values of speed not between -30 and 150, taken as unknown; the first: 1e+300",)
    assert compute(huge, ["SD(SP)"]).missing == {"SD(SP)": "the signal speed, distance, or x and y"}
    assert set(compute(huge).values) == {"T"}


def test_power_in_a_band_is_not_known_where_the_rows_come_too_slowly_or_are_too_few() -> None:
    slow = Drive("slow", np.arange(100.0), {"steering": np.sin(np.arange(100.0))}, gap=2)
    assert math.isnan(_one(slow, "PowF(SA)"))  # 1 Hz shows nothing above 0.5 Hz
    assert math.isnan(_one(_drive(1.0, steering=_sine(1, 0.4)), "PowF(SA)"))  # no whole period
    both = _drive(60.0, steering=lambda t: 7 + _sine(2.0, 0.5)(t) + _sine(3.0, 2.0)(t))
    assert _one(both, "PowF(SA)") == pytest.approx(2.0, rel=0.01)
    assert _one(both, "PowF(SA)", bands={"SA": [1.0, 3.0]}) == pytest.approx(4.5, rel=0.01)


def test_no_reversal_is_seen_within_an_instant() -> None:
    drive = Drive("instant", np.arange(60) * 1e-12, {"steering": np.resize([-9.0, 9.0], 60)})
    assert math.isnan(_one(drive, "SARR"))


def test_the_error_of_the_regression_line_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    drive = _drive(30, lane_offset=lambda t: 0.3 + 0.02 * t + rng.normal(0, 0.2, len(t)))
    time, offset = drive.time, drive.signals["lane_offset"]
    left = offset - np.polyval(np.polyfit(time, offset, 1), time)
    assert _one(drive, "SER(LP)") == pytest.approx(math.sqrt((left**2).sum() / (len(left) - 2)))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.integers(1, 6), holes=st.booleans())
def test_sectors_are_computed_as_drives_of_their_own(seed: int, cuts: int, holes: bool) -> None:
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.uniform(0.04, 0.06, 240))
    speed, offset = rng.normal(10, 2, 240), rng.normal(0, 0.5, 240)
    if holes:
        offset[rng.random(240) < 0.2] = np.nan
    signals = {"speed": speed, "lane_offset": offset, "throttle": rng.random(240)}
    drive = Drive("noise", time, {**signals, "steering": np.cumsum(rng.normal(0, 1, 240))})
    numbers = np.sort(rng.integers(0, cuts, 240))
    numbers = np.unique(numbers, return_inverse=True)[1]
    names = ["Mean(SP)", "SD(LP)", "Med(TPP)", "Max(LP)", "SER(LP)", "Ent(TPP)", "CountC(SP)", "Diff(SP)"]
    names += ["SARR", "PowF(SA)"]
    together = compute(drive.with_sectors(numbers), names)
    for sector in range(int(numbers[-1]) + 1):
        rows = numbers == sector
        alone = Drive("part", time[rows], {name: v[rows] for name, v in drive.signals.items()})
        apart = compute(alone, names)
        for name in names:
            assert together[name][sector] == pytest.approx(apart[name][0], nan_ok=True, abs=1e-9), name


def test_time_in_a_condition_leaves_gaps_out() -> None:
    drive = Drive("gap", [0.0, 0.5, 1.0, 11.0, 11.5], {"speed": [20.0, 20.0, 20.0, 20.0, 20.0]})
    assert _one(drive, "TimeC(SP)") == pytest.approx(1.5)
    assert _one(drive, "CountC(SP)") == 2  # nobody knows what was in between
    assert _one(drive, "D") == pytest.approx(30.0)


def test_headway_and_collision() -> None:
    # 50 m behind a vehicle that drives 15 m/s, at 20 m/s: 10 s to the collision, 2.5 s of headway time.
    drive = _drive(
        9.0,
        speed=lambda t: 20 + 0 * t,
        headway=lambda t: 50 - 5 * t,
        lead_speed=lambda t: 15 + 0 * t,
        brake=lambda t: (t > 8.9).astype(float),
    )
    steps = per_step(drive, ["TimeE(COL)", "HT", "HS"])
    assert steps["TimeE(COL)"][0] == pytest.approx(10)
    assert steps["HT"][0] == pytest.approx(2.5)
    assert steps["HS"] == pytest.approx(-5)
    assert _one(drive, "TimeE(COL)") == pytest.approx(10 - drive.time[-1])
    assert _one(drive, "TimeC(COL)") == pytest.approx(9.0 - 8.5, abs=0.11)
    # It is foreseen within 1.5 s at 8.5 s, and the brake is pressed after 8.9 s.
    assert _one(drive, "RT(COL)") == pytest.approx(0.4, abs=0.06)
    without = _drive(9.0, speed=lambda t: 20 + 0 * t, headway=lambda t: 50 - 5 * t)
    assert per_step(without, ["HS"])["HS"] == pytest.approx(-5)


def test_reactions_in_time_late_and_never() -> None:
    drive = _drive(
        60.0,
        events={
            "hazard": lambda t: ((t >= 5) & (t < 6)) | ((t >= 20) & (t < 21)) | ((t >= 40) & (t < 41)),
            "braking": lambda t: ((t >= 6.2) & (t < 7)) | ((t >= 20.8) & (t < 22)) | ((t >= 50) & (t < 51)),
            "traffic sign": lambda t: t % 10 < 0.5,
            "sign obeyed": lambda t: (t > 2) & (t % 20 > 3) & (t % 20 < 4),
        },
    )
    assert _one(drive, "RT(BR)") == pytest.approx((1.2 + 0.8) / 2)
    assert _one(drive, "Count(BR)") == 3
    assert _one(drive, "TimeC(BR)") == pytest.approx(0.8 + 1.2 + 1.0)
    # Signs at 0, 10 … 50; obeyed at 3, 23 and 43, so those at 0, 20 and 40 are, within ten seconds.
    assert _one(drive, "RA(TSO)") == pytest.approx(0.5)
    assert _one(drive, "RT(TSO)") == pytest.approx(3.05)


def test_a_reaction_counts_where_the_record_says_whether_it_came() -> None:
    def drive(gap: tuple[float, float], braking: tuple[float, float], end: float = 30.0) -> Drive:
        time = np.arange(round(end * 10)) / 10
        time = time[(time < gap[0]) | (time >= gap[1])]
        told = {"hazard": (time >= 10) & (time < 11), "braking": (time >= braking[0]) & (time < braking[1])}
        return Drive("reacts", time, events=told)

    changes = {"reactions": {"RA(BR)": {"to": "hazard", "with": "BR", "within": 5.0}}}
    for made, delay, share in (
        (drive((5, 7), (12, 13)), 2.0, 1.0),
        (drive((5, 7), (16, 17)), math.nan, 0.0),
        (drive((11, 14), (14.5, 15)), math.nan, math.nan),  # it may have begun in the gap
        (drive((11, 14), (20, 21)), math.nan, math.nan),
        (drive((12.5, 14), (12, 15)), 2.0, 1.0),
        (drive((5, 7), (20, 21), end=14.0), math.nan, math.nan),  # the record ends too early
        (drive((5, 7), (20, 21), end=15.0), math.nan, 0.0),
    ):
        assert _one(made, "RT(BR)") == pytest.approx(delay, nan_ok=True)
        assert _one(made, "RA(BR)", **changes) == pytest.approx(share, nan_ok=True)


def test_a_condition_goes_on_through_rows_that_do_not_say() -> None:
    # A row a second has it, of ten a second: above for 5 s, below for 5 s, unknown for 5 s.
    time = np.arange(150) / 10
    speed = np.where(np.arange(150) % 10 == 0, np.where(time < 5, 20.0, 5.0), np.nan)
    drive = Drive("sparse", time, {"speed": np.where(time < 10, speed, np.nan)})
    assert _one(drive, "CountC(SP)") == 1
    assert _one(drive, "TimeC(SP)") == pytest.approx(5.0)
    sectors = compute(drive.cut_by_time(5.0), ["CountC(SP)", "TimeC(SP)", "Max(SP)"])
    assert sectors["CountC(SP)"] == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert sectors["TimeC(SP)"] == pytest.approx([4.1, 0, np.nan], nan_ok=True)
    assert sectors["Max(SP)"] == pytest.approx([20, 5, np.nan], nan_ok=True)


def test_braking_distance_is_from_the_pedal_to_the_stand() -> None:
    # From 20 m/s at 5 m/s²: 40 m; a short touch of the brake before does not stop the car.
    def speed(t: Any) -> Any:
        return np.clip(20 - 5 * (t - 10), 0, 20)

    drive = _drive(20.0, speed=speed, brake=lambda t: (((t >= 2) & (t < 3)) | (t >= 10)).astype(float))
    assert _one(drive, "BD") == pytest.approx(40, rel=0.02)
    parked = _drive(20.0, speed=speed, brake=lambda t: ((t >= 10) & ((t < 16) | (t >= 17))).astype(float))
    assert _one(parked, "BD") == pytest.approx(40, rel=0.02)  # the pedal of a car that stands brakes nothing
    unfinished = _drive(12.0, speed=speed, brake=lambda t: (t >= 10).astype(float))
    assert math.isnan(_one(unfinished, "BD"))  # the record ends before the car stands
    late = (drive.time > 11) & (drive.time < 20)
    begun = {name: values[late] for name, values in drive.signals.items()}
    assert math.isnan(_one(Drive("begun", drive.time[late], begun), "BD"))  # nobody saw where it began
    both = compute(Drive("cut", drive.time, drive.signals, sectors=(drive.time >= 12).astype(int)), ["BD"])
    assert both["BD"] == pytest.approx([40, np.nan], rel=0.02, nan_ok=True), "it counts where it begins"


def test_time_to_what_never_comes_is_infinite_and_to_what_comes_is_told_per_step() -> None:
    drive = _drive(10.0, events={"crash": lambda t: t >= 8, "lane change": lambda t: t < 0})
    assert _one(drive, "TimeE(CR)") == pytest.approx(8.0)
    assert _one(drive, "TimeE(LC)") == math.inf
    assert per_step(drive, ["TimeE(CR)"])["TimeE(CR)"][[0, 100]] == pytest.approx([8.0, 3.0])


def test_what_a_drive_allows_is_told_for_every_metric() -> None:
    told = availability(_drive(5.0, speed=_sine(1, 1)))
    assert len(told) == 127
    assert told["Mean(ACC)"] is None
    assert told["SD(LP)"] == "the signal lane_offset"
    assert told["Count(CR)"] == "the event crash"
    assert told["DevT(SP)"] == "the signal target_speed"
    everything = _drive(
        30.0,
        **{
            name: _sine(1 + number, 0.05 * (number + 1))
            for number, name in enumerate(
                ("speed", "throttle", "brake", "steering", "lane_offset", "headway", "lead_speed")
            )
        },
        vehicle_distance=_sine(1, 1),
        pedestrian_distance=_sine(1, 1),
        lateral_clearance=_sine(1, 1),
        target_speed=_sine(1, 1),
        target_steering=_sine(1, 1),
        events={
            name: lambda t: t % 7 < 1
            for name in (
                *("crash", "collision", "line crossing", "lane change", "traffic sign", "sign obeyed"),
                *("lane change sign", "hazard"),
            )
        },
    )
    assert set(availability(everything).values()) == {None}
    assert len(compute(everything).values) == 127


def test_metrics_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="one number for many steps"):
        per_step(SINE, ["SD(LP)"])
    with pytest.raises(InputError, match="events only"):
        compute(SINE, ["RT(LP)"])
    with pytest.raises(InputError, match="no operator applies"):
        compute(SINE, ["Mean(SARR)"])
    with pytest.raises(InputError, match="needs the signal headway"):
        compute(SINE, ["Mean(HP)"])["Mean(HP)"]
    with pytest.raises(InputError, match="was not asked for"):
        compute(SINE, ["Mean(LP)"])["Mean(SP)"]


def test_one_row_has_few_metrics_and_no_error() -> None:
    table = compute(Drive("one", [0.0], {"speed": [5.0], "lane_offset": [0.2]}))
    assert table["Mean(SP)"][0] == 5.0
    assert math.isnan(table["SD(LP)"][0])
    assert table["T"][0] == 0


def test_settings_from_a_file_change_what_they_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("conditions:\n  TimeC(SP): '> 5'\n")
    told = MetricSettings.load(file)
    assert str(told.conditions["TimeC(SP)"]) == "> 5"
    assert told.reversal.gap == 2.0
    file.write_text("conditions:\n  TimeC(SP): fast\n")
    with pytest.raises(InputError, match=r"mine\.yaml:2: .*expected a comparison"):
        MetricSettings.load(file)
    file.write_text("condition: {}\n")
    with pytest.raises(InputError, match=r"mine\.yaml:1: unknown key 'condition': did you mean 'conditions'"):
        MetricSettings.load(file)


def test_settings_are_told_in_any_spelling_and_never_without_effect(tmp_path: Path) -> None:
    told = MetricSettings.standard().with_changes(
        {"conditions": {"CountC(Speed)": "> 5"}, "targets": {"Speed": 9}, "magnitude": {"ACC": ["Max"]}}
    )
    assert str(told.conditions["CountC(SP)"]) == "> 5"
    assert told.targets["SP"] == 9.0
    file = tmp_path / "mine.yaml"
    for text, message in (
        ("bins:\n  SPD: 1\n", r"mine\.yaml:2: no metric SPD"),
        ("conditions:\n  CountC(SP: '> 1'\n", r"mine\.yaml:2: expected a metric such as"),
        ("targets:\n  Mean(SP): 1\n", r"mine\.yaml:2: targets are told for SP alone, got"),
        ("magnitude:\n  SP: [Average]\n", r"mine\.yaml:2: .*no operator 'Average'"),
        ("conditions:\n  CountC(SP): 5\n", r"mine\.yaml:2: .*expected a comparison such as '> 13.9'"),
        ("targets:\n  SP: .nan\n", r"mine\.yaml:2: .*a finite number, got nan"),
        ("braking: .inf\n", r"mine\.yaml:1: .*a finite number, got inf"),
        ("bands:\n  SA: [2, 1]\n", r"mine\.yaml:2: .*from a lower to a higher"),
        ("bins:\n  SP: 0\n", r"mine\.yaml:2: .*above 0, got 0"),
        ("reversal:\n  gap: 0\n", r"mine\.yaml:2: .*above 0, got 0"),
        ("reversal:\n  steering_ratio: 0\n", r"mine\.yaml:2: .*above 0, got 0"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            MetricSettings.load(file)


def test_the_settings_survive_being_written_and_read() -> None:
    told = MetricSettings.standard()
    assert told.with_changes({}) == told
