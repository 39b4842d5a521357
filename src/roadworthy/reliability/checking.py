"""Whether a requirement of reliability holds, from what is kept of the answers (section 6 of Hu et al.).

The *reliability distance* is how far a model falls short: Δm = m₀ - m_t, its performance on original images
less that on changed ones, or Δs = s₀ - s_t, the similarity of answers to hardly changed images with those to
the originals less that over the whole range. Both are estimated from n batches of k images, drawn with
replacement. The requirement is met with 95% confidence when Δ + 1.645 σ ≤ 0, with σ² = σ₀² + σ_t² of the
batches.

σ is the deviation of a *batch*, as the paper has it, and it falls with k, not with n: a model whose distance
is exactly 0 meets the requirement only where σ is 0 too. `mean_bound` is the bound of the distance itself,
over all images and with the pairing of each changed image with its original.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.reliability.measures import Batches, Indices, Record, TaskMeasure, means
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import Preserved

_SEEDS = ("first", "second")


@dataclass(frozen=True)
class Bootstrap:
    """How batches are drawn, and how sure one wants to be.

    Attributes:
        batches: n, the number of batches.
        images: k, the number of images in each; 50, or all where there are fewer, when left out.
        confidence: 1 - α.
        baseline: The lower quantile of Δv below which a change counts as hardly one (ε of Definition 3).
        similar: How far the distances of two seeds may be apart and still agree.
        seed: The same seed draws the same batches.

    Raises:
        InputError: A number cannot be used.

    Example:
        >>> Bootstrap(batches=1)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: batches must be 2 or more, got 1
    """

    batches: int = 200
    images: int | None = None
    confidence: float = 0.95
    baseline: float = 0.05
    similar: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batches < 2:
            raise InputError(f"batches must be 2 or more, got {self.batches}")
        if self.images is not None and self.images < 1:
            raise InputError(f"images in a batch must be 1 or more, got {self.images}")
        for name in ("confidence", "baseline"):
            if not 0 < getattr(self, name) < 1:
                raise InputError(f"{name} must be between 0 and 1, both excluded, got {getattr(self, name)}")
        if not self.similar > 0:
            raise InputError(f"similar must be above 0, got {self.similar}")

    def batch_of(self, images: int) -> int:
        """Return k for so many images.

        Raises:
            InputError: There are fewer images than a batch shall have, or fewer than two.
        """
        if images < 2:
            raise InputError(f"a check needs at least 2 images that count, got {images}")
        if self.images is None:
            return min(50, images)
        if self.images > images:
            raise InputError(
                f"a batch of {self.images} images needs at least as many, got {images}: use more images, or "
                f"smaller batches"
            )
        return self.images


@dataclass(frozen=True, eq=False)
class Pairs:
    """Originals and changed images, with what is kept of the answers to them.

    Attributes:
        image: For each pair, the number of its original.
        change: The visual change of each pair.
        before: What is kept of the answer to each original; empty where no truth is known.
        after: What is kept of the answer to the changed image of each pair; likewise.
        similarity: How like the two answers of each pair are.
    """

    image: NDArray[np.intp]
    change: NDArray[np.float64]
    similarity: NDArray[np.float64]
    before: Sequence[Record] = ()
    after: Sequence[Record] = ()

    @property
    def images(self) -> int:
        """How many originals there are."""
        return int(self.image.max(initial=-1)) + 1

    def drawn(self, images: Indices, rng: np.random.Generator) -> Indices:
        """Return a pair for each original that was drawn, any of those it is in."""
        order = np.argsort(self.image, kind="stable")
        counts = np.bincount(self.image, minlength=self.images)
        start = np.cumsum(counts) - counts
        chosen = (rng.random(images.shape) * counts[images]).astype(np.intp)
        return np.asarray(order[start[images] + chosen], np.intp)


@dataclass(frozen=True)
class MeasureEstimate:
    """Mean and standard deviation of a measure over batches."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> MeasureEstimate:
        """Estimate from the values of batches; a batch in which nothing can be measured does not count."""
        known = values[~np.isnan(values)]
        if len(known) < 2:
            raise InputError("nothing can be measured on these images: there is nothing to find in them")
        return cls(float(known.mean()), float(known.std(ddof=1)))

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.deviation:.4f}"


