"""Removing objects: what is behind them is completed from the rest of the frame.

Nobody knows what a camera would see there. The picture is taken for a backdrop that stands on the ground. The
line on which it stands goes on behind the thing as it runs on both sides of it. Below that line the ground
goes on from the same rows. Above it goes on what is nearest: what is above the thing in the same column, or
beside it in the same row, a wall or a row of trees only as far as it is long, and sky only under sky. Other
things, such as a pedestrian beside a car, do not go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.labelling import is_estimated
from roadworthy.ontology import VOID, ontology
from roadworthy.transforms.objects.camera_look import is_grey
from roadworthy.transforms.objects.filling import evened, fill_network, grained
from roadworthy.transforms.objects.inpainting import Gap, Places, filled, is_pattern, painted_share, region_of
from roadworthy.transforms.objects.paint import hidden_lines
from roadworthy.transforms.objects.parts import PARTS, check_part, part_of
from roadworthy.transforms.objects.request import Edited, ObjectEdit, box_window, parts_of, window_of
from roadworthy.transforms.objects.selection import ObjectSelection, check_element, select
from roadworthy.transforms.perspective import GROUND, ROAD, Perspective
from roadworthy.transforms.transform import choice, number, register, word
from roadworthy.transforms.wording import Numbers, metadata_without

Ids = NDArray[np.uint8 | np.uint16]
Labels = NDArray[np.int32]
Distances = NDArray[np.float32]
Kind = Literal["thing", "paint", "backdrop"]

STANDING = ("tree", "building", VOID)
"""The classes of what stands behind other things; void is mostly walls and fences."""

_N = Numbers("removal")
_COARSE = 400  # columns, at least, in which outlines are worked out
_NOWHERE = np.float32(1e9)


@dataclass(frozen=True)
class Classes:
    """The ids of label classes by the part that they play in a picture."""

    names: tuple[str, ...]

    def ids(self, *names: str) -> NDArray[np.intp]:
        """Return the ids of the classes with these names."""
        return np.array([index for index, name in enumerate(self.names) if name in names], np.intp)

    def table(self, *names: str) -> Mask:
        """Return for each id whether it is of a class with one of these names, with False for id -1."""
        return np.array([name in names for name in self.names] + [False])

    def spreading(self) -> Labels:
        """Return for each id that of what goes on behind things, the road for paint, and -1 for things."""
        road = self.names.index("road") if "road" in self.names else -1
        others = (*GROUND, *STANDING, "sky")
        numbers = enumerate(self.names)
        spread = [road if name in ROAD else index if name in others else -1 for index, name in numbers]
        return np.array(spread, np.int32)


def completed(ids: Ids, names: Sequence[str], gone: Mask, view: Perspective, kind: Kind = "thing") -> Ids:
    """Return label ids in which what is gone shows what lies behind it.

    Args:
        ids: The label ids; index into `names`.
        names: The names of the classes.
        gone: Which pixels are to be filled.
        view: The perspective of the image.
        kind: Whether it was a "thing" that stood on the ground, "paint" on it, or part of the "backdrop",
            such as a building, behind which there is ground up to the horizon.
    """
    classes = Classes(tuple(names))
    if kind == "paint":
        return _unpainted(ids, classes, gone)
    # Outlines behind things are not known to the pixel, so they are not worked out to the pixel either.
    step = max(1, ids.shape[1] // _COARSE)
    small = np.ascontiguousarray(ids[step // 2 :: step, step // 2 :: step])
    size = (small.shape[1], small.shape[0])
    gap = cv2.resize(gone.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0
    coarse = Perspective(view.horizon / step, view.camera_height, view.focal / step)
    found, feet = _behind(small, classes, gap, coarse, static=kind == "backdrop")
    floats = cv2.resize(found.astype(np.float32), gone.shape[::-1], interpolation=cv2.INTER_NEAREST)
    wide = floats.astype(np.int32)
    span = window_of(gone)[0]
    if step > 1:
        wide[span] = _smoothed(wide[span], gone[span], (step | 1, step | 1))
    result = ids.copy()
    result[gone] = wide[gone]
    if kind == "thing":
        columns = np.minimum(np.arange(ids.shape[1]) // step, len(feet) - 1)
        _plant_poles(result, ids, classes, gone, feet[columns] * step)
    return result


def _unpainted(ids: Ids, classes: Classes, gone: Mask) -> Ids:
    """Return what is below paint: the ground beside it in the same row, the road where there is none."""
    span = window_of(gone)[0]
    known = classes.spreading()[ids[span]]
    known[gone[span] | ~classes.table("road", "sidewalk", "terrain")[known]] = -1
    found = _nearest(_sides(known))
    road = classes.names.index("road") if "road" in classes.names else 0
    result = ids.copy()
    gap = gone[span]
    result[span][gap] = np.where(found < 0, road, found)[gap]
    return result


def _behind(
    ids: Ids, classes: Classes, gone: Mask, view: Perspective, *, static: bool
) -> tuple[Labels, NDArray[np.float64]]:
    """Return the classes with those behind what is gone, and the row in which each column's ground ends."""
    known = classes.spreading()[ids]
    known[gone] = -1
    if static:
        # What was a wall or a fence before a building ends with it.
        known[classes.table(VOID)[known]] = -1
    feet = np.full(ids.shape[1], view.horizon) if static else _feet(known, classes, gone, view)
    span = window_of(gone)[0]
    gap, part = gone[span], known[span]
    level = np.arange(span.start, span.stop)[:, None]
    # A slit of sky between two roofs does not go down to the ground.
    above = _smoothed(_last_known(known)[span], gap, (max(3, ids.shape[1] // 16 | 1), 1))
    ground = level + 0.5 >= feet
    on_ground = _on_ground(known, classes, gone, span, view)
    longest = _N.longest_static if static else _N.longest
    upright = _upright(part, above, classes, level + 0.5 < view.horizon, longest)
    ground |= classes.table("sky")[upright] & (level > view.horizon + 1)
    found = np.where(gap, np.where(ground, on_ground, upright), part)
    _sink(found, gap, classes)
    _fill_columns(found, known, classes, ground)
    size = max(3, int(_N.smooth * ids.shape[1]) | 1)
    known[span] = _smoothed(found, gap, (size, size))
    return known, feet


def _plant_poles(result: Ids, ids: Ids, classes: Classes, gone: Mask, feet: NDArray[np.float64]) -> None:
    """Let poles that end at what is gone go on down to the ground behind it."""
    for pole in classes.ids("pole").tolist():
        ends = np.zeros_like(gone)
        ends[1:] = gone[1:] & ~gone[:-1] & (ids[:-1] == pole)
        for row, column in np.argwhere(ends).tolist():
            stop = min(len(gone), max(row, int(feet[column]) + 2))
            below = gone[row:stop, column]
            length = len(below) if below.all() else int(below.argmin())
            result[row : row + length, column] = pole


def _last_known(known: Labels) -> Labels:
    """Return the nearest class above each pixel, -1 where there is none."""
    rows = np.arange(known.shape[0])[:, None]
    above = np.maximum.accumulate(np.where(known >= 0, rows, -1), axis=0)
    label = np.where(above >= 0, np.take_along_axis(known, np.maximum(above, 0), axis=0), -1)
    return label.astype(np.int32)


def _feet(known: Labels, classes: Classes, gone: Mask, view: Perspective) -> NDArray[np.float64]:
    """Return for each column the row in which the ground behind what is gone ends."""
    height, width = known.shape
    flat = classes.table("road", "sidewalk", "terrain")[known]
    behind = classes.table(*STANDING, "sky")[known]
    ends = np.zeros_like(flat)
    ends[1:] = flat[1:] & behind[:-1]
    ends[: max(0, int(view.horizon))] = False
    seen = np.flatnonzero(ends.any(axis=0))
    horizon = float(np.clip(view.horizon, 0, height))
    columns = np.arange(width)
    first, last, low, high = width, -1, 0.0, float(height)
    feet = np.full(width, horizon)
    if len(seen):
        rows = ends.argmax(axis=0)[seen]
        feet = np.interp(columns, seen, rows)
        first, last = int(seen[0]), int(seen[-1])
        low, high = np.percentile(rows, (15, 85)).tolist()
    # At the edge of the image nothing tells on one side: there the backdrop is not far behind the thing,
    # unless it is one that we face.
    outside = gone.any(axis=0) & ((columns < first) | (columns > last))
    if outside.any() and high - low > _N.faced * height:
        bottom = np.where(outside, height - gone[::-1].argmax(axis=0), 0).astype(np.float32)
        reach = max(3, width // 12 | 1)
        lowest = cv2.dilate(bottom[None, :], np.ones((1, reach), np.uint8))[0]
        below = np.maximum(lowest - view.horizon, 0.5)
        scale = view.focal * view.camera_height
        near = view.horizon + scale / (scale / below + _N.behind)
        feet = np.where(outside, np.maximum(feet, np.minimum(near, bottom - 1)), feet)
    return np.asarray(np.maximum(feet, horizon), np.float64)


def _sides(known: Labels) -> list[tuple[Labels, Distances]]:
    """Return, for both sides, the nearest class in the row of each pixel and how far away it is."""
    found = []
    columns = np.arange(known.shape[1])
    for flip in (slice(None), slice(None, None, -1)):
        side = known[:, flip]
        nearest = np.maximum.accumulate(np.where(side >= 0, columns, -1), axis=1)
        label = np.where(nearest >= 0, np.take_along_axis(side, np.maximum(nearest, 0), axis=1), -1)
        distance = np.where(label >= 0, columns - nearest, _NOWHERE).astype(np.float32)
        found.append((label[:, flip], distance[:, flip]))
    return found


def _on_ground(known: Labels, classes: Classes, gone: Mask, span: slice, view: Perspective) -> Labels:
    """Return the class of the ground at each pixel of some rows.

    It is what is nearest in the row. Where that differs on both sides of a thing that is near, the road goes
    on as it leads away from us, towards the point in which its edges meet; farther away it may have a bend.
    """
    flat = classes.table("road", "sidewalk", "terrain")
    ground = np.where(flat[known], known, -1)
    sides = _sides(ground[span])
    foot = gone.shape[0] - gone[::-1].argmax(axis=0)
    near = (foot - view.horizon) * _N.straight > view.focal * view.camera_height
    ahead = _led_away(ground, classes, span, view)
    led = near & (sides[0][0] != sides[1][0]) & (ahead >= 0)
    return np.where(led, ahead, _nearest(sides))


def _led_away(ground: Labels, classes: Classes, span: slice, view: Perspective) -> Labels:
    """Return the class of the ground nearer to us in the direction in which the road leads."""
    height, width = ground.shape
    column = _vanishing_column(ground, classes, view.horizon)
    columns = np.arange(width) + 0.5
    found = np.full((span.stop - span.start, width), -1, np.int32)
    nearer = ground[span.stop] if span.stop < height else np.full(width, -1, np.int32)
    for row in range(span.stop - 1, max(span.start, int(view.horizon) + 1) - 1, -1):
        below = row + 0.5 - view.horizon
        at = np.floor(column + (columns - column) * ((below + 1) / max(below, 0.5))).astype(np.intp)
        inside = (at >= 0) & (at < width)
        carried = np.where(inside, nearer[np.clip(at, 0, width - 1)], -1)
        nearer = np.where(ground[row] >= 0, ground[row], carried)
        found[row - span.start] = nearer
    return found


def _vanishing_column(ground: Labels, classes: Classes, horizon: float) -> float:
    """Return where the edges of the road would meet on the horizon, the middle if they do not tell."""
    height, width = ground.shape
    first = max(0, int(horizon) + 2)
    road = classes.table("road")[ground[first:]]
    rows = np.arange(first, height) + 0.5 - horizon
    meets: list[tuple[float, int]] = []
    for flip in (False, True):
        part, known = (one[:, ::-1] if flip else one for one in (road, ground[first:] >= 0))
        edge = part.argmax(axis=1)
        # An edge that a thing hides, or that lies outside the image, is none.
        seen = part.any(axis=1) & (edge > 1) & known[np.arange(len(part)), np.maximum(edge - 1, 0)]
        index = np.flatnonzero(seen)
        half = len(index) // 2
        if half >= 3:
            near, far = index[-half:], index[:half]
            slope = np.median((edge[near] - edge[far]) / (rows[near] - rows[far]))
            meet = float(np.median(edge[index] - slope * rows[index]))
            meets.append((width - meet if flip else meet, half))
    total = sum(count for _, count in meets)
    middle = sum(meet * count for meet, count in meets) / total if total else width / 2
    return min(max(middle, 0.0), float(width))


def _nearest(several: Sequence[tuple[Labels, Distances]]) -> Labels:
    label, distance = several[0]
    for other, farther in several[1:]:
        closer = farther < distance
        label, distance = np.where(closer, other, label), np.where(closer, farther, distance)
    return label


def _upright(known: Labels, above: Labels, classes: Classes, over_horizon: Mask, longest: float) -> Labels:
    """Return what the backdrop shows at each pixel, -1 where nothing tells."""
    standing, sky = classes.table(*STANDING), classes.table("sky")
    hills = classes.table("terrain")
    backdrop = np.where(standing[known] | sky[known] | (hills[known] & over_horizon), known, -1)
    several = _sides(backdrop)
    lengths = _run_lengths(backdrop)
    beyond = _sides(np.where(standing[backdrop], -1, backdrop))
    gap = several[0][1] + several[1][1]
    open_above = sky[above] | (above < 0)
    for side, (label, distance) in enumerate(several):
        columns = np.arange(known.shape[1])
        at = columns - distance if side == 0 else columns + distance
        inside = np.clip(at, 0, known.shape[1] - 1).astype(np.intp)
        run = np.take_along_axis(lengths, inside, axis=1)
        wrong = (standing[label] & (gap > longest * run)) | (sky[label] & ~open_above)
        several[side] = (np.where(wrong, -1, label), np.where(wrong, _NOWHERE, distance))
    for label, distance in beyond:
        wrong = sky[label] & ~open_above
        several.append((np.where(wrong, -1, label), np.where(wrong, _NOWHERE, distance)))
    rows = np.arange(known.shape[0])[:, None]
    seen = np.maximum.accumulate(np.where(known >= 0, rows, -1), axis=0)
    rise = np.where(above >= 0, np.maximum(rows - seen, 1), _NOWHERE).astype(np.float32)
    # Sky from above is only the last resort: hills and trees stand before it.
    rise = np.where(sky[above], rise + 2 * known.shape[1], rise)
    return _nearest([*several, (above, rise)])


def _sink(found: Labels, gap: Mask, classes: Classes) -> None:
    """Let hills and trees in a gap reach down to the ground: there is no sky below them."""
    sky = classes.table("sky")[found] & gap
    other = gap & ~sky & (found >= 0)
    rows = np.arange(found.shape[0])[:, None]
    last = np.maximum.accumulate(np.where(other, rows, -1), axis=0)
    left = np.maximum.accumulate(np.where(gap, -1, rows), axis=0)
    below = sky & (last > left)
    found[below] = np.take_along_axis(found, np.maximum(last, 0), axis=0)[below]


def _run_lengths(labels: Labels) -> NDArray[np.int32]:
    """Return how long the run of one class in its row is that each pixel belongs to."""
    height, width = labels.shape
    begins = np.ones((height, width + 1), np.bool_)
    begins[:, 1:-1] = labels[:, 1:] != labels[:, :-1]
    starts = np.flatnonzero(begins.ravel())
    lengths = np.diff(starts, append=begins.size).astype(np.int32)
    return np.repeat(lengths, lengths).reshape(height, width + 1)[:, :-1]


def _fill_columns(found: Labels, known: Labels, classes: Classes, ground: Mask) -> None:
    """Fill what has nothing beside it: ground from below or above, else what is commonest."""
    missing = found < 0
    if not missing.any():
        return
    counts = np.bincount(known[known >= 0], minlength=len(classes.names))

    def commonest(*names: str) -> int:
        return max(classes.ids(*names).tolist(), key=lambda one: int(counts[one]), default=-1)

    void = classes.names.index(VOID) if VOID in classes.names else 0
    flat = commonest("terrain", "sidewalk", "road")
    tall = commonest("sky")
    tall = tall if tall >= 0 and counts[tall] else commonest(*STANDING)
    columns = np.flatnonzero(missing.any(axis=0))
    part, low = found[:, columns], ground[:, columns]
    upper = _last_known(np.where(low, part, -1))
    lower = _last_known(np.where(low, part, -1)[::-1])[::-1]
    earth = np.where(lower >= 0, lower, np.where(upper >= 0, upper, flat))
    taken = np.where(low, earth, tall)
    found[:, columns] = np.where(part < 0, np.where(taken >= 0, taken, void), part)


def _smoothed(found: Labels, gap: Mask, size: tuple[int, int]) -> Labels:
    """Return the class that most pixels around each have, so that outlines are not frayed row by row."""
    votes = np.zeros(found.shape, np.float32)
    result = found.copy()
    for label in np.unique(found[gap]):
        count = cv2.boxFilter((found == label).astype(np.float32), -1, size)
        better = count > votes
        result[better] = label
        votes[better] = count[better]
    return result


Depth = NDArray[np.float32]

PAINTED = ("line", "crosswalk", "stop and yield line")
"""What is painted on the road."""


def labels_without(frame: Frame, gone: ObjectSelection) -> Ids:
    """Return the label ids of a frame in which what was selected shows what lies behind it."""
    labels = frame.label_map
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


def truth_without(frame: Frame, gone: ObjectSelection, ids: Ids, origin: Places | None = None) -> Frame:
    """Return the frame with the label map given and without all else that is known about what is gone.

    Args:
        frame: The frame as it was.
        gone: What is gone.
        ids: The label ids without it.
        origin: From which pixel each was copied, -1 for none. What now shows is as far away as where it was
            copied from; its depth is not known where it was not.
    """
    labels = frame.label_map
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
    things = frame.label_map.mask("object", "traffic infrastructure")
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
    behind = depth.copy()
    behind[gone] = np.nan
    labels = LabelMap(ids, frame.label_map.classes)
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


# Grey levels around holes up to which smears are hardly seen, and from which they always are; between them,
# the shares of the image of all holes and of one; and the mean gradient of what stands around them, of which
# the network does not paint more.
_DARK, _BRIGHT, _MOST, _MOST_OF_ONE, _RICH = 45.0, 55.0, 0.012, 0.0025, 60.0
_LOOK_WIDTH, _RING, _EDGE = 320, 10, 2  # pixels at which that is looked at, and how far around a hole
# What everything else stands on and in front of.
_NEVER = ("road", "sidewalk", "terrain", "sky", "ego-vehicle")


@register("remove", summary="things of an element are taken out, and what is behind them shows")
class Remove(ObjectEdit):
    """All things that a few words describe are taken out: "lane lines", "vehicle", "red car", "stop sign".

    The label map is edited first, then the pixels are made to fit it. Outside :meth:`region`, that is the
    things, an edge round them, shadows that touch them and their reflections in a wet road, nothing changes.
    What lay behind them is a guess: what is beside them goes on. A frame in which something else would be
    left without its feet does not qualify. The contact shadow goes with a thing, as far as it is darker than
    the ground and touches it; long shadows, mostly of trees and houses, stay. A sign goes with its post.

    Attributes:
        element: What is taken out, as a word of the ontology with or without properties.
        part: Which of them: all, about half, the nearest, those on one side; of lines, those of centre or
            edge.
        least_share: The share of the image below which things are too small to remove.
    """

    element: str = word("vehicle")
    least_share: float = number(LEAST_SHARE, low=0, high=1)
    part: str = choice("all", choices=PARTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_part(check_element(self.name, self.element, never=_NEVER), self.part)

    def edit(self, frame: Frame, rng: Generator) -> Edited:
        chosen = select(frame, check_element(self.name, self.element), self.least_share)
        chosen = part_of(frame, chosen, self.part)
        if chosen.what.is_a("dynamic object") and _leaves_half_a_thing(frame, chosen):
            raise NotApplicable(f"without a {chosen.what} before it, the rest of a thing would float")
        if self.doubts(frame):
            self.doubt(frame, _unbelievable(frame, chosen))
        return without(frame, chosen, rng)


def _unbelievable(frame: Frame, gone: ObjectSelection) -> str:
    """Return how people would see that something was taken out of a real frame; empty if they would not."""
    if gone.what.element in PAINTED:
        if is_pattern(gone.mask, frame.label_map.mask(*ROAD)):
            return f"the {gone.what} is hatching or a box junction, which cannot be painted over believably"
        if painted_share(frame.image, gone.mask, frame.label_map.mask("road")) < _N.least_paint:
            return f"where the label map has a {gone.what}, hardly any paint is seen"
        return ""
    if gone.what.element == "pole":
        around = cv2.dilate(gone.mask.view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
        if (frame.label_map.mask("traffic sign", "traffic light") & around).any():
            return "without its pole a sign or a light would hang in the air"
    if gone.what.is_a("vehicle"):
        return f"what a {gone.what} hides, such as the end of the road, cannot be painted believably"
    largest = max(np.count_nonzero(pixels) for _, pixels in parts_of(gone.mask)) / gone.mask.size
    detail, light = _look_around(frame, gone.mask)
    share = float(np.mean(gone.mask))
    much = largest > _N.largest_hole or share > _N.most_holes
    much |= light > _DARK and (largest > _MOST_OF_ONE or share > _MOST)
    if much or light > _BRIGHT or detail > _RICH:
        why = "is too much of the image" if much else "has too much light and detail around it"
        return f"{gone.what}: what is to go {why} to be painted over believably"
    return ""


def _look_around(frame: Frame, gone: Mask) -> tuple[float, float]:
    """Return how much detail what stands around holes has, and how bright it is around them."""
    size = _LOOK_WIDTH, max(1, round(frame.height * _LOOK_WIDTH / frame.width))
    grey = cv2.cvtColor(cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY)
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 0.8)
    standing = frame.label_map.mask(*STANDING, "traffic infrastructure")
    upright, hole = (
        cv2.resize(one.view(np.uint8), size, interpolation=cv2.INTER_NEAREST) for one in (standing, gone)
    )
    near, far = (cv2.dilate(hole, np.ones((2 * one + 1, 2 * one + 1), np.uint8)) for one in (_EDGE, _RING))
    ring = cv2.subtract(far, near)
    steps = cv2.magnitude(*(cv2.Sobel(smooth, cv2.CV_32F, *one) for one in ((1, 0), (0, 1))))
    return cv2.mean(steps, cv2.bitwise_and(ring, upright))[0], cv2.mean(smooth, ring)[0]


def _leaves_half_a_thing(frame: Frame, gone: ObjectSelection) -> bool:
    """Return whether a thing stays whose lower part was hidden: nobody knows what that looks like."""
    below = np.zeros_like(gone.mask)
    below[:-2] = gone.mask[1:-1] | gone.mask[2:]
    # A post goes on behind a car, but behind a person the network paints a wall.
    posts = () if gone.what.is_a("vehicle") else ("pole", "traffic light")
    for names in (("dynamic object", "traffic sign"), posts):
        staying = frame.label_map.mask(*names) & ~gone.mask
        for window, pixels in parts_of(staying, least=int(LEAST_SHARE * staying.size)):
            foot = pixels.shape[0] - 1 - pixels[::-1].argmax(axis=0)
            cut = below[window][foot, np.arange(len(foot))]
            if np.mean(cut[foot > foot.max() - 3] if names is posts else cut) > _N.cut:
                return True
    return False


def _whole_things(frame: Frame, gone: ObjectSelection) -> Mask:
    """Return what is taken out, with what labels lose: people's rims and bags, feet, rims of vehicles."""
    wide, person = gone.mask.copy(), gone.what.is_a("pedestrian") and not frame.drawn
    for (rows, columns), pixels in parts_of(gone.mask) if person and is_estimated(frame) else ():
        legs = pixels[len(pixels) // 2 :].any(axis=0)
        wide[rows.stop : rows.stop + round(_N.feet * len(pixels)), columns] |= legs
    wide &= gone.mask | frame.label_map.mask(*GROUND)
    if person or (gone.what.is_a("vehicle") and is_estimated(frame)):
        reach = max(1, round(_N.rim * frame.width))
        wide = cv2.dilate(wide.view(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8)).view(np.bool_)
        wide &= gone.mask | ~frame.label_map.mask("dynamic object", "traffic infrastructure")
    return wide


def without(frame: Frame, gone: ObjectSelection, rng: Generator, hidden: Mask | None = None) -> Edited:
    """Take out what was selected: of a real frame, the network that ships fills the hole.

    Args:
        frame: The frame.
        gone: What is taken out.
        rng: For what cannot be known.
        hidden: What will be hidden anyway, and is not painted.
    """
    labels = frame.label_map
    ids = labels_without(frame, gone)
    paint = gone.what.element in PAINTED
    opacity = region_of(frame, _whole_things(frame, gone), paint=paint)
    if hidden is not None:
        opacity[hidden] = 0
    if not frame.drawn:
        mask = opacity > 0
        made = fill_network().fill([frame.image], [mask])[0]
        for name in ("road", "sidewalk", "terrain"):
            shown = LabelMap(ids, labels.classes).mask(name) & mask
            made = evened(frame.image, made, shown, labels.mask(name) & ~mask)
        made = grained(frame.image, made, mask, rng)
        if is_grey(frame):
            made = np.repeat(cv2.cvtColor(made, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2).astype(np.uint8)
        mixed = frame.image + opacity[..., None] * (made.astype(np.float32) - frame.image)
        image = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
        # What lies below paint is as far away as the paint.
        origin = np.arange(mask.size).reshape(mask.shape) if paint else None
        return Edited(truth_without(frame, gone, ids, origin).replace(image=image), mask)
    gap = Gap(opacity, ids, Perspective.of(frame))
    image, origin = filled(frame.image, labels.ids, labels.classes, gap, rng)
    return Edited(truth_without(frame, gone, ids, origin).replace(image=image), opacity > 0)
