"""What a suite will take: measured on a few of its cases, and multiplied. An estimate, no promise."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from roadworthy.cases import Requirement, Status
from roadworthy.datasets import ChosenFrames
from roadworthy.errors import RoadworthyError
from roadworthy.frames import Frame
from roadworthy.models import SystemUnderTest
from roadworthy.runs.executors import Executor, ImageRetention, Retention
from roadworthy.runs.several import run_several
from roadworthy.runs.store.estimate import estimate_images
from roadworthy.runs.suites.running import Pass

_REQUIREMENTS = 8  # of a pass, at most, that are tried
_FRAMES = 3
_SHORTEST = 0.3  # seconds; a shorter probe is repeated with more frames


@dataclass(frozen=True)
class Estimate:
    """What a pass will take.

    Attributes:
        name: What is run.
        requirements: How many requirements.
        models: How many models.
        cases: About how many cases, all models together.
        seconds: For all of them in one process; None where the probe failed.
        probed: How many cases were tried for it.
        image_bytes: About how much room images will take, if as many cases fail as in the probe.
        most_bytes: The same if every case fails.
        problem: Why the probe failed.
    """

    name: str
    requirements: int
    models: int
    cases: int
    seconds: float | None
    probed: int
    image_bytes: int
    most_bytes: int
    problem: str = ""


def estimate_passes(
    passes: Sequence[Pass], images: ImageRetention = "failures", executor: Executor | None = None
) -> Iterator[Estimate]:
    """Yield what each pass will take, from a short probe of each kind of requirement on each data.

    Args:
        passes: What would be run.
        images: Of which cases images would be kept.
        executor: Where the probes are carried out; one process of it is measured. This one if left out.
    """
    known: dict[tuple[str, str, tuple[str, ...]], _Probe] = {}
    for one in passes:
        key = one.kind.name, one.trials[0].data, tuple(one.models)
        if one.kind.one_at_a_time:
            key = (*key[:2], (*key[2], one.trials[0].requirement.id))
        if key not in known:
            known[key] = _probe(one, executor)
        yield _scaled(one, known[key], images)


@dataclass(frozen=True)
class _Probe:
    """What trying a few cases took.

    Attributes:
        seconds: How long.
        share: Which part of all work of the requirements that were tried it was.
        requirements: How many were tried.
        cases: How many cases came of it, all models together.
        failing: How many of them failed.
    """

    seconds: float
    share: float
    requirements: int
    cases: int = 0
    failing: int = 0
    problem: str = ""


def _probe(one: Pass, executor: Executor | None) -> _Probe:
    trials = one.trials[:_REQUIREMENTS]
    ids = {trial.requirement.id for trial in trials}
    small = Pass(one.plan, trials, frozenset(pair for pair in one.pairs if pair[0] in ids))
    frames = len(one.data)
    try:
        with TemporaryDirectory(prefix="roadworthy-probe-") as folder:
            # The first one is not counted: it opens models and fills caches.
            systems = small.systems()
            _tried(small, systems, Path(folder, "first"), 2, executor)
            found = _tried(small, systems, Path(folder, "second"), _FRAMES, executor)
            if found.seconds < _SHORTEST and frames > _FRAMES:
                found = _tried(small, systems, Path(folder, "third"), 5 * _FRAMES, executor)
            return found
    except RoadworthyError as error:
        return _Probe(0.0, 1.0, len(trials), problem=str(error))


def _tried(
    small: Pass, systems: Sequence[SystemUnderTest], folder: Path, count: int, executor: Executor | None
) -> _Probe:
    data = small.data
    if isinstance(data, ChosenFrames):
        data = data.sampled(count)
    share = 1.0
    requirements: list[Requirement] = []
    for trial in small.trials:
        parameters, share = trial.kind.probed(trial.part, len(data), len(small.data))
        requirements.append(replace(trial.requirement, parameters=parameters))
    start = time.perf_counter()
    found = run_several(
        small.method(systems),
        requirements,
        data,
        systems,
        out=folder,
        seed=small.plan.context.seed,
        images="none",
        executor=executor,
        simulator=small.simulator(),
        tested=lambda requirement, system: (requirement.id, system.name) in small.pairs,
    )
    seconds = time.perf_counter() - start
    counts = sum((Counter(one.counts) for one in found.results.values()), Counter[Status]())
    failing = counts[Status.VIOLATED] + counts[Status.ERROR]
    return _Probe(seconds, share, len(small.trials), counts.total(), failing)


def _scaled(one: Pass, probe: _Probe, images: ImageRetention) -> Estimate:
    times = len(one.trials) / probe.requirements / probe.share
    pairs = len(one.pairs)
    # Of objects it is not known beforehand how many there are; of drives and tries it is.
    counted = one.kind.needs_data and not one.kind.one_at_a_time and probe.cases
    cases = round(probe.cases * times) if counted else one.cases * len(one.models)
    likely = most = 0
    if one.trials[0].data and images != "none":
        failing = probe.failing / probe.cases if probe.cases else 1.0
        first: Frame = one.plan.data[one.trials[0].data].first
        # Pairs of one requirement share its frames.
        shared = cases * len(one.trials) // max(1, pairs)
        room = estimate_images([first], Retention(images), cases=shared, failing=min(1.0, failing))
        likely, most = room.likely, room.most
    size = len(one.trials), len(one.models), cases
    seconds = None if probe.problem else probe.seconds * times
    return Estimate(one.name, *size, seconds, probe.cases, likely, most, probe.problem)
