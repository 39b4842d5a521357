"""How unlike the training data an image is to the network itself: surprise adequacy (Kim et al., 2019).

A test set should surprise a network a little, much, and everything between: the range of surprise is cut into
buckets, and coverage is the share of them that was visited.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.activations import Activations, Layer
from roadworthy.coverage.criteria.neurons import Cells, Visits
from roadworthy.errors import InputError, check_choice, check_known, check_number
from roadworthy.seeding import rng_for

Density = Literal["kde", "gaussian"]
"""How the density of the training data is estimated: by kernels, or as one normal distribution."""

_ROOM = 2.0  # the range of surprise goes this many times as far as the training data's own
_RIDGE = 1e-6  # share of the mean variance that is added to each, so that dependent neurons can be used


@dataclass(frozen=True, eq=False)
class SurpriseReference:
    """What some neurons did on training data: a sample of fixed size.

    Attributes:
        layers: All layers of the network.
        columns: Which of its neurons are looked at.
        values: What these gave: images × neurons.
        answers: What the last layer gave for the same images.
    """

    layers: tuple[Layer, ...]
    columns: NDArray[np.intp]
    values: NDArray[np.float64]
    answers: NDArray[np.float64]


def learn_reference(
    batches: Iterable[Activations],
    *,
    layers: Sequence[str] = (),
    size: int = 1000,
    seed: int = 0,
    least_variance: float = 1e-5,
) -> SurpriseReference:
    """Return a sample of what a network did on training data, which are read once.

    Args:
        batches: What it did.
        layers: Names of the layers to look at; the last but one when left out.
        size: How many images are kept; of more, a random choice.
        seed: Of that choice.
        least_variance: Neurons that vary less are left out: they would be infinitely surprised.

    Raises:
        InputError: There are less than two images, no such layer, or no neuron that varies.

    Example:
        >>> layers = (Layer("hidden", "dense", 2), Layer("answer", "dense", 1))
        >>> values = np.array([[0.0, 7.0, 1.0], [1.0, 7.0, 2.0], [2.0, 7.0, 3.0]])
        >>> batch = Activations(layers, values, np.zeros((3, 2)), np.full((3, 2), 9.0))
        >>> learn_reference([batch]).values.tolist()
        [[0.0], [1.0], [2.0]]
    """
    check_number("size", size, least=2)
    rng = rng_for(seed, "coverage", "reference")
    kept: list[NDArray[np.float64]] = []
    known: tuple[Layer, ...] = ()
    count = 0
    for batch in batches:
        if known and batch.layers != known:
            raise InputError("the batches are of different networks, or counted differently")
        known = batch.layers
        for row in np.asarray(batch.values, np.float64):
            count += 1
            if len(kept) < size:
                kept.append(row.copy())
                continue
            # Every image seen so far is kept with the same chance.
            place = int(rng.integers(count))
            if place < size:
                kept[place] = row.copy()
    if len(kept) < 2:
        raise InputError(f"expected two images of training data or more to learn from, got {len(kept)}")
    values = np.stack(kept)
    columns = _columns(known, layers)
    columns = columns[values[:, columns].var(axis=0) > least_variance]
    if not len(columns):
        raise InputError(
            f"none of the chosen neurons varies by more than {least_variance:g}: choose other layers, or a "
            "smaller least_variance"
        )
    return SurpriseReference(known, columns, values[:, columns], values[:, -known[-1].neurons :])


def _columns(layers: tuple[Layer, ...], names: Sequence[str]) -> NDArray[np.intp]:
    wanted = list(names) or [layers[max(0, len(layers) - 2)].name]
    for name in wanted:
        check_known("there is no layer", name, [layer.name for layer in layers])
    known = zip(np.cumsum([0, *(layer.neurons for layer in layers)]), layers, strict=False)
    parts = [np.arange(start, start + layer.neurons) for start, layer in known if layer.name in wanted]
    return np.concatenate(parts).astype(np.intp)


Groups = Literal["argmax", "none", "sign"]
"""Which answers are alike: of the same class ("argmax"), to the same side ("sign"), or all ("none")."""


class _Surprise(Cells):
    """A criterion over buckets of surprise."""

    needs = "reference"
    per_neuron = False
    compared: ClassVar[tuple[str, ...]] = ("reference.values", "reference.columns", "groups", "total")

    def __init__(self, reference: SurpriseReference, groups: Groups, buckets: int) -> None:
        check_number("buckets", buckets, least=1)
        check_choice("groups", groups, get_args(Groups))
        super().__init__(reference.layers, buckets)
        self.groups: Groups = groups
        self.reference = reference
        self._members = self._group_of(reference.answers)
        self._learn()
        own = self._own()
        own = own[np.isfinite(own)]
        low, high = (float(own.min()), float(own.max())) if len(own) else (0.0, 1.0)
        self.limits = (low, low + _ROOM * (high - low) if high > low else low + 1.0)

    @abstractmethod
    def _learn(self) -> None:
        """Take from the reference what surprise is measured by."""

    @abstractmethod
    def _surprises(self, values: NDArray[np.float64], members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the surprise for what neurons gave, of images that are answered as these groups are."""

    @abstractmethod
    def _own(self) -> NDArray[np.float64]:
        """Return the surprise of each image of the reference at the others."""

    def _group_of(self, answers: NDArray[np.float64]) -> NDArray[np.intp]:
        if self.groups == "none":
            return np.zeros(len(answers), np.intp)
        found = answers.argmax(axis=1) if self.groups == "argmax" else answers[:, 0] >= 0
        return np.asarray(found, np.intp)

    def surprise(self, batch: Activations, /) -> NDArray[np.float64]:
        """Return how surprising each image of a batch is."""
        values = np.asarray(batch.values, np.float64)
        members = self._group_of(values[:, -self.layers[-1].neurons :])
        return self._surprises(values[:, self.reference.columns], members)

    def visits(self, batch: Activations, /) -> Visits:
        """Return which image visits which bucket."""
        low, high = self.limits
        share = (self.surprise(batch) - low) / (high - low)
        images = np.flatnonzero(share <= 1)
        return images, np.minimum((np.clip(share[images], 0, 1) * self.total).astype(np.intp), self.total - 1)


