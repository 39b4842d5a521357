"""What a suite will take: measured on a few of its cases, and multiplied. An estimate, no promise."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roadworthy.cases import Requirement, Status
from roadworthy.datasets import ChosenFrames
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.models import SystemUnderTest
from roadworthy.result_tables import ResultTable
from roadworthy.runs.executors import Executor, ImageRetention, Retention
from roadworthy.runs.executors.work import SAMPLE
from roadworthy.runs.several import run_several
from roadworthy.runs.suites.passes import Pass, passes_of
from roadworthy.runs.suites.planning import SuitePlan

_REQUIREMENTS = 8  # of a pass, at most, that are tried
_FRAMES = 3
_ENCODED = 5  # frames, to see how large images are
_IMAGES = 2  # of a case: one is changed and compared with the other
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
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


@dataclass(frozen=True)
class SuiteEstimate:
    """What a suite will take.

    Attributes:
        plan: The suite.
        passes: What each of its passes will take.
        workers: In how many processes.
    """

    plan: SuitePlan
    passes: tuple[Estimate, ...]
    workers: int

    @property
    def seconds(self) -> float:
        """How long it takes in one process, where that is known."""
        return sum(one.seconds or 0.0 for one in self.passes)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        plan = self.plan
        names = {"probed": "probed_cases", "most_bytes": "most_image_bytes"}
        return {
            "suite": plan.suite.name,
            "requirements": [
                {
                    "id": trial.requirement.id,
                    "kind": trial.kind.name,
                    "data": trial.data,
                    "models": list(trial.models),
                    "cases_per_model": plan.cases(trial),
                }
                for trial in plan.trials
            ],
            "passes": [
                {names.get(name, name): value for name, value in vars(one).items()} for one in self.passes
            ],
            "cases": sum(one.cases for one in self.passes),
            "seconds_one_process": self.seconds,
            "seconds_estimated": self.seconds / self.workers,
            "workers": self.workers,
            "image_bytes": sum(one.image_bytes for one in self.passes),
            "most_image_bytes": sum(one.most_bytes for one in self.passes),
            "notes": plan.notes,
        }

    def lines(self) -> list[str | ResultTable]:
        """Return the passes for people, and why some could not be tried."""
        rows = tuple(
            (
                one.name,
                str(one.models),
                str(one.cases),
                "?" if one.seconds is None else _duration(one.seconds),
                readable_size(one.image_bytes),
            )
            for one in self.passes
        )
        return [
            ResultTable("", ("what", "models", "cases", "one process", "images"), rows),
            *(
                f"{one.name} could not be tried, so how long it takes is not known: {one.problem}"
                for one in self.passes
                if one.problem
            ),
        ]

    def __str__(self) -> str:
        total = self.document()
        return (
            f"About {total['cases']} cases in about {_duration(total['seconds_estimated'])} with "
            f"{self.workers} {'process' if self.workers == 1 else 'processes'}; images will take about "
            f"{readable_size(total['image_bytes'])}, at most {readable_size(total['most_image_bytes'])}. "
            f"These are estimates from {sum(one.probed for one in self.passes)} cases that "
            "were tried just now; starting workers, hashing the data, report and evidence come on top."
        )


def seconds_of(text: str) -> float:
    """Return how long a time is that was written as people do.

    Raises:
        InputError: It is no time.

    Example:
        >>> seconds_of("90s"), seconds_of("30 min"), seconds_of("1.5 h")
        (90.0, 1800.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)", text.strip())
    if found is None or not float(found[1]):
        raise InputError(f"a time must be written as 90s, 30min or 2h, got {text!r}")
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]]


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> _duration(0.4), _duration(75), _duration(9000)
        ('1 s', '75 s', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def estimate_suite(
    plan: SuitePlan,
    images: ImageRetention = "failures",
    executor: Executor | None = None,
    *,
    workers: int = 1,
) -> SuiteEstimate:
    """Estimate what a suite will take, from a short probe of each of its passes.

    Args:
        plan: The suite.
        images: Of which cases images would be kept.
        executor: What tries a few cases; this process if left out.
        workers: In how many processes it would run.
    """
    return SuiteEstimate(plan, tuple(estimate_passes(passes_of(plan), images, executor)), workers)


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
    try:
        with TemporaryDirectory(prefix="roadworthy-probe-") as folder:
            # The first one is not counted: it opens models and fills caches.
            systems = small.systems()
            _tried(small, systems, Path(folder, "first"), 2, executor)
            found = _tried(small, systems, Path(folder, "second"), _FRAMES, executor)
            if found.seconds < _SHORTEST and len(one.data) > _FRAMES:
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
        gate=small.plan.gate,
    )
    seconds = time.perf_counter() - start
    counts = sum((Counter(one.counts) for one in found.results.values()), Counter[Status]())
    failing = counts[Status.VIOLATED] + counts[Status.ERROR]
    return _Probe(seconds, share, len(small.trials), counts.total(), failing)


