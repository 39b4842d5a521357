"""Replacing an object by another, and the texture of surfaces by another texture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image, Mask
from roadworthy.seeding import rng_for
from roadworthy.transforms.objects.compositing import composited
from roadworthy.transforms.objects.gallery import BELIEVED, DRAWN, OWN, SHIPPED, CutOut, Gallery
from roadworthy.transforms.objects.inpainting import Gap, filled, region_of
from roadworthy.transforms.objects.paint import (
    cut_into_dashes,
    exposure,
    joined_dashes,
    repainted,
    repainted_lines,
    switched_lights,
)
from roadworthy.transforms.objects.parts import PARTS, check_part, part_of
from roadworthy.transforms.objects.placement import CutOutPlace, Side
from roadworthy.transforms.objects.remove import LEAST_SHARE, without
from roadworthy.transforms.objects.request import Edited, ObjectEdit, window_of
from roadworthy.transforms.objects.selection import (
    ObjectSelection,
    SelectedObject,
    check_element,
    known_things,
    select,
)
from roadworthy.transforms.objects.surroundings import GroundSurroundings, surroundings
from roadworthy.transforms.perspective import Perspective, real_height
from roadworthy.transforms.transform import choice, number, register, word
from roadworthy.transforms.wording import ElementDescription, Numbers, metadata_without

_N = Numbers("replacing")

Floats = NDArray[np.float32]
Places = NDArray[np.intp]

_TALLEST = (8.0, 14.0)  # metres: between these the tops of trees lie
_CROWN = (0.35, 0.6)  # width of a crown, as a share of its tree's height
_RADII = (0.05, 0.035, 0.024, 0.016)  # of the image's width: clumps of leaves that are copied as a whole
_LEAST_CLUMPS = 60  # places to copy a clump from; with fewer, one would see the same again and again
_CLUMPS = 48  # different ones
_CLUMPS_ACROSS = 8  # a tree of the gallery is taken for so many clumps wide


@dataclass(frozen=True, eq=False)
class Foliage:
    """Where clumps of leaves can be copied from.

    Attributes:
        image: RGB, the picture with the trees.
        centres: The middles of clumps, as rows and columns, shape (n, 2).
        radius: Of the clumps, in pixels.
    """

    image: Image
    centres: Places
    radius: int


def tree_line(region: Mask, view: Perspective, rng: Generator) -> Mask:
    """Return the part of a region that trees cover which stand side by side at its lower edge."""
    height, width = region.shape
    covered = np.zeros((height, width), np.uint8)
    columns = np.flatnonzero(region.any(axis=0))
    top = region.argmax(axis=0)
    foot = height - region[::-1].argmax(axis=0)
    x = float(columns[0])
    while x <= columns[-1]:
        at = min(max(round(x), 0), width - 1)
        if not region[:, at].any():
            x += 1
            continue
        tall = min(foot[at] - top[at], view.pixels(rng.uniform(*_TALLEST), foot[at]))
        tall = max(tall * rng.uniform(0.85, 1.0), 3.0)
        wide = max(tall * rng.uniform(*_CROWN), 3.0)
        crown = tall * rng.uniform(0.3, 0.45)
        middle = foot[at] - tall + crown
        centre, axes = ((round(a * 16), round(b * 16)) for a, b in ((x, middle), (wide * 0.75, crown)))
        cv2.ellipse(covered, centre, axes, 0, 0, 360, 1, -1, cv2.LINE_8, 4)
        # Below the crowns there is undergrowth, as high as the crowns' middles.
        left, right = int(x - wide * 0.6), int(x + wide * 0.6) + 1
        covered[round(middle) : foot[at], max(left, 0) : max(right, 0)] = 1
        x += wide * rng.uniform(0.7, 1.0)
    return _frayed(covered.view(np.bool_), rng) & region


def _frayed(mask: Mask, rng: Generator) -> Mask:
    """Return a mask whose outline is as rough as leaves make it."""
    size = max(1.0, mask.shape[1] / 200)
    noise = rng.standard_normal(mask.shape, np.float32)
    rough = cv2.GaussianBlur(noise, (0, 0), size) * (2.5 * size)
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 2 * size)
    # Only the outline frays: inside, leaves leave no holes.
    frayed: Mask = (soft + 0.25 * _N.rough * rough > 0.5) | (soft > 0.98)
    return frayed


def foliage_of(image: Image, trees: Mask, sky: Mask, view: Perspective) -> Foliage:
    """Return where to copy leaves from: the trees of the image if it has enough, else those of the gallery.

    Trees without leaves will not do: one sees the sky through them, and there is none behind other trees.
    """
    crowns = trees & ~_see_through(image, trees, sky)
    # Grass is often labelled as vegetation: leaves are looked for above the horizon.
    crowns[max(0, round(view.horizon)) :] = False
    depth = cv2.distanceTransform(np.pad(crowns, 1).view(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    for share in _RADII if _leafy(image, crowns) else ():
        radius = max(2, round(share * image.shape[1]))
        centres = np.argwhere(depth > radius + 1)
        if len(centres) >= _LEAST_CLUMPS:
            return Foliage(image, centres, radius)
    leaves = _from_gallery(max(2, round(_RADII[1] * image.shape[1])))
    # The gallery's pictures were taken by day: leaves are as bright as what is seen here allows.
    light = min(float(image.mean()) / _N.day, _N.brightest)
    return replace(leaves, image=np.clip(np.rint(leaves.image * light), 0, 255).astype(np.uint8))


def _see_through(image: Image, trees: Mask, sky: Mask) -> Mask:
    """Return where the surroundings of a pixel show some sky between the twigs."""
    if not sky.any() or not trees.any():
        return np.zeros_like(trees)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    bright = float(np.median(grey[sky])) * 0.62
    light = ((grey > bright) & trees).astype(np.float32)
    size = max(3, image.shape[1] // 24 | 1)
    through: Mask = cv2.blur(light, (size, size)) > _N.most_sky
    return through


def _leafy(image: Image, crowns: Mask) -> bool:
    """Return whether trees have leaves: green, yellow or red ones, none of which is grey or blue."""
    pixels = image[crowns]
    if not len(pixels):
        return False
    red, green, blue = pixels[:: max(1, len(pixels) // 4000)].mean(axis=0)
    return bool(max(red, green) - blue > _N.least_color * max(red, green))


@lru_cache(maxsize=2)
def _from_gallery(radius: int) -> Foliage:
    """Return leaves of the gallery's trees, which are drawn with fewer than a camera sees."""
    rng = rng_for(0, "leaves", radius)
    wide = _CLUMPS_ACROSS * radius
    pictures, centres, down = [], [], 0
    for one in Gallery.shipped().select("tree"):
        high = round(wide * one.rgba.shape[0] / one.rgba.shape[1])
        rgba = cv2.resize(one.rgba, (wide, high), interpolation=cv2.INTER_AREA)
        rgba = rgba[: round(_N.crown_of_gallery * high)]
        depth = cv2.distanceTransform((rgba[..., 3] > 250).astype(np.uint8), cv2.DIST_L2, 3)
        pictures.append(rgba[..., :3])
        inside = np.argwhere(depth > min(radius, 0.7 * float(depth.max())))
        centres.append(inside + np.array([down, 0]))
        down += len(rgba)
    picture = np.vstack(pictures).astype(np.float32)
    noise = rng.standard_normal(picture.shape[:2], np.float32)
    picture *= 1 + _N.leaves * (cv2.GaussianBlur(noise, (0, 0), 1.2) * 3 + 0.5 * noise)[..., None]
    return Foliage(np.clip(np.rint(picture), 0, 255).astype(np.uint8), np.concatenate(centres), radius)


