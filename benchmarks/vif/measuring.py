"""What the parts measure with, and on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

SIZES = ((224, 224), (1242, 375))  # width, height
ROUNDS = 7

Grey = NDArray[np.uint8]
Work = Callable[[], object]


def picture(width: int, height: int, seed: int = 7) -> tuple[Grey, Grey]:
    """Make a picture with structure at every scale, and a noisy version of it."""
    rng = np.random.default_rng(seed)
    noise = (rng.normal(size=(height, width)) for _ in range(6))
    pixels = 128 + sum(8 * 2**k * cv2.GaussianBlur(layer, (0, 0), 1.6**k) for k, layer in enumerate(noise))
    noisy = pixels + rng.normal(scale=20, size=(height, width))
    reference, changed = (np.rint(np.clip(image, 0, 255)).astype(np.uint8) for image in (pixels, noisy))
    return reference, changed


def best(
    works: dict[str, Work], *, rounds: int = ROUNDS, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the least milliseconds of several rounds for each, in turns."""
    best = dict.fromkeys(works, math.inf)
    for _ in range(rounds):
        for name, work in works.items():
            start = clock()
            work()
            best[name] = min(best[name], 1000 * (clock() - start))
    return best