def _scaled(one: Pass, probe: _Probe, images: ImageRetention) -> Estimate:
    times = len(one.trials) / probe.requirements / probe.share
    # Of objects it is not known beforehand how many there are; of drives and tries it is.
    counted = one.kind.needs_data and not one.kind.one_at_a_time and probe.cases
    cases = round(probe.cases * times) if counted else one.cases * len(one.models)
    likely = most = 0
    if one.trials[0].data and images != "none":
        failing = probe.failing / probe.cases if probe.cases else 1.0
        first: Frame = one.plan.data[one.trials[0].data].first
        # Pairs of one requirement share its frames.
        shared = cases * len(one.trials) // max(1, len(one.pairs))
        room = estimate_images([first], Retention(images), cases=shared, failing=min(1.0, failing))
        likely, most = room.likely, room.most
    size = len(one.trials), len(one.models), cases
    seconds = None if probe.problem else probe.seconds * times
    return Estimate(one.name, *size, seconds, probe.cases, likely, most, probe.problem)


@dataclass(frozen=True, slots=True)
class ImageEstimate:
    """How much room images will take.

    Attributes:
        images: The most images; those that cases share are stored once, so there may be fewer.
        each: The mean size of one, in bytes, as measured.
        likely: Bytes, if the share of failures is as expected.
        most: Bytes, if every case fails.
    """

    images: int
    each: int
    likely: int
    most: int

    def __str__(self) -> str:
        if not self.most:
            return "no images are kept"
        text = f"images will take about {readable_size(self.likely)} ({readable_size(self.each)} each)"
        return text if self.most == self.likely else f"{text}, at most {readable_size(self.most)}"


def estimate_images(
    frames: Iterable[Frame], retention: Retention, *, cases: int, failing: float = 0.1
) -> ImageEstimate:
    """Estimate the room that the images of a run will take, from a few frames that are encoded for it.

    Args:
        frames: Frames of the run's data; the first five are tried.
        retention: Of which cases the images are kept.
        cases: How many cases there will be, those of all systems together.
        failing: The share of cases that is expected to fail.

    Raises:
        InputError: There are no frames to try, or a number cannot be.

    Example:
        >>> import numpy as np
        >>> grey = Frame("a", np.full((160, 320, 3), 128, np.uint8))
        >>> print(estimate_images([grey], Retention("none"), cases=1000))
        no images are kept
        >>> estimate_images([grey], Retention("all"), cases=1000).images
        2000
    """
    if cases < 0 or not 0 <= failing <= 1:
        raise InputError(f"cases must be 0 or more and failing a share, got {cases} cases and {failing}")
    if retention.images == "none":
        return ImageEstimate(0, 0, 0, 0)
    sizes = [len(encode_image(frame.image, ".png")) for frame in islice(frames, _ENCODED)]
    if not sizes:
        raise InputError("expected at least one frame, to see how large its image is; got none")
    each = sum(sizes) / len(sizes)
    passes = retention.passes or (SAMPLE if retention.images == "sample" else 0.0)
    share = 1.0 if retention.images == "all" else failing + (1 - failing) * passes
    total = cases * _IMAGES
    return ImageEstimate(round(total * share), round(each), round(total * share * each), round(total * each))


def readable_size(size: float) -> str:
    """Return a number of bytes as people read it.

    Example:
        >>> readable_size(999), readable_size(61_234), readable_size(12_300_000_000)
        ('999 bytes', '61 kB', '12.3 GB')
    """
    place = 0
    while size >= 999.5 and place < len(_UNITS) - 1:
        size /= 1000
        place += 1
    return f"{size:.0f} {_UNITS[place]}" if place < 2 else f"{size:.3g} {_UNITS[place]}"
