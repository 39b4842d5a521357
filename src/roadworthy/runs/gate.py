"""The gate: what does not show what the words say is not judged.

Every changed frame must still be an image: not black, blown out or empty. Where things of a real frame are
added, removed or replaced, or its weather, time or season changes, networks look as well: what was asked for
must be there, what was not touched must still be there, and the label map must fit. Frames of the built-in
world come with their truth, so that no network looks at them; nor at noise, blur, tone and geometry, where a
network that fails would hide the very failures that are looked for.

The thresholds were measured on real frames, true edits against broken ones: see docs/gate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import FrameSource
from roadworthy.errors import DeviceError, EngineError, InputError, MissingExtraError, words_of
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Image, Mask
from roadworthy.labelling import street_network
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.models.network import OpensLater
from roadworthy.ontology import ontology
from roadworthy.transforms import (
    Add,
    AddOperation,
    Keeps,
    Operation,
    Remove,
    RemoveOperation,
    Replace,
    ReplaceOperation,
    Transform,
)
from roadworthy.transforms.engines.engine import EngineTransform
from roadworthy.transforms.wording import added_things

STREET, OFF = "street", "off"
"""The gate that ships, and none."""
REFUSED = "gate"
"""The measure of a row that says that the gate refused it."""

LOOKED_AT = ("objects", "weather", "engine")
"""Families of transforms after which networks look."""
# What must be where the label map has it.
_GROUPS = (("road", "line"), ("sidewalk", "terrain"), ("tree",), ("sky",), ("building",), ("vehicle",))
_PEOPLE = ("pedestrian", "bicyclist")
_POSTED = ("traffic sign", "traffic light")
# Classes that the network takes for each other.
_ALIKE = {**dict.fromkeys(_PEOPLE, _PEOPLE), **dict.fromkeys(_POSTED, _POSTED)}
_FOUND_BY_DETECTORS = (*_PEOPLE, "vehicle")
_WIDTH = 320  # pixels at which an image is looked at without a network
_BLANK = 0.2  # of the image may become black or white without detail, beyond what was
_EMPTY = 0.65  # likewise without detail in any colour: fog takes half of it
_RANGE = 2  # grey levels among neighbours that are no detail
_BLACK, _WHITE = 6, 249
_FORM_WIDTH = 160  # pixels at which forms are looked for
_FORM_RANGE = 16  # grey levels among neighbours there that make a form
_FORM, _FORM_KEPT = 0.13, 0.4  # of the image at least has some, or of what had some before
_NEIGHBOURS = np.ones((9, 9), np.uint8)
_BRIGHTEST = 0.8  # the place of the likelihood that a thing is known by among those of its pixels
_THERE = {"vehicle": 0.5}
_THERE_ELSE = 0.2  # likelihood at which something that was added is there
_GONE = 0.15  # mean likelihood up to which something that was removed is gone
_SEEN, _LOST = 0.35, 0.175  # mean likelihood from which something was seen before, and up to which it is lost
_HOLE_CELLS, _RIM = 12, 4  # places of a hole of which something can be told, and how far around it is looked
_RIM_SHARE = 0.1  # of what is around a hole at least shows what is seen in it
_BECAME = 0.4  # mean likelihood from which something has become what it should
_STREET_KEPT = 0.5  # share of what the network knew before and must still know
_LEAST_CELLS = 3  # places of the network's output of which something can be told
_LARGE = 0.01  # of the image: things of this size are not lost in fog or rain
_OVERLAP = 0.3  # intersection over union of a detection with what it is of

Cells = NDArray[np.float32]


@runtime_checkable
class ChangedSource(Protocol):
    """A source of a frame that is another frame, changed."""

    @property
    def original(self) -> FrameSource:
        """What gives the frame before the change."""

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other."""


class _NoDetectorError(InputError):
    """A gate answers with something other than boxes, which it will do for every frame."""


class FrameChange(NamedTuple):
    """A frame before and after its changes."""

    before: Frame
    after: Frame
    steps: tuple[Transform, ...]


