"""Rows: a case and its verdict as flat scalars; requirements and outcomes as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from roadworthy._files import parse_json, read_text
from roadworthy._yaml import read_yaml
from roadworthy.cases import Acceptance, Case, Outcome, Requirement, Scalar, Verdict
from roadworthy.errors import InputError

if TYPE_CHECKING:
    import pyarrow


TABLES = read_yaml(Path(__file__).with_name("tables.yaml"), "file of tables", "'columns:'").data
CORE_COLUMNS: Mapping[str, str] = TABLES["columns"]
"""The columns that every row has, with their Arrow types; ``images`` are hashes separated by spaces."""
LATER_COLUMNS = frozenset({"cluster"})
"""Those that rows of older runs do not have: there, every case is a cluster of its own."""

PARAMETER = "param."
MEASURE = "measure."

ARROW_TYPES: dict[type, str] = {bool: "bool", int: "int64", float: "double", str: "string"}
"""The kinds of values of parameters and measures, and the Arrow types of their columns."""

Row: TypeAlias = dict[str, Scalar]


def row_of(case: Case, verdict: Verdict, system: str, images: Iterable[str]) -> Row:
    """Return the row of a case, without what is not known.

    Args:
        case: The case.
        verdict: The verdict on it.
        system: The name of the system under test.
        images: The hashes of its images.

    Example:
        >>> from roadworthy.cases import RecordDrive
        >>> case = Case("lap 1", "R1", (RecordDrive("oval"),), {"speed": 12.5})
        >>> row = row_of(case, Verdict.from_margin(case, 0.4), "dave2", [])
        >>> row["system"], row["status"], row["param.speed"]
        ('dave2', 'passed', 12.5)
    """
    row: Row = {
        "requirement": verdict.requirement_id,
        "system": system,
        "case": verdict.case_id,
        "status": verdict.status.value,
        "margin": verdict.margin,
        "reason": verdict.reason,
        "visual_change": verdict.visual_change,
        "images": " ".join(images),
        "cluster": case.cluster or case.id,
        **{PARAMETER + name: value for name, value in case.parameters.items()},
        **{MEASURE + name: value for name, value in verdict.measures.items()},
    }
    for name in ("margin", "visual_change"):
        if row[name] is None:
            del row[name]
    if "".join([*row, *[value for value in row.values() if type(value) is str]]).isascii():
        return row
    return {
        storable(name): storable(value) if isinstance(value, str) else value for name, value in row.items()
    }


class Kinds:
    """The kinds of values that the columns of a run hold: a column keeps the kind of its first value.

    Example:
        >>> kinds = Kinds()
        >>> kinds.check({"case": "c0", "param.amount": 1}), kinds.check({"case": "c1", "param.amount": 0.5})
        (True, False)
        >>> kinds.check({"case": "c2", "param.amount": "much"})
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: param.amount of case 'c2' must be int as in earlier cases, got 'much' \
of type str
    """

    def __init__(self) -> None:
        self._kinds: dict[str, type] = {}

    def check(self, row: Row) -> bool:
        """Take in a row; return whether it has a column that had no values before.

        Raises:
            InputError: A column had another kind of value in an earlier row.
        """
        before = len(self._kinds)
        for name, value in row.items():
            if value is None or name in CORE_COLUMNS:
                continue
            known = self._kinds.setdefault(name, type(value))
            if known is not type(value) and {known, type(value)} != {int, float}:
                raise InputError(
                    f"{name} of case {row['case']!r} must be {known.__name__} as in earlier cases, "
                    f"got {value!r} of type {type(value).__name__}"
                )
        return len(self._kinds) > before

    def learn(self, columns: Mapping[str, str]) -> None:
        """Take in the columns of a stored table, by their Arrow types."""
        for name, arrow in columns.items():
            kind = next((kind for kind, alias in ARROW_TYPES.items() if alias == arrow), None)
            if kind is not None and name not in CORE_COLUMNS:
                self._kinds.setdefault(name, kind)


def table_of(rows: Sequence[Row]) -> pyarrow.Table:
    """Return rows as an Arrow table: the core columns, then those of parameters and measures by name."""
    import pyarrow

    fields = dict(CORE_COLUMNS)
    names = [*fields, *sorted(set[str]().union(*rows) - set(fields))]
    columns = {name: _column(name, rows) for name in names}
    for name, values in columns.items():
        kinds = set(map(type, values)) - {type(None)}
        if name not in fields:
            fields[name] = ARROW_TYPES[float if float in kinds else kinds.pop()]
        if fields[name] == "double" and kinds != {float}:
            # Arrow refuses whole numbers that a double holds only nearly.
            columns[name] = [None if value is None else float(value) for value in values]
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in fields.items()])
    return pyarrow.table(columns, schema=schema)


def _column(name: str, rows: Sequence[Row]) -> list[Scalar]:
    try:
        return list(map(itemgetter(name), rows))
    except KeyError:
        return [row.get(name) for row in rows]


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
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def requirement_record(
    requirement: Requirement,
    outcome: Outcome | None = None,
    *,
    system: str = "",
    about: Mapping[str, Scalar] | None = None,
) -> dict[str, Any]:
    """Return what a line of ``requirements.jsonl`` says.

    Args:
        requirement: The requirement.
        outcome: Its outcome, once it is known.
        system: The name of the system that was tested.
        about: What else the run is of, such as its data and seed.

    Example:
        >>> record = requirement_record(Requirement("R1", "The lane is kept", "lanes"), system="dave2")
        >>> record["id"], record["system"], record["outcome"]
        ('R1', 'dave2', None)
        >>> read_requirement(record).text
        'The lane is kept'
    """
    return {
        **asdict(requirement),
        "tags": list(requirement.tags),
        "severity": str(requirement.severity),
        "system": system,
        **({"run": dict(about)} if about else {}),
        "outcome": None if outcome is None else _outcome_record(outcome),
    }


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    # What UTF-8 cannot hold becomes a \u escape, which JSON reads back as it was.
    return line.encode("utf-8", "backslashreplace")


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a ``requirements.jsonl``.

    Raises:
        InputError: The file cannot be read; names the line.
    """
    records = []
    for number, line in enumerate(read_text(path).rstrip("\n").split("\n"), 1):
        try:
            record = parse_json(line)
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: expected a requirement as JSON: {error}; restore the file from a "
                "copy, or delete the folder and run again"
            ) from error
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            raise InputError(f"{path}, line {number}: expected a requirement with its id, got {line[:60]!r}")
        records.append(record)
    return records


