"""Neuron coverage, as DeepTest defines it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.coverage.criteria._cells import Cells, Visits
from roadworthy.errors import InputError

__all__ = ["NeuronCoverage", "Scaling"]

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

    def __init__(
        self, layers: tuple[Layer, ...], *, threshold: float = 0.2, scaling: Scaling = "outputs"
    ) -> None:
        if not np.isfinite(threshold):
            raise InputError(f"threshold must be a number, got {threshold}")
        if scaling not in get_args(Scaling):
            raise InputError(f"scaling must be one of {', '.join(get_args(Scaling))}, got {scaling!r}")
        if scaling != "none" and threshold >= 1:
            raise InputError(
                f"threshold must be below 1, got {threshold}: numbers are scaled to 0 … 1, and none is above"
            )
        super().__init__(layers, sum(layer.neurons for layer in layers))
        self.threshold = threshold
        self.scaling: Scaling = scaling

    def settings(self) -> dict[str, Any]:
        """Return threshold and scaling."""
        return {"threshold": self.threshold, "scaling": self.scaling}

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
