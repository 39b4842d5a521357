"""Thresholds against the paper's example, brute force and z3."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.driving import SectorTable, fit_oracle
from roadworthy.driving.oracles import given_up, sweep_oracles, to_smtlib
from roadworthy.errors import InputError

NOMINAL = {"m1": [0.5, 0.4], "m2": [0.3, 0.6], "m3": [0.4, 0.9]}
MUTANT = {"m1": [1.5, 0.2], "m2": [0.3, 0.6], "m3": [1.4, 0.5]}

Values = NDArray[np.float64]


def _brute_force(nominal: Values, mutants: Values, give_up: int) -> tuple[int, int]:
    """Return the most alarms, and how few nominal sectors must be given up for them."""
    best = (-1, 0)
    for size in range(give_up + 1):
        for chosen in itertools.combinations(range(len(nominal)), size):
            thresholds = np.delete(nominal, chosen, axis=0).max(axis=0)
            best = max(best, (int((mutants > thresholds).any(axis=1).sum()), -size))
    return best[0], -best[1]


def _z3_optimum(text: str, soft: int) -> int:
    """Return how many soft constraints z3 satisfies at most."""
    import z3

    optimizer = z3.Optimize()
    optimizer.from_string(text.split("(check-sat)")[0])
    assert optimizer.check() == z3.sat
    lost: Any = optimizer.model().eval(optimizer.objectives()[0], model_completion=True)
    return soft - round(float(lost.as_fraction()))


def test_table_3_without_false_alarms() -> None:
    oracle = fit_oracle(NOMINAL, MUTANT)
    assert dict(oracle.thresholds) == {"m1": 0.5, "m2": 0.6, "m3": 0.9}
    # Two true positives and four false negatives: m1 and m3 alarm in x1, nothing does in x2.
    assert oracle.judge(MUTANT).tolist() == [[True, False, True], [False, False, False]]
    assert (oracle.alarms, oracle.sectors, oracle.optimal) == (1, 2, True)


def test_table_3_with_half_of_the_sectors_given_up() -> None:
    oracle = fit_oracle(NOMINAL, MUTANT, give_up=given_up(0.5, 2))
    assert dict(oracle.thresholds) == {"m1": 0.5, "m2": 0.3, "m3": 0.4}
    assert oracle.given_up == (1,)  # x2 is the false positive
    assert (oracle.alarms, oracle.optimal) == (2, True)


def test_an_alarm_that_wins_nothing_is_not_given_up() -> None:
    oracle = fit_oracle({"a": [1.0, 5.0]}, {"a": [6.0, 0.5]}, give_up=1)
    assert oracle.given_up == ()
    assert oracle.thresholds["a"] == 5.0


sizes = st.tuples(st.integers(2, 8), st.integers(0, 14), st.integers(1, 4), st.integers(0, 3))


@settings(max_examples=300, deadline=None)
@given(shape=sizes, seed=st.integers(0, 10**6), ties=st.booleans())
def test_as_many_alarms_and_as_few_sectors_given_up_as_brute_force(
    shape: tuple[int, int, int, int], seed: int, ties: bool
) -> None:
    sectors, rows, metrics, give_up = shape
    give_up = min(give_up, sectors - 1)
    rng = np.random.default_rng(seed)
    spread = 4 if ties else 1000
    nominal = rng.integers(-spread, spread, (sectors, metrics)).astype(float)
    mutants = rng.integers(-spread, spread + 2, (rows, metrics)).astype(float)
    oracle = fit_oracle(nominal, mutants.reshape(rows, metrics), give_up=give_up)
    assert (oracle.alarms, len(oracle.given_up)) == _brute_force(nominal, mutants, give_up)
    assert oracle.optimal
    assert int(oracle.judge(mutants).any(axis=1).sum()) == oracle.alarms
    false_alarms = np.flatnonzero(oracle.judge(nominal).any(axis=1))
    assert set(false_alarms) <= set(oracle.given_up)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), give_up=st.integers(0, 2), negative=st.booleans())
def test_as_many_alarms_as_z3_finds(seed: int, give_up: int, negative: bool) -> None:
    rng = np.random.default_rng(seed)
    least = -6 if negative else 0
    nominal = rng.integers(least, 6, (5, 2)) / 4
    mutants = rng.integers(least, 8, (6, 2)) / 4
    oracle = fit_oracle(nominal, mutants, give_up=give_up)
    assert _z3_optimum(to_smtlib(nominal, mutants, give_up=give_up), len(mutants)) == oracle.alarms
    if not negative:
        text = to_smtlib(nominal, mutants, give_up=give_up, form="figure-1")
        assert _z3_optimum(text, len(mutants)) == oracle.alarms


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_verdict_changes_inside_an_interval_and_one_does_beyond_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nominal, mutants = rng.normal(size=(6, 3)), rng.normal(0.5, 1, (12, 3))
    oracle = fit_oracle(nominal, mutants, give_up=1, directions=["up", "down", "up"])
    rows = np.concatenate([nominal, mutants])
    signs = np.array([1.0, -1.0, 1.0])

    def verdicts(**changed: float) -> list[bool]:
        limits = np.array([changed.get(name, oracle.thresholds[name]) for name in oracle.metrics])
        return [bool(row.any()) for row in rows * signs > limits * signs]

    for name, sign in zip(oracle.metrics, signs, strict=True):
        low, high = oracle.intervals[name]
        tight, loose = (low, high) if sign > 0 else (high, low)
        assert tight == oracle.thresholds[name]
        inside = (low + high) / 2 if math.isfinite(low + high) else tight + sign * 100
        assert verdicts(**{name: inside}) == verdicts()
        assert verdicts(**{name: tight - sign * 1e-9}) != verdicts()
        if math.isfinite(loose):
            assert verdicts(**{name: loose}) != verdicts()


def test_a_metric_that_gets_worse_downwards_mirrors_one_that_gets_worse_upwards() -> None:
    rng = np.random.default_rng(4)
    nominal, mutants = rng.normal(size=(30, 4)), rng.normal(0.3, 1, (200, 4))
    up = fit_oracle(nominal, mutants, give_up=3)
    down = fit_oracle(-nominal, -mutants, give_up=3, directions=["down"] * 4)
    assert up.alarms == down.alarms
    assert {name: -value for name, value in down.thresholds.items()} == dict(up.thresholds)
    assert str(down).startswith("m1 ≥ ")


def test_out_of_time_the_bound_is_honest() -> None:
    rng = np.random.default_rng(2)
    nominal, mutants = rng.normal(size=(120, 12)), rng.normal(0.2, 1, (3000, 12))
    best = fit_oracle(nominal, mutants, give_up=8)
    hurried = fit_oracle(nominal, mutants, give_up=8, seconds=0.0)
    assert best.optimal
    assert hurried.alarms <= best.alarms <= hurried.bound
    assert not hurried.optimal


def test_a_mutant_is_killed_by_any_one_of_its_sectors() -> None:
    mutants = SectorTable.of({"a": [0.1, 0.9, 0.2, 0.1]}, drivers=["x", "x", "y", "y"])
    oracle = fit_oracle({"a": [0.5, 0.3]}, mutants)
    assert oracle.killed(mutants) == ("x",)


def test_the_table_over_sizes_and_sectors_given_up() -> None:
    rng = np.random.default_rng(7)
    names = ("SD(SA)", "Max(LP)", "Mean(Speed)")

    def table(rows: int, shift: float, drivers: int) -> SectorTable:
        values = rng.normal(shift, 1, (rows, 3))
        return SectorTable.of(values, metrics=names, drivers=[f"d{i % drivers}" for i in range(rows)])

    nominal, mutants, tested, others = table(28, 0, 1), table(280, 1, 10), table(28, 0, 1), table(280, 1, 10)
    swept = sweep_oracles(nominal, mutants, test_nominal=tested, test_mutants=others, ranking=names)
    assert [(row.size, row.give_up) for row in swept.rows] == list(itertools.product((1, 2, 3), range(4)))
    alarms = np.array([row.oracle.alarms for row in swept.rows]).reshape(3, 4)
    assert (np.diff(alarms, axis=0) >= 0).all()  # one metric more never loses
    assert (np.diff(alarms, axis=1) >= 0).all()  # nor does one sector more given up
    row = swept.rows[-1]
    assert row.false_alarms == int(row.oracle.judge(tested).any(axis=1).sum())
    assert str(swept).splitlines()[1].split()[:3] == ["1", "0", "(0%)"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nominal": {"a": []}}, "at least one nominal sector"),
        ({"give_up": 2}, "expected to give up 0 to 1 of 2"),
        ({"give_up": -1}, "expected to give up"),
        ({"nominal": {"b": [1.0, 2.0]}}, "the same metrics"),
        ({"nominal": {"a": [1.0, math.nan]}}, "leave out the metric"),
        ({"directions": {"z": "up"}}, "expected up or down"),
        ({"directions": ["sideways"]}, "expected up or down"),
        ({"directions": "up"}, "one per metric"),
    ],
)
def test_what_cannot_be_fitted_is_refused(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"nominal": {"a": [1.0, 2.0]}, "mutants": {"a": [3.0]}, **arguments}
    with pytest.raises(InputError, match=message):
        fit_oracle(given.pop("nominal"), given.pop("mutants"), **given)


def test_figure_1_line_by_line() -> None:
    text = to_smtlib(NOMINAL, MUTANT, give_up=1, form="figure-1")
    for line in (
        "(assert (<= (* s1 0.5) t1))",
        "(assert (<= (* s2 0.9) t3))",
        "(assert (= (+ s1 s2) 1))",
        "(assert-soft (or (> 1.5 t1) (> 0.3 t2) (> 1.4 t3)))",
        "(assert-soft (or (> 0.2 t1) (> 0.6 t2) (> 0.5 t3)))",
    ):
        assert line in text.splitlines()


def test_figure_1_is_refused_for_metrics_below_0() -> None:
    with pytest.raises(InputError, match="below 0; write the form implication"):
        to_smtlib({"Min(Acc)": [-1.0, 2.0]}, {"Min(Acc)": [0.0]}, form="figure-1")