def read_requirement(record: Mapping[str, Any]) -> Requirement:
    """Return the requirement that a record tells of.

    Raises:
        InputError: The record is of something else.
    """
    try:
        return Requirement(
            record["id"],
            record["text"],
            record["method"],
            record.get("parameters", {}),
            tuple(record.get("tags", ())),
            record.get("severity", "major"),
            # Runs that do not say what decides are older than the question.
            acceptance=Acceptance(**{"decide": "estimate", **record.get("acceptance", {})}),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"a requirement needs id, text and method, got {record!r:.200}: {error}") from error


def read_outcome(record: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome that a record tells of; measures that are not finite are words there.

    Raises:
        InputError: The outcome is not understood.
    """
    if (told := record.get("outcome")) is None:
        return None
    try:
        notes = tuple(map(str, told.get("notes", ())))
        known = {name: told[name] for name in ("status", "counts", "rate", "summary", "measures")}
        return Outcome(record["id"], **known, notes=notes)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"the outcome of {record.get('id')!r} is not understood: {error}") from error


def _outcome_record(outcome: Outcome) -> dict[str, object]:
    return {
        "status": str(outcome.status),
        "counts": outcome.counted,
        "rate": outcome.rate,
        "summary": outcome.summary,
        "measures": {
            # JSON has no number for what is not finite.
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in outcome.measures.items()
        },
        **({"notes": list(outcome.notes)} if outcome.notes else {}),
    }
