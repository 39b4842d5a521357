"""Moving an image and everything that is known about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.ontology import VOID

__all__ = ["BORDERS", "move_boxes", "moved_frame", "moved_labels"]

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

    def warped(image: NDArray[np.generic], outside: float, *, smooth: bool = False) -> NDArray[np.generic]:
        moved: NDArray[np.generic] = cv2.warpAffine(
            image,  # type: ignore[arg-type]
            pixels,
            frame.size,
            flags=cv2.INTER_LINEAR if smooth else cv2.INTER_NEAREST,
            borderMode=BORDERS[border] if smooth else cv2.BORDER_CONSTANT,
            borderValue=(outside,) * 4,
        )
        return moved

    labels = frame.labels
    return frame.replace(
        image=warped(frame.image, 0, smooth=True),
        labels=None if labels is None else moved_labels(labels, warped),
        instances=None if frame.instances is None else warped(frame.instances, 0),
        depth=None if frame.depth is None else warped(frame.depth, np.nan),
        boxes=None if frame.boxes is None else move_boxes(frame.boxes, matrix, *frame.size),
    )


def moved_labels(
    labels: LabelMap, move: Callable[[NDArray[np.generic], int], NDArray[np.generic]]
) -> LabelMap:
    """Return a label map moved by a function of its ids and of the id to fill up with, which is void."""
    classes = labels.classes if VOID in labels.classes else (*labels.classes, VOID)
    moved = move(labels.ids, classes.index(VOID))
    return LabelMap(moved, classes)  # type: ignore[arg-type]


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
    seen = np.flatnonzero(
        (sides >= np.minimum(_LEAST_SIDE, 2 * halves)).all(axis=1) & (sides > 0).all(axis=1)
    )
    share = sides.prod(axis=1) / np.maximum((2 * halves).prod(axis=1), 1e-9)
    before = 0.0 if boxes.truncation is None else np.nan_to_num(boxes.truncation)
    truncation = 1 - (1 - before) * np.minimum(share, 1)
    unknown = boxes.truncation is None and bool((share[seen] > 1 - 1e-6).all())
    return boxes[seen].replace(xyxy=inside[seen], truncation=None if unknown else truncation[seen])
