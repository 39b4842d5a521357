"""RQ2 and Figure 5 of DeepTest: which neurons transformations activate, and by how much coverage changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.papers.deeptest.activity import Activity
from roadworthy.papers.deeptest.deviation import percent
from roadworthy.papers.deeptest.statistics import Statistic, cohens_d, magnitude, p_text, signed_rank
from roadworthy.result_tables import ResultTable

CONTROL = "other seed images"
"""The name of the row that changes nothing and takes other images instead."""


@dataclass(frozen=True)
class Change:
    """How a transformation changes the coverage of the seed images of one model.

    Attributes:
        model: Whose coverage.
        transformation: What changed them, or `CONTROL`.
        images: How many images it makes of a seed image.
        baseline: The median number of neurons that a seed image activates.
        together: The median increase in neurons, all images of a seed image together.
        together_share: The same divided by the baseline; None where that is 0.
        single: The median increase in neurons of one changed image; may be negative.
        single_share: The same divided by the baseline; None where that is 0.
        test: Wilcoxon's signed rank test over seed images, of all images together against the seed image.
        single_test: The same for the mean of the single images of a seed image.
        effect: Cohen's d of all images together against the seed image; None where it cannot be computed.
        single_effect: The same for the mean of the single images.
    """

    model: str
    transformation: str
    images: int
    baseline: float
    together: float
    together_share: float | None
    single: float
    single_share: float | None
    test: Statistic
    single_test: Statistic
    effect: float | None
    single_effect: float | None


@dataclass(frozen=True, eq=False)
class ChangeStudy:
    """What Figure 5 shows.

    Attributes:
        seeds: How many seed images there were.
        how: When a neuron counts as activated, in words.
        rows: One for each model and transformation, and the control.
        counts: For figures: for each model, the neurons of each seed image, by transformation, all images
            together; under "seed image" those of itself.
    """

    seeds: int
    how: str
    rows: tuple[Change, ...]
    counts: dict[str, dict[str, NDArray[np.int64]]]

    def table(self) -> ResultTable:
        """Return the shape of the paper's Figure 5."""
        return ResultTable.of(
            f"Median increase in activated neurons over {self.seeds} seed images; {self.how}",
            map(_cells, self.rows),
            "Together: the neurons that all images of a transformation activate, against those of the seed "
            "image. One image: a single changed image against the seed image. The row of other seed images, "
            "unchanged, tells what as many images cover without any change. p: Wilcoxon's signed rank test "
            "over seed images; d: Cohen's.",
            name="change",
        )


def _cells(row: Change) -> dict[str, str]:
    count = f"{row.images} " if row.transformation == CONTROL else ""
    return {
        "model": row.model,
        "transformation": f"{count}{row.transformation}",
        "seed image": f"{row.baseline:g}",
        "together": f"{row.together:+g}",
        "together %": percent(row.together_share),
        "p together": p_text(row.test.p),
        "d together": _effect(row.effect),
        "one image": f"{row.single:+g}",
        "one image %": percent(row.single_share),
        "p one image": p_text(row.single_test.p),
        "d one image": _effect(row.single_effect),
    }


def _effect(d: float | None) -> str:
    return "-" if d is None else f"{d:+.2f} {magnitude(d)}"


def study_change(activities: Sequence[Activity], *, seed: int = 0) -> ChangeStudy:
    """Tell how much each transformation changed the coverage, by what `observe_changes` found.

    Args:
        activities: What each model did.
        seed: Which other seed images the control draws.

    Raises:
        InputError: There is nothing to compare.
    """
    if not activities:
        raise InputError("expected what at least one model did, got nothing")
    rows = []
    counts = {}
    for one in activities:
        base = one.baseline
        kept = {"seed image": base}
        for place, name in enumerate(one.transformations):
            kept[name] = one.unions[:, place]
            rows.append(_change(one.model, name, base, kept[name], one.singles[name]))
        images = max(one.parameters)
        others = one.other_seeds(images, seed)
        if others is not None:
            kept[CONTROL] = others
            single = one.other_seeds(1, seed)
            assert single is not None
            rows.append(_change(one.model, CONTROL, base, others, single[:, None], images))
        counts[one.model] = kept
    first = activities[0]
    return ChangeStudy(len(first.seeds), str(first.how), tuple(rows), counts)


def _change(
    model: str,
    name: str,
    base: NDArray[np.int64],
    together: NDArray[np.int64],
    singles: NDArray[np.int64],
    images: int | None = None,
) -> Change:
    usual = float(np.median(base))
    increase = float(np.median(together - base))
    single = float(np.median(singles - base[:, None]))
    mean = singles.mean(axis=1)
    return Change(
        model=model,
        transformation=name,
        images=images or singles.shape[1],
        baseline=usual,
        together=increase,
        together_share=increase / usual if usual else None,
        single=single,
        single_share=single / usual if usual else None,
        test=signed_rank(base, together),
        single_test=signed_rank(base, mean),
        effect=cohens_d(together, base),
        single_effect=cohens_d(mean, base),
    )


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
    for name, before, mean in zip(activity.transformations, [None, *means[:-1]], means, strict=True):
        increase = mean / before - 1 if before else None
        rows.append(Growth(activity.model, name, mean, mean / activity.neurons, increase))
    return rows
