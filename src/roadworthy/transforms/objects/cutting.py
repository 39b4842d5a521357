"""Objects cut out of labelled frames: which are seen whole, alone and clearly, and a gallery of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import Image, Mask
from roadworthy.ontology import ontology
from roadworthy.result_tables import listed
from roadworthy.transforms.objects.gallery import Color, CutOut, Facing, Gallery, Rgba, named_apart
from roadworthy.transforms.objects.request import window_of
from roadworthy.transforms.objects.surroundings import GroundSurroundings, Window
from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.wording import Numbers, believable

_N = Numbers("cutting")

POLED = ("traffic sign", "traffic light")
"""The elements that stand on a pole."""


@dataclass(frozen=True)
class Looks:
    """What a thing must be like to be taken for a whole one."""

    aspect: Sequence[float]  # width over height
    metres: Sequence[float]  # height
    filled: float  # least share of its box
    solid: float = 0.0  # least share of its convex hull: what is less is more than one thing


HARVESTED = {name: Looks(**looks) for name, looks in believable()["harvested"].items()}
"""The elements that can be harvested, and what they must look like."""


class Refusal(str):
    """Why a thing was not taken."""

    __slots__ = ()


@dataclass(frozen=True)
class ClearObject:
    """A thing in a frame that is seen whole, alone and clearly."""

    element: str
    box: Window
    mask: Mask  # within the box
    parts: Mask | None = None  # where it is the thing itself and not its pole
    single: bool = False  # whether it is known to be one thing
    properties: Mapping[str, str] = field(default_factory=FrozenDict)


def things_of(site: GroundSurroundings, element: str, smallest: int) -> Iterator[ClearObject | Refusal]:
    """Yield what a frame has of an element, or why it is not taken."""
    frame = site.frame
    boxes = frame.boxes
    if frame.instances is not None and boxes is not None and boxes.track_ids is not None:
        for index in range(len(boxes)):
            if boxes.classes[index] != element:
                continue
            shares = [share[index] for share in (boxes.occlusion, boxes.truncation) if share is not None]
            if any(share > _N.hidden for share in shares):
                yield Refusal("partly hidden")
                continue
            mask = frame.instances == boxes.track_ids[index]
            yield _found(site, element, mask, smallest, boxes.attributes[index])
        return
    mask = site.is_any((element,))[site.labels.ids]
    count, components = cv2.connectedComponents(mask.view(np.uint8))
    for number in range(1, count):
        yield _found(site, element, components == number, smallest)


def _found(
    site: GroundSurroundings, element: str, mask: Mask, smallest: int, facts: Mapping[str, str] | None = None
) -> ClearObject | Refusal:
    whole = _with_pole(site, mask) if element in POLED else mask
    rows, columns = window = window_of(whole)
    box = (columns.start, rows.start, columns.stop, rows.stop)
    parts = mask[window] if element in POLED else None
    # A thing with facts of its own is known to be one.
    thing = ClearObject(element, box, whole[window], parts, facts is not None, facts or {})
    return _trouble(site, thing, smallest) or thing


def _with_pole(site: GroundSurroundings, mask: Mask) -> Mask:
    """Return a sign or light with the pole below it."""
    rows, columns = window_of(mask)
    below = (slice((rows.start + rows.stop) // 2, None), columns)
    column = np.zeros_like(mask)
    column[below] = site.is_any(("pole",))[site.labels.ids[below]]
    _, components = cv2.connectedComponents((column | mask).view(np.uint8))
    own = np.bincount(components[mask]).argmax()
    return np.asarray((components == own) & (column | mask))


def _trouble(site: GroundSurroundings, thing: ClearObject, smallest: int) -> Refusal | None:
    """Return why a thing cannot be taken; None if it can."""
    left, top, right, bottom = thing.box
    height, width = bottom - top, right - left
    looks = HARVESTED[thing.element]
    if height < smallest:
        return Refusal("too small")
    if left <= 0 or top <= 0 or right >= site.frame.width or bottom >= site.frame.height:
        return Refusal("at the edge of the image")
    if _on_ground(site, thing) < 0.6:
        return Refusal("does not stand on visible ground")
    if _crowded(site, thing) > _N.crowded:
        return Refusal("touches other things")
    pixels = int(np.count_nonzero(thing.mask))
    # One thing that is known to be one may be wider, such as a person who strides.
    widest = looks.aspect[1] * (1.5 if thing.single else 1.0)
    if not looks.aspect[0] <= width / height <= widest or pixels < looks.filled * thing.mask.size:
        return Refusal("unlikely shape")
    if not thing.single and (covered(thing.mask) < looks.solid or _several(thing)):
        return Refusal("more than one thing")
    if thing.parts is not None and np.count_nonzero(thing.parts.any(axis=1)) < _N.board * smallest:
        return Refusal("too small")
    if not looks.metres[0] <= height_of(site, thing) <= looks.metres[1]:
        return Refusal("unlikely size")
    return None


def covered(mask: Mask) -> float:
    """Return which share of its convex hull a mask covers; that of a full one is a little above 1."""
    points = np.argwhere(mask)[:, ::-1].astype(np.int32)
    return float(len(points) / max(1.0, cv2.contourArea(cv2.convexHull(points))))


def _several(thing: ClearObject) -> bool:
    """Return whether a thing is a row of parked cars, or two people side by side."""
    mask = thing.mask
    height = len(mask)
    if thing.element == "vehicle":
        columns = np.flatnonzero(mask.any(axis=0))
        lowest = height - mask[::-1].argmax(axis=0)[columns]
        ends = np.percentile(lowest[len(lowest) // 20 : -(len(lowest) // 20) or None], [2, 98])
        return bool(ends[1] - ends[0] > 0.32 * height)
    if thing.element == "pedestrian":
        heads = mask[: max(2, height // 7)].any(axis=0)
        return int(np.count_nonzero(np.diff(heads.astype(np.int8), prepend=0) == 1)) > 1
    return False


def _on_ground(site: GroundSurroundings, thing: ClearObject) -> float:
    """Return the share of a thing's lowest pixels that have ground below them."""
    left, _, right, bottom = thing.box
    foot = max(1, round(0.04 * len(thing.mask)))
    columns = np.flatnonzero(thing.mask[-foot:].any(axis=0)) + left
    ids = site.labels.ids[bottom : bottom + max(1, foot), left:right]
    ground = np.asarray(site.is_any(GROUND)[ids].any(axis=0))
    return float(np.mean(ground[columns - left])) if len(columns) else 0.0


