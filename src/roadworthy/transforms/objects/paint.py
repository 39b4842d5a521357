"""The colours of things: naming them, and painting things anew where they stand."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.objects.inpainting import base_of
from roadworthy.transforms.objects.parts import parts_of
from roadworthy.world.paints import PAINTS

__all__ = ["exposure", "lights_like", "repainted", "repainted_lines", "switched_lights"]

Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

_LAMPS: Mapping[str, tuple[float, float]] = {
    "red": (-25.0, 18.0),
    "yellow": (18.0, 65.0),
    "green": (80.0, 200.0),
}
"""Hues of lit lamps, in degrees."""
_ORDER = ("red", "yellow", "green")  # from top to bottom
_SHINES = {"red": (1.0, 0.16, 0.13), "yellow": (1.0, 0.75, 0.15), "green": (0.15, 0.95, 0.55)}
_LEAST_LIGHT = 4  # pixels
_OUT = 0.1  # of its light, that a lamp seems to have when it is out
_USUAL_GREY = 95.0
_GLEAM = 18.0  # of 100 levels of lightness
_BRIGHTEST = 1.3  # times the paint's own brightness
_COLORFUL = 18.0  # levels of colour
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
    result[lamp] = dark + _OUT * image[lamp]
    rows, columns = np.nonzero(lamp)
    target = rows + down
    inside = (target >= 0) & (target < part.shape[0])
    rows, columns, target = rows[inside], columns[inside], target[inside]
    inside = part[target, columns]
    rows, columns, target = rows[inside], columns[inside], target[inside]
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
    grey = cv2.cvtColor(
        image[:: max(1, len(image) // 90), :: max(1, image.shape[1] // 120)], cv2.COLOR_RGB2GRAY
    )
    return min(1.0, float(np.median(grey)) / _USUAL_GREY)


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
    gleam = _GLEAM * light
    shade = light * np.minimum((lab[..., 0] + gleam) / (float(paint[0]) + gleam), _BRIGHTEST)
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
    if strength > _COLORFUL:
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
