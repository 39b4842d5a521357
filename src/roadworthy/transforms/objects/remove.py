"""Taking things out of a frame, and what is known about the frame afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.ontology import ontology
from roadworthy.transforms.notes import metadata_without
from roadworthy.transforms.objects.completion import Ids, Kind, completed
from roadworthy.transforms.objects.edit import Edited, ObjectEdit, box_window, parts_of
from roadworthy.transforms.objects.inpainting import Gap, filled
from roadworthy.transforms.objects.paint import hidden_lines
from roadworthy.transforms.objects.region import region_of
from roadworthy.transforms.objects.selection import ObjectSelection, check_element, select
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.transform import Presets, number, register, word

Mask = NDArray[np.bool_]
Depth = NDArray[np.float32]

PAINTED = ("line", "crosswalk", "stop and yield line")
"""What is painted on the road."""


def labels_without(frame: Frame, gone: ObjectSelection) -> Ids:
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


def truth_without(
    frame: Frame, gone: ObjectSelection, ids: Ids, origin: NDArray[np.intp] | None = None
) -> Frame:
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


def _boxes_left(frame: Frame, boxes: Boxes, gone: ObjectSelection) -> Boxes:
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


LEAST_SHARE = 0.001
"""Of the image's pixels. The driving networks of the papers see 200 × 66 pixels: a thing of this share has 13
of them, half of what one filter of their first layer covers. Less can hardly count (RMT, 3.3.4)."""


_CUT = 0.5  # of a thing's columns that end at what is removed: its feet are not seen
# What everything else stands on and in front of.
_NEVER = ("road", "sidewalk", "terrain", "sky", "ego-vehicle")


@register("remove", summary="things of an element are taken out, and what is behind them shows")
@dataclass(frozen=True, kw_only=True)
class Remove(ObjectEdit):
    """All things that a few words describe are taken out: "lane lines", "vehicle", "red car", "stop sign".

    The label map is edited first, then the pixels are made to fit it. Outside :meth:`region`, that is the
    things, an edge round them and the shadows that touch them, nothing changes. What lay behind them is a
    guess: what is beside them goes on. A frame in which something else would be left without its feet does
    not qualify. The contact shadow goes with a thing, as far as it is darker than the ground and touches the
    thing; long shadows, mostly those of trees and buildings, stay. A sign or a light goes with its post.
    """

    element: str = word("vehicle", "What is taken out, as a word of the ontology with or without properties.")
    least_share: float = number(
        LEAST_SHARE,
        "The share of the image's pixels below which things are too small to be worth removing.",
        low=0,
        high=1,
    )

    presets: ClassVar[Presets] = {
        "lines": {"element": "line"},
        "vehicles": {"element": "vehicle"},
        "trees": {"element": "tree"},
        "buildings": {"element": "building"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_element(self.name, self.element, never=_NEVER)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        chosen = select(frame, check_element(self.name, self.element), self.least_share)
        if chosen.what.is_a("dynamic object") and _leaves_half_a_thing(frame, chosen):
            raise NotApplicable(
                f"without what hides it, the rest of a thing behind a {chosen.what} would float"
            )
        return without(frame, chosen, rng)


def _leaves_half_a_thing(frame: Frame, gone: ObjectSelection) -> bool:
    """Return whether a thing stays whose lower part was hidden: nobody knows what that looks like."""
    labels = frame.labels
    assert labels is not None
    staying = labels.mask("dynamic object", "traffic sign") & ~gone.mask
    below = np.zeros_like(gone.mask)
    below[:-2] = gone.mask[1:-1] | gone.mask[2:]
    for window, pixels in parts_of(staying, least=int(LEAST_SHARE * staying.size)):
        wide = pixels.shape[1]
        foot = pixels.shape[0] - 1 - pixels[::-1].argmax(axis=0)
        cut = below[window][foot, np.arange(wide)]
        if np.count_nonzero(cut) > _CUT * wide:
            return True
    return False


def without(
    frame: Frame, gone: ObjectSelection, rng: np.random.Generator, hidden: Mask | None = None
) -> Edited:
    """Take out what was selected; what will be `hidden` anyway is not painted."""
    labels = frame.labels
    assert labels is not None
    ids = labels_without(frame, gone)
    opacity = region_of(frame, gone.mask, paint=gone.what.element in PAINTED)
    if hidden is not None:
        opacity[hidden] = 0
    gap = Gap(opacity, ids, Perspective.of(frame))
    image, origin = filled(frame.image, labels.ids, labels.classes, gap, rng)
    return Edited(truth_without(frame, gone, ids, origin).replace(image=image), opacity > 0)
