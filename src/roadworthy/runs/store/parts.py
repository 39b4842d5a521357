"""The files that hold the rows of a run, full shards and the open one, and reading them meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from roadworthy._files import naming, parse_json
from roadworthy.cases import Scalar, Status, Verdict
from roadworthy.errors import InputError, reason
from roadworthy.runs.store.rows import ARROW_TYPES, CORE_COLUMNS, LATER_COLUMNS, MEASURE, Kinds, Row, table_of
from roadworthy.runs.store.writing import clear_unfinished, write_whole

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


_OPEN = "open-"
_REOPENED = "reopened-"
_STATUSES = {one.value: one for one in Status}
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",\n", ":")).encode


def encode_rows(rows: Sequence[Row]) -> bytes:
    r"""Return rows as lines of the open file: numbers keep their kind and every digit.

    Example:
        >>> encode_rows([{"case": "c0", "margin": 0.1, "param.amount": 3, "measure.gap": float("inf")}])
        b'{"case":"c0","margin":0.1,"param.amount":3,"measure.gap":Infinity}\n'
    """
    return _lines([{name: value for name, value in row.items() if value is not None} for row in rows])


def _lines(rows: Sequence[Row]) -> bytes:
    # All at once, which is much faster. Text has no line ends in JSON, so these separate rows and columns.
    text = _encoded(rows)[1:-1].replace("},\n{", "}\n{").replace(",\n", ",")
    return f"{text}\n".encode() if rows else b""


@dataclass
class RowBlock:
    r"""Rows of one requirement on one system, ready for the open file.

    Attributes:
        statuses: What each shows.
        telling: Those of the rows that tell of the kind of values in a column first.

    Example:
        >>> block = RowBlock()
        >>> block.add({"case": "c0", "status": "passed"})
        >>> block.content(), block.statuses
        (b'{"case":"c0","status":"passed"}\n', ['passed'])
    """

    statuses: list[str] = field(default_factory=list)
    telling: list[Row] = field(default_factory=list)
    _content: bytes = b""
    _rows: list[Row] = field(default_factory=list)
    _kinds: Kinds = field(default_factory=Kinds)

    def content(self) -> bytes:
        """Return the rows as the file holds them."""
        self._content += _lines(self._rows)
        self._rows = []
        return self._content

    def __getstate__(self) -> dict[str, Any]:
        # Where it travels it is written, so that who gets it need not do so.
        return {**self.__dict__, "_content": self.content(), "_rows": []}

    def add(self, row: Row) -> None:
        """Add a row.

        Raises:
            InputError: A column had another kind of value in an earlier row.
        """
        if self._kinds.check(row):
            self.telling.append(row)
        self._rows.append(row)
        self.statuses.append(str(row["status"]))

    def join(self, later: RowBlock) -> None:
        """Add the rows of another block."""
        self._content = self.content() + later.content()
        self.statuses += later.statuses
        self.telling += later.telling


def decode_rows(content: bytes) -> tuple[list[Row], int]:
    r"""Return the rows of an open file, and how many bytes of it are good.

    The last line may be torn by a kill, and after a power cut blocks may be missing. What follows the first
    bad line is left out: it is the end of what was written, and a rerun makes it again.

    Example:
        >>> decode_rows(b'{"case":"c0","status":"passed"}\n{"case":"c')
        ([{'case': 'c0', 'status': 'passed'}], 32)
    """
    lines = content.splitlines(keepends=True)
    try:
        # All at once, which is much faster; two torn lines may also be one row, but then there are fewer.
        found = parse_json(b"[%b]" % b",".join(lines)) if content.endswith(b"\n") else []
    except ValueError:
        found = []
    rows: list[Row] = []
    good, kinds, shapes = 0, Kinds(), set[tuple[object, ...]]()
    for line, row in zip(lines, found if len(found) == len(lines) else map(_parsed, lines), strict=True):
        if not _is_row(row, kinds, shapes):
            break
        rows.append(row)
        good += len(line)
    return rows, good


def _parsed(line: bytes) -> object:
    try:
        return parse_json(line) if line.endswith(b"\n") else None
    except ValueError:
        return None


def _is_row(row: object, kinds: Kinds, shapes: set[tuple[object, ...]]) -> TypeGuard[Row]:
    """Tell whether what a line holds is a row that fits those before it, whose shapes are known."""
    if not isinstance(row, dict) or "case" not in row or str(row.get("status")) not in _STATUSES:
        return False
    shape = (*row, *map(type, row.values()))
    if shape in shapes:
        # Whole numbers may be too large.
        whole = [one for one in row.values() if type(one) is int]
        return not whole or (_fits("", min(whole)) and _fits("", max(whole)))
    if not all(map(_fits, row, row.values())):
        return False
    try:
        kinds.check(row)
    except InputError:
        return False
    shapes.add(shape)
    return True


def _fits(name: str, value: object) -> bool:
    """Tell whether a column can hold a value; each of them holds scalars, and some of one kind only."""
    if isinstance(value, str):
        return CORE_COLUMNS.get(name, "string") == "string"
    if CORE_COLUMNS.get(name) == "string":
        return False
    return isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


class Parts:
    """The files of rows of one run.

    Args:
        folder: The folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cases"

    def path(self, number: int) -> Path:
        """Return where a full shard is."""
        return self.folder / f"part-{number:08d}.parquet"

    def open_path(self, number: int) -> Path:
        """Return where the rows of a shard are until it is full."""
        return self.folder / f"{_OPEN}{number:08d}.jsonl"

    def full(self) -> list[Path]:
        """Return the full shards in order.

        Raises:
            InputError: One is missing, or a pipe, which who reads it would wait for.
        """
        found = sorted(self.folder.glob("part-*.parquet"))
        for number, path in enumerate(found):
            if path != self.path(number) or not path.is_file():
                raise InputError(
                    f"{self.path(number)} is missing, or no file: restore it, or delete the parts after it "
                    "and run again"
                )
        return found

    def open_rows(self, number: int) -> tuple[list[Row], int]:
        """Return the rows of the shard that is not full yet, and how many bytes of its file are good."""
        path = self.open_path(number)
        try:
            return decode_rows(path.read_bytes()) if path.is_file() else ([], 0)
        except FileNotFoundError:
            return [], 0

    def recover(self) -> None:
        """Bring the files in order after a kill, before rows are added."""
        clear_unfinished(self.folder)
        for path in self.folder.glob(f"{_REOPENED}*.jsonl"):
            self._finish_reopening(int(path.stem.removeprefix(_REOPENED)))
        number = len(self.full())
        for path in self.folder.glob(f"{_OPEN}*.jsonl"):
            if path != self.open_path(number):
                path.unlink()

    def reopen(self, number: int, rows: list[Row]) -> None:
        """Replace a shard and all after it by an open one, in steps that :meth:`recover` can finish."""
        write_whole(self.folder / f"{_REOPENED}{number:08d}.jsonl", encode_rows(rows))
        self._finish_reopening(number)

    def _finish_reopening(self, number: int) -> None:
        # From the end, so that at any moment the parts are those of a shorter run.
        for path in sorted(self.folder.glob("part-*.parquet"), reverse=True):
            if path >= self.path(number):
                path.unlink()
        for path in self.folder.glob(f"{_OPEN}*.jsonl"):
            path.unlink()
        (self.folder / f"{_REOPENED}{number:08d}.jsonl").replace(self.open_path(number))


