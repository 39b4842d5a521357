"""Changed frames whose visual change lies where it shall: evenly between 0 and the edge of a range.

Parameters drawn evenly give images that are nearly all alike: of JPEG's qualities from 1 to 100, nine of ten
change an image by less than half of what quality 1 does. So it is the visual change that is drawn evenly, and
the strength that has it is found for each image by interpolation: Δv grows with the strength. What counts is
the Δv that was measured in the end; where it does not grow with the strength, the samples are less even, but
never outside the range.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

import numpy as np

from roadworthy.cases import Dataset, FrameSource, originals
from roadworthy.errors import InputError, NotApplicable, check_choice
from roadworthy.frames import Frame
from roadworthy.reliability.transformations import Transformation
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform, reference_of

Sampling: TypeAlias = Literal["even", "published", "levels"]
"""Which changes are tried: even over Δv; parameters as the paper's authors draw them, again where Δv is above
the limit; or the five levels of ImageNet-C, whatever their Δv."""

CLOSE = 0.01
"""How near to the wanted Δv is near enough: a bin of the human data."""
LEAST_REACH = 0.05
"""A frame that the strongest change changes by less says nothing about the range."""
NARROWEST = 1e-4  # of the range of strengths
MOST_STEPS = 12
MOST_DRAWS = 100


class Strengths:
    """What is known about a frame under a transformation: the visual change at some strengths.

    Args:
        frame: The frame.
        transformation: What changes it.
        seed: Of what is random about the change.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> frame = load("world:town", count=1)[0]
        >>> curve = Strengths(frame, transformation_named("contrast"), 0)
        >>> strength = curve.strength_for(0.5, limit=0.77)
        >>> abs(curve.visual_change(strength) - 0.5) < 0.01
        True
    """

    def __init__(self, frame: Frame, transformation: Transformation, seed: int) -> None:
        self.frame = frame
        self._transformation = transformation
        self._seed = seed
        self._reference = reference_of(frame)
        self._known = {0.0: 0.0}

    @property
    def reach(self) -> float:
        """The visual change at the greatest strength."""
        return self.visual_change(1.0)

    def visual_change(self, strength: float) -> float:
        """Return Δv at a strength; each is measured once."""
        if strength not in self._known:
            self._known[strength] = self.measured(self._transformation.at(strength))
        return self._known[strength]

    def measured(self, transform: Transform) -> float:
        """Return Δv of a transform on the frame."""
        return self._reference.visual_change(transform.on_image(self.frame.image, self._seed))

    def strength_for(self, target: float, *, limit: float) -> float:
        """Return a strength above 0 whose Δv is near the target and at most the limit.

        It does not depend on what was asked before.

        Raises:
            NotApplicable: Even the weakest change that was tried is above the limit.
        """
        # Its own course and not that of an earlier search: whatever the order, the same frames come out.
        tried = [(0.0, 0.0), (1.0, self.reach)]
        for step in range(MOST_STEPS):
            (low, below), (high, above) = _bracket(tried, target)
            if _nearest(tried, target, limit)[0] <= CLOSE or high - low < NARROWEST:
                break
            # The straight line between the two is mostly near; halving keeps it from creeping along a bend.
            part = (target - below) / (above - below) if above > below and step % 3 < 2 else 0.5
            strength = low + (high - low) * min(max(part, 0.05), 0.95)
            insort(tried, (strength, self.visual_change(strength)))
        distance, strength = _nearest(tried, target, limit)
        if distance == np.inf:
            least = min(change for strength, change in tried if strength > 0)
            raise NotApplicable(
                f"the weakest {self._transformation.name} that was tried has a visual change of {least:.2f}, "
                f"above the limit of {limit:g}"
            )
        return strength


Tried: TypeAlias = Sequence[tuple[float, float]]
"""Strengths with their visual changes, the weakest first."""


def _bracket(tried: Tried, target: float) -> tuple[tuple[float, float], tuple[float, float]]:
    for low, high in pairwise(tried):
        if low[1] <= target <= high[1]:
            return low, high
    return tried[-2], tried[-1]


def _nearest(tried: Tried, target: float, limit: float) -> tuple[float, float]:
    """Return the distance from the target and the strength, of the nearest; 0 is the frame itself."""
    fitting = [(abs(change - target), one) for one, change in tried if one > 0 and change <= limit]
    return min(fitting, default=(np.inf, 0.0))


@dataclass(frozen=True)
class SampledFrame:
    """A frame, changed so that its visual change has a place in the tolerated range; made where it is needed.

    The frame that is made says in ``metadata["change"]`` which `transform` made it, at which `strength` where
    it has one, and what `reach` (the largest Δv) the transformation has on this frame.

    Attributes:
        original: What gives the frame.
        transformation: What changes it.
        limit: The largest Δv.
        share: Where in the range from 0 to the limit Δv shall lie, or to the reach where that is less; from 0
            to 1. Of the five levels it chooses one.
        seed: Of what is random about the change.
        sampling: Which changes are tried.
    """

    original: FrameSource
    transformation: Transformation
    limit: float
    share: float
    seed: int
    sampling: Sampling = "even"

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, get_args(Sampling))

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The change, at its strongest."""
        return (self.transformation.at(1),)

    def __call__(self) -> Frame:
        """Return the changed frame, with its Δv.

        Raises:
            NotApplicable: The transformation does not reach the range on this frame.
        """
        # Where nothing is random, all versions of a frame share what is known about it.
        seed = self.seed if self.transformation.random else 0
        frame = self.original if isinstance(self.original, Frame) else self.original()
        curve = _strengths(frame, self.transformation, seed)
        notes: dict[str, object] = {}
        if self.sampling == "even":
            if curve.reach < LEAST_REACH:
                raise NotApplicable(
                    f"the strongest {self.transformation.name} changes the frame by Δv = {curve.reach:.2f} "
                    f"only, so it cannot reach the range up to {self.limit:g}"
                )
            target = self.share * min(self.limit, curve.reach)
            strength = curve.strength_for(target, limit=self.limit)
            transform, change = self.transformation.at(strength), curve.visual_change(strength)
            notes = {"strength": strength, "reach": curve.reach, "target": target}
        elif self.sampling == "levels":
            transform = _level(self.transformation, self.share)
            change = curve.measured(transform)
        else:
            transform, change = self._drawn(curve)
        made = transform(curve.frame, seed, measure=False)
        notes["transform"] = str(transform)
        return made.replace(visual_change=change, metadata={**made.metadata, "change": notes})

    def _drawn(self, curve: Strengths) -> tuple[Transform, float]:
        published = self.transformation.published
        if published is None:
            raise InputError(f"nobody published how to draw {self.transformation.name}: use even sampling")
        rng = rng_for(self.seed, "published")
        for _ in range(MOST_DRAWS):
            transform = published(float(rng.random()))
            change = curve.measured(transform)
            if change <= self.limit:
                return transform, change
        raise NotApplicable(
            f"of {MOST_DRAWS} draws of {self.transformation.name} none has a visual change of at most "
            f"{self.limit:g}"
        )