def _crowded(site: GroundSurroundings, thing: ClearObject) -> float:
    """Return the share of a thing's outline beside which there are other things."""
    left, top = (max(0, side - 3) for side in thing.box[:2])
    right, bottom = (min(most, side + 3) for most, side in zip(site.frame.size, thing.box[2:], strict=True))
    own = np.zeros((bottom - top, right - left), np.uint8)
    y, x = thing.box[1] - top, thing.box[0] - left
    own[y : y + thing.mask.shape[0], x : x + thing.mask.shape[1]] = thing.mask
    ring = cv2.dilate(own, np.ones((5, 5), np.uint8)).view(np.bool_) & ~own.view(np.bool_)
    posts = () if thing.element in POLED else (*POLED, "pole")
    others = site.is_any(("dynamic object", "ego-vehicle", *posts))[site.labels.ids[top:bottom, left:right]]
    return int(np.count_nonzero(others & ring)) / max(1, int(np.count_nonzero(ring)))


def height_of(site: GroundSurroundings, thing: ClearObject) -> float:
    """Return how high a thing is, by its distance where that is known, else by where it stands."""
    _, top, _, bottom = thing.box
    if site.frame.depth is not None:
        left, right = thing.box[0], thing.box[2]
        depth = site.frame.depth[top:bottom, left:right][thing.mask]
        depth = depth[np.isfinite(depth)]
        if len(depth):
            return float(np.percentile(depth, 5)) * (bottom - top) / site.view.focal
    return site.view.metres(bottom - top, bottom)


