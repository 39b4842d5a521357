"""Samples in files: what was read or rendered once, to be trained with on another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming, parse_json, replacing
from roadworthy._frozen import read_npz
from roadworthy.errors import FrameError, InputError
from roadworthy.images import decode_pixels
from roadworthy.models.zoo import Variant, architecture
from roadworthy.training.samples import Samples

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
        pixels = np.ascontiguousarray(np.moveaxis(image, 0, -1))
        done, encoded = cv2.imencode(f".{encoding}", pixels, settings)
        assert done
        files.append(np.asarray(encoded, np.uint8).ravel())
    return {
        "name": np.array(samples.name),
        "bytes": np.concatenate(files),
        "sizes": np.array([len(content) for content in files], np.int64),
        "windows": samples.windows,
        "targets": samples.targets,
        "drives": samples.drives,
    }


def restored(arrays: Mapping[str, NDArray[Any]]) -> Samples:
    """Return the samples that `stored` made arrays of.

    Raises:
        KeyError: An array is missing.
        ValueError: An image is broken, or the arrays do not fit together.
    """
    content, sizes = arrays["bytes"], arrays["sizes"]
    if content.ndim != 1 or sizes.dtype.kind not in "iu":
        raise ValueError(f"the images of {arrays['name']} are not bytes with their sizes")
    images, ends = [], np.cumsum(sizes)
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        try:
            pixels = np.asarray(decode_pixels(content[start:end].tobytes()), np.uint8)
        except FrameError as error:
            raise ValueError(f"an image of {arrays['name']} is broken") from error
        images.append(np.moveaxis(pixels[:, :, None] if pixels.ndim == 2 else pixels, -1, 0))
    windows, targets, drives = (arrays[name] for name in ("windows", "targets", "drives"))
    whole = all(table.dtype.kind in "iu" for table in (windows, drives)) and targets.dtype.kind == "f"
    if not whole or (windows.ndim, drives.ndim) != (2, 1) or not targets.ndim:
        raise ValueError(f"the samples of {arrays['name']} are not tables of numbers")
    if not len(windows) == len(targets) == len(drives) or not np.isin(windows, range(len(images))).all():
        raise ValueError(f"the samples of {arrays['name']} are not those of its {len(images)} images")
    return Samples(str(arrays["name"]), np.stack(images), windows, targets, drives)


@dataclass(frozen=True, eq=False)
class StoredMaterial:
    """What `write_material` wrote, as it is read.

    Attributes:
        header: What was said of it.
        arrays: All arrays of the file, by name.
        variant: The network that it is for.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    variant: Variant

    def samples(self, part: str) -> Samples:
        """Return the samples of a part."""
        start = f"{part} "
        own = {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)}
        return restored(own)


def write_material(
    path: Path,
    format: str,
    variant: Variant,
    samples: Mapping[str, Samples],
    *,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]] | None = None,
    encoding: Encoding = "png",
) -> None:
    """Write what a network is trained with to one file.

    Args:
        path: The file.
        format: What kind of material it is; the same is needed to read it.
        variant: The network.
        samples: By the names of the parts.
        header: What else is to be known, as JSON can hold it.
        arrays: Further arrays by name.
        encoding: How images are stored.

    Raises:
        InputError: It cannot be written.
    """
    document = {
        "format": format,
        "network": variant.name,
        "outputs": list(variant.outputs),
        "options": dict(variant.options),
        "encoding": encoding,
        **header,
    }
    every: dict[str, NDArray[Any]] = dict(arrays or {})
    for part, own in samples.items():
        every |= {f"{part} {name}": array for name, array in stored(own, encoding).items()}
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(document)), **every)  # type: ignore[arg-type]


@contextmanager
def reading_material(path: Path, format: str, wrong: str, command: str) -> Iterator[StoredMaterial]:
    """Give what `write_material` wrote; nothing in the file can run.

    Args:
        path: The file.
        format: What kind of material it must be.
        wrong: What is said of the file if it is something else.
        command: What makes such files.

    Raises:
        InputError: The file is missing or broken, or something that is read inside is not there.
    """
    try:
        arrays = read_npz(path)
        header = parse_json(str(arrays["header"]))
        if header["format"] != format:
            raise ValueError(f"expected {format!r}, got {header['format']!r}")
        with naming(path):
            variant = architecture(header["network"]).variant(header["outputs"], header["options"])
            yield StoredMaterial(header, arrays, variant)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} {wrong} ({why}): make it with {command}") from error
