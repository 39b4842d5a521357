"""The camera moved, turned or zoomed: DeepTest's affine transforms (Tables 2 and 4), and a mirror."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.frames import Frame
from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.transform import Image, Keeps, Presets, Transform, register
from roadworthy.transforms.warping import BORDERS, Matrix, moved_frame

__all__ = ["Mirror", "Rotation", "Scale", "Shear", "Translation"]

_BORDER = "What fills the part of the image that nothing is moved to."
_ANCHOR = "The point that stays where it is."
_ANCHORS = ("centre", "corner")


@dataclass(frozen=True, kw_only=True)
class _Affine(Transform):
    """A transform given by a matrix of Table 2, about the corner or the centre of the image."""

    family = "affine"
    keeps = Keeps.MOVED

    @abstractmethod
    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the matrix without its displacement."""

    def displacement(self, width: int, height: int) -> tuple[float, float]:
        """Return how far the corner of the image is moved, in pixels."""
        if getattr(self, "anchor", "corner") == "corner":
            return 0.0, 0.0
        centre = np.array([width / 2, height / 2])
        x, y = centre - np.array(self.linear()) @ centre
        return float(x), float(y)

    def matrix(self, width: int, height: int) -> Matrix:
        """Return the matrix, 2 × 3, for an image of this size."""
        x, y = self.displacement(width, height)
        (a, b), (c, d) = self.linear()
        return np.array([[a, b, x], [c, d, y]])

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the moved frame."""
        return moved_frame(frame, self.matrix(*frame.size), getattr(self, "border", "black"))


@register("translation", summary="the image moves by x and y pixels")
@dataclass(frozen=True, kw_only=True)
class Translation(_Affine):
    """Everything moves by the same number of pixels: Table 2, (t_x, t_y)."""

    x: float = number(
        30.0, "How far to the right.", unit="pixels", low=-10000, high=10000, identity=0, strongest=100
    )
    y: float = number(30.0, "How far down.", unit="pixels", low=-10000, high=10000, identity=0, strongest=100)
    border: str = choice("black", _BORDER, tuple(BORDERS))

    presets: ClassVar[Presets] = {f"deeptest-{k}": {"x": 10.0 * k, "y": 10.0 * k} for k in range(1, 11)}

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (1.0, 0.0), (0.0, 1.0)

    def displacement(self, width: int, height: int) -> tuple[float, float]:
        return self.x, self.y


@register("scale", summary="the image is enlarged or shrunk", aliases=("zoom",))
@dataclass(frozen=True, kw_only=True)
class Scale(_Affine):
    """Everything grows or shrinks: Table 2, (s_x, s_y). The image keeps its size."""

    x: float = number(1.5, "Factor of the width.", low=0.1, high=20, identity=1, strongest=6)
    y: float = number(1.5, "Factor of the height.", low=0.1, high=20, identity=1, strongest=6)
    anchor: str = choice("centre", _ANCHOR, _ANCHORS)
    border: str = choice("black", _BORDER, tuple(BORDERS))

    presets: ClassVar[Presets] = {f"deeptest-{k}": {"x": 1 + 0.5 * k, "y": 1 + 0.5 * k} for k in range(1, 11)}

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.x, 0.0), (0.0, self.y)


@register("shear", summary="rows slide sideways, or columns up and down")
@dataclass(frozen=True, kw_only=True)
class Shear(_Affine):
    """Rows slide by x pixels for each row: Table 2, (s_x, s_y); DeepTest's is horizontal only."""

    x: float = number(-0.3, "Sideways, in pixels a row.", low=-5, high=5, identity=0, strongest=-1)
    y: float = number(0.0, "Downwards, in pixels a column.", low=-5, high=5)
    anchor: str = choice("corner", _ANCHOR, _ANCHORS)
    border: str = choice("black", _BORDER, tuple(BORDERS))

    presets: ClassVar[Presets] = {
        f"deeptest-{k}": {"x": round(-1.1 + 0.1 * k, 1), "y": 0.0} for k in range(1, 11)
    }

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (1.0, self.x), (self.y, 1.0)


@register("rotation", summary="the image turns clockwise", aliases=("rotate",))
@dataclass(frozen=True, kw_only=True)
class Rotation(_Affine):
    """The image turns: Table 2, q. With y down, its matrix turns clockwise."""

    angle: float = number(
        9.0, "How far clockwise.", unit="degrees", low=-180, high=180, identity=0, strongest=30
    )
    anchor: str = choice("centre", _ANCHOR, _ANCHORS)
    border: str = choice("black", _BORDER, tuple(BORDERS))

    presets: ClassVar[Presets] = {f"deeptest-{k}": {"angle": 3.0 * k} for k in range(1, 11)}

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        cos, sin = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        return (cos, -sin), (sin, cos)


@register("mirror", summary="left and right change places, and so does the steering")
@dataclass(frozen=True, kw_only=True)
class Mirror(Transform):
    """The frame as a mirror shows it; steering changes its sign."""

    family = "affine"
    keeps = Keeps.MOVED

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return frame.replace(previous=()).mirrored()

    def on_image(self, image: Image, rng: np.random.Generator | int = 0) -> Image:
        return np.asarray(cv2.flip(image, 1), np.uint8)
