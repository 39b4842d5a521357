"""What was tested, as SHA-256: files, models and data sets."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeAlias

from roadworthy._files import sha256_of
from roadworthy._frozen import content_of
from roadworthy._importing import sources_of
from roadworthy._version import __version__
from roadworthy.cases import Dataset
from roadworthy.datasets import BaseDataset, WorldCropsDataset, WorldDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.labelling import unlabelled
from roadworthy.models import Network, SystemUnderTest
from roadworthy.models.description import sections
from roadworthy.transforms import UserEngine
from roadworthy.transforms.objects.gallery import Gallery

Progress: TypeAlias = Callable[[int, int], None]

# The most files that a manifest names one by one.
_LISTED = 20

# Frames that are read to tell one data set from another.
_LOOKED_AT = 5

# Frames that wait for a thread: so many that none is idle, and few enough for an end by Ctrl-C.
_AT_A_TIME = 1000


@dataclass(frozen=True, slots=True)
class Digest:
    """The SHA-256 of something that was tested, and what exactly was hashed.

    Attributes:
        sha256: In hexadecimal digits; None where there is nothing that could be hashed.
        hashed: What was hashed, in words.
        count: How many files, or frames of a data set.
        sums: The SHA-256 of each file by its name, where they are few.
        settings: How it is used, where that is no part of the files; what JSON can hold.
    """

    sha256: str | None
    hashed: str
    count: int = 0
    sums: Mapping[str, str] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return it as a manifest has it: what says nothing is left out."""
        record = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        kept = {name: value for name, value in record.items() if value or name in ("sha256", "hashed")}
        return {**kept, "sums": dict(self.sums)} if self.sums else kept


def digest_of_file(path: Path) -> Digest:
    """Return the SHA-256 of one file, such as a suite.

    Raises:
        InputError: It cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "night.suite.yaml")
        ...     _ = path.write_bytes(b"abc")
        ...     digest_of_file(path).sha256[:16]
        'ba7816bf8f01cfea'
    """
    return digest_of_files({path.name: path}, "the content of the file")


def digest_of_things(things: Gallery) -> Digest:
    """Return the SHA-256 of things that are added to frames: what each is, and its pixels."""
    digest = _hashed(part for one in things for part in content_of([one.facts(), one.rgba]))
    return Digest(digest.hexdigest(), "the cut-outs that are added to real frames", len(things))


def digest_of_text(name: str, text: str) -> Digest:
    """Return the SHA-256 of a file's text, such as a suite that stands in no file yet.

    Example:
        >>> digest_of_text("night.suite.yaml", "abc").sha256[:16]
        'ba7816bf8f01cfea'
    """
    found = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return Digest(found, "the content of the file", 1, {name: found})


def digest_of_files(named: Mapping[str, Path], hashed: str) -> Digest:
    """Return the SHA-256 of several files together.

    That of one file is that of its content. That of more is that of their list, as ``sha256sum`` writes it:
    a line for each, in the order of the names, so anybody can make it again.

    Args:
        named: The files, by the names that they shall have in the list.
        hashed: What they are, in words.

    Raises:
        InputError: One cannot be read.
    """
    names = sorted(named, key=os.fsencode)
    with ThreadPoolExecutor(_threads()) as pool:
        sums = list(pool.map(sha256_of, (named[name] for name in names)))
    lines = b"".join(
        f"{one}  ".encode() + os.fsencode(name) + b"\n" for one, name in zip(sums, names, strict=True)
    )
    together = sums[0] if len(sums) == 1 else hashlib.sha256(lines).hexdigest()
    listed = dict(zip(names, sums, strict=True)) if len(sums) <= _LISTED else {}
    return Digest(together, hashed, len(sums), listed)


