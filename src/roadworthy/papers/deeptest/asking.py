"""What models answer on seed images and on what transformations make of them: what the oracle judges."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from roadworthy.coverage.oracle import ModelAnswers, Pair
from roadworthy.coverage.parameter_sets import ParameterSet
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models import SystemUnderTest
from roadworthy.papers.deeptest.activity import (
    Progress,
    batches,
    changed_image,
    check_names,
    silent,
    steering_of,
)


def ask_models(
    models: Sequence[SystemUnderTest],
    frames: Iterable[Frame],
    sets: Sequence[ParameterSet],
    *,
    units: SignalUnits | None = None,
    seed: int = 0,
    batch: int = 64,
    progress: Progress = silent,
) -> list[ModelAnswers]:
    """Ask models about seed images and about their changed images, for the oracle.

    Changed images are made once for all models and are not kept.

    Args:
        models: The models; anything that predicts steering.
        frames: The seed images with recorded steering.
        sets: The transformations with their parameters.
        units: The native units of the data set, in which errors are computed; degrees when left out.
        seed: The same seed makes the same images.
        batch: Images that a model sees at a time.
        progress: Told how many seed images are done.

    Raises:
        InputError: There are no models, frames or labels, or a model does not predict steering.
        SystemUnderTestError: An answer has no steering, or one that is no finite number.

    Example:
        >>> from roadworthy.coverage.parameter_sets import parameter_sets
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> frames = load("world:town", count=3)
        >>> (answers,) = ask_models([load_model("dave2")], frames, parameter_sets(["rain"]))
        >>> answers.labels.size, len(answers.changed), answers.unit
        (3, 10, 'deg')
    """
    check_names(models)
    check_number("batch", batch, least=1)
    native = units or SignalUnits()
    labels: list[float] = []
    ids: list[str] = []

    def images() -> Iterable[Frame]:
        for frame in frames:
            if frame.signals.steering is None:
                raise InputError(
                    f"frame {frame.id!r} has no recorded steering, and Equation 2 compares predictions with "
                    "labels: read the frames from a data set that has them"
                )
            labels.append(frame.signals.steering)
            ids.append(frame.id)
            yield frame
            for one in sets:
                for choice in one:
                    yield changed_image(frame, one.name, choice, seed)
            progress(len(ids))

    found = _steered(models, images(), batch)
    if not ids:
        raise InputError("expected at least one seed image, got none")
    pairs: list[Pair] = [(one.name, choice.parameter) for one in sets for choice in one]
    unit = native.steering if isinstance(native.steering, str) else "units of the recording"
    answers = []
    for model, numbers in zip(models, found, strict=True):
        first, *changed = native.encode_steering(np.array(numbers).reshape(len(ids), -1)).T
        given = dict(zip(pairs, changed, strict=True))
        right = native.encode_steering(np.array(labels))
        answers.append(ModelAnswers(model.name, right, first, given, unit=unit, frames=ids))
    return answers


def add_images(
    models: Sequence[SystemUnderTest],
    answers: Sequence[ModelAnswers],
    name: str,
    images: Iterable[tuple[str, Frame]],
    *,
    units: SignalUnits | None = None,
    batch: int = 64,
) -> list[ModelAnswers]:
    """Ask the models about further images of the same seed images, such as those that a search found.

    Args:
        models: The models that were asked.
        answers: What they answered.
        name: What the images are called, such as `guided`.
        images: Each with the id of its seed image.
        units: As for `ask_models`.
        batch: Images that a model sees at a time.

    Raises:
        InputError: There are no images, or one is of no seed image that the models were asked about.
    """
    check_number("batch", batch, least=1)
    native = units or SignalUnits()
    places = {one: place for place, one in enumerate(answers[0].frames)}
    seeds: list[int] = []

    def frames() -> Iterable[Frame]:
        for seed, frame in images:
            if seed not in places:
                raise InputError(f"{name}: expected images of the seed images, got one of {seed!r}")
            seeds.append(places[seed])
            yield frame

    found = _steered(models, frames(), batch)
    if not seeds:
        raise InputError(f"{name}: expected at least one image, got none")
    pair: Pair = (name, "")
    return [
        dataclasses.replace(
            one,
            changed={**one.changed, pair: np.asarray(native.encode_steering(np.array(numbers)), np.float64)},
            seeds={**one.seeds, pair: np.array(seeds)},
        )
        for one, numbers in zip(answers, found, strict=True)
    ]


def _steered(models: Sequence[SystemUnderTest], frames: Iterable[Frame], batch: int) -> list[list[float]]:
    """Return what each model steers on each frame; the frames are read once and not kept."""
    found: list[list[float]] = [[] for _ in models]
    for some in batches(frames, batch):
        for model, numbers in zip(models, found, strict=True):
            given = zip(model.predict(some), some, strict=True)
            numbers += [steering_of(model.name, *one) for one in given]
    return found
