"""Rows: a case and its verdict as flat scalars, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from roadworthy.cases import Case, Scalar, Verdict
from roadworthy.errors import InputError

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "CORE_COLUMNS",
    "MEASURE",
    "PARAMETER",
    "Kinds",
    "Row",
    "row_of",
    "storable",
    "table_of",
    "to_parquet",
]

CORE_COLUMNS = {
    "requirement": "string",
    "system": "string",
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

Row: TypeAlias = dict[str, Scalar]


def row_of(case: Case, verdict: Verdict, system: str, images: Iterable[str]) -> Row:
    """Return the row of a case.

    Args:
        case: The case.
        verdict: The verdict on it.
        system: The name of the system under test.
        images: The hashes of its images.

    Example:
        >>> from roadworthy.cases import Drive
        >>> case = Case("lap 1", "R1", (Drive("oval"),), {"speed": 12.5})
        >>> row = row_of(case, Verdict.from_margin(case, 0.4), "dave2", [])
        >>> row["system"], row["status"], row["param.speed"]
        ('dave2', 'passed', 12.5)
    """
    row: Row = {
        "requirement": verdict.requirement_id,
        "system": system,
        "case": verdict.case_id,
        "status": str(verdict.status),
        "margin": verdict.margin,
        "reason": verdict.reason,
        "visual_change": verdict.visual_change,
        "images": " ".join(images),
        **{PARAMETER + name: value for name, value in case.parameters.items()},
        **{MEASURE + name: value for name, value in verdict.measures.items()},
    }
    return {
        storable(name): storable(value) if isinstance(value, str) else value for name, value in row.items()
    }


class Kinds:
    """The kinds of values that the columns of a run hold: a column keeps the kind of its first value.

    Example:
        >>> kinds = Kinds()
        >>> kinds.check({"case": "c0", "param.amount": 1})
        >>> kinds.check({"case": "c1", "param.amount": 0.5})
        >>> kinds.check({"case": "c2", "param.amount": "much"})
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: param.amount of case 'c2' must be int as in earlier cases, got 'much' \
of type str
    """

    def __init__(self) -> None:
        self._kinds: dict[str, type] = {}

    def check(self, row: Row) -> None:
        """Take in a row.

        Raises:
            InputError: A column had another kind of value in an earlier row.
        """
        for name, value in row.items():
            if value is None or name in CORE_COLUMNS:
                continue
            known = self._kinds.setdefault(name, type(value))
            if known is not type(value) and {known, type(value)} != {int, float}:
                raise InputError(
                    f"{name} of case {row['case']!r} must be {known.__name__} as in earlier cases, "
                    f"got {value!r} of type {type(value).__name__}"
                )

    def learn(self, columns: Mapping[str, str]) -> None:
        """Take in the columns of a stored table, by their Arrow types."""
        for name, arrow in columns.items():
            kind = next((kind for kind, alias in _ARROW_TYPES.items() if alias == arrow), None)
            if kind is not None and name not in CORE_COLUMNS:
                self._kinds.setdefault(name, kind)


def table_of(rows: Sequence[Row]) -> pyarrow.Table:
    """Return rows as an Arrow table: the core columns, then those of parameters and measures by name."""
    import pyarrow

    fields = dict(CORE_COLUMNS)
    for name in sorted({name for row in rows for name in row} - set(CORE_COLUMNS)):
        kinds = {type(value) for row in rows if (value := row.get(name)) is not None}
        fields[name] = _ARROW_TYPES[float if float in kinds else kinds.pop()]
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in fields.items()])
    columns: dict[str, list[Scalar]] = {name: [row.get(name) for row in rows] for name in fields}
    for name, kind in fields.items():
        if kind == "double":
            # Arrow refuses whole numbers that a double holds only nearly.
            columns[name] = [None if value is None else float(value) for value in columns[name]]
    return pyarrow.table(columns, schema=schema)


def to_parquet(rows: Sequence[Row]) -> bytes:
    """Return rows as a Parquet file; the same rows give the same bytes."""
    import pyarrow
    import pyarrow.parquet as parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table_of(rows), sink, compression="zstd", write_page_checksum=True)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def storable(text: str) -> str:
    """Return text that UTF-8 can hold: names of files and messages of a crashed system may be otherwise."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
