"""What all criteria share: a fixed set of cells, each of which a test visits or not."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.errors import InputError, check_choice, check_number

Visits = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Which image of a batch visited which cell: two arrays of one length, every pair once."""


class Counted:
    """What is counted of cells, whoever holds them."""

    seen: NDArray[np.bool_]

    @property
    def value(self) -> float:
        """The share of cells that were visited, from 0 to 1."""
        return self.covered / self.total

    @property
    def covered(self) -> int:
        """How many cells were visited."""
        return int(np.count_nonzero(self.seen))

    @property
    def total(self) -> int:
        """How many cells there are."""
        return len(self.seen)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.covered} of {self.total}, {self.value:.1%})"


Needs = Literal["layers", "ranges", "reference"]
"""What a criterion is made from: the layers alone, or what the network did on training data."""


class Cells(Counted, ABC):
    """A criterion over a fixed number of cells.

    Args:
        layers: Those of the network.
        total: How many cells there are.

    Raises:
        InputError: There are no cells.
    """

    name: ClassVar[str]
    needs: ClassVar[Needs] = "layers"
    per_neuron: ClassVar[bool] = True
    """Whether its cells belong to neurons, as many to each, in their order."""
    compared: ClassVar[tuple[str, ...]] = ()
    """Attributes that must be equal for two of a kind to be merged."""

    def __init__(self, layers: tuple[Layer, ...], total: int) -> None:
        if total < 1:
            raise InputError(f"{self.name} needs layers with neurons, got none")
        self.layers = tuple(layers)
        self.seen = np.zeros(total, np.bool_)

    @abstractmethod
    def visits(self, batch: Activations, /) -> Visits:
        """Return which image of a batch visits which cells."""

    def update(self, batch: Activations, /) -> None:
        """Add what a batch visits.

        Raises:
            InputError: The batch is of another network.
        """
        self.seen[self._visits(batch)[1]] = True

    def gain(self, batch: Activations, /) -> float:
        """Return by how much a batch would raise the value, without adding it.

        Raises:
            InputError: The batch is of another network.
        """
        after = self.seen.copy()
        after[self._visits(batch)[1]] = True
        # As value computes it, so that it is value after minus value before to the last bit.
        return int(np.count_nonzero(after)) / self.total - self.value

    def gains(self, batch: Activations, /) -> NDArray[np.float64]:
        """Return by how much each image of a batch would raise the value if it alone were added.

        Raises:
            InputError: The batch is of another network.
        """
        images, cells = self._visits(batch)
        new = np.bincount(images[~self.seen[cells]], minlength=len(batch))
        return np.asarray((self.covered + new) / self.total - self.value, np.float64)

    def merge(self, other: Self, /) -> None:
        """Add what another one has seen, as if this one had seen it.

        Raises:
            InputError: The other one measures something else, or another network.
        """
        if type(other) is not type(self) or other.layers != self.layers:
            raise InputError(
                f"cannot merge {other!r} into {self!r}: expected one of the same kind, network and counting"
            )
        for name in self.compared:
            own, theirs = map(attrgetter(name), (self, other))
            if not np.array_equal(own, theirs):
                raise InputError(f"cannot merge two {type(self).__name__} that differ in {name}")
        self.seen |= other.seen

    def _visits(self, batch: Activations) -> Visits:
        if batch.layers != self.layers:
            neurons = sum(one.neurons for one in self.layers)
            got = batch.values.shape[1]
            raise InputError(
                f"{self.name} is for {neurons} neurons, got {got}: use one for each network and counting"
            )
        return self.visits(batch)


Scaling = Literal["outputs", "neurons", "none"]
"""What numbers are scaled by before they are compared with the threshold."""


