"""Every metric of Table I where signals are missing, the log has a hole, or its rows come unevenly."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import SIGNALS
from roadworthy.driving.metrics import (
    CATALOGUE,
    Metric,
    MetricSettings,
    compute,
    meaning_of,
    parse_metric,
    per_step,
    primitives,
    unit_of,
)
from roadworthy.driving.requirements import usual_direction

EVENT_PRIMITIVES = {name for name, one in primitives().items() if one.event is not None}
METRICS = tuple(str(entry.metric) for entry in CATALOGUE)
SECTOR = 20.0
Series = NDArray[np.float64]


def swing(time: Series, amplitude: float, seconds: float) -> Series:
    return np.asarray(amplitude * np.sin(2 * math.pi * time / seconds + 0.3))


def on(time: Series, *spans: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray(np.any([(time >= start) & (time < end) for start, end in spans], axis=0))


def signals(time: Series) -> dict[str, Series]:
    """What every signal is at some moments: in each 20 s, the vehicle brakes to a stand and goes on."""
    place = time % SECTOR
    speed = np.interp(place, [0, 4, 10, 13, 15, 20], [6.0, 20.0, 14.0, 0.0, 0.0, 6.0])
    speed *= 1 + 0.002 * time
    return {
        "speed": speed,
        "throttle": np.interp(place, [0, 3, 4, 6, 10, 15, 18, 20], [0.2, 1, 1, 0.6, 0, 0, 0.7, 0.2]),
        "brake": np.interp(place, [9.9, 10.1, 14.9, 15.1], [0, 0.7, 0.7, 0]),
        "steering": 3
        + (swing(time, 9, 2.3) + swing(time, 4, 11)) * np.interp(place, [12, 13, 17, 18], [1, 0, 0, 1]),
        "lane_offset": swing(time, 1.4, 7) + swing(time, 0.3, 2.9) + 0.01 * time,
        "distance": np.cumsum(np.append(0, (speed[1:] + speed[:-1]) / 2 * np.diff(time))),
        "lane": np.floor(place / 7),
        "headway": 25 + swing(time, 2, 9) + np.interp(place, [7, 8.5, 10.5, 12], [0, -14, -14, 0]),
        "lead_speed": speed + np.interp(place, [7, 8, 10.5, 11.5], [2, -11, -11, 2]),
        "vehicle_distance": 10 + swing(time, 5, 8),
        "pedestrian_distance": 30 + swing(time, 9, 6),
        "lateral_clearance": 0.6 + swing(time, 0.5, 7.7),
        "target_speed": 9 + swing(time, 2, 17),
        "target_steering": swing(time, 6, 11),
    }


def events(time: Series) -> dict[str, NDArray[np.bool_]]:
    """What happens at some moments; each 20 s has what asks for something and what is done then."""
    place = time % SECTOR
    return {
        "hazard": on(place, (9.1, 9.6)),
        "lane change sign": on(place, (3.0, 3.5)),
        "traffic sign": on(place, (2.0, 2.5), (6.0, 6.5)),
        "sign obeyed": on(place, (3.3, 4.0)),
        "collision": on(place, (12.2, 12.7)),
        "line crossing": on(place, (1.0, 1.6), (16.0, 16.5)),
    }


def made(time: Series, *, stamps: Series | None = None, **changes: Any) -> Drive:
    told = {**signals(time), **changes.pop("signals", {})}
    happening = {**events(time), **changes.pop("events", {})}
    return Drive("made", time if stamps is None else stamps, told, happening, **changes)


EVEN = np.arange(1200) / 20


def test_all_metrics_are_known_of_the_drive_that_these_tests_change() -> None:
    happening = {name: on(EVEN, (31, 32)) for name in ("crash", "lane change")}
    table = compute(made(EVEN, events=happening), whole=True)
    assert not table.missing
    assert [name for name in METRICS if np.isnan(table[name][0])] == []


VALUES = Path(__file__).with_name("values.txt")


def told() -> list[str]:
    """Every metric of three sectors of unequal length: numbers, unit, which way is worse, what it means."""
    happening = {name: on(EVEN, (11, 12), (31, 32)) for name in ("crash", "lane change")}
    drive = made(
        EVEN, stamps=EVEN + 7.5, events=happening, sectors=np.searchsorted([13.0, 40.0], EVEN, side="right")
    )
    table = compute(drive)
    return [
        f"{name}: {' '.join(f'{value:.6g}' for value in table[name])} {unit_of(name)}; "
        f"{usual_direction(name)}; {meaning_of(name)}"
        for name in METRICS
    ]


def test_every_metric_is_what_it_was_before() -> None:
    """The numbers were looked through once; who means one to change writes the file again and says why."""
    kept = VALUES.read_text("utf-8").splitlines()
    number = re.compile(r"-?\d[\d.e+-]*")
    assert len(kept) == len(METRICS)
    for now, then in zip(told(), kept, strict=True):
        assert number.sub("#", now) == number.sub("#", then)
        found, before = (list(map(float, number.findall(line))) for line in (now, then))
        assert found == pytest.approx(before, rel=1e-4, abs=1e-9), then


@pytest.mark.parametrize("name", METRICS)
def test_what_is_missing_in_a_sector_is_unknown_there(name: str) -> None:
    middle = on(EVEN, (20, 40))
    holed = {key: np.where(middle, np.nan, values) for key, values in signals(EVEN).items()}
    table = compute(made(EVEN, signals=holed).cut_by_time(SECTOR), [name])
    if name == "T":
        assert table[name] == pytest.approx([20, 20, 19.95])  # a log always says when
    elif name in table.missing:
        assert table.missing[name].startswith("the event ")
    elif parse_metric(name).primitive in ("LCR", "COL", "TSO") and parse_metric(name).operators[0] != "TimeC":
        # These are events, and an event that a drive records is known in each row. TimeE foresees them.
        assert np.isnan(table[name][1]) == (name in ("TimeE(LCR)", "TimeE(COL)", "RT(COL)"))
    else:
        assert np.isnan(table[name]).tolist() == [False, True, False]


@pytest.mark.parametrize("name", METRICS)
def test_of_a_drive_without_signals_and_events_only_the_time_is_known(name: str) -> None:
    for told in ({}, {key: np.full(60, np.nan) for key in SIGNALS}):
        table = compute(Drive("nothing", np.arange(60) / 10, told), [name])
        assert (name in table.missing) == (name != "T")


SUMS = ("D", "T", "Count", "CountC", "TimeC", "SoS")
LEAST, GREATEST = ("Min", "TimeE"), ("Max",)


def holed(hole: float) -> Drive:
    """40 s with a hole in the middle, in which it brakes and the odometer, the lane and the place go on."""
    time = np.arange(800) / 20
    later = time >= 20
    shifted = {
        "distance": signals(time)["distance"] + 3000 * later,
        "lane": signals(time)["lane"] + 4 * later,
    }
    # Braking, that goes on from before the hole to a stand behind it, was not seen.
    brake = np.where(on(time, (19.5, 20.6)), 0.7, signals(time)["brake"])
    speed = np.where(on(time, (20.3, 21.8)), 0.0, signals(time)["speed"])
    crash = {"crash": on(time, (21, 22))}
    return made(
        time, stamps=time + hole * later, signals={**shifted, "brake": brake, "speed": speed}, events=crash
    )


def part(drive: Drive, rows: slice) -> Drive:
    told = {key: values[rows] for key, values in drive.signals.items()}
    return Drive("part", drive.time[rows], told, {key: flags[rows] for key, flags in drive.events.items()})


def _known(metric: Metric, drive: Drive) -> list[float]:
    """Return how many rows of each half have a number."""
    if metric.primitive in ("D", "T", "TO") or metric.primitive in EVENT_PRIMITIVES:
        return [1.0, 1.0]
    finite = np.isfinite(per_step(drive, [metric.primitive])[metric.primitive])
    return [float(finite[:400].sum()), float(finite[400:].sum())]


def together(name: str, drive: Drive, parts: tuple[float, float]) -> float:
    """Return what the two halves of a drive give together, by another way than that of the package."""
    metric = parse_metric(name)
    outer = metric.operators[0] if metric.operators else metric.primitive
    one, two = parts
    single = metric.primitive in ("SARR", "BD") or outer in ("RT", "RA", "PowF")
    weights = [1.0, 1.0] if single else _known(metric, drive)
    if outer in SUMS:
        return one + two
    if outer in LEAST:
        return min(one, two)
    if outer in GREATEST:
        return max(one, two)
    if name == "TO":
        return float(drive.signals["lane_offset"][-1] - drive.signals["lane_offset"][0])
    if outer in ("Mean", "DevT", metric.primitive) or single:
        return float(np.average(parts, weights=weights))
    if outer == "RMSE":
        return math.sqrt(np.average(np.square(parts), weights=weights))
    inner = f"DevT({metric.primitive})" if "DevT" in metric.operators else metric.primitive
    values = per_step(drive, [inner])[inner]
    known = values[np.isfinite(values)]
    if outer in MetricSettings.standard().magnitude.get(metric.primitive, ()):
        known = np.abs(known)
    mean, deviation = known.mean(), known.std(ddof=1)
    if outer in ("Mode", "Ent", "Skew"):
        width = MetricSettings.standard().bins[metric.primitive]
        bins, counts = np.unique(np.floor(known / width + 0.5), return_counts=True)
        mode, share = bins[counts.argmax()] * width, counts / len(known)
        return float(
            {"Mode": mode, "Ent": -(share * np.log2(share)).sum(), "Skew": (mean - mode) / deviation}[outer]
        )
    if outer == "SER":
        left = known - np.polyval(np.polyfit(drive.time, known, 1), drive.time)
        return math.sqrt((left**2).sum() / (len(left) - 2))
    ways = {
        "SD": deviation,
        "Var": deviation**2,
        "CV": deviation / mean,
        "Med": np.median(known),
        "AbsDev": np.abs(known - mean).mean(),
        "Diff": known.max() - known.min(),
    }
    return float(ways[outer])


@pytest.mark.parametrize("name", METRICS)
def test_a_drive_with_a_hole_gives_what_its_two_parts_give(name: str) -> None:
    drive = holed(60.0)
    value = compute(drive, [name], whole=True)
    parts = (part(drive, slice(0, 400)), part(drive, slice(400, 800)))
    if name in value.missing:
        assert all(name in compute(one, [name]).missing for one in parts)
        return
    if name in ("TimeE(CR)", "TimeE(LC)"):
        # The first may have been in the hole; that of the lanes came before it.
        assert np.isnan(value[name][0]) == (name == "TimeE(CR)")
        assert compute(drive, ["TimeE(LC)"], whole=True)["TimeE(LC)"][0] == pytest.approx(7.0)
        return
    one, two = (float(compute(half, [name])[name][0]) for half in parts)
    assert value[name][0] == pytest.approx(together(name, drive, (one, two)), rel=1e-6), (one, two)


def test_a_hole_is_neither_driven_nor_braked_through_nor_waited_for() -> None:
    drive = holed(60.0)
    table = compute(drive, ["T", "D", "BD", "Count(LC)"], whole=True)
    assert table["T"][0] == pytest.approx(2 * 19.95)
    assert table["D"][0] < 400
    assert table["BD"][0] == pytest.approx(23.0, abs=0.5)  # from about 14.5 m/s in 3 s, twice
    assert table["Count(LC)"][0] == 4
    steps = per_step(drive, ["TimeE(CR)", "D"])
    assert np.isnan(steps["TimeE(CR)"][:400]).all()
    assert steps["TimeE(CR)"][[400, 410]] == pytest.approx([1.0, 0.5])
    assert steps["TimeE(CR)"][-1] == np.inf
    assert steps["D"][400] == pytest.approx(steps["D"][399])


def test_the_mean_speed_is_distance_over_time_however_the_rows_come() -> None:
    # 10 s at 5 m/s, ten rows a second; 10 s at 20 m/s, one row a second. The mean of the rows is 6.36 m/s.
    time = np.concatenate([np.arange(100) / 10, np.arange(10.0, 20.0)])
    drive = Drive("uneven", time, {"speed": np.where(time < 10, 5.0, 20.0)})
    table = compute(drive, ["Mean(SP)", "D", "T", "Med(SP)", "Mode(SP)", "SD(SP)", "Ent(SP)", "AbsDev(SP)"])
    assert table["Mean(SP)"][0] == pytest.approx(12.5, rel=0.03)
    assert table["Mean(SP)"][0] == pytest.approx(table["D"][0] / table["T"][0], rel=0.03)
    assert table["SD(SP)"][0] == pytest.approx(7.5, rel=0.05)
    assert table["Ent(SP)"][0] == pytest.approx(1.0, rel=0.01)
    assert table["AbsDev(SP)"][0] == pytest.approx(7.5, rel=0.01)
    late = Drive("uneven", time, {"speed": np.where(time < 9, 5.0, 20.0)})
    assert compute(late, ["Med(SP)", "Mode(SP)"])["Med(SP)"][0] == 20.0  # of 110 rows, 90 say 5
    assert compute(late, ["Mode(SP)"])["Mode(SP)"][0] == 20.0


# What is fitted to differentiate is a whole number of rows, and so not always as long.
LOOSE = dict.fromkeys(("Max(SAS)", "TimeC(SAS)", "CountC(SAS)", "RT(ST)"), 0.2)
# Headway time grows a hundredfold until the vehicle stands.
LOOSE |= {"HT": 0.1, "Mean(HT)": 0.1, "SD(HT)": 0.25}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_how_often_rows_are_logged_changes_no_metric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Twenty stretches, each with 12 to 60 rows a second, which jitter.
    lengths = np.repeat(1 / rng.uniform(12, 60, 20), rng.integers(72, 288, 20))
    time = np.cumsum(lengths * rng.uniform(0.7, 1.3, len(lengths)))
    happening = {"crash": [(31, 32)], "lane change": [(4, 7), (24, 27), (44, 47)]}
    uneven, dense = (
        compute(made(times, events={key: on(times, *spans) for key, spans in happening.items()}), whole=True)
        for times in (np.array([0.0, *time[time < 59.98], 59.99]), np.arange(6000) / 100)
    )
    found = {name: (float(uneven[name][0]), float(dense[name][0])) for name in METRICS}
    wrong = {
        name: (value, true)
        for name, (value, true) in found.items()
        if value != pytest.approx(true, rel=LOOSE.get(name, 0.05), abs=0.05)
    }
    assert not wrong
