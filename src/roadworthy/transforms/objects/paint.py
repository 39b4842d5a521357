"""Paint: the colours of things, and the lines on the road."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.images import Image, Mask
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.inpainting import base_of
from roadworthy.transforms.objects.request import Window, parts_of
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.wording import Numbers
from roadworthy.world.mesh import PAINTS

_N = Numbers("paint")

Floats = NDArray[np.float32]

# Hues of lit lamps, in degrees.
_LAMPS = {"red": (-25.0, 18.0), "yellow": (18.0, 65.0), "green": (80.0, 200.0)}
_ORDER = ("red", "yellow", "green")  # from top to bottom
_SHINES = {"red": (1.0, 0.16, 0.13), "yellow": (1.0, 0.75, 0.15), "green": (0.15, 0.95, 0.55)}
_LEAST_LIGHT = 4  # pixels
_BRAKE = (255, 58, 40)
_LINE_COLORS = {"white": (1.0, 1.0, 1.0), "yellow": (1.0, 0.80, 0.25)}


def _bytes(values: NDArray[np.floating]) -> Image:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


def _lit(image: Image, part: Mask) -> tuple[Mask, str | None]:
    """Return the pixels of the lamp that is lit in the picture of a traffic light, and its colour."""
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL).astype(np.float32)
    vivid = hsv[..., 1] * hsv[..., 2] / 255 * part
    strongest = float(vivid.max(initial=0))
    if strongest < 60:
        return np.zeros_like(part), None
    lit: Mask = (vivid > 0.55 * strongest) & part
    angle = np.radians(hsv[..., 0][lit] * (360 / 255))
    hue = float(np.degrees(np.arctan2(np.sin(angle).mean(), np.cos(angle).mean())))
    for name, (low, high) in _LAMPS.items():
        if low <= hue < high or low <= hue + 360 < high:
            return lit, name
    return lit, None


def lights_like(image: Image, mask: Mask, color: str) -> Mask:
    """Return the pixels of the traffic lights in a mask that show a colour, as far as the image tells."""
    found = np.zeros_like(mask)
    for window, part in parts_of(mask, _LEAST_LIGHT):
        if _lit(image[window], part)[1] == color:
            found[window] |= part
    return found


def switched_lights(image: Image, mask: Mask, color: str) -> tuple[Image, Mask]:
    """Return the image with the traffic lights of a mask switched to a colour, and those that could be."""
    result, done = image.copy(), np.zeros_like(mask)
    for window, part in parts_of(mask, _LEAST_LIGHT):
        lit, shown = _lit(image[window], part)
        if shown is None or shown == color:
            continue
        lamp = _disc(lit)
        rows = np.flatnonzero(lamp.any(axis=1))
        moved = round((_ORDER.index(color) - _ORDER.index(shown)) * part.shape[0] / len(_ORDER))
        down = int(np.clip(moved, -rows[0], part.shape[0] - 1 - rows[-1]))
        result[window] = _switched(image[window], part, lamp & part, down, color)
        done[window] |= part
    return result, done


def _disc(lit: Mask) -> Mask:
    """Return the ellipse round what is lit: an arrow is only a part of its lamp."""
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    disc = np.zeros(lit.shape, np.uint8)
    middle = (int(columns[0] + columns[-1]) // 2, int(rows[0] + rows[-1]) // 2)
    axes = (int(columns[-1] - columns[0]) // 2 + 1, int(rows[-1] - rows[0]) // 2 + 1)
    cv2.ellipse(disc, middle, axes, 0, 0, 360, 1, -1)
    return disc.view(np.bool_) | lit


def _switched(image: Image, part: Mask, lamp: Mask, down: int, color: str) -> Image:
    """Return the picture of a light whose lit lamp goes out and shines so many rows further down."""
    housing = part & ~lamp
    dark = np.percentile(image[housing], 25, axis=0) if housing.any() else np.array([25.0, 25.0, 25.0])
    value = image.max(axis=2).astype(np.float32)
    result = image.astype(np.float32)
    # A lamp that is out still has the colour of its glass, faintly.
    result[lamp] = dark + _N.out * image[lamp]
    rows, columns = np.nonzero(lamp)
    inside = (rows + down >= 0) & (rows + down < part.shape[0])
    inside &= part[np.clip(rows + down, 0, part.shape[0] - 1), columns]
    rows, columns, target = rows[inside], columns[inside], rows[inside] + down
    result[target, columns] = value[rows, columns, None] * np.array(_SHINES[color], np.float32)
    return _bytes(result)


def repainted_lines(image: Image, lines: Mask, ground: Mask, opacity: Floats, color: str) -> Image:
    """Return the image with lines painted white or yellow; brightness and wear stay.

    At their edges paint and road are mixed: the more a pixel is like road, the less it changes.

    Args:
        image: The image.
        lines: The pixels of the lines.
        ground: Those of the ground round them.
        opacity: How much of each pixel may change.
        color: A colour of lines.
    """
    value = image.max(axis=2).astype(np.float32)
    paint, road = base_of(value, lines), base_of(value, ground)
    painted = np.clip((value - road) / np.maximum(paint - road, 12.0) + 0.25 * lines, 0, 1)
    new = value[..., None] * np.array(_LINE_COLORS[color], np.float32)
    mixed = image + (opacity * painted)[..., None] * (new - image)
    return _bytes(mixed)


def exposure(image: Image) -> float:
    """Return how bright things are in an image, 1 for what is usual by day, less for a dark one."""
    few = image[:: max(1, len(image) // 90), :: max(1, image.shape[1] // 120)]
    grey = cv2.cvtColor(few, cv2.COLOR_RGB2GRAY)
    return min(1.0, float(np.median(grey)) / _N.usual_grey)


def repainted(image: Image, part: Mask, color: str, light: float) -> Image:
    """Return the picture of a vehicle in another colour: its paint changes, glass, tyres and lamps stay.

    The paint is the colour that most of the body has. Each pixel changes as much as it is like it, and keeps
    its light and shade.

    Args:
        image: The vehicle and what is around it.
        part: The pixels of the vehicle.
        color: A colour of vehicles.
        light: The exposure of the whole image.
    """
    lab = np.asarray(cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    paint = _commonest(lab[_middle(part)])
    like = _like(lab, paint) * part
    # Shade is told by ratios, but not on black paint, where every gleam would be many times brighter.
    gleam = _N.gleam * light
    shade = light * np.minimum((lab[..., 0] + gleam) / (float(paint[0]) + gleam), _N.brightest)
    rgb = shade[..., None] * np.array(PAINTS[color], np.float32)
    mixed = image + like[..., None] * (rgb - image)
    return _bytes(mixed)


def _middle(part: Mask) -> Mask:
    """Return the inside of a mask: label maps reach beyond things."""
    size = max(3, min(part.shape) // 6 | 1)
    for one in (size, 3):
        inner = cv2.erode(part.view(np.uint8), np.ones((one, one), np.uint8)).view(np.bool_)
        if np.count_nonzero(inner) >= 12:
            return inner
    return part


def _like(lab: Floats, paint: Floats) -> Floats:
    """Return how much each pixel is like a paint, 0 to 1."""
    strength = float(np.hypot(paint[1], paint[2]))
    if strength > _N.colorful:
        # A strong colour is told from glass and tyres by its hue alone, in light and in shade.
        along = (lab[..., 1] * paint[1] + lab[..., 2] * paint[2]) / strength
        across = np.abs(lab[..., 1] * paint[2] - lab[..., 2] * paint[1]) / strength
        like = np.clip((along - 0.25 * strength) / (0.25 * strength), 0, 1)
        like *= np.clip(2 - across / (0.35 * np.maximum(along, 1e-3) + 4), 0, 1)
    else:
        apart = np.hypot(lab[..., 1] - paint[1], lab[..., 2] - paint[2])
        like = np.clip(2 - apart / 10, 0, 1) * np.clip(2 - np.abs(lab[..., 0] - paint[0]) / 22, 0, 1)
    return np.asarray(like, np.float32)


def _commonest(lab: Floats) -> Floats:
    """Return the colour that most pixels are near to, dark ones (glass, tyres) counting less."""
    cells = np.floor(lab / np.array([12, 10, 10], np.float32)).astype(np.int32)
    _, group, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    mean = np.stack([np.bincount(group, lab[:, k]) / counts for k in range(3)], axis=1)
    weight = counts * (0.3 + np.hypot(mean[:, 1], mean[:, 2]) / 30 + mean[:, 0] / 100)
    best = mean[int(weight.argmax())]
    near = np.abs(lab - best.astype(np.float32)).max(axis=1) < 14
    return np.asarray(np.median(lab[near], axis=0), np.float32)


_LEAST_ROWS = 4  # a stroke of fewer is too far away to tell


@dataclass(frozen=True, eq=False)
class _Stroke:
    """One connected piece of paint: where it is, its ends as (x, y) of the middle, and its width there."""

    number: int
    window: Window
    pixels: Mask
    top: tuple[float, float]
    bottom: tuple[float, float]
    widths: tuple[float, float]
    solid: bool
    clear: bool
    color: str


def lines_like(frame: Frame, mask: Mask, properties: Mapping[str, str]) -> Mask:
    """Return the pixels of lines that have properties: a type, solid or dash, and a colour.

    A stroke of paint is solid when it is longer on the ground than dashes are. One that is too far away to
    tell is taken for the type of the stroke nearest to it.
    """
    strokes = _strokes(frame, mask)
    found = np.zeros_like(mask)
    known = [one for one in strokes if one.clear] or strokes
    for stroke in strokes:
        like = stroke if stroke.clear else min(known, key=lambda one: _apart(stroke, one))
        looks = {"type": "solid" if like.solid else "dash", "color": like.color}
        if properties.items() <= looks.items():
            found[stroke.window] |= stroke.pixels
    return found


def _apart(one: _Stroke, other: _Stroke) -> float:
    return float(np.hypot(one.bottom[0] - other.top[0], one.bottom[1] - other.top[1]))


def _strokes(frame: Frame, mask: Mask) -> list[_Stroke]:
    """Return the connected pieces of paint."""
    view = Perspective.of(frame)
    found = []
    for number, (window, pixels) in enumerate(parts_of(mask)):
        top, bottom, left = window[0].start, window[0].stop, window[1].start
        colors = frame.image[window][pixels].mean(axis=0)
        lacking = ((colors[0] + colors[1]) / 2 - colors[2]) / max(float(colors.max()), 1.0)
        few = max(1, min(3, (bottom - top) // 3))
        both = pixels[:few], pixels[-few:]
        ends = [(left + np.nonzero(rows)[1].mean() + 0.5, np.count_nonzero(rows) / few) for rows in both]
        near, far = max(bottom, view.horizon + 1), max(top + 0.5, view.horizon + 1)
        along = view.distance(far) - view.distance(near)
        across = view.metres(abs(ends[0][0] - ends[1][0]), (near + far) / 2)
        upper, lower = (ends[0][0], top + few / 2), (ends[1][0], bottom - few / 2)
        solid, clear = float(np.hypot(along, across)) > _N.longest_dash, bottom - top >= _LEAST_ROWS
        color, widths = "yellow" if lacking > _N.yellow else "white", (ends[0][1], ends[1][1])
        found.append(_Stroke(number, window, pixels, upper, lower, widths, solid, clear, color))
    return found


def cut_into_dashes(frame: Frame, mask: Mask, rng: np.random.Generator) -> Mask:
    """Return which pixels of solid lines must go so that dashes are left, as long as on real roads."""
    view = Perspective.of(frame)
    distance = view.distances(frame.height)
    phase = rng.uniform(0, _N.period)
    # Where a row is longer on the ground than a dash, dashes and gaps cannot be told apart.
    seen = np.isfinite(distance)
    seen[:-1] &= distance[:-1] - np.where(seen[1:], distance[1:], 0) < _N.dash
    gone = seen & (np.mod(np.where(seen, distance, 0) + phase, _N.period) >= _N.dash)
    return mask & gone[:, None]


def joined_dashes(frame: Frame, mask: Mask) -> Iterator[tuple[Mask, Mask]]:
    """Yield, for each colour of line, the pixels between its dashes, which make it solid, and the dashes."""
    view = Perspective.of(frame)
    strokes = _strokes(frame, mask)
    pairs = [(one, other) for one in strokes if (other := _following(one, strokes, view)) is not None]
    followers = {other.number for _, other in pairs}
    for color in dict.fromkeys(one.color for one, _ in pairs):
        between = np.zeros(mask.shape, np.uint8)
        mine = [(one, other) for one, other in pairs if one.color == color]
        for nearer, farther in mine:
            _join(between, nearer, farther)
            if nearer.number not in followers:
                _join(between, _before(nearer, view, frame.height), nearer)
        dashes = np.zeros_like(mask)
        for stroke in (one for pair in mine for one in pair):
            dashes[stroke.window] |= stroke.pixels
        yield between.view(np.bool_) & ~mask, dashes


def hidden_lines(frame: Frame, lines: Mask, gone: Mask) -> Mask:
    """Return the pixels of lines that go on behind what is gone: they end at it and begin again beyond."""
    beside = cv2.dilate(gone.view(np.uint8), np.ones((7, 7), np.uint8)).view(np.bool_) & lines
    between = np.zeros(lines.shape, np.uint8)
    if np.count_nonzero(beside) < 2:
        return between.view(np.bool_)
    view = Perspective.of(frame)
    strokes = [one for one in _strokes(frame, lines) if (beside[one.window] & one.pixels).any()]
    height, width = lines.shape

    def cut(end: tuple[float, float]) -> bool:
        x, y = min(int(end[0]), width - 1), min(int(end[1]), height - 1)
        return bool(beside[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4].any())

    for nearer in strokes:
        farther = _following(nearer, strokes, view) if cut(nearer.top) else None
        if farther is not None and cut(farther.bottom):
            _join(between, nearer, farther)
    return between.view(np.bool_) & gone


def _before(stroke: _Stroke, view: Perspective, height: int) -> _Stroke:
    """Return where the gap before the nearest dash of a line begins, on the way that the dash points."""
    distance = max(view.distance(stroke.bottom[1]) - (_N.period - _N.dash), 0.1)
    row = min(view.row(distance), float(height))
    lean = (stroke.top[0] - stroke.bottom[0]) / (stroke.bottom[1] - stroke.top[1])
    place = (stroke.bottom[0] - lean * (row - stroke.bottom[1]), row)
    wide = stroke.widths[1] * (row - view.horizon) / max(stroke.bottom[1] - view.horizon, 1.0)
    return replace(stroke, top=place, bottom=place, widths=(wide, wide))


def _join(canvas: NDArray[np.uint8], nearer: _Stroke, farther: _Stroke) -> None:
    (x1, y1), (x2, y2) = nearer.top, farther.bottom
    half1, half2 = nearer.widths[0] / 2, farther.widths[1] / 2
    corners = [(x1 - half1, y1), (x1 + half1, y1), (x2 + half2, y2), (x2 - half2, y2)]
    points = np.rint((np.array(corners) - 0.5) * 16).astype(np.int32)
    cv2.fillPoly(canvas, [points], 1, cv2.LINE_8, 4)


def _following(stroke: _Stroke, strokes: list[_Stroke], view: Perspective) -> _Stroke | None:
    """Return the next dash of the same line, away from us."""
    rows = stroke.bottom[1] - stroke.top[1]
    if rows < 1 or stroke.top[1] <= view.horizon + 1:
        return None
    lean = (stroke.top[0] - stroke.bottom[0]) / rows
    best, least = None, _N.aside
    for other in strokes:
        x, y = other.bottom
        if not view.horizon + 1 < y < stroke.top[1] or other.color != stroke.color:
            continue
        away = view.distance(y) - view.distance(stroke.top[1])
        aside = view.metres(abs(stroke.top[0] + lean * (stroke.top[1] - y) - x), y)
        if away < _N.longest_gap and aside + 0.02 * away < least:
            best, least = other, aside + 0.02 * away
    return best


def braking(vehicle: CutOut) -> CutOut | None:
    """Return a drawn vehicle, seen from behind, with lit brake lights; None where it shows no two lamps."""
    pixels = vehicle.rgba.copy()
    height, width = pixels.shape[:2]
    red, others = pixels[..., 0].astype(np.int16), pixels[..., 1:3].max(axis=2).astype(np.int16)
    lamps = (red > 60) & (red > 3 * others) & (pixels[..., 3] > 200)
    _, numbers, found, centres = cv2.connectedComponentsWithStats(lamps.view(np.uint8))
    low, small = centres[:, 1] > _N.lower * height, found[:, cv2.CC_STAT_WIDTH] < _N.lamp * width
    wide = found[:, cv2.CC_STAT_AREA] > _N.speck * height * width
    chosen = np.flatnonzero(low & small & wide)
    level = centres[chosen, 1].max(initial=0.0) - centres[chosen, 1]
    chosen = chosen[level < _N.level * height]
    if len(chosen) < 2 or vehicle.properties.get("color") == "red":
        return None
    shining = np.isin(numbers, chosen).astype(np.float32)
    halo = cv2.GaussianBlur(shining, (0, 0), _N.halo * height)[..., None] * (1 - shining[..., None])
    colors = pixels[..., :3] + halo * (np.array(_BRAKE, np.float32) - pixels[..., :3])
    colors[shining > 0] = _BRAKE
    pixels[..., :3] = np.clip(colors, 0, 255)
    return replace(vehicle, pixels=pixels, pose="braking")


def brake_light(patch: Floats) -> Floats:
    """Return how far each pixel belongs to a lit brake light."""
    clear = patch[..., 0] - patch[..., 1:3].max(axis=2)
    return np.asarray(np.clip((clear - 140) / 40, 0, 1), np.float32)