@dataclass(frozen=True)
class Gate(OpensLater):
    """Looks at changed frames.

    Attributes:
        name: "street", or what a detector is opened by, which then looks for people and vehicles.
        folder: What paths count from.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.transforms import make_transform
        >>> frame, far = load("world:town", count=1)[0], make_transform("translation", x=200, y=100)
        >>> Gate().refusals([FrameChange(frame, far(frame), (far,))])
        ['much of the image is black, white or empty']
    """

    name: str = STREET
    folder: Path = Path()

    @cached_property
    def detector(self) -> SystemUnderTest | None:
        """The detector of the user; None where there is none."""
        return None if self.name == STREET else load_model(self.name, self.folder)

    def refusals(self, changes: Sequence[FrameChange]) -> list[str | EngineError]:
        """Return why each of some frames is not judged: an empty text where it is, or what crashed.

        Raises:
            InputError: What should be a detector answers with something else.
        """
        originals = {id(one.before): _Original(one.before.image) for one in changes}
        return [self._looked_at(one, originals[id(one.before)]) for one in changes]

    def _looked_at(self, change: FrameChange, original: _Original) -> str | EngineError:
        try:
            reason = _emptied(change, original) or _formless(change, original)
            if reason or not _is_looked_at(change):
                return reason
            return _refusal(change, original, self._detected(change.after))
        except (KeyboardInterrupt, MissingExtraError, DeviceError, _NoDetectorError):
            raise
        except BaseException as error:
            # SystemExit too: a detector of the user ends no run.
            told = f"{type(error).__name__}: {words_of(error)}"
            return EngineError(f"the gate {self.name!r} crashed on frame {change.after.id!r}: {told}")

    def _detected(self, frame: Frame) -> Boxes | None:
        if self.detector is None:
            return None
        (answer,) = self.detector.predict([frame])
        if not isinstance(answer, Boxes):
            raise _NoDetectorError(
                f"the gate {self.name!r} must be a detector: it does not answer with boxes"
            )
        return answer


def gate_named(name: str, folder: Path = Path()) -> Gate | None:
    """Return a gate: "street", "off" for none, or a detector of the user, as models are named.

    Raises:
        InputError: The detector cannot be opened.

    Example:
        >>> gate_named("off") is None, gate_named("street").name
        (True, 'street')
    """
    if name == OFF:
        return None
    gate = Gate(name, folder)
    # Opened at once, so that a mistake is told before anything runs.
    assert gate.detector is None or gate.detector.name
    return gate


def _emptied(change: FrameChange, original: _Original) -> str:
    """Return a complaint where much of an image has lost all detail: it is black, white, or fill."""
    lost = np.subtract(_without_detail(change.after.image), original.emptiness)
    return "much of the image is black, white or empty" if (lost > (_BLANK, _EMPTY)).any() else ""


def _formless(change: FrameChange, original: _Original) -> str:
    """Return a complaint where several changes together leave no form to see.

    Of a single one people have said what they tolerate; things and weather are looked at by a network.
    """
    steps = [unwrapped(one) for one in change.steps if not one.is_identity]
    if len(steps) < 2 or any(one.family in LOOKED_AT for one in steps):
        return ""
    left = _with_form(change.after.image)
    return "no form is left to be recognised" if left < min(_FORM, _FORM_KEPT * original.form) else ""


def _with_form(image: Image) -> float:
    """Return the share of an image in which neighbours differ when it is looked at from afar."""
    grey = cv2.cvtColor(_shrunk(image, _FORM_WIDTH), cv2.COLOR_RGB2GRAY)
    beside = np.ones((3, 3), np.uint8)
    return float(np.mean(cv2.subtract(cv2.dilate(grey, beside), cv2.erode(grey, beside)) >= _FORM_RANGE))


def _without_detail(image: Image) -> tuple[float, float]:
    """Return the shares of an image in which neighbours hardly differ: in black and white, and in all."""
    grey = cv2.cvtColor(_shrunk(image, _WIDTH), cv2.COLOR_RGB2GRAY)
    highest, lowest = cv2.dilate(grey, _NEIGHBOURS), cv2.erode(grey, _NEIGHBOURS)
    flat = cv2.subtract(highest, lowest) <= _RANGE
    return float(np.mean(flat & ((highest <= _BLACK) | (lowest >= _WHITE)))), float(np.mean(flat))


