"""What the neurons of a network answered, for a batch of images, and what it computes that is not counted.

What counts as a neuron:

- a channel of a convolution, whose feature map is averaged to one number;
- an output of a dense layer;
- a unit of a recurrent layer, once for every step that it is unrolled over.

A layer's output is taken after the activation function that directly follows it, through batch norm, dropout
and the flattening of feature maps. A layer that sees every frame of a history by itself, or that is called
more than once, is unrolled over them like a recurrent one.

Rearranging, pooling, dropout, and adding or multiplying by constants are no layers to anyone, and not told.
All else that is computed from the input and belongs to no counted layer is, under the network's own name
for it; an operation that nobody here has heard of, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import described
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, SystemUnderTestError, check_known, suggest
from roadworthy.models.outputs import Arrays

_FILE = read_yaml(Path(__file__).with_name("operations.yaml"), "file of operations", "kinds of operations")
NAMES: Mapping[str, frozenset[str]] = {kind: frozenset(names) for kind, names in _FILE.data.items()}
"""The names of operations by what these are to coverage."""


@dataclass(frozen=True)
class Operation:
    """Something that a network computes from its input.

    Attributes:
        name: As the network calls it.
        parents: The numbers of the operations whose results it takes, as often as it takes them; constants
            are left out.
        counted: Whether it belongs to a layer that is counted.
        hidden: Whether it may contain layers that nobody can look at.
    """

    name: str
    parents: tuple[int, ...] = ()
    counted: bool = False
    hidden: bool = False

    @property
    def plain(self) -> str:
        """What it does, whatever its spelling."""
        name = self.name.lower()
        if name.startswith("__") and name.strip("_")[1:] in NAMES["affine"] | NAMES["products"]:
            return name.strip("_")[1:]  # "__radd__" and "__iadd__" add
        return name.strip("_")

    @property
    def passes_on(self) -> bool:
        """Whether it only rearranges, chooses, pools or scales what it takes."""
        name = self.plain
        if name in NAMES["rearranging"] or name.startswith("reduce") or "pool" in name or "dropout" in name:
            return True
        return name in NAMES["affine"] and len(self.parents) <= 1

    def __str__(self) -> str:
        return self.plain if self.name.startswith("_") else self.name


@dataclass(frozen=True)
class Uncounted:
    """Something that a network has several of, and that is not counted.

    Attributes:
        what: What it is, in the singular.
        count: How many there are.
        operations: What they consist of, each with how often, the most frequent first.
    """

    what: str
    count: int
    operations: tuple[tuple[str, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"what": self.what, "count": self.count, "operations": dict(self.operations)}

    def __str__(self) -> str:
        inside = ", ".join(f"{count} {name}" for name, count in self.operations)
        return f"{self.count} {self.what}{'s' * (self.count != 1)} ({inside})"


def not_counted_text(found: Iterable[Uncounted]) -> str:
    """Return what is not counted in words; empty where that is nothing."""
    told = ", ".join(map(str, found))
    return f"not counted: {told}" if told else ""


def not_counted(operations: Sequence[Operation]) -> tuple[Uncounted, ...]:
    """Return what of a network is not counted: attention blocks, other operations, and what is hidden.

    Args:
        operations: Everything that it computes, each after its parents.

    Example:
        >>> scores = Operation("matmul", (0, 0))
        >>> block = [Operation("input", counted=True), scores, Operation("softmax", (1,))]
        >>> found = not_counted([*block, Operation("matmul", (2, 0)), Operation("add", (3, 0))])
        >>> not_counted_text(found)
        'not counted: 1 attention block (2 matmul, 1 softmax), 1 operation (1 add)'
    """
    children: list[list[int]] = [[] for _ in operations]
    for place, one in enumerate(operations):
        for parent in one.parents:
            children[parent].append(place)
    blocks, inside = 0, set[int]()
    for place, one in enumerate(operations):
        if one.plain in NAMES["attention"] and not one.counted:
            blocks += 1
            inside.add(place)
        if one.plain == "softmax" and not one.counted:
            before = _products(operations, place, lambda here: operations[here].parents)
            after = _products(operations, place, children.__getitem__)
            if before and after:
                blocks += 1
                inside |= {place, *before, *after}
    left = [place for place, one in enumerate(operations) if not one.counted and place not in inside]
    hidden = [place for place in left if operations[place].hidden]
    rest = [place for place in left if not operations[place].hidden and not operations[place].passes_on]
    found = (
        ("attention block", blocks, inside),
        ("operation", len(rest), rest),
        ("part that cannot be looked into", len(hidden), hidden),
    )
    return tuple(Uncounted(what, count, _tally(operations, places)) for what, count, places in found if count)


def _products(
    operations: Sequence[Operation], start: int, following: Callable[[int], Iterable[int]]
) -> set[int]:
    """Return the nearest products of two things, in one direction, behind what only passes values on."""
    found, seen, waiting = set[int](), set[int](), list(following(start))
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if operations[place].plain in NAMES["products"] and len(operations[place].parents) > 1:
            found.add(place)
        elif operations[place].passes_on:
            waiting += following(place)
    return found


def _tally(operations: Sequence[Operation], places: Iterable[int]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(str(operations[place]) for place in sorted(places)).most_common())


Kind = Literal["input", "conv", "dense", "recurrent", "activation", "dropout"]
"""What a layer is."""


@dataclass(frozen=True)
class Counting:
    """Which outputs of a network count as neurons.

    Attributes:
        inputs: Whether the channels of the input count.
        dropout: Whether every dropout layer counts once more what it is given.
        activations: Whether an activation function counts as a layer of its own, beside the one before it.
        unrolled: Whether every unrolled step counts by itself; otherwise steps are averaged.

    Example:
        >>> COUNTINGS["distinct"]
        Counting(inputs=False, dropout=False, activations=False, unrolled=True)
    """

    inputs: bool = False
    dropout: bool = False
    activations: bool = False
    unrolled: bool = True


COUNTINGS = {
    "distinct": Counting(),
    # DeepTest's public code takes every layer that Keras lists but pooling and flattening, and the last axis
    # of each: it says unrolled steps count, but averages them.
    "deeptest": Counting(inputs=True, dropout=True, unrolled=False),
    # The same with Rambo, whose activation functions are layers in Keras, and whose input is none.
    "activations": Counting(activations=True),
}
"""Countings by name: "distinct" counts each neuron once, "deeptest" as DeepTest's public code counts Epoch;
"activations", as it counts Rambo, takes every activation function for a layer beside the one before it."""


def counting_named(counting: str | Counting) -> Counting:
    """Return a counting by its name, or the one that is given.

    Raises:
        InputError: There is none of that name.

    Example:
        >>> counting_named("deeptest").dropout
        True
    """
    if isinstance(counting, Counting):
        return counting
    check_known("there is no counting", counting, COUNTINGS)
    return COUNTINGS[counting]


@dataclass(frozen=True)
class Layer:
    """A layer whose neurons are counted.

    Attributes:
        name: What it is called in the network.
        kind: What it is.
        neurons: How many neurons it has, all unrolled steps together.
    """

    name: str
    kind: Kind
    neurons: int


@dataclass(frozen=True, eq=False)
class Activations:
    """What every neuron answered to every image of a batch.

    Attributes:
        layers: The layers, in the order in which they are computed.
        values: A number per image and neuron, layer after layer: images × neurons.
        lows: The least number that a layer gave for an image, before maps were averaged: images × layers.
        highs: The largest number likewise.
        frames: What the images are called in messages; their numbers when left out.
        not_counted: What the network computes besides and is no neuron; None where that is not known.

    Raises:
        InputError: The shapes do not belong together.
        SystemUnderTestError: A neuron answered with NaN or infinity; names layer, neuron and frame.

    Example:
        >>> layers = (Layer("conv", "conv", 2), Layer("dense", "dense", 1))
        >>> batch = Activations(layers, np.array([[0.5, 1.0, 3.0]]), np.array([[0, 3]]), np.array([[2, 3]]))
        >>> batch.of("conv").tolist()
        [[0.5, 1.0]]
    """

    layers: tuple[Layer, ...]
    values: NDArray[np.floating[Any]]
    lows: NDArray[np.floating[Any]]
    highs: NDArray[np.floating[Any]]
    frames: tuple[str, ...] = ()
    not_counted: tuple[Uncounted, ...] | None = None

    def __post_init__(self) -> None:
        count = len(self.values)
        wide, layers = (count, sum(layer.neurons for layer in self.layers)), (count, len(self.layers))
        for name, shape in {"values": wide, "lows": layers, "highs": layers}.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} must have shape {shape}, got {described(getattr(self, name))}")
        if not self.frames:
            object.__setattr__(self, "frames", tuple(f"{number}" for number in range(count)))
        elif len(self.frames) != count:
            raise InputError(f"frames must name the {count} images, got {len(self.frames)} names")
        self._check_numbers()

    def _check_numbers(self) -> None:
        if np.isfinite(self.values).all() and np.isfinite(self.highs).all() and np.isfinite(self.lows).all():
            return
        numbers = np.concatenate([self.values, self.lows, self.highs], axis=1)
        owners = [number for number, layer in enumerate(self.layers) for _ in range(layer.neurons)]
        owners += list(range(len(self.layers))) * 2
        # The first layer that is wrong is the cause; those after it inherit it.
        bad = ~np.isfinite(numbers)
        guilty = min(owners[column] for column in np.flatnonzero(bad.any(axis=0)))
        columns = [column for column, owner in enumerate(owners) if owner == guilty]
        image = int(np.flatnonzero(bad[:, columns].any(axis=1))[0])
        column = next(one for one in columns if bad[image, one])
        raise SystemUnderTestError(
            f"layer {self.layers[guilty].name!r} answered frame {self.frames[image]!r} with "
            f"{numbers[image, column]}: are its weights whole, and its inputs scaled as it wants them?"
        )

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the neurons of each layer are among the values."""
        ends = np.cumsum([0, *(layer.neurons for layer in self.layers)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    def __len__(self) -> int:
        return len(self.values)

    def of(self, name: str) -> NDArray[np.floating[Any]]:
        """Return the values of one layer: images × neurons.

        Raises:
            InputError: There is no such layer.
        """
        for layer, where in zip(self.layers, self.slices, strict=True):
            if layer.name == name:
                return self.values[:, where]
        known = [layer.name for layer in self.layers]
        raise InputError(f"there is no layer {name!r}: {suggest(name, known)}")

    def take(self, numbers: Sequence[int] | range | NDArray[np.integer[Any]]) -> Activations:
        """Return those of some images, by their numbers."""
        where = np.asarray(numbers, np.intp)
        names = tuple(self.frames[number] for number in where)
        arrays = self.values[where], self.lows[where], self.highs[where]
        return Activations(self.layers, *arrays, names, self.not_counted)


def join(batches: Iterable[Activations]) -> Activations:
    """Return several batches of the same network as one.

    Raises:
        InputError: There are none, or their layers differ.
    """
    found = list(batches)
    if not found:
        raise InputError("expected at least one batch of activations, got none")
    if any(one.layers != found[0].layers for one in found):
        raise InputError("the batches are of different networks, or counted differently: their layers differ")
    if len(found) == 1:
        return found[0]
    columns = zip(*((one.values, one.lows, one.highs) for one in found), strict=True)
    values, lows, highs = map(np.concatenate, columns)
    frames = tuple(name for one in found for name in one.frames)
    return Activations(found[0].layers, values, lows, highs, frames, found[0].not_counted)


class ActivationRecorder(Protocol):
    """Runs a network and tells what its neurons answered."""

    def run(self, images: NDArray[Any], frames: Sequence[str] = ()) -> tuple[Arrays, Activations]:
        """Return the network's outputs for a batch of images, and the activations."""
        ...


@dataclass(frozen=True, eq=False)
class Reduced:
    """What a layer gave for a batch: a number per unit, and the extremes of all numbers behind them.

    Attributes:
        name: The layer.
        kind: What it is.
        units: rows × steps × units, where rows are those of the batch that the layer saw.
        lows: The least number of each row.
        highs: The largest.
    """

    name: str
    kind: Kind
    units: NDArray[np.floating[Any]]
    lows: NDArray[np.floating[Any]]
    highs: NDArray[np.floating[Any]]


def reduced(name: str, kind: Kind, units: NDArray[Any]) -> Reduced:
    """Return what a layer without maps gave: its numbers are rows × … × units."""
    flat = units.reshape(len(units), -1)
    steps = units.reshape(len(units), -1, units.shape[-1]) if units.ndim > 1 else units[:, None, None]
    return Reduced(name, kind, steps, flat.min(axis=1), flat.max(axis=1))


def merged(found: Iterable[Reduced]) -> list[Reduced]:
    """Return layers by their names: one that was called several times is unrolled over its calls."""
    calls: dict[str, list[Reduced]] = {}
    for one in found:
        calls.setdefault(one.name, []).append(one)
    return [_unrolled(parts) if len(parts) > 1 else parts[0] for parts in calls.values()]


def _unrolled(calls: Sequence[Reduced]) -> Reduced:
    units = np.concatenate([one.units for one in calls], axis=1)
    lows, highs = np.min([one.lows for one in calls], axis=0), np.max([one.highs for one in calls], axis=0)
    return Reduced(calls[0].name, calls[0].kind, units, lows, highs)


class Assembler:
    """Puts what the layers gave together, and sees to it that every batch has the same neurons.

    Args:
        counting: Which outputs count.

    Attributes:
        not_counted: What the network computes besides; None until that is known.
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.not_counted: tuple[Uncounted, ...] | None = None
        self._layers: tuple[Layer, ...] | None = None

    def assemble(self, found: Sequence[Reduced], count: int, frames: Sequence[str]) -> Activations:
        """Return the activations for so many images.

        Raises:
            InputError: No layer was found, or a layer has other neurons than before.
        """
        if not found:
            raise InputError("expected a network with convolutions, dense or recurrent layers")
        layers, values, lows, highs = [], [], [], []
        for one in merged(found):
            rows = len(one.units)
            if count == 0 or rows % count:
                raise InputError(
                    f"layer {one.name!r} gave {rows} rows for {count} images: coverage needs equally "
                    "many for each"
                )
            units = one.units.reshape(count, -1, one.units.shape[-1])
            if not self.counting.unrolled:
                units = units.mean(axis=1, keepdims=True)
            values.append(units.reshape(count, -1))
            lows.append(one.lows.reshape(count, -1).min(axis=1))
            highs.append(one.highs.reshape(count, -1).max(axis=1))
            layers.append(Layer(one.name, one.kind, values[-1].shape[1]))
        self._check_same(tuple(layers))
        arrays = np.concatenate(values, axis=1), np.stack(lows, axis=1), np.stack(highs, axis=1)
        return Activations(tuple(layers), *arrays, tuple(frames), self.not_counted)

    def _check_same(self, layers: tuple[Layer, ...]) -> None:
        if self._layers is None:
            self._layers = layers
        for before, now in zip(self._layers, layers, strict=False):
            if before != now:
                was = f"layer {before.name!r} had {before.neurons} neurons"
                now_is = f"now {now.name!r} has {now.neurons}"
                raise InputError(f"{was}, and {now_is}: give images of one size, histories of one length")
        if len(layers) != len(self._layers):
            raise InputError(
                f"the network ran {len(self._layers)} layers before, and now {len(layers)}: use one that "
                "always runs the same"
            )


def input_layer(images: NDArray[Any], axes: str) -> Reduced:
    """Return the channels of the input as a layer."""
    numbers = np.asarray(images, np.float32)
    order = [axes.index(letter) for letter in "ntc" if letter in axes]
    maps = numbers.transpose(*order, *[axes.index(letter) for letter in "hw"])
    units = maps.mean(axis=(-2, -1), dtype=np.float64).astype(np.float32)
    flat, steps = numbers.reshape(len(numbers), -1), units.reshape(len(units), -1, units.shape[-1])
    return Reduced("input", "input", steps, flat.min(axis=1), flat.max(axis=1))