class NeuronCoverage(Cells):
    """The share of neurons that some image activated (papers/deeptest.txt, Equation 1).

    A neuron is activated when its number, scaled within its layer for each image, is above the threshold.
    A layer whose numbers are all the same for an image activates none.

    Args:
        layers: Those of the network.
        threshold: Above which a neuron is activated.
        scaling: "outputs" maps the least and the largest number that the layer gave, before feature maps are
            averaged, to 0 and 1, as DeepTest's public code does; "neurons" does so with the numbers of its
            neurons, after averaging; "none" compares them as they are, as DeepXplore's definition does.

    Raises:
        InputError: The threshold is no number or none that can be passed, or the scaling is unknown.

    Example:
        >>> layers = (Layer("dense", "dense", 3),)
        >>> coverage = NeuronCoverage(layers)
        >>> values = np.array([[0.0, 1.0, 10.0]])
        >>> coverage.update(Activations(layers, values, values[:, :1], values[:, 2:]))
        >>> coverage
        NeuronCoverage(1 of 3, 33.3%)
    """

    name = "neuron"
    compared = ("threshold", "scaling")

    def __init__(
        self, layers: tuple[Layer, ...], *, threshold: float = 0.2, scaling: Scaling = "outputs"
    ) -> None:
        if not np.isfinite(threshold):
            raise InputError(f"threshold must be a number, got {threshold}")
        check_choice("scaling", scaling, get_args(Scaling))
        if scaling != "none" and threshold >= 1:
            raise InputError(f"threshold must be below 1, got {threshold}: numbers are scaled to 0 … 1")
        super().__init__(layers, sum(layer.neurons for layer in layers))
        self.threshold = threshold
        self.scaling: Scaling = scaling

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image activates which neurons."""
        if self.scaling == "none":
            return _pairs(batch.values > self.threshold)
        if self.scaling == "outputs":
            lows, highs = batch.lows, batch.highs
        else:
            # A minimum over each layer's columns.
            starts = [where.start for where in batch.slices]
            lows = np.minimum.reduceat(batch.values, starts, axis=1)
            highs = np.maximum.reduceat(batch.values, starts, axis=1)
        sizes = [layer.neurons for layer in self.layers]
        spread = np.asarray(highs - lows, np.float64)
        # A constant layer has no number above this; without division there is none by zero.
        border = np.where(spread > 0, lows + self.threshold * spread, np.inf)
        return _pairs(batch.values > np.repeat(border, sizes, axis=1))


def _pairs(activated: np.ndarray[Any, np.dtype[np.bool_]]) -> Visits:
    images, neurons = np.nonzero(activated)
    return images, neurons


@dataclass(frozen=True, eq=False)
class Ranges:
    """What every neuron did on some data.

    Attributes:
        layers: Those of the network.
        lows: The least number of each neuron.
        highs: The largest.
        stds: Their standard deviation.
        images: How many images that was.
    """

    layers: tuple[Layer, ...]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    stds: NDArray[np.float64]
    images: int


def learn_ranges(batches: Iterable[Activations]) -> Ranges:
    """Return between what numbers every neuron stayed, on data that are read once.

    Raises:
        InputError: There are no images, or the batches are of different networks.

    Example:
        >>> layers = (Layer("dense", "dense", 2),)
        >>> values = np.array([[0.0, 5.0], [2.0, 5.0]])
        >>> ranges = learn_ranges([Activations(layers, values, values[:, :1], values[:, 1:])])
        >>> ranges.lows.tolist(), ranges.highs.tolist(), ranges.stds.tolist()
        ([0.0, 5.0], [2.0, 5.0], [1.0, 0.0])
    """
    layers: tuple[Layer, ...] | None = None
    count = 0
    for batch in batches:
        if not len(batch):
            continue
        values = np.asarray(batch.values, np.float64)
        own_mean = values.mean(axis=0)
        own_squares = np.square(values - own_mean).sum(axis=0)
        if layers is None:
            layers, count, mean, squares = batch.layers, len(values), own_mean, own_squares
            lows, highs = values.min(axis=0), values.max(axis=0)
            continue
        if batch.layers != layers:
            raise InputError("the batches are of different networks, or counted differently")
        # Chan et al.: exact where the sum of squares would lose all digits.
        both = count + len(values)
        apart = own_mean - mean
        mean = mean + apart * (len(values) / both)
        squares = squares + own_squares + np.square(apart) * (count * len(values) / both)
        count = both
        np.minimum(lows, values.min(axis=0), out=lows)
        np.maximum(highs, values.max(axis=0), out=highs)
    if layers is None:
        raise InputError("expected activations of training data to learn ranges from, got no image")
    return Ranges(layers, lows, highs, np.sqrt(squares / count), count)


class _Ranged(Cells):
    """A criterion with so many cells for each neuron."""

    needs = "ranges"
    compared: ClassVar[tuple[str, ...]] = ("ranges.lows", "ranges.highs")

    def __init__(self, ranges: Ranges, cells: int) -> None:
        super().__init__(ranges.layers, cells * len(ranges.lows))
        self.ranges = ranges


class MultisectionCoverage(_Ranged):
    """The share of sections that were visited, where the range of each neuron is cut into equal ones.

    Numbers outside the range visit none; a neuron that never changed on the training data has no sections to
    visit, and its cells stay open.

    Args:
        ranges: What the neurons did on the training data.
        sections: How many there are for each neuron.

    Raises:
        InputError: There is less than one section.

    Example:
        >>> layers = (Layer("dense", "dense", 1),)
        >>> ranges = Ranges(layers, np.array([0.0]), np.array([10.0]), np.array([1.0]), 2)
        >>> coverage = MultisectionCoverage(ranges, sections=5)
        >>> values = np.array([[1.0], [1.5], [10.0], [11.0]])
        >>> coverage.update(Activations(layers, values, values, values))
        >>> coverage.seen.tolist()
        [True, False, False, False, True]
    """

    name = "multisection"
    compared = (*_Ranged.compared, "sections")

    def __init__(self, ranges: Ranges, *, sections: int = 1000) -> None:
        check_number("sections", sections, least=1)
        super().__init__(ranges, sections)
        self.sections = sections

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image visits which sections."""
        lows, highs = self.ranges.lows, self.ranges.highs
        images, neurons = np.nonzero((batch.values >= lows) & (batch.values <= highs) & (highs > lows))
        low = lows[neurons]
        share = (batch.values[images, neurons] - low) / (highs[neurons] - low)
        # The upper end belongs to the last section.
        section = np.minimum((share * self.sections).astype(np.intp), self.sections - 1)
        return images, neurons * self.sections + section


