"""Oracles learned from recorded drives: which metrics they look at, and which drives they learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import MetricSettings
from roadworthy.driving.oracles import Direction, Oracle, fit_oracle, to_smtlib
from roadworthy.driving.oracles.sweeping import OracleTable, sweep_oracles
from roadworthy.driving.requirements import Collection, collect, directions_of
from roadworthy.driving.sectors import SectorTable, Unit, variance_scores
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable


@dataclass(frozen=True)
class OracleProblem:
    """What an oracle is learned from: drives of a good driver and of its mutants, and metrics of them.

    Attributes:
        collections: Metrics of the good driver and of its mutants; then those of another model and of its
            mutants, where oracles are tried on one.
        ranking: The metrics that oracles look at, the best first.
        directions: Whether each gets worse upwards or downwards.
        alarms: With which probability a new good lap may raise an alarm, where thresholds are conformal.
        unit: What is new: a lap, the track of a lap, or its driver.
        candidates: How many metrics the ranking was chosen from by looking at good drives.
    """

    collections: tuple[Collection, ...]
    ranking: tuple[str, ...]
    directions: Mapping[str, Direction]
    alarms: float | None = None
    unit: Unit = "lap"
    candidates: int | None = None

    @classmethod
    def of(
        cls,
        nominal: Iterable[Drive],
        mutants: Iterable[Drive],
        *,
        test_nominal: Iterable[Drive] = (),
        test_mutants: Iterable[Drive] = (),
        metrics: Sequence[str] | None = None,
        up: Sequence[str] = (),
        down: Sequence[str] = (),
        size: int | None = None,
        keep_partial: bool = False,
        settings: MetricSettings | None = None,
        alarms: float | None = None,
        unit: Unit = "lap",
    ) -> OracleProblem:
        """Collect the metrics of drives, and choose those to look at.

        Args:
            nominal: Drives of the model that drives well.
            mutants: Drives of its mutants.
            test_nominal: Drives of another model, to try oracles on.
            test_mutants: Drives of that model's mutants.
            metrics: Which, in this order; those of Table II, ranked by their variance scores, if left out.
            up: Metrics where more is worse, unlike usual.
            down: Metrics where less is worse, unlike usual.
            size: Look at the first so many; at all if left out.
            keep_partial: Keep the sectors in the middle of which drives end.
            settings: Targets, conditions and so on; those that come with the package if left out.
            alarms: With which probability a new good lap may raise an alarm: thresholds are conformal, and
                metrics are ranked by the mutants alone, as the good drives must not choose them.
            unit: What is new: a lap, the track of a lap, or its driver.

        Raises:
            InputError: No drive or no metric is left, or a direction is of none of the metrics.
        """
        pairs = [(nominal, True), (mutants, False)]
        tried = (list(test_nominal), list(test_mutants))
        if any(tried):
            pairs += [(tried[0], True), (tried[1], False)]
        collections = tuple(
            collect(
                drives, metrics, settings=settings, keep_fatal=good, keep_partial=keep_partial, several=good
            )
            for drives, good in pairs
        )
        tables = [one.table for one in collections]
        shared = [name for name in tables[0].metrics if all(name in one.metrics for one in tables)]
        if not shared:
            raise InputError("no metric is known in every sector of all drives: name some with --metric")
        ways = directions_of(shared, up, down)
        ranking = shared
        if not metrics:
            learned = tables[:2] if alarms is None else tables[1:2]
            values = np.concatenate([one.select(shared).values for one in learned])
            ranking = list(variance_scores(SectorTable.of(values, metrics=shared)).ranking)
        chosen = tuple(ranking[:size])
        ways = {name: ways[name] for name in chosen}
        return cls(collections, chosen, ways, alarms, unit, None if metrics else len(shared))

    @cached_property
    def tables(self) -> tuple[SectorTable, ...]:
        """The metrics that are looked at, of each collection."""
        return tuple(one.table.select(self.ranking) for one in self.collections)

    def smtlib(self, give_up: int = 0) -> str:
        """Return the problem of the largest oracle for other solvers, as SMT-LIB."""
        return to_smtlib(*self.tables[:2], give_up=give_up, directions=self.directions)

    def solve(self, give_up: int = 0, *, seconds: float | None = None) -> LearnedOracle:
        """Fit an oracle; where there is another model, oracles of every size, and try them on it.

        Args:
            give_up: In how many nominal sectors an alarm is allowed; with another model, up to how many.
            seconds: For each fit at most.
        """
        limits: dict[str, Any] = {"directions": self.directions, "seconds": seconds, "alarms": self.alarms}
        limits |= {"unit": self.unit, "candidates": self.candidates}
        nominal, mutants, *others = self.tables
        if not others:
            return LearnedOracle(self, fit_oracle(nominal, mutants, give_up=give_up, **limits))
        tested: dict[str, Any] = dict(zip(("test_nominal", "test_mutants"), others, strict=True))
        allowed = range(give_up + 1)
        rows = sweep_oracles(nominal, mutants, **tested, ranking=self.ranking, give_up=allowed, **limits)
        return LearnedOracle(self, rows)

    def exceptions(self) -> dict[str, Any]:
        """Return which drives and metrics are not looked at and why, and which good drives are bad."""
        return {
            "left_out": {name: why for one in self.collections for name, why in one.left_out.items()},
            "bad_nominal": {name: why for one in self.collections for name, why in one.kept_fatal.items()},
            "cut_off": [lap for one in self.collections[::2] for lap in one.cut_off],
            "not_known": sorted({name for one in self.collections for name in one.dropped}),
        }


@dataclass(frozen=True)
class LearnedOracle:
    """An oracle, or oracles of several sizes that were tried on another model, and what they come from.

    Attributes:
        problem: What it was learned from.
        solution: The oracle, or the table of oracles.
    """

    problem: OracleProblem
    solution: Oracle | OracleTable

    def document(self) -> dict[str, Any]:
        """Return everything for scripts; of a single oracle, `read_thresholds` reads it."""
        solution, exceptions = self.solution, self.problem.exceptions()
        if isinstance(solution, OracleTable):
            rows = [row.as_dict() for row in solution.rows]
            return {"ranking": list(self.problem.ranking), "rows": rows, **exceptions}
        killed, drivers = self._mutants(solution)
        return {**solution.as_dict(), "killed": killed, "mutants": drivers, **exceptions}

    def lines(self) -> list[str | ResultTable]:
        """Return what people read."""
        solution, exceptions = self.solution, self.problem.exceptions()
        lines: list[str | ResultTable]
        if isinstance(solution, OracleTable):
            lines = [f"Metrics, the best first: {', '.join(self.problem.ranking)}", str(solution)]
            bound = solution.rows[0].oracle.false_alarms
            lines.append(
                f"Expected: the probability, at most, that {bound.who} raises an alarm; {bound.counted} to "
                "learn from."
            )
            if not all(row.oracle.optimal or row.oracle.conformal for row in solution.rows):
                lines.append("* not proved optimal within --seconds")
        else:
            killed, drivers = self._mutants(solution)
            proven = " (proved optimal)" if solution.optimal else f" (at most {solution.bound} are possible)"
            lines = [
                solution.table(),
                f"Alarms in {solution.alarms} of {solution.sectors} sectors of mutants"
                f"{'' if solution.conformal else proven}; {len(killed)} of {len(drivers)} mutants killed; "
                f"{len(solution.given_up)} of {len(self.problem.tables[0])} nominal sectors "
                f"{'beyond' if solution.conformal else 'given up'}.",
                str(solution.false_alarms),
            ]
        for words, name in (("Left out", "left_out"), ("Nominal, but not driven well", "bad_nominal")):
            if drives := exceptions[name]:
                reasons = ", ".join(f"{drive} ({why})" for drive, why in drives.items())
                lines.append(f"{words}, {len(drives)}: {reasons}")
        if cut_off := exceptions["cut_off"]:
            lines.append(f"Cut off, so not counted as laps, {len(cut_off)}: {', '.join(cut_off)}")
        if unknown := exceptions["not_known"]:
            lines.append(f"Not known in every sector, so not looked at: {', '.join(unknown)}")
        return lines

    def _mutants(self, oracle: Oracle) -> tuple[tuple[str, ...], list[str]]:
        """Return the mutants that an oracle kills, and all."""
        table = self.problem.tables[1]
        return oracle.killed(table), list(dict.fromkeys(table.drivers))