def digest_of_model(system: SystemUnderTest) -> Digest:
    """Return the SHA-256 of what a system under test consists of.

    Of a network these are its files, of a Python function the file that defines it and what that imports of
    its folder or package, of what comes with Roadworthy its name and version. What answers behind an address,
    or is in memory only, cannot be hashed, and the digest says so.

    Raises:
        InputError: A file cannot be read.

    Example:
        >>> from roadworthy.models import load_model
        >>> digest = digest_of_model(load_model("dave2"))
        >>> digest.hashed, list(digest.sums)
        ('the files of the network', ['dave2.onnx'])
        >>> digest_of_model(load_model("truth")).hashed
        'its name and the version of Roadworthy, of which it is a part'
    """
    network = getattr(system, "network", system)
    settings = _settings(network)
    if found := tuple(Path(path) for path in getattr(network, "files", ())):
        digest = digest_of_files(_named(found), "the files of the network")
        return dataclasses.replace(digest, settings=settings)
    runtime = getattr(network, "runtime", network)
    source = _source(getattr(runtime, "function", type(network)))
    if source is not None and source.is_relative_to(_PACKAGE):
        if runtime is network:
            text = f"{type(network).__qualname__} {network.name} of roadworthy {__version__}"
            told = "its name and the version of Roadworthy, of which it is a part"
            return Digest(_sha256(text), told, settings=settings)
    elif source is not None:
        told = "the file that defines it, and those of its folder or package that it imports"
        return dataclasses.replace(digest_of_files(_named(sources_of(source)), told), settings=settings)
    address = getattr(runtime, "url", None)
    told = "nothing: it is in memory only" if address is None else "nothing: what answers there is not known"
    return Digest(None, told, settings=settings)


def content_of_model(system: SystemUnderTest) -> str:
    """Return what tells a model from another of the same name: its files or function, and how it is used.

    Empty where neither is known, as of what is in memory only.
    """
    network = getattr(system, "network", system)
    if not getattr(network, "files", ()) and not hasattr(getattr(network, "runtime", network), "function"):
        return ""
    digest = digest_of_model(system)
    settings = json.dumps(digest.settings, sort_keys=True, default=str)
    return "" if digest.sha256 is None else _sha256(f"{digest.sha256} {settings}")


def digest_of_engine(engine: UserEngine) -> Digest:
    """Return the SHA-256 of what an image engine consists of: its description and the files that it names.

    Of a learned engine these are its card and its network. What a service answers cannot be hashed.

    Raises:
        InputError: A file cannot be read.
    """
    if not engine.files:
        return Digest(None, "nothing: it has no files")
    return digest_of_files(_named(engine.files), "its description and the files that it names")


def digest_of_dataset(data: Dataset, progress: Progress | None = None) -> Digest:
    """Return the SHA-256 of a data set.

    Of the built-in world, which draws its frames, it is that of the recipe (all options, which frames) and of
    the version of Roadworthy. Of any other it is that of what the methods get to see, frame by frame: id,
    pixels, and all that is known, such as labels, boxes and signals. So every file counts that has a part in
    it, wherever it lies, no other does, and of a slice only its frames are read. Pixels of JPEG files may
    differ in the last bit between versions of OpenCV, which a manifest names.

    Args:
        data: The data set.
        progress: Called with how many frames are done and how many there are.

    Raises:
        InputError: A frame cannot be read, and the data set was not told to skip such frames.

    Example:
        >>> from roadworthy.datasets import load
        >>> day, night = (digest_of_dataset(load("world:town", time=time)) for time in ("day", "night"))
        >>> day.hashed, day.sha256 == night.sha256
        ('the options and the version of Roadworthy, which draws the frames', False)
    """
    inner, labelling = unlabelled(data)
    if labelling is not None:
        found = digest_of_dataset(inner, progress)
        return dataclasses.replace(
            found,
            sha256=_sha256(f"{found.sha256} {labelling.identity}"),
            hashed=f"{found.hashed}; and what labels them",
            settings={"labelling": str(labelling)},
        )
    if isinstance(data, WorldDataset | WorldCropsDataset):
        told = "the options and the version of Roadworthy, which draws the frames"
        return Digest(_digest_of_recipe(data), told, len(data))
    together = hashlib.sha256()
    for done, digest in enumerate(_digests_of_frames(data), 1):
        together.update(digest)
        if progress is not None:
            progress(done, len(data))
    told = "the frames as they are read: ids, pixels and all that is known about them"
    return Digest(together.hexdigest(), told, len(data))


