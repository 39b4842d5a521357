"""Faults in networks, as data: those that developers make in a training, and changes of a trained one."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, check_known, check_number
from roadworthy.models.torch_module import imported_torch
from roadworthy.seeding import rng_for
from roadworthy.training import Settings

if TYPE_CHECKING:
    import torch

    from roadworthy.models.zoo import Variant
    from roadworthy.training.mutants._layers import Chain


@dataclass(frozen=True)
class Crime:
    """One of DeepCrime's operators.

    Attributes:
        name: Its three letters.
        group: What of a training it changes.
        does: What it does.
        searched: Whether it has a number that is searched, from harmless to aggressive.
        choices: The words that it can be told; empty where there are none.
        layered: Whether it changes one layer.
    """

    name: str
    group: str
    does: str
    searched: bool = False
    choices: tuple[str, ...] = ()
    layered: bool = False


_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of operators", "operators by name").data
CRIMES: Mapping[str, Crime] = {
    name: Crime(name, **{**one, "choices": tuple(one.get("choices", ()))}) for name, one in _FILE.items()
}
"""All 24 operators, with the names of DeepCrime (Humbatova et al., 2021)."""

SEARCHED = ("TCL", "TRD", "TUD", "TAN", "TCO", "HLR", "HNE")
"""The seven that papers/driving-quality.txt searches the parameter of."""
PAPER = (*SEARCHED, "HBS", "ACH", "AAL", "RAW", "RCD", "WCI", "LCH", "OCH")
"""The fifteen that apply to driving networks. The paper does not name them: these are those that DeepCrime's
own settings for the Udacity simulator search, seven by halving a range and eight by trying all words."""


@dataclass(frozen=True)
class SearchRange:
    """The numbers of a searched operator, from harmless to aggressive.

    Attributes:
        harmless: The value that changes nothing, or least.
        aggressive: The value that changes most.
        step: Two values nearer than this are not told apart.
        whole: Whether the values are whole numbers.
    """

    harmless: float
    aggressive: float
    step: float
    whole: bool = False


def search_range(operator: str, settings: Settings) -> SearchRange:
    """Return the range of an operator's number, for a training with these settings.

    The ranges are DeepCrime's: percent of the data, noise in percent of the spread, the learning rate down to
    a tenth, and the number of epochs down to one.

    Raises:
        InputError: The operator has no number to search.

    Example:
        >>> search_range("HNE", Settings(epochs=30))
        SearchRange(harmless=30, aggressive=1, step=1, whole=True)
    """
    ranges = {
        **dict.fromkeys(("TCL", "TUD", "TAN", "TCO"), SearchRange(0, 100, 5)),
        "TRD": SearchRange(0, 99, 5),
        "HLR": SearchRange(settings.learning_rate, settings.learning_rate / 10, settings.learning_rate / 10),
        "HNE": SearchRange(settings.epochs, 1, 1, whole=True),
        "RCP": SearchRange(settings.patience, 1, 1, whole=True),
    }
    if operator not in ranges:
        raise InputError(f"{operator!r} has no number to search; these have: {', '.join(ranges)}")
    return ranges[operator]


@dataclass(frozen=True)
class PlannedMutation:
    """What all mutations have; as plain data they are without what does not belong to their operator."""

    operator: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {key: value for key, value in dataclasses.asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return what `to_dict` gave.

        Raises:
            InputError: It is something else.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        if "operator" not in document or not known >= set(document):
            raise InputError(
                f"a mutation has an operator and may have {', '.join(sorted(known - {'operator'}))}, got "
                f"{', '.join(map(str, document)) or 'nothing'}"
            )
        return cls(**document)

    def _named(self, *parts: str | float | None, seed: int) -> str:
        """Return what the mutant is called, such as in files, from what belongs to its operator."""
        words = [f"{part:g}" if isinstance(part, float | int) else part for part in parts]
        return "-".join(filter(None, [self.operator, *words, f"seed{seed}" if seed else ""]))


@dataclass(frozen=True)
class TrainingMutation(PlannedMutation):
    """What is done to a training. With data, settings and network, it is all that a mutant is made from.

    Attributes:
        operator: One of `CRIMES`.
        value: The number of an operator that has one, see `search_range`.
        choice: The word of an operator that has some.
        layer: The layer that is changed, by its name in the network, where one is.
        seed: Chooses what is random in the fault; the training keeps the seed of its settings.

    Raises:
        InputError: Something is missing, or does not belong to the operator.

    Example:
        >>> TrainingMutation("ACH", choice="tanh", layer="dense.1").name
        'ACH-tanh-dense.1'
        >>> TrainingMutation("TRD")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: TRD needs a value and nothing else
    """

    value: float | None = None
    choice: str | None = None
    layer: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_known("there is no operator", self.operator, CRIMES)
        crime = CRIMES[self.operator]
        needed = {"value": crime.searched, "choice": bool(crime.choices), "layer": crime.layered}
        if any((getattr(self, key) is not None) != wanted for key, wanted in needed.items()):
            told = " and ".join(f"a {key}" for key, wanted in needed.items() if wanted) or "nothing"
            raise InputError(
                f"{self.operator} needs {told}" + (" and nothing else" if told != "nothing" else "")
            )
        if self.choice is not None:
            check_known(f"{self.operator} does not know", self.choice, crime.choices)

    @property
    def name(self) -> str:
        """What the mutant is called, such as in files."""
        return self._named(self.value, self.choice, self.layer, seed=self.seed)


_PAPER_FILE = read_yaml(Path(__file__).with_name("deepmutation.yaml"), "file of operators", "operators").data
RATIO_OPERATORS: Mapping[str, str] = _PAPER_FILE["share"]
"""What changes a share of the weights or neurons."""
LAYER_OPERATORS: Mapping[str, str] = _PAPER_FILE["layer"]
"""What changes one layer."""
OPERATORS: Mapping[str, str] = {**RATIO_OPERATORS, **LAYER_OPERATORS}
"""The eight operators of DeepMutation++, with what they do."""

ADDED = ("tanh", "softsign", "sigmoid", "softplus", "relu", "layer")
"""What LA can add: an activation, or a layer of its own weights, dense or a convolution."""


@dataclass(frozen=True)
class Mutation(PlannedMutation):
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

    ratio: float | None = None
    layer: str | None = None
    seed: int = 0
    sigma: float = 1.0
    added: str | None = None

    def __post_init__(self) -> None:
        check_known("there is no operator", self.operator, OPERATORS)
        if self.operator in RATIO_OPERATORS:
            if self.ratio is None or not 0 < self.ratio <= 1:
                raise InputError(f"{self.operator} needs a ratio above 0 and at most 1, got {self.ratio}")
        else:
            if self.ratio is not None:
                raise InputError(f"{self.operator} takes no ratio, got {self.ratio}: it changes one layer")
            if not self.layer:
                raise InputError(f"{self.operator} needs the name of a layer")
        check_number("sigma", self.sigma, above=0, below=math.inf)
        if (self.operator == "LA") != (self.added is not None):
            raise InputError(
                f"what is added is for LA, and LA needs it, got {self.operator} and {self.added}"
            )
        if self.added is not None:
            check_known("LA cannot add", self.added, ADDED)

    @property
    def name(self) -> str:
        """What the mutant is called, such as in files."""
        sigma = None if self.sigma == 1 else f"sigma{self.sigma:g}"
        return self._named(self.layer, self.ratio, self.added, sigma, seed=self.seed)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without what does not belong to the operator."""
        found = super().to_dict()
        if self.operator != "GF":
            del found["sigma"]
        return found


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

    def cells(self) -> tuple[str, ...]:
        """Return it as a row of a table: operator, layer, kind, and what there is to say."""
        same = f"same: {self.equivalent}" if self.equivalent else ""
        told = f"no: {self.refused}" if self.refused else self.note or same
        return self.operator, self.layer, self.kind, told