def grown(region: Mask, foliage: Foliage, rng: Generator) -> Floats:
    """Return an image of the region's size, RGB, that is full of leaves wherever the region is.

    Clumps are laid over each other from the back, which is at the top, to the front.
    """
    height, width = region.shape
    radius = foliage.radius
    mean = foliage.image[foliage.centres[:, 0], foliage.centres[:, 1]].mean(axis=0).astype(np.float32)
    margin = 2 * radius + 1
    canvas = np.broadcast_to(mean, (height + 2 * margin, width + 2 * margin, 3)).copy()
    clumps = [_clump(foliage, mean, rng) for _ in range(_CLUMPS)]
    places = _places(region, radius, rng)
    for (row, column), clump in zip(places.tolist(), rng.integers(_CLUMPS, size=len(places)), strict=True):
        leaves, through = clumps[clump]
        top, left = row - radius + margin, column - radius + margin
        window = canvas[top : top + margin, left : left + margin]
        window *= through
        window += leaves
    return canvas[margin:-margin, margin:-margin] * _shade(region)[..., None]


def _clump(foliage: Foliage, mean: Floats, rng: Generator) -> tuple[Floats, Floats]:
    """Return some clump of leaves, times its opacity, and the share of light that comes through it."""
    radius = foliage.radius
    row, column = foliage.centres[rng.integers(len(foliage.centres))].tolist()
    reach = np.arange(-radius, radius + 1)
    rows = foliage.image.take(row + reach, axis=0, mode="clip")
    patch = rows.take(column + reach, axis=1, mode="clip").astype(np.float32)
    # Clumps from the sunny and from the dark side of a tree stand side by side otherwise.
    patch += 0.5 * (mean - patch.mean(axis=(0, 1)))
    opacity = _stamp(radius, rng)[..., None]
    return patch * opacity, 1 - opacity


