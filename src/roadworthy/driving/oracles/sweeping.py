"""Oracles of several sizes and tolerances, tried on another model: the shape of the paper's Table IV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roadworthy.driving.oracles.false_alarms import percent
from roadworthy.driving.oracles.fitting import Direction, Oracle, fit_oracle
from roadworthy.driving.sectors import SectorTable, Unit
from roadworthy.errors import InputError


@dataclass(frozen=True)
class OracleRow:
    """One oracle and how it does on the other model.

    Attributes:
        size: How many metrics it looks at.
        give_up: In how many nominal sectors an alarm was allowed; with conformal thresholds, has one.
        oracle: The oracle.
        false_alarms: In how many nominal sectors of the other model it raises one.
        accused: The nominal laps of the other model with an alarm in at least one sector. A mutant that is
            killed says little where these are accused as well.
        killed: The mutants of the other model with an alarm in at least one sector.
    """

    size: int
    give_up: int
    oracle: Oracle
    false_alarms: int
    accused: tuple[str, ...]
    killed: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        own = ("size", "give_up", "false_alarms", "accused", "killed")
        return {**{name: getattr(self, name) for name in own}, **self.oracle.as_dict()}


@dataclass(frozen=True)
class OracleTable:
    """Oracles by size and number of sectors given up.

    Attributes:
        rows: One per oracle.
        nominal: How many nominal sectors they were fitted to.
        tested: How many nominal sectors of the other model there are.
        laps: How many nominal laps of it.
        mutants: How many mutants of the other model.
    """

    rows: tuple[OracleRow, ...]
    nominal: int
    tested: int
    laps: int
    mutants: int

    def __str__(self) -> str:
        head = "size    allowed    alarms, train  expected  false alarms  laps accused  mutants killed"
        return "\n".join([head, *(self._line(row) for row in self.rows)])

    def _line(self, row: OracleRow) -> str:
        proven = row.oracle.optimal or row.oracle.conformal
        alarms = _share(row.oracle.alarms, row.oracle.sectors) + ("" if proven else " *")
        return (
            f"{row.size:>4}  {_share(row.give_up, self.nominal):>9}  "
            f"{alarms:>15}  {percent(row.oracle.false_alarms.share):>8}  "
            f"{_share(row.false_alarms, self.tested):>12}  "
            f"{_share(len(row.accused), self.laps):>12}  {_share(len(row.killed), self.mutants):>14}"
        )


def sweep_oracles(
    nominal: SectorTable,
    mutants: SectorTable,
    *,
    test_nominal: SectorTable,
    test_mutants: SectorTable,
    ranking: Sequence[str],
    sizes: Sequence[int] | None = None,
    give_up: Sequence[int] = (0, 1, 2, 3),
    directions: Mapping[str, Direction] | None = None,
    seconds: float | None = None,
    alarms: float | None = None,
    unit: Unit = "lap",
    candidates: int | None = None,
) -> OracleTable:
    """Fit oracles to one model and its mutants, and try them on another model and its mutants.

    Args:
        nominal: The sectors of the model to fit to.
        mutants: Those of its mutants.
        test_nominal: The sectors of the other model.
        test_mutants: Those of its mutants.
        ranking: Metrics, the best first; an oracle of size n looks at the first n.
        sizes: How many metrics; every number up to all of the ranking if left out.
        give_up: How many nominal sectors may have an alarm; does not matter with conformal thresholds.
        directions: Whether each metric gets worse upwards or downwards; upwards if left out.
        seconds: For each fit at most.
        alarms: With which probability a new good lap may raise an alarm, by conformal thresholds.
        unit: What is new: a lap, the track of a lap, or its driver.
        candidates: How many metrics the ranking was chosen from by looking at the nominal sectors; it was
            made beforehand if left out.

    Raises:
        InputError: A size is larger than the ranking, a direction is of no ranked metric, or a table lacks a
            metric.
    """
    numbers = tuple(range(1, len(ranking) + 1)) if sizes is None else tuple(sizes)
    if not numbers or min(numbers) < 1 or max(numbers) > len(ranking):
        raise InputError(f"expected sizes from 1 to {len(ranking)}, the metrics ranked, got {list(numbers)}")
    unknown = [name for name in directions or {} if name not in ranking]
    if unknown:
        raise InputError(f"expected directions of metrics that are ranked, got {', '.join(unknown)}")
    rows = []
    for size in numbers:
        chosen = tuple(ranking[:size])
        ways = {name: way for name, way in (directions or {}).items() if name in chosen}
        for allowed in give_up if alarms is None else (0,):
            oracle = fit_oracle(
                nominal.select(chosen),
                mutants.select(chosen),
                give_up=allowed,
                directions=ways,
                seconds=seconds,
                alarms=alarms,
                unit=unit,
                candidates=candidates,
            )
            alarmed = oracle.judge(test_nominal).any(axis=1)
            accused, killed = oracle.accused(test_nominal), oracle.killed(test_mutants)
            given_up = allowed if alarms is None else len(oracle.given_up)
            rows.append(OracleRow(size, given_up, oracle, int(alarmed.sum()), accused, killed))
    laps, others = len(set(test_nominal.laps) - {""}), len(set(test_mutants.drivers))
    return OracleTable(tuple(rows), len(nominal), len(test_nominal), laps, others)


def _share(count: int, total: int) -> str:
    return f"{count} ({count / total:.0%})" if total else f"{count} (–)"