class _TrainingDensity:
    """The density of training images, as surprise: its negative logarithm."""

    def __init__(self, values: NDArray[np.float64], kind: Density) -> None:
        self._kind = kind
        count, size = values.shape
        covariance = np.atleast_2d(np.cov(values, rowvar=False))
        covariance = covariance + np.eye(size) * (_RIDGE * np.trace(covariance) / size)
        if kind == "kde":
            covariance = covariance * count ** (-2 / (size + 4))
        self._mean = values.mean(axis=0)
        self._root = np.linalg.cholesky(covariance)
        self._constant = float(np.log(np.diag(self._root)).sum() + size / 2 * np.log(2 * np.pi))
        self._white = self._whitened(values)

    def _whitened(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._root, (values - self._mean).T, lower=True).T)

    def surprises(self, values: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return how surprising values are; if left out, the training data, each beside all others."""
        white = self._white if values is None else self._whitened(values)
        if self._kind == "gaussian":
            return np.asarray(np.square(white).sum(axis=1) / 2 + self._constant)
        from scipy.spatial.distance import cdist
        from scipy.special import logsumexp

        squares = cdist(white, self._white, "sqeuclidean")
        if values is None:
            np.fill_diagonal(squares, np.inf)
        count = len(self._white) - (values is None)
        return np.asarray(np.log(count) + self._constant - logsumexp(-squares / 2, axis=1))


class LikelihoodSurpriseCoverage(_Surprise):
    """The share of buckets of likelihood-based surprise that were visited.

    Surprise is the negative logarithm of the density that the training data have where an image lies: all of
    them for a driving network; for a classifier, as in the paper, those that it gives the same class. What is
    less surprising than the lower limit visits the first bucket, what is more than the upper one visits none,
    nor does an image of a class that less than two different training images have.

    Args:
        reference: What neurons did on training data.
        density: How it is estimated; kernels have Scott's bandwidth, as in the paper.
        groups: Whose density it is: "argmax" for a classifier, of the same class; "sign" for a driving
            network, on the same side of 0 of the first neuron of the last layer; "none" for all.
        buckets: How many there are, from the least surprise of the training data to twice as far as their
            largest.

    Raises:
        InputError: An argument cannot be used.

    Example:
        >>> layers = (Layer("hidden", "dense", 1), Layer("answer", "dense", 1))
        >>> def batch(*numbers):
        ...     values = np.array([[one, 0.0] for one in numbers])
        ...     return Activations(layers, values, values - 1, values + 1)
        >>> reference = learn_reference([batch(-1.0, 0.0, 1.0)])
        >>> coverage = LikelihoodSurpriseCoverage(reference, density="gaussian")
        >>> near, far = coverage.surprise(batch(0.0, 3.0))
        >>> bool(near < far)
        True
    """

    name = "likelihood-surprise"
    compared = (*_Surprise.compared, "density")

    def __init__(
        self,
        reference: SurpriseReference,
        *,
        density: Density = "kde",
        groups: Groups = "none",
        buckets: int = 1000,
    ) -> None:
        check_choice("density", density, get_args(Density))
        self.density: Density = density
        super().__init__(reference, groups, buckets)

    def _learn(self) -> None:
        grouped = {int(one): self.reference.values[self._members == one] for one in np.unique(self._members)}
        # Images that are all equal have no density.
        self._densities = {
            group: _TrainingDensity(values, self.density)
            for group, values in grouped.items()
            if len(values) > 1 and np.ptp(values, axis=0).any()
        }
        if not self._densities:
            raise InputError(
                "no two training images of one class differ: learn from more images, or groups=none"
            )

    def _surprises(self, values: NDArray[np.float64], members: NDArray[np.intp]) -> NDArray[np.float64]:
        surprises = np.full(len(values), np.inf)
        for group, density in self._densities.items():
            mine = members == group
            surprises[mine] = density.surprises(values[mine])
        return surprises

    def _own(self) -> NDArray[np.float64]:
        return np.concatenate([density.surprises() for density in self._densities.values()])


class DistanceSurpriseCoverage(_Surprise):
    """The share of buckets of distance-based surprise that were visited.

    Surprise is the distance to the nearest training image that the network answers alike, divided by the
    distance from that one to the nearest that it answers otherwise. An image whose kind of answer no training
    image has visits no bucket, like one beyond the upper limit.

    Args:
        reference: What neurons did on training data.
        groups: What "alike" means: "argmax" for a classifier, the same class; "sign" for a driving network,
            the same side of 0 for the first neuron of the last layer; "none" asks for any other training
            image instead of one that is answered otherwise.
        buckets: How many there are, from the least surprise of the training data to twice as far as their
            largest.

    Raises:
        InputError: An argument cannot be used, or all training images are answered alike.

    Example:
        >>> layers = (Layer("hidden", "dense", 1), Layer("answer", "dense", 1))
        >>> def batch(*numbers):
        ...     values = np.array([[one, one] for one in numbers])
        ...     return Activations(layers, values, values - 1, values + 1)
        >>> reference = learn_reference([batch(-2.0, -1.0, 1.0, 2.0)])
        >>> coverage = DistanceSurpriseCoverage(reference, groups="sign")
        >>> coverage.surprise(batch(-2.0, 4.0)).round(3).tolist()
        [0.0, 0.667]
    """

    name = "distance-surprise"

    def __init__(self, reference: SurpriseReference, *, groups: Groups = "none", buckets: int = 1000) -> None:
        super().__init__(reference, groups, buckets)
        del self._apart

    def _learn(self) -> None:
        if self.groups != "none" and len(np.unique(self._members)) < 2:
            raise InputError("the network answers all training images alike: choose other groups, or none")
        from scipy.spatial.distance import cdist

        apart = cdist(self.reference.values, self.reference.values)
        alike = np.eye(len(apart), dtype=bool)
        if self.groups != "none":
            alike = self._members[:, None] == self._members
        self._to_others = np.where(alike, np.inf, apart).min(axis=1)
        np.fill_diagonal(apart, np.inf)
        self._apart = apart

    def _own(self) -> NDArray[np.float64]:
        return self._ratio(self._apart, self._members)

    def _surprises(self, values: NDArray[np.float64], members: NDArray[np.intp]) -> NDArray[np.float64]:
        from scipy.spatial.distance import cdist

        return self._ratio(cdist(values, self.reference.values), members)

    def _ratio(self, apart: NDArray[np.float64], members: NDArray[np.intp]) -> NDArray[np.float64]:
        within = np.where(members[:, None] == self._members, apart, np.inf)
        nearest = within.argmin(axis=1)
        distance = within.min(axis=1)
        beyond = self._to_others[nearest]
        # Two equal training images that are answered otherwise have no distance to divide by.
        found = np.full(len(apart), np.inf)
        np.divide(distance, beyond, out=found, where=beyond > 0)
        return found


KINDS: tuple[type[Cells], ...] = (LikelihoodSurpriseCoverage, DistanceSurpriseCoverage)
"""The criteria that compare with what the network did on training data."""
