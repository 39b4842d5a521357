"""Samples in files: what was read or rendered once, to be trained with on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.models.training.samples import Samples

__all__ = ["Encoding", "restored", "stored"]

Encoding = Literal["png", "jpg"]
"""How images are stored: as they are, or as JPEGs of quality 95 in about a third of the space."""

_QUALITY = 95


def stored(samples: Samples, encoding: Encoding = "png") -> dict[str, NDArray[Any]]:
    """Return samples as arrays for ``numpy.savez``, with their images compressed.

    Example:
        >>> images = np.zeros((1, 3, 4, 5), np.uint8)
        >>> numbers = np.zeros((1, 1), np.int64)
        >>> one = Samples("one", images, numbers, numbers.astype(np.float32), numbers[0])
        >>> restored(stored(one)).sha256 == one.sha256
        True
    """
    import cv2

    whole = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]
    settings = [cv2.IMWRITE_JPEG_QUALITY, _QUALITY, *whole] if encoding == "jpg" else []
    files = []
    for image in samples.images:
        done, encoded = cv2.imencode(
            f".{encoding}", np.ascontiguousarray(np.moveaxis(image, 0, -1)), settings
        )
        assert done
        files.append(np.asarray(encoded, np.uint8).ravel())
    return {
        "name": np.array(samples.name),
        "bytes": np.concatenate(files),
        "sizes": np.array([len(one) for one in files], np.int64),
        "windows": samples.windows,
        "targets": samples.targets,
        "drives": samples.drives,
    }


def restored(arrays: Mapping[str, NDArray[Any]]) -> Samples:
    """Return the samples that `stored` made arrays of.

    Raises:
        KeyError: An array is missing.
        ValueError: An image is broken.
    """
    import cv2

    content, ends = arrays["bytes"], np.cumsum(arrays["sizes"])
    images = []
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        image = cv2.imdecode(content[start:end], cv2.IMREAD_UNCHANGED)
        if image is None:
            raise ValueError(f"an image of {arrays['name']} is broken")
        pixels = np.asarray(image, np.uint8)
        images.append(np.moveaxis(pixels[:, :, None] if pixels.ndim == 2 else pixels, -1, 0))
    return Samples(
        str(arrays["name"]), np.stack(images), arrays["windows"], arrays["targets"], arrays["drives"]
    )
