"""Moving an image and everything that is known about it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Image
from roadworthy.ontology import VOID
from roadworthy.transforms.transform import Keeps, Transform, choice, number, register

Matrix = NDArray[np.float64]

BORDERS: Mapping[str, int] = {
    "black": cv2.BORDER_CONSTANT,
    "edge": cv2.BORDER_REPLICATE,
    "mirror": cv2.BORDER_REFLECT,
}
_LEAST_SIDE = 1.0  # pixels; a box of less is not seen


def moved_frame(frame: Frame, matrix: Matrix, border: str) -> Frame:
    """Return a frame moved by an affine matrix (2 × 3) over the coordinates that boxes have.

    Where nothing comes from inside the image, the image is filled as `border` says; the label map is void
    there, the depth unknown, and no thing reaches there.
    """
    # Boxes count from the corner of the first pixel, OpenCV from its centre.
    pixels = matrix.copy()
    pixels[:, 2] += matrix[:, :2] @ (0.5, 0.5) - 0.5

    def warped(image: NDArray[Any], outside: float, *, smooth: bool = False) -> NDArray[Any]:
        how = cv2.INTER_LINEAR if smooth else cv2.INTER_NEAREST
        edge = BORDERS[border] if smooth else cv2.BORDER_CONSTANT
        value = (outside,) * 4
        return cv2.warpAffine(image, pixels, frame.size, flags=how, borderMode=edge, borderValue=value)

    boxes = None if frame.boxes is None else move_boxes(frame.boxes, matrix, *frame.size)
    return frame.replace(image=warped(frame.image, 0, smooth=True), boxes=boxes, **moved_maps(frame, warped))


def moved_maps(frame: Frame, move: Callable[[NDArray[Any], float], NDArray[Any]]) -> dict[str, object]:
    """Return labels, instances and depth after a move, which is told what comes in from outside."""
    moved: dict[str, object] = {}
    if frame.labels is not None:
        classes = frame.labels.classes_with(VOID)
        moved["labels"] = LabelMap(move(frame.labels.ids, classes.index(VOID)), classes)
    if frame.instances is not None:
        moved["instances"] = move(frame.instances, 0)
    if frame.depth is not None:
        moved["depth"] = move(frame.depth, np.nan)
    return moved


def move_boxes(boxes: Boxes, matrix: Matrix, width: int, height: int) -> Boxes:
    """Return the boxes of things that were moved by an affine matrix, as far as they are inside the image.

    A box that is turned no longer stands upright, and the upright box round its corners is too large: things
    seldom fill the corners. The box round the ellipse inside it keeps to the thing, and is exact for
    translation and scaling.

    Example:
        >>> quarter = np.array([[0.0, -1.0, 10.0], [1.0, 0.0, 0.0]])
        >>> move_boxes(Boxes([[1, 2, 3, 8]], ["car"]), quarter, 10, 10).xyxy.tolist()
        [[2.0, 1.0, 8.0, 3.0]]
    """
    corners = boxes.xyxy.astype(np.float64)
    centres = (corners[:, :2] + corners[:, 2:]) / 2
    halves = (corners[:, 2:] - corners[:, :2]) / 2
    centres = centres @ matrix[:, :2].T + matrix[:, 2]
    halves = np.sqrt(halves**2 @ (matrix[:, :2] ** 2).T)
    whole = np.concatenate([centres - halves, centres + halves], axis=1)
    inside = np.clip(whole, 0, [width, height, width, height])
    sides = inside[:, 2:] - inside[:, :2]
    seen = np.flatnonzero(((sides >= np.minimum(_LEAST_SIDE, 2 * halves)) & (sides > 0)).all(axis=1))
    share = sides.prod(axis=1) / np.maximum((2 * halves).prod(axis=1), 1e-9)
    before = 0.0 if boxes.truncation is None else boxes.truncation
    truncation = 1 - (1 - before) * np.minimum(share, 1)
    unknown = boxes.truncation is None and bool((share[seen] > 1 - 1e-6).all())
    return boxes[seen].replace(xyxy=inside[seen], truncation=None if unknown else truncation[seen])


_ANCHORS = ("centre", "corner")


@dataclass(frozen=True, kw_only=True)
class _Affine(Transform):
    """A transform given by a matrix of Table 2, about the corner or the centre of the image.

    Attributes:
        border: What fills the part of the image that nothing is moved to.
        anchor: The point that stays where it is.
    """

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
class Translation(_Affine):
    """Everything moves by the same number of pixels: Table 2, (t_x, t_y).

    Attributes:
        x: How far to the right.
        y: How far down.
    """

    x: float = number(30.0, unit="pixels", low=-10000, high=10000, identity=0, strongest=100)
    y: float = number(30.0, unit="pixels", low=-10000, high=10000, identity=0, strongest=100)
    border: str = choice("black", choices=tuple(BORDERS))

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (1.0, 0.0), (0.0, 1.0)

    def displacement(self, width: int, height: int) -> tuple[float, float]:
        return self.x, self.y


@register("scale", summary="the image is enlarged or shrunk", aliases=("zoom",))
class Scale(_Affine):
    """Everything grows or shrinks: Table 2, (s_x, s_y). The image keeps its size.

    Attributes:
        x: Factor of the width.
        y: Factor of the height.
    """

    x: float = number(1.5, low=0.1, high=20, identity=1, strongest=6)
    y: float = number(1.5, low=0.1, high=20, identity=1, strongest=6)
    anchor: str = choice("centre", choices=_ANCHORS)
    border: str = choice("black", choices=tuple(BORDERS))

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.x, 0.0), (0.0, self.y)


@register("shear", summary="rows slide sideways, or columns up and down")
class Shear(_Affine):
    """Rows slide by x pixels for each row: Table 2, (s_x, s_y); DeepTest's is horizontal only.

    Attributes:
        x: Sideways, in pixels a row.
        y: Downwards, in pixels a column.
    """

    x: float = number(-0.3, low=-5, high=5, identity=0, strongest=-1)
    y: float = number(0.0, low=-5, high=5)
    anchor: str = choice("corner", choices=_ANCHORS)
    border: str = choice("black", choices=tuple(BORDERS))

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (1.0, self.x), (self.y, 1.0)


@register("rotation", summary="the image turns clockwise", aliases=("rotate",))
class Rotation(_Affine):
    """The image turns: Table 2, q. With y down, its matrix turns clockwise.

    Attributes:
        angle: How far clockwise.
    """

    angle: float = number(9.0, unit="degrees", low=-180, high=180, identity=0, strongest=30)
    anchor: str = choice("centre", choices=_ANCHORS)
    border: str = choice("black", choices=tuple(BORDERS))

    def linear(self) -> tuple[tuple[float, float], tuple[float, float]]:
        cos, sin = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        return (cos, -sin), (sin, cos)


@register("mirror", summary="left and right change places, and so does the steering")
class Mirror(Transform):
    """The frame as a mirror shows it; steering changes its sign."""

    family = "affine"
    keeps = Keeps.MOVED

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return frame.replace(previous=()).mirrored()

    def on_image(self, image: Image, rng: np.random.Generator | int = 0) -> Image:
        return np.asarray(cv2.flip(image, 1), np.uint8)
