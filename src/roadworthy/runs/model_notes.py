"""A first look at a model: what it answers, and the mistakes that people make when they describe one."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.cases import (
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    ClassScores,
    Dataset,
    Feedback,
    FrameSource,
    InverseDepth,
    Original,
    Predict,
    Prediction,
    Requirement,
    Verdict,
)
from roadworthy.datasets import spread
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.models import Network, Recorded, SystemUnderTest, task_of
from roadworthy.models.average_precision import matched
from roadworthy.models.network import device_of
from roadworthy.models.scorers import compare
from roadworthy.runs.batches import Guarded
from roadworthy.runs.executors import Executor
from roadworthy.runs.single import run
from roadworthy.runs.store import StoredRun, add_notes, model_notes, read_manifest

_ENOUGH_FRAMES = 5
_ENOUGH_SPREAD = 0.5  # standard deviation of the truth, in degrees or m/s
_ENOUGH_REACTION = 0.01  # the spread of the answers, as a share of that of the truth
_HARDLY = 0.05  # likewise, below which a model hardly varies
_NEARLY_ZERO = 0.1  # degrees or m/s
_SAME_FACTOR = 0.1
_FEW = 12  # frames that a model is asked about beside a run
_TWICE = 4  # of them, a second time
_SAME_SIGNAL = 1e-3  # of its value, or of 1: what rounding may change
_SAME_PIXELS = 1e-3  # the share of pixels, likewise
_SAME_BOX, _SAME_SCORE = 0.8, 0.01  # the least IoU of a box, and what a score may change by, likewise
_TIMED = 2.0  # seconds for measuring how long a model takes
_UNITS = {"speed": " m/s", "steering": "°"}
_OTHER_WORDS = {"velocity": "speed", "v": "speed", "angle": "steering", "steer": "steering"}
_COLORS, _RANGES = ("rgb", "bgr", "yuv"), ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))
_WELL = 0.6  # of the error of a constant, or with two boxes in five frames and more

# How many times the truth a model answers whose numbers are read in another unit than they have.
_FACTORS: Mapping[str, Mapping[str, float]] = read_yaml(
    Path(__file__).with_suffix(".yaml"), "file of units", "factors"
).data
_RADIANS = 0.7  # the most that a car's wheels turn, if it is no degree
_QUESTION = ": are the input's colours and range right?"
_SIGNALS = tuple(_FACTORS)
_MOST = {"speed": 70.0, "steering": 60.0}  # what a car does at most, in m/s and degrees at the wheels


def notes(
    system: SystemUnderTest,
    dataset: Dataset,
    frames: Sequence[Frame],
    answers: Sequence[Prediction],
    signals: Collection[str] = _SIGNALS,
) -> list[str]:
    """Return what looks wrong with a model, a sentence each.

    Args:
        system: The model.
        dataset: Where the frames are from.
        frames: What it was asked about.
        answers: What it answered.
        signals: Which of its signals matter.
    """
    asked = [name for name in _FACTORS if name in signals]
    about = (note for name in asked for note in _about_signal(name, system, frames, answers))
    known = (*getattr(system, "notes", ()), *_unmatched(system, dataset), *_misspelt(answers))
    return [*known, *_alike(system, answers), *about]


@dataclass(frozen=True)
class FirstLook:
    """What a model is like on a few frames.

    Attributes:
        answers: What it answered, one prediction per frame.
        document: What it is, what it answered, how near that is to the truth and how long it took.
    """

    answers: list[Prediction]
    document: dict[str, Any]


def first_look(system: SystemUnderTest, dataset: Dataset, frames: Sequence[Frame]) -> FirstLook:
    """Let a model answer a few frames, and return what it is like.

    Raises:
        SystemUnderTestError: It fails, or gives more or fewer answers than it was asked for.
    """
    answers = Guarded(system).predict(frames)
    document: dict[str, Any] = {
        "model": system.name,
        "task": " and ".join(sorted({task_of(answer) for answer in answers})),
        "dataset": dataset.name,
        "frames": [frame.id for frame in frames],
        "milliseconds_per_frame": round(_milliseconds(system, frames), 3),
    }
    if isinstance(system, Network):
        document |= _about(system)
    document["answers"] = _ranges(answers)
    document["truth"] = [
        {"name": one.name, "value": one.value, "unit": one.unit, "frames": one.frames, "text": str(one)}
        for one in compare(frames, answers)
    ]
    document["notes"] = [*notes(system, dataset, frames, answers), *_other_input(system, frames, answers)]
    return FirstLook(answers, document)


def _other_input(
    system: SystemUnderTest, frames: Sequence[Frame], answers: Sequence[Prediction]
) -> Iterator[str]:
    """Yield the colours and range with which a network that finds nothing, or errs, would do well."""
    declared = _badness(frames, answers)
    if not isinstance(system, Network) or declared is None or declared[0] <= 1:
        return
    taken = system.input
    colors: tuple[Any, ...] = _COLORS if taken.color in _COLORS else (taken.color,)
    ranges = (None,) if taken.dtype == "uint8" else _RANGES
    found: list[tuple[float, int, str, str]] = []
    for color, values in product(colors, ranges):
        changes = [f"-m input.color={color}"] if color != taken.color else []
        if values is not None and values != (taken.range or _RANGES[0]):
            changes.append(f"-m input.range={values[0]:g},{values[1]:g}")
        other = replace(system.spec, input=replace(taken, color=color, range=values or taken.range))
        with suppress(RoadworthyError):
            bad = _badness(frames, Network(system.name, system.runtime, other).predict(frames))
            found += [] if bad is None else [(bad[0], len(changes), bad[1], " ".join(changes))]
    if found and (best := min(found, key=lambda one: one[:2]))[0] < _WELL:
        yield f"{declared[1]}, but {best[2]} with {best[3]}: are the input's colours and range right?"


def _badness(frames: Sequence[Frame], answers: Sequence[Prediction]) -> tuple[float, str] | None:
    """Return how bad answers are, above 1 for worse than knowing nothing, and why; None if unknown."""
    if all(isinstance(answer, Boxes) for answer in answers):
        boxes = sum(len(answer) for answer in answers if isinstance(answer, Boxes))
        return (len(frames) / boxes / 4, f"{boxes} boxes are found") if boxes else (np.inf, "no box is found")
    found: list[tuple[float, str]] = []
    most: dict[str, float] = {}
    for name in _SIGNALS:
        pairs = [
            (getattr(frame.signals, name), getattr(answer, name))
            for frame, answer in zip(frames, answers, strict=True)
            if isinstance(answer, Signals)
        ]
        known = np.array([pair for pair in pairs if None not in pair], float)
        if len(known) >= _ENOUGH_FRAMES and (spread := known[:, 0].std()) >= _ENOUGH_SPREAD:
            error = float(np.sqrt(np.mean((known[:, 1] - known[:, 0]) ** 2)))
            found.append((error / float(spread), f"{name} is off by {error:.3g}{_UNITS[name]}"))
        elif given := [abs(answer) for _, answer in pairs if answer is not None]:
            most[name] = max(given)
    if found or not most:
        return max(found, default=None)
    # Without truth nothing but what no car does is known to be wrong.
    bad = max(value / _MOST[name] for name, value in most.items())
    told = (f"{name} is up to {value:.3g}{_UNITS[name]}" for name, value in most.items())
    return bad if bad > _WELL else 0.0, " and ".join(told)


def _milliseconds(system: SystemUnderTest, frames: Sequence[Frame]) -> float:
    """Return the time per frame, of the fastest of a few calls: the first ones warm up."""
    fastest, end = float("inf"), time.perf_counter() + _TIMED
    for _ in range(5):
        start = time.perf_counter()
        system.predict(frames)
        fastest = min(fastest, time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return 1000 * fastest / len(frames)


def _about(network: Network[Prediction]) -> dict[str, object]:
    """Return what a network declares, and what its file says."""
    asked = network.input
    size = "the frame's own size" if asked.width is None else f"{asked.width}x{asked.height}"
    values = asked.range or ((0, 255) if asked.dtype == "uint8" else (0, 1))
    words = [size, asked.color, f"{asked.dtype}", asked.axes, f"values {values[0]:g} to {values[1]:g}"]
    if asked.mean or asked.std:
        words.append("then mean and std")
    if any(asked.crop):
        cut = zip(asked.crop, ("above", "below"), strict=True)
        words.append("without " + " and ".join(f"{_cropped(one)} {where}" for one, where in cut if one))
    if asked.fit != "stretch":
        words.append(
            {"letterbox": "letterboxed", "corner": "letterboxed in a corner"}.get(asked.fit, asked.fit)
        )
    if asked.history:
        words.append(f"{asked.history} earlier frames as {asked.stacking}")
    return {
        "input": ", ".join(words),
        "batch": "any number" if network.batch is None else str(network.batch),
        "outputs": [str(one) for one in network.runtime.outputs],
        "files": [str(file) for file in network.files],
    }


def _cropped(cropped: float) -> str:
    """Return what is cropped: shares of the height are below 1, numbers of rows are not.

    Example:
        >>> _cropped(0.3375), _cropped(60), _cropped(1)
        ('33.75% of the rows', '60 rows', '1 row')
    """
    if cropped < 1:
        return f"{cropped * 100:g}% of the rows"
    return "1 row" if cropped == 1 else f"{cropped:g} rows"


def _ranges(answers: Sequence[Prediction]) -> dict[str, str]:
    """Return what was answered, in a line for each kind of answer."""
    found: dict[str, str] = {}
    told = [answer.as_dict() for answer in answers if isinstance(answer, Signals)]
    for name in dict.fromkeys(name for one in told for name in one if name != "timestamp"):
        values = [one[name] for one in told if name in one]
        found[name] = f"{min(values):.3g} to {max(values):.3g}{_UNITS.get(name, '')}"
    boxes = Counter(name for answer in answers if isinstance(answer, Boxes) for name in answer.classes)
    if any(isinstance(answer, Boxes) for answer in answers):
        found["boxes"] = _counts(boxes.most_common()) or "none"
    if best := Counter(answer.best for answer in answers if isinstance(answer, ClassScores)):
        found["best class"] = _counts(best.most_common(8))
    if depths := [answer for answer in answers if isinstance(answer, InverseDepth)]:
        low = min(float(np.nanmin(one.values)) for one in depths)
        high = max(float(np.nanmax(one.values)) for one in depths)
        unit = " per metre" if all(one.metric for one in depths) else ", higher is nearer, no unit"
        found["inverse depth"] = f"{low:.3g} to {high:.3g}{unit}"
    if paths := [answer for answer in answers if isinstance(answer, PlannedPath)]:
        ends = [float(one.points[-1, 0]) for one in paths]
        found["path"] = f"{min(ends):.3g} to {max(ends):.3g} m ahead after {paths[0].times[-1]:g} s"
    pixels = sum((Counter(one.present()) for one in answers if isinstance(one, LabelMap)), Counter[str]())
    if total := sum(pixels.values()):
        found["pixels"] = _counts((name, f"{one / total:.1%}") for name, one in pixels.most_common())
    return found


def _counts(values: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values)


def note_models(
    folder: Path,
    systems: Iterable[SystemUnderTest],
    data: Dataset,
    signals: Collection[str] = _SIGNALS,
    executor: Executor | None = None,
) -> list[str]:
    """Return what looks wrong with models on some data, a sentence each, and keep it with a run.

    Models of which the run knows already are not asked again.

    Args:
        folder: The folder of the run, which has a manifest.
        systems: The models.
        data: The frames of the run.
        signals: Which of the models' signals matter.
        executor: Where they are asked, as for any case: a model may crash, hang or end its process.

    Raises:
        InputError: The manifest cannot be read or written.
    """
    known = model_notes(read_manifest(folder))
    found: dict[str, dict[str, list[str]]] = {}
    for system in systems:
        before = known.get(system.name, {}).get(data.name)
        noted = _notes_on_few(system, data, signals, executor) if before is None else before
        found[system.name] = {data.name: noted}
        if device_of(system) != "cpu" and before is None:
            # Whatever the unit: as near to the border as this, an answer that is rounded otherwise turns it.
            (row,) = StoredRun.open(folder).query(
                "SELECT count(*) AS near FROM cases WHERE system = ? AND abs(margin) < ?",
                [system.name, _SAME_SIGNAL],
            )
            noted.append(
                f"{system.name}: rounding may turn {row['near']} verdicts: they are within "
                f"{_SAME_SIGNAL:g} of their border"
            )
    add_notes(folder, models=found)
    return [note for every in found.values() for some in every.values() for note in some]


def _notes_on_few(
    system: SystemUnderTest, dataset: Dataset, signals: Collection[str], executor: Executor | None
) -> list[str]:
    """Ask a model about a few frames, and return what looks wrong with it, a sentence each with its name.

    Frames that cannot be read and answers that fail are left to the run, which tells of them.
    """
    frames: dict[int, Frame] = {}
    for index in spread(len(dataset), min(_FEW, len(dataset))):
        with suppress(InputError):
            frames[index] = dataset[index]
    if not frames:
        return []
    sources = {index: Original(dataset, index) for index in frames}
    answers = ModelProbe(sources).answers(dataset, system, executor, batch_size=_FEW)
    found = notes(system, dataset, [frames[one] for one in answers], list(answers.values()), signals)
    # In another order and other batches, which a model must not mind.
    twice = ModelProbe({index: sources[index] for index in [*answers][_TWICE - 1 :: -1]})
    again = twice.answers(dataset, system, executor, batch_size=_TWICE - 1)
    others = [frames[one].id for one, answer in again.items() if _differ(answers[one], answer)]
    # One that answered before and now fails, or ends its process, does so too.
    others += [frames[one].id for one in twice.failures]
    if others:
        asked = len(again) + len(twice.failures)
        found.append(
            f"its answers change when it is asked again ({len(others)} of {asked} frames, such as "
            f"{others[0]!r}): rates vary from run to run, and a rerun will not repeat them"
        )
    if isinstance(system, Network) and device_of(system) != "cpu":
        there = {one: answers[one] for one in [*answers][:_TWICE]}
        found.append(_rounding(system, dataset, there, executor))
    return [f"{system.name}: {note}" for note in found]


def _rounding(
    system: Network[Any], dataset: Dataset, there: Mapping[int, Prediction], executor: Executor | None
) -> str:
    """Return how the answers of a network on a device compare with those on the CPU."""
    on_cpu = copy(system)
    on_cpu.runtime = replace(cast("Any", system.runtime), device="cpu")
    sources = {index: Original(dataset, index) for index in there}
    here = ModelProbe(sources).answers(dataset, on_cpu, executor, batch_size=_TWICE)
    same = sum(not _differ(there[one], answer) for one, answer in here.items())
    return (
        f"it ran on {device_of(system)}; {same} of {len(here)} answers are those of the CPU to rounding "
        f"({_SAME_SIGNAL:g} of a signal, {_SAME_PIXELS:.1%} of pixels)"
    )


class ModelProbe(BaseMethod):
    """Asks a model about frames, which have numbers, through an executor, and keeps its answers.

    Attributes:
        failures: Why it gave no answer, by the numbers of the frames.
    """

    name = "first look"

    def __init__(self, sources: Mapping[int, FrameSource]) -> None:
        self._sources = sources
        self._answers: dict[int, Prediction] = {}
        self.failures: dict[int, str] = {}

    def answers(
        self, data: Dataset, system: SystemUnderTest, executor: Executor | None, *, batch_size: int
    ) -> dict[int, Prediction]:
        """Return the answers of a model; there is none where it fails."""
        requirement = Requirement("first-look", "the model answers", self.name)
        run(self, requirement, data, system, batch_size=batch_size, images="none", executor=executor)
        return self._answers

    def cases(
        self,
        requirement: Requirement,
        data: Dataset,  # noqa: ARG002 - the frames are known
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield a case for each frame."""
        for index, source in self._sources.items():
            yield Case(str(index), requirement.id, (Predict((source,)),))

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return a verdict that brings the answer along."""
        return Verdict.from_margin(case, 0.0, clue=answers.predicted().predictions[0])

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        """Keep the answer."""
        if verdict.clue is not None:
            self._answers[int(case.id)] = cast("Prediction", verdict.clue)
        else:
            self.failures[int(case.id)] = verdict.reason
        return None


def _differ(one: Prediction, other: Prediction) -> bool:
    """Return whether two answers differ by more than the rounding of another batch."""
    if type(one) is not type(other):
        return True
    if isinstance(one, Boxes) and isinstance(other, Boxes):
        scores = [np.sort(np.zeros(0) if boxes.scores is None else boxes.scores) for boxes in (one, other)]
        if Counter(one.classes) != Counter(other.classes) or scores[0].shape != scores[1].shape:
            return True
        close = np.allclose(scores[0], scores[1], rtol=0, atol=_SAME_SCORE)
        return not (close and matched(one, other, _SAME_BOX).all())
    if isinstance(one, LabelMap) and isinstance(other, LabelMap):
        if one.classes != other.classes or one.shape != other.shape:
            return True
        return float(np.mean(one.ids != other.ids)) > _SAME_PIXELS
    if isinstance(one, ClassScores) and isinstance(other, ClassScores):
        return one.names != other.names or not np.allclose(one.scores, other.scores, rtol=0, atol=_SAME_SCORE)
    if isinstance(one, InverseDepth) and isinstance(other, InverseDepth):
        spread = np.nanmax(np.abs(one.values)) if np.isfinite(one.values).any() else 1.0
        near = np.isclose(one.values, other.values, rtol=0, atol=_SAME_SCORE * spread, equal_nan=True)
        return float(np.mean(~near)) > _SAME_PIXELS
    if isinstance(one, PlannedPath) and isinstance(other, PlannedPath):
        same = np.array_equal(one.times, other.times)
        return not (same and np.allclose(one.points, other.points, rtol=_SAME_SIGNAL, atol=_SAME_SIGNAL))
    assert isinstance(one, Signals)
    assert isinstance(other, Signals)
    first, second = one.as_dict(), other.as_dict()
    return first.keys() != second.keys() or any(
        abs(first[name] - second[name]) > _SAME_SIGNAL * max(1.0, abs(first[name])) for name in first
    )


def _unmatched(system: SystemUnderTest, dataset: Dataset) -> Iterator[str]:
    ids = getattr(dataset, "ids", ())
    if isinstance(system, Recorded) and ids and (unmatched := system.unmatched(ids)):
        yield (
            f"{len(unmatched)} of {len(system)} records are for images that {dataset.name} does not have, "
            f"such as {unmatched[0]!r}"
        )


def _alike(system: SystemUnderTest, answers: Sequence[Prediction]) -> Iterator[str]:
    """Yield that boxes, label maps, classes or depths are the same for all frames, if so."""
    if len(answers) < _ENOUGH_FRAMES or any(_differ(answers[0], one) for one in answers[1:]):
        return
    if isinstance(first := answers[0], Signals):
        return  # each of its signals is looked at
    question = _QUESTION if isinstance(system, Network) else ""
    empty = isinstance(first, Boxes) and not len(first)
    yield f"{'no box is found in any' if empty else 'the answer is the same for every'} frame{question}"


def _misspelt(answers: Sequence[Prediction]) -> Iterator[str]:
    known = [one.name for one in fields(Signals) if one.name != "extra"]
    for name in {name: None for answer in answers if isinstance(answer, Signals) for name in answer.extra}:
        said = _OTHER_WORDS.get(name.lower())
        for meant in [said] if said else get_close_matches(name.lower(), known, n=1, cutoff=0.7):
            yield f"{name!r} is kept as an extra signal; did you mean {meant!r}?"


def _about_signal(
    name: str, system: SystemUnderTest, frames: Sequence[Frame], answers: Sequence[Prediction]
) -> Iterator[str]:
    pairs = [
        (getattr(frame.signals, name), getattr(answer, name))
        for frame, answer in zip(frames, answers, strict=True)
        if isinstance(answer, Signals) and getattr(answer, name) is not None
    ]
    known = [(truth, answer) for truth, answer in pairs if truth is not None]
    given = {answer for _, answer in pairs}
    unit = _UNITS[name]
    below = [answer for _, answer in pairs if answer < -_NEARLY_ZERO]
    if name == "speed" and below:
        yield f"speed is negative in {len(below)} of {len(pairs)} frames, down to {min(below):.3g}{unit}"
    question = _QUESTION if isinstance(system, Network) else ""
    beyond = [answer for answer in given if abs(answer) > _MOST[name]]
    if beyond and len(known) < _ENOUGH_FRAMES:  # else the truth tells more
        lines = f"output.units.{name}" + (", input.range and input.color" * isinstance(system, Network))
        yield (
            f"{name} reaches {max(beyond, key=abs):.3g}{unit}, and no car goes beyond "
            f"{_MOST[name]:g}{unit}: correct {lines}"
        )
    largest = max(map(abs, given), default=0.0)
    if name == "steering" and len(known) < _ENOUGH_FRAMES <= len(given) and largest < _RADIANS:
        yield (
            f"steering is never more than {largest:.2g}°: if the numbers are radians, that is "
            f"{math.degrees(largest):.0f}°, and output.units.steering must say rad"
        )
    if len(pairs) > 1 and len(given) == 1 and given != {truth for truth, _ in known}:
        yield f"{name} is the same for every frame{question}"
    elif name == "steering" and _correlation(known) < -0.7:
        yield "steering goes against the truth: is output.units.steering_positive right?"
    elif (found := _other_unit(name, known)) is not None:
        factor, written = found
        yield (
            f"{name} is {factor:.3g} times the truth: is output.units.{name} right? "
            f"The numbers look like {written}"
        )
    elif _hardly_varies(pairs, known):
        low, high = min(given), max(given)
        yield f"{name} hardly varies, from {low:.4g} to {high:.4g}{unit} in {len(pairs)} frames{question}"
    else:
        yield from _worse_than_a_constant(name, known)


def _worse_than_a_constant(name: str, known: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield that whoever always answers the same would be nearer to the truth, if so."""
    if len(known) < _ENOUGH_FRAMES:
        return
    unit = _UNITS[name]
    truth, answer = np.array(known).T
    error = float(np.sqrt(np.mean((answer - truth) ** 2)))
    # What the mean of the other frames would be off by, so that no frame knows its own answer.
    constant = float(truth.std()) * len(known) / (len(known) - 1)
    if error > max(constant, _ENOUGH_SPREAD):
        yield (
            f"{name} is off by {error:.3g}{unit} (RMSE of {len(known)} frames), and always answering "
            f"{float(truth.mean()):.3g}{unit} would be off by {constant:.3g}: the model is worse than a "
            "constant"
        )


def _hardly_varies(pairs: Sequence[tuple[float | None, float]], known: Sequence[tuple[float, float]]) -> bool:
    """Return whether answers stay nearly the same, though the truth, where it is known, does not."""
    if len(pairs) < _ENOUGH_FRAMES:
        return False
    answers = np.array([answer for _, answer in pairs])
    if len(known) < len(pairs):
        return float(np.ptp(answers)) < _NEARLY_ZERO
    truth = np.array([truth for truth, _ in known])
    return truth.std() >= _ENOUGH_SPREAD and float(answers.std()) < _HARDLY * float(truth.std())


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return how the answers go with the truth; 0 where there is too little to tell from."""
    if len(pairs) < _ENOUGH_FRAMES:
        return 0.0
    truth, answer = np.array(pairs).T
    if truth.std() < _ENOUGH_SPREAD or answer.std() < _ENOUGH_REACTION * truth.std():
        return 0.0
    return float(np.corrcoef(truth, answer)[0, 1])


def _other_unit(name: str, pairs: Sequence[tuple[float, float]]) -> tuple[float, str] | None:
    """Return how many times the truth the answers are, and their unit, if that is a conversion of units."""
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
