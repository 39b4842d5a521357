"""Answers that are no numbers, as text in a row: so that boxes, label maps and paths can be drawn later."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from roadworthy.cases import Predicted, Prediction, Scalar
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath
from roadworthy.images import decode_image, encode_image
from roadworthy.transforms.perspective import Perspective

_WIDEST = 160  # pixels of a stored label map
_NEAREST = 2.0  # metres; what is nearer lies below the image


def stored_answers(predicted: Predicted, *, violated: bool) -> dict[str, Scalar]:
    """Return the answers to the frames of a case, ``answer.0`` that to the original; signals need no text.

    Label maps are kept where a rule is violated, as those are what people look at.
    """
    kinds = (Boxes, PlannedPath, LabelMap) if violated else (Boxes, PlannedPath)
    return {
        f"answer.{number}": _text(one, frame)
        for number, (one, frame) in enumerate(zip(predicted.predictions, predicted.frames, strict=True))
        if isinstance(one, kinds)
    }


def seen_path(path: PlannedPath, frame: Frame) -> list[tuple[float, float]]:
    """Return where a path lies in the image, by the frame's perspective, from where it comes into view."""
    view = Perspective.of(frame)
    points = path.at(np.linspace(0, path.times[-1], 8 * len(path.times) + 1))
    ahead = points[points[:, 0] > _NEAREST]
    across = frame.width / 2 + view.focal * ahead[:, 1] / ahead[:, 0]
    down = view.horizon + view.focal * view.camera_height / ahead[:, 0]
    return [(round(x, 1), round(y, 1)) for x, y in zip(across.tolist(), down.tolist(), strict=True)]


def _text(answer: Prediction, frame: Frame) -> str:
    if isinstance(answer, PlannedPath):
        told = {"points": answer.points.round(3).tolist(), "times": answer.times.tolist()}
        return json.dumps({**told, "seen": seen_path(answer, frame)})
    if isinstance(answer, Boxes):
        words = [
            f"{one.get('type', name)}" for name, one in zip(answer.classes, answer.attributes, strict=True)
        ]
        scores = None if answer.scores is None else answer.scores.round(3).tolist()
        return json.dumps({"boxes": answer.xyxy.round(1).tolist(), "classes": words, "scores": scores})
    assert isinstance(answer, LabelMap)
    height, width = answer.shape
    size = (min(width, _WIDEST), max(1, round(height * min(1.0, _WIDEST / width))))
    small = cv2.resize(answer.ids.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    coded = base64.b64encode(encode_image(np.dstack([small] * 3), ".png")).decode()
    return json.dumps({"labels": coded, "classes": answer.classes})


def read_answer(text: str, size: tuple[int, int]) -> Boxes | LabelMap | PlannedPath:
    """Return an answer that was stored.

    Args:
        text: The text.
        size: Width and height of the frame.

    Example:
        >>> read_answer('{"points": [[5.0, 0.0]], "times": [0.5]}', (320, 160)).points.tolist()
        [[5.0, 0.0]]
    """
    known = json.loads(text)
    if "points" in known:
        return PlannedPath(known["points"], known["times"])
    if "boxes" in known:
        return Boxes(known["boxes"], known["classes"], known["scores"]).clipped(*size)
    small = decode_image(base64.b64decode(known["labels"]))[..., 0]
    ids = np.asarray(cv2.resize(small, size, interpolation=cv2.INTER_NEAREST), np.uint8)
    return LabelMap(ids, tuple(known["classes"]))


def overlays(row: Mapping[str, Scalar], prefix: str = "") -> list[dict[str, Any]]:
    """Return what lies over each image of a row: corners of boxes, and the points of a line, in its pixels.

    Args:
        row: Measures by name.
        prefix: What stands before their names.

    Example:
        >>> overlays({"answer.0": '{"boxes": [[1, 2, 3, 4]], "classes": ["car"], "scores": [0.5]}'})
        [{'boxes': [[1, 2, 3, 4]], 'line': []}]
    """
    found: list[dict[str, Any]] = []
    while (text := row.get(f"{prefix}answer.{len(found)}")) is not None:
        known = json.loads(str(text))
        found.append({"boxes": known.get("boxes", []), "line": known.get("seen", [])})
    return found
