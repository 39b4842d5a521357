"""Whether a requirement of reliability holds, from what is kept of the answers (section 6 of Hu et al.).

The *reliability distance* is how far a model falls short: Δm = m₀ - m_t, its performance on original images
less that on changed ones, or Δs = s₀ - s_t, the similarity of answers to hardly changed images with those to
the originals less that over the whole range.

`bound_distance` bounds it. What is independent are *clusters*, the originals or the drives that they come
from: clusters are weighed at random and one is added in which everything is lost (see
`roadworthy.statistics`), so that where nothing failed the bound is what nothing in so many clusters can
show.

- Measures that are means over images: the mean loss of each cluster's pairs, weighed by their number.
- Average precision and mean IoU, which are none: *pseudo-values*, what a cluster adds to the distance by
  leaving it out (Tukey's jackknife). They lie between ±1, or as far out as the cluster that matters most can
  move the measure: a class that few images have is known from few.
- Δs: s₀ and s_t of the same random weights, so that it counts how few pairs are hardly changed.

`check` is the paper's own rule. m₀, m_t, s₀ and s_t are means over n batches of k images, drawn with
replacement, and the requirement holds when Δ + 1.645 σ ≤ 0 with σ² = σ₀² + σ_t² of the batches. Its σ falls
with k and not with n, and where no pair failed it is 0, however few there are: it covers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_number
from roadworthy.reliability.measures import Batches, Indices, Record, TaskMeasure, means
from roadworthy.seeding import rng_for
from roadworthy.statistics import FEWEST_CLUSTERS, mean_bounds
from roadworthy.visual_change.tolerance import Preserved

_SEEDS = ("first", "second")
# How often clusters are weighed at random where no closed form is known.
_WEIGHINGS = 20_000
_AT_ONCE = 4_000_000  # weights in memory


@dataclass(frozen=True)
class Bootstrap:
    """How batches are drawn, and how sure one wants to be.

    Attributes:
        batches: n, the number of batches.
        images: k, the number of images in each; 50, or all where there are fewer, when left out.
        confidence: 1 - α.
        baseline: The lower quantile of Δv below which a change counts as barely visible (ε of Definition 3).
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
        check_number("batches", self.batches, least=2)
        check_number("images in a batch", self.images, least=1)
        check_number("confidence", self.confidence, above=0, below=1)
        check_number("baseline", self.baseline, above=0, below=1)
        check_number("similar", self.similar, above=0)

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
        cluster: For each pair, the number of its cluster; where left out, every original is one.
    """

    image: NDArray[np.intp]
    change: NDArray[np.float64]
    similarity: NDArray[np.float64]
    before: Sequence[Record] = ()
    after: Sequence[Record] = ()
    cluster: NDArray[np.intp] | None = None

    @property
    def images(self) -> int:
        """How many originals there are."""
        return int(self.image.max(initial=-1)) + 1

    @property
    def clusters(self) -> NDArray[np.intp]:
        """For each pair, the number of its cluster, from 0 on without gaps."""
        of = self.image if self.cluster is None else self.cluster
        return np.unique(of, return_inverse=True)[1].astype(np.intp)

    def hardly_changed(self, share: float) -> float:
        """Return ε: the Δv up to which pairs are among the share that is changed least."""
        return float(np.quantile(self.change, share, method="lower"))

    def tenths(self, limit: float) -> tuple[int, ...]:
        """Return how many pairs have a Δv in each tenth of the range."""
        places = np.clip((self.change / limit * 10).astype(int), 0, 9)
        return tuple(np.bincount(places, minlength=10).tolist())

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
    """What a check by the paper's rule found.

    Attributes:
        preserve: Which requirement.
        required: m₀ or s₀.
        reached: m_t or s_t.
        z: How many deviations the bound is above the distance.
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
        """Whether the requirement holds by the paper's rule: Δ + z σ ≤ 0."""
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
    """Return whether a requirement holds for the answers of a model by the paper's rule.

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
    _check_truth(pairs, preserve)
    epsilon = None if preserve == "correctness" else pairs.hardly_changed(asked.baseline)
    measured = _measured(pairs, measure, epsilon)
    z = z_value(asked.confidence)

    def drawn(which: str) -> tuple[MeasureEstimate, MeasureEstimate]:
        required, reached = measured.batches(asked.batches, batch, rng_for(asked.seed, "batches", which))
        return MeasureEstimate.of(required), MeasureEstimate.of(reached)

    first, second = map(drawn, _SEEDS)
    distance = second[0].mean - second[1].mean
    other = (distance, distance + z * math.hypot(second[0].deviation, second[1].deviation))
    sizes = pairs.images, len(pairs.image), asked.batches, batch
    return Reliability(preserve, *first, z, other, asked.similar, epsilon, *sizes, pairs.tenths(limit))


def _check_truth(pairs: Pairs, preserve: Preserved) -> None:
    if preserve == "correctness" and not len(pairs.before):
        raise InputError("correctness can only be checked where the truth is known, and no image tells it")


@dataclass(frozen=True, eq=False)
class _Measured:
    """What a batch of originals and a batch of changed images are worth."""

    pairs: Pairs
    required: Batches
    reached: Batches
    least: NDArray[np.intp] | None
    """For prediction: the pairs that are hardly changed."""

    def batches(
        self, batches: int, size: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values of so many batches of so many images: what is required, and what is reached."""
        images = rng.integers(self.pairs.images, size=(batches, size))
        chosen = self.pairs.drawn(images, rng)
        if self.least is None:
            return self.required(images), self.reached(chosen)
        hardly = self.least[rng.integers(len(self.least), size=(batches, size))]
        return self.required(hardly), self.reached(chosen)


