"""RQ2 of DeepTest: do different transformations activate different neurons? The shape of its Figure 4.

Figure 4.1: the Jaccard distance 1 - |A ∩ B| / |A ∪ B| between the neurons that two transformations of the
same seed image activate, for every pair of transformations; beside them stand the distances between seed
images, unchanged. Figure 4.2: how many neurons the images of the first, the first two, … all transformations
of a seed image activate together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.studies.activity import Activity
from roadworthy.coverage.studies.tables import percent
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

__all__ = ["Growth", "PairDistance", "TransformationStudy", "study_transformations"]


@dataclass(frozen=True)
class PairDistance:
    """How different the neurons of two transformations are.

    Attributes:
        model: Whose.
        first: A transformation; "all pairs", or "seed images" for two unchanged seed images.
        second: Another one; empty where the first says it all.
        pairs: How many pairs of images were compared.
        lowest: The 5th percentile of their distances.
        quartiles: The 1st quartile, the median and the 3rd quartile.
        highest: The 95th percentile.
    """

    model: str
    first: str
    second: str
    pairs: int
    lowest: float
    quartiles: tuple[float, float, float]
    highest: float


@dataclass(frozen=True)
class Growth:
    """The coverage of the images of a seed image as transformations are added.

    Attributes:
        model: Whose.
        added: The transformation that is added; "seed image" for the seed image alone.
        neurons: The mean number of neurons over the seed images.
        share: The same as a share of all neurons.
        increase: By how many percent of what was there before; None for the first.
    """

    model: str
    added: str
    neurons: float
    share: float
    increase: float | None


@dataclass(frozen=True)
class TransformationStudy:
    """What RQ2 found.

    Attributes:
        seeds: How many seed images there were.
        how: When a neuron counts as activated, in words.
        distances: One for each model and pair, and one for all pairs of a model.
        growth: One for each model and transformation.
    """

    seeds: int
    how: str
    distances: tuple[PairDistance, ...]
    growth: tuple[Growth, ...]

    def tables(self) -> tuple[ResultTable, ResultTable]:
        """Return what Figures 4.1 and 4.2 of the paper show."""
        return (
            ResultTable(
                f"Jaccard distances between the neurons of two changed images of one of {self.seeds} seed "
                f"images; {self.how}",
                ("model", "transformations", "pairs of images", "5%", "25%", "median", "75%", "95%"),
                tuple(
                    (
                        one.model,
                        ", ".join(filter(None, (one.first, one.second))),
                        str(one.pairs),
                        *(f"{value:.3f}" for value in (one.lowest, *one.quartiles, one.highest)),
                    )
                    for one in self.distances
                ),
                name="transformations-distances",
            ),
            ResultTable(
                f"Mean coverage of the images of one of {self.seeds} seed images as transformations are "
                f"added; {self.how}",
                ("model", "added", "neurons", "coverage", "increase"),
                tuple(
                    (one.model, one.added, f"{one.neurons:.1f}", percent(one.share), percent(one.increase))
                    for one in self.growth
                ),
                "The seed image itself is not among what is added up, as in the paper.",
                name="transformations-cumulative",
            ),
        )

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))


def study_transformations(activities: Sequence[Activity]) -> TransformationStudy:
    """Compare the transformations by what `observe_changes` found.

    Raises:
        InputError: There is nothing to compare.
    """
    if not activities:
        raise InputError("expected what at least one model did, got nothing")
    distances = [found for one in activities for found in _distances(one)]
    growth = [found for one in activities for found in _growth(one)]
    first = activities[0]
    return TransformationStudy(len(first.seeds), str(first.how), tuple(distances), tuple(growth))


def _distances(activity: Activity) -> list[PairDistance]:
    everything = np.concatenate([values.ravel() for values in activity.distances.values()])
    found: list[tuple[tuple[str, str], NDArray[np.float32]]] = [(("all pairs", ""), everything)]
    found += activity.distances.items()
    if (between := activity.seed_distances()).size:
        found.append((("seed images", ""), between))
    rows = []
    for pair, values in found:
        low, first, middle, third, high = np.percentile(values, (5, 25, 50, 75, 95)).tolist()
        rows.append(PairDistance(activity.model, *pair, int(values.size), low, (first, middle, third), high))
    return rows


def _growth(activity: Activity) -> list[Growth]:
    means = activity.cumulative.mean(axis=0).tolist()
    base = float(activity.baseline.mean())
    rows = [Growth(activity.model, "seed image", base, base / activity.neurons, None)]
    before: float | None = None
    for name, mean in zip(activity.transformations, means, strict=True):
        increase = mean / before - 1 if before else None
        rows.append(Growth(activity.model, name, mean, mean / activity.neurons, increase))
        before = mean
    return rows