def content_of_dataset(data: Dataset) -> str:
    """Return what tells a data set from another of the same name, at the cost of a few frames.

    Of the built-in world it is its recipe; of any other the number of frames, their ids, and what is known
    about the first, the last and some between them. So it notices other options, and most changes of files;
    :func:`digest_of_dataset` notices all.

    Example:
        >>> from roadworthy.datasets import load
        >>> content_of_dataset(load("world:town")) == content_of_dataset(load("world:town", weather="rainy"))
        False
    """
    inner, labelling = unlabelled(data)
    if labelling is not None:
        return _sha256(f"{content_of_dataset(inner)} {labelling.identity}")
    if isinstance(data, WorldDataset | WorldCropsDataset):
        return _digest_of_recipe(data)
    ids = getattr(data, "ids", None)
    # What makes its ids as they are asked for may be too long to go through, and is written by its address.
    together = _hashed(content_of([len(data), ids if isinstance(ids, list | tuple) else None]))
    last = len(data) - 1
    for number in sorted({place * last // (_LOOKED_AT - 1) for place in range(_LOOKED_AT) if last >= 0}):
        try:
            together.update(_digest_of_frame(data[number]))
        except InputError:
            # Whether that ends the run is for the run to say, when it comes to the frame.
            together.update(b"unreadable")
    return together.hexdigest()


def _digest_of_recipe(data: WorldDataset | WorldCropsDataset) -> str:
    return _sha256(f"{data.name} {len(data)} {_recipe(data)} roadworthy {__version__}")


def _digests_of_frames(data: Dataset) -> Iterator[bytes]:
    if not isinstance(data, BaseDataset):
        yield from map(_digest_of_frame, data)
        return

    def digest(index: int) -> bytes:
        try:
            return _digest_of_frame(data[index])
        except InputError as error:
            if data.on_error == "raise":
                raise
            return hashlib.sha256(b"skipped:" + str(type(error)).encode() + data.ids[index].encode()).digest()

    # A user's own, of a film or a database say, may not be read in several threads at a time.
    threads = _threads() if type(data).__module__.startswith("roadworthy.") else 1
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(data), _AT_A_TIME):
            yield from pool.map(digest, range(first, min(first + _AT_A_TIME, len(data))))


def _digest_of_frame(frame: Frame) -> bytes:
    return _hashed(content_of(frame)).digest()


def _hashed(parts: Iterable[bytes]) -> hashlib._Hash:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest


_PACKAGE = Path(__file__).resolve().parents[2]


def _threads() -> int:
    return min(8, os.cpu_count() or 1)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _named(paths: Iterable[Path]) -> dict[str, Path]:
    named: dict[str, Path] = {}
    for path in paths:
        named[_unused(path.name, named)] = path
    return named


def _unused(name: str, taken: Mapping[str, Path]) -> str:
    """Return a name that is not taken: two folders may have the same."""
    others = (f"{name} ({number})" for number in count(2))
    return next(one for one in chain([name], others) if one not in taken)


def _settings(network: object) -> dict[str, Any]:
    """Return what a network takes and what its numbers mean, as its description would have it."""
    if not isinstance(network, Network):
        return {}
    if not dataclasses.is_dataclass(network.output):
        # Of a user's own kind of output nothing is known but its name.
        return {"output": type(network.output).__qualname__}
    told = sections(network.spec)
    return told if network.batch is None else {**told, "batch": network.batch}


def _source(function: object) -> Path | None:
    """Return the file that defines a function or class."""
    try:
        found = inspect.getsourcefile(inspect.unwrap(function))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return Path(found).resolve() if found and Path(found).is_file() else None


def _recipe(data: WorldDataset | WorldCropsDataset) -> str:
    """Return all options of a data set of the world; what iteration has skipped is none."""
    known = {name: value for name, value in vars(data).items() if name not in ("_reasons", "all_ids")}
    return repr({name: _recipe(one) if isinstance(one, WorldDataset) else one for name, one in known.items()})
