"""Which pixels and boxes of a frame a few words mean, such as "red car" or "lane lines"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.ontology import ontology
from roadworthy.transforms.objects.paint import lights_like, lines_like
from roadworthy.transforms.objects.request import Window, box_window, parts_of, window_of
from roadworthy.transforms.wording import ElementDescription, described

_SEEN = 0.25  # of a box, that its thing covers
_REST = 0.25  # of a thing, that its box may leave out
_SPECK = 0.0006  # of the image; so small a piece of sky in a wall is a fault of the label map


@dataclass(frozen=True, eq=False)
class ObjectSelection:
    """What a description means in one frame.

    Attributes:
        what: The description.
        mask: Its pixels.
        boxes: The numbers of its boxes; none where the frame has none.
    """

    what: ElementDescription
    mask: Mask
    boxes: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SelectedObject:
    """One of the things that are selected.

    Attributes:
        element: Its ontology element.
        properties: What is known about it.
        window: The rows and columns that it covers.
        pixels: Its pixels within the window.
        foot: The row below its lowest pixel.
        hidden: Whether something hides a part of it, as far as is known.
        box: The number of its box among those of the frame; -1 where it has none.
    """

    element: str
    properties: Mapping[str, str]
    window: tuple[slice, slice]
    pixels: Mask
    foot: int
    hidden: bool = False
    box: int = -1


def check_element(owner: str, words: str, *, never: tuple[str, ...] = ()) -> ElementDescription:
    """Return what words describe, if it is something that label maps show.

    Args:
        owner: The transform, for messages.
        words: The words.
        never: Elements that it may not be.

    Raises:
        InputError: The words mean nothing, or something that label maps do not show.
    """
    try:
        what = described(words)
    except InputError as error:
        raise InputError(f"{owner}: {error}") from error
    shown = [name for name in ontology().label_classes[1:] if ontology().is_a(name, what.element)]
    if not shown:
        raise InputError(
            f"{owner}: {words!r} is not a class of label maps; "
            f"the classes are {', '.join(ontology().label_classes[1:])}"
        )
    if refused := [name for name in shown if name in never]:
        why = "" if refused == [what.element] else f", because it includes {', '.join(refused)}"
        raise InputError(f"{owner}: {words!r} cannot be edited{why}")
    return what


def select(frame: Frame, what: ElementDescription, least_share: float) -> ObjectSelection:
    """Return what a description means in a frame.

    Raises:
        NotApplicable: There is nothing like it, it is too small, or it cannot be told from others.
    """
    labels = frame.label_map
    mask = labels.mask(what.element)
    if not mask.any():
        raise _absent(what)
    chosen = _boxes_of(frame, what.element)
    if what.properties:
        mask, chosen = _with_properties(frame, what, mask, chosen)
        if not mask.any():
            raise _absent(what)
    if what.is_a("static object"):
        mask = mask | _scraps(labels, mask)
    elif what.element in ("traffic sign", "traffic light"):
        mask = mask | _posts(labels.mask("pole"), mask)
    if np.count_nonzero(mask) < least_share * mask.size:
        least = f"{least_share:.3%} of the image"
        raise NotApplicable(f"what there is of {str(what)!r} covers less than {least}: too small")
    return ObjectSelection(what, mask, chosen)


def _scraps(labels: LabelMap, mask: Mask) -> Mask:
    """Return the specks that lie mostly along a mask: windows and edges that nobody labelled, or as sky."""
    void, sky = labels.mask("void"), labels.mask("sky")
    count, parts, stats, _ = cv2.connectedComponentsWithStats((void | sky).view(np.uint8), connectivity=4)
    kernel = np.ones((3, 3), np.uint8)
    edge = (parts > 0) & (cv2.erode((parts > 0).view(np.uint8), kernel) == 0)
    beside = cv2.dilate(mask.view(np.uint8), kernel).view(np.bool_)
    border = np.bincount(parts[edge], minlength=count)
    touching = np.bincount(parts[edge & beside], minlength=count)
    small = stats[:, cv2.CC_STAT_AREA] < _SPECK * mask.size
    unknown = np.bincount(parts[void], minlength=count) > 0.5 * stats[:, cv2.CC_STAT_AREA]
    own = (touching > 0.6 * np.maximum(border, 1)) & (small | unknown)
    own[0] = False
    found: Mask = own[parts]
    return found


def _posts(poles: Mask, mask: Mask) -> Mask:
    """Return the poles that carry a sign or a light: they are below it, and do not go on above it."""
    found = np.zeros_like(poles)
    heads = [window for window, _ in parts_of(mask)]
    for (rows, columns), pixels in parts_of(poles):
        for head_rows, head_columns in heads:
            wide, high = head_columns.stop - head_columns.start, head_rows.stop - head_rows.start
            reach = head_rows.stop + max(2, high // 3)
            beneath = head_rows.start + high // 2 <= rows.stop and rows.start <= reach
            beside = columns.start < head_columns.stop and head_columns.start < columns.stop
            below = rows.start > head_rows.start - 0.5 * high and rows.stop > head_rows.stop
            narrow = columns.stop - columns.start < 1.5 * wide + 2
            if beneath and beside and below and narrow:
                found[rows, columns] |= pixels
    return found


def things_of(frame: Frame, chosen: ObjectSelection) -> Iterator[SelectedObject]:
    """Yield the things that are selected: those with boxes, then the connected parts of what has none.

    Touching ones that no box tells apart are one. Nothing is yielded where there are boxes, but no pixels
    that belong to them.
    """
    own = frame.label_map.mask(chosen.what.element)
    posts = chosen.mask & ~own
    boxed = list(_boxed_things(frame, chosen, posts))
    if len(chosen.boxes) and not boxed:
        return
    yield from boxed
    height, width = own.shape
    # Which of them a pixel belongs to, with an edge of one pixel round the image.
    owner = np.full((height + 2, width + 2), -1, np.int32)
    for number, thing in enumerate(boxed):
        owner[1:-1, 1:-1][thing.window][thing.pixels] = number
    # Boxes alone do not tell exactly which pixels belong to a thing.
    exact = frame.instances is not None and frame.boxes is not None and frame.boxes.track_ids is not None
    areas = [int(np.count_nonzero(thing.pixels)) for thing in boxed]
    for window, pixels in parts_of(chosen.mask & (owner[1:-1, 1:-1] < 0)):
        post = not (own[window] & pixels).any()
        if not post and (exact or not _is_rest(owner, areas, window, pixels)):
            foot = _foot(posts, window)
            yield SelectedObject(chosen.what.element, chosen.what.properties, window, pixels, foot)


def _is_rest(owner: NDArray[np.int32], areas: list[int], window: Window, pixels: Mask) -> bool:
    """Return whether a part touches a much larger thing: it is what the box of that thing leaves out."""
    rows, columns = (slice(one.start, one.stop + 2) for one in window)
    around = cv2.dilate(np.pad(pixels, 1).view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
    near = np.unique(owner[rows, columns][around])
    area = np.count_nonzero(pixels)
    return any(area < _REST * areas[number] for number in near[near >= 0].tolist())


def _boxed_things(frame: Frame, chosen: ObjectSelection, posts: Mask) -> Iterator[SelectedObject]:
    boxes = frame.boxes
    if boxes is None:
        return
    for index in chosen.boxes.tolist():
        mine = pixels_of(frame, chosen.mask, chosen.boxes, np.array([index]))
        if not mine.any():
            continue
        window = window_of(mine)
        occlusion = 0.0 if boxes.occlusion is None else float(np.nan_to_num(boxes.occlusion[index]))
        element, facts = boxes.classes[index], boxes.attributes[index]
        hidden = occlusion > 0.1
        yield SelectedObject(element, facts, window, mine[window], _foot(posts, window), hidden, index)


def _foot(posts: Mask, window: Window) -> int:
    """Return the row below the lowest pixel of a thing, or of the post that begins just below it."""
    foot = int(window[0].stop)
    post = np.flatnonzero(posts[foot:, window[1]].any(axis=1))
    return foot + int(post[-1]) + 1 if len(post) and post[0] <= 2 else foot


def known_things(frame: Frame, chosen: ObjectSelection) -> list[SelectedObject]:
    """Return the things that are selected.

    Raises:
        NotApplicable: There are boxes, but no pixels that belong to them.
    """
    found = list(things_of(frame, chosen))
    if not found:
        raise NotApplicable(f"which pixels belong to each {chosen.what} is not known in the frame")
    return found


def _absent(what: ElementDescription) -> NotApplicable:
    return NotApplicable(f"there is no {what} in the frame")


def _boxes_of(frame: Frame, element: str) -> NDArray[np.intp]:
    if frame.boxes is None:
        return np.zeros(0, np.intp)
    below = [ontology().is_a(name, element) for name in frame.boxes.classes]
    return np.flatnonzero(below)


def _with_properties(
    frame: Frame, what: ElementDescription, mask: Mask, boxes: NDArray[np.intp]
) -> tuple[Mask, NDArray[np.intp]]:
    """Return those of the pixels and boxes of an element that have the properties asked for."""
    if what.element == "line":
        return lines_like(frame, mask, what.properties), boxes[:0]
    attributes = () if frame.boxes is None else frame.boxes.attributes
    if any(what.properties.keys() <= attributes[index].keys() for index in boxes):
        has = [what.properties.items() <= attributes[index].items() for index in boxes]
        return pixels_of(frame, mask, boxes, boxes[has]), boxes[has]
    if what.element == "traffic light":
        found = lights_like(frame.image, mask, what.properties["color"])
        return found, _boxes_inside(frame, boxes, found)
    keys = " and ".join(what.properties)
    raise NotApplicable(f"the {keys} of each {what.element} is not known in the frame")


def pixels_of(frame: Frame, mask: Mask, boxes: NDArray[np.intp], wanted: NDArray[np.intp]) -> Mask:
    """Return the pixels of some of the boxes of an element; `mask` are those of the element."""
    assert frame.boxes is not None
    if frame.instances is not None and frame.boxes.track_ids is not None:
        ids = frame.boxes.track_ids[wanted]
        return mask & np.isin(frame.instances, ids[ids > 0])
    # Without instances a pixel belongs to the box whose foot is lowest: that thing is nearest.
    corners = frame.boxes.xyxy
    owner = np.full(mask.shape, -1, np.int32)
    for index in boxes[np.argsort(corners[boxes, 3], kind="stable")].tolist():
        owner[box_window(corners[index])] = index
    found: Mask = mask & np.isin(owner, wanted)
    return found


def _boxes_inside(frame: Frame, boxes: NDArray[np.intp], mask: Mask) -> NDArray[np.intp]:
    """Return the boxes of which most pixels of the element are selected."""
    if frame.boxes is None:
        return boxes
    inside = [mask[box_window(corners)].mean() > _SEEN for corners in frame.boxes.xyxy[boxes]]
    return boxes[np.array(inside, np.bool_)]
