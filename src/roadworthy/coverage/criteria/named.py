"""Criteria by name, with options, as a command or a file writes them: ``multisection(sections=100)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from roadworthy._frozen import frozen
from roadworthy._options import checked_options
from roadworthy.coverage.activations import Layer
from roadworthy.coverage.criteria._cells import Cells
from roadworthy.coverage.criteria.neuron import NeuronCoverage, Scaling
from roadworthy.coverage.criteria.ranges import (
    BoundaryCoverage,
    MultisectionCoverage,
    Ranges,
    StrongActivationCoverage,
)
from roadworthy.coverage.criteria.surprise import (
    Density,
    DistanceSurpriseCoverage,
    LikelihoodSurpriseCoverage,
    Reference,
)
from roadworthy.coverage.criteria.top_k import TopKCoverage, TopKPatterns
from roadworthy.errors import InputError, suggest

__all__ = ["CRITERIA", "Needs", "CriterionChoice", "parse_criterion"]

Needs = Literal["layers", "ranges", "reference"]
"""What a criterion is made from: the layers alone, or what the network did on training data."""

_TEXT = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class _Kind:
    make: Callable[..., Cells]
    needs: Needs
    per_neuron: bool


def _neuron(layers: tuple[Layer, ...], *, threshold: float = 0.2, scaling: Scaling = "outputs") -> Cells:
    return NeuronCoverage(layers, threshold=threshold, scaling=scaling)


def _multisection(ranges: Ranges, *, sections: int = 1000) -> Cells:
    return MultisectionCoverage(ranges, sections=sections)


def _boundary(ranges: Ranges, *, margin: float = 0.0) -> Cells:
    return BoundaryCoverage(ranges, margin=margin)


def _strong(ranges: Ranges, *, margin: float = 0.0) -> Cells:
    return StrongActivationCoverage(ranges, margin=margin)


def _top_k(layers: tuple[Layer, ...], *, k: int = 3) -> Cells:
    return TopKCoverage(layers, k=k)


def _patterns(layers: tuple[Layer, ...], *, k: int = 3, buckets: int = 65_536) -> Cells:
    return TopKPatterns(layers, k=k, buckets=buckets)


def _likelihood(reference: Reference, *, density: Density = "kde", buckets: int = 1000) -> Cells:
    return LikelihoodSurpriseCoverage(reference, density=density, buckets=buckets)


def _distance(
    reference: Reference, *, groups: Literal["argmax", "none", "sign"] = "none", buckets: int = 1000
) -> Cells:
    chosen: Any = {"none": None, "sign": [0.0], "argmax": "argmax"}[groups]
    return DistanceSurpriseCoverage(reference, groups=chosen, buckets=buckets)


_KINDS: Mapping[str, _Kind] = {
    NeuronCoverage.name: _Kind(_neuron, "layers", per_neuron=True),
    MultisectionCoverage.name: _Kind(_multisection, "ranges", per_neuron=True),
    BoundaryCoverage.name: _Kind(_boundary, "ranges", per_neuron=True),
    StrongActivationCoverage.name: _Kind(_strong, "ranges", per_neuron=True),
    TopKCoverage.name: _Kind(_top_k, "layers", per_neuron=True),
    TopKPatterns.name: _Kind(_patterns, "layers", per_neuron=False),
    LikelihoodSurpriseCoverage.name: _Kind(_likelihood, "reference", per_neuron=False),
    DistanceSurpriseCoverage.name: _Kind(_distance, "reference", per_neuron=False),
}

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
    def needs(self) -> Needs:
        """What it is made from."""
        return _KINDS[self.name].needs

    @property
    def per_neuron(self) -> bool:
        """Whether its cells belong to neurons, as many to each, in their order."""
        return _KINDS[self.name].per_neuron

    def with_default(self, option: str, value: object) -> CriterionChoice:
        """Return it with an option that was not given."""
        return CriterionChoice(self.name, frozen({option: value, **self.options}))

    def make(
        self, layers: tuple[Layer, ...], *, ranges: Ranges | None = None, reference: Reference | None = None
    ) -> Cells:
        """Return the criterion for a network.

        Args:
            layers: Those of the network.
            ranges: What its neurons did on training data, for criteria that need it.
            reference: A sample of it, likewise.

        Raises:
            InputError: What it needs is missing, or an option cannot be used.
        """
        source: object = {"layers": layers, "ranges": ranges, "reference": reference}[self.needs]
        if source is None:
            raise InputError(
                f"{self.name} compares with what the network did on its training data: give that data"
            )
        return _KINDS[self.name].make(source, **self.options)


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
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InputError(f"cannot read the criterion {text!r}: expected name or name(option=value, …)")
    name = found["name"]
    if name not in _KINDS:
        raise InputError(f"there is no criterion {name!r}: {suggest(name, _KINDS)}")
    options: dict[str, object] = {}
    for part in (found["inside"] or "").split(","):
        if not part.strip():
            continue
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not key or key in options:
            raise InputError(f"cannot read {part.strip()!r} in {text!r}: expected option=value, each once")
        options[key] = value
    return CriterionChoice(name, frozen(checked_options(name, _KINDS[name].make, options)))