_PURPOSE = "make mutants of networks"
_AT_THE_END = ADDED[:-1]
_INSIDE = ADDED[:-2]  # what ReLU does to what went or goes through ReLU shows nowhere


@dataclass(frozen=True, eq=False)
class Mutant:
    """A mutant of a network.

    Attributes:
        mutation: What was done.
        module: The changed copy, in evaluation mode.
        changed: The layers that were changed: how many weights (GF) or which neurons of each.
        equivalent: Why it answers exactly as the original does; empty where that is not known.
        note: What else there is to say about it.
    """

    mutation: Mutation
    module: torch.nn.Module
    changed: Mapping[str, Any] = field(default_factory=dict)
    equivalent: str = ""
    note: str = ""

    @property
    def rebuildable(self) -> bool:
        """Whether it has the layers of the original, with other weights."""
        return self.mutation.operator in RATIO_OPERATORS


def example_of(variant: Variant) -> torch.Tensor:
    """Return a batch of black images as a network of the zoo takes them.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> tuple(example_of(architecture("dave2").variant()).shape)
        (2, 3, 66, 200)
    """
    library = imported_torch(_PURPOSE)
    taken = variant.spec.input
    assert taken.width is not None
    assert taken.height is not None
    frames, channels = taken.history + 1, taken.channels
    if taken.stacking == "channels":
        frames, channels = 1, frames * channels
    time = (frames,) if frames > 1 else ()
    return cast("torch.Tensor", library.zeros(2, *time, channels, taken.height, taken.width))


def candidates(module: torch.nn.Module, example: torch.Tensor, operator: str) -> list[Candidate]:
    """Return every layer of a network, and whether an operator can change it, or why not.

    Args:
        module: The network. Its layers must run one after the other: each gets what one other gives.
        example: A batch as it takes it.
        operator: One of `OPERATORS`.

    Raises:
        InputError: There is no such operator, or the network's layers cannot be followed.
        MissingExtraError: torch is not installed.

    Example:
        >>> from torch import nn, zeros
        >>> network = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> [one.refused for one in candidates(network, zeros(1, 2), "LR")]
        ['it turns 2 into 3, and the next needs that', '', 'it turns 3 into 1, and the next needs that']
    """
    check_known("there is no operator", operator, OPERATORS)
    return _candidates(_chain(module, example), operator)


