"""Text and JSON files in, and files out whole or not at all, with errors that name the file."""

from __future__ import annotations

import errno
import json
import lzma
import os
import re
import shutil
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import file_digest, sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from roadworthy.errors import FrameError, InputError, told_as

if TYPE_CHECKING:
    from pydantic import TypeAdapter


BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # of a file that is encrypted, or packed in a way that is not known
    ValueError,
    IndexError,
)
"""What `zipfile` raises for the many ways in which a file can be broken."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a system says of a disk, a quota or a file that has no room left."""

_MOST_MEMBERS = 1_000_000
_MOST_RATIO = 100  # what honest archives of text and numbers stay far below
_HARMLESS_BYTES = 256 << 20  # however well packed they are

T = TypeVar("T")

# The digits of a whole number that can still be a float.
_LONGEST = 308


_TYPED = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def check_file(path: Path) -> None:
    """Refuse a pipe, a socket or a device among files: who reads it may wait for ever.

    What a shell puts in the place of a file, such as /dev/fd/63, is what the user meant.

    Raises:
        OSError: It is one of these, or not there.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not str(path).startswith(_TYPED):
        raise OSError(errno.EINVAL, "it is a pipe, a socket or a device, and no file", str(path))


def read_text(path: Path) -> str:
    """Return the text of a file; a byte order mark at its start is left out.

    Raises:
        FrameError: The file is missing or no UTF-8 text.
    """
    try:
        check_file(path)
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise FrameError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FrameError(f"cannot read {path}: it is no UTF-8 text: {error}") from error
    except ValueError as error:
        # Names come out of files too, and may hold a NUL.
        raise FrameError(f"cannot read {str(path)!r}: {error}") from error


def check_zip(path: Path, members: Sequence[zipfile.ZipInfo] | None = None) -> None:
    """Refuse an archive that would fill memory or disk, or that names files outside of itself.

    Args:
        path: The archive.
        members: What is about to be read of it; all if left out.

    Raises:
        InputError: It has too many members, unpacks to too much, or has members that lie over each other.
        zipfile.BadZipFile: It is no archive, or a broken one; see `BROKEN_ZIP` for what else there is.
    """
    if members is None:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    packed = path.stat().st_size
    size, stored = (sum(getattr(one, name) for one in members) for name in ("file_size", "compress_size"))
    refused = f"{path} is refused, because it"
    if len(members) > _MOST_MEMBERS:
        raise InputError(f"{refused} has {len(members):,} members, more than {_MOST_MEMBERS:,}")
    if size > max(_HARMLESS_BYTES, _MOST_RATIO * packed):
        raise InputError(f"{refused} unpacks to {size:,} bytes from {packed:,}, as a zip bomb does")
    if stored > packed:
        raise InputError(f"{refused} has members that lie over each other, as a zip bomb does")
    for one in members:
        if re.match(r"[/\\]|[A-Za-z]:", one.filename) or ".." in re.split(r"[/\\]", one.filename):
            raise InputError(f"{refused} names a file outside of its folder: {one.filename[:80]!r}")


def numbered_names(lines: Sequence[str], path: Path) -> list[str]:
    """Return the names of a file that has one on each line, where the number of a line says which it is.

    Raises:
        FrameError: There is none, or a line between them is blank: whoever left it out would shift the rest.

    Example:
        >>> numbered_names(["car", " truck", ""], Path("classes.txt"))
        ['car', 'truck']
    """
    names = [line.strip() for line in lines]
    while names and not names[-1]:
        names.pop()
    if not all(names) or not names:
        blank = f"line {names.index('') + 1} is blank; write a name there" if names else "got none"
        raise FrameError(f"{path} must have one class name per line: {blank}")
    return names


def is_file(path: Path) -> bool:
    """Tell whether there is a file; False also for what no file can be called, as names come from files."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Tell whether there is a folder; False also for what no folder can be called."""
    try:
        return path.is_dir()
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits.

    Raises:
        InputError: It cannot be read.
    """
    with told_as(InputError, f"cannot read {path}", OSError):
        check_file(path)
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()


_SETTLED = 0.1  # seconds: two writes within one tick of a file system's clock leave the same times


def stamp_of(files: Iterable[Path]) -> str:
    """Return what changes when a file is written, replaced, added or removed, without reading any of them.

    It is what a cache goes by where the content is too large to be read each time. A file that has only just
    changed could change again without a trace, so its stamp is a new one each time.

    Example:
        >>> import tempfile, time
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "weights")
        ...     _ = path.write_bytes(b"1")
        ...     before = stamp_of([path])
        ...     _ = path.write_bytes(b"2")
        ...     before == stamp_of([path])
        False
    """
    digest, unsettled = sha256(), False
    for path in files:
        try:
            known = path.stat()
        except OSError:
            continue  # gone since it was listed
        times = known.st_mtime_ns, known.st_ctime_ns
        # Not one whose time is of tomorrow, by another machine's clock: it would be read again for ever.
        unsettled |= any(abs(time.time_ns() - one) < _SETTLED * 1e9 for one in times)
        digest.update(os.fsencode(path) + repr((known.st_dev, known.st_ino, known.st_size, times)).encode())
    if unsettled:
        digest.update(os.urandom(16))
    return digest.hexdigest()


def parse_json(text: str | bytes) -> Any:
    """Return the document that JSON text spells; whole numbers in it fit into a float.

    Raises:
        ValueError: It is no JSON, nested too deeply, or has a number that is too large.

    Example:
        >>> parse_json('{"speed": 12}')
        {'speed': 12}
        >>> parse_json("1" * 400)
        Traceback (most recent call last):
        ...
        ValueError: a number of 400 digits is too large
    """
    # A call for each number takes a fifth longer. So many digits would fill one of these pieces.
    size = _LONGEST // 2
    long = any(text[start : start + size].isdigit() for start in range(0, len(text), size))
    try:
        return json.loads(text, parse_int=_whole_number if long else None)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _whole_number(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise ValueError(f"a number of {len(digits)} digits is too large")
    return int(digits)


def read_json(path: Path) -> Any:
    """Return the document in a JSON file.

    Raises:
        FrameError: The file is missing or no JSON; says where it stops being JSON.
    """
    text = read_text(path)
    with told_as(FrameError, f"{path} must be JSON", ValueError):
        return parse_json(text)


def as_record(kind: type[T], given: object) -> T:
    """Return a value out of a JSON document as what a dataclass says it is.

    Raises:
        ValueError: It is something else; says which part, and what came.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Clip:
        ...     id: str
        ...     seconds: float
        >>> as_record(Clip, {"id": "c1", "seconds": 12})
        Clip(id='c1', seconds=12.0)
        >>> as_record(Clip, {"id": "c1", "seconds": "long"})
        Traceback (most recent call last):
        ...
        ValueError: seconds: Input should be a valid number, unable to parse string as a number, got 'long'
    """
    from pydantic import ValidationError

    try:
        checked: T = _adapter(kind).validate_python(given)  # type: ignore[arg-type]  # all classes are hashable
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        told = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise ValueError(f"{told}, got {first['input']!r:.80}") from None
    return checked


def read_record(kind: type[T], path: Path) -> T:
    """Return the document in a JSON file as what a dataclass says it is.

    Raises:
        InputError: The file is missing, no JSON, or something else; names the file and the part.
    """
    with told_as(InputError, f"{path}", ValueError):
        return as_record(kind, read_json(path))


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return what checks records of a kind; making it takes longer than checking many of them."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def rendered(template: Path, /, **known: object) -> str:
    """Return what a template of Jinja says; functions among what is known are filters as well.

    Raises:
        InputError: The template cannot be read.
    """
    from jinja2 import Environment, StrictUndefined

    library = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    library.filters.update({name: value for name, value in known.items() if callable(value)})
    return library.from_string(read_text(template)).render(known)


@contextmanager
def naming(where: Path | str) -> Iterator[None]:
    """Put a file, or a place in one, in front of the message of an input error that is raised inside.

    Example:
        >>> with naming("label_2/000007.txt"):
        ...     raise FrameError("line 3: expected 15 columns, got 4")
        Traceback (most recent call last):
        ...
        roadworthy.errors.FrameError: label_2/000007.txt: line 3: expected 15 columns, got 4
    """
    try:
        yield
    except InputError as error:
        if str(where) in str(error):
            raise
        raise type(error)(f"{where}: {error}") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's complaint about a file or folder that is written inside into one that names it.

    Raises:
        InputError: It cannot be written.

    Example:
        >>> with writing(Path("net.onnx")):
        ...     raise OSError(28, "No space left on device")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: cannot write net.onnx: No space left on device; make room and run again
    """
    try:
        yield
    except OSError as error:
        told = error.strerror or str(error) or type(error).__name__
        advice = "make room and run again" if error.errno in FULL else "choose another place"
        raise InputError(f"cannot write {path}: {told}; {advice}") from error


