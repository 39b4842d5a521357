"""Criteria that compare neurons with what they did on training data, after DeepGauge (Ma et al., 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.coverage.criteria._cells import Cells, Visits
from roadworthy.errors import InputError

__all__ = [
    "BoundaryCoverage",
    "MultisectionCoverage",
    "Ranges",
    "StrongActivationCoverage",
    "learn_ranges",
]


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

    def __init__(self, ranges: Ranges, cells: int) -> None:
        super().__init__(ranges.layers, cells * len(ranges.lows))
        self.ranges = ranges

    def settings(self) -> dict[str, Any]:
        return {"their lows": self.ranges.lows, "their highs": self.ranges.highs}


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

    def __init__(self, ranges: Ranges, *, sections: int = 1000) -> None:
        if sections < 1:
            raise InputError(f"sections must be 1 or more, got {sections}")
        super().__init__(ranges, sections)
        self.sections = sections

    def settings(self) -> dict[str, Any]:
        """Return the ranges and the number of sections."""
        return {**super().settings(), "their sections": self.sections}

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image visits which sections."""
        lows, highs = self.ranges.lows, self.ranges.highs
        inside = (batch.values >= lows) & (batch.values <= highs) & (highs > lows)
        images, neurons = np.nonzero(inside)
        low = lows[neurons]
        share = (batch.values[images, neurons] - low) / (highs[neurons] - low)
        # The upper end belongs to the last section.
        section = np.minimum((share * self.sections).astype(np.intp), self.sections - 1)
        return images, neurons * self.sections + section


class BoundaryCoverage(_Ranged):
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

    def __init__(self, ranges: Ranges, *, margin: float = 0.0) -> None:
        super().__init__(ranges, 2)
        self.margin = _checked_margin(margin)

    def settings(self) -> dict[str, Any]:
        """Return the ranges and the margin."""
        return {**super().settings(), "their margin": self.margin}

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image visits which corners."""
        beyond = self.margin * self.ranges.stds
        outside = np.stack(
            [batch.values < self.ranges.lows - beyond, batch.values > self.ranges.highs + beyond], axis=2
        )
        images, cells = np.nonzero(outside.reshape(len(batch), self.total))
        return images, cells


class StrongActivationCoverage(_Ranged):
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

    def __init__(self, ranges: Ranges, *, margin: float = 0.0) -> None:
        super().__init__(ranges, 1)
        self.margin = _checked_margin(margin)

    def settings(self) -> dict[str, Any]:
        """Return the ranges and the margin."""
        return {**super().settings(), "their margin": self.margin}

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image activates which neurons that strongly."""
        images, neurons = np.nonzero(batch.values > self.ranges.highs + self.margin * self.ranges.stds)
        return images, neurons


def _checked_margin(margin: float) -> float:
    if not margin >= 0:
        raise InputError(f"margin must be 0 or more standard deviations, got {margin}")
    return margin