@dataclass(frozen=True)
class Reliability:
    """What a check found.

    Attributes:
        preserve: Which requirement.
        required: m₀ or s₀.
        reached: m_t or s_t.
        z: How many deviations the bound is above the distance.
        mean_bound: The bound of the distance over all images, paired.
        other: Distance and bound from another seed.
        similar: How far the two seeds may be apart.
        epsilon: The Δv up to which a change hardly counts, for s₀.
        images: How many originals there were.
        pairs: How many changed images.
        batches: n.
        batch: k.
    """

    preserve: Preserved
    required: MeasureEstimate
    reached: MeasureEstimate
    z: float
    mean_bound: float
    other: tuple[float, float]
    similar: float
    epsilon: float | None
    images: int
    pairs: int
    batches: int
    batch: int
    spread: tuple[int, ...] = field(default=())
    """How many pairs have a Δv in each tenth of the range."""

    @property
    def distance(self) -> float:
        """The reliability distance: how much is missing; negative where there is some to spare."""
        return self.required.mean - self.reached.mean

    @property
    def deviation(self) -> float:
        """σ of the distance, by the paper's rule."""
        return math.hypot(self.required.deviation, self.reached.deviation)

    @property
    def bound(self) -> float:
        """The upper bound of the distance, by the paper's rule."""
        return self.distance + self.z * self.deviation

    @property
    def satisfied(self) -> bool:
        """Whether the requirement is met with the confidence asked for: Δ + z σ ≤ 0."""
        return self.bound <= 0

    @property
    def vacuous(self) -> bool:
        """Whether there is nothing to lose: correctness is asked of a model that is never right."""
        return self.preserve == "correctness" and self.required.mean == 0

    @property
    def converged(self) -> bool:
        """Whether another seed gives much the same, so that there are enough batches."""
        distance, bound = self.other
        return (bound <= 0) == self.satisfied and abs(distance - self.distance) <= self.similar


def z_value(confidence: float) -> float:
    """Return how many deviations a normal value is below with this confidence.

    Example:
        >>> round(z_value(0.95), 3)
        1.645
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(confidence)


def check(
    pairs: Pairs,
    preserve: Preserved,
    measure: TaskMeasure,
    bootstrap: Bootstrap | None = None,
    limit: float = 1.0,
) -> Reliability:
    """Return whether a requirement holds for the answers of a model.

    Args:
        pairs: What is kept of the answers.
        preserve: Whether performance shall stay (Definition 2), or the answers (Definition 3).
        measure: What made the records.
        bootstrap: How batches are drawn.
        limit: The edge of the range, for counting how well it was covered.

    Raises:
        InputError: There are too few images, or none of which the truth is known.

    Example:
        >>> from roadworthy.reliability.measures import Accuracy
        >>> images = np.arange(100)
        >>> right = np.where(images < 90, 1.0, 0.0)
        >>> pairs = Pairs(images, images / 100, right, before=np.ones(100), after=right)
        >>> found = check(pairs, "correctness", Accuracy())
        >>> round(found.distance, 2), found.satisfied, found.converged
        (0.1, False, True)
    """
    asked = bootstrap or Bootstrap()
    batch = asked.batch_of(pairs.images)
    if preserve == "correctness" and not len(pairs.before):
        raise InputError("correctness can only be checked where the truth is known, and no image tells it")
    epsilon = None
    if preserve == "prediction":
        epsilon = float(np.quantile(pairs.change, asked.baseline, method="lower"))
    measured = _measured(pairs, measure, epsilon)
    z = z_value(asked.confidence)

    def drawn(which: str) -> tuple[MeasureEstimate, ...]:
        rng = rng_for(asked.seed, "batches", which)
        return tuple(map(MeasureEstimate.of, measured.batches(asked.batches, batch, rng)))

    first, second = map(drawn, _SEEDS)
    distance = second[0].mean - second[1].mean
    other = (distance, distance + z * math.hypot(second[0].deviation, second[1].deviation))
    whole = measured.batches(asked.batches, pairs.images, rng_for(asked.seed, "whole"), whole=True)
    gaps = MeasureEstimate.of(whole[0] - whole[1])
    tenths = np.clip((pairs.change / limit * 10).astype(int), 0, 9)
    required, reached = first
    mean_bound = required.mean - reached.mean + z * gaps.deviation
    sizes = pairs.images, len(pairs.image), asked.batches, batch
    spread = tuple(np.bincount(tenths, minlength=10).tolist())
    return Reliability(
        preserve, required, reached, z, mean_bound, other, asked.similar, epsilon, *sizes, spread
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """What a batch of originals and a batch of changed images are worth."""

    pairs: Pairs
    required: Batches
    reached: Batches
    least: NDArray[np.intp] | None
    """For prediction: the pairs that are hardly changed."""

    def batches(
        self, batches: int, size: int, rng: np.random.Generator, *, whole: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values of so many batches of so many images: what is required, and what is reached.

        Where a batch stands for the whole experiment, it has as many hardly changed pairs as that had.
        """
        images = rng.integers(self.pairs.images, size=(batches, size))
        chosen = self.pairs.drawn(images, rng)
        if self.least is None:
            return self.required(images), self.reached(chosen)
        count = len(self.least) if whole else size
        hardly = self.least[rng.integers(len(self.least), size=(batches, count))]
        return self.required(hardly), self.reached(chosen)


def _measured(pairs: Pairs, measure: TaskMeasure, epsilon: float | None) -> _Measured:
    if epsilon is None:
        return _Measured(pairs, measure.batches(pairs.before), measure.batches(pairs.after), None)
    likeness = means(np.asarray(pairs.similarity, np.float64))
    return _Measured(pairs, likeness, likeness, np.flatnonzero(pairs.change <= epsilon))
