"""Pictures for these tests, and changes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Grey = NDArray[np.uint8]


def shown(pixels: NDArray[Any]) -> Grey:
    return np.asarray(np.rint(np.clip(pixels, 0, 255)), np.uint8)


def picture(height: int = 96, width: int = 128, seed: int = 3, contrast: float = 1.0) -> Grey:
    """Structure at every scale, and edges, around a middle grey."""
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width))
    for scale in range(5):
        pixels += 9 * 2**scale * cv2.GaussianBlur(rng.normal(size=(height, width)), (0, 0), 1.6**scale)
    pixels[height // 3 : height // 2, width // 4 : width // 2] += 40
    return shown(128 + contrast * pixels)


def noisy(image: NDArray[Any], scale: float, seed: int = 9) -> Grey:
    return shown(image + np.random.default_rng(seed).normal(scale=scale, size=image.shape))


def blurred(image: Grey, scale: float) -> Grey:
    return shown(cv2.GaussianBlur(image, (0, 0), scale))


def compressed(image: NDArray[np.uint8], quality: int) -> Grey:
    """JPEG there and back."""
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_UNCHANGED), np.uint8)


def sharpened(image: NDArray[np.uint8], amount: float) -> Grey:
    """Unsharp masking."""
    smooth = cv2.GaussianBlur(image, (0, 0), 2).astype(np.float64)
    return shown(image + amount * (image - smooth))


CHANGES: dict[str, Callable[[Grey], Grey]] = {
    "noise": lambda image: noisy(image, 12),
    "blur": lambda image: blurred(image, 1.5),
    "contrast": lambda image: shown(128 + 0.4 * (image - 128.0)),
    "contrast up": lambda image: shown(128 + 1.2 * (image - 128.0)),
    "brightness": lambda image: shown(image + 60.0),
    "negative": lambda image: 255 - image,
    "shift": lambda image: np.roll(image, 1, axis=1),
    "a little noise": lambda image: noisy(image, 0.6),
}
