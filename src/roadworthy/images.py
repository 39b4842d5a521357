"""Image files in and out: RGB arrays, and pictures whose pixels are numbers."""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import check_file
from roadworthy.errors import FrameError
from roadworthy.places import fetched

__all__ = [
    "Image",
    "Mask",
    "decode_image",
    "decode_pixels",
    "encode_image",
    "read_ids",
    "read_image",
    "read_pixels",
    "write_image",
]

Image: TypeAlias = NDArray[np.uint8]
"""RGB, height × width × 3."""
Mask: TypeAlias = NDArray[np.bool_]
"""Height × width: which pixels."""

MOST_PIXELS = 100_000_000
"""The most pixels of an image, 10,000 × 10,000: each takes three bytes of memory, several times over."""
# The most bytes of an image file.
_LARGEST = 2**29
# The most pixels of a byte: PNG has 8 grey ones in a byte and packs 1032 bytes into one; JPEG packs less.
_PIXELS_OF_A_BYTE = 8 * 1032
# The markers of JPEG that a frame's size follows; the three others are tables.
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def read_image(path: str | PathLike[str]) -> Image:
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


def read_ids(path: str | PathLike[str]) -> Image | NDArray[np.uint16]:
    """Read a picture whose pixels are numbers, such as a label map: one channel of 8 or 16 bits.

    Raises:
        FrameError: The file is missing, cut short, no image that OpenCV reads, or one of colours.
    """
    import cv2

    ids = _decoded(Path(path), cv2.IMREAD_UNCHANGED)
    if ids.ndim != 2 or ids.dtype not in (np.uint8, np.uint16):
        shape = " × ".join(map(str, ids.shape))
        raise FrameError(f"the image {path} must have one channel of 8 or 16 bits, got {shape} {ids.dtype}")
    return cast("Image | NDArray[np.uint16]", ids)


def read_pixels(path: str | PathLike[str], what: str = "image") -> NDArray[Any]:
    """Read an image file as it is: any channels of any depth, colours as blue, green, red and alpha.

    Args:
        path: The file.
        what: What it is called in messages.

    Raises:
        FrameError: The file is missing, cut short or no image that OpenCV reads.
    """
    import cv2

    return _decoded(Path(path), cv2.IMREAD_UNCHANGED, what)


def write_image(path: str | PathLike[str], image: Image) -> None:
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


def encode_image(image: Image, ending: str) -> bytes:
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
        raise FrameError(f"an image must be (height, width, 3) of uint8, got {image.shape} {image.dtype}")
    if not cv2.haveImageWriter(f"image{ending}"):
        raise FrameError(f"expected an ending such as .png or .jpg, got {ending!r}")
    written, data = cv2.imencode(ending, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not written:
        raise FrameError(f"OpenCV could not encode {image.shape} as {ending}")
    return data.tobytes()


def decode_image(data: bytes, name: str = "image") -> Image:
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


def decode_pixels(data: bytes) -> NDArray[Any]:
    """Return the content of an image file as it is: any channels of any depth, as `read_pixels` does.

    Raises:
        FrameError: It is empty, cut short or no image that OpenCV reads.
    """
    import cv2

    return _pixels(data, "image", cv2.IMREAD_UNCHANGED)


def _decoded(path: Path, how: int, what: str = "image") -> NDArray[Any]:
    """Return the pixels of an image file as OpenCV has them, read as one of its IMREAD constants says."""
    try:
        # Decoding from memory, because OpenCV cannot open every path that Python can.
        check_file(path)
        if (size := path.stat().st_size) > _LARGEST:
            raise FrameError(
                f"cannot read the {what} {path}: it has {size:,} bytes, and images may have {_LARGEST:,}"
            )
        if not (data := path.read_bytes()):
            # Images that lie elsewhere are fetched when they are first read.
            data = fetched(path)
    except OSError as error:
        raise FrameError(f"cannot read the {what} {path}: {error.strerror}") from error
    except ValueError as error:
        # Names come out of files too, and may hold a NUL.
        raise FrameError(f"cannot read the {what} {str(path)!r}: {error}") from error
    return _pixels(data, str(path), how, what)


def _pixels(data: bytes, name: str, how: int, what: str = "image") -> NDArray[Any]:
    import cv2

    if not data:
        raise FrameError(f"cannot read the {what} {name}: the file is empty")
    if _is_cut_short(data):
        raise FrameError(f"cannot read the {what} {name}: the file is cut short after {len(data)} bytes")
    height, width = _declared_size(data)
    if height * width > _PIXELS_OF_A_BYTE * len(data):
        # OpenCV would take gigabytes of memory, and only then notice.
        raise FrameError(
            f"cannot read the {what} {name}: it is corrupt, for its {len(data)} bytes cannot hold the "
            f"{width} × {height} pixels that its header tells of"
        )
    if height * width > MOST_PIXELS:
        raise FrameError(
            f"cannot read the {what} {name}: it has {width:,} × {height:,} pixels, and images may have "
            f"{MOST_PIXELS:,}; make it smaller"
        )
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), how)
    except cv2.error as error:
        raise FrameError(f"cannot read the {what} {name}: {error.err}") from error
    if image is None:
        raise FrameError(f"cannot read the {what} {name}: it is corrupt or no image (got {len(data)} bytes)")
    return image


