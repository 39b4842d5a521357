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
from roadworthy.runs import RunResult, run
from roadworthy.selftest.faults import SOUND, FaultBench, SeededFault, Sighting, answering

_TOLERATED = 0.5  # metres beside the middle of the lane
_METRES = 250.0
_FPS = 5.0
_STEADY = 8.0  # seconds until the vehicle drives as fast as it will


def _driven(bench: FaultBench, steer: Callable[[float, float], float]) -> RunResult:
    """Let the careful driver drive, with its steering changed as a function of itself and of time."""
    start = Scenario("world:meadow", {"traffic": 0, "fps": _FPS}, DriveLimits(metres=_METRES))
    oracle = Thresholds({"Max(LP)": _TOLERATED, "Min(LP)": -_TOLERATED}, {"Max(LP)": "up", "Min(LP)": "down"})
    asked = DrivingQuality(oracle, (start,)).requirement("D")
    frames = itertools.count()

    def answer(frame: Frame) -> Signals:
        assert frame.signals.steering is not None
        changed = steer(frame.signals.steering, next(frames) / _FPS)
        return dataclasses.replace(frame.signals, steering=changed)

    return run(
        DrivingMethod(), asked, NO_FRAMES, answering(answer), simulator=ScenarioDriver(), seed=bench.seed
    )


def _judged(result: RunResult) -> Sighting:
    counts = result.counts
    told = f"{counts[Status.VIOLATED]} sectors violated, {counts[Status.PASSED]} passed"
    return Sighting(counts[Status.VIOLATED] + counts[Status.ERROR] > 0, told)


def _pulls(size: float, bench: FaultBench) -> Sighting:
    return _judged(_driven(bench, lambda steering, _: steering + size))


def _swerves(size: float, bench: FaultBench) -> Sighting:
    return _judged(_driven(bench, lambda steering, at: steering + size * (_STEADY < at <= _STEADY + 1)))


def _backwards(size: float, bench: FaultBench) -> Sighting:
    return _judged(_driven(bench, lambda steering, _: steering if size == SOUND else -steering))


def _sine(size: float, bench: FaultBench) -> Sighting:
    """Compare metrics of a drive that swings by a known amplitude with what a sine has."""
    del bench
    time = np.arange(0, 10, 0.01)
    swing = size * np.sin(2 * math.pi * time)
    found = compute(Drive("swing", time, {"lane_offset": swing}), ["Max(LP)", "SD(LP)"])
    largest, deviation = (float(found[name][0]) for name in ("Max(LP)", "SD(LP)"))
    said = f"Max(LP) {largest:.4g}, SD(LP) {deviation:.4g}, known {size:g} and {size / math.sqrt(2):.4g}"
    if size == SOUND:
        return Sighting(largest != 0 or deviation != 0, said)
    right = math.isclose(largest, size, rel_tol=1e-3) and math.isclose(
        deviation, size / math.sqrt(2), rel_tol=1e-3
    )
    return Sighting(right, said)


def _oracle(size: float, bench: FaultBench) -> Sighting:
    """Fit thresholds to good sectors and to bad ones of which so many are beyond all good ones."""
    del bench
    good = np.linspace(0.1, 0.3, 21)
    bad = np.where(np.arange(20) < size, 0.5, 0.2)
    found = fit_oracle({"SD(LP)": good}, {"SD(LP)": bad})
    said = f"{found.alarms} alarms of {found.sectors}, known {size:g}"
    return Sighting(found.alarms > 0 if size == SOUND else found.alarms == size and found.optimal, said)


def _other_answers(size: float, bench: FaultBench) -> Sighting:
    """Compare a network with one whose answers are off by a known number."""
    import torch

    from roadworthy.training.mutants import same

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
    mutant = (
        network
        if size == SOUND
        else mutate(network, torch.zeros(1, 20), Mutation("GF", ratio=size / 100, seed=bench.seed)).module
    )
    pairs = zip(network.state_dict().items(), mutant.state_dict().values(), strict=True)
    changed = sum(int((one != two).sum()) for (name, one), two in pairs if name.endswith("weight"))
    known = round(size / 100 * weights)
    said = f"{changed} of {weights} weights changed, known {known}"
    return Sighting(changed > 0 if size == SOUND else changed == known, said)


_CAREFUL = "the careful driver, who keeps to the middle of the lane"

FAULTS: tuple[SeededFault, ...] = (
    SeededFault(
        "driving/pulls to one side",
        "driving/missed",
        f"a model that always steers too far to the right; {_TOLERATED} m beside the middle are tolerated",
        _CAREFUL,
        _pulls,
        (0.5, 1.0, 2.0, 4.0, 8.0),
        "{}°",
        4.0,
        "A driver corrects what it sees, so a small error moves the vehicle by less than is tolerated. What "
        "is found depends on the thresholds of the oracle.",
    ),
    SeededFault(
        "driving/swerves once",
        "driving/missed",
        "a model that steers to the right for one second, once",
        _CAREFUL,
        _swerves,
        (2.0, 5.0, 10.0, 20.0),
        "{}°",
        5.0,
        "As above: a swerve that stays inside the tolerated part of the lane is no violation.",
    ),
    SeededFault(
        "driving/steers the wrong way",
        "driving/missed",
        "a model that mistakes left for right",
        _CAREFUL,
        _backwards,
    ),
    SeededFault(
        "driving/metrics",
        "driving/number",
        "a recorded drive that swings to and fro by a known amplitude, of which two metrics are known",
        "a drive in the middle of the lane",
        _sine,
        (0.001, 0.1, 2.0),
        "m",
        0.001,
    ),
    SeededFault(
        "driving/oracle",
        "driving/number",
        "bad drives, so many of which are worse than any good one: as many alarms must the best oracle raise",
        "bad drives that are as good as good ones",
        _oracle,
        (1.0, 5.0, 20.0),
        "{} of 20 sectors",
    ),
    SeededFault(
        "driving/mutant or copy",
        "driving/missed",
        "a mutant whose answers are off by a known number of degrees",
        "a copy of the network",
        _other_answers,
        (1e-6, 1e-4, 0.01, 1.0),
        "{}°",
        1e-4,
        "Answers nearer than 0.00001, or than that share of the largest, are alike: single precision tells "
        "no more.",
        extra="torch",
    ),
    SeededFault(
        "driving/mutated weights",
        "driving/number",
        "a mutation of a known share of the weights; as many must be changed",
        "the network itself",
        _mutated_weights,
        (1.0, 3.0, 50.0),
        "{}% of the weights",
        extra="torch",
    ),
)
"""All of them."""
