"""The tables of a run, in the shape of Tables 7 to 12 of the RMT paper, from its stored rows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from roadworthy.cases import Scalar, Status
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, NotApplicable, without_remedy
from roadworthy.result_tables import ResultTable
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.generation import RulePlan

Row: TypeAlias = Mapping[str, Scalar]
Pair: TypeAlias = tuple[str, str]
"""A rule and a model."""

# The threshold in Table 8 at which "the same" means δ: its column of 10% is Table 7's result.
_ONE_DELTA = 0.1


@dataclass
class Tally:
    """What became of the frames of one rule and one model.

    Attributes:
        counts: The number of frames per status.
        reasons: Why frames do not qualify, or why there is no verdict, with their number.
        thresholds: For each threshold, violations and frames that were judged.
        relations: For each relation of the rule, how many frames violate it.
    """

    counts: Counter[Status] = field(default_factory=Counter)
    reasons: Counter[tuple[Status, str]] = field(default_factory=Counter)
    thresholds: dict[float, tuple[int, int]] = field(default_factory=dict)
    relations: Counter[int] = field(default_factory=Counter)

    @property
    def violations(self) -> int:
        """How many frames violate the rule."""
        return self.counts[Status.VIOLATED]

    @property
    def judged(self) -> int:
        """How many frames the rule was judged on."""
        return self.counts[Status.VIOLATED] + self.counts[Status.PASSED]

    @property
    def brief(self) -> Counter[tuple[Status, str]]:
        """The reasons without how pictures that look drawn are made, by which the same may differ."""
        found: Counter[tuple[Status, str]] = Counter()
        for (status, reason), count in self.reasons.items():
            found[status, without_remedy(reason)] += count
        return found

    @property
    def cell(self) -> str:
        """Violations and their ratio, as the paper writes them.

        Example:
            >>> Tally(Counter({Status.VIOLATED: 294, Status.PASSED: 238})).cell
            '294 (55.26%)'
        """
        return with_ratio(self.violations, self.judged)


def with_ratio(count: int, total: int) -> str:
    """Return a number with its share of a total."""
    return f"{count} ({count / total:.2%})" if total else "none qualifies"


def at_threshold(expectation: Expectation, threshold: float) -> Expectation | None:
    """Return an expectation at one of the thresholds of Table 8, None for one that names a quantity itself.

    To slow down, or to speed up or to turn, a threshold of n% means by at least n%; 0 means at all. To stay
    the same, it means a multiple of δ: 10% is δ, 20% is twice δ, and 0 is exactly the same.

    Example:
        >>> at_threshold(Expectation("speed", "decrease"), 0.2).formula
        '(x1 - x2)/x1 >= 20%'
        >>> at_threshold(Expectation("steering", "same"), 0.2).formula
        '|x1 - x2| <= 2.78 degrees'
    """
    if expectation.quantity is not None or expectation.negated:
        return None
    if expectation.change in ("increase", "decrease"):
        if threshold == 0:
            return expectation
        quantity = Quantity(threshold, relative=True)
        return dataclasses.replace(expectation, modifier="at least", quantity=quantity)
    delta = expectation.tolerance
    assert delta is not None
    return expectation.with_tolerance(dataclasses.replace(delta, value=delta.value * threshold / _ONE_DELTA))


def is_composed(plan: RulePlan) -> bool:
    """Return whether a rule is one of the paper's complicated ones: several blocks, or several changes."""
    return len(plan.rule.blocks) > 1 or len(plan.rule.blocks[0].changes) > 1