def _level(transformation: Transformation, share: float) -> Transform:
    levels = transformation.levels
    if not levels:
        raise InputError(f"ImageNet-C has no {transformation.name}: there are no five levels of it")
    return levels[min(int(share * len(levels)), len(levels) - 1)]


# The versions of a frame are made one after another.
_strengths = lru_cache(maxsize=4)(Strengths)


def shares(images: int, versions: int, rng: np.random.Generator) -> list[list[float]]:
    """Return places in the range, some for each image: even over all of them, and over those of each image.

    Example:
        >>> places = shares(2, 3, np.random.default_rng(1))
        >>> [[int(place * 3) for place in image] for image in places]
        [[0, 1, 2], [0, 1, 2]]
        >>> sorted(int(place * 6) for image in places for place in image)
        [0, 1, 2, 3, 4, 5]
    """
    # Version v of every image lies in the v-th part of the range; in that part, each image has its own place.
    order = np.stack([rng.permutation(images) for _ in range(versions)], axis=1)
    inside = (order + rng.random((images, versions))) / images
    return ((np.arange(versions) + inside) / versions).tolist()  # type: ignore[no-any-return]


def changed_frames(
    data: Dataset,
    transformation: Transformation,
    limit: float,
    *,
    versions: int,
    rng: np.random.Generator,
    sampling: Sampling = "even",
) -> Iterator[tuple[str, int, FrameSource, SampledFrame]]:
    """Yield, for every frame and version, the frame's id, the version, the frame and the changed frame.

    Args:
        data: The frames.
        transformation: What changes them.
        limit: The largest Δv.
        versions: How many changed frames are made of each.
        rng: The same generator gives the same bytes.
        sampling: Which changes are tried; "levels" has its own five versions.
    """
    if sampling == "levels":
        versions = len(transformation.levels)
        _level(transformation, 0)
    places = shares(len(data), versions, rng)
    key = int(rng.integers(2**63))
    for index, (id, original) in enumerate(originals(data)):
        for version in range(versions):
            seed = int(rng_for(key, id, version).integers(2**63))
            share = (version + 0.5) / versions if sampling == "levels" else places[index][version]
            yield id, version, original, SampledFrame(original, transformation, limit, share, seed, sampling)
