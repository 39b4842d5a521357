"""Rules that the careful driver of the world obeys, and the faults with which a driver cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.result_tables import ResultTable
from roadworthy.rules.counterfactual import Counterfactuals
from roadworthy.rules.files import read_rules
from roadworthy.rules.language.parser import parse
from roadworthy.rules.reading import Rule
from roadworthy.seeding import rng_for
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, Scene, careful_driver
from roadworthy.world.simulation import FAULTS, Driver


@dataclass(frozen=True)
class TruthRule:
    """A rule that the careful driver obeys.

    Attributes:
        id: A short name.
        text: The rule.
        caught: The faults with which a driver cannot obey it, by their names.
    """

    id: str
    text: str
    caught: tuple[str, ...] = ()


_CAUGHT = {
    "lines-only": ("R5", "CR2"),
    "night-blind": ("R7", "CR3", "rain-night"),
    "pedestrian-blind": ("R1", "R3", "R4", "CR3"),
    "rain-hasty": ("rain", "rain-heavier", "rain-night"),
    "sign-blind": ("R2", "CR1", "stop", "yield"),
}
"""The rules that each fault shows in. It shows in no other, though some are about the same things."""


def read_truth(file: Path, caught: Mapping[str, Collection[str]]) -> tuple[TruthRule, ...]:
    """Return the rules of a file, given the rules that each fault shows in."""
    return tuple(
        TruthRule(one.id, one.text, tuple(fault for fault, ids in caught.items() if one.id in ids))
        for one in read_rules(file)
    )


TRUTH_RULES = read_truth(Path(__file__).with_name("truth.rules"), _CAUGHT)
"""The rules of the RMT paper, and more: on signs, on rain, and on what none of the faults touches."""


CAREFUL = "careful"
"""The name of the careful driver in a matrix."""
LEAST_SENSITIVITY = 0.99
"""The share of qualifying frames in which a rule must catch a fault that it depends on."""


@dataclass
class TruthRow:
    """What became of one rule.

    Attributes:
        rule: The rule.
        qualify: The number of frames in which it can be tried.
        reasons: Why other frames do not qualify, with their numbers.
        violations: The number of frames in which each driver violates it.
    """

    rule: TruthRule
    qualify: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)

    def rate(self, driver: str) -> float | None:
        """Return the share of qualifying frames in which a driver violates the rule; None without any."""
        return self.violations[driver] / self.qualify if self.qualify else None


@dataclass(frozen=True)
class TruthMatrix:
    """Rules × drivers: who violates what.

    Attributes:
        frames: The number of frames.
        rows: One for each rule.
        drivers: The names of the drivers: the careful one, and the faults.
        summaries: What is wrong with the drivers, by their names.
        unit: What the rules are tried on.
    """

    frames: int
    rows: tuple[TruthRow, ...]
    drivers: tuple[str, ...]
    summaries: Mapping[str, str] = field(
        default_factory=lambda: {n: one.summary for n, one in FAULTS.items()}
    )
    unit: str = "frames"

    def sensitivity(self, rule: str, fault: str) -> float | None:
        """Return the share of qualifying frames in which a rule catches a fault; None if none qualifies."""
        return next(row for row in self.rows if row.rule.id == rule).rate(fault)

    def caught(self, fault: str) -> tuple[int, int]:
        """Return in how many frames the rules that depend on it catch a fault, and how many qualify."""
        return _sums(self._dependent(fault), fault)

    def false_alarms(self, driver: str) -> tuple[int, int]:
        """Return in how many frames a driver violates rules that it should obey, and how many qualify."""
        return _sums((row for row in self.rows if driver not in row.rule.caught), driver)

    def _dependent(self, fault: str) -> Iterator[TruthRow]:
        return (row for row in self.rows if fault in row.rule.caught)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What is not as it must be, in words; nothing where all verdicts are true."""
        return tuple(self._shortfalls())

    def _shortfalls(self) -> Iterator[str]:
        for row in self.rows:
            if not row.qualify:
                yield f"{row.rule.id}: none of the {self.unit} qualifies, so it shows nothing; take more"
                continue
            for driver in self.drivers:
                found, rate = row.violations[driver], row.rate(driver) or 0.0
                if driver in row.rule.caught:
                    if rate < LEAST_SENSITIVITY:
                        yield (
                            f"{row.rule.id} catches {driver!r} in {found} of {row.qualify} {self.unit} "
                            f"({rate:.2%}, expected {LEAST_SENSITIVITY:.0%} or more)"
                        )
                elif found:
                    yield f"{row.rule.id} wrongly catches {driver!r} in {found} of {row.qualify} {self.unit}"
        for driver in self.drivers:
            if driver != CAREFUL and not any(self._dependent(driver)):
                yield f"no rule depends on what {driver!r} lacks"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        drivers = []
        for name in self.drivers:
            (caught, of), (wrong, others) = self.caught(name), self.false_alarms(name)
            drivers.append(
                {
                    "name": name,
                    "summary": self.summaries.get(name, "has no fault"),
                    "sensitivity": {row.rule.id: row.rate(name) for row in self._dependent(name)},
                    "caught": caught,
                    "qualify": of,
                    "false_alarms": wrong,
                    "qualify_for_others": others,
                }
            )
        return {
            "passed": not self.shortfalls,
            "shortfalls": list(self.shortfalls),
            "drivers": drivers,
            "rules": [
                {
                    "id": row.rule.id,
                    "text": row.rule.text,
                    "depends_on": list(row.rule.caught),
                    "qualify": row.qualify,
                    "violations": {name: row.violations[name] for name in self.drivers},
                    "reasons": dict(row.reasons.most_common()),
                }
                for row in self.rows
            ],
        }

    def table(self) -> ResultTable:
        """Return the share of qualifying frames in which each driver violates each rule."""
        rows = [
            (
                row.rule.id,
                str(row.qualify),
                *("–" if (rate := row.rate(name)) is None else _percent(rate) for name in self.drivers),
            )
            for row in self.rows
        ]
        sums = [self.caught(name) for name in self.drivers]
        rows.append(("sensitivity", "", *(_percent(caught / of) if of else "" for caught, of in sums)))
        wrong = [self.false_alarms(name) for name in self.drivers]
        rows.append(("false alarms", "", *(f"{false}/{of}" for false, of in wrong)))
        unit = self.unit
        title = f"Share of qualifying {unit} in which a driver violates a rule; {self.frames} {unit}"
        columns = ("rule", unit, *(name.replace("-", "-\n") for name in self.drivers))
        return ResultTable(title, columns, tuple(rows))


