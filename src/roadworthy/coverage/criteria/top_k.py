"""The most active neurons of each layer, after DeepGauge (Ma et al., 2018)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.coverage.criteria._cells import Cells, Visits
from roadworthy.errors import InputError

__all__ = ["TopKCoverage", "TopKPatterns"]


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

    def __init__(self, layers: tuple[Layer, ...], *, k: int = 3) -> None:
        super().__init__(layers, sum(layer.neurons for layer in layers))
        self.k = _checked_k(k)

    def settings(self) -> dict[str, Any]:
        """Return k."""
        return {"k": self.k}

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

    def __init__(self, layers: tuple[Layer, ...], *, k: int = 3, buckets: int = 65_536) -> None:
        if buckets < 1:
            raise InputError(f"buckets must be 1 or more, got {buckets}")
        super().__init__(layers, buckets)
        self.k = _checked_k(k)

    def settings(self) -> dict[str, Any]:
        """Return k and the number of buckets."""
        return {"k": self.k, "buckets": self.total}

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


def _checked_k(k: int) -> int:
    if k < 1:
        raise InputError(f"k must be 1 or more, got {k}")
    return k