def _shrunk(image: Image, width: int) -> Image:
    """Return an image that is no wider than so many pixels."""
    if image.shape[1] <= width:
        return image
    size = width, max(1, round(image.shape[0] * width / image.shape[1]))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def _is_looked_at(change: FrameChange) -> bool:
    """Return whether networks look at a change: of a real frame, of things, weather, time or season."""
    return not change.before.drawn and any(
        unwrapped(one).family in LOOKED_AT for one in change.steps if not one.is_identity
    )


def unwrapped(step: Transform) -> Transform:
    """Return what a change is that is made nearer, farther or fainter."""
    while isinstance(base := getattr(step, "base", None), Transform):
        step = base
    return step


def _asked(step: Transform) -> Operation | None:
    """Return what a step asks for; nothing where only a part of it is to be seen."""
    if getattr(step, "amount", 1) != 1 and getattr(step, "base", None) is not None:
        return None
    step = unwrapped(step)
    if isinstance(step, EngineTransform):
        return step.operation
    if isinstance(step, Add):
        return AddOperation(step.element)
    if isinstance(step, Remove):
        return RemoveOperation(step.element)
    return ReplaceOperation(step.element, step.by) if isinstance(step, Replace) else None


_network = cache(street_network)


class _View:
    """What the street network sees in an image."""

    def __init__(self, image: Image) -> None:
        self._likelihoods = _network().likelihoods(image)
        self.shape: tuple[int, int] = next(iter(self._likelihoods.values())).shape

    def of(self, *words: str) -> Cells:
        """Return how likely one of some classes is, at each place."""
        found: Cells = np.sum([self._likelihoods[word] for word in words], axis=0, dtype=np.float32)
        return found

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The number of the group that is seen at each place; the number of all groups for anything else."""
        each = [self.of(*group) for group in _GROUPS]
        seen: NDArray[np.intp] = np.argmax([*each, 1 - np.sum(each, axis=0)], axis=0)
        return seen

    def reduced(self, labels: LabelMap) -> LabelMap:
        """Return the labels at the middle of each place."""
        ids = cv2.resize(labels.ids, self.shape[::-1], interpolation=cv2.INTER_NEAREST)
        return LabelMap(np.asarray(ids), labels.classes)

    def covered(self, mask: Mask) -> Cells:
        """Return which share of each place a mask of the image covers."""
        found = cv2.resize(mask.astype(np.float32), self.shape[::-1], interpolation=cv2.INTER_AREA)
        return np.asarray(found, np.float32)


class _Original:
    """What is seen in a frame before its changes; looked at once for all changes of a batch."""

    def __init__(self, image: Image) -> None:
        self._image = image

    @cached_property
    def emptiness(self) -> tuple[float, float]:
        """The shares of it without detail."""
        return _without_detail(self._image)

    @cached_property
    def form(self) -> float:
        """The share of it in which there are forms."""
        return _with_form(self._image)

    @cached_property
    def view(self) -> _View:
        """What the street network sees in it."""
        return _View(self._image)


def _refusal(change: FrameChange, original: _Original, detected: Boxes | None) -> str:
    """Return why a frame is not judged that networks look at."""
    if any("labels" in one.needs for one in change.steps):
        # They were estimated for the change already, and are kept.
        change = change._replace(before=change.before.with_known("labels"))
    view = _View(change.after.image)
    if reason := _street_lost(change, view, original):
        return reason
    for step in change.steps:
        asked = _asked(step)
        if asked is not None and asked.what.condition is None and not step.is_identity:
            reason = _operation_failed(change, asked, view, original, detected)
            if reason:
                return reason
    return _things_lost(change, view, original)


def _known_labels(change: FrameChange) -> LabelMap | None:
    """Return the label map that holds for the changed image."""
    if change.after.labels is not None:
        return change.after.labels
    return None if any(one.keeps is not Keeps.LABELS for one in change.steps) else change.before.labels


def _agreement(view: _View, labels: LabelMap) -> tuple[float, float]:
    """Return the shares of all places, and of the road's, at which the network sees what the labels say."""
    labels = view.reduced(labels)
    known = np.full(view.shape, -1)
    for number, group in enumerate(_GROUPS):
        known[labels.mask(*group)] = number
    same = view.groups == known
    road = known == 0
    told = known >= 0
    return (
        float(same[told].mean()) if told.any() else 1.0,
        float(same[road].mean()) if np.count_nonzero(road) >= _LEAST_CELLS else 1.0,
    )


