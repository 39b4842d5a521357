"""Folders of maps: label maps, instances and depth in files named as the frames are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder, naming, numbered_names, read_json, sha256_of
from roadworthy._tables import Table
from roadworthy.class_lists import class_list, known_meaning, unknown_classes
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import read_ids, read_image, read_pixels
from roadworthy.ontology import VOID, ontology

RECORD = "labelling.json"
"""What made the maps of a folder, and what their numbers mean."""
PARTS = ("labels", "instances", "depth")
CENTIMETRES = 100.0
"""What 1 m is in a 16-bit picture of depth, whose 0 is unknown and whose 65535 is infinite."""

_IGNORED = 255  # in most data sets, a pixel that nobody labelled
_ENDINGS = (".png", "_L.png", "_labelIds.png", "_gtFine_labelIds.png", "_train_id.png")


@dataclass(frozen=True)
class LabelFolder:
    """A folder of maps, as `roadworthy data label` writes it, or of label maps alone.

    Attributes:
        path: The folder; maps lie in it, or in the folders labels, instances and depth below it.
        classes: What the numbers of label maps mean; None where they are pictures in colours.
        flat: What the maps are, where they lie in the folder itself: "labels" or "depth".
        colors: What colours mean; those of the ontology if empty.
        record: What the folder says about itself.
        notes: What its user should know, a sentence each.
    """

    path: Path
    classes: tuple[str, ...] | None = None
    flat: str = "labels"
    colors: Mapping[tuple[int, int, int], str] = field(default_factory=dict, compare=False)
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def opened(cls, path: Path, classes: str = "", flat: str = "labels") -> LabelFolder:
        """Open a folder.

        Args:
            path: The folder.
            classes: The name of a class list, such as cityscapes-19; as a file in the folder says if empty:
                labelling.json, classes.txt with a name per line, or class_dict.csv with name, r, g and b.
            flat: What the maps are, where they lie in the folder itself.

        Raises:
            InputError: There is no such folder or list, or a file in it cannot be read.
        """
        if not is_folder(path):
            raise InputError(
                f"expected a folder of maps, found {'a file' if is_file(path) else 'none'} at {path}"
            )
        record = read_json(path / RECORD) if is_file(path / RECORD) else {}
        if not isinstance(record, dict):
            raise InputError(f"{path / RECORD} must be a JSON object, as `roadworthy data label` writes it")
        names: list[str] | None = None
        colors: dict[tuple[int, int, int], str] = {}
        if classes:
            known = class_list(classes)
            names = [known.words[one] or VOID for one in known.names]
        elif "classes" in record:
            names = [str(one) for one in record["classes"]]
        elif is_file(listed := path / "classes.txt"):
            names = numbered_names(listed.read_text("utf-8-sig").splitlines(), listed)
        else:
            tables = (path / "class_dict.csv", path.parent / "class_dict.csv")
            colors = next((_colors(one) for one in tables if is_file(one)), {})
        notes = unknown_classes(names or colors.values(), "void")
        words = None if names is None else tuple(map(_word, names))
        meanings = {color: _word(name) for color, name in colors.items()}
        return cls(path, words, flat, meanings, record, notes)

    @property
    def made_by(self) -> str:
        """Who made the maps, as far as the folder says, in words that follow its name."""
        return f", made by {self.record['made_by']}" if self.record.get("made_by") else ""

    @property
    def estimated(self) -> bool:
        """Whether the maps are estimates, as far as the folder says."""
        return bool(self.record.get("estimated"))

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of all files."""
        files = sorted(one for one in self.path.rglob("*") if one.is_file())
        lines = (f"{one.relative_to(self.path).as_posix()} {sha256_of(one)}\n" for one in files)
        return f"{sha256(''.join(lines).encode()).hexdigest()} {self.classes}"

    def labels(self, frame: Frame) -> LabelMap | None:
        """Return the label map of a frame; None where there is none.

        Raises:
            FrameError: It cannot be read, or has numbers or colours without a class.
        """
        file = self._file("labels", frame.id, _ENDINGS)
        if file is None:
            return None
        pixels = read_pixels(file, "label map")
        with naming(file):
            if pixels.ndim == 3:
                return LabelMap.from_rgb(read_image(file), self.colors or None)
            if self.classes is None:
                raise FrameError(
                    f"the label map has numbers, and nothing says what they mean: write {self.path}"
                    "@cityscapes-19, or another class list, or put their names into classes.txt"
                )
            ids = pixels if pixels.dtype in (np.uint8, np.uint16) else pixels.astype(np.uint16)
            wrong = (ids >= len(self.classes)) & (ids != _IGNORED)
            if wrong.any():
                raise FrameError(
                    f"label id {int(ids[wrong][0])} has no class: there are {len(self.classes)} classes"
                )
            table = np.zeros(max(_IGNORED + 1, len(self.classes)), np.uint8)
            table[: len(self.classes)] = [ontology().label_id(one) for one in self.classes]
            return LabelMap(table[ids])

    def instances(self, frame: Frame) -> NDArray[np.uint16] | None:
        """Return the map of single things; None where there is none."""
        file = self._file("instances", frame.id, (".png",))
        return None if file is None else read_ids(file).astype(np.uint16)

    def depth(self, frame: Frame) -> NDArray[np.float32] | None:
        """Return metres: a .npy file as it is, a 16-bit picture in centimetres; None if there is none.

        Raises:
            FrameError: The file cannot be read.
        """
        file = self._file("depth", frame.id, (".npy", ".png"))
        if file is None:
            return None
        if file.suffix == ".png":
            stored = read_ids(file)
            metres = stored.astype(np.float32) / np.float32(CENTIMETRES)
            metres[stored == 0] = np.nan
            metres[stored == 65535] = np.inf
            return metres
        try:
            return np.asarray(np.load(file, allow_pickle=False), np.float32)
        except (OSError, ValueError, EOFError) as error:
            raise FrameError(f"cannot read the depth {file}: {error}") from error

    def _file(self, part: str, id: str, endings: tuple[str, ...]) -> Path | None:
        """Return the file of a frame, by its id or the last part of it."""
        folders = [self.path / part]
        if part == self.flat and not any(is_folder(self.path / one) for one in PARTS):
            folders.append(self.path)
        names = dict.fromkeys((id, id.rpartition("/")[2]))
        files = (folder / f"{name}{one}" for folder, name, one in product(folders, names, endings))
        return next(filter(is_file, files), None)


def maps_in(folder: Path) -> tuple[str, ...]:
    """Return what the maps of a folder tell by their names, without a look into them; nothing if it has none.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.npy").write_bytes(b"")
        ...     maps_in(Path(folder))
        ('depth',)
    """
    parts = tuple(one for one in ("labels", "depth") if is_folder(folder / one))
    if not parts:
        endings = {one.suffix.lower() for one in folder.iterdir()}
        parts = ("labels", "depth") if ".png" in endings else ("depth",) if ".npy" in endings else ()
    return (*parts, "boxes") if "labels" in parts else parts


def _word(name: str) -> str:
    """Return the ontology's word for a class name; void for one that it has none for."""
    known = known_meaning(name)
    return VOID if known is None or known[0] is None else ontology().resolve(known[0]).name


def _colors(path: Path) -> dict[tuple[int, int, int], str]:
    table = Table.read(path)
    table.require("name", "r", "g", "b")
    return {
        tuple(int(table.number(index, one)) for one in "rgb"): table.text(index, "name")  # type: ignore[misc]
        for index in range(len(table.rows))
    }