def read_tally(plan: RulePlan, rows: Iterable[Row], thresholds: Sequence[float] = ()) -> Tally:
    """Count the rows of one rule and one model, at thresholds too if the rule leaves them open.

    Nothing is predicted again: rows hold the predictions.
    """
    tally = Tally()
    expectation = plan.expectations[0]
    open_ = () if len(plan.expectations) > 1 or plan.timing is not None else thresholds
    wanted = {one: found for one in open_ if (found := at_threshold(expectation, one)) is not None}
    tally.thresholds.update(dict.fromkeys(wanted, (0, 0)))
    for row in rows:
        status = Status(str(row["status"]))
        tally.counts[status] += 1
        if status not in (Status.PASSED, Status.VIOLATED):
            tally.reasons[status, str(row["reason"])] += 1
            continue
        for number, relation in enumerate(plan.expectations, 1):
            tally.relations[number] += not relation.holds(*_answers(row, number))
        for threshold, relation in wanted.items():
            violations, judged = tally.thresholds[threshold]
            try:
                violations += not relation.holds(*_answers(row, 1))
            except NotApplicable:  # a share of nothing
                continue
            tally.thresholds[threshold] = violations, judged + 1
    return tally


def _answers(row: Row, number: int) -> tuple[float, float]:
    before, after = (row[f"measure.{name}.{number}"] for name in ("before", "after"))
    assert isinstance(before, int | float)
    assert isinstance(after, int | float)
    return float(before), float(after)


def violation_table(
    title: str, rules: Sequence[str], models: Sequence[str], tallies: Mapping[Pair, Tally]
) -> ResultTable:
    """Return Table 7 (or 9): violations and their ratio, a row per rule and a column per model.

    A cell is empty where the model does not predict what the rule speaks of.
    """
    rows = []
    for rule in rules:
        mine = [tallies[rule, model] for model in models if (rule, model) in tallies]
        frames = [sum(count for status, count in one.counts.items() if status.is_judged) for one in mine]
        total = max((sum(one.counts.values()) for one in mine), default=0)
        qualify = f"{max(frames)} of {total}" if mine else ""
        rows.append((rule, qualify, *(_cell(tallies, rule, model) for model in models)))
    errors = sum(one.counts[Status.ERROR] for one in tallies.values())
    note = "Violations, and their share of the frames that were judged."
    if errors == 1:
        note += " 1 answer could not be used; it is no violation, but counts as a failure."
    elif errors:
        note += f" {errors} answers could not be used; they are no violations, but count as failures."
    return ResultTable(title, ("rule", "frames", *models), tuple(rows), note)


def _cell(tallies: Mapping[Pair, Tally], rule: str, model: str) -> str:
    found = tallies.get((rule, model))
    return "" if found is None else found.cell


def threshold_table(
    rules: Sequence[str], models: Sequence[str], tallies: Mapping[Pair, Tally], thresholds: Sequence[float]
) -> ResultTable | None:
    """Return Table 8: the ratio of violations at several thresholds; None if no rule leaves them open."""
    rows = []
    left_out = []
    for rule in rules:
        mine = [(model, tallies[rule, model]) for model in models if (rule, model) in tallies]
        if not any(tally.thresholds for _, tally in mine):
            left_out += [rule] if mine else []
            continue
        for place, (model, tally) in enumerate(mine):
            cells = (_ratio(*tally.thresholds[one]) for one in thresholds)
            rows.append((rule if place == 0 else "", model, *cells))
    if not rows:
        return None
    note = (
        "A threshold of n% asks for a change by at least n%. Where something must stay the same, 10% is δ, "
        "other thresholds are multiples of it, and 0 is exactly the same."
    )
    if left_out:
        why = "they say how much themselves, have several blocks or a time"
        note += f" Left out, because {why}: {', '.join(left_out)}."
    headings = (f"{one:.4g}" if one == 0 else f"{one * 100:.4g}%" for one in thresholds)
    return ResultTable("Violations at several thresholds", ("rule", "model", *headings), tuple(rows), note)


def _ratio(violations: int, judged: int) -> str:
    if not judged:
        return "none"
    return f"{violations / judged:.2%}" if violations else "0"