def _measured(pairs: Pairs, measure: TaskMeasure, epsilon: float | None) -> _Measured:
    if epsilon is None:
        return _Measured(pairs, measure.batches(pairs.before), measure.batches(pairs.after), None)
    likeness = means(np.asarray(pairs.similarity, np.float64))
    return _Measured(pairs, likeness, likeness, np.flatnonzero(pairs.change <= epsilon))


@dataclass(frozen=True)
class DistanceBounds:
    """The reliability distance with what it is at least and at most, each with the confidence asked for.

    Attributes:
        preserve: Which requirement.
        required: m₀ or s₀, of all pairs.
        reached: m_t or s_t, of all pairs.
        lower: The one-sided lower bound of the distance.
        upper: The one-sided upper bound.
        clusters: How many clusters that is known from: those in which there is something to lose.
        single: Whether every image is a cluster of its own.
        images: How many originals there were.
        pairs: How many changed images.
        heaviest: How much more the cluster that matters most does than one that matters as all do on average.
        epsilon: The Δv up to which a change hardly counts, for s₀.
        spread: How many pairs have a Δv in each tenth of the range.
    """

    preserve: Preserved
    required: float
    reached: float
    lower: float
    upper: float
    clusters: int
    single: bool
    images: int
    pairs: int
    heaviest: float
    epsilon: float | None
    spread: tuple[int, ...]

    @property
    def distance(self) -> float:
        """The reliability distance: how much is missing; negative where there is some to spare."""
        return self.required - self.reached

    @property
    def few(self) -> bool:
        """Whether there are too few clusters to speak of a distance."""
        return not self.single and self.clusters < FEWEST_CLUSTERS


def bound_distance(
    pairs: Pairs,
    preserve: Preserved,
    measure: TaskMeasure,
    *,
    confidence: float = 0.95,
    baseline: float = 0.05,
    seed: int = 0,
    limit: float = 1.0,
) -> DistanceBounds:
    """Return the reliability distance with its bounds over clusters.

    Args:
        pairs: What is kept of the answers.
        preserve: Whether performance shall stay (Definition 2), or the answers (Definition 3).
        measure: What made the records.
        confidence: Of each bound alone.
        baseline: The lower quantile of Δv below which a change counts as barely visible (ε of Definition 3).
        seed: Of the random weights, where no closed form is known.
        limit: The edge of the range, for counting how well it was covered.

    Raises:
        InputError: There are no images, none of which the truth is known, or nothing to find in them.

    Example:
        Fifty images of which none is lost, and still one in seventeen may be:

        >>> from roadworthy.reliability.measures import Accuracy
        >>> right, images = np.ones(50), np.arange(50)
        >>> pairs = Pairs(images, images / 50, right, before=right, after=right)
        >>> found = bound_distance(pairs, "correctness", Accuracy())
        >>> found.distance, round(found.upper, 3), found.clusters
        (0.0, 0.058, 50)
    """
    if not len(pairs.image):
        raise InputError("a check needs at least 1 image that counts, got 0")
    _check_truth(pairs, preserve)
    epsilon = None
    if preserve == "prediction":
        epsilon = pairs.hardly_changed(baseline)
        found = _of_similarity(pairs, epsilon, confidence, rng_for(seed, "weights"))
    elif any(isinstance(record, str) for record in pairs.after):
        found = _of_pseudo_values(pairs, measure, confidence)
    else:
        found = _of_losses(pairs, confidence)
    return DistanceBounds(
        preserve,
        found.required,
        found.reached,
        lower=max(-1.0, found.lower),
        upper=min(1.0, found.upper),
        clusters=found.clusters,
        single=bool(pairs.clusters.max() + 1 == pairs.images),
        images=pairs.images,
        pairs=len(pairs.image),
        heaviest=found.heaviest,
        epsilon=epsilon,
        spread=pairs.tenths(limit),
    )


