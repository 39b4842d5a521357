"""Images named by their content, so that each is stored once, whoever writes it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roadworthy.errors import InputError
from roadworthy.images import encode_image
from roadworthy.runs.store.writing import write_whole

__all__ = ["add_image", "image_path"]

_PNG = b"\x89PNG\r\n\x1a\n"


def image_path(images: Path, digest: str) -> Path:
    """Return where an image is stored, in the folder for images, by the SHA-256 that rows name it by."""
    return images / digest[:2] / f"{digest}.png"


def add_image(images: Path, image: npt.NDArray[np.uint8] | bytes) -> str:
    """Store an image as PNG, once, and return the SHA-256 of the file, which is its name.

    Several processes may do so at once, for the same image too.

    Args:
        images: The folder for images.
        image: RGB, height × width × 3, uint8; or a PNG file.

    Raises:
        InputError: The image is neither.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = add_image(Path(folder), np.zeros((2, 3, 3), np.uint8))
        ...     content = image_path(Path(folder), digest).read_bytes()
        ...     add_image(Path(folder), content) == digest
        True
    """
    content = image if isinstance(image, bytes) else encode_image(image, ".png")
    if not content.startswith(_PNG):
        raise InputError(f"an image that comes as bytes must be a PNG file, got {content[:8]!r}…")
    digest = hashlib.sha256(content).hexdigest()
    place = image_path(images, digest)
    if not _is_whole(place, len(content)):
        place.parent.mkdir(parents=True, exist_ok=True)
        # Not waiting for the disk, which would take most of the time of a run: what a power cut spoils is
        # of another size and written again.
        write_whole(place, content, wait_for_disk=False, unfinished_in=images)
    return digest


def _is_whole(place: Path, size: int) -> bool:
    try:
        return place.stat().st_size == size
    except FileNotFoundError:
        return False
