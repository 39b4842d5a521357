"""Criteria by name with options, alone or mixed: ``0.7*neuron + 0.3*top-k(k=2)``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import frozen
from roadworthy._options import checked_options, parse_call
from roadworthy._tables import as_float
from roadworthy.coverage.activations import Activations, Layer
from roadworthy.coverage.criteria import neurons, surprise
from roadworthy.errors import InputError, check_known

_WEIGHTED = re.compile(r"\s*(?:(?P<weight>[^*()\s]+)\s*\*)?(?P<criterion>.*)", re.DOTALL)


class Mixed:
    """The weighted mean of several criteria; it is a criterion itself.

    Args:
        parts: The criteria.
        weights: How much each counts; 1 each when left out. They need not add up to 1.

    Raises:
        InputError: There are no parts, or the weights do not fit them.

    Example:
        >>> from roadworthy.coverage.criteria import NeuronCoverage, TopKCoverage
        >>> layers = (Layer("dense", "dense", 4),)
        >>> mixed = Mixed([NeuronCoverage(layers), TopKCoverage(layers, k=1)], [3, 1])
        >>> values = np.array([[0.0, 1.0, 2.0, 4.0]])
        >>> mixed.update(Activations(layers, values, values[:, :1], values[:, 3:]))
        >>> [part.value for part in mixed.parts], mixed.value
        ([0.75, 0.25], 0.625)
    """

    name: ClassVar[str] = "mixed"

    def __init__(self, parts: Sequence[neurons.Cells], weights: Sequence[float] | None = None) -> None:
        given = [1.0] * len(parts) if weights is None else [float(one) for one in weights]
        if not parts or len(given) != len(parts):
            raise InputError(f"a mix needs a weight for each criterion, got {len(given)} for {len(parts)}")
        if any(not math.isfinite(one) or one <= 0 for one in given):
            raise InputError(f"the weights of a mix must be numbers above 0, got {given}")
        self.parts = tuple(parts)
        self.weights = np.array(given) / sum(given)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Those of the network."""
        return self.parts[0].layers

    @property
    def value(self) -> float:
        """The weighted mean of the values of all parts, from 0 to 1."""
        return float(self.weights @ [part.value for part in self.parts])

    @property
    def covered(self) -> int:
        """How many cells of all parts were visited."""
        return sum(part.covered for part in self.parts)

    @property
    def total(self) -> int:
        """How many cells all parts have."""
        return sum(part.total for part in self.parts)

    def __repr__(self) -> str:
        weighted = zip(self.weights, self.parts, strict=True)
        inside = " + ".join(f"{weight:.3g}*{part!r}" for weight, part in weighted)
        return f"Mixed({inside}, {self.value:.1%})"

    def update(self, batch: Activations, /) -> None:
        """Add what a batch visits."""
        for part in self.parts:
            part.update(batch)

    def gain(self, batch: Activations, /) -> float:
        """Return by how much a batch would raise the value, without adding it."""
        return float(self.weights @ [part.gain(batch) for part in self.parts])

    def gains(self, batch: Activations, /) -> NDArray[np.float64]:
        """Return by how much each image of a batch would raise the value if it alone were added."""
        return np.asarray(self.weights @ np.array([part.gains(batch) for part in self.parts]), np.float64)

    def merge(self, other: Self, /) -> None:
        """Add what another one has seen, as if this one had seen it.

        Raises:
            InputError: It mixes other criteria, or with other weights.
        """
        if not isinstance(other, Mixed) or len(other.parts) != len(self.parts):
            raise InputError("cannot merge: expected a mix of the same criteria")
        if not np.array_equal(other.weights, self.weights):
            raise InputError("cannot merge two mixes that differ in their weights")
        before = [part.seen.copy() for part in self.parts]
        try:
            for mine, theirs in zip(self.parts, other.parts, strict=True):
                mine.merge(theirs)
        except InputError:
            # All or nothing: half a merge would be neither.
            for part, seen in zip(self.parts, before, strict=True):
                part.seen = seen
            raise


Criterion = neurons.Cells | Mixed
"""What measures coverage: one criterion, or a mix of several."""


@dataclass(frozen=True)
class Mixture:
    """Criteria that were asked for, with their weights; the network they are for is not known yet."""

    choices: tuple[CriterionChoice, ...]
    weights: tuple[float, ...]

    def __str__(self) -> str:
        if len(self.choices) == 1:
            return str(self.choices[0])
        weights = (f"{float(one)!r}".removesuffix(".0") for one in self.weights)
        return " + ".join(f"{w}*{one}" for w, one in zip(weights, self.choices, strict=True))

    @property
    def needs(self) -> frozenset[neurons.Needs]:
        """What they are made from."""
        return frozenset(one.needs for one in self.choices)

    def make(self, layers: tuple[Layer, ...], training: Training | None = None) -> Criterion:
        """Return the criterion for a network, a mix where there are several.

        Raises:
            InputError: What one of them needs is missing, or an option cannot be used.
        """
        parts = [one.make(layers, training) for one in self.choices]
        return parts[0] if len(parts) == 1 else Mixed(parts, self.weights)


