"""How much room the images of a run will take, said before it begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.runs.executors.work import SAMPLE, Retention

_TRIED = 5
_FRAMES = 2  # of a case: one is changed and compared with the other
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


@dataclass(frozen=True, slots=True)
class ImageEstimate:
    """How much room images will take.

    Attributes:
        images: The most images; those that cases share are stored once, so there may be fewer.
        each: The mean size of one, in bytes, as measured.
        likely: Bytes, if the share of failures is as expected.
        most: Bytes, if every case fails.
    """

    images: int
    each: int
    likely: int
    most: int

    def __str__(self) -> str:
        if not self.most:
            return "no images are kept"
        text = f"images will take about {readable_size(self.likely)} ({readable_size(self.each)} each)"
        return text if self.most == self.likely else f"{text}, at most {readable_size(self.most)}"


def estimate_images(
    frames: Iterable[Frame], retention: Retention, *, cases: int, failing: float = 0.1
) -> ImageEstimate:
    """Estimate the room that the images of a run will take, from a few frames that are encoded for it.

    Args:
        frames: Frames of the run's data; the first five are tried.
        retention: Of which cases the images are kept.
        cases: How many cases there will be, those of all systems together.
        failing: The share of cases that is expected to fail.

    Raises:
        InputError: There are no frames to try, or a number cannot be.

    Example:
        >>> import numpy as np
        >>> grey = Frame("a", np.full((160, 320, 3), 128, np.uint8))
        >>> print(estimate_images([grey], Retention("none"), cases=1000))
        no images are kept
        >>> estimate_images([grey], Retention("all"), cases=1000).images
        2000
    """
    if cases < 0 or not 0 <= failing <= 1:
        raise InputError(f"cases must be 0 or more and failing a share, got {cases} cases and {failing}")
    if retention.images == "none":
        return ImageEstimate(0, 0, 0, 0)
    sizes = [len(encode_image(frame.image, ".png")) for frame in islice(frames, _TRIED)]
    if not sizes:
        raise InputError("expected at least one frame, to see how large its image is; got none")
    each = sum(sizes) / len(sizes)
    passes = retention.passes or (SAMPLE if retention.images == "sample" else 0.0)
    share = 1.0 if retention.images == "all" else failing + (1 - failing) * passes
    total = cases * _FRAMES
    return ImageEstimate(round(total * share), round(each), round(total * share * each), round(total * each))


def readable_size(size: float) -> str:
    """Return a number of bytes as people read it.

    Example:
        >>> readable_size(999), readable_size(61_234), readable_size(12_300_000_000)
        ('999 bytes', '61 kB', '12.3 GB')
    """
    place = 0
    while size >= 999.5 and place < len(_UNITS) - 1:
        size /= 1000
        place += 1
    return f"{size:.0f} {_UNITS[place]}" if place < 2 else f"{size:.3g} {_UNITS[place]}"