def _street_lost(change: FrameChange, view: _View, original: _Original) -> str:
    """Return a complaint where the street is not recognised any more, or the label map does not fit it."""
    labels, before = _known_labels(change), change.before.labels
    if labels is None or before is None:
        if any(one.keeps is not Keeps.LABELS for one in change.steps):
            return ""
        same = view.groups == original.view.groups
        return "" if same.mean() >= _STREET_KEPT else "the street network no longer recognises the street"
    now, road = _agreement(view, labels)
    if min(now, road) >= _STREET_KEPT:
        return ""
    # It may not have known this street before: that takes as long again, and is rarely asked.
    then, road_then = _agreement(original.view, before)
    if road < _STREET_KEPT * road_then:
        return "the street network no longer recognises the road"
    return "the label map no longer fits the image" if now < _STREET_KEPT * then else ""


def _class_of(element: str) -> tuple[str, ...]:
    """Return the network's classes for an element; none where it has no such class."""
    known = ("line", "building", "tree", "vehicle", *_PEOPLE, "pole", *_POSTED)
    word = next((one for one in known if ontology().is_a(element, one)), "")
    return _ALIKE.get(word, (word,)) if word else ()


def _operation_failed(
    change: FrameChange, asked: Operation, view: _View, original: _Original, detected: Boxes | None
) -> str:
    """Return a complaint where what was asked for is not what is seen."""
    old = _class_of(asked.what.element)
    if isinstance(asked, AddOperation):
        if not old or _is_there(change, asked.what.element, view, original, detected):
            return ""
        return f"the gate sees no {asked.what} where one was added"
    region = _region(change, old)
    covered = None if region is None else view.covered(region)
    if covered is None or region is None or covered.sum() < _LEAST_CELLS:
        return ""
    new = _class_of(asked.new.element) if isinstance(asked, ReplaceOperation) else ()
    if old and old != new:
        still = _mean(view.of(*old), covered) > _GONE
        if detected is not None and set(old) & set(_FOUND_BY_DETECTORS):
            still = any(_inside(box, region) for box in detected.select(*old).xyxy.tolist())
        if still:
            return f"the gate still sees the {asked.what} that should be gone"
    if old and isinstance(asked, RemoveOperation) and (seen := _unlike_around(view, region, old)):
        return f"the gate sees a {seen} where a {asked.what} was, which does not fit what is around it"
    if new and isinstance(asked, ReplaceOperation):
        made = region if change.after.labels is None else region & change.after.labels.mask(*new)
        covered = view.covered(made)
        if covered.sum() < _LEAST_CELLS or _mean(view.of(*new), covered) < _BECAME:
            return f"the gate sees no {asked.new} in place of the {asked.what}"
    return ""


def _unlike_around(view: _View, region: Mask, old: Sequence[str]) -> str:
    """Return what is seen in a hole though hardly around it, or though it should be gone; empty if none."""
    holes = cv2.resize(region.view(np.uint8), view.shape[::-1], interpolation=cv2.INTER_NEAREST)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(holes)
    for number in range(1, count):
        left, top, wide, high, cells = stats[number].tolist()
        if cells < _HOLE_CELLS:
            continue
        near = slice(max(0, top - _RIM), top + high + _RIM), slice(max(0, left - _RIM), left + wide + _RIM)
        hole = parts[near] == number
        rim = cv2.dilate(hole.view(np.uint8), np.ones((2 * _RIM + 1,) * 2, np.uint8)) > hole
        seen = np.argmax([one[near] for one in view._likelihoods.values()], axis=0)
        most = np.bincount(seen[hole]).argmax()
        word = list(view._likelihoods)[most]
        if word in old or (rim.any() and np.mean(seen[rim] == most) < _RIM_SHARE):
            return word
    return ""


