"""Triggering conditions: what was changed, by how much, and how often the system failed."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import NamedTuple

from roadworthy._tables import as_float
from roadworthy.cases import Scalar, Status
from roadworthy.statistics import FEWEST_CLUSTERS, ClusterTally

Row = Mapping[str, Scalar]

VISUAL_CHANGE = "visual change"
DISTANCE = "distance (m)"
HEIGHT = "height of the object (pixels)"
MEASURED = (VISUAL_CHANGE, DISTANCE, HEIGHT)
"""Quantities that nobody sets: hardly two cases have the same."""

_STEP = re.compile(r"(?P<name>[\w-]+)\((?P<inside>[^()]*)\)(?P<tail>[^+]*)(?:\+\s*|$)")
_FAILED = ("violated", "error")
# How parameters begin that say in what surroundings a case took place, for methods that change no image.
_SCENES = ("param.simulator", "param.option.", "param.sector")


class TriedChange(NamedTuple):
    """One condition that a case tried.

    Attributes:
        condition: What it is, such as ``rain`` or ``add(element=pedestrian)``.
        quantity: What the amount is: ``amount``, ``angle``, ``visual change``; empty where there is none.
        amount: How much of it.
        failed: Whether the answer under this condition failed; None when the case was not applicable.
        margin: The margin that belongs to it.
    """

    condition: str
    quantity: str
    amount: float | None
    failed: bool | None
    margin: float | None


def changes_in(row: Row) -> Iterator[TriedChange]:
    """Yield the conditions that a case tried: one, or one for each relation of a rule.

    Example:
        >>> row = {"status": "violated", "margin": -2.0, "param.transform": "rotation(angle=15)"}
        >>> next(changes_in(row))
        TriedChange(condition='rotation', quantity='angle', amount=15.0, failed=True, margin=-2.0)
    """
    status = str(row["status"])
    failed = status in _FAILED if Status(status).is_judged else None
    margin = _margin(row.get("margin"))
    if row.get("param.change.1") is not None:
        yield from _relations(row, failed)
    elif (text := row.get("param.transform")) is not None:
        yield _changed(str(text), row.get("visual_change"), None, failed, margin)
    elif (text := row.get("param.transformation")) is not None:
        yield TriedChange(str(text), VISUAL_CHANGE, _number(row.get("visual_change")), failed, margin)
    elif (text := row.get("measure.expected")) is not None:
        low, high = _number(row.get("measure.truth.y1")), _number(row.get("measure.truth.y2"))
        amount = None if low is None or high is None else high - low
        name = f"the ground truth leads to {text}"
        yield TriedChange(name, HEIGHT if amount is not None else "", amount, failed, margin)
    else:
        yield TriedChange(_scene(row), "", None, failed, margin)


def _scene(row: Row) -> str:
    """Return where a case took place, such as a sector of a track in the rain."""
    known = [
        f"{name.removeprefix('param.').removeprefix('option.')} {row[name]}"
        for scene in _SCENES
        for name in row
        if name.startswith(scene) and row[name] is not None
    ]
    return ", ".join(known) or "as recorded"


def _relations(row: Row, failed: bool | None) -> Iterator[TriedChange]:
    """Yield the changes of a rule; of several, those whose own relation does not hold have failed."""
    number = 1
    while (text := row.get(f"param.change.{number}")) is not None:
        margin = _margin(row.get(f"measure.margin.{number}"))
        # Without a margin of its own the whole case was an error or not applicable.
        own = failed if margin is None or not failed else margin <= 0
        seen = row.get(f"measure.visual_change.{number}")
        yield _changed(str(text), seen, row.get(f"measure.distance.{number}"), own, margin)
        number += 1


def _changed(
    text: str, visual_change: Scalar, distance: Scalar, failed: bool | None, margin: float | None
) -> TriedChange:
    condition, quantity, amount = _spelled(text)
    if amount is None and (far := _number(distance)) is not None:
        quantity, amount = DISTANCE, far
    if amount is None and (seen := _number(visual_change)) is not None:
        quantity, amount = VISUAL_CHANGE, seen
    return TriedChange(condition, quantity, amount, failed, margin)


def _spelled(text: str) -> tuple[str, str, float | None]:
    """Return a transform without its amount, what the amount is, and how much."""
    steps = list(_STEP.finditer(text))
    if "".join(step[0] for step in steps) != text:
        return text, "", None
    names, numbers = [], list[tuple[str, float]]()
    for step in steps:
        kept = []
        for setting in filter(None, (one.strip() for one in step["inside"].split(","))):
            key, _, value = setting.partition("=")
            if (number := _number(as_float(value))) is None:
                kept.append(setting)
            else:
                numbers.append((key, number))
        inside = f"({', '.join(kept)})" if kept else ""
        names.append(f"{step['name']}{inside}{step['tail'].rstrip()}")
    if len(steps) > 1:
        # In any order and however often: a search joins them in more ways than a catalogue can have lines.
        return " + ".join(sorted(set(names))), "", None
    chosen = [one for one in numbers if one[0] == "amount"] or numbers
    return (names[0], *chosen[0]) if len(chosen) == 1 else (names[0], "", None)


def _margin(value: Scalar) -> float | None:
    """Return a margin, which may be infinite: nothing is near the border."""
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def _number(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


_CONFIDENCE = 0.95
FEW = 12
"""As many different amounts that somebody set are bands of their own; amounts that are measured never are."""

_STEPS = ((5, 10), (2, 5), (1, 2))
# Tenths that are put together where amounts go beyond 1.
_COARSE = ((0, 0), (1, 1), (2, 4), (5, 9))


@dataclass(frozen=True, slots=True)
class Condition:
    """One band of the catalogue.

    Attributes:
        requirement: The requirement's id.
        system: The system under test.
        condition: What was changed.
        quantity: What the amount is; empty where there is none.
        low: The least amount of the band; None where the amount is not known.
        high: The end of the band, not in it unless it is the only amount or 1.
        cases: How many cases were applicable.
        clusters: How many clusters (drives, laps, scenes or frames) the applicable cases come from.
        effective_cases: How many independent cases would say as much; None of a search.
        failures: How many of the applicable cases failed.
        rate: The share of them; None of a search, which chose the cases: then nothing is told of a rate.
        lower: The lower end of the interval of the rate over clusters.
        upper: Its upper end.
        confidence: Of that interval.
        accepted: The largest rate that the requirement accepts; None where it says none.
        standing: Where the interval lies: ``above`` or ``within`` what is accepted, or ``undecided``. As of a
            requirement, a rate of fewer than five clusters of several cases is undecided, unless none may
            fail.
        not_applicable: How many were not applicable.
        worst_margin: The smallest margin.
        worst_case: The failing case that has it; the first that failed where none has a margin.
        worst_images: Its images, by their SHA-256.
    """

    requirement: str
    system: str
    condition: str
    quantity: str
    low: float | None
    high: float | None
    cases: int
    clusters: int
    effective_cases: float | None
    failures: int
    rate: float | None
    lower: float | None
    upper: float | None
    confidence: float | None
    accepted: float | None
    standing: str
    not_applicable: int
    worst_margin: float | None
    worst_case: str
    worst_images: str

    def record(self) -> dict[str, Scalar]:
        """Return it as one row."""
        # JSON has no number for a margin without a border, such as that of an object that was missed.
        margin = self.worst_margin
        return {**asdict(self), "worst_margin": str(margin) if margin in (math.inf, -math.inf) else margin}


COLUMNS = tuple(field.name for field in fields(Condition))


@dataclass(slots=True)
class _Tally:
    cases: int = 0
    failures: int = 0
    not_applicable: int = 0
    clusters: ClusterTally = field(default_factory=ClusterTally)
    worst_margin: float | None = None
    worst_case: str = ""
    worst_images: str = ""

    def add(self, one: TriedChange, row: Mapping[str, Scalar]) -> None:
        if one.failed is None:
            self.not_applicable += 1
            return
        case, images = (str(row["case"]), str(row.get("images") or "")) if one.failed else ("", "")
        self.cases += 1
        self.failures += one.failed
        self.clusters.add(str(row.get("cluster") or row["case"]), failed=one.failed)
        self._note(one.margin, case, images)

    def merge(self, other: _Tally) -> None:
        self.cases += other.cases
        self.failures += other.failures
        self.not_applicable += other.not_applicable
        self.clusters.merge(other.clusters)
        self._note(other.worst_margin, other.worst_case, other.worst_images)

    def _note(self, margin: float | None, case: str, images: str) -> None:
        # A case that fails without a margin, an error, is shown only where nothing else is.
        worse = margin is not None and (self.worst_margin is None or margin < self.worst_margin)
        if case and (worse or not self.worst_case):
            self.worst_case, self.worst_images = case, images
        if worse:
            self.worst_margin = margin


@dataclass(slots=True)
class _Bands:
    """The tallies of one condition; they hardly grow with the number of cases."""

    exact: dict[float, _Tally] | None = field(default_factory=dict)
    bands: dict[tuple[float, float], _Tally] = field(default_factory=dict)
    unknown: _Tally = field(default_factory=_Tally)

    def add(self, one: TriedChange, row: Mapping[str, Scalar]) -> None:
        if one.amount is None:
            self.unknown.add(one, row)
            return
        self.bands.setdefault(band_of(one.amount), _Tally()).add(one, row)
        if one.quantity in MEASURED:
            self.exact = None
        if self.exact is not None:
            self.exact.setdefault(one.amount, _Tally()).add(one, row)
            if len(self.exact) > FEW:
                self.exact = None

    def found(self) -> Iterator[tuple[float | None, float | None, _Tally]]:
        if self.exact is not None:
            yield from ((amount, amount, tally) for amount, tally in sorted(self.exact.items()))
        else:
            coarse = any(max(abs(low), abs(high)) > 1 for low, high in self.bands)
            bands = _coarser(self.bands) if coarse else self.bands
            yield from ((low, high, tally) for (low, high), tally in sorted(bands.items()))
        if self.unknown.cases or self.unknown.not_applicable:
            yield None, None, self.unknown


def _condition(
    key: tuple[str, str, str, str],
    low: float | None,
    high: float | None,
    tally: _Tally,
    accepted: float | None,
    *,
    searched: bool,
) -> Condition:
    clusters, effective, standing = 0, None, "undecided"
    bounds: tuple[float | None, float | None, float | None] = None, None, None
    if tally.cases:
        found = tally.clusters.rate()
        clusters = found.clusters
        if not searched:
            effective, (lower, upper) = round(found.effective, 1), found.interval(_CONFIDENCE)
            bounds = tally.failures / tally.cases, lower, upper
            few = accepted != 0 and clusters < min(FEWEST_CLUSTERS, tally.cases)
            if accepted is not None and not few and not lower <= accepted < upper:
                standing = "above" if lower > accepted else "within"
    counted = (tally.cases, clusters, effective, tally.failures)
    worst = (tally.worst_margin, tally.worst_case, tally.worst_images)
    sure = None if searched else _CONFIDENCE
    left_out = tally.not_applicable
    return Condition(*key, low, high, *counted, *bounds, sure, accepted, standing, left_out, *worst)


def band_of(amount: float) -> tuple[float, float]:
    """Return the band that an amount is in: tenths up to 1, and steps of 1, 2, 5, 10, 20 … beyond.

    Bands do not depend on the data, so that the catalogues of two runs can be laid side by side.

    Example:
        >>> band_of(0.34), band_of(1.0), band_of(30.0), band_of(-3.0)
        ((0.3, 0.4), (0.9, 1.0), (20.0, 50.0), (-5.0, -2.0))
    """
    if amount < 0:
        low, high = band_of(-amount)
        return -high, -low
    if amount <= 1:
        # 0.3 is 0.29999… as a float; it belongs to the band that starts with it.
        tenth = min(int(amount * 10 + 1e-9), 9)
        return tenth / 10, (tenth + 1) / 10
    decade = 10.0 ** math.floor(math.log10(amount) + 1e-12)
    low, high = next(ends for ends in _STEPS if amount >= ends[0] * decade * (1 - 1e-12))
    return low * decade, high * decade


def _coarser(bands: Mapping[tuple[float, float], _Tally]) -> dict[tuple[float, float], _Tally]:
    merged: dict[tuple[float, float], _Tally] = {}
    for (low, high), tally in sorted(bands.items()):
        key = (low, high)
        if max(abs(low), abs(high)) <= 1:
            tenth = round(min(abs(low), abs(high)) * 10)
            first, last = next(pair for pair in _COARSE if pair[0] <= tenth <= pair[1])
            ends = first / 10, (last + 1) / 10
            key = ends if low >= 0 else (-ends[1], -ends[0])
        merged.setdefault(key, _Tally()).merge(tally)
    return merged


class Catalogue:
    """Counts, row by row, how often each condition led to a failure.

    Args:
        accepted: The largest failure rate that each requirement accepts, by its id.
        searched: The ids of those whose cases a search chose.

    Example:
        >>> catalogue = Catalogue({"R1": 0.0})
        >>> for angle, status in ((3, "passed"), (30, "violated")):
        ...     margin = 1.0 if status == "passed" else -4.0
        ...     catalogue.add({"requirement": "R1", "system": "dave2", "case": str(angle), "status": status,
        ...                    "margin": margin, "param.transform": f"rotation(angle={angle})"})
        >>> [(one.condition, one.low, one.rate, one.worst_case) for one in catalogue.conditions()]
        [('rotation', 3.0, 0.0, ''), ('rotation', 30.0, 1.0, '30')]
    """

    def __init__(self, accepted: Mapping[str, float] | None = None, searched: Collection[str] = ()) -> None:
        self._accepted = dict(accepted or {})
        self._searched = searched
        self._bands: dict[tuple[str, str, str, str], _Bands] = {}

    def add(self, row: Mapping[str, Scalar]) -> None:
        """Add the row of a case."""
        for one in changes_in(row):
            key = (str(row["requirement"]), str(row.get("system") or ""), one.condition, one.quantity)
            self._bands.setdefault(key, _Bands()).add(one, row)

    def conditions(self) -> list[Condition]:
        """Return the bands in the order of requirement, system, condition and amount."""
        return [
            _condition(key, low, high, tally, self._accepted.get(key[0]), searched=key[0] in self._searched)
            for key, bands in sorted(self._bands.items())
            for low, high, tally in bands.found()
        ]
