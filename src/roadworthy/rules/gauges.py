"""What rules speak of: numbers that are read off the answers to a frame, before a change and after it.

An output is a noun phrase that says what is measured: ``"speed"``, ``"overlap of the added pedestrian"``.
Each has a unit, the tasks of the models that can be asked, and a way from two answers to pairs of numbers, x1
before and x2 after: one for each thing that it speaks of, and that with the smallest margin counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy._yaml import read_yaml
from roadworthy.cases import Prediction
from roadworthy.errors import InputError, NotApplicable, OntologyError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.frames.path import FRONT
from roadworthy.models import SystemUnderTest, Task
from roadworthy.models.scorers import answered_classes
from roadworthy.ontology import ontology
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.wording import added_things

Pair: TypeAlias = tuple[float, float]

ANYTHING = "thing"
"""The word for whatever a detector sees."""
OVERLAP = 0.5
"""The least intersection over union of two boxes that are of one thing."""
_SURE = 0.5  # the score from which on something counts as detected before
_HIDDEN = 0.5  # the share of a box that something added may cover; of more nothing is asked
_MIDDLE = 0.05  # of the image's width, on both sides of its middle: what is ahead reaches into it
_FEWEST = 0.002  # of the image's pixels that must have a label for a share of them
_DIFFERS = 20  # levels by which a pixel shows what was added, where no label map tells
_BRAKING = 3.5  # m/s² with which a vehicle is expected to stop after the end of its path

_STANDING = PlannedPath(np.zeros((1, 2)), np.ones(1))

_SIGNALS = {"speed": "m/s", "steering": "degrees", "acceleration": "m/s²", "throttle": "", "brake": ""}
_FORMS = read_yaml(Path(__file__).with_suffix(".yaml"), "file of outputs", "kinds").data
_TASKS: Mapping[Task, str] = {
    "regression": "numbers such as speed and steering",
    "detection": "boxes",
    "segmentation": "a label map",
    "path": "a planned path",
}


@dataclass(frozen=True)
class Gauge:
    """How an output is measured.

    Attributes:
        output: The output.
        kind: "signal", or one of the kinds of things that are measured.
        thing: The class that it speaks of, a word of the ontology, or `ANYTHING`.
        which: Which of its things: what was "added", that "ahead", or those "seen" before.
        unit: The unit of its numbers; empty for shares and counts.
        tasks: What models are for that can be asked.
        meaning: What x is, where the output does not say it all.
    """

    output: str
    kind: str
    thing: str = ""
    which: str = "seen"
    unit: str = ""
    tasks: tuple[Task, ...] = ("regression",)
    meaning: str = ""

    def misfit(self, task: str | None, known: Prediction | None) -> str:
        """Return why a model for a task, with such an answer, cannot be asked; empty where it can."""
        if task is not None and task not in self.tasks:
            return f"the {self.output} needs a model that answers with {_TASKS[self.tasks[0]]}"
        if isinstance(known, Signals) and self.output not in known.as_dict():
            return f"does not predict {self.output}"
        return ""

    def unknown_to(self, system: SystemUnderTest) -> str:
        """Return that a model has no class for what is spoken of, as far as its classes are known."""
        classes = answered_classes(system)
        if classes is None or self.thing in ("", ANYTHING):
            return ""
        element = ontology().resolve_with_properties(self.thing)[0].name
        known = {ontology().resolve_with_properties(one)[0].name for one in classes if one in ontology()}
        if any(ontology().is_a(one, element) for one in known):
            return ""
        return f"{system.name} has no class for a {self.thing}: it has {', '.join(sorted(known))}"

    def measured(self, frames: tuple[Frame, Frame], answers: tuple[Prediction, Prediction]) -> list[Pair]:
        """Return x1 and x2 for each thing that the output speaks of.

        Args:
            frames: The frame before the change and after it.
            answers: The answers to them.

        Raises:
            NotApplicable: There is nothing to measure.
            SystemUnderTestError: The answers are of another kind.
        """
        if self.kind == "signal":
            first, second = (_signal(self.output, *one) for one in zip(frames, answers, strict=True))
            return [(first, second)]
        kind = {"detection": Boxes, "segmentation": LabelMap, "path": PlannedPath}[self.tasks[0]]
        for frame, answer in zip(frames, answers, strict=True):
            if not isinstance(answer, kind):
                told = f"{kind.__name__} for frame {frame.id!r}, got {type(answer).__name__}"
                raise SystemUnderTestError(f"expected {told}")
        measure: Any = {
            "count": _counts, "overlap": _overlaps, "confidence": _confidences, "kept": _kept,
            "labelled": _labelled, "offset": _offset, "clearance": _clearances, "stop": _stop,
        }[self.kind]  # fmt: skip
        pairs: list[Pair] = measure(self, frames, answers)
        return pairs

    def standing(self, frames: tuple[Frame, Frame]) -> float | None:
        """Return x of a vehicle that stands still: no path keeps more; None for what is no path."""
        if self.kind == "clearance":
            return min(value for value, _ in _clearances(self, frames, (_STANDING, _STANDING)))
        return _stop(self, frames, (_STANDING, _STANDING))[0][0] if self.kind == "stop" else None


DRIVEN = ("collision", "lane", "headway")
"""The kinds that only a drive shows."""


def _signal(output: str, frame: Frame, answer: Prediction) -> float:
    if isinstance(answer, PlannedPath) and output == "speed":
        steps = np.diff(answer.points, axis=0, prepend=[[0.0, 0.0]])
        return float(np.hypot(*steps.T).sum() / answer.times[-1])
    known = answer.as_dict() if isinstance(answer, Signals) else {}
    if output not in known:
        got = (", ".join(known) or "no signal") if isinstance(answer, Signals) else type(answer).__name__
        raise SystemUnderTestError(f"expected a prediction of {output} for frame {frame.id!r}, got {got}")
    return known[output]


@lru_cache(maxsize=256)
def gauge_of(output: str) -> Gauge:
    """Return how an output is measured.

    Raises:
        InputError: Nobody predicts it.

    Example:
        >>> gauge = gauge_of("overlap of the added pedestrian")
        >>> gauge.kind, gauge.thing, gauge.which, gauge.tasks
        ('overlap', 'pedestrian', 'added', ('detection',))
        >>> gauge_of("speed").unit
        'm/s'
    """
    if output in _SIGNALS:
        tasks: tuple[Task, ...] = ("regression", "path") if output == "speed" else ("regression",)
        return Gauge(output, "signal", unit=_SIGNALS[output], tasks=tasks)
    for kind, form in _FORMS.items():
        if found := re.fullmatch(form["output"], output):
            thing, which = _thing(found.groupdict().get("thing") or "", kind)
            meaning = form.get("meaning", "").format(overlap=OVERLAP, braking=_BRAKING)
            return Gauge(output, kind, thing, which, form.get("unit", ""), (form["task"],), meaning)
    known = ", ".join(_SIGNALS)
    raise InputError(f"unknown output {output!r}; known are {known}, and what models see and plan")


def unit_of(output: str) -> str:
    """Return the unit of an output as it follows a number; nothing for what has none, or nobody knows.

    Example:
        >>> unit_of("distance from the path before"), unit_of("number of detected cars"), unit_of("answer")
        (' m', '', '')
    """
    try:
        return f" {gauge_of(output).unit}".rstrip()
    except InputError:
        return ""


def _thing(words: str, kind: str) -> tuple[str, str]:
    """Return the class that words name, and which of its things they mean."""
    plain = words.removeprefix("the ")
    which = "added" if plain.startswith("added ") else "ahead" if plain.endswith(" ahead") else "seen"
    word = plain.removeprefix("added ").removesuffix(" ahead")
    if not word or word in (ANYTHING, f"{ANYTHING}s"):
        return ANYTHING, which
    try:
        element, properties = ontology().resolve_with_properties(word)
    except OntologyError as error:
        raise InputError(str(error)) from None
    return (
        element.name if kind in ("kept", "labelled") else ontology().word_for(element.name, properties)
    ), which


def thing_phrase(word: str, which: str) -> str:
    """Return how an output names things: "the added pedestrian", "the truck ahead", "the vehicles".

    Example:
        >>> thing_phrase("bus", "seen"), thing_phrase("car", "ahead")
        ('the buses', 'the car ahead')
    """
    if which == "added":
        return f"the added {word}"
    return f"the {word} ahead" if which == "ahead" else f"the {plural(word)}"


def plural(word: str) -> str:
    """Return the plural of a word of the ontology."""
    return f"{word}es" if word.endswith(("s", "x", "ch")) else f"{word}s"


def added_notes(frame: Frame, word: str) -> list[Mapping[str, Any]]:
    """Return what the change noted of the things of a class that it added.

    Raises:
        NotApplicable: There are none, or where they are seen is not known any more.
    """
    element, wanted = ontology().resolve_with_properties(word) if word != ANYTHING else (None, {})
    notes = [
        one
        for one in added_things(frame)
        if element is None
        or (
            ontology().is_a(one["element"], element.name)
            and wanted.items() <= dict(one["properties"]).items()
        )
    ]
    if not notes:
        raise NotApplicable(f"what made the image does not say where it added a {word}")
    if any("box" not in one for one in notes):
        raise NotApplicable(f"where the added {word} is seen is not known after the image was moved")
    return notes


def _added_boxes(frame: Frame, word: str) -> Boxes:
    notes = added_notes(frame, word)
    return Boxes([one["box"] for one in notes], [one["element"] for one in notes]).clipped(*frame.size)


def _of(boxes: Boxes, word: str) -> Boxes:
    return boxes if word == ANYTHING else boxes.select(word)


def _asked(gauge: Gauge, frames: tuple[Frame, Frame], before: Boxes) -> Boxes:
    """Return the boxes of the things that are asked about: as they were added, or detected before."""
    if gauge.which == "added":
        return _added_boxes(frames[1], gauge.thing)
    found = _of(before, gauge.thing)
    if found.scores is not None:
        found = found[found.scores >= _SURE]
    if gauge.which == "ahead" and len(found):
        middle, reach = frames[0].width / 2, _MIDDLE * frames[0].width
        spans = found[(found.xyxy[:, 0] <= middle + reach) & (found.xyxy[:, 2] >= middle - reach)]
        found = spans[[int(spans.xyxy[:, 3].argmax())]] if len(spans) else spans
    notes = [one["box"] for one in added_things(frames[1]) if "box" in one]
    if notes and len(found):
        found = found[_covered(found, np.array(notes, float)) <= _HIDDEN]
    if not len(found):
        ahead = " ahead" if gauge.which == "ahead" else ""
        raise NotApplicable(f"no {gauge.thing}{ahead} that could be lost is surely detected before")
    return found


def _covered(boxes: Boxes, others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest share of each box that one of the others covers."""
    low = np.maximum(boxes.xyxy[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes.xyxy[:, None, 2:], others[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2).max(axis=1)
    share: NDArray[np.float64] = shared / np.maximum(boxes.area, 1e-9)
    return share


def _counts(gauge: Gauge, _: tuple[Frame, Frame], answers: tuple[Boxes, Boxes]) -> list[Pair]:
    before, after = (float(len(_of(one, gauge.thing))) for one in answers)
    return [(before, after)]


def _overlaps(gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[Boxes, Boxes]) -> list[Pair]:
    asked = _asked(gauge, frames, answers[0])
    best = [asked.iou(_of(one, gauge.thing)).max(axis=1, initial=0.0).tolist() for one in answers]
    return list(zip(*best, strict=True))


def _confidences(gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[Boxes, Boxes]) -> list[Pair]:
    asked = _asked(gauge, frames, answers[0])
    best = []
    for frame, one in zip(frames, answers, strict=True):
        found = _of(one, gauge.thing)
        if len(found) and found.scores is None:
            raise SystemUnderTestError(f"expected boxes with scores for frame {frame.id!r}, got some without")
        known = np.zeros(0, np.float32) if found.scores is None else found.scores
        scores = np.where(asked.iou(found) >= OVERLAP, known, 0.0)
        best.append(scores.max(axis=1, initial=0.0).tolist())
    return list(zip(*best, strict=True))


def _kept(gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[LabelMap, LabelMap]) -> list[Pair]:
    asked = answers[0].mask(gauge.thing).copy()
    truth = [one.labels.mask(gauge.thing) if one.labels is not None else None for one in frames]
    if truth[0] is not None and truth[1] is not None:
        # What is no road any more need not be called so.
        asked &= ~(truth[0] & ~truth[1])
    for note in added_things(frames[1]):
        if "box" in note and truth[1] is None:
            left, top, right, bottom = (max(0, one) for one in note["box"])
            asked[top:bottom, left:right] = False
    if asked.sum() < _FEWEST * asked.size:
        raise NotApplicable(f"hardly a pixel is labelled {gauge.thing} before the change")
    return [(1.0, float(answers[1].mask(gauge.thing)[asked].mean()))]


def _labelled(gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[LabelMap, LabelMap]) -> list[Pair]:
    changed = np.abs(frames[1].image.astype(np.int16) - frames[0].image).max(axis=2) > _DIFFERS
    if frames[0].labels is not None and frames[1].labels is not None:
        changed = frames[1].labels.mask(gauge.thing) & ~frames[0].labels.mask(gauge.thing)
    pairs = []
    for note in added_notes(frames[1], gauge.thing):
        left, top, right, bottom = (max(0, one) for one in note["box"])
        inside = np.zeros(changed.shape, np.bool_)
        inside[top:bottom, left:right] = changed[top:bottom, left:right]
        if not inside.any():
            raise NotApplicable(f"nothing of the added {gauge.thing} can be seen")
        before, after = (float(one.mask(gauge.thing)[inside].mean()) for one in answers)
        pairs.append((before, after))
    return pairs


def _offset(_: Gauge, __: tuple[Frame, Frame], answers: tuple[PlannedPath, PlannedPath]) -> list[Pair]:
    return [(0.0, answers[1].offset(answers[0]))]


def ground_places(frame: Frame, note: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return where something added stands: metres ahead of the camera and right of it."""
    if "places" in note:
        return list(note["places"])
    focal, metres = Perspective.of(frame).focal, float(note["distance"])
    left, right = note["foot"]
    return [(metres, (one - frame.width / 2) / focal * metres) for one in (left, (left + right) / 2, right)]


def _clearances(
    gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[PlannedPath, PlannedPath]
) -> list[Pair]:
    pairs = []
    for note in added_notes(frames[1], gauge.thing):
        places = ground_places(frames[0], note)
        before, after = (min(map(one.clearance, places)) for one in answers)
        pairs.append((before, after))
    return pairs


def _stop(gauge: Gauge, frames: tuple[Frame, Frame], answers: tuple[PlannedPath, PlannedPath]) -> list[Pair]:
    if gauge.which == "added":
        where = min(float(one["distance"]) for one in added_notes(frames[1], gauge.thing))
    else:
        where = _nearest(frames[0], gauge.thing)
    before, after = (
        where - FRONT - float(one.points[:, 0].max(initial=0.0)) - float(one.speeds[-1]) ** 2 / (2 * _BRAKING)
        for one in answers
    )
    return [(before, after)]


def _nearest(frame: Frame, word: str) -> float:
    """Return how far ahead something on the road begins, by the label map."""
    if frame.labels is None or word not in frame.labels.classes:
        raise NotApplicable(f"where a {word} is, the frame does not tell: it has no such label")
    rows = np.flatnonzero(frame.labels.mask(word).any(axis=1))
    if not len(rows):
        raise NotApplicable(f"there is no {word} in sight")
    return Perspective.of(frame).distance(float(rows[-1]) + 1)
