"""Which mutants of a training are made, and how large each fault is: as large as does not crash."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roadworthy.errors import InputError
from roadworthy.seeding import rng_for
from roadworthy.training.mutants.operators import (
    CRIMES,
    PAPER,
    SEARCHED,
    Range,
    TrainingMutation,
    search_range,
)
from roadworthy.training.mutants.training import TrainingMaterial, applicable, layers_of

_ROUNDING = 1e-9


@dataclass
class ParameterSearch:
    """A binary search that proposes several values at a time, so that their trainings can run together.

    It takes for granted that what crashes at one value crashes at every more aggressive one. Trainings do not
    always keep to that: `exceptions` tells where they did not.

    Attributes:
        values: The range of the number.
        known: Whether the mutant crashes, by value.

    Example:
        >>> search = ParameterSearch(Range(0, 96, 6))
        >>> while not search.done:
        ...     for value in search.proposals(3):
        ...         search.tell(value, crashes=value > 40)
        >>> search.best, search.crashing
        (40.0, 44.0)
    """

    values: Range
    known: dict[float, bool] = field(default_factory=dict)

    def tell(self, value: float, *, crashes: bool) -> None:
        """Note what became of the mutant with a value.

        Raises:
            InputError: The value is outside the range.
        """
        low, high = sorted((self.values.harmless, self.values.aggressive))
        if not low <= value <= high:
            raise InputError(f"{value} is outside the range from {low} to {high}")
        self.known[value] = crashes

    @property
    def best(self) -> float | None:
        """The most aggressive value that does not crash, below the first that does; None where all crash."""
        alive = [one for one in self._ordered() if not self.known[one] and not self._beyond(one)]
        return alive[-1] if alive else None

    @property
    def crashing(self) -> float | None:
        """The least aggressive value that crashes; None where none does."""
        return next((one for one in self._ordered() if self.known[one]), None)

    @property
    def exceptions(self) -> tuple[float, ...]:
        """Values that do not crash although a less aggressive one does."""
        return tuple(one for one in self._ordered() if not self.known[one] and self._beyond(one))

    @property
    def done(self) -> bool:
        """Whether nothing is left to be told apart."""
        return not self.proposals(1)

    def proposals(self, count: int = 3) -> list[float]:
        """Return the next values to try: the interval in which the border lies, divided evenly.

        Args:
            count: How many at most; one is the usual binary search.

        Raises:
            InputError: Fewer than one are asked for.
        """
        if count < 1:
            raise InputError(f"at least one value must be asked for, got {count}")
        start = self.values.harmless if self.best is None else self.best
        if self.crashing is not None:
            return self._between(start, self.crashing, count)
        if self.values.aggressive in self.known:
            return []
        # The whole range may be harmless: its end belongs to the first values.
        return [*self._between(start, self.values.aggressive, count - 1), self.values.aggressive]

    def run(self, crash: Callable[[Sequence[float]], Sequence[bool]], count: int = 3) -> float | None:
        """Search to the end.

        Args:
            crash: Says of several values at once whether their mutants crash.
            count: How many values are tried at a time.

        Returns:
            The most aggressive value that does not crash; None where all do.

        Example:
            >>> ParameterSearch(Range(30, 1, 1, whole=True)).run(lambda epochs: [one < 7 for one in epochs])
            7.0
        """
        while values := self.proposals(count):
            for value, crashed in zip(values, crash(values), strict=True):
                self.tell(value, crashes=crashed)
        return self.best

    def _between(self, start: float, end: float, count: int) -> list[float]:
        """Return values that divide an interval evenly; none where it is not wider than a step."""
        width = abs(end - start)
        count = min(count, math.ceil(width / self.values.step * (1 - _ROUNDING)) - 1)
        found = [start + (end - start) * number / (count + 1) for number in range(1, count + 1)]
        return sorted({float(round(one)) for one in found}) if self.values.whole else found

    def _ordered(self) -> list[float]:
        """Return the values that were tried, from harmless to aggressive."""
        return sorted(self.known, key=lambda one: abs(one - self.values.harmless))

    def _beyond(self, value: float) -> bool:
        first = self.crashing
        if first is None:
            return False
        return abs(value - self.values.harmless) > abs(first - self.values.harmless)

    @classmethod
    def from_fates(cls, values: Range, fates: Mapping[float, str]) -> ParameterSearch:
        """Return a search that knows what became of some mutants; those without a fate are left out."""
        found = cls(values)
        for value, fate in fates.items():
            if fate:
                found.tell(value, crashes=fate == "crashing")
        return found


# How many words of each fault are tried: 12, which make the paper's 26 with two numbers of each searched one.
_WORDS = {"HBS": 1, "ACH": 2, "AAL": 1, "RAW": 2, "RCD": 1, "WCI": 1, "LCH": 2, "OCH": 2}
_KEPT = 2  # numbers of each searched fault


def searches_of(
    material: TrainingMaterial, mutants: Sequence[Mapping[str, Any]]
) -> dict[str, ParameterSearch]:
    """Return the searches of all searched faults, which know what became of the mutants that were driven."""
    found = {}
    for operator in SEARCHED:
        fates = {
            float(one["mutation"]["value"]): str(one.get("fate") or "")
            for one in mutants
            if one["mutation"]["operator"] == operator
        }
        found[operator] = ParameterSearch.from_fates(search_range(operator, material.settings), fates)
    return found


def next_mutations(
    material: TrainingMaterial,
    mutants: Sequence[Mapping[str, Any]] = (),
    *,
    values: int = 3,
    seed: int = 0,
    operators: Sequence[str] = PAPER,
) -> tuple[list[TrainingMutation], dict[str, str]]:
    """Return the mutants that should be trained next.

    Words and layers of the faults without a number are drawn at random, as in papers/driving-quality.txt.
    Numbers come from the searches: train what is returned, drive it, and ask again.

    Args:
        material: What the network is trained with.
        mutants: What is known about those that were trained, as `read_mutants` returns it.
        values: How many numbers of each searched fault are tried together.
        seed: Chooses words and layers, and what is random in the faults.
        operators: Which faults.

    Returns:
        The mutants, and why some faults do not apply.
    """
    refused = {name: why for name in operators if (why := applicable(material, name))}
    trained = {str(one["name"]) for one in mutants}
    found: list[TrainingMutation] = []
    searches = searches_of(material, mutants)
    for name in operators:
        crime = CRIMES[name]
        if name in refused:
            continue
        if crime.searched:
            search = searches.get(name) or ParameterSearch(search_range(name, material.settings))
            found += [TrainingMutation(name, value=one, seed=seed) for one in search.proposals(values)]
            continue
        rng = rng_for(seed, "training mutants", name)
        layers = layers_of(material, name) if crime.layered else []
        # What is there already would be no fault.
        others = [one for one in crime.choices if (name, one) != ("HBS", str(material.settings.batch))]
        words = rng.permutation(others).tolist()[: _WORDS.get(name, 1)] if others else [None]
        for word in words:
            layer = str(rng.choice(layers)) if layers else None
            found.append(TrainingMutation(name, choice=word, layer=layer, seed=seed))
    return [one for one in found if one.name not in trained], refused


def chosen_mutants(mutants: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the mutants for a study: of searched faults the most aggressive ones that do not crash.

    Two of each are kept where there are so many. Those of the other faults are all kept, whatever became of
    them, as in papers/driving-quality.txt; so are mutants of trained networks.
    """
    kept = [one for one in mutants if one["mutation"]["operator"] not in CRIMES]
    for operator in CRIMES:
        own = [one for one in mutants if one["mutation"]["operator"] == operator]
        if operator in SEARCHED:
            alive = [one for one in own if one.get("fate") == "alive"]
            falling = operator in ("HLR", "HNE")
            own = sorted(alive, key=lambda one: float(one["mutation"]["value"]), reverse=not falling)[:_KEPT]
        kept += own
    return kept