@dataclass(frozen=True)
class Spent:
    """What a rule took, in seconds: making its images, and asking and judging one model, on average."""

    generating: float
    evaluating: float


def cost_table(
    plans: Mapping[str, RulePlan], spent: Mapping[str, Spent], reading: float, preparing: float
) -> ResultTable:
    """Return Table 12: seconds for generating and for evaluating; rules with the same images share a row."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for rule, plan in plans.items():
        if rule in spent:
            groups.setdefault(plan.scenarios, []).append(rule)
    rows = []
    for rules in groups.values():
        generating = max(spent[rule].generating for rule in rules)
        evaluating = sum(spent[rule].evaluating for rule in rules) / len(rules)
        seconds = (generating, evaluating, generating + evaluating)
        rows.append((" & ".join(rules), *(f"{one:.2f}" for one in seconds)))
    return ResultTable(
        "Seconds",
        ("rule", "generating images", "evaluating", "total"),
        tuple(rows),
        "Evaluating is asking one model and judging its answers, on average over the models. Seconds of "
        f"several processes are added up. Reading or drawing the original frames took {reading:.2f} s more, "
        f"once for all rules; hashing, and cutting things out of the data, {preparing:.2f} s before that.",
    )


def reasons_table(
    rules: Sequence[str], models: Sequence[str], tallies: Mapping[Pair, Tally]
) -> ResultTable | None:
    """Return how many frames do not qualify or have no verdict, and why; None if all have one.

    What is the same for all models is said once, and below the table how what looks drawn is made.
    """
    rows: list[tuple[str, ...]] = []
    for rule in rules:
        mine = {model: tallies[rule, model].brief for model in models if (rule, model) in tallies}
        for status, reason in dict.fromkeys(key for reasons in mine.values() for key in reasons):
            counts = {model: reasons[status, reason] for model, reasons in mine.items()}
            if len(set(counts.values())) == 1:
                counts = {"all": next(iter(counts.values()))}
            for model, count in counts.items():
                if count:
                    rows.append((rule, model, str(count), str(status), reason))
    if not rows:
        return None
    doubted = any(DO_IT_ANYWAY in reason for tally in tallies.values() for _, reason in tally.reasons)
    columns, note = ("rule", "model", "frames", "", "reason"), HOW_ANYWAY if doubted else ""
    return ResultTable("Frames without a verdict", columns, tuple(rows), note)


def model_table(
    rule: str, models: Sequence[str], makers: Sequence[str], tallies: Mapping[Pair, Tally]
) -> ResultTable:
    """Return Table 10: one rule whose change several engines make; a row per model, a column per engine."""
    rows = tuple((model, *(_cell(tallies, maker, model) for maker in makers)) for model in models)
    return ResultTable(
        f"{rule}: the change made in several ways",
        ("model", *makers),
        rows,
        "Violations, and their share of the frames that were judged.",
    )


def composition_table(
    rule: str, models: Sequence[str], firsts: Mapping[str, str], tallies: Mapping[Pair, Tally]
) -> ResultTable:
    """Return Table 11: a change of others alone, and with the rule's change made in addition.

    Args:
        rule: What the rule is called.
        models: The models, a row each.
        firsts: What was changed first, by the names under which the tallies know rule and first change.
        tallies: What became of the frames.
    """
    columns: list[str] = ["model"]
    for first in firsts.values():
        columns += [first, f"{first}, then {rule}"]
    rows = []
    for model in models:
        cells = [model]
        for name in firsts:
            found = tallies.get((name, model))
            cells += ["", ""] if found is None else [with_ratio(found.relations[1], found.judged), found.cell]
        rows.append(tuple(cells))
    return ResultTable(
        f"{rule} on top of changes that others make",
        tuple(columns),
        tuple(rows),
        "Both columns are on the same frames. Alone, the first change must do what the rule asks for. Then "
        "the rule's own change must do it again, compared with the first change alone; both must hold.",
    )
