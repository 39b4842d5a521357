"""Faults that driving quality must find: models that swerve, wrong metrics, and mutants that are none."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable

import numpy as np

from roadworthy.cases import Status
from roadworthy.driving import fit_oracle
from roadworthy.driving.drives import Drive
from roadworthy.driving.method import NO_FRAMES, DrivingMethod
from roadworthy.driving.metrics import compute
from roadworthy.driving.requirements import DrivingQuality, Thresholds
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver
from roadworthy.frames import Frame, Signals
from roadworthy.runs import run
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, Sighting, answering, described

_TOLERATED = 0.5  # metres beside the middle of the lane
_METRES = 250.0
_FPS = 5.0
_STEADY = 8.0  # seconds until the vehicle drives as fast as it will


def _steering(changed: Callable[[float, float, float], float]) -> Probe:
    """Let the careful driver drive, with its steering changed as a function of itself, time and size."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        start = Scenario("world:meadow", {"traffic": 0, "fps": _FPS}, DriveLimits(metres=_METRES))
        limits = {"Max(LP)": _TOLERATED, "Min(LP)": -_TOLERATED}
        oracle = Thresholds(limits, {"Max(LP)": "up", "Min(LP)": "down"})
        asked = DrivingQuality(oracle, (start,)).requirement("D")
        frames = itertools.count()

        def answer(frame: Frame) -> Signals:
            assert frame.signals.steering is not None
            steering = changed(frame.signals.steering, next(frames) / _FPS, size)
            return dataclasses.replace(frame.signals, steering=steering)

        result = run(
            DrivingMethod(), asked, NO_FRAMES, answering(answer), simulator=ScenarioDriver(), seed=bench.seed
        )
        violated, passed = result.counts[Status.VIOLATED], result.counts[Status.PASSED]
        found = violated + result.counts[Status.ERROR] > 0
        return Sighting(found, f"{violated} sectors violated, {passed} passed")

    return probe


def _sine(size: float, bench: FaultBench) -> Sighting:
    """Compare metrics of a drive that swings by a known amplitude with what a sine has."""
    del bench
    time = np.arange(0, 10, 0.01)
    swing = size * np.sin(2 * math.pi * time)
    found = compute(Drive("swing", time, {"lane_offset": swing}), ["Max(LP)", "SD(LP)"])
    largest, deviation = (float(found[name][0]) for name in ("Max(LP)", "SD(LP)"))
    said = f"Max(LP) {largest:.4g}, SD(LP) {deviation:.4g}, known {size:g} and {size / math.sqrt(2):.4g}"
    right = np.allclose([largest, deviation], [size, size / math.sqrt(2)], 1e-3, 0)
    return Sighting.of_number(size, right, said)


def _oracle(size: float, bench: FaultBench) -> Sighting:
    """Fit thresholds to good sectors and to bad ones of which so many are beyond all good ones."""
    del bench
    good = np.linspace(0.1, 0.3, 21)
    found = fit_oracle({"SD(LP)": good}, {"SD(LP)": np.where(np.arange(20) < size, 0.5, 0.2)})
    said = f"{found.alarms} alarms of {found.sectors}, known {size:g}"
    return Sighting(found.alarms > 0 if size == SOUND else found.alarms == size and found.optimal, said)


def _other_answers(size: float, bench: FaultBench) -> Sighting:
    """Compare a network with one whose answers are off by a known number."""
    import torch

    from roadworthy.training.mutants.saving import same

    torch.manual_seed(bench.seed)
    original = torch.nn.Linear(8, 1)
    other = torch.nn.Linear(8, 1)
    other.load_state_dict(original.state_dict())
    with torch.no_grad():
        other.bias.add_(size)
    alike, difference = same(original, other, torch.rand(16, 8))
    return Sighting(not alike, f"{'equivalent' if alike else 'not equivalent'}, differs by {difference:.3g}")


def _mutated_weights(size: float, bench: FaultBench) -> Sighting:
    """Count the weights that a mutation says it changed, and those that it did."""
    import torch

    from roadworthy.training.mutants import Mutation, mutate

    torch.manual_seed(bench.seed)
    network = torch.nn.Sequential(torch.nn.Linear(20, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
    weights = 20 * 20 + 20
    mutant: torch.nn.Module = network
    if size != SOUND:
        mutant = mutate(network, torch.zeros(1, 20), Mutation("GF", size / 100, seed=bench.seed)).module
    pairs = zip(network.state_dict().items(), mutant.state_dict().values(), strict=True)
    changed = sum(int((one != two).sum()) for (name, one), two in pairs if name.endswith("weight"))
    known = round(size / 100 * weights)
    said = f"{changed} of {weights} weights changed, known {known}"
    return Sighting.of_number(size, changed == known, said)


_SEEDED = {
    "pulls to one side": _steering(lambda steering, _, size: steering + size),
    "swerves once": _steering(lambda steering, at, size: steering + size * (_STEADY < at <= _STEADY + 1)),
    "steers the wrong way": _steering(lambda steering, _, size: steering if size == SOUND else -steering),
    "metrics": _sine,
    "oracle": _oracle,
    "mutant or copy": _other_answers,
    "mutated weights": _mutated_weights,
}
FAULTS = described("driving", _SEEDED)
