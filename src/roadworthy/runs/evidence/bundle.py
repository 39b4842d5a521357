"""The evidence bundle: a run with its documents and hashes, in place, as a folder or packed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roadworthy._files import BROKEN_ZIP, check_zip, is_free, replacing, sha256_of, writing
from roadworthy.errors import InputError, shortened
from roadworthy.runs.evidence.documents import FOLDER, TRACE, Written, write_documents
from roadworthy.runs.evidence.sums import SUMS, encoded, files_below, sums_text
from roadworthy.runs.store import StoredRun, locked

_BEGINNING = b"PK\x03\x04"
# No packing that we use makes a file smaller than this part of it; a size beyond that is a lie.
_MOST_PACKED = 1100

# The path of an image that the run stored; what a file manager leaves beside them is hashed as it is.
_STORED_IMAGE = re.compile(r"images/../[0-9a-f]{64}\.png")


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
        InputError: There is nothing, or something else than a bundle, or a zip bomb, or no room to unpack it.
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
    packed = path.stat().st_size
    for entry in archive.infolist():
        if entry.file_size > _MOST_PACKED * (entry.compress_size + 1):
            damaged[entry.filename] = f"{entry.compress_size:,} bytes cannot hold {entry.file_size:,}"
        elif entry.header_offset + entry.compress_size > packed:
            damaged[entry.filename] = f"its {entry.compress_size:,} bytes would end after the archive"
        else:
            sound.append(entry)
    check_zip(path, sound)
    size, free = sum(entry.file_size for entry in sound), shutil.disk_usage(place).free
    if size > free:
        raise InputError(
            f"{path} unpacks to {size:,} bytes, and {place} has room for {free:,}: unpack it where there is "
            "room, and give the folder"
        )
    for entry in sound:
        try:
            archive.extract(entry, place)
        except BROKEN_ZIP as error:
            damaged[entry.filename] = str(error) or type(error).__name__
            # As zipfile makes names harmless: half of a file must not pass for the whole.
            half = place.joinpath(*(part for part in entry.filename.split("/") if part not in ("", ".")))
            with suppress(OSError, ValueError):
                half.unlink()
    # No folder can have some of the names.
    there = {one.name for one in place.iterdir()}
    top = _top([name for name in archive.namelist() if name.split("/")[0] in there], path)
    return Unpacked(place / top, {name.removeprefix(f"{top}/"): why for name, why in damaged.items()})


def _top(names: list[str], path: Path) -> str:
    """Return the one folder that a bundle has; where a name is damaged, the one that has the sums."""
    tops = {name.split("/")[0] for name in names}
    if len(tops) > 1:
        tops = {name.split("/")[0] for name in names if name.endswith(f"/{SUMS}")}
    if len(tops) != 1:
        raise InputError(f"{path} must hold one folder, as `evidence bundle` writes it, got {len(tops)}")
    return tops.pop()


# The earliest that a zip file can hold: the same run gives the same bytes, whenever it is bundled.
_DATE = (1980, 1, 1, 0, 0, 0)

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was bundled.

    Attributes:
        path: The folder or zip file.
        digest: The SHA-256 of its SHA256SUMS, to be kept elsewhere: whoever changes a file must change it.
        files: How many files SHA256SUMS lists.
        written: The documents that were written.
    """

    path: Path
    digest: str
    files: int
    written: Written


