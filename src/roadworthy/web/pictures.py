"""Pictures that pages ask for by their content: the latest ones are kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from roadworthy.images import encode_image

__all__ = ["Pictures"]


class Pictures:
    r"""The latest pictures, as PNG, by their digests.

    Args:
        at_most: How many bytes are kept; the eldest go first.

    Example:
        >>> pictures = Pictures()
        >>> digest = pictures.add(np.zeros((2, 2, 3), np.uint8))
        >>> pictures.get(digest)[:4]
        b'\x89PNG'
    """

    def __init__(self, at_most: int = 64 * 1024 * 1024) -> None:
        self._at_most = at_most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def add(self, image: NDArray[np.uint8]) -> str:
        """Keep a picture and return its digest."""
        data = encode_image(image, ".png")
        digest = sha256(data).hexdigest()
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = data
                self._size += len(data)
            self._kept.move_to_end(digest)
            while self._size > self._at_most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone)
        return digest

    def get(self, digest: str) -> bytes | None:
        """Return a picture; None where it is not kept any more."""
        with self._lock:
            return self._kept.get(digest)