def cropped(image: Image, thing: ClearObject) -> tuple[Image, Mask, tuple[int, int]]:
    """Return a thing with some of its surroundings, its mask there, and where the mask's box begins."""
    left, top, right, bottom = thing.box
    margin = max(6, (bottom - top) // 8)
    x1, y1 = max(0, left - margin), max(0, top - margin)
    x2, y2 = min(image.shape[1], right + margin), min(image.shape[0], bottom + margin)
    crop = np.ascontiguousarray(image[y1:y2, x1:x2])
    mask = np.zeros(crop.shape[:2], np.bool_)
    mask[top - y1 : bottom - y1, left - x1 : right - x1] = thing.mask
    return crop, mask, (top - y1, left - x1)


def outlined(crop: Image, mask: Mask) -> Mask | None:
    """Return the mask with an outline that follows the image; None if the two disagree.

    Near the outline of the mask, colours decide what belongs to the thing (GrabCut).
    """
    reach = max(1, round(0.012 * math.sqrt(np.count_nonzero(mask))))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    given = mask.view(np.uint8)
    state = np.where(mask, cv2.GC_PR_FGD, cv2.GC_BGD).astype(np.uint8)
    state[cv2.erode(given, disc).view(np.bool_)] = cv2.GC_FGD
    state[cv2.dilate(given, disc).view(np.bool_) & ~mask] = cv2.GC_PR_BGD
    if not (state == cv2.GC_FGD).any():
        return None
    cv2.setRNGSeed(1)  # its clusters of colours begin at random
    back, front = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(crop, state, (0, 0, 1, 1), back, front, 4, cv2.GC_INIT_WITH_MASK)
    own = np.isin(state, (cv2.GC_FGD, cv2.GC_PR_FGD))
    count, components, stats, _ = cv2.connectedComponentsWithStats(own.view(np.uint8))
    if count < 2:
        return None
    own = components == 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())
    agreed = np.count_nonzero(own & mask) / np.count_nonzero(own | mask)
    _, _, width, height = cv2.boundingRect(own.view(np.uint8))
    _, _, wide, high = cv2.boundingRect(given)
    same_size = 0.9 < height / high < 1.1 and 0.8 < width / wide < 1.2
    return own if agreed > 0.75 and same_size else None


def feathered(own: Mask) -> NDArray[np.uint8]:
    """Return how much of each pixel belongs to a thing, from 0 to 255, drawn in by half a pixel."""
    soft = cv2.GaussianBlur(own.astype(np.float32), (0, 0), 0.8)
    # Thin parts such as poles keep the middle of their blurred profile.
    return np.asarray(np.clip(np.rint((soft - 0.3) / 0.5 * 255), 0, 255), np.uint8)


def board_end(board: Mask) -> int:
    """Return the row below the last one of a sign's board or a light's head."""
    return int(np.flatnonzero(board.any(axis=1))[-1]) + 1


def straightened(
    crop: Image, colors: Image, alpha: NDArray[np.uint8], own: Mask, start: int
) -> tuple[Image, NDArray[np.uint8]]:
    """Return colours and alpha with the pole below a row drawn as a straight one.

    A pole is a pixel or two wide; what a label map makes of it looks like a string of beads.
    """
    rows = np.flatnonzero(own[start:].any(axis=1)) + start
    if len(rows) < 4:
        return colors, alpha
    counts = np.count_nonzero(own[rows], axis=1)
    places = np.arange(own.shape[1]) + 0.5
    middles = (own[rows] * places).sum(axis=1) / counts
    spans = own.shape[1] - own[rows][:, ::-1].argmax(axis=1) - own[rows].argmax(axis=1)
    if np.median(spans) > 2 * np.median(counts):  # it stands on two
        return colors, alpha
    half = max(0.5, float(np.median(counts)) / 2 - 0.25)
    slope, offset = np.polyfit(rows, middles, 1)
    if abs(slope) > 0.04:  # poles are upright
        slope, offset = 0.0, float(np.median(middles))
    every = np.arange(start, rows[-1] + 1)
    middle = (slope * every + offset)[:, None]
    cover = np.clip(np.minimum(places + 0.5, middle + half) - np.maximum(places - 0.5, middle - half), 0, 1)
    shades = (crop[every] * cover[..., None]).sum(axis=1) / np.maximum(cover.sum(axis=1), 1e-3)[:, None]
    shades = 0.5 * cv2.blur(shades, (1, 9)) + 0.5 * np.median(shades, axis=0)
    new_colors, new_alpha = colors.copy(), alpha.copy()
    new_alpha[start:] = 0
    new_alpha[every] = np.rint(cover * 255).astype(np.uint8)
    new_colors[every] = np.rint(shades).clip(0, 255).astype(np.uint8)[:, None]
    return new_colors, new_alpha