def _stamp(radius: int, rng: Generator) -> Floats:
    """Return the opacity of a clump, 0 at its rough edge."""
    size = 2 * radius + 1
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(np.float32)
    noise = cv2.GaussianBlur(rng.standard_normal((size, size), np.float32), (0, 0), max(0.8, radius / 5))
    rough = noise / max(float(np.abs(noise).max()), 1e-6)
    inside = 1 - np.hypot(rows, columns) / (radius + 0.5) + 0.25 * rough
    stamp = np.asarray(np.clip((inside - 0.05) / 0.15, 0, 1), np.float32)
    stamp[[0, -1]] = 0
    stamp[:, [0, -1]] = 0
    return stamp


def _places(region: Mask, radius: int, rng: Generator) -> NDArray[np.intp]:
    """Return where clumps go, from top to bottom, so close that they cover the region, shape (n, 2)."""
    step = max(1, round(0.7 * radius))
    near = cv2.dilate(region.view(np.uint8), np.ones((2 * step + 1, 2 * step + 1), np.uint8))
    height, width = region.shape
    grid = np.mgrid[0 : height + step : step, 0 : width + step : step].reshape(2, -1).T
    places = grid + rng.integers(-(step // 2), step // 2 + 1, grid.shape)
    # Farther out a clump would cover nothing, and leave the canvas that it is painted on.
    places = np.minimum(places, np.array([height, width]) + radius)
    inside = near[np.clip(places[:, 0], 0, height - 1), np.clip(places[:, 1], 0, width - 1)] > 0
    return np.asarray(places[inside], np.intp)


def _shade(region: Mask) -> Floats:
    """Return how bright each pixel is: less towards the foot of the trees."""
    height = region.shape[0]
    rows = np.arange(height, dtype=np.float32)[:, None]
    top = region.argmax(axis=0).astype(np.float32)
    foot = (height - region[::-1].argmax(axis=0)).astype(np.float32)
    top, foot = (cv2.blur(one[None], (15, 1))[0] for one in (top, foot))
    down = np.clip((rows - top) / np.maximum(foot - top, 1), 0, 1)
    return np.asarray(_N.top + (_N.foot - _N.top) * down**1.5, np.float32)


def _exchanged(
    frame: Frame, old: ObjectSelection, _by: ElementDescription, rng: Generator, *, choices: Sequence[CutOut]
) -> Edited:
    """Put one of some cut-outs where each of the selected things stood."""
    things = sorted(known_things(frame, old), key=lambda one: one.foot)
    found, region = without(frame, old, rng)
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
    frame: Frame, site: GroundSurroundings, thing: SelectedObject, views: list[CutOut], rng: Generator
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
    elif right < frame.width or left == 0:
        left = round((left + right - width) / 2)
    begins, ends = view.foot_span(mirrored)
    low = round(left + begins * width)
    window = (left, bottom - height, left + width, bottom)
    foot = (low, max(low + 1, round(left + ends * width)))
    side: Side = "right" if left + width / 2 >= frame.width / 2 else "left"
    return CutOutPlace(view, mirrored, window, foot, site.view.focal / scale, side)


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
    site: GroundSurroundings, thing: SelectedObject, views: list[CutOut], rng: Generator
) -> tuple[CutOut, bool]:
    """Return the cut-out that shows a thing as it is seen there, and whether it is mirrored."""
    middle = (thing.window[1].start + thing.window[1].stop) / 2
    across = middle - site.frame.width / 2
    index = int(np.abs(site.rows - thing.foot).argmin()) if len(site.rows) else -1
    path = float(site.path[index]) if index >= 0 else site.frame.width / 2
    lane = site.view.pixels(_N.half_lane, thing.foot)
    ours = middle < path + lane if site.traffic == "left" else middle > path - lane
    facing = "away" if ours else "toward"
    known = [one for one in views if one.facing in (facing, "")] or views
    seen = math.degrees(math.atan2(abs(across), site.view.focal))
    best = min(known, key=lambda one: abs(abs(one.bearing) - seen))
    if best.bearing:
        return best, not best.readable and (best.bearing > 0) != (across > 0)
    return best, rng.random() < 0.5 and not best.readable


Edit = Callable[[Frame, ObjectSelection, ElementDescription, Generator], Edited]

_NEVER = ("sky", "ego-vehicle")
_UPRIGHT = ("traffic sign", "traffic light", "pole", "tree")
_FLAT = ("road", "sidewalk", "terrain")
_STANDING = ("tree", "building")


@register("replace", summary="things of an element give way to others, or get another look")
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

    Attributes:
        element: What gives way, as a word of the ontology with or without properties.
        by: What comes in its place.
        gallery: Where cut-outs come from: shipped, or folders joined by commas.
        part: Which of them: all, about half, the nearest, those on one side; of lines, those of centre or
            edge.
        least_share: The share of the image below which things are too small to replace.
    """

    element: str = word("building")
    by: str = word("tree")
    gallery: str = word("shipped")
    least_share: float = number(LEAST_SHARE, low=0, high=1)
    part: str = choice("all", choices=PARTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._parts()

    def _parts(self) -> tuple[ElementDescription, ElementDescription, Edit]:
        what, by = (check_element(self.name, one, never=_NEVER) for one in (self.element, self.by))
        check_part(what, self.part)
        edit = _edit_for(what, by)
        if edit is not None:
            return what, by, edit
        try:
            choices = Gallery.opened(self.gallery).select(str(by))
        except InputError as error:
            raise InputError(f"replace: {error}") from error
        return what, by, partial(_exchanged, choices=choices)

    def edit(self, frame: Frame, rng: Generator) -> Edited:
        what, by, edit = self._parts()
        if edit in _DRAWN:
            self.doubt(frame, f"{by.element} instead of {what.element} looks drawn on real frames")
        if isinstance(edit, partial) and self.gallery in (SHIPPED, OWN) and not frame.drawn:
            edit = partial(_exchanged, choices=self._for_real_frames(frame, by))
        return edit(frame, part_of(frame, select(frame, what, self.least_share), self.part), by, rng)

    def _for_real_frames(self, frame: Frame, by: ElementDescription) -> list[CutOut]:
        """Return the shipped cut-outs for a real frame, without those that are drawn unless any will do."""
        fitting = Gallery.shipped_for(False).select(str(by))
        believed = [one for one in fitting if one.source != DRAWN and one.element in BELIEVED]
        if not believed:
            drawn = f"every shipped {by} is a drawing or a plain model"
            self.doubt(frame, f"{drawn}, which nobody believes on a real frame: name a gallery")
        return believed if self.doubts(frame) else list(fitting)


def _edit_for(what: ElementDescription, by: ElementDescription) -> Edit | None:
    """Return what replaces one thing by another; None where a cut-out does.

    Raises:
        InputError: There is no way to do it.
    """
    changed = {key for key, value in by.properties.items() if what.properties.get(key) != value}
    if what.element == by.element:
        if not changed:
            raise InputError(f"replace: {str(by)!r} is the same as {str(what)!r}")
        if what.element == "line":
            return _other_line
        if changed == {"color"} and what.element in ("vehicle", "traffic light"):
            return _other_color if what.element == "vehicle" else _other_light
    for group in (_FLAT, _STANDING):
        if what.element in group and by.element in group:
            return _wooded if by.element == "tree" else _other_look
    if all(one.is_a("dynamic object") or one.element in _UPRIGHT for one in (what, by)):
        return None
    raise InputError(
        f"replace: {str(what)!r} cannot be replaced by {str(by)!r}: give an element of the same sort, or an "
        "engine that does it"
    )


def _other_look(frame: Frame, old: ObjectSelection, by: ElementDescription, rng: Generator) -> Edited:
    """Give the pixels of a class the look of another."""
    labels = frame.label_map
    classes = labels.classes_with(by.element)
    if np.count_nonzero(labels.mask(by.element)) < _N.least_look * old.mask.size:
        raise NotApplicable(f"there is too little {by.element} in the frame to take its look from")
    ids = labels.ids.copy()
    ids[old.mask] = classes.index(by.element)
    opacity = region_of(frame, old.mask, paint=by.element in _FLAT)
    image, _ = filled(frame.image, labels.ids, classes, Gap(opacity, ids, Perspective.of(frame)), rng)
    metadata = metadata_without(frame, old.what)
    return Edited(frame.replace(image=image, labels=LabelMap(ids, classes), metadata=metadata), opacity > 0)


def _wooded(frame: Frame, old: ObjectSelection, _by: ElementDescription, rng: Generator) -> Edited:
    """Let trees grow where the pixels of a class are."""
    labels, view = frame.label_map, Perspective.of(frame)
    trees = tree_line(old.mask, view, rng)
    inner = cv2.erode(trees.view(np.uint8), np.ones((5, 5), np.uint8)).view(np.bool_)
    cleared, region = without(frame, old, rng, hidden=inner)
    window = window_of(old.mask)
    foliage = foliage_of(frame.image, labels.mask("tree"), labels.mask("sky"), view)
    leaves = grown(trees[window], foliage, rng)
    image = cleared.image.copy()
    # The outline of trees is soft to the inside.
    share = (cv2.blur(trees.astype(np.float32), (3, 3)) * trees)[window][..., None]
    mixed = image[window] + share * (leaves - image[window])
    image[window] = np.clip(np.rint(mixed), 0, 255)
    ids, classes = cleared.label_map.ids.copy(), labels.classes_with("tree")
    ids[trees] = classes.index("tree")
    depth = cleared.depth
    if frame.depth is not None and depth is not None:
        depth = np.where(trees, frame.depth, depth)
    edited = cleared.replace(image=image, labels=LabelMap(ids, classes), depth=depth)
    return Edited(edited, region | trees)


def _other_line(frame: Frame, old: ObjectSelection, by: ElementDescription, rng: Generator) -> Edited:
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
        opacity = region_of(frame, mask, paint=True)
        ground = frame.label_map.mask("road", "sidewalk", "terrain") & (opacity == 0)
        frame = frame.replace(image=repainted_lines(frame.image, mask, ground, opacity, color))
        region = region | (opacity > 0)
    return Edited(frame, region)


def _joined(frame: Frame, mask: Mask, rng: Generator) -> tuple[Frame, Mask]:
    """Return the frame with solid lines where dashes were, and the pixels of these lines."""
    labels = frame.label_map
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
        raise NotApplicable("the frame has no consecutive dashes to join into a solid line")
    return frame.replace(image=image, labels=LabelMap(ids, labels.classes)), lines


def _other_color(frame: Frame, old: ObjectSelection, by: ElementDescription, _rng: Generator) -> Edited:
    """Paint vehicles in another colour where they stand."""
    color = by.properties["color"]
    image, light = frame.image.copy(), exposure(frame.image)
    region = np.zeros_like(old.mask)
    for thing in known_things(frame, old):
        image[thing.window] = repainted(image[thing.window], thing.pixels, color, light)
        region[thing.window] |= thing.pixels
    return Edited(_restated(frame, old, by).replace(image=image), region)


def _other_light(frame: Frame, old: ObjectSelection, by: ElementDescription, _rng: Generator) -> Edited:
    """Switch traffic lights to another colour."""
    heads = old.mask & frame.label_map.mask("traffic light")
    image, done = switched_lights(frame.image, heads, by.properties["color"])
    if not done.any():
        raise NotApplicable("no traffic light in the frame shows clearly which lamp is lit")
    return Edited(_restated(frame, old, by).replace(image=image), done)


def _restated(frame: Frame, old: ObjectSelection, by: ElementDescription) -> Frame:
    """Return the frame with the new properties of the boxes that changed, and no notes of the old ones."""
    frame = frame.replace(metadata=metadata_without(frame, old.what))
    if frame.boxes is None:
        return frame
    attributes = list(frame.boxes.attributes)
    for index in old.boxes.tolist():
        attributes[index] = {**attributes[index], **by.properties}
    return frame.replace(boxes=frame.boxes.replace(attributes=attributes))


# What people do not believe on real frames.
_DRAWN: tuple[Edit, ...] = (_other_look, _wooded)
