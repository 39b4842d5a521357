"""Rain streaks and snow flakes in the air between the camera and the scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world.arrays import Array, Bytes, vector
from roadworthy.world.scene import Scene

__all__ = ["Precipitation"]


_DROP = vector([205, 212, 220])
_FLAKE = vector([250, 252, 255])


@dataclass(frozen=True, eq=False)
class Precipitation:
    """Opacity and colour of what falls in front of a picture."""

    opacity: Array
    transparency: Array
    color: Array

    @classmethod
    def of(cls, scene: Scene, shape: tuple[int, ...]) -> Precipitation | None:
        """Return the rain or snow of a scene, None in dry weather."""
        height, width = shape
        rain, snow = scene.conditions.amount("rainy"), scene.conditions.amount("snowy")
        look = int(np.random.default_rng(scene.seed + 2).integers(6))
        light = float(scene.conditions.light.ambient.mean())
        if round(rain * 12):
            layer = _rain(height, width, round(rain * 12), look)
            return cls._of_layer(layer, 0.26 + 0.24 * rain, _DROP * np.float32(0.30 + 0.70 * light))
        if round(snow * 12):
            layer = _flakes(height, width, round(snow * 12), look)
            return cls._of_layer(layer, 1.0, _FLAKE * np.float32(0.42 + 0.58 * min(1.0, light * 1.2)))
        return None

    @classmethod
    def _of_layer(cls, layer: Bytes, strength: float, color: Array) -> Precipitation:
        opacity = layer.astype(np.float32)
        opacity *= np.float32(strength / 255)
        return cls(opacity, np.float32(1) - opacity, color)

    def add(self, plane: Array, channel: int, rows: slice) -> None:
        """Draw it over some rows of red, green or blue."""
        behind = plane * self.transparency[rows]
        cv2.scaleAdd(self.opacity[rows], float(self.color[channel]), behind, dst=behind)
        # Drops catch light but never darken what is behind them.
        np.maximum(plane, behind, out=plane)


# Layers are kept as bytes: dozens of them as floats would take gigabytes at large sizes.
@lru_cache(maxsize=64)
def _rain(height: int, width: int, level: int, look: int) -> Bytes:
    """Return streaks; nearer drops are longer, thicker and fewer."""
    rng = np.random.default_rng(1000 + look)
    layer = np.zeros((height * 2, width * 2), dtype=np.uint8)
    scale = width / 320
    for share, length, thickness, value in ((1.0, 7, 1, 80), (0.5, 13, 1, 120), (0.12, 24, 2, 105)):
        count = int(26 * level * share * (height * width) / (160 * 320) / scale)
        slant = rng.normal(0.10, 0.03, count)
        x = rng.uniform(-10, width * 2 + 10, count)
        y = rng.uniform(-20, height * 2, count)
        span = rng.uniform(0.7, 1.3, count) * length * scale * 2
        for a, b, s, l in zip(x, y, slant, span, strict=True):
            cv2.line(
                layer,
                (round(a), round(b)),
                (round(a - s * l), round(b + l)),
                value,
                max(1, round(thickness * scale)),
                cv2.LINE_AA,
            )
    return np.asarray(cv2.resize(layer, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)


@lru_cache(maxsize=64)
def _flakes(height: int, width: int, level: int, look: int) -> Bytes:
    """Return flakes; nearer ones are larger and fewer."""
    rng = np.random.default_rng(2000 + look)
    layer = np.zeros((height * 2, width * 2), dtype=np.uint8)
    scale = width / 320
    for share, radius, value in ((1.4, 0.5, 150), (0.5, 0.85, 190), (0.08, 1.5, 165)):
        count = int(40 * level * share * (height * width) / (160 * 320) / scale)
        x, y = rng.uniform(0, width * 2, count), rng.uniform(0, height * 2, count)
        size = np.maximum(rng.uniform(0.7, 1.3, count) * radius * scale * 2, 1.0)
        for a, b, r in zip(x, y, size, strict=True):
            cv2.circle(layer, (round(a * 8), round(b * 8)), round(r * 8), value, -1, cv2.LINE_AA, 3)
    soft = cv2.resize(layer, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(soft, (3, 3), 0), dtype=np.uint8)
