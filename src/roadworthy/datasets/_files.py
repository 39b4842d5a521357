"""What readers need of folders and the names of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from roadworthy._files import is_file, is_folder
from roadworthy.errors import InputError

__all__ = [
    "IMAGE_ENDINGS",
    "by_stem",
    "existing_folder",
    "image_files",
    "image_names",
    "natural_order",
    "stem_of",
]

IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp")


def existing_folder(path: str | PathLike[str], what: str) -> Path:
    """Return the path of a folder.

    Args:
        path: Where it should be.
        what: What the folder holds, for the message: "the KITTI data set".

    Raises:
        InputError: There is no such folder.
    """
    # The shell leaves the tilde of "kitti:~/data" alone.
    folder = Path(path).expanduser()
    if not is_folder(folder):
        came = "a file" if is_file(folder) else "nothing"
        raise InputError(f"{what} must be a folder, found {came} at {folder}")
    return folder


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sorting key by which numbers in names count as numbers.

    Example:
        >>> sorted(["frame10.png", "frame9.png", "Frame1.png"], key=natural_order)
        ['Frame1.png', 'frame9.png', 'frame10.png']
    """
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    key = tuple((0, int(digits), "") if digits else (1, 0, other.casefold()) for digits, other in parts)
    # The name itself decides between names that differ only in case or leading zeros.
    return (*key, (-1, 0, name))


def image_names(folder: Path, *, recursive: bool = False) -> list[str]:
    """Return the names of the image files of a folder, in natural order; hidden ones are left out.

    Names are relative to the folder, with slashes between the parts.
    """
    # As text, and by the ending alone: thousands of paths and questions to the disk would be most of the
    # time that opening a data set takes.
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if recursive and not name.startswith(".")]
        below = "" if place == str(folder) else Path(place).relative_to(folder).as_posix() + "/"
        found += [
            below + name
            for name in names
            if name.lower().endswith(IMAGE_ENDINGS) and not name.startswith(".")
        ]
    return sorted(found, key=natural_order)


def image_files(folder: Path, *, recursive: bool = False) -> list[Path]:
    """Return the image files of a folder in natural order; hidden ones are left out."""
    return [folder / name for name in image_names(folder, recursive=recursive)]


def stem_of(path: str) -> str:
    r"""Return the name of a file without its folders and ending, whichever system wrote the path.

    Example:
        >>> stem_of(r"C:\drives\IMG\center_07.jpg"), stem_of("frames/000042.png")
        ('center_07', '000042')
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def by_stem(names: Iterable[str]) -> dict[str, str]:
    """Return file names by what comes before their ending; of two, the one that comes last.

    Example:
        >>> by_stem(["000007.png", "left/000008.jpg"])
        {'000007': '000007.png', 'left/000008': 'left/000008.jpg'}
    """
    return {name.rpartition(".")[0]: name for name in names}
