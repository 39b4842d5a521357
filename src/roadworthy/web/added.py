"""Models and data that were added on the page: networks and films that were sent, and paths below --under.

::

    <out>/added/<name>/about.json    what a first look at it found
    <out>/added/<name>/seen.jpg      some of its frames, or what it answers to some
    <out>/added/<name>/model.yaml    what a network's numbers mean
    <out>/added/<name>/<file>        what was sent; of a path, nothing is copied
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

from roadworthy._files import (
    file_name,
    is_file,
    is_folder,
    numbered,
    read_json,
    write_json,
    write_text,
    writing,
)
from roadworthy._yaml import read_yaml, yaml_text
from roadworthy.datasets import spelled
from roadworthy.errors import InputError
from roadworthy.models.description import described
from roadworthy.models.zoo import SHIPPED
from roadworthy.web.settings import ServerSettings
from roadworthy.web.working import Turns

_ABOUT, _SEEN, _DESCRIPTION = "about.json", "seen.jpg", "model.yaml"
_NETWORK = ".onnx"  # no other format is safe to open whoever sends it
ENDINGS = (_NETWORK, ".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")
"""Of files that can be added."""
_READ = ("video", "folder")  # likewise
# How films of these kinds begin. Whatever a library takes for a playlist could name other files to read.
_FILM = re.compile(rb"....(?:ftyp|moov|mdat|free|skip|wide)|RIFF....AVI |\x1a\x45\xdf\xa3", re.DOTALL)
_LONGEST_NAME = 60
_MOST_LISTED = 500
_SPARE = 2**30  # bytes of the disk that are left
_STALE = 3600.0  # seconds after which nobody sends the rest of a file


_Apart: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class AddedItem:
    """A model or data that was added.

    Attributes:
        name: What it is called.
        kind: Models or data.
        reference: What opens it.
        about: What the first look found: task, input and signals of a network, or what is asked of it; frames
            and size of data.
    """

    name: str
    kind: str
    reference: str
    about: Mapping[str, Any]

    @property
    def is_ready(self) -> bool:
        """Whether it can be used: it is known what a network's numbers mean."""
        return "asked" not in self.about

    @property
    def summary(self) -> str:
        """What it is, in a few words."""
        if self.kind == "data":
            return f"{self.about.get('frames')} frames, {self.about.get('size')}; added here"
        return f"{', '.join(self.about.get('signals') or ()) or self.about.get('task')}; added here"


