"""Alarms on good laps that nobody has seen: what is said of them, against simulations with known truth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.driving import fit_oracle
from roadworthy.driving.oracles import Oracle
from roadworthy.driving.oracles.false_alarms import FalseAlarmBound
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

SECTORS = 4
Values = NDArray[np.float64]


def _laps(rng: np.random.Generator, laps: int, shift: float = 0.0) -> Values:
    """Return laps × sectors × 3 metrics that go together, in units and with tails of their own."""
    together = rng.normal(size=(laps, 1, 1)) + 0.7 * rng.normal(size=(laps, 1, 3))
    alone = rng.gamma(2, 1, (laps, SECTORS, 3)) * [1.0, 0.3, 2.0]
    return (together + alone + shift) * [0.05, 1.0, -20.0]


def _table(laps: Values, **names: list[str]) -> SectorTable:
    rows = np.repeat(np.arange(len(laps)), laps.shape[1])
    drivers = [f"lap {row}" for row in rows]
    return SectorTable.of(laps.reshape(-1, laps.shape[2]), drivers=drivers, **names)


WAYS: Any = ["up", "up", "down"]


def _rates(
    fit: Callable[[np.random.Generator], Oracle],
    new: Callable[[np.random.Generator], Values],
    repetitions: int,
) -> Values:
    """Return the share of new good laps with an alarm, for many oracles that were learned anew."""
    rates = np.empty(repetitions)
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        oracle, laps = fit(rng), new(rng)
        alarms = oracle.judge(laps.reshape(-1, laps.shape[2])).reshape(laps.shape)
        rates[seed] = alarms.any(axis=(1, 2)).mean()
    return rates


def _close(rates: Values, expected: float) -> bool:
    """Return whether a mean is what is expected, within four standard errors."""
    return bool(abs(rates.mean() - expected) < 4 * rates.std() / math.sqrt(len(rates)))


@pytest.mark.parametrize(
    ("laps", "share", "exact"), [(19, 0.1, 2 / 20), (19, 0.05, 1 / 20), (12, 0.2, 2 / 13)]
)
def test_conformal_thresholds_alarm_on_no_more_new_laps_than_they_say(
    laps: int, share: float, exact: float
) -> None:
    said: set[float] = set()

    def fit(rng: np.random.Generator) -> Oracle:
        good, mutants = _laps(rng, laps), _laps(rng, 15, 1.0)
        oracle = fit_oracle(_table(good), _table(mutants), directions=WAYS, alarms=share)
        said.add(float(oracle.false_alarms.share))
        return oracle

    rates = _rates(fit, lambda rng: _laps(rng, 50), 500)
    assert said == {exact}
    assert exact <= share
    assert _close(rates, exact)  # not above, and no wider than it must be


def test_counts_with_ties_do_not_alarm_more_often() -> None:
    def counts(rng: np.random.Generator, laps: int) -> Values:
        return rng.poisson(rng.gamma(2, 0.3, (laps, 1, 1)), (laps, SECTORS, 2)).astype(float)

    rates = _rates(
        lambda rng: fit_oracle(_table(counts(rng, 9)), _table(counts(rng, 10) / 10), alarms=0.2),
        lambda rng: counts(rng, 50),
        400,
    )
    assert 0 < rates.mean() < 0.2


def test_a_new_track_needs_tracks_to_learn_from() -> None:
    tracks, laps = 4, 10

    def on_tracks(rng: np.random.Generator, tracks: int, laps: int) -> Values:
        place = np.repeat(rng.normal(0, 4, tracks), laps)[:, None, None]
        return _laps(rng, tracks * laps) + place * [0.05, 1.0, -20.0]

    def fit(unit: Any, share: float) -> Callable[[np.random.Generator], Oracle]:
        names = [f"track {number}" for number in np.repeat(np.arange(tracks), laps * SECTORS)]

        def learn(rng: np.random.Generator) -> Oracle:
            good = _table(on_tracks(rng, tracks, laps), tracks=names)
            oracle = fit_oracle(good, _table(_laps(rng, 15, 1.0)), directions=WAYS, alarms=share, unit=unit)
            assert oracle.false_alarms.units == {"track": 4, "lap": 40}[unit]
            return oracle

        return learn

    def new(rng: np.random.Generator) -> Values:
        return on_tracks(rng, 40, 1)

    def whole(rng: np.random.Generator) -> Values:
        return on_tracks(rng, 20, laps).reshape(20, laps * SECTORS, 3)

    assert _close(_rates(fit("track", 0.2), whole, 300), 1 / 5)
    assert _rates(fit("track", 0.2), new, 100).mean() < 1 / 5  # one lap alarms less often than ten
    # Forty laps of four tracks say little of a fifth: not the 5% that hold for laps on the four.
    assert _rates(fit("lap", 0.05), new, 300).mean() > 0.1


def test_the_worst_of_n_laps_is_passed_once_in_n_plus_1() -> None:
    rates = _rates(
        lambda rng: fit_oracle(_table(_laps(rng, 10)[:, :, :1]), np.zeros((0, 1))),
        lambda rng: _laps(rng, 50)[:, :, :1],
        500,
    )
    assert _close(rates, 1 / 11)
    assert str(FalseAlarmBound("lap", 10, 1)) == (
        "A new good lap, by these drivers on these tracks, raises an alarm with probability at most 9.1% "
        "(1 in 11)."
    )


def test_metrics_add_up_at_most_and_laps_left_out_tell_how_much() -> None:
    left_out: list[int] = []

    def fit(rng: np.random.Generator) -> Oracle:
        left_out.append(
            fit_oracle(_table(_laps(rng, 11)), np.zeros((0, 3)), directions=WAYS).false_alarms.left_out or 0
        )
        oracle = fit_oracle(_table(_laps(rng, 10)), np.zeros((0, 3)), directions=WAYS)
        assert oracle.false_alarms.share == pytest.approx(3 / 11)
        return oracle

    rates = _rates(fit, lambda rng: _laps(rng, 50), 500)
    assert 1 / 11 < rates.mean() < 3 / 11
    both = SectorTable.of({"a": [2.0, 2.0, 1.0], "b": [0.0, 1.0, 3.0]}, drivers=["x", "y", "z"])
    assert fit_oracle(both, np.zeros((0, 2))).false_alarms.left_out == 1  # x and y share the worst of a
    # Of eleven laps, as many alarm when each is left out as an eleventh does on ten.
    assert _close(rates - np.array(left_out) / 11, 0.0)


def test_each_sector_that_is_given_up_counts_for_every_metric() -> None:
    def laps(rng: np.random.Generator, count: int) -> Values:
        return rng.normal(size=(count, 1, 1))

    def fit(rng: np.random.Generator) -> Oracle:
        # Mutants between all good laps: it always pays to give up the worst.
        good = laps(rng, 9)
        between = np.convolve(np.sort(good.ravel()), [0.5, 0.5], "valid")
        oracle = fit_oracle(_table(good), between[:, None], give_up=2)
        assert (len(oracle.given_up), oracle.false_alarms.alarms) == (2, 3)
        assert oracle.false_alarms.left_out is None
        return oracle

    assert _close(_rates(fit, lambda rng: laps(rng, 100), 400), 3 / 10)
    good, bad = _table(_laps(np.random.default_rng(0), 30)), np.zeros((0, 3))
    assert fit_oracle(good, bad, give_up=1).false_alarms.alarms == 6
    chosen = fit_oracle(good, bad, give_up=1, candidates=7)
    assert (chosen.false_alarms.alarms, chosen.thresholds) == (
        14,
        fit_oracle(good, bad, give_up=1).thresholds,
    )


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), laps=st.integers(4, 30), share=st.sampled_from([0.2, 0.25, 0.37, 0.9]))
def test_as_many_laps_of_the_fit_alarm_as_scores_are_beyond(seed: int, laps: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    good, bad = _laps(rng, laps), _laps(rng, 8, 0.5)
    if seed % 2:
        good, bad = np.round(good), np.round(bad)
    table = _table(good)
    oracle = fit_oracle(table, _table(bad), directions=WAYS, alarms=share)
    signs = np.array([1.0, 1.0, -1.0])
    low, middle, high = np.percentile((bad * signs).max(axis=1), [25, 50, 75], axis=0)
    spread = np.where(high > low, high - low, np.where(middle == 0, 1.0, np.abs(middle)))
    scores = sorted(((((good * signs).max(axis=1)) - middle) / spread).max(axis=1))
    limit = scores[math.ceil((1 - share) * (laps + 1) - 1e-9) - 1]
    assert len(oracle.accused(table)) == sum(score > limit for score in scores)
    beyond = np.flatnonzero(oracle.judge(table).any(axis=1)).tolist()
    assert oracle.given_up == tuple(beyond)
    assert oracle.conformal
    wide = fit_oracle(table, _table(bad), directions=WAYS, alarms=1 / (laps + 1))
    tight = fit_oracle(table, _table(bad), directions=WAYS)
    assert all((wide.thresholds[name] - tight.thresholds[name]) * sign >= 0
               for name, sign in zip(tight.metrics, signs, strict=True))  # fmt: skip


def test_a_metric_in_which_mutants_do_not_differ_has_a_scale_all_the_same() -> None:
    good = {"a": [0.0, 1.0, 2.0], "b": [5.0, 5.0, 5.0]}
    laps = SectorTable.of(good, drivers=["x", "y", "z"])
    oracle = fit_oracle(laps, {"a": [0.0, 0.0], "b": [4.0, 4.0]}, alarms=0.5)
    assert dict(oracle.thresholds) == {"a": 1.0, "b": 8.0}


def test_too_few_laps_are_refused_with_how_many_it_takes() -> None:
    rng = np.random.default_rng(0)
    mutants = _table(_laps(rng, 5))
    with pytest.raises(
        InputError, match=r"at most 5% of new good laps take 19 laps .* got 18: .* allow 5\.3% or"
    ):
        fit_oracle(_table(_laps(rng, 18)), mutants, alarms=0.05)
    assert fit_oracle(_table(_laps(rng, 19)), mutants, alarms=0.05).false_alarms == FalseAlarmBound(
        "lap", 19, 1
    )
    one = _table(_laps(rng, 1))
    with pytest.raises(InputError, match="take 19 laps to learn from, got 1"):
        fit_oracle(one, mutants, alarms=0.05)
    assert fit_oracle(one, mutants).false_alarms == FalseAlarmBound("lap", 1, 3)
    two = SectorTable.of({"a": [1.0, 2.0]}, drivers=["x", "y"])
    with pytest.raises(InputError, match="take 9 drivers to learn from, got 2"):
        fit_oracle(two, {"a": [1.0]}, alarms=0.1, unit="driver")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alarms": 0.0}, "between 0 and 1, both excluded, got 0"),
        ({"alarms": 1.0}, "between 0 and 1, both excluded, got 1"),
        ({"alarms": math.nan}, "between 0 and 1, both excluded, got nan"),
        ({"alarms": 0.5, "mutants": {"a": []}}, "at least one mutant"),
        ({"alarms": 0.5, "nominal": {"a": []}}, "at least one nominal sector"),
        ({"alarms": 0.5, "nominal": {"a": [1.0, math.nan]}}, "leave out the metric"),
        ({"alarms": 0.5, "mutants": {"a": [math.nan]}}, "leave out the metric"),
        ({"alarms": 0.5, "give_up": 1}, "got both"),
        ({"unit": "track"}, "nobody recorded which track driver drove: choose the unit lap or driver"),
        ({"unit": "weather"}, "the unit is lap, track or driver, got 'weather'"),
    ],
)
def test_what_nothing_can_be_said_of_is_refused(arguments: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"nominal": {"a": [1.0, 2.0]}, "mutants": {"a": [3.0]}, **arguments}
    with pytest.raises(InputError, match=message):
        fit_oracle(asked.pop("nominal"), asked.pop("mutants"), **asked)


def test_what_is_not_known_raises_no_alarm_and_is_not_within() -> None:
    oracle = fit_oracle({"a": [1.0, 2.0]}, {"a": [3.0]})
    with pytest.raises(InputError, match="is nan: leave out the metric or the sectors"):
        oracle.judge({"a": [math.nan]})


def test_a_lap_that_is_cut_off_lifts_thresholds_and_counts_for_nothing() -> None:
    good = SectorTable.of({"a": [1.0, 2.0, 9.0]}, drivers=["x", "y", "y"], laps=["x", "y", ""])
    oracle = fit_oracle(good, {"a": [3.0]})
    assert oracle.thresholds["a"] == 9.0
    assert oracle.false_alarms == FalseAlarmBound("lap", 2, 1, 0)
    assert fit_oracle(good, {"a": [3.0]}, alarms=0.34).thresholds["a"] == 2.0
    assert fit_oracle(good, {"a": [0.0]}, alarms=0.34).accused(good) == ()


def test_the_sentence_says_whom_it_is_about_and_never_promises_more() -> None:
    assert str(FalseAlarmBound("track", 5, 1)) == (
        "A good lap on a new track, one like these 5 tracks, raises an alarm with probability at most 16.7% "
        "(1 in 6)."
    )
    assert "A good lap by a new driver, one like these 39 drivers," in str(FalseAlarmBound("driver", 39, 2))
    assert "at most 5.0% (1 in 20)." in str(FalseAlarmBound("driver", 39, 2))
    assert "at most 5.9% (1 in 17)" in str(FalseAlarmBound("lap", 16, 1))  # 5.88%, rounded up
    assert str(FalseAlarmBound("lap", 1, 3)) == (
        "Nothing bounds how often a new good lap raises an alarm: 1 lap is too few. 59 laps would bound it "
        "by 5%."
    )
    assert FalseAlarmBound("lap", 59, 3).share == FalseAlarmBound("lap", 19, 1).share
    assert FalseAlarmBound("lap", 19, 1).in_laps(1) == FalseAlarmBound("lap", 19, 1).in_laps(20) == ""
    assert (
        FalseAlarmBound("lap", 19, 1).in_laps(3).endswith("in these 3 laps with probability at most 15.0%.")
    )


def test_a_bound_is_read_as_it_was_written() -> None:
    for bound in (FalseAlarmBound("lap", 10, 3, 2), FalseAlarmBound("driver", 4, 1)):
        data = json.loads(json.dumps(bound.as_dict()))
        assert (FalseAlarmBound.read(data), data["words"]) == (bound, str(bound))
    bound_of = {"unit": "lap", "units": 3, "alarms": 1}
    wrong: list[Any] = [7, [], {}, {**bound_of, "units": 1.5}, {**bound_of, "unit": []}]
    for broken in [*wrong, {**bound_of, "alarms": -1}]:
        with pytest.raises(InputError, match="false alarms"):
            FalseAlarmBound.read(broken)


def test_one_oracle_in_twenty_alarms_more_often_than_the_documentation_says() -> None:
    rates = _rates(
        lambda rng: fit_oracle(
            _table(_laps(rng, 19)), _table(_laps(rng, 15, 1.0)), directions=WAYS, alarms=0.05
        ),
        lambda rng: _laps(rng, 500),
        300,
    )
    assert _close((rates > 1 - 0.05 ** (1 / 19)).astype(float), 0.05)
