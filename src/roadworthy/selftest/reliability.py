"""Faults that reliability must find: models that break before people do, and people who see less."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from roadworthy.cases import ClassScores, Outcome, OutcomeStatus
from roadworthy.frames import Frame
from roadworthy.reliability import Accuracy, Preservation, ReliabilityMethod, transformation_named
from roadworthy.reliability.human.simulated import SimulatedHumans
from roadworthy.reliability.human.thresholds import estimate_threshold
from roadworthy.runs import run
from roadworthy.selftest.faults import SOUND, FaultBench, Frames, Sighting, answering, described, world_frames
from roadworthy.visual_change import visual_change

_LIMIT = 0.8  # of the visual change up to which people are right
_TRUE, _WRONG = "vehicle", "tree"
_TOLERANCE = 0.05  # of a share of some hundred images
_FROM = 0.6  # the visual change from which on people do worse


# Fewer cannot show that at most 0.05 is lost, however sound the model.
_IMAGES = 60


def _things(seed: int) -> Frames:
    frames = world_frames(_IMAGES, seed, "96x48")
    return Frames("things", [frame.replace(metadata={"class": _TRUE}) for frame in frames])


def _answer(right: bool) -> ClassScores:
    return ClassScores((_TRUE, _WRONG), np.array([1.0, 0.0] if right else [0.0, 1.0]))


@lru_cache(maxsize=16)
def _checked(seed: int, quick: bool, breaks_at: float) -> Outcome:
    """Test a classifier that is right up to a visual change, and always wrong beyond it.

    It measures the visual change itself, against originals of its own.
    """
    data = _things(seed)
    originals = {frame.id: frame.image for frame in data}

    def answer(frame: Frame) -> ClassScores:
        if frame.id in originals:
            return _answer(True)
        # A changed frame is named after its original.
        return _answer(visual_change(originals[frame.id.partition("~")[0]], frame.image) <= breaks_at)

    kind, versions = transformation_named("contrast"), 2 if quick else 6
    asked = Preservation("correctness", kind, _LIMIT, Accuracy(), versions=versions)
    return run(ReliabilityMethod(), asked.requirement("R"), data, answering(answer), seed=seed).outcome


def _breaks_early(size: float, bench: FaultBench) -> Sighting:
    found = _checked(bench.seed, bench.quick, _LIMIT - size)
    return Sighting(found.status is not OutcomeStatus.PASSED, f"{found.status.value}: {found.summary}")


def _distance(size: float, bench: FaultBench) -> Sighting:
    """Compare the reliability distance with the share of the range in which the model is wrong."""
    distance = float(str(_checked(bench.seed, bench.quick, _LIMIT - size).measures["distance"]))
    known = size / _LIMIT
    said = f"reliability distance {distance:.3f}, known {known:.3f}"
    if size == SOUND:
        return Sighting(distance != 0, said)
    return Sighting(abs(distance - known) <= _TOLERANCE, said)


def _people(size: float, bench: FaultBench) -> Sighting:
    """Ask simulated people, whose right answers begin to fall at a known visual change."""
    originals = 0.97
    people = SimulatedHumans(_FROM, originals, originals - size / 100)
    found = estimate_threshold(people.answer(seed=bench.seed), rule="careful", samples=200, seed=bench.seed)
    assert found.interval is not None
    low, high = found.interval
    said = f"drop from {low:.2f} to {high:.2f}" if found.found else "no drop"
    return Sighting(found.found and (size == SOUND or low <= _FROM <= high), said)


def _wrong_alike(size: float, bench: FaultBench) -> Sighting:
    """Seed a model that is wrong about the originals as well, so that no change makes it worse."""
    data = _things(bench.seed)
    asked = Preservation("prediction", transformation_named("contrast"), _LIMIT, Accuracy(), versions=6)
    system = answering(lambda _: _answer(size == SOUND))
    found = run(ReliabilityMethod(), asked.requirement("R"), data, system, seed=bench.seed).outcome
    return Sighting(found.status is not OutcomeStatus.PASSED, f"{found.status.value}: {found.summary}")


_SEEDED = {
    "breaks too early": _breaks_early,
    "distance": _distance,
    "people": _people,
    "wrong alike": _wrong_alike,
}
FAULTS = described("reliability", _SEEDED)