def _percent(share: float) -> str:
    """Return a share; only 0 and 1 look whole."""
    if share in (0, 1):
        return f"{share:.0%}" if share else "0"
    return f"{min(max(share, 0.0001), 0.9999):.2%}"


def _sums(rows: Iterable[TruthRow], driver: str) -> tuple[int, int]:
    known = list(rows)
    return sum(row.violations[driver] for row in known), sum(row.qualify for row in known)


def truth_matrix(
    frames: int = 1000,
    *,
    seed: int = 0,
    rules: Sequence[TruthRule] = TRUTH_RULES,
    drivers: Mapping[str, Driver] | None = None,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> TruthMatrix:
    """Try rules on the careful driver and on the faulty ones.

    Args:
        frames: The number of frames of the world: all five tracks, all weathers and times of day.
        seed: Of the frames and of what the rules leave open.
        rules: The rules.
        drivers: The drivers by name; the careful one and all faults when left out.
        progress: Wraps the numbers of the frames, to show how far it is.

    Raises:
        InputError: The world cannot be changed as a rule says; a rule depends on a fault that nobody has.

    Example:
        >>> matrix = truth_matrix(12, rules=[one for one in TRUTH_RULES if one.id == "R7"])
        >>> matrix.false_alarms(CAREFUL)[0], matrix.sensitivity("R7", "night-blind")
        (0, 1.0)
    """
    if frames < 1:
        raise InputError(f"a matrix needs 1 frame or more, got {frames}")
    if drivers is None:
        drivers = {CAREFUL: careful_driver, **{name: fault.driver for name, fault in FAULTS.items()}}
    for one in rules:
        if missing := [name for name in one.caught if name not in drivers]:
            raise InputError(f"{one.id} depends on {missing[0]!r}, but the drivers are {', '.join(drivers)}")
    rows = tuple(TruthRow(one) for one in rules)
    readings = [parse(one.text) for one in rules]
    data = WorldDataset(
        ",".join((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)),
        weather="all", time="all", level="all", count=frames, seed=seed,
    )  # fmt: skip
    for index in progress(range(frames)):
        made = Counterfactuals(data.scene(index), seed=int(rng_for(seed, "truth", index).integers(2**63)))
        asked = {name: cache(driver) for name, driver in drivers.items()}
        for row, rule in zip(rows, readings, strict=True):
            try:
                scenes = (made.scene, *made.of(rule))
            except NotApplicable as error:
                row.reasons[error.reason] += 1
                continue
            row.qualify += 1
            row.violations.update(name for name, driver in asked.items() if not _obeys(driver, rule, scenes))
    return TruthMatrix(frames, rows, tuple(drivers))


def _obeys(driver: Driver, rule: Rule, scenes: Sequence[Scene]) -> bool:
    """Return whether all relations of a rule hold between what a driver does in its scenes."""
    answers = [driver(scene).as_dict() for scene in scenes]
    return all(
        block.expectation.holds(before[block.expectation.output], after[block.expectation.output])
        for block, before, after in zip(rule.blocks, answers, answers[1:], strict=False)
    )
