"""Image files in and out: RGB arrays, and pictures whose pixels are numbers."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import FrameError

__all__ = ["decode_image", "encode_image", "read_ids", "read_image", "write_image"]


def read_image(path: str | PathLike[str]) -> NDArray[np.uint8]:
    """Read an image file as RGB, height × width × 3, uint8; grey images get three equal channels.

    Raises:
        FrameError: The file is missing, cut short or no image that OpenCV reads.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_image(f"{folder}/red.png", np.full((2, 3, 3), (255, 0, 0), np.uint8))
        ...     read_image(f"{folder}/red.png")[0, 0].tolist()
        [255, 0, 0]
    """
    import cv2

    image = _decoded(Path(path), cv2.IMREAD_COLOR)
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)


def read_ids(path: str | PathLike[str]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Read a picture whose pixels are numbers, such as a label map: one channel of 8 or 16 bits.

    Raises:
        FrameError: The file is missing, cut short, no image that OpenCV reads, or one of colours.
    """
    import cv2

    ids = _decoded(Path(path), cv2.IMREAD_UNCHANGED)
    if ids.ndim != 2 or ids.dtype not in (np.uint8, np.uint16):
        shape = " × ".join(map(str, ids.shape))
        raise FrameError(f"the image {path} must have one channel of 8 or 16 bits, got {shape} {ids.dtype}")
    return cast("NDArray[np.uint8] | NDArray[np.uint16]", ids)


def write_image(path: str | PathLike[str], image: NDArray[np.uint8]) -> None:
    """Write an RGB image; the ending of the path chooses the format.

    Raises:
        FrameError: The array is no RGB image, the ending is unknown or the file cannot be written.
    """
    path = Path(path)
    try:
        path.write_bytes(encode_image(image, path.suffix))
    except OSError as error:
        raise FrameError(f"cannot write the image {path}: {error.strerror}") from error
    except FrameError as error:
        raise FrameError(f"cannot write the image {path}: {error}") from error


def encode_image(image: NDArray[np.uint8], ending: str) -> bytes:
    """Return the content of an image file.

    Args:
        image: RGB, height × width × 3, uint8.
        ending: Chooses the format, such as ".png".

    Raises:
        FrameError: The array is no RGB image or the ending is unknown.

    Example:
        >>> encode_image(np.zeros((2, 3, 3), np.uint8), ".png")[1:4]
        b'PNG'
    """
    import cv2

    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise FrameError(
            f"an image must have shape (height, width, 3) and dtype uint8, got {image.shape} {image.dtype}"
        )
    if not ending or not cv2.haveImageWriter(f"image{ending}"):
        raise FrameError(f"expected an ending such as .png or .jpg, got {ending!r}")
    written, data = cv2.imencode(ending, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not written:
        raise FrameError(f"OpenCV could not encode {image.shape} as {ending}")
    return data.tobytes()


def decode_image(data: bytes, name: str = "image") -> NDArray[np.uint8]:
    """Return the content of an image file as RGB, height × width × 3, uint8.

    Args:
        data: The content of the file.
        name: What it is called in messages.

    Raises:
        FrameError: It is empty, cut short or no image that OpenCV reads.

    Example:
        >>> decode_image(encode_image(np.full((2, 3, 3), 9, np.uint8), ".png"))[0, 0].tolist()
        [9, 9, 9]
    """
    import cv2

    return np.asarray(cv2.cvtColor(_pixels(data, name, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB), np.uint8)


def _decoded(path: Path, how: int) -> NDArray[Any]:
    """Return the pixels of an image file as OpenCV has them, read as one of its IMREAD constants says."""
    try:
        # Decoding from memory, because OpenCV cannot open every path that Python can.
        data = path.read_bytes()
    except OSError as error:
        raise FrameError(f"cannot read the image {path}: {error.strerror}") from error
    return _pixels(data, str(path), how)


def _pixels(data: bytes, name: str, how: int) -> NDArray[Any]:
    import cv2

    if not data:
        raise FrameError(f"cannot read the image {name}: the file is empty")
    if _is_cut_short(data):
        raise FrameError(f"cannot read the image {name}: the file is cut short after {len(data)} bytes")
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), how)
    except cv2.error as error:
        raise FrameError(f"cannot read the image {name}: {error.err}") from error
    if image is None:
        raise FrameError(f"cannot read the image {name}: it is corrupt or no image (got {len(data)} bytes)")
    return image


def _is_cut_short(data: bytes) -> bool:
    """Tell whether the end of a JPEG or PNG file is missing: OpenCV would fill the lost part with grey."""
    if data.startswith(b"\xff\xd8"):
        # Inside a scan both markers are escaped, so the last scan is whole if an end marker follows it;
        # looking only for the end marker would find that of an embedded thumbnail.
        return data.rfind(b"\xff\xd9") <= data.rfind(b"\xff\xda")
    return data.startswith(b"\x89PNG") and b"IEND" not in data[-1024:]
