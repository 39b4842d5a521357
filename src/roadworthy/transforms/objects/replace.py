"""Other things where things stood: a truck in the place of a car."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.notes import metadata_without
from roadworthy.transforms.objects import texture
from roadworthy.transforms.objects.compositing import composited
from roadworthy.transforms.objects.edit import Edited, ObjectEdit
from roadworthy.transforms.objects.gallery import CutOut, Gallery
from roadworthy.transforms.objects.inpainting import Gap, filled
from roadworthy.transforms.objects.paint import (
    cut_into_dashes,
    exposure,
    joined_dashes,
    repainted,
    repainted_lines,
    switched_lights,
)
from roadworthy.transforms.objects.placement import CutOutPlace
from roadworthy.transforms.objects.region import region_of
from roadworthy.transforms.objects.remove import LEAST_SHARE, without
from roadworthy.transforms.objects.selection import (
    ObjectSelection,
    SelectedObject,
    check_element,
    known_things,
    select,
)
from roadworthy.transforms.objects.surroundings import GroundSurroundings, surroundings
from roadworthy.transforms.perspective import Perspective, real_height
from roadworthy.transforms.transform import Presets, number, register, word
from roadworthy.transforms.wording import ElementDescription

_HALF_LANE = 2.0  # metres; what is farther on the other side of our path comes towards us


def check_gallery(by: ElementDescription, gallery: Gallery) -> None:
    """Refuse what the gallery has no cut-out of.

    Raises:
        InputError: It has none; says what it has.
    """
    try:
        gallery.select(str(by))
    except InputError as error:
        raise InputError(f"replace: {error}") from error


def exchanged(
    frame: Frame, old: ObjectSelection, by: ElementDescription, gallery: Gallery, rng: np.random.Generator
) -> Edited:
    """Put a cut-out where each of the selected things stood."""
    things = sorted(known_things(frame, old), key=lambda one: one.foot)
    found, region = without(frame, old, rng)
    choices = gallery.select(str(by))
    # What is farther away goes first, so that what is nearer hides it.
    for thing in things:
        site = surroundings(found)
        color = thing.properties.get("color")
        alike = [one for one in choices if color and one.properties.get("color") == color] or choices
        wanted = alike[int(rng.integers(len(alike)))].thing
        views = [one for one in choices if one.thing == wanted]
        found, touched = composited(site, _place(frame, site, thing, views, rng), rng)
        region |= touched
    return Edited(found, region)


def _place(
    frame: Frame,
    site: GroundSurroundings,
    thing: SelectedObject,
    views: list[CutOut],
    rng: np.random.Generator,
) -> CutOutPlace:
    """Return where a cut-out goes: its foot on the foot of what stood there, at the same distance."""
    scale = _scale(frame, thing, site.view)
    view, mirrored = _view(site, thing, views, rng)
    height = max(1, round(view.height * scale))
    width = max(1, round(height * view.shape[1] / view.shape[0]))
    left, right = thing.window[1].start, thing.window[1].stop
    bottom = thing.foot
    # Of a thing that the image cuts off, only one side tells where it stood.
    if left == 0 and right < frame.width:
        left = right - width
    elif right == frame.width and left > 0:
        pass
    else:
        left = round((left + right - width) / 2)
    begins, ends = view.foot_span(mirrored)
    low = round(left + begins * width)
    return CutOutPlace(
        view,
        mirrored,
        (left, bottom - height, left + width, bottom),
        (low, max(low + 1, round(left + ends * width))),
        site.view.focal / scale,
        "right" if left + width / 2 >= frame.width / 2 else "left",
    )


def _scale(frame: Frame, thing: SelectedObject, view: Perspective) -> float:
    """Return how many pixels a metre has where a thing stands."""
    rows, columns = thing.window
    if frame.depth is not None:
        depth: NDArray[np.float32] = frame.depth[thing.window][thing.pixels]
        depth = depth[np.isfinite(depth) & (depth > 0)]
        if len(depth):
            return view.focal / float(np.median(depth))
    usual = real_height(thing.element, thing.properties)
    whole = rows.start > 0 and columns.start > 0 and columns.stop < frame.width and rows.stop < frame.height
    if usual is not None and whole and not thing.hidden:
        return float(thing.foot - rows.start) / usual
    return max(view.pixels(1.0, thing.foot), 1.0)


def _view(
    site: GroundSurroundings, thing: SelectedObject, views: list[CutOut], rng: np.random.Generator
) -> tuple[CutOut, bool]:
    """Return the cut-out that shows a thing as it is seen there, and whether it is mirrored."""
    middle = (thing.window[1].start + thing.window[1].stop) / 2
    across = middle - site.frame.width / 2
    index = int(np.abs(site.rows - thing.foot).argmin()) if len(site.rows) else -1
    path = float(site.path[index]) if index >= 0 else site.frame.width / 2
    lane = site.view.pixels(_HALF_LANE, thing.foot)
    ours = middle < path + lane if site.traffic == "left" else middle > path - lane
    facing = "away" if ours else "toward"
    known = [one for one in views if one.facing in (facing, "")] or views
    seen = math.degrees(math.atan2(abs(across), site.view.focal))
    best = min(known, key=lambda one: abs(abs(one.bearing) - seen))
    if best.bearing:
        return best, not best.readable and (best.bearing > 0) != (across > 0)
    return best, rng.random() < 0.5 and not best.readable


Mask = NDArray[np.bool_]
Edit = Callable[[Frame, ObjectSelection, ElementDescription, np.random.Generator], Edited]

_NEVER = ("sky", "ego-vehicle")
_UPRIGHT = ("traffic sign", "traffic light", "pole", "tree")
_FLAT = ("road", "sidewalk", "terrain")
_STANDING = ("tree", "building")
_LEAST_LOOK = 0.004  # of the image: so much of a class shows what it looks like


@register("replace", summary="things of an element give way to others, or get another look")
@dataclass(frozen=True, kw_only=True)
class Replace(ObjectEdit):
    """All things that a few words describe give way to others.

    - Buildings and trees give way to each other as a whole: trees are grown from the leaves of those in the
      image, or of the gallery when it has none, with an outline of their own; walls go on as in the image.
    - Road, sidewalk and terrain give way to each other.
    - Solid lines become dashed and dashed ones solid, white ones yellow and back.
    - Vehicles are painted in another colour, traffic lights switched to another.
    - Other things (vehicles of another type, pedestrians, bicyclists, signs) are taken out, and a cut-out of
      the gallery stands where each of them stood.

    Label map, instances, boxes and depth follow. Outside the things, an edge round them, the shadows that
    touch them, and what comes in their place, nothing changes.
    """

    element: str = word("building", "What gives way, as a word of the ontology with or without properties.")
    by: str = word("tree", "What comes in its place.")
    gallery: str = word("shipped", "Where cut-outs come from: shipped, or folders joined by commas.")
    least_share: float = number(
        LEAST_SHARE,
        "The share of the image's pixels below which things are too small to be worth replacing.",
        low=0,
        high=1,
    )

    presets: ClassVar[Presets] = {
        "buildings-by-trees": {"element": "building", "by": "tree"},
        "trees-by-buildings": {"element": "tree", "by": "building"},
        "solid-by-dashed-lines": {"element": "solid line", "by": "dashed line"},
        "vehicles-by-black-ones": {"element": "vehicle", "by": "black vehicle"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._parts()

    def _parts(self) -> tuple[ElementDescription, ElementDescription, Edit]:
        what, by = (check_element(self.name, one, never=_NEVER) for one in (self.element, self.by))
        edit = _edit_for(what, by)
        if edit is not None:
            return what, by, edit
        gallery = Gallery.opened(self.gallery)
        check_gallery(by, gallery)
        return what, by, partial(_exchanged, gallery=gallery)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        what, by, edit = self._parts()
        return edit(frame, select(frame, what, self.least_share), by, rng)


def _edit_for(what: ElementDescription, by: ElementDescription) -> Edit | None:
    """Return what replaces one thing by another; None where a cut-out does.

    Raises:
        InputError: There is no way to do it.
    """
    changed = {key for key, value in by.properties.items() if what.properties.get(key) != value}
    if what.element == by.element:
        if not changed:
            raise InputError(f"replace: {str(by)!r} is no other than {str(what)!r}")
        if what.element == "line":
            return _other_line
        if changed == {"color"} and what.element in ("vehicle", "traffic light"):
            return _other_color if what.element == "vehicle" else _other_light
    for group in (_FLAT, _STANDING):
        if what.element in group and by.element in group:
            return _other_look
    if all(one.is_a("dynamic object") or one.element in _UPRIGHT for one in (what, by)):
        return None
    raise InputError(
        f"replace: {str(what)!r} cannot give way to {str(by)!r}: give an element of the same sort, or an "
        "engine that does it"
    )


def _exchanged(
    frame: Frame, old: ObjectSelection, by: ElementDescription, rng: np.random.Generator, *, gallery: Gallery
) -> Edited:
    return exchanged(frame, old, by, gallery, rng)


def _other_look(
    frame: Frame, old: ObjectSelection, by: ElementDescription, rng: np.random.Generator
) -> Edited:
    """Give the pixels of a class the look of another."""
    labels = frame.labels
    assert labels is not None
    view = Perspective.of(frame)
    number = labels.classes.index(by.element) if by.element in labels.classes else len(labels.classes)
    classes = labels.classes if number < len(labels.classes) else (*labels.classes, by.element)
    if by.element == "tree":
        return _wooded(frame, old, number, classes, view, rng)
    if np.count_nonzero(labels.mask(by.element)) < _LEAST_LOOK * old.mask.size:
        raise NotApplicable(f"there is too little {by.element} in the frame to take its look from")
    ids = labels.ids.copy()
    ids[old.mask] = number
    opacity = region_of(frame, old.mask, paint=by.element in _FLAT)
    image, _ = filled(frame.image, labels.ids, classes, Gap(opacity, ids, view), rng)
    metadata = metadata_without(frame, old.what)
    return Edited(frame.replace(image=image, labels=LabelMap(ids, classes), metadata=metadata), opacity > 0)


def _wooded(
    frame: Frame,
    old: ObjectSelection,
    number: int,
    classes: tuple[str, ...],
    view: Perspective,
    rng: np.random.Generator,
) -> Edited:
    labels = frame.labels
    assert labels is not None
    trees = texture.tree_line(old.mask, view, rng)
    cleared, region = without(frame, old, rng, hidden=_inner(trees))
    rows, columns = np.flatnonzero(old.mask.any(axis=1)), np.flatnonzero(old.mask.any(axis=0))
    window = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    foliage = texture.foliage_of(frame.image, labels.mask("tree"), labels.mask("sky"), view)
    leaves = texture.grown(trees[window], foliage, rng)
    image = cleared.image.copy()
    share = _soft(trees)[window][..., None]
    mixed = image[window] + share * (leaves - image[window])
    image[window] = np.clip(np.rint(mixed), 0, 255)
    assert cleared.labels is not None
    ids = cleared.labels.ids.copy()
    ids[trees] = number
    depth = None
    if frame.depth is not None:
        assert cleared.depth is not None
        depth = np.where(trees, frame.depth, cleared.depth)
    edited = cleared.replace(image=image, labels=LabelMap(ids, classes), depth=depth)
    return Edited(edited, region | trees)


def _inner(mask: Mask) -> Mask:
    return cv2.erode(mask.view(np.uint8), np.ones((5, 5), np.uint8)).view(np.bool_)


def _soft(mask: Mask) -> NDArray[np.float32]:
    """Return a mask with a soft inner edge; outside it stays 0."""
    return np.asarray(cv2.blur(mask.astype(np.float32), (3, 3)) * mask, np.float32)


def _other_line(
    frame: Frame, old: ObjectSelection, by: ElementDescription, rng: np.random.Generator
) -> Edited:
    """Cut a line into dashes or join its dashes, and paint it, as far as either is asked for."""
    mask = old.mask
    region = np.zeros_like(mask)
    kind, color = by.properties.get("type"), by.properties.get("color")
    if kind == "dash":
        gone = cut_into_dashes(frame, mask, rng)
        if not gone.any():
            raise NotApplicable("no line in the frame is long enough to be cut into dashes")
        frame, region = without(frame, ObjectSelection(old.what, gone, old.boxes[:0]), rng)
        mask = mask & ~gone
    elif kind == "solid":
        frame, lines = _joined(frame, mask, rng)
        region, mask = lines & ~mask, lines
    if color is not None and old.what.properties.get("color") != color:
        assert frame.labels is not None
        opacity = region_of(frame, mask, paint=True)
        ground = frame.labels.mask("road", "sidewalk", "terrain") & (opacity == 0)
        frame = frame.replace(image=repainted_lines(frame.image, mask, ground, opacity, color))
        region = region | (opacity > 0)
    return Edited(frame, region)


def _joined(frame: Frame, mask: Mask, rng: np.random.Generator) -> tuple[Frame, Mask]:
    """Return the frame with solid lines where dashes were, and the pixels of these lines."""
    labels = frame.labels
    assert labels is not None
    line = labels.classes.index("line")
    image, ids, lines = frame.image, labels.ids.copy(), mask.copy()
    for between, dashes in joined_dashes(frame, mask):
        between &= labels.mask("road part")
        if not between.any():
            continue
        ids[between] = line
        lines |= between
        # Only the dashes themselves show what the line looks like: others may be of another colour.
        before = np.where((labels.ids == line) & ~dashes, np.uint8(0), labels.ids)
        gap = Gap(between.astype(np.float32), ids, Perspective.of(frame))
        image, _ = filled(image, before, labels.classes, gap, rng)
    if np.array_equal(lines, mask):
        raise NotApplicable("no dashes in the frame follow each other, to be joined to a solid line")
    return frame.replace(image=image, labels=LabelMap(ids, labels.classes)), lines


def _other_color(
    frame: Frame, old: ObjectSelection, by: ElementDescription, _rng: np.random.Generator
) -> Edited:
    """Paint vehicles in another colour where they stand."""
    color = by.properties["color"]
    image, light = frame.image.copy(), exposure(frame.image)
    region = np.zeros_like(old.mask)
    for thing in known_things(frame, old):
        image[thing.window] = repainted(image[thing.window], thing.pixels, color, light)
        region[thing.window] |= thing.pixels
    return Edited(_restated(frame, old, by).replace(image=image), region)


def _other_light(
    frame: Frame, old: ObjectSelection, by: ElementDescription, _rng: np.random.Generator
) -> Edited:
    """Switch traffic lights to another colour."""
    assert frame.labels is not None
    heads = old.mask & frame.labels.mask("traffic light")
    image, done = switched_lights(frame.image, heads, by.properties["color"])
    if not done.any():
        raise NotApplicable("no traffic light in the frame shows clearly which lamp is lit")
    return Edited(_restated(frame, old, by).replace(image=image), done)


def _restated(frame: Frame, old: ObjectSelection, by: ElementDescription) -> Frame:
    """Return the frame with the new properties of the boxes that changed, and no notes of the old ones."""
    frame = frame.replace(metadata=metadata_without(frame, old.what))
    if frame.boxes is None:
        return frame
    chosen = set(old.boxes.tolist())
    attributes = [
        {**facts, **by.properties} if index in chosen else facts
        for index, facts in enumerate(frame.boxes.attributes)
    ]
    return frame.replace(boxes=frame.boxes.replace(attributes=attributes))
