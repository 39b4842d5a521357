"""What adapters of simulators that run in a process of their own have in common."""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import FrameError, InputError
from roadworthy.images import decode_image

__all__ = ["BROKEN_IN_A_ROW", "Mended", "check_above_0", "decoded_image", "number"]

BROKEN_IN_A_ROW = 10
"""How many messages in a row may be broken before the drive ends."""


class Mended(Counter[str]):
    """What went wrong and was mended, and how often.

    Example:
        >>> mended = Mended()
        >>> mended["an image was broken"] += 2
        >>> mended.notes
        ('2 × an image was broken',)
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each kind of it."""
        return tuple(f"{count} × {what}" for what, count in self.items())


def check_above_0(**options: float) -> None:
    """Make sure that options are numbers above 0.

    Raises:
        InputError: One is not.
    """
    for name, value in options.items():
        if not value > 0:
            raise InputError(f"{name} must be above 0, got {value}")


def number(value: Any, *, comma: str = "") -> float:
    """Return a number as a simulator writes it; NaN for what is none.

    Args:
        value: What it wrote.
        comma: What a comma stands for: nothing in ``1,024.5``, a point in ``1,5``.

    Example:
        >>> number("1,024.5000"), number("1,5", comma="."), number("wet")
        (1024.5, 1.5, nan)
    """
    if isinstance(value, bool) or value is None:
        return math.nan
    try:
        found = float(str(value).replace(",", comma))
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def decoded_image(text: Any) -> NDArray[np.uint8]:
    """Return the image of a message, which is base64.

    Raises:
        FrameError: There is none, or it is broken.
    """
    if not isinstance(text, str) or not text:
        raise FrameError("the message has no image")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FrameError("the image is no base64") from None
    return decode_image(data, "of the telemetry")
