"""Where a search stood when its rows were last written, so that it can go on from there.

A checkpoint is written when the rows before it are on disk. There may be more rows; they are made again, the
same, when the search goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy._files import read_json
from roadworthy.cases import Requirement, Status
from roadworthy.errors import InputError

__all__ = ["FILE", "Checkpoint", "check_beginning", "read_checkpoint"]

FILE = "checkpoint.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stood.

    Attributes:
        rows: How many rows there were.
        counts: The number of cases per status.
        run: What the run is of: requirement, data, system and seed, in words.
        state: What the method must know to go on.
    """

    rows: int
    counts: Mapping[Status, int]
    run: Mapping[str, Any]
    state: Mapping[str, Any]

    def encoded(self) -> bytes:
        """Return it as a file holds it."""
        record = {
            "rows": self.rows,
            "counts": {str(status): count for status, count in self.counts.items()},
            "run": dict(self.run),
            "state": dict(self.state),
        }
        return (json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")

    def check(self, run: Mapping[str, Any], folder: Path) -> None:
        """Refuse to go on with something else.

        Raises:
            InputError: Names what differs.
        """
        for name, wanted in run.items():
            if self.run.get(name) != wanted:
                raise InputError(
                    f"{folder} holds a run with {name} {self.run.get(name)!r}, and it cannot go on with "
                    f"{name} {wanted!r}: resume with the same, or choose another folder"
                )


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Return where a run stood; None where it never got to a checkpoint.

    Raises:
        InputError: The file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    record = read_json(path)
    try:
        counts = {Status(name): int(count) for name, count in record["counts"].items()}
        return Checkpoint(int(record["rows"]), counts, dict(record["run"]), dict(record["state"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is no checkpoint of a run: {error!r}; run without --resume") from error


def check_beginning(folder: Path, requirement: Requirement) -> None:
    """Refuse a folder without a checkpoint that holds anything but the beginning of this search.

    Raises:
        InputError: It holds a run of something else, whose rows would be lost.
    """
    path = folder / "requirements.jsonl"
    if not path.is_file():
        return
    record = read_json(path)
    found = (record.get("id"), record.get("method")) if isinstance(record, dict) else None
    if found != (requirement.id, requirement.method) or record.get("outcome") is not None:
        raise InputError(
            f"{folder} holds a run that is not the beginning of this search, and its rows would be lost: "
            "choose another folder"
        )