def _declared_size(data: bytes) -> tuple[int, int]:
    """Return height and width as the header of a PNG, JPEG, BMP, WebP or TIFF file has them; 0 elsewhere."""
    try:
        if data.startswith(b"\x89PNG"):
            width, height = struct.unpack(">II", data[16:24])
        elif data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        elif data.startswith(b"BM"):
            width, height = struct.unpack("<ii", data[18:26])
        elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            width, height = _webp_size(data)
        elif data[:4] in (b"II*\0", b"MM\0*"):
            width, height = _tiff_size(data, "<" if data[:1] == b"I" else ">")
        else:
            return 0, 0
    except struct.error:
        return 0, 0  # too short for its header, which is told elsewhere
    return abs(height), abs(width)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return height, width
        place += 1 if marker == 0xFF else 2 + length
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    """Return width and height; the numbers of both newer kinds are one less."""
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _tiff_size(data: bytes, order: str) -> tuple[int, int]:
    """Return width and height, which are tags 256 and 257 of the first directory."""
    (start,) = struct.unpack(f"{order}I", data[4:8])
    (count,) = struct.unpack(f"{order}H", data[start : start + 2])
    sizes = {256: 0, 257: 0}
    for place in range(start + 2, start + 2 + 12 * count, 12):
        tag, kind = struct.unpack(f"{order}HH", data[place : place + 4])
        if tag in sizes:
            (sizes[tag],) = struct.unpack_from(f"{order}{'H' if kind == 3 else 'I'}", data, place + 8)
    return sizes[256], sizes[257]


def _is_cut_short(data: bytes) -> bool:
    """Tell whether the end of a JPEG or PNG file is missing: OpenCV would fill the lost part with grey."""
    if data.startswith(b"\xff\xd8"):
        # Inside a scan both markers are escaped, so the last scan is whole if an end marker follows it;
        # looking only for the end marker would find that of an embedded thumbnail.
        return data.rfind(b"\xff\xd9") <= data.rfind(b"\xff\xda")
    if not data.startswith(b"\x89PNG"):
        return False
    place, kinds = 8, set[bytes]()
    while place + 12 <= len(data):
        # OpenCV would take as much memory as a broken length says, and look for pixels beyond the end.
        kinds.add(kind := data[place + 4 : place + 8])
        place += 12 + int.from_bytes(data[place : place + 4], "big")
        if kind == b"IEND":
            return place > len(data) or b"IDAT" not in kinds
    return True