def _region(change: FrameChange, words: tuple[str, ...]) -> Mask | None:
    """Return where things went or gave way: where they had been, and the label map has changed.

    Other steps change the label map elsewhere; nobody knows where it was that things went if the image moved.
    """
    before, after = change.before.labels, change.after.labels
    if before is None or _is_moved(change):
        return None
    were = before.mask(*words) if words else np.ones_like(before.ids, np.bool_)
    if after is not None and after is not before:
        return np.asarray(were & (before.ids != after.ids), np.bool_)
    return were if words else None


def _is_moved(change: FrameChange) -> bool:
    """Return whether things are elsewhere in the changed image, or nobody knows."""
    return any(one.keeps in (Keeps.MOVED, Keeps.NOTHING) for one in change.steps)


def _is_there(
    change: FrameChange, element: str, view: _View, original: _Original, detected: Boxes | None
) -> bool:
    """Return whether something that was added is seen."""
    words = _class_of(element)
    before, after = change.before.labels, change.after.labels
    box = _box_of(change.after, element)
    if detected is not None and box is not None and set(words) & set(_FOUND_BY_DETECTORS):
        return bool((detected.select(*words).iou(Boxes([box], words[:1])) >= _OVERLAP).any())
    covered: Cells | None = None
    mask = np.zeros(change.after.image.shape[:2], np.bool_)
    moved = _is_moved(change)
    # Of an image that moved nobody knows which of its things are new, unless the last steps say it.
    if before is not None and after is not None and not (moved and box is not None):
        mask = after.mask(*words) if moved else after.mask(*words) & ~before.mask(*words)
    if mask.any():
        covered = view.covered(mask)
    elif box is not None:
        left, top, right, bottom = (max(0, round(side)) for side in box)
        mask[top:bottom, left:right] = True
        covered = view.covered(mask)
    likely = view.of(*words)
    border = _THERE.get(words[0], _THERE_ELSE)
    if covered is None:
        # Nobody says where: then more of it must be seen than before.
        return bool(np.count_nonzero(likely - original.view.of(*words) > border) >= _LEAST_CELLS)
    inside = covered > 0.5
    if np.count_nonzero(inside) < _LEAST_CELLS:
        inside = covered >= np.sort(covered, axis=None)[-_LEAST_CELLS]
    return float(np.quantile(likely[inside], _BRIGHTEST)) >= border


def _box_of(frame: Frame, element: str) -> tuple[float, ...] | None:
    """Return the box of the last such element that was added, where the frame tells."""
    for note in reversed(added_things(frame)):
        if "box" in note and ontology().is_a(note["element"], element):
            return tuple(note["box"])
    return None


def _things_lost(change: FrameChange, view: _View, original: _Original) -> str:
    """Return a complaint where a large thing that nobody asked to change is not seen any more."""
    before = change.before.labels
    if before is None or _is_moved(change) or change.after.image.shape != change.before.image.shape:
        return ""
    before = view.reduced(before)
    after = before if change.after.labels is None else view.reduced(change.after.labels)
    kept = before.ids == after.ids
    # Channel by channel: numpy's maximum over three numbers takes ten times as long.
    red, green, blue = cv2.split(cv2.absdiff(change.before.image, change.after.image))
    touched = view.covered(np.asarray(cv2.max(cv2.max(red, green), blue)) > _RANGE) > 0
    for words in (_PEOPLE, ("vehicle",)):
        count, parts, stats, _ = cv2.connectedComponentsWithStats(before.mask(*words).astype(np.uint8))
        for number in range(1, count):
            part = parts == number
            # An edit elsewhere leaves its pixels as they are.
            if stats[number, cv2.CC_STAT_AREA] < _LARGE * parts.size or not touched[part].any():
                continue
            if np.mean(kept[part]) < 1 - _LARGE or view.of(*words)[part].mean() > _LOST:
                continue
            if original.view.of(*words)[part].mean() > _SEEN:
                return f"the gate no longer sees a {words[0]} that nobody asked to change"
    return ""


def _mean(values: Cells, weights: Cells) -> float:
    return float((values * weights).sum() / weights.sum())


def _inside(box: Sequence[float], region: Mask) -> bool:
    """Return whether most of a box lies where something should be gone."""
    left, top, right, bottom = (max(0, round(side)) for side in box)
    window = region[top:bottom, left:right]
    return bool(window.size) and float(window.mean()) > 0.5
