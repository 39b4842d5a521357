"""The folder of a run: requirements, case rows and images.

::

    requirements.jsonl           one requirement per line, with its outcome once it is known
    cases/part-00000000.parquet  flat rows, one per case, in shards
    images/ab/abcd….png          frames, named by the SHA-256 of the file

Every file is written under another name and then moved into place, so a reader never sees half of
one, and no file says on which machine or where it was written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from roadworthy.cases import Case, Outcome, Requirement, Scalar, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.images import encode_image

if TYPE_CHECKING:
    import pyarrow

__all__ = ["RunStore", "image_path", "read_rows", "read_verdicts"]

CORE_COLUMNS = {
    "requirement": "string",
    "case": "string",
    "status": "string",
    "margin": "double",
    "reason": "string",
    "visual_change": "double",
    "images": "string",
}
"""The columns that every row has, with their Arrow types; ``images`` are hashes separated by spaces."""

PARAMETER = "param."
MEASURE = "measure."

_ARROW_TYPES: dict[type, str] = {bool: "bool", int: "int64", float: "double", str: "string"}

Row = dict[str, Scalar]


class RunStore:
    """Writes the folder of a run; a context manager that leaves every appended row on disk.

    Args:
        folder: A folder that does not exist, is empty, or belongs to a run that never got to a case.
        requirement: What the run tests.
        shard_rows: The number of rows in a file; at most as many are lost when the process is killed.
        images: The folder for images, which several runs may share; one of its own when left out.
        resumed: How many files of rows a run that goes on has; what is beyond them is made again.

    Raises:
        InputError: The folder holds something else or cannot be written.

    Example:
        >>> import tempfile
        >>> from roadworthy.cases import Drive
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> case = Case("lap 1", "R1", (Drive("oval"),), {"speed": 12.5})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with RunStore(Path(folder), requirement) as store:
        ...         store.append(case, Verdict.from_margin(case, 0.4))
        ...     [(row["case"], row["status"], row["param.speed"]) for row in read_rows(Path(folder))]
        [('lap 1', 'passed', 12.5)]
    """

    def __init__(
        self,
        folder: Path,
        requirement: Requirement,
        *,
        shard_rows: int = 1000,
        images: Path | None = None,
        resumed: int | None = None,
    ) -> None:
        self.folder = folder
        self._images = folder / "images" if images is None else images
        self._requirement = requirement
        self._shard_rows = shard_rows
        self._rows: list[Row] = []
        self._shards = resumed or 0
        self._kinds: dict[str, type] = {}
        if resumed is None:
            _check_folder(folder)
        else:
            _keep_shards(folder, resumed)
        try:
            for part in (folder, folder / "cases", self._images):
                part.mkdir(parents=True, exist_ok=True)
            self._write_requirement(None)
        except OSError as error:
            raise InputError(f"cannot write the run to {folder}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.flush()

    def append(
        self, case: Case, verdict: Verdict, images: Sequence[npt.NDArray[np.uint8] | str] = ()
    ) -> None:
        """Add the row of a case, and the images that go with it.

        Args:
            case: The case.
            verdict: The verdict on it.
            images: The images, or what :meth:`add_image` returned for those that are stored already.

        Raises:
            InputError: A column had another type in an earlier row.
        """
        hashes = [image if isinstance(image, str) else self.add_image(image) for image in images]
        row: Row = {
            "requirement": verdict.requirement_id,
            "case": verdict.case_id,
            "status": str(verdict.status),
            "margin": verdict.margin,
            "reason": verdict.reason,
            "visual_change": verdict.visual_change,
            "images": " ".join(hashes),
            **{PARAMETER + name: value for name, value in case.parameters.items()},
            **{MEASURE + name: value for name, value in verdict.measures.items()},
        }
        self._check_kinds(row)
        self._rows.append({name: _storable(value) for name, value in row.items()})
        if len(self._rows) >= self._shard_rows:
            self.flush()

    def add_image(self, image: npt.NDArray[np.uint8]) -> str:
        """Store an image as PNG, once, and return the SHA-256 of the file, which is its name."""
        content = encode_image(image, ".png")
        digest = hashlib.sha256(content).hexdigest()
        place = image_path(self._images, digest)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            # Not waiting for the disk: its name, the hash, shows whether an image is whole.
            _write_atomically(place, content, wait_for_disk=False)
        return digest

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        if not self._rows:
            return
        path = self.folder / "cases" / f"part-{self._shards:08d}.parquet"
        _write_atomically(path, _to_parquet(self._rows))
        self._shards += 1
        self._rows = []

    @property
    def waiting(self) -> int:
        """How many rows are still in memory."""
        return len(self._rows)

    @property
    def shards(self) -> int:
        """How many files of rows are on disk."""
        return self._shards

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside the rows, whole or not at all."""
        _write_atomically(self.folder / name, content)

    def conclude(self, outcome: Outcome) -> None:
        """Write the requirement's outcome beside it."""
        self._write_requirement(outcome)

    def _write_requirement(self, outcome: Outcome | None) -> None:
        requirement = self._requirement
        record = {
            "id": requirement.id,
            "text": requirement.text,
            "method": requirement.method,
            "parameters": requirement.parameters,
            "tags": list(requirement.tags),
            "severity": str(requirement.severity),
            "outcome": None if outcome is None else _outcome_record(outcome),
        }
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        # What UTF-8 cannot hold becomes a \u escape, which JSON reads back as it was.
        _write_atomically(self.folder / "requirements.jsonl", line.encode("utf-8", "backslashreplace"))

    def _check_kinds(self, row: Row) -> None:
        for name, value in row.items():
            if value is None or name in CORE_COLUMNS:
                continue
            known = self._kinds.setdefault(name, type(value))
            if known is type(value):
                continue
            if {known, type(value)} != {int, float}:
                raise InputError(
                    f"{name} of case {row['case']!r} must be {known.__name__} as in earlier cases, "
                    f"got {value!r} of type {type(value).__name__}"
                )


