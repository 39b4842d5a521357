"""What the detector and the classifier are trained, validated and evaluated with: the built-in world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from roadworthy.cases import Dataset
from roadworthy.datasets import WorldCropsDataset, WorldDataset
from roadworthy.world import HELD_OUT_TRACK_NAMES

__all__ = ["Use", "classifier_data", "detector_data"]

Use: TypeAlias = Literal["training", "validation", "evaluation"]

_FIRST_SEED: Mapping[Use, int] = {"training": 1100, "validation": 1200, "evaluation": 1300}
_HELD_OUT = ",".join(HELD_OUT_TRACK_NAMES)
_SKIES: Mapping[str, object] = {"weather": "all", "time": "all", "level": "all"}


def detector_data(use: Use, *, quick: bool = False) -> dict[str, Dataset]:
    """Return the frames for the detector in parts, each with a name that says how to get it again.

    Signs and lights stand where the scenery has them, so there are many sceneries, each by its own seed. Half
    of the frames are of the town, which has most of the traffic lights. For training there is twice the usual
    traffic, so that a picture teaches more.

    Args:
        use: What they are for; seeds, and with them scenery, places and traffic, differ, and evaluation has
            the tracks that are held out.
        quick: Whether a few frames will do.

    Example:
        >>> for name in detector_data("evaluation", quick=True):
        ...     print(name)
        world:coast,village weather=all time=all level=all traffic=1.0 count=16 seed=1300
    """
    seeds, frames, traffic = {
        "training": (24, 24_000, 2.0),
        "validation": (4, 1_200, 1.0),
        "evaluation": (8, 4_000, 1.0),
    }[use]
    if quick:
        seeds, frames = 1, 16
    where = [_HELD_OUT] if use == "evaluation" else ["all", "town"]
    options = {**_SKIES, "traffic": traffic, "count": frames // seeds // len(where)}
    found: dict[str, Dataset] = {}
    for path in where:
        found |= _parts(WorldDataset, f"world:{path}", options, use, seeds)
    return found


def classifier_data(use: Use, *, quick: bool = False) -> dict[str, Dataset]:
    """Return the images for the classifier, as `detector_data` does.

    Example:
        >>> list(classifier_data("validation", quick=True))
        ['world-crops:all weather=all time=all level=all count=45 seed=1200']
    """
    seeds, images = {"training": (8, 32_000), "validation": (2, 3_000), "evaluation": (3, 4_500)}[use]
    if quick:
        seeds, images = 1, 45
    tracks = _HELD_OUT if use == "evaluation" else "all"
    return _parts(
        WorldCropsDataset, f"world-crops:{tracks}", {**_SKIES, "count": images // seeds}, use, seeds
    )


def _parts(
    kind: Callable[..., Dataset], reference: str, options: Mapping[str, object], use: Use, seeds: int
) -> dict[str, Dataset]:
    """Return a data set for each of some seeds; the name of the first has the options of all."""
    path = reference.partition(":")[2]
    told = " ".join([reference, *(f"{key}={value}" for key, value in options.items())])
    numbers = range(_FIRST_SEED[use], _FIRST_SEED[use] + seeds)
    return {
        f"{told if seed == numbers[0] else reference} seed={seed}": kind(path, **options, seed=seed)
        for seed in numbers
    }
