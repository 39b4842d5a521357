"""The camera of the world, and small helpers for arrays of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy.errors import SceneError, check_number

_Scalar = TypeVar("_Scalar", bound=np.generic)

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.intp]
Ids = NDArray[np.uint16]
Bytes = NDArray[np.uint8]
Packed = NDArray[np.uint32]
"""RGBx colours, one integer each."""
Flags = NDArray[np.bool_]


def look_up(table: NDArray[_Scalar], index: NDArray[Any]) -> NDArray[_Scalar]:
    """Return the table's entries at an array of indices that are known to lie inside it."""
    # Wrapping is twice as fast as numpy's check that raises, and faster than clipping.
    return table.take(index, mode="wrap")


def bytes_of(packed: Packed) -> list[Bytes]:
    """Return the four bytes of packed colours, a plane each."""
    planes: list[Bytes] = list(np.empty((4, *packed.shape), dtype=np.uint8))
    # Into planes that are there, OpenCV splits six times as fast.
    cv2.split(packed.view(np.uint8).reshape(*packed.shape, 4), planes)
    return planes


def vector(values: ArrayLike) -> Array:
    """Return numbers, or rows of them, as a float32 array.

    Example:
        >>> vector([[1, 2], [3, 4]]).dtype
        dtype('float32')
    """
    return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True)
class PinholeProjection:
    """From camera axes to pixels: a point (x, y, z) is seen at ``centre + focal · (x, y) / z``."""

    focal: float
    centre: tuple[float, float]

    def horizon(self, view: CameraView) -> float:
        """Return the row of the horizon."""
        return self.centre[1] + self.focal * math.tan(view.pitch)


@dataclass(frozen=True)
class Camera:
    """What the camera is and how it is mounted.

    Args:
        width: Image width in pixels.
        height: Image height in pixels.
        field_of_view: Horizontal angle of view in degrees.
        mount: Height above the road in metres.
        forward: Metres ahead of the rear axle.
        tilt: Downward tilt in degrees.

    Example:
        >>> round(Camera(640, 320, field_of_view=90).focal)
        320
    """

    width: int = 320
    height: int = 160
    field_of_view: float = 72.0
    mount: float = 1.45
    forward: float = 1.5
    tilt: float = 3.0

    def __post_init__(self) -> None:
        if not (16 <= self.width <= 8192 and 16 <= self.height <= 8192):
            raise SceneError(f"an image is 16 to 8192 pixels wide and high, got {self.width}×{self.height}")
        check_number("a field of view in degrees", self.field_of_view, SceneError, least=20, most=120)

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return self.width / 2 / math.tan(math.radians(self.field_of_view) / 2)

    def projection(self, scale: int = 1) -> PinholeProjection:
        """Return how points become pixels of a picture that is ``scale`` times as wide and high."""
        centre = ((self.width * scale - 1) / 2, (self.height * scale - 1) / 2)
        return PinholeProjection(self.focal * scale, centre)


@dataclass(frozen=True, eq=False)
class CameraView:
    """A camera at a place: turns world points into camera axes (right, down, forward)."""

    origin: Array
    rotation: Array  # rows are the camera's right, down and forward axes in world coordinates
    heading: float

    @classmethod
    def at(cls, position: Array, heading: float, pitch: float) -> CameraView:
        """Look along ``heading`` (radians counter-clockwise from east), ``pitch`` radians upwards."""
        cos_h, sin_h = math.cos(heading), math.sin(heading)
        cos_p, sin_p = math.cos(pitch), math.sin(pitch)
        right, down = [sin_h, -cos_h, 0.0], [sin_p * cos_h, sin_p * sin_h, -cos_p]
        forward = [cos_p * cos_h, cos_p * sin_h, sin_p]
        return cls(position, vector([right, down, forward]), heading)

    @property
    def pitch(self) -> float:
        """Radians that the camera looks upwards."""
        return math.asin(float(self.rotation[2, 2]))

    def to_camera(self, points: Array) -> Array:
        """Return camera coordinates of world points (…, 3)."""
        x, y, z = np.subtract(points.reshape(-1, 3).T, self.origin[:, None], order="C")
        # Kept as three planes behind the scenes: whoever works with x, y and z apart finds them in one piece.
        # Not a matrix product: its rounding depends on how many points there are, and then one thing more
        # in a scene would move all others by a hair.
        a, b, c = self.rotation.T[..., None]
        result: Array = a * x
        result += b * y
        result += c * z
        return result.T.reshape(points.shape)
