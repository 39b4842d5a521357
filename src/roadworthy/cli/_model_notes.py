"""What looks wrong when a model is tried: the mistakes that people make when they describe one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Prediction
    from roadworthy.frames import Frame
    from roadworthy.models import SystemUnderTest

__all__ = ["notes"]

_ENOUGH_FRAMES = 5
_ENOUGH_SPREAD = 0.5  # standard deviation of the truth, in degrees or m/s
_ENOUGH_REACTION = 0.01  # the spread of the answers, as a share of that of the truth
_SAME_FACTOR = 0.1

# How many times the truth a model answers whose numbers are read in another unit than they have.
_FACTORS: Mapping[str, Mapping[str, float]] = {
    "steering": {
        "rad": 1 / 57.296,
        "deg": 57.296,
        "a share of 25°": 1 / 25,
        "deg and not a share of 25°": 25,
        "the angle of a steering wheel, see output.units.steering_ratio": 14.4,
        "the angle at the wheels, without a steering_ratio": 1 / 14.4,
    },
    "speed": {"km/h": 3.6, "m/s and not km/h": 1 / 3.6, "mph": 2.237, "m/s and not mph": 1 / 2.237},
}


def notes(
    system: SystemUnderTest, dataset: Dataset, frames: Sequence[Frame], answers: Sequence[Prediction]
) -> list[str]:
    """Return what looks wrong with a model, a sentence each."""
    return [
        *getattr(system, "notes", ()),
        *_unmatched(system, dataset),
        *_misspelt(answers),
        *(note for name in _FACTORS for note in _about_signal(name, system, frames, answers)),
    ]


def _unmatched(system: SystemUnderTest, dataset: Dataset) -> Iterator[str]:
    from roadworthy.models import Recorded

    ids = getattr(dataset, "ids", ())
    if isinstance(system, Recorded) and ids and (unmatched := system.unmatched(ids)):
        yield (
            f"{len(unmatched)} of {len(system)} records are for images that {dataset.name} does not have, "
            f"such as {unmatched[0]!r}"
        )


def _misspelt(answers: Sequence[Prediction]) -> Iterator[str]:
    from dataclasses import fields

    from roadworthy.frames import Signals

    known = [one.name for one in fields(Signals) if one.name != "extra"]
    extra = {name: None for answer in answers if isinstance(answer, Signals) for name in answer.extra}
    for name in extra:
        for meant in get_close_matches(name.lower(), known, n=1, cutoff=0.7):
            yield f"{name!r} is kept as an extra signal; did you mean {meant!r}?"


def _about_signal(
    name: str, system: SystemUnderTest, frames: Sequence[Frame], answers: Sequence[Prediction]
) -> Iterator[str]:
    from roadworthy.frames import Signals
    from roadworthy.models import Network

    pairs = [
        (getattr(frame.signals, name), getattr(answer, name))
        for frame, answer in zip(frames, answers, strict=True)
        if isinstance(answer, Signals) and getattr(answer, name) is not None
    ]
    known = [(truth, answer) for truth, answer in pairs if truth is not None]
    given = {answer for _, answer in pairs}
    if len(pairs) > 1 and len(given) == 1 and given != {truth for truth, _ in known}:
        question = ": are the input's colours and range right?" if isinstance(system, Network) else ""
        yield f"{name} is the same for every frame{question}"
    elif _goes_against(known) and name == "steering":
        yield "steering goes against the truth: is output.units.steering_positive right?"
    elif (found := _other_unit(name, known)) is not None:
        factor, unit = found
        yield (
            f"{name} is {factor:.3g} times the truth: is output.units.{name} right? "
            f"The numbers look like {unit}"
        )


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return how the answers go with the truth; 0 where there is too little to tell from."""
    import numpy as np

    if len(pairs) < _ENOUGH_FRAMES:
        return 0.0
    truth, answer = np.array(pairs).T
    if truth.std() < _ENOUGH_SPREAD or answer.std() < _ENOUGH_REACTION * truth.std():
        return 0.0
    return float(np.corrcoef(truth, answer)[0, 1])


def _goes_against(pairs: Sequence[tuple[float, float]]) -> bool:
    return _correlation(pairs) < -0.7


def _other_unit(name: str, pairs: Sequence[tuple[float, float]]) -> tuple[float, str] | None:
    """Return how many times the truth the answers are, and their unit, if that is a conversion of units."""
    import numpy as np

    if _correlation(pairs) < 0.9:
        return None
    truth, answer = np.array(pairs).T
    found = float(answer.std() / truth.std())
    for unit, factor in _FACTORS[name].items():
        # An untrained network may vary as much by chance, but it does so around another value.
        off = np.sqrt(np.mean((answer - factor * truth) ** 2) / np.mean((factor * truth) ** 2))
        if abs(found / factor - 1) <= _SAME_FACTOR and off < 0.5:
            return found, unit
    return None
