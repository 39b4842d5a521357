"""Figure 5 of DeepTest: by how much each transformation changes the coverage of a seed image.

(N_T - N_O) / N_O, where N_O are the neurons that the seed image activates. The paper does not say whether N_T
are those of one changed image or of all that a transformation makes of a seed image with its parameters. Both
are given. Ten images together cover more than one whatever is done to them, so as many other seed images,
unchanged, stand beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.studies.activity import Activity
from roadworthy.coverage.studies.statistics import Statistic, cohens_d, magnitude, p_text, signed_rank
from roadworthy.coverage.studies.tables import percent
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

__all__ = ["CONTROL", "Change", "ChangeStudy", "study_change"]

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
        return ResultTable(
            f"Median increase in activated neurons over {self.seeds} seed images; {self.how}",
            (
                "model",
                "transformation",
                "seed image",
                "together",
                "together %",
                "p together",
                "d together",
                "one image",
                "one image %",
                "p one image",
                "d one image",
            ),
            tuple(_cells(row) for row in self.rows),
            "Together: the neurons that all images of a transformation activate, against those of the seed "
            "image. One image: a single changed image against the seed image. The row of other seed images, "
            "unchanged, tells what as many images cover without any change. p: Wilcoxon's signed rank test "
            "over seed images; d: Cohen's.",
            name="change",
        )

    def __str__(self) -> str:
        return str(self.table())


def _cells(row: Change) -> tuple[str, ...]:
    return (
        row.model,
        f"{row.images} {row.transformation}" if row.transformation == CONTROL else row.transformation,
        f"{row.baseline:g}",
        f"{row.together:+g}",
        percent(row.together_share),
        p_text(row.test.p),
        _effect(row.effect),
        f"{row.single:+g}",
        percent(row.single_share),
        p_text(row.single_test.p),
        _effect(row.single_effect),
    )


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
