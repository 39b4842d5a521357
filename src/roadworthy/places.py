"""Data and runs that lie elsewhere: ``s3://``, ``gs://``, ``az://``, ``hf://`` and all that fsspec knows.

Everything works on files of this machine. What lies at an address has a copy in the folder that
``ROADWORTHY_CACHE`` names, or ``~/.cache/roadworthy``: data is fetched into it, images of data when they are
first read; a run is written there, and brought to its address in an order in which every beginning of it is a
shorter run. Credentials come from the environment, as each store reads them, and never from an address.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from roadworthy._files import parse_json, replacing, write_json
from roadworthy.errors import InputError, MissingExtraError, RemoteError, RoadworthyError, words_of

__all__ = ["cache_home", "copied", "fetched", "is_address", "kept", "local", "shown"]

CACHE = "ROADWORTHY_CACHE"
MARKER = ".roadworthy"
"""The file at the address of a run that says whose copy was brought there last."""

# Text alone has both slashes: a Path has lost one.
_FORM = re.compile(r"([a-z][a-z0-9+.-]+):/(.*)", re.DOTALL | re.IGNORECASE)
_STORES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "hf": "huggingface_hub"}
# A file of others is seen there while it is written: it is moved into place.
_WHOLE = {*_STORES, "memory"}
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp")
# Files that name others beside them.
_LISTS = (".csv", ".txt", ".json", ".yaml", ".yml")
_AT_ONCE = 64
_LATE = 3  # see _turn
_PAUSE = 30.0  # seconds between two times that a run in progress is brought to its address
_SECRET = re.compile(r"(?<=://)[^/\s@]*@|\?\S*")


def is_address(given: object) -> bool:
    """Tell whether something is the address of a place elsewhere, and no path.

    Example:
        >>> is_address("s3://bucket/frames"), is_address(Path("s3://bucket")), is_address("kitti:/data")
        (True, True, False)
        >>> is_address("C:/frames"), is_address(12)
        (False, False)
    """
    found = isinstance(given, str | Path) and _FORM.match(str(given))
    return bool(found) and (isinstance(given, Path) or "://" in given)  # type: ignore[operator]


def _address(given: str | Path) -> str:
    """Return an address as it is always written.

    Raises:
        InputError: It holds credentials, or leads out of its own folder.
    """
    found = _FORM.fullmatch(str(given))
    assert found is not None
    scheme, rest = found[1].lower(), found[2].strip("/")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    hidden = ":" in rest.partition("/")[0] and "@" in rest  # a secret may have a slash in it
    if "?" in rest or "://" in rest or ":" in user or hidden or (at and scheme not in ("abfs", "abfss")):
        # Azure writes container@account there, which is no secret.
        raise InputError(
            f"{_SECRET.sub('', f'{scheme}://{rest}')} was given with a user, a password or a query, which "
            "results would keep: leave it out, and give credentials by the environment, such as AWS_PROFILE"
        )
    if ".." in rest.split("/"):
        raise InputError(f"{scheme}://{rest} must not have '..' in it: write where it leads")
    return f"{scheme}://{'/' * (scheme in ('file', 'local'))}{rest}"


@contextmanager
def _reaching(address: str, what: str = "read") -> Iterator[None]:
    """Turn whatever a store complains of into a message that says what to do."""
    try:
        yield
    except RoadworthyError:
        raise
    except Exception as error:
        told = _SECRET.sub("", words_of(error)) or type(error).__name__
        advice = "try again"
        if isinstance(error, FileNotFoundError):
            advice = "check the address, or make the bucket first"
        elif isinstance(error, PermissionError) or re.search("credential|token|auth", repr(error), re.I):
            advice = "give valid credentials by the environment, such as AWS_PROFILE, and run again"
        raise RemoteError(f"cannot {what} {address}: {told.rstrip('.')}; {advice}") from error


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and what the place is called in it.

    Raises:
        InputError: Nobody knows such file systems.
        MissingExtraError: What reaches it is not installed.
        RemoteError: It refuses.
    """
    scheme = address.partition(":")[0]
    try:
        import fsspec

        fsspec.get_filesystem_class(scheme)
    except ImportError:
        store = _STORES.get(scheme, "fsspec")
        raise MissingExtraError(store, extra="remote", purpose=f"reach {address}") from None
    except ValueError:
        raise InputError(
            f"{address}: fsspec knows no {scheme}://; write s3://, gs://, az://, hf:// or what else it knows"
        ) from None
    with _reaching(address):
        fs, root = fsspec.url_to_fs(address)
        fs.invalidate_cache()
    return fs, root.rstrip("/")