class _Beyond(_Ranged):
    """A criterion of what neurons do beyond their ranges."""

    compared = (*_Ranged.compared, "margin")
    cells_per_neuron: ClassVar[int] = 1

    def __init__(self, ranges: Ranges, *, margin: float = 0.0) -> None:
        check_number("margin", margin, least=0)
        super().__init__(ranges, self.cells_per_neuron)
        self.margin = margin


class BoundaryCoverage(_Beyond):
    """The share of corners that were visited: below and above what a neuron did on the training data.

    Args:
        ranges: What the neurons did on the training data.
        margin: Standard deviations by which a number must lie outside.

    Raises:
        InputError: The margin is below 0.

    Example:
        >>> layers = (Layer("dense", "dense", 1),)
        >>> ranges = Ranges(layers, np.array([0.0]), np.array([10.0]), np.array([1.0]), 2)
        >>> coverage = BoundaryCoverage(ranges)
        >>> values = np.array([[10.5]])
        >>> coverage.update(Activations(layers, values, values, values))
        >>> coverage.value
        0.5
    """

    name = "boundary"
    cells_per_neuron = 2

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image visits which corners."""
        values, beyond = batch.values, self.margin * self.ranges.stds
        sides = values < self.ranges.lows - beyond, values > self.ranges.highs + beyond
        outside = np.stack(sides, axis=2)
        return _pairs(outside.reshape(len(batch), self.total))


class StrongActivationCoverage(_Beyond):
    """The share of neurons that some image activated more strongly than all training data did.

    Args:
        ranges: What the neurons did on the training data.
        margin: Standard deviations by which a number must lie above.

    Raises:
        InputError: The margin is below 0.

    Example:
        >>> layers = (Layer("dense", "dense", 2),)
        >>> ranges = Ranges(layers, np.zeros(2), np.full(2, 10.0), np.ones(2), 2)
        >>> coverage = StrongActivationCoverage(ranges)
        >>> values = np.array([[10.5, 10.0]])
        >>> coverage.update(Activations(layers, values, values[:, 1:], values[:, :1]))
        >>> coverage.value
        0.5
    """

    name = "strong-activation"

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image activates which neurons that strongly."""
        return _pairs(batch.values > self.ranges.highs + self.margin * self.ranges.stds)


