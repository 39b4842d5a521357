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

from roadworthy.driving import fit_oracle
from roadworthy.driving.oracles import to_smtlib
from roadworthy.driving.oracles.fitting import given_up
from roadworthy.driving.oracles.sweeping import sweep_oracles
from roadworthy.driving.sectors import SectorTable
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


@pytest.mark.parametrize(
    ("nominal", "mutants", "give_up", "fewest"),
    [
        (
            [[0, 1, 2, 2], [0, 3, 0, 3], [4, 0, 3, 0], [2, 3, 1, 3], [2, 2, 0, 0]],
            [[4, 2, 4, 5], [3, 4, 3, 1], [0, 3, 1, 0], [3, 3, 2, 3], [5, 4, 5, 0], [0, 2, 3, 4]],
            3,
            2,
        ),
        (
            [[2, 0], [4, 2], [0, 2], [2, 0], [2, 3], [3, 1]],
            [[5, 4], [3, 2], [5, 2], [2, 2], [4, 3], [4, 2]],
            4,
            3,
        ),
    ],
)
def test_fewer_sectors_are_given_up_than_a_greedy_choice_does(
    nominal: list[list[int]], mutants: list[list[int]], give_up: int, fewest: int
) -> None:
    oracle = fit_oracle(np.array(nominal), np.array(mutants), give_up=give_up)
    assert (oracle.alarms, len(oracle.given_up)) == (6, fewest)
    assert _brute_force(np.array(nominal), np.array(mutants), give_up) == (6, fewest)


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


@settings(max_examples=200, deadline=None)
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