def decontaminated(crop: Image, alpha: NDArray[np.uint8]) -> Image:
    """Return the colours with those of the border taken from the nearest pixels inside."""
    inside = cv2.erode((alpha > 250).view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
    if not inside.any():
        inside = alpha > 127
    outside, each = (~inside).view(np.uint8), cv2.DIST_LABEL_PIXEL
    _, nearest = cv2.distanceTransformWithLabels(outside, cv2.DIST_L2, 5, labelType=each)
    table = np.zeros((int(nearest.max()) + 1, 3), np.uint8)
    table[nearest[inside]] = crop[inside]
    filled = table[nearest]
    smooth = cv2.blur(filled, (3, 3))
    return np.where(inside[..., None], crop, smooth).astype(np.uint8)


def facing_of(rgba: NDArray[np.uint8]) -> Facing:
    """Return from where a vehicle is seen, as far as its shape and its lamps tell."""
    height, width = rgba.shape[:2]
    if width / height > 1.75:
        return "side"
    red = _red(rgba)
    third = width // 3
    lamps = np.array_split(red[height // 4 : int(0.8 * height)], [third, width - third], axis=1)
    left, middle, right = (float(part.mean()) for part in lamps)
    if middle > 0.12 or max(left, right) > 0.3:  # red all over: nothing can be told from it
        return ""
    return "away" if max(left, right) > 0.003 else "toward" if max(left, right) < 0.001 else ""


def _red(rgba: Rgba) -> Mask:
    lab = cv2.cvtColor(np.ascontiguousarray(rgba[..., :3]), cv2.COLOR_RGB2LAB).astype(np.int16)
    redder = lab[..., 1] - 128
    return np.asarray((redder > 12) & (redder - (lab[..., 2] - 128) > -14) & (rgba[..., 3] > 200))


def has_both_lamps(rgba: Rgba) -> bool:
    """Return whether a vehicle shows two red lamps, one at each side and at about one height."""
    height, width = rgba.shape[:2]
    red = _red(rgba)
    red[: height // 4], red[int(0.8 * height) :] = False, False
    places = [np.argwhere(part)[:, 0] for part in (red[:, : width // 3], red[:, width - width // 3 :])]
    enough = 0.004 * height * (width // 3)
    if min(map(len, places)) < enough:
        return False
    return bool(abs(np.median(places[0]) - np.median(places[1])) < 0.15 * height)


def properties_of(element: str, rgba: Rgba, ambience: Color, metres: float) -> dict[str, str]:
    """Return what can be seen of a thing's properties; nothing where it is not clear."""
    if element == "vehicle":
        found = {"type": "car"} if 1.2 <= metres <= 1.75 else {}
        color = _paint(rgba, ambience)
        return {**found, "color": color} if color else found
    if element == "traffic light":
        color = _lamp(rgba)
        return {"color": color} if color else {}
    return {}


def _paint(rgba: Rgba, ambience: Color) -> str:
    """Return the colour of a vehicle's body where it is beyond doubt."""
    height, width = rgba.shape[:2]
    body = rgba[int(0.4 * height) : int(0.75 * height), int(0.15 * width) : int(0.85 * width)]
    solid = body[..., 3] > 250
    if np.count_nonzero(solid) < 50:
        return ""
    hsv = cv2.cvtColor(np.ascontiguousarray(body[..., :3]), cv2.COLOR_RGB2HSV)[solid]
    hue, saturation, value = (hsv[:, k].astype(np.float32) for k in range(3))
    colored = (saturation > 110) & (value > 45)
    if np.mean(colored) > 0.4:
        name = _hue(float(np.median(hue[colored])))
        return "" if name == "orange" else name
    bright = float(np.median(value)) / max(1.0, sum(ambience) / 3)
    if np.mean(saturation < 60) > 0.7:
        return "white" if bright > 2.4 else "black" if bright < 0.35 else ""
    return ""


_COLORS = ("red", "orange", "yellow", "green", "blue", "red")
_HUES = ((0, 7), (9, 17), (20, 33), (40, 85), (95, 128), (172, 181))  # as OpenCV counts them


def _hue(value: float) -> str:
    """Return the colour word of a hue from 0 to 180, empty between two words."""
    known = zip(_COLORS, _HUES, strict=True)
    return next((name for name, (low, high) in known if low <= value < high), "")


def _lamp(rgba: NDArray[np.uint8]) -> str:
    """Return the colour of a traffic light's lit lamp where it is beyond doubt."""
    hsv = cv2.cvtColor(np.ascontiguousarray(rgba[..., :3]), cv2.COLOR_RGB2HSV)
    lit = (hsv[..., 1] > 120) & (hsv[..., 2] > 150) & (rgba[..., 3] > 200)
    if np.count_nonzero(lit) < 6:
        return ""
    name = _hue(float(np.median(hsv[..., 0][lit])))
    return {"red": "red", "orange": "yellow", "yellow": "yellow", "green": "green"}.get(name, "")


@dataclass
class Harvest:
    """What came out of a data set.

    Attributes:
        cut_outs: What was taken.
        refused: How many things were not, by element and reason.
        frames: How many frames were looked at.
    """

    cut_outs: list[CutOut] = field(default_factory=list)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    frames: int = 0

    @property
    def taken(self) -> dict[str, int]:
        """How many were taken of each element."""
        return {name: sum(one.element == name for one in self.cut_outs) for name in self.refused}

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        refused = {name: dict(reasons.most_common()) for name, reasons in self.refused.items()}
        return {"frames": self.frames, "taken": self.taken, "refused": refused}

    def lines(self) -> dict[str, str]:
        """Return what people read of each element."""
        taken, refused = self.taken, self.document()["refused"]
        return {
            name: f"{taken[name]} taken" + (f"; refused: {listed(reasons)}" if reasons else "")
            for name, reasons in refused.items()
        }

    def save(self, folder: Path, earlier: Gallery | None = None) -> int:
        """Write the cut-outs into a folder, with those of an earlier gallery; return how many it had."""
        before = earlier or Gallery([])
        grown = before.grown(self.cut_outs)
        grown.save(folder)
        return len(before) + len(self.cut_outs) - len(grown)

    def gallery(self, name: str = "harvest") -> Gallery:
        """Return it as a gallery."""
        return Gallery(self.cut_outs, name)


def harvest(
    frames: Iterable[Frame],
    elements: Sequence[str] = tuple(HARVESTED),
    *,
    smallest: int = 40,
    most: int | None = None,
    source: str = "",
) -> Harvest:
    """Cut things out of labelled frames.

    Args:
        frames: A data set, or some frames of one; those without a label map are refused.
        elements: Words for what is wanted: "pedestrian", "vehicle", …
        smallest: Least height of a cut-out in pixels.
        most: How many of each element are enough; the largest of all are kept.
        source: Where the frames come from, noted with each cut-out.

    Raises:
        InputError: An element cannot be harvested.
    """
    names = harvestable(elements)
    result = Harvest(refused={name: Counter() for name in names})
    taken: dict[str, CutOut] = {}
    for frame in frames:
        result.frames += 1
        for name, found in harvest_frame(frame, names, smallest=smallest, source=source):
            if isinstance(found, Refusal):
                result.refused[name][str(found)] += 1
            elif (new := named_apart(found, taken)) is None:
                result.refused[name]["the same picture twice"] += 1
            else:
                result.cut_outs.append(new)
    if most is not None:
        _keep_largest(result, most)
    return result


def harvestable(elements: Sequence[str]) -> tuple[str, ...]:
    """Return the elements that words stand for.

    Raises:
        InputError: One of them cannot be harvested.
    """
    names: list[str] = []
    for word in elements:
        below = [name for name in HARVESTED if ontology().is_a(name, ontology().resolve(word).name)]
        if not below:
            raise InputError(f"cannot harvest {word!r}: only {', '.join(HARVESTED)}")
        names += below
    return tuple(dict.fromkeys(names))


def harvest_frame(
    frame: Frame, elements: Sequence[str], *, smallest: int = 40, source: str = ""
) -> Iterator[tuple[str, CutOut | Refusal]]:
    """Yield each thing of a frame as a cut-out, or why it is none."""
    if frame.labels is None:
        yield from ((name, Refusal("the frame has no label map")) for name in elements)
        return
    site = GroundSurroundings(frame)
    counts: Counter[str] = Counter()
    for element in elements:
        for thing in things_of(site, element, smallest):
            counts[element] += 1
            if isinstance(thing, Refusal):
                yield element, thing
                continue
            name = re.sub(r"[^\w.-]+", "-", f"{element}-{frame.id}-{counts[element]}")
            yield element, _taken(site, thing, name, f"{source}:{frame.id}" if source else frame.id)


def _taken(site: GroundSurroundings, thing: ClearObject, name: str, source: str) -> CutOut | Refusal:
    """Return the cut-out of a thing, if its pixels are good enough."""
    metres = height_of(site, thing)
    ambience = site.ground_color(thing.box, metres)
    if sum(ambience) / 3 < _N.dark:
        return Refusal("too dark")
    crop, mask, offset = cropped(site.frame.image, thing)
    own = mask if thing.element in POLED else outlined(crop, mask)
    if own is None:
        return Refusal("unclear outline")
    alpha = feathered(own)
    colors = decontaminated(crop, alpha)
    if thing.parts is not None:
        colors, alpha = straightened(crop, colors, alpha, own, offset[0] + board_end(thing.parts))
    rgba = np.dstack([colors, alpha])
    left, top, width, height = cv2.boundingRect((alpha > 127).view(np.uint8))
    rgba = np.ascontiguousarray(rgba[top : top + height, left : left + width])
    grey = cv2.cvtColor(rgba, cv2.COLOR_RGBA2GRAY)[rgba[..., 3] > 127]
    if grey.std() < _N.flat:
        return Refusal("hardly any contrast")
    more: dict[str, Any] = {}
    if thing.parts is not None:
        wide = np.zeros(mask.shape, np.uint8)
        y, x = offset
        wide[y : y + thing.parts.shape[0], x : x + thing.parts.shape[1]] = thing.parts
        parts = wide[top : top + height, left : left + width]
        more |= {"parts": parts, "part_names": ("pole", thing.element)}
    if thing.element == "vehicle":
        middle = (thing.box[0] + thing.box[2] - site.frame.width) / 2
        bearing = math.degrees(math.atan2(middle, site.view.focal))
        more |= {"facing": facing_of(rgba), "bearing": bearing}
    properties = dict(thing.properties) or properties_of(thing.element, rgba, ambience, metres)
    high = metres * height / (thing.box[3] - thing.box[1])
    return CutOut(name, thing.element, high, ambience, properties, source=source, pixels=rgba, **more)


def _keep_largest(result: Harvest, most: int) -> None:
    """Leave the largest cut-outs of each element."""
    counts: Counter[str] = Counter()
    kept = set()
    for one in sorted(result.cut_outs, key=lambda one: -one.shape[0]):
        counts[one.element] += 1
        if counts[one.element] <= most:
            kept.add(one.name)
        else:
            result.refused[one.element]["more than asked for"] += 1
    result.cut_outs = [one for one in result.cut_outs if one.name in kept]
