"""Faults in the training data: TCL, TRD, TUD, TAN and TCO."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.mutants.training.operators import TrainingMutation
from roadworthy.errors import InputError
from roadworthy.models.training import Samples
from roadworthy.seeding import rng_for

__all__ = ["changed_samples", "kinds_of"]


def kinds_of(targets: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return a number for the kind of each sample: below, within or above a standard deviation, per signal.

    DeepCrime counts standard deviations from 0. Speeds are all far above 0, so here they are counted from the
    mean, but for steering the two hardly differ.

    Example:
        >>> kinds_of(np.array([[-9.0], [0.0], [0.1], [9.0]])).tolist()
        [0, 1, 1, 2]
    """
    spread, middle = targets.std(axis=0), targets.mean(axis=0)
    places = 1 + (targets > middle + spread).astype(np.int64) - (targets < middle - spread)
    weights = 3 ** np.arange(targets.shape[1])[::-1]
    found: NDArray[np.int64] = (places * weights).sum(axis=1)
    return found


def changed_samples(samples: Samples, mutation: TrainingMutation) -> Samples:
    """Return training data with a fault in it.

    Args:
        samples: The data.
        mutation: TCL: noise on the labels, its standard deviation in percent of theirs. TRD: percent of the
            samples of every kind that are removed. TUD: the same of those kinds alone that have fewer samples
            than the average kind. TAN: percent of the images that get noise, and its standard deviation in
            percent of that of the image. TCO: percent of the most frequent kind that are repeated with labels
            of the second most frequent.

    Raises:
        InputError: Nothing would be left to learn from, or the value is no percentage.
    """
    share = (mutation.value or 0.0) / 100
    if not 0 <= share <= 1:
        raise InputError(f"{mutation.operator} takes a percentage from 0 to 100, got {mutation.value}")
    # The value is no part of the key: a larger one does more of the same.
    rng = rng_for(mutation.seed, "training mutant", mutation.operator)
    name = f"{samples.name}, {mutation.name}"
    if mutation.operator == "TCL":
        noise = rng.normal(0.0, 1.0, samples.targets.shape) * samples.targets.std(axis=0) * share
        return dataclasses.replace(samples, name=name, targets=(samples.targets + noise).astype(np.float32))
    if mutation.operator == "TAN":
        return dataclasses.replace(samples, name=name, images=_noisy(samples.images, share, rng))
    if mutation.operator == "TCO":
        return dataclasses.replace(_overlapping(samples, share, rng), name=name)
    left = _left(samples.targets, share, rng, only_rare=mutation.operator == "TUD")
    if not len(left):
        raise InputError(f"{mutation.name} leaves nothing to learn from of {samples.name}: remove less")
    return samples.take(left, name)


def _noisy(images: NDArray[np.uint8], share: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    found = images.copy()
    for number in rng.permutation(len(images))[: round(share * len(images))].tolist():
        image = images[number].astype(np.float32)
        noise = rng.standard_normal(image.shape, np.float32) * (image.std() * share)
        found[number] = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
    return found


def _left(
    targets: NDArray[np.float32], share: float, rng: np.random.Generator, *, only_rare: bool
) -> NDArray[np.intp]:
    """Return which samples are left when a share of every kind, or of every rare kind, is removed."""
    kinds = kinds_of(targets)
    numbers, counts = np.unique(kinds, return_counts=True)
    gone = [np.zeros(0, np.intp)]
    for number in numbers[counts < counts.mean()] if only_rare else numbers:
        members = rng.permutation(np.flatnonzero(kinds == number))
        gone.append(members[: int(share * len(members))])
    return np.setdiff1d(np.arange(len(targets)), np.concatenate(gone))


def _overlapping(samples: Samples, share: float, rng: np.random.Generator) -> Samples:
    """Return the samples with some of the most frequent kind once more, as if they were of the second."""
    kinds = kinds_of(samples.targets)
    numbers, counts = np.unique(kinds, return_counts=True)
    if len(numbers) < 2:
        raise InputError(f"TCO needs samples of two kinds, and those of {samples.name} are all of one")
    first, second = numbers[np.argsort(-counts, kind="stable")[:2]]
    members = rng.permutation(np.flatnonzero(kinds == first))
    repeated = members[: int(share * len(members))]
    labels = samples.targets[rng.choice(np.flatnonzero(kinds == second), len(repeated))]
    return dataclasses.replace(
        samples,
        windows=np.concatenate([samples.windows, samples.windows[repeated]]),
        targets=np.concatenate([samples.targets, labels]),
        drives=np.concatenate([samples.drives, samples.drives[repeated]]),
    )