class _Clock:
    """Goes on by a second each time that somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(0, 12))
def test_the_bound_is_honest_whenever_time_runs_out(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    nominal = rng.integers(-9, 9, (9, 4)).astype(float)
    mutants = rng.integers(-9, 9, (25, 4)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roadworthy.driving.oracles.fitting.time", _Clock())
        hurried = fit_oracle(nominal, mutants, give_up=4, seconds=float(nodes))
    best = _brute_force(nominal, mutants, 4)[0]
    assert hurried.alarms <= best <= hurried.bound
    assert int(hurried.judge(mutants).any(axis=1).sum()) == hurried.alarms
    assert int(hurried.judge(nominal).any(axis=1).sum()) <= 4
    if hurried.optimal:
        assert hurried.alarms == best


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
    assert row.killed == row.oracle.killed(others)
    assert row.oracle.metrics == names
    last = str(swept).splitlines()[-1].split()
    assert last == [
        *("3", "3", "(11%)", str(row.oracle.alarms), f"({row.oracle.alarms / 280:.0%})", "100.0%"),
        *(str(row.false_alarms), f"({row.false_alarms / 28:.0%})", "1", "(100%)"),
        *(str(len(row.killed)), f"({len(row.killed) / 10:.0%})"),
    ]
    hurried = sweep_oracles(
        nominal,
        mutants,
        test_nominal=tested,
        test_mutants=others,
        ranking=names,
        sizes=[3],
        give_up=[3],
        seconds=0,
    )
    assert " *" in str(hurried)
    with pytest.raises(InputError, match="expected sizes from 1 to 3"):
        sweep_oracles(nominal, mutants, test_nominal=tested, test_mutants=others, ranking=names, sizes=[4])
    with pytest.raises(InputError, match=r"directions of metrics that are ranked, got Min\(ACC\)"):
        sweep_oracles(
            nominal, mutants, test_nominal=tested, test_mutants=others, ranking=names,
            directions={"Min(ACC)": "down"},
        )  # fmt: skip


def test_directions_of_a_sweep_count() -> None:
    train, test = {"a": [1.0, 2.0]}, {"a": [0.5, 1.5]}
    good, bad = SectorTable.of(train), SectorTable.of(test, drivers=["x", "y"])
    swept = sweep_oracles(
        good,
        bad,
        test_nominal=good,
        test_mutants=bad,
        ranking=["a"],
        directions={"a": "down"},
        give_up=[0, 1],
    )
    assert [row.oracle.alarms for row in swept.rows] == [1, 2]
    assert [row.killed for row in swept.rows] == [("x",), ("x", "y")]
    assert [row.false_alarms for row in swept.rows] == [0, 1]
    assert [row.accused for row in swept.rows] == [(), ("driver",)]


def test_a_share_of_sectors_is_rounded_as_equation_8_does() -> None:
    for sectors in range(1, 101):
        for share in (0.0, 0.04, 0.07, 0.11, 0.1, 0.25, 0.29, 0.3, 0.5, 0.99):
            kept = sectors - given_up(share, sectors)
            assert kept == math.ceil(round((1 - share) * sectors, 9))
    with pytest.raises(InputError, match="from 0 to below 1"):
        given_up(1.0, 3)


def test_a_threshold_of_0_has_no_sign() -> None:
    oracle = fit_oracle({"a": [0.0, 1.0]}, {"a": [-1.0]}, directions=["down"])
    assert str(oracle) == "a ≥ 0"
    assert math.copysign(1, oracle.thresholds["a"]) == math.copysign(1, oracle.intervals["a"][1]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nominal": {"a": []}}, "at least one nominal sector"),
        ({"give_up": 2}, "expected to give up 0 to 1 nominal sectors, got 2"),
        ({"give_up": -1}, "expected to give up"),
        ({"nominal": {"b": [1.0, 2.0]}}, "the same metrics"),
        ({"nominal": {"a": [1.0, math.nan]}}, "leave out the metric"),
        ({"directions": {"z": "up"}}, "expected up or down"),
        ({"directions": ["sideways"]}, "expected up or down"),
        ({"directions": "up"}, "one per metric"),
        ({"directions": ["up", "up"]}, "expected 1 directions"),
        ({"give_up": True}, "expected to give up"),
        ({"give_up": 1.0}, "expected to give up"),
        ({"seconds": math.nan}, "seconds of the search must be 0 or more"),
        ({"seconds": -1.0}, "seconds of the search must be 0 or more"),
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


def test_a_metric_that_gets_worse_downwards_is_exported_with_its_sign_turned() -> None:
    nominal, mutants = {"up": [1.0, 2.0], "down": [0.5, -0.25]}, {"up": [0.0], "down": [-1.0]}
    ways = {"down": "down"}
    text = to_smtlib(nominal, mutants, directions=ways)  # type: ignore[arg-type]
    lines = text.splitlines()
    assert "(declare-const t2 Real) ; down, its sign turned" in lines
    assert "(assert (=> (= s1 1) (<= (- 0.5) t2)))" in lines
    assert "(assert-soft (or (> 0.0 t1) (> 1.0 t2)))" in lines
    oracle = fit_oracle(nominal, mutants, directions=ways)  # type: ignore[arg-type]
    assert _z3_optimum(text, 1) == oracle.alarms == 1
    with pytest.raises(InputError, match=r"down with its sign turned is -0\.5 in sector 1"):
        to_smtlib(nominal, mutants, directions=ways, form="figure-1")  # type: ignore[arg-type]


def test_an_export_refuses_what_a_fit_does() -> None:
    for change, message in (
        ({"give_up": 2}, "expected to give up 0 to 1 nominal sectors, got 2"),
        ({"form": "table"}, "the form must be one of figure-1, implication, got 'table'"),
        ({"directions": ["sideways"]}, "expected up or down"),
    ):
        with pytest.raises(InputError, match=message):
            to_smtlib({"a": [1.0, 2.0]}, {"a": [3.0]}, **change)
    with pytest.raises(InputError, match="the same metrics"):
        to_smtlib({"a": [1.0, 2.0]}, {"b": [3.0]})
    named = to_smtlib({"a": [1.0, 2.0]}, [[3.0]])  # an array has the names of the other
    assert "(assert-soft (or (> 3.0 t1)))" in named


def test_figure_1_is_refused_for_metrics_below_0() -> None:
    with pytest.raises(InputError, match="below 0; write the form implication"):
        to_smtlib({"Min(Acc)": [-1.0, 2.0]}, {"Min(Acc)": [0.0]}, form="figure-1")


def test_metrics_may_come_in_another_order_for_the_mutants() -> None:
    nominal = {"m1": [0.5, 0.4], "m2": [3.0, 6.0]}
    mutant = {"m1": [1.5, 0.2], "m2": [1.0, 2.0]}
    turned = {name: mutant[name] for name in ("m2", "m1")}
    one, other = fit_oracle(nominal, mutant), fit_oracle(nominal, turned)
    assert (one.alarms, one.thresholds, one.intervals) == (other.alarms, other.thresholds, other.intervals)
    assert one.alarms == 1
