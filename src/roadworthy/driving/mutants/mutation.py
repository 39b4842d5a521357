"""What is done to a trained network to make a mutant of it, as data: the same data gives the same mutant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roadworthy.errors import InputError, suggest

__all__ = ["LAYER_OPERATORS", "OPERATORS", "RATIO_OPERATORS", "Candidate", "Mutation"]

RATIO_OPERATORS: Mapping[str, str] = {
    "GF": "Gaussian fuzzing: adds noise to some of the weights",
    "WS": "weight shuffling: shuffles what comes into some of the neurons",
    "NEB": "neuron effect blocking: nothing after some of the neurons hears of them",
    "NAI": "neuron activation inverse: some of the neurons get the opposite before their activation",
    "NS": "neuron switch: some of the neurons of a layer trade places",
}
"""What changes a share of the weights or neurons."""
LAYER_OPERATORS: Mapping[str, str] = {
    "LR": "layer removal: leaves out a layer that keeps the shape",
    "LA": "layer addition: puts a layer that keeps the shape after another",
    "LD": "layer duplication: runs a copy of a layer, with weights of its own, after it",
}
"""What changes one layer."""
OPERATORS: Mapping[str, str] = {**RATIO_OPERATORS, **LAYER_OPERATORS}
"""The eight operators of DeepMutation++, with what they do."""

ADDED = ("tanh", "softsign", "sigmoid", "softplus", "relu", "layer")
"""What LA can add: an activation, or a layer of its own weights, dense or a convolution."""


@dataclass(frozen=True)
class Mutation:
    """What is done to a trained network. With the network, it is all that is needed to make the mutant again.

    Attributes:
        operator: One of `OPERATORS`.
        ratio: Which share of the weights (GF) or neurons (WS, NEB, NAI, NS) is changed, at least one.
        layer: The layer that is changed, by its name in the module. The operators with a ratio change all
            suitable layers without it; LR, LA and LD need it.
        seed: Chooses the weights and neurons, the noise, and the weights of what LA adds.
        sigma: The standard deviation of the noise of GF, as a share of that of the layer's own weights.
        added: What LA adds, one of `ADDED`.

    Raises:
        InputError: Something is missing, or does not belong to the operator.

    Example:
        >>> Mutation("GF", ratio=0.03).name
        'GF-0.03'
        >>> Mutation.from_dict(Mutation("LA", layer="dense.1", added="tanh").to_dict()).name
        'LA-dense.1-tanh'
        >>> Mutation("LR")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: LR needs the name of a layer
    """

    operator: str
    ratio: float | None = None
    layer: str | None = None
    seed: int = 0
    sigma: float = 1.0
    added: str | None = None

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise InputError(f"there is no operator {self.operator!r}: {suggest(self.operator, OPERATORS)}")
        if self.operator in RATIO_OPERATORS:
            if self.ratio is None or not 0 < self.ratio <= 1:
                raise InputError(f"{self.operator} needs a ratio above 0 and at most 1, got {self.ratio}")
        else:
            if self.ratio is not None:
                raise InputError(f"{self.operator} takes no ratio, got {self.ratio}: it changes one layer")
            if not self.layer:
                raise InputError(f"{self.operator} needs the name of a layer")
        if not 0 < self.sigma < float("inf"):
            raise InputError(f"sigma must be above 0 and finite, got {self.sigma}")
        if (self.operator == "LA") != (self.added is not None):
            raise InputError(
                f"what is added is for LA, and LA needs it, got {self.operator} and {self.added}"
            )
        if self.added is not None and self.added not in ADDED:
            raise InputError(f"LA cannot add {self.added!r}: {suggest(self.added, ADDED)}")

    @property
    def name(self) -> str:
        """What the mutant is called, such as in files."""
        parts = [self.operator]
        parts += [] if self.layer is None else [self.layer]
        parts += [] if self.ratio is None else [f"{self.ratio:g}"]
        parts += [] if self.added is None else [self.added]
        parts += [] if self.sigma == 1 else [f"sigma{self.sigma:g}"]
        parts += [f"seed{self.seed}"] if self.seed else []
        return "-".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without what does not belong to the operator."""
        found = {key: value for key, value in dataclasses.asdict(self).items() if value is not None}
        if self.operator != "GF":
            del found["sigma"]
        return found

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Mutation:
        """Return what `to_dict` gave.

        Raises:
            InputError: It is something else.
        """
        known = {one.name for one in dataclasses.fields(cls)}
        unknown = [key for key in document if key not in known]
        if unknown or "operator" not in document:
            raise InputError(
                f"a mutation has an operator and may have {', '.join(sorted(known - {'operator'}))}, got "
                f"{', '.join(map(str, document)) or 'nothing'}"
            )
        return cls(**document)


@dataclass(frozen=True)
class Candidate:
    """A layer that an operator may change, or not.

    Attributes:
        operator: The operator.
        layer: The layer, by its name in the module.
        kind: What it is, such as "Conv2d".
        refused: Why it cannot be changed; empty where it can.
        equivalent: Why the mutant would answer as the original does; empty where that is not known.
        note: What else there is to say about how the operator would change it.
    """

    operator: str
    layer: str
    kind: str
    refused: str = ""
    equivalent: str = ""
    note: str = ""
