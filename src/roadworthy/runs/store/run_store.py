"""Writing the folder of a run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from roadworthy.cases import Case, Outcome, Requirement, Scalar, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.runs.store.locking import LOCK, hold
from roadworthy.runs.store.parts import Parts, RowBlock, add_statuses, columns_of, first_rows, opened_part
from roadworthy.runs.store.rows import (
    Kinds,
    Row,
    encode_record,
    read_records,
    requirement_record,
    row_of,
    to_parquet,
)
from roadworthy.runs.store.writing import (
    UNFINISHED,
    add_image,
    append_at,
    clear_unfinished,
    storing,
    write_whole,
)

SHARD_ROWS = 10_000
CONTENT, SYSTEM_CONTENT = "data_content", "system_content"
"""What data and model of a run are beyond their names; runs of before, and those with a manifest, do not
say it."""

_WAITING_ROWS = 100
_WAITING_SECONDS = 1.0


class _Syncs:
    """When to wait for the disk, for all stores of this process together.

    Once a second, and for a twentieth of the time at most, where the disk is slow and the stores are many.
    """

    def __init__(self) -> None:
        self._next = 0.0

    def is_time(self) -> bool:
        return time.monotonic() >= self._next

    def took(self, seconds: float) -> None:
        self._next = time.monotonic() + max(_WAITING_SECONDS, 20 * seconds)


_SYNCS = _Syncs()


class RunStore:
    """Writes the folder of a run; a context manager that leaves every appended row on disk.

    Rows go to the file of the open shard at every :meth:`flush`, and on their own after a hundred rows or a
    second. So a process that is killed loses what it has appended since; a power cut costs about a second
    more of one store, and somewhat more where there are many. A run that goes on (``resume``) begins after
    the rows that are there, and in the end its files are those of a run that was never stopped.

    Args:
        folder: A folder that does not exist, is empty, or belongs to a run that never got to a case; to go
            on, the folder of this run.
        requirement: What the run tests.
        system: The name of the system under test.
        about: What else the run is of, such as its data and seed; a run of something else does not go on.
        shard_rows: The number of rows in a file.
        images: The folder for images, which several runs may share; one of its own when left out.
        resume: Whether to go on with the run that the folder holds; without one, begin.
        search: Whether the run is a search that goes on from its checkpoint: it looks itself at the settings
            of the requirement, some of which, such as a budget, may have changed.

    Raises:
        InputError: The folder holds something else, another run is writing to it, or it cannot be written.

    Example:
        >>> import tempfile
        >>> from roadworthy.cases import RecordDrive
        >>> from roadworthy.runs import read_rows
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> case = Case("lap 1", "R1", (RecordDrive("oval"),), {"speed": 12.5})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with RunStore(Path(folder), requirement, system="dave2") as store:
        ...         store.append(case, Verdict.from_margin(case, 0.4))
        ...     [(row["case"], row["status"], row["param.speed"]) for row in read_rows(Path(folder))]
        [('lap 1', 'passed', 12.5)]
    """

    def __init__(
        self,
        folder: Path,
        requirement: Requirement,
        *,
        system: str = "",
        about: Mapping[str, Scalar] | None = None,
        shard_rows: int = SHARD_ROWS,
        images: Path | None = None,
        resume: bool = False,
        search: bool = False,
    ) -> None:
        self.folder = folder
        self.system = system
        self._requirement = requirement
        self._about = dict(about or {})
        self._images = folder / "images" if images is None else images
        self._shard_rows = shard_rows
        self._parts = Parts(folder)
        self._sizes: list[int] = []
        self._open = 0
        self._good_bytes = 0
        self._waiting: list[bytes] = []
        self._waiting_rows = 0
        self._flushed = time.monotonic()
        self._kinds = Kinds()
        self._counts = dict.fromkeys(Status, 0)
        self._concluded = False
        self._release = hold(folder)
        try:
            if resume and self._record.is_file():
                self._concluded = self._had_ended(search)
            else:
                self._check_new()
            self._begin()
        except BaseException:
            self._release()
            raise

    @property
    def _record(self) -> Path:
        return self.folder / "requirements.jsonl"

    def _check_new(self) -> None:
        """Refuse a folder that a new run would spoil."""
        if self._record.is_file():
            if any(self._parts.folder.glob("*-*.*")):
                raise InputError(
                    f"{self.folder} already holds the cases of a run, which --resume goes on with if it is "
                    "this one; choose another folder, or delete this one"
                )
        elif any(one.name != LOCK and not one.name.startswith(UNFINISHED) for one in self.folder.iterdir()):
            raise InputError(f"{self.folder} must be empty or new, got one with other files; choose another")

    def _had_ended(self, search: bool) -> bool:
        """Return whether the run in the folder had ended; refuse to go on with another one."""
        (there,) = read_records(self._record)
        mine = requirement_record(self._requirement, system=self.system, about=self._about)
        settings = () if search else ("text", "parameters", "acceptance")
        names = ("id", "method", "system", *settings)
        found = {name: there.get(name) for name in names} | there.get("run", {})
        wanted = {name: mine[name] for name in names} | self._about
        contents = {
            name: tuple(told.pop(key, None) for told in (found, wanted))
            for name, key in (("data", CONTENT), ("system", SYSTEM_CONTENT))
        }
        for name in (*wanted, *found):
            if found.get(name) != wanted.get(name):
                raise InputError(
                    f"{self.folder} holds a run with {name} {found.get(name)!r}, and it cannot go on with "
                    f"{name} {wanted.get(name)!r}: resume with the same, or choose another folder"
                )
        for name, said in contents.items():
            if None not in said and said[0] != said[1]:
                what, it = {"data": ("on other data", "data"), "system": ("of another model", "model")}[name]
                raise InputError(
                    f"{self.folder} holds a run {what} of the name {found.get(name)!r}: its options or files "
                    f"have changed, and rows of both would be mixed; resume with the {it} as it was, or "
                    "choose another folder"
                )
        return there["outcome"] is not None and not search

    def _begin(self) -> None:
        with storing(self.folder):
            # First of all, so that a folder with something in it can be told to be a run.
            if not self._concluded:
                self._write_requirement(None)
            for place in (self._parts.folder, self._images):
                place.mkdir(parents=True, exist_ok=True)
            clear_unfinished(self.folder)
            clear_unfinished(self._images)
            self._parts.recover()
        self._take_stock()
        if self._open >= self._shard_rows:
            # The kill came between its last row and its becoming a part.
            self._fill()

    def _take_stock(self) -> None:
        """Find out what is stored."""
        self._sizes = []
        self._counts = dict.fromkeys(Status, 0)
        full = self._parts.full()
        for path in full:
            with opened_part(path) as file:
                self._kinds.learn(columns_of(file))
                self._sizes.append(file.metadata.num_rows)
                add_statuses(self._counts, file)
        rows, self._good_bytes = self._parts.open_rows(len(full))
        self._open = len(rows)
        for row in rows:
            self._kinds.check(row)
            self._counts[Status(str(row["status"]))] += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None:
                self._fill()
            else:
                # What can be stored is; the error itself says more than a disk that is full.
                try:
                    self.flush(sync=True)
                except InputError:
                    self._waiting = []
        finally:
            self._release()

    @property
    def count(self) -> int:
        """How many rows the run has, those that wait for the next flush among them."""
        return sum(self._sizes) + self._open

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many rows there are of each status."""
        return dict(self._counts)

    def stored_ids(self) -> Iterator[str]:
        """Yield the ids of the stored cases, in order, so that a rerun can see that they are its own."""
        full = self._parts.full()
        rows, _ = self._parts.open_rows(len(full))
        for path in full:
            with opened_part(path) as file:
                yield from file.read(columns=["case"])["case"].to_pylist()
        yield from (str(row["case"]) for row in rows)

    def append(
        self, case: Case, verdict: Verdict, images: Sequence[npt.NDArray[np.uint8] | bytes | str] = ()
    ) -> None:
        """Add the row of a case, and the images that go with it.

        Args:
            case: The case.
            verdict: The verdict on it.
            images: Arrays, PNG files, or what :meth:`add_image` returned for those that are stored.

        Raises:
            InputError: A column had another type in an earlier row, or the disk refuses.
        """
        hashes = [image if isinstance(image, str) else self.add_image(image) for image in images]
        block = RowBlock()
        block.add(row_of(case, verdict, self.system, hashes))
        self.extend(block)

    def extend(self, rows: RowBlock, start: int = 0) -> None:
        """Add rows whose images are stored, but for the first so many, which are there.

        Raises:
            InputError: As `append` does; then none of them is added.
        """
        for row in rows.telling:
            self._kinds.check(row)
        content, count = rows.content(), len(rows.statuses)
        while start < count:
            self._make_room()
            stop = min(count, start + self._shard_rows - self._open)
            for status, number in Counter(rows.statuses[start:stop]).items():
                self._counts[Status(status)] += number
            is_whole = stop - start == count
            self._waiting.append(content if is_whole else b"".join(content.splitlines(True)[start:stop]))
            self._waiting_rows += stop - start
            self._open += stop - start
            start = stop
            if self._open >= self._shard_rows:
                self._fill()
        if self._waiting_rows >= _WAITING_ROWS or time.monotonic() - self._flushed >= _WAITING_SECONDS:
            self.flush()

    def add_image(self, image: npt.NDArray[np.uint8] | bytes) -> str:
        """Store an image as PNG, once, and return the SHA-256 of the file, which is its name."""
        with storing(self.folder):
            return add_image(self._images, image)

    def flush(self, *, sync: bool = False) -> None:
        """Put the rows that wait into the file of the open shard, where they outlast this process.

        Args:
            sync: Whether to wait until they would outlast a power cut, as is done now and then anyway.
        """
        self._flushed = time.monotonic()
        sync = sync or _SYNCS.is_time()
        if not self._waiting and not (sync and self._good_bytes):
            return
        content = b"".join(self._waiting)
        with storing(self.folder):
            append_at(self._parts.open_path(len(self._sizes)), self._good_bytes, content, wait_for_disk=sync)
        self._good_bytes += len(content)
        self._waiting, self._waiting_rows = [], 0
        if sync:
            _SYNCS.took(time.monotonic() - self._flushed)

    def cut(self, rows: int) -> None:
        """Go back to the first rows: what came after them is made again.

        Raises:
            InputError: There are not so many.
        """
        self.flush()
        if self.count < rows:
            raise InputError(
                f"{self.folder} should hold {rows} rows and holds {self.count}, so the run cannot go on; "
                "choose another folder"
            )
        if self.count == rows:
            return
        number, before = 0, 0
        while number < len(self._sizes) and before + self._sizes[number] <= rows:
            before += self._sizes[number]
            number += 1
        with storing(self.folder):
            if number < len(self._sizes):
                kept = first_rows(self._parts.path(number), rows - before)
            else:
                kept = self._parts.open_rows(number)[0][: rows - before]
            self._parts.reopen(number, kept)
        self._take_stock()

    def save(self, name: str, content: bytes) -> None:
        """Write a file beside the rows, whole or not at all, when all rows before it are safely on disk."""
        self.flush(sync=True)
        with storing(self.folder):
            write_whole(self.folder / name, content)

    def conclude(self, outcome: Outcome) -> None:
        """Write the requirement's outcome beside it."""
        with storing(self.folder):
            self._write_requirement(outcome)
        self._concluded = True

    def _make_room(self) -> None:
        """Prepare for a row that comes after what is stored."""
        if self._concluded:
            with storing(self.folder):
                self._write_requirement(None)
            self._concluded = False
        if self._sizes and not self._open and self._sizes[-1] < self._shard_rows:
            # The last shard of a run that had ended: filled up, as if it had not.
            with storing(self.folder):
                last = len(self._sizes) - 1
                self._parts.reopen(last, first_rows(self._parts.path(last), self._sizes[last]))
            self._take_stock()

    def _fill(self) -> None:
        """Make a full shard of the open one."""
        self.flush()
        number = len(self._sizes)
        if not self._open:
            # Where all rows were cut off, or none was whole.
            self._parts.open_path(number).unlink(missing_ok=True)
            return
        # From the file rather than from memory, so that what a kill cut in two gives the same bytes.
        rows: list[Row] = self._parts.open_rows(number)[0]
        with storing(self.folder):
            write_whole(self._parts.path(number), to_parquet(rows))
            self._parts.open_path(number).unlink()
        self._sizes.append(self._open)
        self._open = self._good_bytes = 0

    def _write_requirement(self, outcome: Outcome | None) -> None:
        record = requirement_record(self._requirement, outcome, system=self.system, about=self._about)
        # A run that has only begun is soon begun again.
        write_whole(self._record, encode_record(record), wait_for_disk=outcome is not None)
