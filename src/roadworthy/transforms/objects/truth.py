"""What is known about a frame after things were taken out of it: label map, instances, boxes and depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.ontology import ontology
from roadworthy.transforms.notes import metadata_without
from roadworthy.transforms.objects.completion import Ids, Kind, completed
from roadworthy.transforms.objects.markings import hidden_lines
from roadworthy.transforms.objects.parts import box_window
from roadworthy.transforms.objects.selection import Selection
from roadworthy.transforms.perspective import Perspective

__all__ = ["PAINTED", "labels_without", "truth_without"]

Mask = NDArray[np.bool_]
Depth = NDArray[np.float32]

PAINTED = ("line", "crosswalk", "stop and yield line")
"""What is painted on the road."""


def labels_without(frame: Frame, gone: Selection) -> Ids:
    """Return the label ids of a frame in which what was selected shows what lies behind it."""
    labels = frame.labels
    assert labels is not None
    kind: Kind = "thing"
    if gone.what.element in PAINTED:
        kind = "paint"
    elif ontology().is_a("building", gone.what.element):
        kind = "backdrop"
    ids = completed(labels.ids, labels.classes, gone.mask, Perspective.of(frame), kind)
    if kind != "paint" and "line" in labels.classes:
        behind = hidden_lines(frame, labels.mask("line") & ~gone.mask, gone.mask)
        behind &= LabelMap(ids, labels.classes).mask("road")
        ids[behind] = labels.classes.index("line")
    return ids


def truth_without(frame: Frame, gone: Selection, ids: Ids, origin: NDArray[np.intp] | None = None) -> Frame:
    """Return the frame with the label map given and without all else that is known about what is gone.

    Args:
        frame: The frame as it was.
        gone: What is gone.
        ids: The label ids without it.
        origin: From which pixel each was copied, -1 for none. What now shows is as far away as where it was
            copied from; its depth is not known where it was not.
    """
    labels = frame.labels
    assert labels is not None
    instances = frame.instances
    if instances is not None:
        instances = instances.copy()
        instances[gone.mask] = 0
    return frame.replace(
        labels=LabelMap(ids, labels.classes),
        metadata=metadata_without(frame, gone.what),
        instances=instances,
        boxes=None if frame.boxes is None else _boxes_left(frame, frame.boxes, gone),
        depth=None if frame.depth is None else _depth(frame, frame.depth, gone.mask, ids, origin),
    )


def _boxes_left(frame: Frame, boxes: Boxes, gone: Selection) -> Boxes:
    """Return the boxes without those of what is gone; what it hid is less hidden now.

    How much each thing hides of another is not known. The share of a box that other things cover falls, and
    occlusion falls with it.
    """
    left = boxes[np.setdiff1d(np.arange(len(boxes)), gone.boxes)]
    if left.occlusion is None:
        return left
    assert frame.labels is not None
    things = frame.labels.mask("object", "traffic infrastructure")
    occlusion = left.occlusion.copy()
    for index in np.flatnonzero(np.nan_to_num(occlusion) > 0).tolist():
        window = box_window(left.xyxy[index])
        others = things[window]
        if frame.instances is not None and left.track_ids is not None:
            others = others & (frame.instances[window] != left.track_ids[index])
        before = np.count_nonzero(others)
        if before:
            occlusion[index] *= np.count_nonzero(others & ~gone.mask[window]) / before
    return left.replace(occlusion=occlusion)


def _depth(frame: Frame, depth: Depth, gone: Mask, ids: Ids, origin: NDArray[np.intp] | None) -> Depth:
    assert frame.labels is not None
    behind = depth.copy()
    behind[gone] = np.nan
    labels = LabelMap(ids, frame.labels.classes)
    behind[gone & labels.mask("sky")] = np.inf
    if origin is None:
        return behind
    known = gone & (origin >= 0)
    # What a thing hid is not nearer than the thing, wherever its look was copied from.
    behind[known] = np.fmax(depth.ravel()[origin[known]], depth[known])
    # Ground is as far away all along a row; what came from another row is as far as the plane is here.
    moved = known & (origin // frame.width != np.arange(frame.height)[:, None])
    moved &= labels.mask("road part", "terrain")
    plane = np.broadcast_to(Perspective.of(frame).distances(frame.height)[:, None], depth.shape)
    behind[moved] = plane[moved]
    return behind