def _candidates(chain: Chain, operator: str) -> list[Candidate]:
    from roadworthy.training.mutants import _layers

    found = []
    check = _layers.check_layer if operator in LAYER_OPERATORS else _layers.check_weights
    for layer in chain.layers:
        refused, equivalent = "", _layers.same_by_proof(operator, layer)
        note = _layers.shape_note(operator, layer)
        try:
            check(operator, layer, chain)
        except _layers.RefusedError as refusal:
            refused, equivalent, note = str(refusal), "", ""
        found.append(Candidate(operator, layer.name, layer.kind, refused, equivalent, note))
    return found


def mutate(module: torch.nn.Module, example: torch.Tensor, mutation: Mutation) -> Mutant:
    """Return a mutant of a network; the network stays as it is.

    Without a layer, the operators with a ratio choose among all layers that they can change. WS, NEB, NAI and
    NS leave out the last one then, whose neurons are the answers: to switch steering with speed is no subtle
    fault. Name it to change it.

    Args:
        module: The network.
        example: A batch as it takes it.
        mutation: What to do.

    Raises:
        InputError: The operator cannot change the layer, or none; says why.
        MissingExtraError: torch is not installed.

    Example:
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        >>> mutant = mutate(network, torch.zeros(1, 2), Mutation("NAI", ratio=0.5))
        >>> len(mutant.changed["0"])
        2
    """
    torch = imported_torch(_PURPOSE)
    from roadworthy.training.mutants._layers import Chain, change_layer, change_weights

    changed = copy.deepcopy(module).cpu().eval()
    chain = Chain(changed, example)
    known = {one.layer: one for one in _candidates(chain, mutation.operator)}
    rng = rng_for(mutation.seed, "mutant", mutation.name)
    if mutation.layer is not None:
        layer = chain.layer(mutation.layer)
        if known[layer.name].refused:
            raise InputError(f"{mutation.operator} cannot change {layer.name!r}: {known[layer.name].refused}")
        layers = [layer]
    else:
        left_out = "" if mutation.operator == "GF" else chain.last
        layers = [one for one in chain.layers if not known[one.name].refused and one.name != left_out]
        if not layers:
            reasons = "; ".join(f"{one.layer}: {one.refused}" for one in known.values() if one.refused)
            raise InputError(
                f"{mutation.operator} can change no layer: {reasons or 'there is only the last'}"
            )
    if mutation.operator in RATIO_OPERATORS:
        chosen = change_weights(mutation, layers, chain, rng)
        counted = mutation.operator == "GF"
        return Mutant(mutation, changed, {key: len(one) if counted else one for key, one in chosen.items()})
    change_layer(mutation, layers[0], changed, rng)
    with torch.no_grad():
        after = tuple(changed(example).shape)
    if after != tuple(chain.answer.shape):
        raise InputError(
            f"{mutation.name} answers with {after} instead of {tuple(chain.answer.shape)}: this is a bug, "
            "please report it"
        )
    one = known[layers[0].name]
    return Mutant(mutation, changed, {one.layer: one.kind}, one.equivalent, one.note)


def plan(
    module: torch.nn.Module,
    example: torch.Tensor,
    *,
    operators: Sequence[str] = tuple(OPERATORS),
    ratios: Sequence[float] = (0.01, 0.03, 0.05),
    layers: int = 3,
    seed: int = 0,
    sigma: float = 1.0,
) -> list[Mutation]:
    """Return mutations as papers/driving-quality.txt chooses them: 24 for all operators.

    Each operator with a ratio is used with every ratio, each of the others on so many different layers,
    drawn at random. Layers whose mutant is provably equivalent are drawn only where there are no others.

    Args:
        module: The network.
        example: A batch as it takes it.
        operators: Which operators.
        ratios: For GF, WS, NEB, NAI and NS.
        layers: How many layers for LR, LA and LD each; fewer where there are not so many.
        seed: Chooses layers, weights and neurons.
        sigma: Of GF.

    Raises:
        InputError: There is no such operator, or the network cannot be followed.
    """
    check_number("layers", layers, least=1)
    found = []
    last = ""
    for operator in operators:
        if operator in RATIO_OPERATORS:
            noise = sigma if operator == "GF" else 1.0
            found += [Mutation(operator, ratio=one, seed=seed, sigma=noise) for one in ratios]
            continue
        rng = rng_for(seed, "mutants", operator)
        able = [one for one in candidates(module, example, operator) if not one.refused]
        order = sorted(rng.permutation(len(able)).tolist(), key=lambda one: bool(able[one].equivalent))
        last = last or _chain(module, example).last
        for number in order[:layers]:
            layer = able[number].layer
            added = str(rng.choice(_AT_THE_END if layer == last else _INSIDE)) if operator == "LA" else None
            found.append(Mutation(operator, layer=layer, seed=seed, added=added))
    return found


def _chain(module: torch.nn.Module, example: torch.Tensor) -> Chain:
    """Return the layers of a copy of a network."""
    imported_torch(_PURPOSE)
    from roadworthy.training.mutants._layers import Chain

    return Chain(copy.deepcopy(module).cpu().eval(), example)
