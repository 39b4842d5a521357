"""What camera and air made of a scene: blur, noise, grey, night and haze, as things put into it must look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.transforms.objects.surroundings import GroundSurroundings, Window

Floats = NDArray[np.float32]

SHARPEST = 0.35
"""Pixels of blur that no image is without."""
_HAZY = {"foggy": 0.15, "snowy": 0.025, "rainy": 0.02}  # the thickest haze of each weather, 1/m


@dataclass(frozen=True, slots=True)
class Look:
    """What a camera made of a scene: the blur of sharp edges in pixels, and its noise in grey levels."""

    blur: float
    noise: float


@dataclass(frozen=True, slots=True)
class Haze:
    """Air that hides what is far away: how much light it swallows for each metre, and its own colour."""

    density: float
    color: tuple[float, float, float]
    ground: tuple[float, float, float]  # colour of the road where no haze is before it

    def clear(self, distance: float) -> float:
        """Return the share of light that comes through."""
        return math.exp(-self.density * distance)


@lru_cache(maxsize=4)
def is_grey(frame: Frame) -> bool:
    """Return whether a camera sees no colours."""
    some = frame.image[:: max(1, frame.height // 24), :: max(1, frame.width // 24)].astype(np.int16)
    return int(np.ptp(some, axis=2).max()) <= 2


def is_night(frame: Frame) -> bool:
    """Return whether a frame shows the night: it says so, or its upper half, where the sky is, is dark."""
    time = frame.metadata.get("time")
    if time is not None:
        return time == "night"
    return sum(cv2.mean(frame.image[: max(1, frame.height // 2)])[:3]) / 3 < 30


# One frame is changed in many ways one after another.
@lru_cache(maxsize=4)
def look_of(frame: Frame) -> Look:
    """Measure blur and noise of a frame's image.

    At a sharp edge one step between neighbours is most of the whole difference; the more it is blurred, the
    smaller is its share. Noise is what is left where the image is flat.
    """
    height, width = frame.height, frame.width
    # A band around the horizon holds the things of the scene; not more than needed of it.
    top, bottom = round(0.3 * height), max(round(0.75 * height), round(0.3 * height) + 2)
    step = max(1, (bottom - top) // 40)
    band = np.ascontiguousarray(frame.image[top:bottom:step])
    grey = cv2.cvtColor(band, cv2.COLOR_RGB2GRAY).astype(np.float32)
    if width < 8 or len(grey) < 4:
        return Look(SHARPEST, 0.0)
    difference = np.diff(grey, axis=1)
    blur = _blur(grey)
    # The second difference does not see slopes; in the flattest parts of an image it sees nothing but noise.
    second = np.abs(difference[:, 1:] - difference[:, :-1])
    blocks = second[:, : second.shape[1] // 16 * 16].reshape(len(grey), -1, 16)
    flattest = _quantile(blocks.mean(axis=2).ravel(), 0.1) if blocks.size else 0.0
    return Look(blur, min(flattest / math.sqrt(6 * 2 / math.pi), 12.0))


def _blur(grey: Floats) -> float:
    """Return the blur of the sharpest of the strong edges across an image, in pixels."""
    whole = np.abs(grey[:, 3:] - grey[:, :-3])
    strong = whole > 40
    if np.count_nonzero(strong) < 20:
        return SHARPEST
    share = _quantile(np.abs(np.diff(grey, axis=1)[:, 1:-1])[strong] / whole[strong], 0.8)
    return float(np.interp(-min(share, 1.0), np.negative(_SHARES), _BLURS))


def blur_around(frame: Frame, window: Window) -> float:
    """Return the blur of what is seen around a thing that is to be put into a frame."""
    left, top, right, bottom = window
    reach = 2 * (right - left)
    around = frame.image[max(0, top) : bottom, max(0, left - reach) : right + reach]
    grey = cv2.cvtColor(np.ascontiguousarray(around), cv2.COLOR_RGB2GRAY).astype(np.float32)
    return _blur(grey) if grey.shape[1] >= 8 else SHARPEST


def _quantile(values: Floats, share: float) -> float:
    """Return the value below which a share of the values lies; NumPy's own interpolates, and takes longer."""
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


_BLURS = (SHARPEST, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2)
# Of the middle step at an edge of three, for each blur.
_SHARES = [math.erf(0.5 / (blur * math.sqrt(2))) / math.erf(1.5 / (blur * math.sqrt(2))) for blur in _BLURS]


@lru_cache(maxsize=2)
def haze_of(site: GroundSurroundings) -> Haze | None:
    """Measure the haze of a frame that is known to be foggy, rainy or snowy; None where there is none.

    The road has one colour, so how its colour changes with the distance shows the haze before it.
    """
    thickest = _HAZY.get(str(site.frame.metadata.get("weather")))
    if thickest is None:
        return None
    road = site.is_any(("road",))[site.labels.ids[site.rows]]
    counts = np.count_nonzero(road, axis=1)
    index = np.flatnonzero(counts >= 3)
    if len(index) < 8:
        return None
    sums = (site.frame.image[site.rows[index]] * road[index][..., None]).sum(axis=1, dtype=np.float64)
    colors = sums / counts[index][:, None]
    distance = site.view.focal / site.scale[index]
    centred = colors - colors.mean(axis=0)
    spread = float((centred**2).sum())
    # For each density a straight line of colour over the light that comes through.
    densities = np.geomspace(0.004, thickest, 24)
    through = np.exp(-densities[:, None] * distance)
    level = through - through.mean(axis=1, keepdims=True)
    slopes = level @ centred / np.maximum((level**2).sum(axis=1, keepdims=True), 1e-12)
    errors = ((centred - level[..., None] * slopes[:, None]) ** 2).sum(axis=(1, 2))
    best = int(errors.argmin())
    air = colors.mean(axis=0) - through[best].mean() * slopes[best]
    red, green, blue = np.clip(air, 0, 255).tolist()
    ground = np.clip(air + slopes[best], 0, 255).tolist()
    haze = Haze(float(densities[best]), (red, green, blue), tuple(ground))
    error = float(errors[best])
    # Where the colour of the road hardly follows the law, it is paint or light that changes it.
    explains = error < 0.3 * spread and np.abs(np.subtract(haze.color, haze.ground)).max() > 12
    return haze if explains else None
