"""Boxes to and from ``supervision.Detections``.

Detections carry class numbers and, in ``data["class_name"]``, names; corners are pixels as here. Occlusion,
truncation and attributes have no place of their own there, so they travel in ``data`` and come back from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roadworthy._importing import required
from roadworthy.errors import FrameError
from roadworthy.frames import Boxes
from roadworthy.frames.formats.maite import MaiteTarget

Names = Sequence[str] | Mapping[int, str]
ClassNames = Mapping[str, str | None]
_SHARES = ("occlusion", "truncation")


def to_supervision(boxes: Boxes, names: Names, *, class_names: ClassNames | None = None) -> Any:
    """Return boxes as ``supervision.Detections``.

    Args:
        boxes: The boxes.
        names: The class names by their numbers.
        class_names: The ontology word for a class name, where the ontology does not know it.

    Raises:
        MissingExtraError: supervision is not installed.
        FrameError: A box has a class that is not among the names.
    """
    supervision = required("supervision", extra="supervision", purpose="convert boxes to supervision")
    target = boxes.to_maite(names, class_names=class_names)
    known = dict(enumerate(names)) if isinstance(names, Sequence) else dict(names)
    data: dict[str, Any] = {"class_name": np.array([known[int(one)] for one in target.labels], dtype=str)}
    for name in _SHARES:
        if (values := getattr(boxes, name)) is not None:
            data[name] = values.copy()
    if any(boxes.attributes):
        data["attributes"] = [dict(one) for one in boxes.attributes]
    return supervision.Detections(
        xyxy=target.boxes,
        class_id=target.labels.astype(int),
        confidence=None if boxes.scores is None else boxes.scores.copy(),
        tracker_id=None if boxes.track_ids is None else boxes.track_ids.astype(int),
        data=data,
    )


def from_supervision(
    detections: Any, names: Names | None = None, *, class_names: ClassNames | None = None
) -> Boxes:
    """Return ``supervision.Detections`` as boxes; masks are left out.

    Args:
        detections: The detections.
        names: The class names by their numbers; from ``data["class_name"]`` when left out.
        class_names: The ontology word for a class name, where the ontology does not know it.

    Raises:
        FrameError: Classes are missing, or a name means nothing here.
    """
    told = detections.data.get("class_name")
    labels = detections.class_id
    if names is None:
        if told is None:
            if len(detections):
                raise FrameError("the detections have no class names: give some, such as ['person', 'car']")
            told = []
        written = list(dict.fromkeys(map(str, told)))
        labels = np.array([written.index(str(one)) for one in told], np.int64)
        names = written
    if labels is None:
        raise FrameError("the detections have no class_id, so what they are is not known")
    scores = detections.confidence
    target = MaiteTarget(
        np.asarray(detections.xyxy, np.float32).reshape(-1, 4),
        np.asarray(labels, np.int64),
        np.ones(len(detections), np.float32) if scores is None else np.asarray(scores, np.float32),
    )
    found = Boxes.from_maite(target, names, class_names=class_names)
    if len(found) != len(detections):
        # Classes that the user leaves out: what travels in data belongs to the others.
        return found if scores is not None else Boxes(found.xyxy, found.classes, attributes=found.attributes)
    more = detections.data.get("attributes")
    attributes = [
        {**(more[number] if more is not None else {}), **known}
        for number, known in enumerate(found.attributes)
    ]
    known = {name: detections.data.get(name) for name in _SHARES}
    known |= {"scores": None if scores is None else found.scores, "track_ids": detections.tracker_id}
    return Boxes(found.xyxy, found.classes, attributes=attributes, **known)
