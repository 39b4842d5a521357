"""The catalogue of triggering conditions: what was changed, by how much, and how often the system failed.

ISO 21448 calls a *triggering condition* a specific condition of a scenario that initiates a reaction of the
system which contributes to hazardous behaviour. A band of this catalogue in which cases failed is a
*potential* one: the run shows that the requirement was violated under it and how often. Whether what the
system did is hazardous, and how exposed the operating domain is to the condition, is for the analysis of the
safety engineer.

Rates are among the cases that were tried. Where frames were drawn from the operating domain, the interval
says what to expect there; a search goes where failures are, so its rates say what can happen, not how often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from roadworthy.cases import Scalar
from roadworthy.intervals import clopper_pearson_interval
from roadworthy.runs.evidence.changes import MEASURED, Changed, changes_in

__all__ = ["COLUMNS", "Catalogue", "Condition", "band_of"]

_CONFIDENCE = 0.95
FEW = 12
"""As many different amounts that somebody set are bands of their own; amounts that are measured never are."""

_STEPS = ((5, 10), (2, 5), (1, 2))
_COARSE = ((0, 0), (1, 1), (2, 4), (5, 9))
"""Tenths that are put together where amounts go beyond 1."""


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
        failures: How many of them failed.
        not_applicable: How many were not applicable.
        worst_margin: The smallest margin.
        worst_case: The failing case that has it; the first that failed where none has a margin.
        worst_images: Its images, by their SHA-256.
        accepted: The largest rate that the requirement accepts; None where it says none.
    """

    requirement: str
    system: str
    condition: str
    quantity: str
    low: float | None
    high: float | None
    cases: int
    failures: int
    not_applicable: int
    worst_margin: float | None
    worst_case: str
    worst_images: str
    accepted: float | None = None

    @property
    def rate(self) -> float | None:
        """The share of applicable cases that failed."""
        return self.failures / self.cases if self.cases else None

    @property
    def lower(self) -> float | None:
        """The lower end of the Clopper-Pearson interval of the rate."""
        return clopper_pearson_interval(self.failures, self.cases, _CONFIDENCE).lower if self.cases else None

    @property
    def upper(self) -> float | None:
        """The upper end of it."""
        return clopper_pearson_interval(self.failures, self.cases, _CONFIDENCE).upper if self.cases else None

    @property
    def standing(self) -> str:
        """Where the interval lies: ``above`` or ``within`` what is accepted, or ``undecided``."""
        lower, upper = self.lower, self.upper
        if lower is None or upper is None or self.accepted is None:
            return "undecided"
        if lower > self.accepted:
            return "above"
        return "within" if upper <= self.accepted else "undecided"

    def record(self) -> dict[str, Scalar]:
        """Return it as one row."""
        return {
            "requirement": self.requirement,
            "system": self.system,
            "condition": self.condition,
            "quantity": self.quantity,
            "low": self.low,
            "high": self.high,
            "cases": self.cases,
            "failures": self.failures,
            "rate": self.rate,
            "lower": self.lower,
            "upper": self.upper,
            "confidence": _CONFIDENCE,
            "accepted": self.accepted,
            "standing": self.standing,
            "not_applicable": self.not_applicable,
            # JSON has no number for a margin without a border, such as that of an object that was missed.
            "worst_margin": _written(self.worst_margin),
            "worst_case": self.worst_case,
            "worst_images": self.worst_images,
        }


def _written(number: float | None) -> Scalar:
    return str(number) if number is not None and math.isinf(number) else number


COLUMNS = tuple(Condition("", "", "", "", None, None, 0, 0, 0, None, "", "").record())


@dataclass(slots=True)
class _Tally:
    cases: int = 0
    failures: int = 0
    not_applicable: int = 0
    worst_margin: float | None = None
    worst_case: str = ""
    worst_images: str = ""

    def add(self, one: Changed, row: Mapping[str, Scalar]) -> None:
        if one.failed is None:
            self.not_applicable += 1
            return
        self.cases += 1
        self.failures += one.failed
        # A case that fails without a margin, an error, is shown only where nothing else is.
        worse = one.margin is not None and (self.worst_margin is None or one.margin < self.worst_margin)
        if one.failed and (worse or not self.worst_case):
            self.worst_case, self.worst_images = str(row["case"]), str(row.get("images") or "")
        if worse:
            self.worst_margin = one.margin

    def merge(self, other: _Tally) -> None:
        self.cases += other.cases
        self.failures += other.failures
        self.not_applicable += other.not_applicable
        margin = other.worst_margin
        worse = margin is not None and (self.worst_margin is None or margin < self.worst_margin)
        if other.worst_case and (worse or not self.worst_case):
            self.worst_case, self.worst_images = other.worst_case, other.worst_images
        if worse:
            self.worst_margin = margin


@dataclass(slots=True)
class _Bands:
    """The tallies of one condition; its size does not grow with the number of cases."""

    exact: dict[float, _Tally] | None = field(default_factory=dict)
    bands: dict[tuple[float, float], _Tally] = field(default_factory=dict)
    unknown: _Tally = field(default_factory=_Tally)

    def add(self, one: Changed, row: Mapping[str, Scalar]) -> None:
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

    Example:
        >>> catalogue = Catalogue({"R1": 0.0})
        >>> for angle, status in ((3, "passed"), (30, "violated")):
        ...     margin = 1.0 if status == "passed" else -4.0
        ...     catalogue.add({"requirement": "R1", "system": "dave2", "case": str(angle), "status": status,
        ...                    "margin": margin, "param.transform": f"rotation(angle={angle})"})
        >>> [(one.condition, one.low, one.rate, one.worst_case) for one in catalogue.conditions()]
        [('rotation', 3.0, 0.0, ''), ('rotation', 30.0, 1.0, '30')]
    """

    def __init__(self, accepted: Mapping[str, float] | None = None) -> None:
        self._accepted = dict(accepted or {})
        self._bands: dict[tuple[str, str, str, str], _Bands] = {}

    def add(self, row: Mapping[str, Scalar]) -> None:
        """Add the row of a case."""
        for one in changes_in(row):
            key = (str(row["requirement"]), str(row.get("system") or ""), one.condition, one.quantity)
            bands = self._bands.get(key)
            if bands is None:
                bands = self._bands[key] = _Bands()
            bands.add(one, row)

    def conditions(self) -> list[Condition]:
        """Return the bands in the order of requirement, system, condition and amount."""
        found = []
        for (requirement, system, condition, quantity), bands in sorted(self._bands.items()):
            for low, high, tally in bands.found():
                found.append(
                    Condition(
                        requirement,
                        system,
                        condition,
                        quantity,
                        low,
                        high,
                        tally.cases,
                        tally.failures,
                        tally.not_applicable,
                        tally.worst_margin,
                        tally.worst_case,
                        tally.worst_images,
                        self._accepted.get(requirement),
                    )
                )
        return found
