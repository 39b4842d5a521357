"""How well the five levels of ImageNet-C cover the range that humans tolerate (RQ2 of Hu et al.)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.reliability.sampling import Changed, Sampling, changed_frames
from roadworthy.reliability.transformations import Transformation
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import DEFAULT_STUDY, known_tolerance

__all__ = ["LevelStudy", "study_levels"]

PARTS = 10

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LevelStudy:
    """Visual changes under one transformation, by how they are chosen.

    Attributes:
        transformation: Its name.
        correctness: t_c; None where nobody has measured it.
        prediction: t_p, likewise.
        levels: Δv at the five levels of ImageNet-C: levels × images; none where it has no such change.
        even: Δv of images that are drawn evenly over Δv, up to the larger of the two limits.
        published: Δv of images whose parameters are drawn as the paper's authors do, up to the same limit.
    """

    transformation: str
    correctness: float | None
    prediction: float | None
    levels: Values
    even: Values
    published: Values

    @property
    def limit(self) -> float:
        """The larger of the two limits; 1 where there are none."""
        return max((one for one in (self.correctness, self.prediction) if one is not None), default=1.0)

    @property
    def range(self) -> tuple[float, float] | None:
        """The least and the largest Δv of the five levels (Figure 5)."""
        return (float(self.levels.min()), float(self.levels.max())) if self.levels.size else None

    @property
    def beyond(self) -> float | None:
        """The share of the images of the five levels that are outside the tolerated range."""
        return float((self.levels > self.limit).mean()) if self.levels.size else None

    def covered(self, values: Values, parts: int = PARTS) -> float:
        """Return the share of equal parts of the tolerated range that hold one in a hundred values or more.

        Example:
            >>> nothing = np.zeros((0, 0))
            >>> study = LevelStudy("fog", 0.8, 0.5, nothing, nothing, nothing)
            >>> study.covered(np.linspace(0, 0.39, 100))
            0.5
        """
        if not values.size:
            return 0.0
        inside = values[values <= self.limit]
        counts = np.histogram(inside, parts, (0.0, self.limit))[0]
        return float((counts >= 0.01 * values.size).mean())


def study_levels(
    data: Dataset,
    transformations: Iterable[Transformation],
    *,
    versions: int = 5,
    study: str = DEFAULT_STUDY,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[LevelStudy]:
    """Measure the visual change of ImageNet-C's levels and of both ways to draw, on the frames of a data set.

    Args:
        data: The frames.
        transformations: What changes them.
        versions: How many changed images are drawn of each frame.
        study: Whose limits.
        seed: The same seed gives the same numbers.
        progress: Called after each transformation.

    Raises:
        InputError: There are no frames.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> (blur,) = study_levels(load("world:town", count=3), [transformation_named("defocus blur")])
        >>> blur.levels.shape, blur.range[0] > 0.5
        ((5, 3), True)
    """
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    found = []
    for one in transformations:
        known = known_tolerance(one.name, study=study)
        limit = 1.0 if known is None else max(known.correctness, known.prediction)
        asked = {"data": data, "transformation": one, "versions": versions, "seed": seed}
        levels = _changes(limit=1.0, sampling="levels", **asked) if one.levels else np.zeros(0)  # type: ignore[arg-type]
        found.append(
            LevelStudy(
                one.name,
                None if known is None else known.correctness,
                None if known is None else known.prediction,
                levels.reshape(-1, max(1, len(one.levels))).T,
                _changes(limit=limit, sampling="even", **asked),  # type: ignore[arg-type]
                _changes(limit=limit, sampling="published", **asked) if one.published else np.zeros(0),  # type: ignore[arg-type]
            )
        )
        progress()
    return found


def _changes(
    data: Dataset, transformation: Transformation, limit: float, versions: int, seed: int, sampling: Sampling
) -> Values:
    made: Iterable[Changed] = (
        changed
        for _, _, _, changed in changed_frames(
            data,
            transformation,
            limit,
            versions=versions,
            rng=rng_for(seed, "cases"),
            sampling=sampling,
        )
    )
    values = []
    for changed in made:
        try:
            change = changed().visual_change
        except NotApplicable:
            continue
        assert change is not None
        values.append(change)
    return np.array(values, np.float64)
