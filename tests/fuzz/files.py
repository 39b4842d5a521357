"""Small files that stand beside the one that is fuzzed, and what users do with what they have read."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.fuzz.harness import CORPUS

from roadworthy.datasets import load
from roadworthy.images import encode_image

__all__ = ["PICTURE", "picture", "read_frames", "seed_of"]


def picture(height: int = 6, width: int = 8) -> bytes:
    """Return a small PNG with a pattern in it."""
    rows, columns = np.mgrid[0:height, 0:width]
    return encode_image(np.stack([rows * 40, columns * 30, rows + columns], -1).astype(np.uint8), ".png")


PICTURE = picture()


def read_frames(reference: str, **options: Any) -> None:
    """Open data, and look at every frame."""
    for frame in load(reference, **options):
        frame.signals  # noqa: B018 - whatever is worked out when it is asked for
        len(frame.boxes or ())


def seed_of(target: str) -> bytes:
    """Return the first seed of another target, to stand beside a target's own file."""
    return min((CORPUS / target).glob("seed-*")).read_bytes()
