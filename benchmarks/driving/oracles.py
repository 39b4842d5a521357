"""Fitting an oracle's thresholds, beside z3 and CP-SAT on the same problem, all on one thread.

z3 gets the paper's MaxSMT encoding (Figure 1) and a time limit. CP-SAT gets the encoding that facts about the
problem allow: a nominal sector is given up or not, a metric reaches a depth if all sectors above it are given
up, a mutant sector has an alarm if one metric reaches its depth. Both must find as many alarms as ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.driving.oracles import Oracle, fit_oracle, to_smtlib

Z3_SECONDS = 60
CP_SAT_SECONDS = 300
PAPER = (28, 784, 7, 3)  # nominal sectors, mutant sectors, metrics, given up
LARGE = (200, 20_000, 20, 10)
MOST_MILLISECONDS = 50
LEAST_Z3 = 100
LEAST_CP_SAT = 5

Values = NDArray[np.float64]


def problem(shape: tuple[int, int, int, int], seed: int = 0) -> tuple[Values, Values]:
    """Return metrics that are all at least 0, worse for mutants on the whole."""
    nominal, mutants, metrics, _ = shape
    rng = np.random.default_rng(seed)
    return rng.gamma(4, 1, (nominal, metrics)), rng.gamma(4, 1.05, (mutants, metrics))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def z3_alarms(nominal: Values, mutants: Values, give_up: int) -> int | None:
    """Return the most alarms by z3's MaxSMT; None when time is over."""
    import z3

    optimizer = z3.Optimize()
    optimizer.set("timeout", Z3_SECONDS * 1000)
    text = to_smtlib(nominal, mutants, give_up=give_up, form="figure-1")
    optimizer.from_string(text.split("(check-sat)")[0])
    if optimizer.check() != z3.sat:
        return None
    lost = optimizer.model().eval(optimizer.objectives()[0], model_completion=True)
    return len(mutants) - round(float(lost.as_fraction()))


def cp_sat_alarms(nominal: Values, mutants: Values, give_up: int) -> int | None:
    """Return the most alarms by CP-SAT, proven; None when time is over or it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None

    model = cp_model.CpModel()
    sectors, metrics = nominal.shape
    given = [model.new_bool_var(f"g{row}") for row in range(sectors)]
    model.add(sum(given) <= give_up)
    depths = []
    for metric in range(metrics):
        order = np.argsort(-nominal[:, metric], kind="stable")
        reached = [model.new_bool_var(f"d{metric}_{depth}") for depth in range(give_up)]
        for depth, variable in enumerate(reached):
            model.add_implication(variable, given[order[depth]])
            if depth:
                model.add_implication(variable, reached[depth - 1])
        depths.append(reached)
    always, won = 0, []
    for row in mutants:
        levels = (nominal >= row).sum(axis=0)
        if (levels == 0).any():
            always += 1
            continue
        ways = [depths[metric][level - 1] for metric, level in enumerate(levels) if level <= give_up]
        if ways:
            alarm = model.new_bool_var("")
            model.add_bool_or([*ways, alarm.Not()])
            won.append(alarm)
    model.maximize(sum(won))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = CP_SAT_SECONDS
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return always + round(float(solver.objective_value))


def compare(
    name: str,
    peer: Callable[[Values, Values, int], int | None],
    shape: tuple[int, int, int, int],
    limit: int,
    least: int,
) -> Measured:
    """Print one comparison and return it, in milliseconds."""
    nominal, mutants = problem(shape)
    runs = [timed(lambda: fit_oracle(nominal, mutants, give_up=shape[3])) for _ in range(5)]
    ours = min(seconds for seconds, _ in runs)
    oracle: Oracle = runs[0][1]
    theirs, alarms = timed(lambda: peer(nominal, mutants, shape[3]))
    assert oracle.optimal
    assert alarms is None or alarms == oracle.alarms, (alarms, oracle.alarms)
    ratio = theirs / ours
    if alarms is None:
        note = "no answer within its time" if theirs > limit * 0.9 else "not installed"
    else:
        note = "ok" if ratio >= least else "SLOW"
    print(
        f"  {shape[0]:4d} nominal, {shape[1]:6d} mutant sectors, {shape[2]:2d} metrics, {shape[3]:2d} given "
        f"up: {ours * 1000:7.1f} ms, {oracle.alarms} alarms; {name} {theirs:6.1f} s, {ratio:7.0f} times "
        f"({note}, at least {least})"
    )
    size = f"{shape[0]} nominal and {shape[1]:,} mutant sectors, {shape[2]} metrics, {shape[3]} given up"
    answered = alarms is not None or theirs > limit * 0.9
    beside = Beside(name if alarms is not None else f"{name}, no answer yet", theirs * 1000, ratio)
    return Measured(
        f"Exact thresholds, {size}",
        ours * 1000,
        "ms",
        beside if answered else None,
        Bar("times", "≥", least),
        "" if answered else f"{name} is not installed",
    )


def main() -> list[Measured]:
    print("Exact thresholds of an oracle")
    first = compare("z3", z3_alarms, PAPER, Z3_SECONDS, LEAST_Z3)
    alone = replace(first, beside=None, bar=Bar("value", "≤", MOST_MILLISECONDS))
    verdict = "ok" if alone.met else "SLOW"
    print(f"       the paper's shape takes {alone.value:.1f} ms, {verdict} (at most {MOST_MILLISECONDS})")
    small = compare("CP-SAT", cp_sat_alarms, PAPER, CP_SAT_SECONDS, 1)
    large = compare("CP-SAT", cp_sat_alarms, LARGE, CP_SAT_SECONDS, LEAST_CP_SAT)
    print()
    return [alone, first, small, large]
