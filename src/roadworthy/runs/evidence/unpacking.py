"""Bundles that were packed into one file."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from roadworthy._files import BROKEN_ZIP
from roadworthy.errors import InputError
from roadworthy.runs.evidence.sums import SUMS

__all__ = ["Unpacked", "opened_bundle"]

_BEGINNING = b"PK\x03\x04"
_MOST_PACKED = 1100
"""No packing that we use makes a file smaller than this part of it; a size beyond that is a lie."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The folder of a bundle.

    Attributes:
        folder: Where it is.
        damaged: What could not be unpacked, by its path in the bundle, and why.
    """

    folder: Path
    damaged: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def opened_bundle(path: Path) -> Iterator[Unpacked]:
    """Give the folder of a bundle; a zip file is unpacked into a temporary one, as far as that is possible.

    Raises:
        InputError: There is nothing, or something else than a bundle, or no room to unpack it.
    """
    if path.is_dir():
        yield Unpacked(path)
        return
    if not path.is_file():
        raise InputError(f"{path} must be the folder of a run or a bundle, or a .zip; there is none")
    with TemporaryDirectory(prefix="roadworthy-evidence-") as name:
        try:
            with zipfile.ZipFile(path) as archive:
                unpacked = _unpacked(archive, path, Path(name))
        except BROKEN_ZIP as error:
            with path.open("rb") as file:
                if file.read(len(_BEGINNING)) != _BEGINNING:
                    raise InputError(f"{path} cannot be unpacked: {error}") from error
            # It was a zip file once: what was bundled has changed.
            unpacked = Unpacked(Path(name), {path.name: str(error)})
        yield unpacked


def _unpacked(archive: zipfile.ZipFile, path: Path, place: Path) -> Unpacked:
    damaged: dict[str, str] = {}
    sound: list[zipfile.ZipInfo] = []
    for entry in archive.infolist():
        if entry.file_size > _MOST_PACKED * (entry.compress_size + 1):
            damaged[entry.filename] = f"{entry.compress_size:,} bytes cannot hold {entry.file_size:,}"
        else:
            sound.append(entry)
    size, free = sum(entry.file_size for entry in sound), shutil.disk_usage(place).free
    if size > free:
        raise InputError(
            f"{path} unpacks to {size:,} bytes, and {place} has room for {free:,}: unpack it where there is "
            "room, and give the folder"
        )
    top = _top(archive.namelist(), path)
    for entry in sound:
        try:
            # Names that lead out of the folder are made harmless by zipfile and then are added files.
            archive.extract(entry, place)
        except BROKEN_ZIP as error:
            damaged[entry.filename] = str(error) or type(error).__name__
            # As zipfile makes names harmless: half of a file must not pass for the whole.
            half = place.joinpath(
                *(part for part in entry.filename.split("/") if part not in ("", ".", ".."))
            )
            if half.is_file():
                half.unlink()
    return Unpacked(place / top, {name.removeprefix(f"{top}/"): why for name, why in damaged.items()})


def _top(names: list[str], path: Path) -> str:
    """Return the one folder that a bundle has; where a name is damaged, the one that has the sums."""
    tops = {name.split("/")[0] for name in names}
    if len(tops) > 1:
        tops = {name.split("/")[0] for name in names if name.endswith(f"/{SUMS}")}
    if len(tops) != 1:
        raise InputError(
            f"{path} must hold one folder, as `roadworthy evidence bundle` writes it, got {len(tops)}"
        )
    return tops.pop()