@contextmanager
def opened_part(path: Path) -> Iterator[pyarrow.parquet.ParquetFile]:
    """Open a full shard.

    It is not memory-mapped or kept open longer than needed: another process may replace the file.

    Raises:
        InputError: It is damaged; says which file it is and what to do.
    """
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            _check_columns(path, file.schema_arrow)
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from error


def _check_columns(path: Path, schema: pyarrow.Schema) -> None:
    """Refuse a table in which a column of every row is missing, or one is of a kind that no row has."""
    found = {one.name: "two columns" if schema.names.count(one.name) > 1 else str(one.type) for one in schema}
    for name in (*CORE_COLUMNS, *found):
        kinds = [CORE_COLUMNS[name]] if name in CORE_COLUMNS else ARROW_TYPES.values()
        if found.get(name) not in kinds and (name in found or name not in LATER_COLUMNS):
            came = f"{found[name]} there" if name in found else "no such column"
            raise damaged(path, ValueError(f"expected {' or '.join(kinds)} in the column {name}, got {came}"))


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error for a shard that cannot be read."""
    return InputError(
        f"{path} is damaged ({reason(error)}): restore it from a copy, or delete it and the parts after "
        "it and run again, which makes their rows once more"
    )


def columns_of(file: pyarrow.parquet.ParquetFile) -> dict[str, str]:
    """Return the columns of a full shard with their Arrow types."""
    return {field.name: str(field.type) for field in file.schema_arrow}


def add_statuses(counts: dict[Status, int], file: pyarrow.parquet.ParquetFile) -> None:
    """Add the numbers of rows of each status in a full shard."""
    for one in file.read(columns=["status"])["status"].value_counts().to_pylist():
        if one["values"] not in counts:
            raise InputError(f"expected one of {', '.join(Status)} as status, got {one['values']!r}")
        counts[Status(one["values"])] += one["counts"]


def first_rows(path: Path, count: int) -> list[Row]:
    """Return so many rows from the beginning of a full shard."""
    with opened_part(path) as file:
        table: Any = file.read()
        found: list[Row] = table.slice(0, count).to_pylist()
        return found


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one run at one moment.

    Attributes:
        full: The full shards.
        newest: The rows after them.
    """

    full: tuple[Path, ...]
    newest: tuple[Row, ...]

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        """Return what a run holds now.

        Whatever a writer does meanwhile, this is a beginning of the run: a shard that becomes full between
        the two looks is missed as a whole.

        Raises:
            InputError: A shard is missing.
        """
        parts = Parts(folder)
        full = parts.full()
        return cls(tuple(full), tuple(parts.open_rows(len(full))[0]))

    def rows(self) -> Iterator[Row]:
        """Yield the rows, reading a file at a time; each has every column that any of them has."""
        names = set(table_of(self.newest).schema.names)
        for path in self.full:
            with opened_part(path) as file:
                names.update(columns_of(file))
        columns = [*CORE_COLUMNS, *sorted(names - set(CORE_COLUMNS))]
        for table in self.tables():
            for batch in table.to_batches(max_chunksize=1000):
                for row in batch.to_pylist():
                    yield {name: row.get(name) for name in columns}

    def tables(self) -> Iterator[pyarrow.Table]:
        """Yield the rows as tables, a file at a time."""
        for path in self.full:
            # Not kept open: whoever merges runs reads very many at a time.
            with opened_part(path) as file:
                table = file.read()
                table.validate(full=True)  # text that is none
            yield table
        yield table_of(self.newest)

    def counts(self) -> dict[Status, int]:
        """Return the number of rows of each status."""
        counts = dict.fromkeys(Status, 0)
        for path in self.full:
            with naming(path), opened_part(path) as file:
                add_statuses(counts, file)
        for row in self.newest:
            counts[Status(str(row["status"]))] += 1
        return counts


