"""Drives from CSV and Parquet tables, by a mapping that says what the columns are."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from roadworthy._yaml import Place, explained, read_yaml
from roadworthy.driving.drives.drive import SIGNALS, Drive
from roadworthy.errors import InputError, suggest
from roadworthy.frames import SignalUnits

__all__ = ["ColumnMapping", "read_table"]

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SPEEDS = ("speed", "lead_speed", "target_speed")
_ANGLES = ("steering", "target_steering")


class _Column(BaseModel):
    """A column and its unit; a bare name is a column in our own unit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    unit: str | float | None = None
    positive: Literal["left", "right"] = "right"
    ratio: float = Field(1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given


class ColumnMapping(BaseModel):
    """What the columns of a table are.

    Attributes:
        time: The column of time stamps; its unit is s, ms, us or ns.
        signals: The column of each signal. The unit of a speed is m/s, km/h or mph; that of an angle deg, rad
            or the degrees that 1 stands for, with the side of positive angles and the steering ratio; for any
            other signal it is the number that turns the column into our unit.
        events: The column of each event; what is not 0 or empty goes on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    time: _Column
    signals: Mapping[str, _Column] = Field(default_factory=dict)
    events: Mapping[str, str] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ColumnMapping:
        """Return the mapping of a YAML file.

        Raises:
            InputError: The file cannot be read, or is no such mapping; with its line.
        """
        file = read_yaml(Path(path), "mapping of columns", "time, signals and events")
        try:
            return cls.model_validate(file.data)
        except ValidationError as error:
            raise InputError(explained(error.errors()[0], file.where, _keys)) from None


def read_table(
    path: str | PathLike[str],
    *,
    mapping: ColumnMapping | Mapping[str, Any] | str | PathLike[str],
    gap: float = 1.0,
) -> Drive:
    """Return the drive of a CSV or Parquet file.

    Cells that are no numbers are not known. Rows out of order or repeated are put right, and the notes tell.

    Args:
        path: The file; .parquet is read as Parquet, anything else as CSV with a line of names.
        mapping: What its columns are, or the YAML file that says it.
        gap: Rows further apart than this many seconds have a gap between them.

    Raises:
        InputError: The file or the mapping cannot be read, or a column is missing.
    """
    if isinstance(mapping, Mapping):
        try:
            mapping = ColumnMapping.model_validate(mapping)
        except ValidationError as error:
            raise InputError(explained(error.errors()[0], lambda *_: "mapping", _keys)) from None
    elif not isinstance(mapping, ColumnMapping):
        mapping = ColumnMapping.load(mapping)
    columns = _columns(Path(path))
    wanted = [
        mapping.time.column,
        *(one.column for one in mapping.signals.values()),
        *mapping.events.values(),
    ]
    for name in wanted:
        if name not in columns:
            raise InputError(f"{path}: no column {name!r}: {suggest(name, columns)}")
    time = columns[mapping.time.column] * _time_unit(mapping.time)
    signals = {name: _converted(name, one, columns[one.column]) for name, one in mapping.signals.items()}
    events = {name: np.nan_to_num(columns[column]) != 0 for name, column in mapping.events.items()}
    start = np.nanmin(time, initial=np.inf)
    if not np.isfinite(start):
        raise InputError(f"{path}: no row has a time in column {mapping.time.column!r}")
    return Drive.repaired(fspath(path), time - start, signals, events, gap=gap)


def _columns(path: Path) -> dict[str, NDArray[np.float64]]:
    """Return all columns as numbers; NaN where a cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv, parquet

    try:
        if path.suffix.lower() == ".parquet":
            table = parquet.read_table(path)
        else:
            table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read as a table: {str(error).splitlines()[0]}") from None
    numbers = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            column = pc.cast(pc.cast(column, pa.timestamp("ns")), pa.int64())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            numbers[name] = np.array([_number(cell) for cell in column.to_pylist()])
        else:
            numbers[name] = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), np.float64)
    return numbers


def _number(cell: str | None) -> float:
    text = "" if cell is None else cell.strip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return np.nan


def _time_unit(column: _Column) -> float:
    unit = column.unit if column.unit is not None else "s"
    if isinstance(unit, str):
        if unit not in _SECONDS:
            raise InputError(f"time: expected the unit {', '.join(_SECONDS)} or seconds, got {unit!r}")
        return _SECONDS[unit]
    return unit


def _converted(name: str, column: _Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
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
            f"{name}: expected the number that turns the column into {SIGNALS.get(name, 'our unit')}, got "
            f"{column.unit!r}"
        )
    turned = values * (column.unit if column.unit is not None else 1.0)
    return -turned if column.positive == "left" else turned


def _keys(place: Place) -> list[str]:
    inside = ("column", "unit", "positive", "ratio")
    return list(inside if len(place) > 1 else ColumnMapping.model_fields)
