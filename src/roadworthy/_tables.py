"""CSV files out, and in with errors that name file, line and column."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TextIO

from roadworthy._files import is_file, is_folder, read_text
from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError, InputError

TimeUnit = Literal["s", "ms", "us", "ns"]
SECONDS: Mapping[str, float] = FrozenDict({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9})
"""The seconds that each unit of time stands for."""
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?[\d.,]*(?:e[+-]?\d+)?%?", re.IGNORECASE)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as the text of a CSV file, the names of the columns first; None is an empty cell.

    Example:
        >>> csv_text(["frame", "margin"], [("town, 7", 0.5), ("=1+1", None)]).splitlines()
        ['frame,margin', '"town, 7",0.5', "'=1+1,"]
    """
    text = io.StringIO()
    write_csv(text, columns, rows)
    return text.getvalue()


def write_csv(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV, a few in memory at a time; no cell is a formula to a spreadsheet."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(inert, columns))
    writer.writerows(map(inert, row) for row in rows)


def inert(cell: object) -> object:
    """Return a cell; text that a spreadsheet would take for a formula begins with an apostrophe.

    Example:
        >>> inert("=1+1"), inert("-1.5"), inert("R1"), inert(-1.5)
        ("'=1+1", '-1.5', 'R1', -1.5)
    """
    # An apostrophe of its own before such text gets another, so that reading gives back what was written.
    live = isinstance(cell, str) and _FORMULA.match(cell.lstrip("'")) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if live else cell


def meant(cell: str) -> str:
    """Return what a cell was before it was made `inert`.

    Example:
        >>> meant("'=1+1"), meant("'tis")
        ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell.lstrip("'")) else cell


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One line of a CSV file, blanks around its cells removed."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Named columns over rows. Cells become numbers when they are asked for.

    Example:
        >>> rows = CsvRow(2, ("a", "12.5")), CsvRow(3, ("b", "nan"))
        >>> table = Table(Path("log.csv"), ("id", "speed"), rows)
        >>> table.number(0, "speed")
        12.5
        >>> table.number(1, "speed")
        Traceback (most recent call last):
        ...
        roadworthy.errors.FrameError: log.csv: line 3: speed must be a finite number, got 'nan'
    """

    path: Path
    columns: tuple[str, ...]
    rows: Sequence[CsvRow]

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read a CSV file whose first line names the columns.

        Raises:
            InputError: The file cannot be read or has no lines.
        """
        rows = read_rows(path)
        return cls(path, rows[0].cells, rows[1:])

    def require(self, *columns: str) -> None:
        """Check that columns are there.

        Raises:
            InputError: One is missing.
        """
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise InputError(
                f"{self.path}: expected the columns {', '.join(columns)}, missing {', '.join(missing)}; "
                f"got {', '.join(self.columns)}"
            )

    def text(self, index: int, column: str) -> str:
        """Return a cell.

        Raises:
            FrameError: The row has too few or too many cells.
        """
        row = self.rows[index]
        if len(row.cells) != len(self.columns):
            raise FrameError(
                f"{self.path}: line {row.line}: expected {len(self.columns)} columns, got {len(row.cells)}"
            )
        return row.cells[self.columns.index(column)]

    def key(self, index: int, column: str) -> str:
        """Return the cell that names a row; where there is none, the line.

        A broken row is an error of its frame, found when the frame is read, and none of the whole table.
        """
        row, place = self.rows[index], self.columns.index(column)
        return row.cells[place] if place < len(row.cells) and row.cells[place] else f"line-{row.line}"

    def number(self, index: int, column: str) -> float:
        """Return a cell as a number.

        Raises:
            FrameError: It is none, or not finite.
        """
        text = self.text(index, column)
        value = as_float(text)
        if not math.isfinite(value):
            where = f"{self.path}: line {self.rows[index].line}"
            raise FrameError(f"{where}: {column} must be a finite number, got {text!r}")
        return value

    def known(self, index: int, column: str, unknown: Collection[float] = ()) -> float | None:
        """Return a cell as a number; None where it is blank, nan, or a number that stands for unknown.

        Raises:
            FrameError: It is anything else.
        """
        if self.text(index, column).lower() in ("", "nan"):
            return None
        value = self.number(index, column)
        return None if value in unknown else value


def as_float(text: Any) -> float:
    """Return what text, or anything else, is as a number; NaN for what is none.

    Example:
        >>> as_float("1.5"), as_float("wide"), as_float(None)
        (1.5, nan, nan)
    """
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def read_rows(path: Path) -> list[CsvRow]:
    """Return the rows of a CSV file that are not blank, with their line numbers.

    Raises:
        InputError: The file cannot be read or has no rows.
    """
    reader = csv.reader(io.StringIO(read_text(path)), skipinitialspace=True)
    try:
        rows = [
            CsvRow(reader.line_num, tuple(meant(cell.strip()) for cell in cells))
            for cells in reader
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise FrameError(f"{path}: line {reader.line_num}: {error}") from error
    if not rows:
        raise InputError(f"{path} is empty: expected a CSV file with one line for each frame")
    return rows


def csv_file(path: str | PathLike[str], preferred: str) -> Path:
    """Return the CSV file that a path means: itself, or the one in the folder.

    Args:
        path: A CSV file or a folder.
        preferred: The name of the file to take where a folder has several.

    Raises:
        InputError: There is none, or one would have to be guessed.
    """
    given = Path(path).expanduser()
    if not is_folder(given):
        if not is_file(given):
            raise InputError(f"expected a folder or a CSV file, found nothing at {given}")
        return given
    if is_file(given / preferred):
        return given / preferred
    found = sorted(given.glob("*.csv"))
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise InputError(
            f"{given} must hold {preferred} or one CSV file, found {names}: name the file itself, "
            "or another folder"
        )
    return found[0]