def write_bundle(
    run: StoredRun,
    out: Path | None = None,
    *,
    images: bool = True,
    reqif: bool = False,
    functional: Mapping[str, Any] | str = "",
    progress: Progress | None = None,
) -> Bundle:
    """Write the evidence of a run: into its own folder, or with a copy of it into another or a zip file.

    The same run gives the same bytes.

    Args:
        run: The run.
        out: A folder that is new or empty, or a file that ends in .zip; the run's own folder when left out.
        images: Whether the images come along; without them the trace still names each by its SHA-256.
        reqif: Whether to write the requirements as ReqIF as well.
        functional: The functional coverage as a document, or why there is none.
        progress: Called with what is done and how many of it are.

    Raises:
        InputError: The place cannot be written, or is not empty, or lies inside the run. Or an image is not
            what it was when the run stored it: then all is written, and SHA256SUMS has what it was.
    """
    told = progress or (lambda *_: None)
    with ExitStack() as stack:
        if out is None:
            if not images:
                raise InputError("images can be left out of a copy only: give the place for it, --out FOLDER")
        else:
            _check_place(run.folder, out)
        if out is None or os.access(run.folder, os.W_OK):
            # A run that is still going on must not be bundled; nobody writes where nobody may.
            stack.enter_context(locked(run.folder))
        paths = [path for path in files_below(run.folder) if _is_kept(path, images=images)]
        digests = {}
        spoiled = []
        for number, path in enumerate(paths, 1):
            digests[path] = sha256_of(run.folder / path)
            if _STORED_IMAGE.fullmatch(path) and digests[path] != Path(path).stem:
                spoiled.append(path)
                # What it should be: so whoever verifies the bundle finds it, too.
                digests[path] = Path(path).stem
            told("Hashing files", number)
        # On the same disk, so that what is written there can be moved; the dot keeps it out of SHA256SUMS.
        beside = run.folder if out is None else out.parent
        with writing(beside):
            made = TemporaryDirectory(prefix=".evidence-", dir=beside, ignore_cleanup_errors=True)
        scratch = Path(stack.enter_context(made))
        read = partial(told, "Reading cases")
        written = write_documents(run, scratch, digests, reqif=reqif, functional=functional, progress=read)
        digests |= {path: sha256_of(scratch / path) for path in written.paths}
        digests = dict(sorted(digests.items(), key=lambda one: one[0].split("/")))
        text = encoded(sums_text(digests))
        (scratch / SUMS).write_bytes(text)
        sources = {path: run.folder / path for path in paths}
        sources |= {path: scratch / path for path in (*written.paths, SUMS)}
        place = run.folder if out is None else out
        if out is None:
            _move_in(scratch, run.folder, (*written.paths, SUMS))
        elif out.suffix == ".zip":
            _zip(out, sources, told)
        else:
            _copy(out, sources, told)
    if spoiled:
        raise InputError(
            f"{place}: {shortened(spoiled, 3)} changed since the run stored it: its bytes do not hash to its "
            "name. SHA256SUMS lists what it was; restore it from a copy, or delete the folder and run again"
        )
    return Bundle(place, hashlib.sha256(text).hexdigest(), len(digests), written)


def _is_kept(path: str, *, images: bool) -> bool:
    """Return whether a file of the run goes into the bundle; what an earlier bundle wrote is written anew."""
    first = path.split("/")[0]
    return first not in (FOLDER, TRACE) and (images or first != "images")


def _check_place(folder: Path, out: Path) -> None:
    here, there = folder.resolve(), out.resolve()
    if here == there or here in there.parents:
        raise InputError(f"{out} lies in the run {folder}: choose a place outside, or leave --out away")
    if out.suffix == ".zip":
        if out.exists():
            raise InputError(f"{out} is there already: choose another name, or delete it")
    elif not is_free(out):
        raise InputError(f"{out} must be new or an empty folder, or end in .zip; choose another")
    with writing(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)


def _move_in(scratch: Path, folder: Path, paths: tuple[str, ...]) -> None:
    # The sums go first and come last: a bundle that was interrupted is not taken for a whole one.
    (folder / SUMS).unlink(missing_ok=True)
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    for path in paths:
        with replacing(folder / path) as unfinished:
            unfinished.parent.mkdir(exist_ok=True)
            (scratch / path).replace(unfinished)


def _copy(out: Path, sources: Mapping[str, Path], told: Progress) -> None:
    with writing(out):
        for number, (path, source) in enumerate(sources.items(), 1):
            target = out / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            told("Copying files", number)


def _zip(out: Path, sources: Mapping[str, Path], told: Progress) -> None:
    with replacing(out) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        for number, (path, source) in enumerate(sorted(sources.items()), 1):
            entry = zipfile.ZipInfo(f"{out.stem}/{path}", _DATE)
            entry.external_attr = 0o644 << 16
            # Images and shards are compressed already.
            packed = source.suffix not in (".png", ".parquet")
            entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            with source.open("rb") as file, archive.open(entry, "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member, 1 << 20)
            told("Packing files", number)