def read_rows(folder: Path) -> Iterator[Row]:
    """Yield the rows of a run, in the order in which they were written.

    Every row has every column that any row of the run has, with None where it has no value. Rows are
    read a few at a time.

    Raises:
        InputError: The folder is not a run, or one of its files is damaged.
    """
    yield from _snapshot(folder).rows()


def _snapshot(folder: Path) -> Snapshot:
    if not (folder / "requirements.jsonl").is_file():
        raise InputError(f"{folder} is not the folder of a run: expected requirements.jsonl in it")
    return Snapshot.of(folder)


def read_verdicts(folder: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a run as its rows hold them: without the clues that a search was given.

    Raises:
        InputError: As `read_rows` and `verdict_of` do.
    """
    for table in _snapshot(folder).tables():
        columns = {name: table[name].to_pylist() for name in table.column_names}
        core = [columns[name] for name in ("case", "requirement", "status", "margin", "reason")]
        # What is no status is refused with the name of its case.
        core[2] = [_STATUSES.get(one, one) for one in core[2]]
        named = {name.removeprefix(MEASURE): columns[name] for name in columns if name.startswith(MEASURE)}
        # The numbers are there so that each case has as many of these as of the others.
        measured = zip(range(len(table)), *named.values(), strict=True)
        measures = (dict(zip(named, values[1:], strict=True)) for values in measured)
        clusters = (one or "" for one in columns.get("cluster", [""] * len(table)))
        yield from map(Verdict, *core, measures, columns["visual_change"], clusters)


def verdict_of(row: Row) -> Verdict:
    """Return the verdict that a row holds.

    Raises:
        InputError: Its parts contradict each other, as a violation with a positive margin does.
    """
    return Verdict(
        case_id=str(row["case"]),
        requirement_id=str(row["requirement"]),
        status=Status(str(row["status"])),
        margin=_number(row.get("margin")),
        reason=str(row["reason"]),
        measures={name.removeprefix(MEASURE): row[name] for name in row if name.startswith(MEASURE)},
        visual_change=_number(row.get("visual_change")),
        cluster=str(row.get("cluster") or ""),
    )


def _number(value: Scalar) -> float | None:
    return None if value is None else float(value)