def cache_home() -> Path:
    """Return the folder for what can be made or fetched again."""
    told = os.environ.get(CACHE, "")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roadworthy"
    return Path(told if told.lower() not in ("", "off") else usual).absolute()


def _home(kind: str) -> Path:
    return cache_home() / "places" / kind


def _copy_of(address: str, kind: str) -> Path:
    scheme, _, rest = address.partition("://")
    return _home(kind) / scheme / rest.strip("/")


def shown(text: str) -> str:
    """Return a text in which copies are called by their addresses.

    Example:
        >>> shown(f"Wrote {_copy_of('s3://bucket/night', 'runs')}/report.html")
        'Wrote s3://bucket/night/report.html'
    """
    return re.sub(rf"{re.escape(str(_home('')))}/(?:data|runs)/([a-z0-9+.-]+)/", r"\1://", text)


def fetched(path: Path) -> bytes:
    """Return what belongs into an empty file, where that is one of a copy of data; else nothing.

    Raises:
        RemoteError: It cannot be fetched; unlike a broken image, this is not left out by ``on_error="skip"``.
    """
    path = Path(os.path.normpath(path))
    home = _home("data")
    if not path.is_relative_to(home):
        return b""
    scheme, *parts = path.relative_to(home).parts
    address = _address(f"{scheme}://{'/'.join(parts)}")
    fs, root = _opened(address)
    with _reaching(address):
        data: bytes = fs.cat_file(root)
    with replacing(path) as unfinished:
        unfinished.write_bytes(data)
    return data


def local(given: str | Path) -> Path:
    """Return where the copy of data at an address is; images are fetched when they are read.

    A file that names others, such as a table, comes with its folder.

    Raises:
        InputError: The address cannot be used, or nothing is there.
        RemoteError: It cannot be reached.
    """
    address = _address(given)
    folder, _, name = address.rpartition("/")
    whole = name.lower().endswith(_LISTS) and not folder.endswith(":/")
    _pull(folder if whole else address, _copy_of(folder if whole else address, "data"), lazy=True)
    return _copy_of(address, "data")


def copied(given: str | Path) -> Path:
    """Return where the copy of a run is, which lies at an address; all of it is fetched.

    Raises:
        InputError: The address cannot be used, or nothing is there.
        RemoteError: It cannot be reached.
    """
    return _Kept(_address(given), writes=False).copy


