"""What storing, shrinking and warping do to an image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.transforms._fields import smooth_noise
from roadworthy.transforms.affine import BORDERS, moved_labels
from roadworthy.transforms.transform import (
    Image,
    ImageTransform,
    Keeps,
    Presets,
    Transform,
    choice,
    number,
    register,
    shortened,
)

Map = NDArray[np.float32]
Ids = NDArray[np.uint16 | np.int32]


@register("jpeg", summary="the image is stored as a JPEG file and read again", aliases=("jpeg-compression",))
@dataclass(frozen=True, kw_only=True)
class JPEG(ImageTransform):
    """The image after it was stored as a JPEG file (ImageNet-C; Hu et al., section 3).

    The quality runs over all that JPEG has. At 100 the image is not stored at all, so that nothing changes.
    (Hu et al. draw from 1 to 1000 and cut at 100, so that nine of ten of their images are hardly changed.)
    """

    quality: int = number(25, "Of the file.", low=1, high=100, identity=100, strongest=1, integer=True)

    family = "digital"
    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"quality": quality} for k, quality in enumerate((25, 18, 15, 10, 7), 1)
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        if max(image.shape) > 65500:
            raise InputError(f"jpeg: an image must be at most 65500 pixels wide and high, got {image.shape}")
        swapped = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        _, data = cv2.imencode(".jpg", swapped, [cv2.IMWRITE_JPEG_QUALITY, self.quality])
        return cast(Image, cv2.imdecode(data, cv2.IMREAD_COLOR_RGB))


@register("pixelate", summary="the image has fewer, larger pixels")
@dataclass(frozen=True, kw_only=True)
class Pixelate(ImageTransform):
    """The image is shrunk, each pixel the mean of what it covers, and enlarged as it is (ImageNet-C).

    An amount from 0 to 1 runs over blocks of 2 to 100 pixels, each as many times as large as the one before:
    with parts of a pixel, a larger block can be closer to the image than a smaller one.
    """

    resolution: float = number(
        0.4, "Share of the width and height that is left.", low=0.001, high=1, identity=1, strongest=0.01
    )

    family = "digital"
    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"resolution": share} for k, share in enumerate((0.6, 0.5, 0.4, 0.3, 0.25), 1)
    }

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        block = max(2, round(100**amount)) if amount > 0 else 1
        return {"resolution": shortened(1 / block)}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        share = self.resolution
        # 0.3333 means blocks of three: OpenCV takes the mean of whole blocks exactly, and faster.
        block = round(1 / share)
        if share == shortened(1 / block):
            share = 1 / block
        if min(width, height) * share >= 1:
            # With factors instead of a size, blocks are as large as they say even if they do not fit in
            # evenly.
            small = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        else:
            size = max(1, round(width * share)), max(1, round(height * share))
            small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        return cast(Image, cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST))


@register("elastic", summary="the image is stretched and squeezed from place to place")
@dataclass(frozen=True, kw_only=True)
class Elastic(Transform):
    """Every place moves by a smooth random field and a random affine map; labels move with it (ImageNet-C).

    ImageNet-C smooths noise from [-1, 1] by a Gaussian and multiplies it by an α, all for images of 224
    pixels; what comes out has a standard deviation of α / (σ √(12 π)). Here this is given itself, and all
    lengths are shares of the image's height, so that a large image is warped like a small one. Its first two
    presets move little but the whole.
    """

    displacement: float = number(
        0.01, "Standard deviation of how far places move, as a share of the height.", low=0, high=0.2,
        identity=0, strongest=0.03,
    )  # fmt: skip
    smoothness: float = number(
        0.02,
        "Standard deviation of the Gaussian that smooths it, as a share of the height.",
        low=0.002,
        high=1,
    )
    tilt: float = number(
        0.0, "How far the corners of a triangle in the middle are moved, as a share of the height.", low=0,
        high=0.3, identity=0, strongest=0.1,
    )  # fmt: skip
    border: str = choice("mirror", "What fills the part that nothing is moved to.", tuple(BORDERS))

    family = "digital"
    keeps = Keeps.MOVED
    random = True
    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {
            "displacement": round(alpha / (sigma * math.sqrt(12 * math.pi)) / 224, 5),
            "smoothness": round(244 * sigma / 224, 5),
            "tilt": round(244 * affine / 224, 5),
        }
        for k, (alpha, sigma, affine) in enumerate(
            ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)), 1
        )
    }

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        x, y = self._sources(frame.width, frame.height, rng)

        def moved(values: NDArray[Any], outside: float) -> NDArray[Any]:
            edge = cv2.BORDER_CONSTANT
            return cv2.remap(values, x, y, cv2.INTER_NEAREST, borderMode=edge, borderValue=(outside,) * 4)

        labels, instances, boxes = frame.labels, frame.instances, frame.boxes
        things = None if instances is None else moved(instances, 0)
        return frame.replace(
            image=cv2.remap(frame.image, x, y, cv2.INTER_LINEAR, borderMode=BORDERS[self.border]),
            labels=None if labels is None else moved_labels(labels, moved),
            instances=things,
            depth=None if frame.depth is None else moved(frame.depth, np.nan),
            boxes=None if boxes is None else _moved_boxes(boxes, x, y, instances, things),
        )

    def _sources(self, width: int, height: int, rng: np.random.Generator) -> tuple[Map, Map]:
        """Return the column and the row that every pixel is taken from; pixel i has its centre at i."""
        field = smooth_noise(rng, height, width, self.smoothness * height, layers=2)
        side = min(width, height) / 3
        centre = np.array([(width - 1) / 2, (height - 1) / 2])
        before = centre + np.array([[-side, -side], [side, -side], [-side, side]])
        after = before + rng.uniform(-1, 1, (3, 2)) * self.tilt * height
        matrix = cv2.getAffineTransform(after.astype(np.float32), before.astype(np.float32))
        columns, rows = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
        sources = []
        for axis in (0, 1):
            along_x, along_y, start = matrix[axis].astype(np.float32)
            source = field[:, :, axis] * np.float32(self.displacement * height)
            source += along_x * columns
            source += along_y * rows + start
            sources.append(source)
        return sources[0], sources[1]


def _moved_boxes(boxes: Boxes, x: Map, y: Map, before: Ids | None, after: Ids | None) -> Boxes:
    """Return the boxes where pixels are taken from the columns x and rows y.

    Where the pixels of the thing are known, the sides of its box move as far as the outermost of them.
    Elsewhere what is followed is a shape in the box that leaves out its corners, because things seldom fill
    them.
    """
    height, width = x.shape
    sides_before, sides_after = ({} if one is None else _sides(one) for one in (before, after))
    ids = [None] * len(boxes) if boxes.track_ids is None else boxes.track_ids.tolist()
    found, seen = [], []
    for index, (thing, corners) in enumerate(zip(ids, boxes.xyxy.astype(np.float64), strict=True)):
        if thing in sides_before:
            moved = sides_after.get(thing)
            if moved is not None:
                shifted = corners + (moved - sides_before[thing])
                # A box much smaller than the thing's pixels could be turned inside out.
                moved = shifted if (shifted[2:] > shifted[:2]).all() else moved
        else:
            moved = _followed(corners, x, y)
        if moved is not None:
            found.append(np.clip(moved, 0, [width, height, width, height]))
            seen.append(index)
    kept = boxes[np.array(seen, np.intp)]
    xyxy = np.array(found).reshape(-1, 4)
    truncation = kept.truncation
    if truncation is not None:
        at_edge = ((xyxy <= 0) | (xyxy >= [width, height, width, height])).any(axis=1)
        truncation = np.where(at_edge, np.float32(np.nan), truncation)
    return kept.replace(xyxy=xyxy, truncation=truncation)


def _sides(instances: Ids) -> dict[int | None, NDArray[np.float64]]:
    """Return the box round the pixels of every thing, by its id."""
    from scipy import ndimage

    names: NDArray[Any] = np.arange(1, 65536)
    numbered: NDArray[Any] = instances
    if instances.dtype != np.uint16:  # then ids may be too large to count up to
        names, numbered = np.unique(instances, return_inverse=True)
        numbered = numbered.reshape(instances.shape) + 1
    return {
        int(names[index]): np.array(
            [place[1].start, place[0].start, place[1].stop, place[0].stop], np.float64
        )
        for index, place in enumerate(ndimage.find_objects(numbered))
        if place is not None
    }


def _followed(corners: NDArray[np.float64], x: Map, y: Map) -> NDArray[np.float64] | None:
    """Return the box round the pixels that are taken from inside a box; None if there are none."""
    left, top, right, bottom = corners
    across = (x + np.float32(0.5 - (left + right) / 2)) / np.float32(max((right - left) / 2, 0.5))
    down = (y + np.float32(0.5 - (top + bottom) / 2)) / np.float32(max((bottom - top) / 2, 0.5))
    inside = across**4 + down**4 <= 1
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    if not len(columns):
        return None
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)
