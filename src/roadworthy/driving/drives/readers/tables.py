"""Drives from CSV and Parquet tables, by a mapping that says what the columns are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from csv import reader
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from roadworthy._files import read_text
from roadworthy._tables import SECONDS, as_float
from roadworthy._yaml import check_form, read_form
from roadworthy.driving.drives.drive import EVENTS, SIGNALS, Drive
from roadworthy.errors import InputError, check_known, suggest
from roadworthy.frames import SignalUnits

if TYPE_CHECKING:
    import pyarrow as pa


_SPEEDS = ("speed", "lead_speed", "target_speed")
_ANGLES = ("steering", "target_steering")


def _above_0(unit: str | float | None) -> str | float | None:
    if not isinstance(unit, str | None) and not 0 < unit < np.inf:
        raise ValueError("expected a unit, or a number above 0")
    return unit


class _UnitColumn(BaseModel):
    """A column and its unit; a bare name is a column in our own unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    unit: Annotated[str | float | None, AfterValidator(_above_0)] = None
    positive: Literal["left", "right"] = "right"
    ratio: float = Field(1.0, gt=0, allow_inf_nan=False)
    unknown: tuple[float, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"column": given}
        if not isinstance(given, Mapping | _UnitColumn):
            raise ValueError("expected the name of a column, or column, unit and so on")
        return given