class _Bounded(NamedTuple):
    required: float
    reached: float
    lower: float
    upper: float
    clusters: int
    heaviest: float


def _of_losses(pairs: Pairs, confidence: float) -> _Bounded:
    """Bound a mean of losses: m₀ - m_t of measures that are means over images."""
    before, after = np.asarray(pairs.before, np.float64)[pairs.image], np.asarray(pairs.after, np.float64)
    clusters = pairs.clusters
    sizes = np.bincount(clusters)
    losses = np.bincount(clusters, before - after) / sizes
    ends = mean_bounds(losses, weights=sizes, least=-1, most=1, confidence=confidence)
    heaviest = float(sizes.max() / sizes.mean())
    return _Bounded(float(before.mean()), float(after.mean()), *ends, len(sizes), heaviest)


def _of_pseudo_values(pairs: Pairs, measure: TaskMeasure, confidence: float) -> _Bounded:
    """Bound m₀ - m_t of measures that are no means over images."""
    number = len(pairs.before)
    originals = measure.batches([*pairs.before, *map(measure.lost, pairs.before)])
    changed = measure.batches(pairs.after)

    def performance(of: Batches, places: Indices) -> float:
        return float(of(places[None, :])[0]) if len(places) else math.nan

    required = performance(originals, pairs.image)
    reached = performance(changed, np.arange(len(pairs.image)))
    if math.isnan(required) or math.isnan(reached):
        raise InputError("nothing can be measured on these images: there is nothing to find in them")
    clusters = pairs.clusters
    without, costs = [], []
    for cluster in range(clusters.max() + 1):
        own = clusters == cluster
        rest = np.flatnonzero(~own)
        left = performance(originals, pairs.image[rest]) - performance(changed, rest)
        known = not math.isnan(performance(originals, pairs.image[own]))
        # Where there is nothing to find, a cluster says nothing, unless something is found all the same.
        if known or left != required - reached:
            without.append(left)
            costs.append(required - performance(originals, pairs.image + number * own))
    count = len(without)
    # Without the only cluster in which there is something to find, nothing is known.
    left_out = np.nan_to_num(np.array(without), nan=required - reached)
    values = count * (required - reached) - (count - 1) * left_out
    # The jackknife also moves the mean a little, by what it takes for bias; bounds are of what is told.
    values += required - reached - values.mean()
    heaviest = max(1.0, count * max(costs))
    most = max(heaviest, float(np.abs(values).max()))
    ends = mean_bounds(values, least=-most, most=most, confidence=confidence)
    return _Bounded(required, reached, *ends, count, heaviest)


def _of_similarity(pairs: Pairs, epsilon: float, confidence: float, rng: np.random.Generator) -> _Bounded:
    """Bound s₀ - s_t, two means over the same clusters, of which the first is of a few pairs."""
    clusters, hardly = pairs.clusters, pairs.change <= epsilon
    counted = (hardly, hardly * pairs.similarity, np.ones(len(hardly)), pairs.similarity)
    table = np.stack([np.bincount(clusters, one) for one in counted], axis=1).astype(np.float64)
    few, kept_of_few, sizes, kept = table.T
    required, reached = (
        float(part.sum() / whole.sum()) for whole, part in ((few, kept_of_few), (sizes, kept))
    )
    lower, upper = _weighed(table, confidence, rng)
    if required == 1:
        # s₀ can be no more than that: what is left is the bound of a mean.
        upper = mean_bounds(1 - kept / sizes, weights=sizes, least=-1, most=1, confidence=confidence).upper
    return _Bounded(required, reached, lower, upper, len(table), float(sizes.max() / sizes.mean()))


def _weighed(table: NDArray[np.float64], confidence: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the quantiles of s₀ - s_t over random weights of clusters, with one more of the worst kind."""
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    few, _, sizes, _ = kinds.max(axis=0)
    worst = np.array([[few, 0, sizes, sizes], [few, few, sizes, 0]])
    found = []
    left = _WEIGHINGS
    while left:
        number = min(left, max(1, _AT_ONCE // len(kinds)))
        left -= number
        sums = rng.standard_gamma(counts, (number, len(counts))) @ kinds
        added = sums + rng.standard_exponential((number, 1)) * worst[:, None, :]
        found.append(added[..., 1] / added[..., 0] - added[..., 3] / added[..., 2])
    low, high = np.concatenate(found, axis=1)
    return (
        float(np.quantile(low, 1 - confidence, method="lower")),
        float(np.quantile(high, confidence, method="higher")),
    )