def _notes(copy: Path) -> Path:
    """Return the file that says what is known of a copy; beside it, so that it can be empty."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    return copy.with_name(f".{copy.name}.json")


def _known(copy: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return dict(parse_json(_notes(copy).read_bytes()))
    return {}


def _inside(root: str, name: str) -> str:
    return f"{root}/{name}".rstrip("/")  # of a file alone the name is empty


def _grouped(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE))


def _pull(address: str, copy: Path, *, lazy: bool = False, new: bool = False) -> None:
    """Bring a copy up to date: fetch what is new or has changed, and remove what is gone.

    Args:
        address: The place.
        copy: Where its copy is.
        lazy: Whether images stay empty files until they are read.
        new: Whether nothing need be there.
    """
    fs, root = _opened(address)
    with _reaching(address):
        found = {
            path.strip("/").removeprefix(root.strip("/")).strip("/"): str(one)
            for path, one in fs.find(root, detail=True).items()
            if not path.endswith("/")  # such keys stand for folders
        }
    tokens = {
        name: sha256(told.encode()).hexdigest()[:16]
        for name, told in found.items()
        if not re.search(r"(^|/)\.", name) and (lazy or _is_recorded(name, found))
    }
    if not tokens and not new:
        raise InputError(f"{address} must be a folder or a file, found nothing there: check the address")
    known = _known(copy)
    before: Mapping[str, str] = known.get("tokens", {})
    for name in {*(before if lazy else _files(copy))} - {*tokens}:
        (copy / name).unlink(missing_ok=True)
    now = []
    for name, token in tokens.items():
        if token != before.get(name) or not (copy / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            if lazy and name.lower().endswith(_IMAGES):
                (copy / name).write_bytes(b"")
            else:
                now.append(name)
    for some in _grouped(now):
        unfinished = [(copy / one).with_name(f".part-{uuid4().hex}") for one in some]
        with _reaching(address):
            fs.get([_inside(root, one) for one in some], [str(one) for one in unfinished])
        for name, path in zip(some, unfinished, strict=True):
            path.replace(copy / name)
    stats = {} if lazy else {name: _stat(copy / name) for name in tokens}
    write_json(_notes(copy), {**known, "tokens": tokens, "stats": stats})


def _is_recorded(name: str, found: Collection[str]) -> bool:
    """Tell whether a file counts: rows without their record are of an upload that broke off."""
    of_rows = re.match(r"(.*/|)cases/", name)
    return of_rows is None or f"{of_rows[1]}requirements.jsonl" in found


def _stat(path: Path) -> list[int]:
    return [(known := path.stat()).st_size, known.st_mtime_ns]


def _files(copy: Path) -> dict[str, list[int]]:
    """Return size and time of every file, but for hidden ones: those are unfinished, or locks.

    Images are looked for last: what rows name that were found is there by then.
    """
    found: dict[str, list[int]] = {}
    if copy.is_file():
        return {"": _stat(copy)}
    for place, folders, names in os.walk(copy):
        folders.sort(reverse=True)
        below = Path(place).relative_to(copy).as_posix().removeprefix(".")
        for name in names:
            if not name.startswith("."):
                with suppress(FileNotFoundError):
                    found[f"{below}/{name}".lstrip("/")] = _stat(Path(place, name))
    return found


class _Kept:
    """The copy of a run, and how it gets to its address.

    Whoever writes leaves the name of its copy at the address. While it stands there, nobody else has written:
    the copy is the run, and the address has its beginning. Otherwise the run is what lies at the address.
    """

    def __init__(self, address: str, *, writes: bool) -> None:
        self.address, self._writes = address, writes
        self.copy = _copy_of(address, "runs")
        self._fs, self._root = _opened(address)
        known = _known(self.copy)
        owner = self._owner()
        # A copy that lacks something was cleared away: what is missing here must not be taken for deleted.
        lacks = known.get("stats", {}).keys() - _files(self.copy).keys()
        if not owner or owner != known.get("writer") or lacks:
            _pull(address, self.copy, new=writes)
        self._writer = known.get("writer") or uuid4().hex
        if writes:
            # A place that may not be written to is told now, and not after hours of work.
            self._put({MARKER: self._writer.encode()})
            self._note(_known(self.copy).get("stats", {}))

    def _owner(self) -> str:
        with _reaching(self.address), suppress(FileNotFoundError, NotADirectoryError):
            return str(self._fs.cat_file(_inside(self._root, MARKER)), "ascii", "replace")
        return ""

    def _note(self, stats: Mapping[str, list[int]]) -> None:
        write_json(_notes(self.copy), {**_known(self.copy), "writer": self._writer, "stats": stats})

    def push(self) -> None:
        """Bring what has changed to the address, also while the run goes on.

        Files that change are read first and written last, so that all that they speak of is there by then.

        Raises:
            RemoteError: The address cannot be written, or another machine has gone on with the run.
        """
        if self._writes and self._owner() != self._writer:
            raise RemoteError(f"another machine has gone on with the run at {self.address}: let it end")
        stats: dict[str, list[int]] = dict(_known(self.copy).get("stats", {}))
        files = _files(self.copy)
        changed = sorted(name for name in files if files[name] != stats.get(name))
        late: dict[str, bytes] = {}
        for name in [one for one in changed if _turn(one) >= _LATE]:
            with suppress(FileNotFoundError):  # open rows may have become a part
                late[name] = (self.copy / name).read_bytes()
        others = [name for name in changed if not _turn(name)]
        singles = [[name] for name in sorted(changed, key=_turn) if 0 < _turn(name) < _LATE or name in late]
        try:
            for some in (*_grouped(others), *singles):
                self._put({name: late.get(name, self.copy / name) for name in some})
                stats |= {name: files[name] for name in some}
            for name in [one for one in stats if self._writes and one not in files]:
                self._remove(name)
                del stats[name]
        finally:
            self._note(stats)

    def end(self) -> None:
        """Bring the last of it to the address; a place where nothing came to be is left as it was."""
        self.push()
        if self._writes and not _files(self.copy):
            self._remove(MARKER)

    def _remove(self, name: str) -> None:
        with _reaching(self.address, "write"), suppress(FileNotFoundError):
            self._fs.rm_file(_inside(self._root, name))

    def _put(self, files: Mapping[str, Path | bytes]) -> None:
        """Write files, or contents, each whole or not at all."""
        fs, moved = self._fs, self.address.partition(":")[0] not in _WHOLE
        places = [_inside(self._root, name) for name in files]
        with _reaching(self.address, "write"):
            written = (
                [re.sub(r"([^/]*)$", r".part-\1", place, count=1) for place in places] if moved else places
            )
            for place in places if moved else ():
                fs.makedirs(place.rpartition("/")[0], exist_ok=True)
            if any(isinstance(one, bytes) for one in files.values()):
                fs.pipe(dict(zip(written, files.values(), strict=True)))
            else:
                fs.put(list(map(str, files.values())), written)
            for unfinished, place in zip(written, places, strict=True) if moved else ():
                fs.mv(unfinished, place)


def _turn(name: str) -> int:
    """Return when a file is brought to its address.

    First images and documents; parts of rows, one by one in their order, so that each beginning of them is a
    shorter run; checksums; what changes while a run goes on, such as records; last the manifest.
    """
    if name.endswith((".json", ".jsonl", ".yaml")):
        return _LATE + (name == "manifest.json")
    return _LATE - 1 if name == "SHA256SUMS" else int("/part-" in name)


@contextmanager
def kept(given: str | Path, *, writes: bool = True, tell: Callable[[str], object] = str) -> Iterator[Path]:
    """Give the copy of a run that lies, or shall lie, at an address, and bring there what changes in it.

    That is done now and then while it goes on, and at the end. Where it cannot be done, the copy has
    everything: doing the same again brings it there.

    Args:
        given: The address.
        writes: Whether a run is written there: then it may be new, and whoever else writes is noticed.
        tell: Is told, once, that the address cannot be written while the run goes on.

    Raises:
        InputError: The address cannot be used, or nothing is there.
        RemoteError: It cannot be reached.
    """
    place = _Kept(_address(given), writes=writes)
    ended = threading.Event()

    def bring() -> None:
        pause, told = _PAUSE, False
        while not ended.wait(pause):
            begun = time.monotonic()
            try:
                place.push()
            except (RoadworthyError, OSError) as error:
                if not told:
                    tell(f"{error} (the run goes on in its copy here)")
                told = True
            pause = max(_PAUSE, 20 * (time.monotonic() - begun))

    thread = threading.Thread(target=bring, daemon=True)
    thread.start()
    failed = True
    try:
        yield place.copy
        failed = False
    finally:
        ended.set()
        thread.join()
        try:
            place.end()
        except RemoteError as error:
            kept_here = "Nothing is lost: a copy here has everything, and the same command brings it there"
            if not failed:
                raise RemoteError(f"{error}. {kept_here}") from error
            tell(f"{error}. {kept_here}")