class _TimeColumn(_UnitColumn):
    """Where the time comes from: a column, the last digits of the names in one, or the rows in a second."""

    column: str = ""
    of_name: bool = False
    rate: float | None = Field(None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one(self) -> _TimeColumn:
        if bool(self.column) == (self.rate is not None):
            raise ValueError("expected a column or a rate")
        return self


class ColumnMapping(BaseModel):
    """What the columns of a table are.

    Attributes:
        time: The column of time stamps; its unit is s, ms, us or ns. With `of_name` the last digits of the
            names in that column are the time; `rate` is how many rows a second has, without a column.
        columns: The names of the columns, in order, of a CSV file that begins without them; further columns
            need none.
        unknown: Numbers that stand for an unknown value in all signals; a signal may have its own.
        signals: The column of each signal. The unit of a speed is m/s, km/h or mph; that of an angle deg, rad
            or the degrees that 1 stands for, with the side of positive angles and the steering ratio; for any
            other signal it is the number that turns the column into our unit.
        events: The column of each event; what is not 0 or empty goes on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    time: _TimeColumn
    columns: tuple[str, ...] = ()
    unknown: tuple[float, ...] = ()
    signals: Mapping[str, _UnitColumn] = Field(default_factory=dict)
    events: Mapping[str, str] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ColumnMapping:
        """Return the mapping of a YAML file.

        Raises:
            InputError: The file cannot be read, or is no such mapping; with its line.
        """
        return read_form(Path(path), cls, "mapping of columns", "time, signals and events")[0]


def read_table(
    path: str | PathLike[str],
    *,
    mapping: ColumnMapping | Mapping[str, Any] | str | PathLike[str] | None = None,
    gap: float = 1.0,
) -> Drive:
    """Return the drive of a CSV or Parquet file.

    Cells that are no numbers are not known, lines of another length are left out, and rows out of order or
    repeated are put right. The notes tell of all that.

    Args:
        path: The file; .parquet is read as Parquet, anything else as CSV with a line of names, unless the
            mapping has them.
        mapping: What its columns are, or the YAML file that says it; it must be given.
        gap: Rows further apart than this many seconds have a gap between them.

    Raises:
        InputError: The file or the mapping cannot be read, or a column is missing.
    """
    if mapping is None:
        raise InputError(f"{path}: a table needs a mapping that names the columns of time, speed and so on")
    if isinstance(mapping, Mapping):
        mapping = check_form(ColumnMapping, mapping, lambda *_: "mapping")
    elif not isinstance(mapping, ColumnMapping):
        mapping = ColumnMapping.load(mapping)
    table, broken = _table(Path(path), mapping.columns)
    notes = _odd_names(mapping)

    def numbers(column: str) -> NDArray[np.float64]:
        found, note = _numbers(table, column, path)
        notes.extend([note] if note else [])
        return found

    # What no unit can hold becomes infinite, and is then not known.
    with np.errstate(over="ignore"):
        time = _times(mapping.time, table, path, numbers)
        signals = {
            name: _converted(name, one, _without(numbers(one.column), (*mapping.unknown, *one.unknown)))
            for name, one in mapping.signals.items()
        }
    events = {name: _happening(table, column, path) for name, column in mapping.events.items()}
    drive = Drive.repaired(fspath(path), time, signals, events, gap=gap, from_zero=True, broken=broken)
    return drive.with_notes(list(dict.fromkeys(notes)))


def _times(
    column: _TimeColumn,
    table: pa.Table,
    path: str | PathLike[str],
    numbers: Callable[[str], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the seconds of each row."""
    if column.rate is not None:
        return np.arange(len(table), dtype=np.float64) / column.rate
    if not column.of_name:
        # A damaged file may hold NaNs that signal when they are computed with.
        with np.errstate(invalid="ignore"):
            return numbers(column.column) * _seconds(column, table, path)
    _column(table, column.column, path)
    names = [Path(str(cell).replace("\\", "/")).stem for cell in table[column.column].to_pylist()]
    digits = [re.findall(r"\d+", name) for name in names]
    found = [int(one[-1][-19:]) if one else None for one in digits]
    # Counted from the first: nanoseconds since 1970 are more than a number with a fraction can tell apart.
    first = next((one for one in found if one is not None), 0)
    return np.array([np.nan if one is None else one - first for one in found]) * _seconds(column, table, path)


def _without(values: NDArray[np.float64], unknown: Collection[float]) -> NDArray[np.float64]:
    """Return values in which numbers that stand for unknown are NaN."""
    return np.where(np.isin(values, list(unknown)), np.nan, values) if unknown else values


def _table(path: Path, columns: Sequence[str] = ()) -> tuple[pa.Table, list[str]]:
    """Return the table of a file, and what is wrong with lines that were left out."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    broken: list[str] = []

    def leave_out(row: csv.InvalidRow) -> str:
        line = "" if row.number is None else f"line {row.number}: "
        broken.append(f"{line}expected {row.expected_columns} columns, got {row.actual_columns}")
        return "skip"

    try:
        if path.suffix.lower() == ".parquet":
            table = parquet.read_table(path)
            table.column_names  # noqa: B018 - names that are no UTF-8 are noticed when they are asked for
            return table, broken
        text = read_text(path)
        more = len(next(reader(text.splitlines()), ())) if columns else 0
        names = [*columns, *(f"column {place + 1}" for place in range(len(columns), more))]
        table = csv.read_csv(
            pa.py_buffer(text.encode()),
            # In one thread, the numbers of lines are known.
            read_options=csv.ReadOptions(use_threads=False, column_names=names or None),
            parse_options=csv.ParseOptions(invalid_row_handler=leave_out),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a table: {str(error).splitlines()[0]}") from None
    return table, broken


def _odd_names(mapping: ColumnMapping) -> list[str]:
    """Return what to say about signals and events that no metric knows, but that are nearly spelt as one."""
    return [
        f"no metric uses the {what} {name}: {suggest(name, known)}"
        for what, names, known in (("signal", mapping.signals, SIGNALS), ("event", mapping.events, EVENTS))
        for name in names
        if name not in known and "did you mean" in suggest(name, known)
    ]


def _numbers(table: pa.Table, name: str, path: str | PathLike[str]) -> tuple[NDArray[np.float64], str | None]:
    """Return a column as numbers, NaN where a cell is none, and what to say about such cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _column(table, name, path)
    if pa.types.is_timestamp(column.type):
        # Not by way of nanoseconds, of which no more than 292 years fit.
        scale = 1000.0 ** ("s", "ms", "us", "ns").index(column.type.unit)
        return np.asarray(pc.cast(column, pa.int64()).to_numpy()) / scale, None
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            cells = column.to_pylist()
            found = np.array([_number(cell) for cell in cells])
            odd = [cell for cell, value in zip(cells, found, strict=True) if cell and np.isnan(value)]
            odd = [cell for cell in odd if cell.strip().lower() not in ("", "nan")]
            return found, f"{len(odd)} × no number in column {name}; the first: {odd[0]!r}" if odd else None
        return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), np.float64), None
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(f"{path}: column {name!r} holds {column.type}, expected numbers") from None


