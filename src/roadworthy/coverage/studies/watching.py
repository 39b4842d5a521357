"""What studies share: which neurons a frame activates and what the model answers, from one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.coverage.activations import Activations, Counting, Layer
from roadworthy.coverage.criteria import NeuronCoverage, Scaling
from roadworthy.coverage.observed import Observed
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models import Network, SystemUnderTest
from roadworthy.models.protocols import task_of

__all__ = [
    "HowCounted",
    "Progress",
    "Watched",
    "batches",
    "check_batch",
    "check_names",
    "silent",
    "steering_of",
]

Progress: TypeAlias = Callable[[int], None]
"""Told how many of the seed images are done."""


def silent(_done: int) -> None:
    """Tell nobody about the progress."""


@dataclass(frozen=True)
class HowCounted:
    """When a neuron counts as activated.

    Attributes:
        counting: Which outputs are neurons, or the name of a counting.
        threshold: Above which a neuron is activated.
        scaling: What its number is scaled by before; see `NeuronCoverage`.
    """

    counting: str | Counting = "distinct"
    threshold: float = 0.2
    scaling: Scaling = "outputs"

    def __str__(self) -> str:
        name = self.counting if isinstance(self.counting, str) else "own"
        return f"{name} counting, threshold {self.threshold:g}, scaling by {self.scaling}"


class Watched:
    """A network that answers and says which neurons each frame activated.

    Args:
        network: The network.
        how: When a neuron counts as activated.

    Raises:
        InputError: It is no network, or its layers cannot be watched.
    """

    def __init__(self, network: SystemUnderTest, how: HowCounted) -> None:
        if not isinstance(network, Network):
            raise InputError(
                f"{network.name} is no network whose layers can be watched: coverage needs a torch module or "
                "an ONNX file"
            )
        self.name = network.name
        self._observed: Observed[Any] = Observed(network, how.counting)
        self._how = how
        self._coverage: NeuronCoverage | None = None

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Those of the network; known once it has seen a frame."""
        assert self._coverage is not None
        return self._coverage.layers

    def watch(self, frames: Sequence[Frame]) -> tuple[list[Prediction], NDArray[np.bool_]]:
        """Return one prediction per frame, and which frame activated which neuron: frames × neurons."""
        predictions, activations = self._observed.observe(frames)
        return predictions, self._activated(activations)

    def _activated(self, activations: Activations) -> NDArray[np.bool_]:
        if self._coverage is None:
            self._coverage = NeuronCoverage(
                activations.layers, threshold=self._how.threshold, scaling=self._how.scaling
            )
        activated = np.zeros(activations.values.shape, np.bool_)
        activated[self._coverage.visits(activations)] = True
        return activated


def steering_of(model: str, prediction: Prediction, frame: Frame) -> float:
    """Return what a model steers, in degrees at the wheels, positive to the right.

    Raises:
        InputError: It is no model of steering.
        SystemUnderTestError: It answered without steering.
    """
    if not isinstance(prediction, Signals):
        raise InputError(
            f"{model} is a model for {task_of(prediction)}, and the study is about steering: give one that "
            "predicts it"
        )
    if prediction.steering is None:
        raise SystemUnderTestError(f"{model} answered {frame.id!r} without a steering angle")
    return prediction.steering


def check_names(models: Sequence[SystemUnderTest]) -> None:
    """Check that there are models, each with a name of its own.

    Raises:
        InputError: There are none, or two share a name.
    """
    names = [one.name for one in models]
    if not names:
        raise InputError("expected at least one model to study, got none")
    if len(set(names)) < len(names):
        raise InputError(f"expected models with different names, got {', '.join(names)}")


def check_batch(batch: int) -> None:
    """Check how many images a model sees at a time.

    Raises:
        InputError: It is less than one.
    """
    if batch < 1:
        raise InputError(f"batch must be 1 or more, got {batch}")


def batches(frames: Iterable[Frame], size: int) -> Iterator[list[Frame]]:
    """Yield the frames, so many at a time."""
    source = iter(frames)
    while some := list(islice(source, size)):
        yield some