def parse_mixture(text: str) -> Mixture:
    """Return the criteria that a text names: one, or several with weights.

    Raises:
        InputError: A criterion or option is unknown, or the text cannot be read.

    Example:
        >>> str(parse_mixture("neuron")), str(parse_mixture("0.7*neuron + 0.3*top-k(k=2)"))
        ('neuron', '0.7*neuron + 0.3*top-k(k=2)')
    """
    choices, weights = [], []
    for part in text.split("+"):
        found = _WEIGHTED.fullmatch(part)
        assert found is not None  # everything matches; what is wrong shows below
        weight = 1.0 if found["weight"] is None else as_float(found["weight"])
        if not 0 < weight < math.inf:
            raise InputError(
                f"cannot read the weight {found['weight']!r} in {text!r}: expected a number above 0, as in "
                "0.7*neuron + 0.3*top-k"
            )
        choices.append(parse_criterion(found["criterion"]))
        weights.append(weight)
    # The weight of what stands alone says nothing.
    return Mixture(tuple(choices), tuple(weights) if len(weights) > 1 else (1.0,))


@dataclass(frozen=True, eq=False)
class Training:
    """What a network did on training data, as far as criteria need it.

    Attributes:
        ranges: Where the values of its neurons lay.
        reference: A sample of its activations.
    """

    ranges: neurons.Ranges | None = None
    reference: surprise.SurpriseReference | None = None

    def lacks(self, needs: Collection[neurons.Needs]) -> bool:
        """Whether something that criteria need has not been learned."""
        return any(need != "layers" and getattr(self, need) is None for need in needs)

    def completed(
        self, needs: Collection[neurons.Needs], batches: Callable[[], Iterable[Activations]]
    ) -> Training:
        """Return it with what criteria need; what it lacks is learned from a pass over the batches each."""
        ranges, reference = self.ranges, self.reference
        if "ranges" in needs and ranges is None:
            ranges = neurons.learn_ranges(batches())
        if "reference" in needs and reference is None:
            reference = surprise.learn_reference(batches())
        return Training(ranges, reference)


_KINDS: Mapping[str, type[neurons.Cells]] = {one.name: one for one in (*neurons.KINDS, *surprise.KINDS)}

CRITERIA: tuple[str, ...] = tuple(_KINDS)
"""The names of all criteria."""


@dataclass(frozen=True)
class CriterionChoice:
    """A criterion that was asked for; the network it is for is not known yet.

    Attributes:
        name: Which it is.
        options: Those that were given, checked.
    """

    name: str
    options: Mapping[str, object]

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({inside})" if inside else self.name

    @property
    def needs(self) -> neurons.Needs:
        """What it is made from."""
        return _KINDS[self.name].needs

    @property
    def per_neuron(self) -> bool:
        """Whether its cells belong to neurons, as many to each, in their order."""
        return _KINDS[self.name].per_neuron

    def with_default(self, option: str, value: object) -> CriterionChoice:
        """Return it with an option that was not given."""
        return CriterionChoice(self.name, frozen({option: value, **self.options}))

    def make(self, layers: tuple[Layer, ...], training: Training | None = None) -> neurons.Cells:
        """Return the criterion for a network.

        Args:
            layers: Those of the network.
            training: What it did on training data, for criteria that need it.

        Raises:
            InputError: What it needs is missing, or an option cannot be used.
        """
        source = layers if self.needs == "layers" else getattr(training, self.needs, None)
        if source is None:
            raise InputError(f"{self.name} compares with the network on training data: give that data")
        made: neurons.Cells = _KINDS[self.name](source, **self.options)  # type: ignore[arg-type]
        return made


def parse_criterion(text: str) -> CriterionChoice:
    """Return the criterion that a text names, with its options.

    Raises:
        InputError: There is no such criterion or option, or the text cannot be read.

    Example:
        >>> choice = parse_criterion("multisection(sections=100)")
        >>> choice.name, dict(choice.options), choice.needs
        ('multisection', {'sections': 100}, 'ranges')
        >>> parse_criterion("top-k").make((Layer("dense", "dense", 4),))
        TopKCoverage(0 of 4, 0.0%)
    """
    name, options = parse_call(text, "criterion")
    check_known("there is no criterion", name, _KINDS)
    return CriterionChoice(name, frozen(checked_options(name, _KINDS[name], options)))