def _column(table: pa.Table, name: str, path: str | PathLike[str]) -> pa.ChunkedArray:
    names = table.column_names
    check_known(f"{path}: no column", name, names)
    if names.count(name) > 1:
        raise InputError(f"{path}: {names.count(name)} columns are called {name!r}: rename all but one")
    return table[name]


_YES = ("yes", "y", "on", "t")
_NO = ("no", "n", "off", "f", "", "nan", "none", "null")


def _happening(table: pa.Table, name: str, path: str | PathLike[str]) -> NDArray[np.bool_]:
    """Return where an event happens: numbers but 0, or words such as yes; blank cells are no."""
    numbers = np.array(_numbers(table, name, path)[0])  # what Arrow gives must not be written
    written = table[name].to_pylist() if str(table[name].type).endswith("string") else [None] * len(table)
    cells = [(cell or "").strip().lower() for cell in written]
    for place in np.flatnonzero(np.isnan(numbers)):
        cell = cells[place]
        if cell not in (*_YES, *_NO):
            raise InputError(
                f"{path}: column {name!r} must say when an event happens, with yes and no, true and false or "
                f"1 and 0, got {cell!r}"
            )
        numbers[place] = cell in _YES
    return np.asarray(numbers != 0, np.bool_)


def _number(cell: str | None) -> float:
    text = "" if cell is None else cell.strip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    return as_float(text)


def _seconds(column: _UnitColumn, table: pa.Table, path: str | PathLike[str]) -> float:
    """Return the seconds that the unit of the time stands for."""
    import pyarrow as pa

    if pa.types.is_timestamp(table[column.column].type):
        if column.unit is not None:
            raise InputError(
                f"{path}: column {column.column!r} holds dates, which have no unit: leave it out"
            )
        return 1.0
    unit = column.unit if column.unit is not None else "s"
    if isinstance(unit, str):
        if unit not in SECONDS:
            raise InputError(f"time: expected the unit {', '.join(SECONDS)} or seconds, got {unit!r}")
        return SECONDS[unit]
    return unit


def _converted(name: str, column: _UnitColumn, values: NDArray[np.float64]) -> NDArray[np.float64]:
    if column.ratio != 1 and name not in _ANGLES:
        raise InputError(f"{name}: only angles have a steering ratio, got {column.ratio:g}: leave it out")
    if column.positive != "right" and name in _SPEEDS:
        raise InputError(f"{name}: a speed has no sides, got positive: {column.positive}: leave it out")
    if name in _SPEEDS:
        units = SignalUnits(speed=column.unit if column.unit is not None else "m/s")
        return np.asarray(units.decode_speed(values), np.float64)
    if name in _ANGLES:
        units = SignalUnits(
            steering=column.unit if column.unit is not None else "deg",
            steering_positive=column.positive,
            steering_ratio=column.ratio,
        )
        return np.asarray(units.decode_steering(values), np.float64)
    if isinstance(column.unit, str):
        raise InputError(
            f"{name}: expected the number that turns the column into {SIGNALS.get(name, 'our unit')}, "
            f"got {column.unit!r}"
        )
    turned = values * (column.unit if column.unit is not None else 1.0)
    return -turned if column.positive == "left" else turned
