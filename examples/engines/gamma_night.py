"""An engine as a function: the crudest night there is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.transforms import Operation


def darker(frame: Frame, _operation: Operation, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return the image with little light left, bluish, and with the noise of a camera that lacks light."""
    light = (frame.image / 255.0) ** 1.8 * (70, 75, 110)
    noisy = light + rng.normal(0, 3, frame.image.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
