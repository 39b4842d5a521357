"""Which neurons changed images activate and what the model answers, from one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.coverage.activations import Counting, Layer
from roadworthy.coverage.criteria import NeuronCoverage
from roadworthy.coverage.criteria.neurons import Scaling
from roadworthy.coverage.observed import Observed
from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.errors import InputError, SystemUnderTestError, check_number
from roadworthy.frames import Frame, Signals
from roadworthy.models import Network, SystemUnderTest
from roadworthy.models.protocols import task_of
from roadworthy.seeding import rng_for

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
                f"the layers of {network.name} cannot be watched: coverage needs a torch module or "
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
        if self._coverage is None:
            self._coverage = NeuronCoverage(
                activations.layers, threshold=self._how.threshold, scaling=self._how.scaling
            )
        activated = np.zeros(activations.values.shape, np.bool_)
        activated[self._coverage.visits(activations)] = True
        return predictions, activated


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


def check_names(names: Sequence[str]) -> None:
    """Check by the names of models that there are some, each with a name of its own.

    Raises:
        InputError: There are none, or two share a name.
    """
    if not names:
        raise InputError("expected at least one model to study, got none")
    if len(set(names)) < len(names):
        raise InputError(f"expected models with different names, got {', '.join(names)}")


def batches(frames: Iterable[Frame], size: int) -> Iterator[list[Frame]]:
    """Yield the frames, so many at a time."""
    source = iter(frames)
    while some := list(islice(source, size)):
        yield some


_MOST_COMPARED = 500  # seed images, each with each other


@dataclass(frozen=True, eq=False)
class Activity:
    """Which neurons of one model the images activated, in numbers for each seed image.

    Attributes:
        model: Its name.
        neurons: How many neurons it has.
        how: When one counts as activated.
        transformations: The names, in the order in which they are added up.
        parameters: How many parameters each was tried with.
        seeds: The neurons that each seed image activates, packed: seeds × bytes.
        singles: For each transformation, how many neurons each image activates: seeds × parameters.
        unions: How many the images of one transformation activate together: seeds × transformations.
        cumulative: How many those of the first, the first two, … activate: seeds × transformations.
        distances: For each pair of transformations, the Jaccard distance of every image of the one to every
            image of the other, of the same seed: seeds × parameters of the one × parameters of the other.
    """

    model: str
    neurons: int
    how: HowCounted
    transformations: tuple[str, ...]
    parameters: tuple[int, ...]
    seeds: NDArray[np.uint8] = field(repr=False)
    singles: dict[str, NDArray[np.int64]] = field(repr=False)
    unions: NDArray[np.int64] = field(repr=False)
    cumulative: NDArray[np.int64] = field(repr=False)
    distances: dict[tuple[str, str], NDArray[np.float32]] = field(repr=False)

    @property
    def baseline(self) -> NDArray[np.int64]:
        """How many neurons each seed image activates."""
        return np.asarray(np.bitwise_count(self.seeds).sum(axis=1), np.int64)

    def seed_distances(self) -> NDArray[np.float32]:
        """Return the Jaccard distances between the neurons of different seed images: what no change gives.

        Of many seed images, as many as `_MOST_COMPARED`, spread evenly, are compared.
        """
        step = -(-len(self.seeds) // _MOST_COMPARED)
        sets = np.unpackbits(self.seeds[::step], axis=1, count=self.neurons).astype(np.bool_)
        return np.asarray(_jaccard(sets)[np.triu_indices(len(sets), 1)], np.float32)

    def other_seeds(self, count: int, seed: int = 0) -> NDArray[np.int64] | None:
        """Return how many neurons so many other seed images activate together, drawn for each seed image.

        It is what the same number of images would have covered without any change; None where there are too
        few seed images.
        """
        total = len(self.seeds)
        if count >= total:
            return None
        rng = rng_for(seed, "other seeds", self.model)
        together = np.empty(total, np.int64)
        for place in range(total):
            others = rng.choice(total - 1, count, replace=False)
            others += others >= place
            together[place] = np.bitwise_count(np.bitwise_or.reduce(self.seeds[others])).sum()
        return together


def observe_changes(
    models: Sequence[SystemUnderTest],
    frames: Iterable[Frame],
    sets: Sequence[ParameterSet],
    *,
    how: HowCounted | None = None,
    seed: int = 0,
    batch: int = 64,
    progress: Progress = silent,
) -> list[Activity]:
    """Change every seed image in every way, and count which neurons that activates.

    Args:
        models: The networks.
        frames: The seed images.
        sets: The transformations with their parameters; two or more.
        how: When a neuron counts as activated; DeepTest's threshold of 0.2 when left out.
        seed: The same seed makes the same images.
        batch: Images that a model sees at a time.
        progress: Told how many seed images are done.

    Raises:
        InputError: There are no models, no frames or fewer than two transformations.
        NotApplicable: A frame lacks what a transformation needs.

    Example:
        >>> from roadworthy.coverage.parameter_sets import parameter_sets
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> sets = parameter_sets(["rotation", "contrast"])
        >>> (found,) = observe_changes([load_model("epoch")], load("world:town", count=2), sets)
        >>> found.unions.shape, found.distances["rotation", "contrast"].shape
        ((2, 2), (2, 10, 10))
    """
    check_names([one.name for one in models])
    check_number("batch", batch, least=1)
    check_number("transformations to compare", len(sets), least=2)
    how = how or HowCounted()
    watched = [Watched(one, how) for one in models]
    gathered = [_Gathered(one, sets) for one in watched]
    done = 0
    for frame in frames:
        activated: list[list[NDArray[np.bool_]]] = [[] for _ in watched]
        # Neither the images of one seed nor their activations are many: 71 with the paper's parameters.
        images = chain([frame], (changed_image(frame, one.name, each, seed) for one in sets for each in one))
        for some in batches(images, batch):
            for one, rows in zip(watched, activated, strict=True):
                rows.append(one.watch(some)[1])
        for found, rows in zip(gathered, activated, strict=True):
            found.add(np.concatenate(rows))
        done += 1
        progress(done)
    if not done:
        raise InputError("expected at least one seed image, got none")
    return [one.activity(how) for one in gathered]


def changed_image(frame: Frame, transformation: str, choice: ParameterChoice, seed: int) -> Frame:
    """Return a changed seed image; the same seed, frame and parameter give the same image."""
    rng = rng_for(seed, "study", frame.id, transformation, repr(choice.parameter))
    return choice.transform(frame, rng, measure=False)


class _Gathered:
    """Adds up what remains of each seed image."""

    def __init__(self, watched: Watched, sets: Sequence[ParameterSet]) -> None:
        self._watched = watched
        self._names = tuple(one.name for one in sets)
        self._sizes = tuple(map(len, sets))
        self._rows: list[tuple[NDArray[Any], ...]] = []

    def add(self, activated: NDArray[np.bool_]) -> None:
        """Take the rows of one seed image: itself, then its changed images in order."""
        images = activated[1:]
        unions = np.logical_or.reduceat(images, np.cumsum([0, *self._sizes])[:-1], axis=0)
        together = np.logical_or.accumulate(unions, axis=0)
        counts = (rows.sum(axis=1, dtype=np.int64) for rows in (images, unions, together))
        self._rows.append((np.packbits(activated[0]), *counts, _jaccard(images)))

    def activity(self, how: HowCounted) -> Activity:
        ends = np.cumsum([0, *self._sizes])
        where = {name: slice(ends[n], ends[n + 1]) for n, name in enumerate(self._names)}
        seeds, singles, unions, cumulative, distances = map(np.stack, zip(*self._rows, strict=True))
        neurons = sum(layer.neurons for layer in self._watched.layers)
        known = self._watched.name, neurons, how, self._names, self._sizes
        single = {name: singles[:, part] for name, part in where.items()}
        pairs = combinations(self._names, 2)
        apart = {(one, two): distances[:, where[one], where[two]] for one, two in pairs}
        return Activity(*known, seeds, single, unions, cumulative, apart)


def _jaccard(images: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return 1 - |A ∩ B| / |A ∪ B| between all images; 0 where both activate nothing."""
    numbers = images.astype(np.float32)
    common = numbers @ numbers.T
    sizes = numbers.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    return np.asarray(1 - common / np.maximum(union, 1) - (union == 0), np.float32)
