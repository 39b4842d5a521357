"""Images inside the page: small copies as data URIs, within a budget, and where two of them differ."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roadworthy.errors import RoadworthyError
from roadworthy.images import read_image

if TYPE_CHECKING:
    from roadworthy.report._canvas import Image
    from roadworthy.runs.store import StoredRun


MOST_PIXELS = 640  # wide; enough for half the page on a fine screen
_QUALITY = 80
_VISIBLE = 16  # grey levels: less is compression and noise
_LOCAL = 0.3  # of the image; a larger region is no place to point at


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A small copy of a stored image.

    Attributes:
        uri: The copy as a data URI.
        width: The width of the stored image in pixels.
        height: Its height.
        digest: The SHA-256 of the stored image.
        image: Its pixels.
    """

    uri: str
    width: int
    height: int
    digest: str
    image: Image


class Thumbnails:
    """Makes small copies until a budget of bytes is spent.

    Args:
        run: The run that has the images.
        budget: The most bytes that all copies together take in the page.
    """

    def __init__(self, run: StoredRun, budget: int) -> None:
        self._run = run
        self._left = budget
        self.missing = 0

    @property
    def spent(self) -> bool:
        """Whether there is no room for another image."""
        return self._left <= 0

    def of(self, digests: list[str]) -> list[Thumbnail] | None:
        """Return small copies of the images of a case; none if one is missing, None if there is no room."""
        if self.spent:
            return None
        made = []
        for digest in digests:
            try:
                image = read_image(self._run.image(digest))
            except RoadworthyError:
                # A run whose images were cleared away still has its rows; the page says how many lack.
                self.missing += 1
                return []
            uri = small_copy(image)
            made.append(Thumbnail(uri, image.shape[1], image.shape[0], digest, image))
        self._left -= sum(len(one.uri) for one in made)
        return made


def small_copy(image: Image) -> str:
    """Return an image as a data URI, made smaller where it is larger than a page can show.

    Example:
        >>> small_copy(np.zeros((4, 6, 3), np.uint8))[:23]
        'data:image/webp;base64,'
    """
    import cv2

    high, wide = image.shape[:2]
    scale = min(1.0, MOST_PIXELS / wide, 2 * MOST_PIXELS / high)
    if scale < 1:
        size = (max(1, round(wide * scale)), max(1, round(high * scale)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    _, data = cv2.imencode(
        ".webp", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_WEBP_QUALITY, _QUALITY]
    )
    return f"data:image/webp;base64,{base64.b64encode(data.tobytes()).decode('ascii')}"


def changed_region(before: Image, after: Image) -> tuple[float, float, float, float] | None:
    """Return the corners of where two images differ, with some room; None if that is everywhere or nowhere.

    Example:
        >>> street = np.zeros((100, 200, 3), np.uint8)
        >>> changed = street.copy()
        >>> changed[40:60, 100:110] = 255
        >>> changed_region(street, changed)
        (96.0, 36.0, 114.0, 64.0)
        >>> changed_region(street, street + np.uint8(90)) is None
        True
    """
    if before.shape != after.shape:
        return None
    moved = np.abs(before.astype(np.int16) - after.astype(np.int16)).max(axis=2) >= _VISIBLE
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    if not len(rows):
        return None
    high, wide = moved.shape
    room = max(2, round(0.04 * min(high, wide)))
    top, bottom = max(0, int(rows[0]) - room), min(high, int(rows[-1]) + 1 + room)
    left, right = max(0, int(columns[0]) - room), min(wide, int(columns[-1]) + 1 + room)
    if (bottom - top) * (right - left) > _LOCAL * high * wide:
        return None
    return float(left), float(top), float(right), float(bottom)