def make_writable(folder: Path) -> None:
    """Make a folder, and make sure that files can be written into it: better now than after hours of work.

    Raises:
        InputError: They cannot.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".part-{os.getpid()}-probe"
        probe.touch()
        probe.unlink()


def is_free(path: Path, besides: Collection[str] = ()) -> bool:
    """Return whether nothing lies at a path, or an empty folder only; one that cannot be read is not free.

    Args:
        path: The path.
        besides: Names of files in the folder that do not count.
    """
    try:
        return all(one.name in besides for one in path.iterdir()) if path.is_dir() else not path.exists()
    except OSError:
        return False


def check_free(path: Path, besides: Collection[str] = ()) -> None:
    """Refuse a folder for new results in which something else lies.

    Args:
        path: The folder.
        besides: Names of files in it that do not count.

    Raises:
        InputError: It holds something, is a file, or cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     check_free(Path(folder, "new"))
        ...     Path(folder, "note.txt").touch()
        ...     check_free(Path(folder))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: /... must be empty or new, got a folder with files; choose another
    """
    if not is_free(path, besides):
        came = "a folder with files" if is_folder(path) else "a file"
        raise InputError(f"{path} must be empty or new, got {came}; choose another")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a place to write a file, and move what was written there to its path at the end.

    So a file is there whole or not at all, and one that stood there before stays if writing fails. The place
    is in the same folder, has the same ending, and is gone afterwards.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder, "note.txt")) as unfinished:
        ...         _ = unfinished.write_text("whole")
        ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
        [('note.txt', 'whole')]
    """
    unfinished = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        with writing(path):
            yield unfinished
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """Give a folder to write into, which gets its name at the end: it is there whole or not at all.

    Raises:
        InputError: The folder is in use or cannot be written.
    """
    check_free(folder)
    whole = folder.resolve()
    unfinished = whole.with_name(f".{whole.name}-{uuid4().hex}")
    try:
        with writing(folder):
            unfinished.mkdir(parents=True)
            yield unfinished
            unfinished.replace(whole)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    r"""Write a file of text as UTF-8, whole or not at all.

    What UTF-8 cannot hold, such as odd names of files, is written as an escape.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_text(Path(folder, "note.txt"), "caf\u00e9 \udcff")
        ...     Path(folder, "note.txt").read_text("utf-8")
        'café \\udcff'
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, document: object, indent: int = 2) -> None:
    """Write a document as JSON, whole or not at all; what JSON does not know becomes text.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_json(Path(folder, "found.json"), {"folder": Path("out"), "cases": 3})
        ...     read_json(Path(folder, "found.json"))
        {'folder': 'out', 'cases': 3}
    """
    write_text(path, json.dumps(document, indent=indent, ensure_ascii=False, default=str) + "\n")


def plain_name(text: str) -> str:
    """Return words as a file may be called on every system; empty where there is nothing to call it by.

    Example:
        >>> plain_name("Night drive (2)"), plain_name("onnx:nets/dave2.onnx")
        ('Night-drive-2', 'onnx-nets-dave2.onnx')
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-.")


def file_name(name: str) -> str:
    """Return a name as a folder or file may have it that lies beside others, in small letters.

    Some systems do not tell capital letters from small ones, so two names that differ in these only would
    be one there.

    Example:
        >>> file_name("Rule 1"), file_name("onnx:nets/dave2.onnx")
        ('rule-1', 'onnx-nets-dave2.onnx')
    """
    return plain_name(name.lower()) or "unnamed"


def numbered(path: Path) -> Iterator[Path]:
    """Yield a path, and then the same with 2, 3 and so on at the end of its name.

    Example:
        >>> from itertools import islice
        >>> [one.as_posix() for one in islice(numbered(Path("runs/night-run")), 3)]
        ['runs/night-run', 'runs/night-run-2', 'runs/night-run-3']
    """
    yield path
    for number in count(2):
        yield path.with_name(f"{path.name}-{number}")
