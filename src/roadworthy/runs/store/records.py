"""Requirements and outcomes as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roadworthy._files import parse_json, read_text
from roadworthy.cases import Acceptance, Outcome, Requirement, Scalar
from roadworthy.errors import InputError

__all__ = ["encode_record", "read_outcome", "read_records", "read_requirement", "requirement_record"]


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
    acceptance = requirement.acceptance
    return {
        "id": requirement.id,
        "text": requirement.text,
        "method": requirement.method,
        "parameters": dict(requirement.parameters),
        "tags": list(requirement.tags),
        "severity": str(requirement.severity),
        "acceptance": {"max_rate": acceptance.max_rate, "confidence": acceptance.confidence},
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
            acceptance=Acceptance(**record.get("acceptance", {})),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"expected a requirement with id, text and method, got {record!r:.200}: {error}"
        ) from error


def read_outcome(record: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome that a record tells of; measures that are not finite are words there.

    Raises:
        InputError: The outcome is not understood.
    """
    told = record.get("outcome")
    if told is None:
        return None
    try:
        return Outcome(
            record["id"],
            told["status"],
            told["counts"],
            told["rate"],
            told["summary"],
            told["measures"],
            tuple(map(str, told.get("notes", ()))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"the outcome of {record.get('id')!r} is not understood: {error}") from error


def _outcome_record(outcome: Outcome) -> dict[str, object]:
    return {
        "status": str(outcome.status),
        "counts": {str(status): count for status, count in outcome.counts.items()},
        "rate": outcome.rate,
        "summary": outcome.summary,
        "measures": {
            # JSON has no number for what is not finite.
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in outcome.measures.items()
        },
        **({"notes": list(outcome.notes)} if outcome.notes else {}),
    }
