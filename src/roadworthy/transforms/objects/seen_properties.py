"""What the pixels of a cut-out tell about it: from where a vehicle is seen, and the colours of things."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.objects.gallery import Facing

__all__ = ["facing_of", "properties_of"]


def facing_of(rgba: NDArray[np.uint8]) -> Facing:
    """Return from where a vehicle is seen, as far as its shape and its lamps tell."""
    height, width = rgba.shape[:2]
    if width / height > 1.75:
        return "side"
    lab = cv2.cvtColor(np.ascontiguousarray(rgba[..., :3]), cv2.COLOR_RGB2LAB).astype(np.int16)
    redder = lab[..., 1] - 128
    red = (redder > 12) & (redder - (lab[..., 2] - 128) > -14) & (rgba[..., 3] > 200)
    third = width // 3
    lamps = np.array_split(red[height // 4 : int(0.8 * height)], [third, width - third], axis=1)
    left, middle, right = (float(part.mean()) for part in lamps)
    if middle > 0.12 or max(left, right) > 0.3:  # red all over: nothing can be told from it
        return ""
    return "away" if max(left, right) > 0.003 else "toward" if max(left, right) < 0.001 else ""


def properties_of(
    element: str, rgba: NDArray[np.uint8], ambience: tuple[float, float, float], metres: float
) -> dict[str, str]:
    """Return what can be seen of a thing's properties; nothing where it is not clear."""
    if element == "vehicle":
        found = {"type": "car"} if 1.2 <= metres <= 1.75 else {}
        color = _paint(rgba, ambience)
        return {**found, "color": color} if color else found
    if element == "traffic light":
        color = _lamp(rgba)
        return {"color": color} if color else {}
    return {}


def _paint(rgba: NDArray[np.uint8], ambience: tuple[float, float, float]) -> str:
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


def _hue(value: float) -> str:
    """Return the colour word of a hue from 0 to 180, empty between two words."""
    for name, low, high in (
        ("red", 0, 7),
        ("orange", 9, 17),
        ("yellow", 20, 33),
        ("green", 40, 85),
        ("blue", 95, 128),
        ("red", 172, 181),
    ):
        if low <= value < high:
            return name
    return ""


def _lamp(rgba: NDArray[np.uint8]) -> str:
    """Return the colour of a traffic light's lit lamp where it is beyond doubt."""
    hsv = cv2.cvtColor(np.ascontiguousarray(rgba[..., :3]), cv2.COLOR_RGB2HSV)
    lit = (hsv[..., 1] > 120) & (hsv[..., 2] > 150) & (rgba[..., 3] > 200)
    if np.count_nonzero(lit) < 6:
        return ""
    name = _hue(float(np.median(hsv[..., 0][lit])))
    return {"red": "red", "orange": "yellow", "yellow": "yellow", "green": "green"}.get(name, "")