class AddedFiles:
    """What was added, and the way in.

    Args:
        settings: Where it is kept, from where it may come, and how much of it.
        apart: Opens files in a process of its own.
    """

    def __init__(self, settings: ServerSettings, apart: _Apart) -> None:
        self.folder = settings.out / "added"
        self._under = {one.resolve().name or "root": one.resolve() for one in settings.under}
        self._limits = settings.limits
        self._apart = apart
        self._turns = Turns(settings.limits.waiting)
        self._sending = False

    def all(self) -> list[AddedItem]:
        """Return all of it, by name; what lies elsewhere in truth is left out, and so is what is damaged."""
        folders = sorted(self.folder.iterdir()) if is_folder(self.folder) else []
        return [item for one in folders if one.name[0] != "." and (item := self._item(one)) is not None]

    def get(self, name: str) -> AddedItem:
        """Return one of them.

        Raises:
            InputError: There is none of this name.
        """
        for item in self.all():
            if item.name == name:
                return item
        raise InputError(f"nothing that is called {name!r} was added: it may have been removed")

    def ready(self, kind: str) -> dict[str, AddedItem]:
        """Return the models or data that can be used, by their references."""
        return {one.reference: one for one in self.all() if one.kind == kind and one.is_ready}

    def _item(self, folder: Path) -> AddedItem | None:
        try:
            about = read_json(folder / _ABOUT)
            kind, written = str(about["kind"]), str(about["file"])
            real = (folder / written).resolve(strict=True)
            # A folder may come from another machine, and links may have been laid since.
            roots = self._under.values() if Path(written).is_absolute() else (folder.resolve(),)
            if folder.is_symlink() or not any(real.is_relative_to(root) for root in roots):
                return None
            if kind == "models" and "asked" not in about:
                told = read_yaml(folder / _DESCRIPTION, "model description", "'model:'").data
                if told.get("model") != f"onnx:{written}":
                    return None
            reference = str(folder) if kind == "models" else _data_at(folder / written)
        except (InputError, OSError, ValueError, KeyError, TypeError):
            return None
        return AddedItem(folder.name, kind, reference, about)

    def picture(self, name: str) -> Path:
        """Return where the picture of one of them is."""
        return self.folder / self.get(name).name / _SEEN

    def located(self, path: str) -> Path:
        """Return a place below a folder of --under, by its name and the way from it.

        Raises:
            InputError: It is not there, or lies elsewhere in truth.
        """
        name, _, way = path.partition("/")
        root = self._under.get(name)
        with suppress(OSError, ValueError, RuntimeError):
            if root is not None and (found := (root / way).resolve(strict=True)).is_relative_to(root):
                return found
        raise InputError(f"there is no {path!r} below the folders that the server was started with")

    def below(self, path: str, endings: tuple[str, ...] = ENDINGS) -> dict[str, list[str]]:
        """Return folders and files below a folder, by their paths from --under; the folders themselves first.

        Args:
            path: The folder; empty for those of --under.
            endings: Of the files that are wanted.
        """
        if not path:
            return {"folders": list(self._under), "files": []}
        place = self.located(path)
        here = sorted(place.iterdir()) if is_folder(place) else []
        seen = list(islice((one for one in here if one.name[0] != "."), _MOST_LISTED))
        return {
            "folders": [f"{path}/{one.name}" for one in seen if is_folder(one)],
            "files": [
                f"{path}/{one.name}" for one in seen if one.name.lower().endswith(endings) and is_file(one)
            ],
        }

    async def receive(self, name: str, length: int, pieces: AsyncIterator[bytes]) -> Path:
        """Write what is sent into a folder of its own, piece by piece, and return the file.

        Raises:
            InputError: It is neither a network nor a film, there is no room, or the rest does not come.
        """
        ending = Path(name).suffix.lower()
        if ending not in ENDINGS:
            raise InputError(f"expected a network (.onnx) or a film ({', '.join(ENDINGS[1:])}), got {name!r}")
        if self._sending:
            raise InputError("another file is being sent: try again when it is there")
        folder, self._sending = self._begun(), True
        file, taken = folder / f"{_plain(name)}{ending}", 0
        try:
            if shutil.disk_usage(folder).free < length + _SPARE:
                raise InputError(f"there is no room for {length:,} bytes on the disk of {self.folder}")
            with file.open("xb") as out:
                while taken < length:
                    piece = await asyncio.wait_for(anext(pieces, b""), self._limits.body_seconds)
                    taken += len(piece)
                    if not piece or taken > length:
                        raise InputError("the file has another length than was said: send it again")
                    with writing(file):
                        await asyncio.to_thread(out.write, piece)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, TimeoutError):
                raise InputError("the rest of the file did not come: send it again") from error
            raise
        finally:
            self._sending = False
        return file

    def _begun(self) -> Path:
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for one in self.folder.glob(".part-*"):
                if time.time() - one.stat().st_mtime > _STALE:
                    shutil.rmtree(one, ignore_errors=True)
            if len(list(self.folder.iterdir())) >= self._limits.added:
                raise InputError(f"{self._limits.added} models and data were added already: remove some")
            return Path(mkdtemp(prefix=".part-", dir=self.folder))

    def take_path(self, path: str) -> AddedItem:
        """Add what lies at a path below --under; it stays where it is."""
        return self.take(self.located(path), self._begun())

    def take(self, file: Path, folder: Path) -> AddedItem:
        """Look at a file, and add it.

        Args:
            file: A network, a film or a folder of frames.
            folder: Where what is known of it goes, which gets its name at the end.

        Raises:
            InputError: It is none of these, or is damaged.
        """
        taken = {*SHIPPED, *(one.name for one in self.folder.iterdir())}
        place = next(one for one in numbered(self.folder / _plain(file.name)) if one.name not in taken)
        written = file.name if file.parent == folder else str(file)
        try:
            if file.suffix.lower() == _NETWORK:
                found = self._looked("network", file=str(file), name=place.name)
            else:
                found = self._looked("frames", reference=_data_at(file))
            _keep(folder, place.name, written, found)
            with writing(place):
                folder.replace(place)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self.get(place.name)

    def describe(self, name: str, sections: Mapping[str, Any]) -> AddedItem:
        """Say what a network's input and numbers are, and look at it again.

        Raises:
            InputError: The network does not fit what is said.
        """
        item, folder = self.get(name), self.folder / name
        if item.kind != "models":
            raise InputError(f"{name} is no network")
        _check_sections(sections)
        written = str(item.about["file"])
        found = self._looked("network", file=str(folder / written), name=name, sections=sections)
        _keep(folder, name, written, found)
        return self.get(name)

    def remove(self, name: str) -> None:
        """Remove one of them; what lies below --under stays."""
        shutil.rmtree(self.folder / self.get(name).name)

    def _looked(self, what: str, **given: Any) -> dict[str, Any]:
        with self._turns.taken():
            return self._apart(what, given)


def _keep(folder: Path, name: str, written: str, found: dict[str, Any]) -> None:
    """Write down what a first look found."""
    if sections := found.pop("sections", None):
        # They come out of a process that read a file which anybody may have made.
        _check_sections(sections)
        write_text(folder / _DESCRIPTION, yaml_text({"model": f"onnx:{written}", "name": name, **sections}))
    if picture := found.pop("picture", ""):
        (folder / _SEEN).write_bytes(b64decode(picture))
    write_json(folder / _ABOUT, {**found, "file": written})


def _plain(name: str) -> str:
    return file_name(Path(name).stem)[:_LONGEST_NAME]


def _data_at(path: Path) -> str:
    reference = spelled(str(path))
    if reference.startswith("video:"):
        with path.open("rb") as file:
            if not _FILM.match(file.read(16)):
                raise InputError(f"{path.name} is no film: it begins otherwise than one")
    if reference.partition(":")[0] not in _READ or "," in reference:
        raise InputError(f"{path.name} is neither a network (.onnx) nor a film nor a folder of pictures")
    return reference


def _check_sections(sections: Mapping[str, Any]) -> None:
    """Refuse a description that says more than what input and output are, or names a file.

    Example:
        >>> _check_sections({"output": {"task": "classification", "classes": "/etc/hosts.txt"}})
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: classes: write the names, with commas between them
    """
    if not sections.keys() <= {"input", "output", "batch"} or not isinstance(sections.get("output"), dict):
        raise InputError("a description has input and output, and nothing else")
    classes = sections["output"].get("classes")
    if isinstance(classes, str) and "," not in classes and Path(classes).suffix:
        raise InputError("classes: write the names, with commas between them")
    described({}, sections)