def image_path(images: Path, digest: str) -> Path:
    """Return where an image is stored, in the folder for images, by the SHA-256 that rows name it by."""
    return images / digest[:2] / f"{digest}.png"


def read_rows(folder: Path) -> Iterator[Row]:
    """Yield the rows of a run, in the order in which they were written.

    Every row has every column that any row of the run has, with None where it has no value. Rows are
    read a few at a time.

    Raises:
        InputError: The folder is not a run.
    """
    import pyarrow.parquet as parquet

    if not (folder / "requirements.jsonl").is_file():
        raise InputError(f"{folder} is not the folder of a run: expected requirements.jsonl in it")
    shards = _shards(folder)
    names = {name for shard in shards for name in parquet.read_schema(shard).names}
    columns = [*CORE_COLUMNS, *sorted(names - set(CORE_COLUMNS))]
    for shard in shards:
        # Not memory-mapped or kept open longer than needed: another process may replace the file.
        with parquet.ParquetFile(shard) as file:
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    yield {name: row.get(name) for name in columns}


def read_verdicts(folder: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a run as its rows hold them: without the clues that a search was given."""
    for row in read_rows(folder):
        measures = {name.removeprefix(MEASURE): row[name] for name in row if name.startswith(MEASURE)}
        yield Verdict(
            case_id=str(row["case"]),
            requirement_id=str(row["requirement"]),
            status=Status(str(row["status"])),
            margin=_number(row["margin"]),
            reason=str(row["reason"]),
            measures=measures,
            visual_change=_number(row["visual_change"]),
        )


def _number(value: Scalar) -> float | None:
    return None if value is None else float(value)


def _shards(folder: Path) -> list[Path]:
    return sorted((folder / "cases").glob("part-*.parquet"))


def _keep_shards(folder: Path, count: int) -> None:
    shards = _shards(folder)
    if len(shards) < count:
        raise InputError(
            f"{folder} should hold {count} files of rows and holds {len(shards)}, so the run cannot go on; "
            "choose another folder"
        )
    for shard in shards[count:]:
        shard.unlink()


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"a run needs a folder, got the file {folder}")
    if _shards(folder):
        raise InputError(
            f"{folder} already holds the cases of a run, which --resume goes on with if it is this search; "
            "choose another folder, or delete this one"
        )
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "requirements.jsonl").is_file():
        raise InputError(f"{folder} must be empty or new, got a folder with other files; choose another")


def _storable(value: Scalar) -> Scalar:
    """Return text that UTF-8 can hold: names of files and messages of a crashed system may be otherwise."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _to_parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet as parquet

    fields = dict(CORE_COLUMNS)
    for name in sorted({name for row in rows for name in row} - set(CORE_COLUMNS)):
        kinds = {type(value) for row in rows if (value := row.get(name)) is not None}
        fields[name] = _ARROW_TYPES[float if float in kinds else kinds.pop()]
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in fields.items()])
    columns: dict[str, list[Scalar]] = {name: [row.get(name) for row in rows] for name in fields}
    for name, kind in fields.items():
        if kind == "double":
            # Arrow refuses whole numbers that a double holds only nearly.
            columns[name] = [_number(value) for value in columns[name]]
    table: pyarrow.Table = pyarrow.table(columns, schema=schema)
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _outcome_record(outcome: Outcome) -> dict[str, object]:
    return {
        "status": str(outcome.status),
        "counts": {str(status): count for status, count in outcome.counts.items()},
        "rate": outcome.rate,
        "summary": outcome.summary,
        "measures": _finite(outcome.measures),
    }


def _finite(measures: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the measures with words for what JSON has no number for."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in measures.items()
    }


def _write_atomically(path: Path, content: bytes, *, wait_for_disk: bool = True) -> None:
    temporary = path.with_name(f".{uuid4().hex}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if wait_for_disk:
                # Without this a power cut could leave the new name with no content.
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