class TopKCoverage(Cells):
    """The share of neurons that were once among the k most active of their layer.

    Of equally active ones the first count. A layer whose neurons all gave the same has no most active ones,
    and one with no more than k neurons is covered as soon as they differ.

    Args:
        layers: Those of the network.
        k: How many of each layer.

    Raises:
        InputError: k is less than 1.

    Example:
        >>> layers = (Layer("dense", "dense", 3),)
        >>> coverage = TopKCoverage(layers, k=1)
        >>> values = np.array([[0.0, 1.0, 0.5], [0.0, 2.0, 0.0]])
        >>> coverage.update(Activations(layers, values, values[:, :1], values[:, 1:2]))
        >>> coverage.seen.tolist()
        [False, True, False]
    """

    name = "top-k"
    compared = ("k",)

    def __init__(self, layers: tuple[Layer, ...], *, k: int = 3) -> None:
        check_number("k", k, least=1)
        super().__init__(layers, sum(layer.neurons for layer in layers))
        self.k = k

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image makes which neurons most active."""
        return _most_active(batch, self.k)


class TopKPatterns(Cells):
    """How many different combinations of most active neurons there were, over all layers at once.

    There are more possible ones than could ever be counted, so the value is no share of them. To keep memory
    fixed, a combination is remembered as one of so many buckets; the value is the share of buckets in use,
    and `patterns` estimates how many combinations that was (linear counting, Whang et al. 1990).

    Args:
        layers: Those of the network.
        k: How many neurons of each layer.
        buckets: How many there are; combinations far beyond them cannot be told apart.

    Raises:
        InputError: k or the number of buckets is less than 1.

    Example:
        >>> layers = (Layer("dense", "dense", 3),)
        >>> coverage = TopKPatterns(layers, k=2)
        >>> values = np.array([[0.0, 1.0, 0.5], [0.0, 0.5, 1.0], [3.0, 2.0, 1.0]])
        >>> coverage.update(Activations(layers, values, values.min(1)[:, None], values.max(1)[:, None]))
        >>> coverage.covered, round(coverage.patterns)
        (2, 2)
    """

    name = "top-k-patterns"
    per_neuron = False
    compared = ("k", "total")

    def __init__(self, layers: tuple[Layer, ...], *, k: int = 3, buckets: int = 65_536) -> None:
        check_number("buckets", buckets, least=1)
        check_number("k", k, least=1)
        super().__init__(layers, buckets)
        self.k = k

    @property
    def patterns(self) -> float:
        """About how many combinations there were; infinite when every bucket is in use."""
        free = self.total - self.covered
        return -self.total * math.log(free / self.total) if free else math.inf

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image has which combination."""
        images, neurons = _most_active(batch, self.k)
        hashes = np.zeros(len(batch), np.uint64)
        # The order does not matter, so a combination is a set (Zobrist's hash).
        np.bitwise_xor.at(hashes, images, _mixed(neurons.astype(np.uint64) + np.uint64(1)))
        # An image on which every layer is constant has no combination.
        some = np.unique(images)
        return some, (_mixed(hashes[some]) % np.uint64(self.total)).astype(np.intp)


def _most_active(batch: Activations, k: int) -> Visits:
    images, neurons = [], []
    for layer, where in zip(batch.layers, batch.slices, strict=True):
        values = batch.values[:, where]
        rows = np.flatnonzero(values.max(axis=1) > values.min(axis=1))
        count = min(k, layer.neurons)
        best = np.argsort(-values[rows], axis=1, kind="stable")[:, :count]
        images.append(np.repeat(rows, count))
        neurons.append(best.ravel() + where.start)
    return np.concatenate(images), np.concatenate(neurons)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, the same on every machine (splitmix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


_OF_RANGES = (MultisectionCoverage, BoundaryCoverage, StrongActivationCoverage)
KINDS: tuple[type[Cells], ...] = (NeuronCoverage, *_OF_RANGES, TopKCoverage, TopKPatterns)
"""The criteria that look at each neuron, or at those that are active together."""
