"""trace.csv: from requirement to case to verdict to image, one line per case."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

from roadworthy._files import replacing
from roadworthy.cases import Scalar
from roadworthy.runs.evidence.pairs import rows_of
from roadworthy.runs.store import Row, StoredRun, image_path

__all__ = ["COLUMNS", "write_trace"]

COLUMNS = (
    "requirement",
    "method",
    "severity",
    "tags",
    "system",
    "case",
    "status",
    "margin",
    "reason",
    "visual_change",
    "images",
)


def write_trace(run: StoredRun, path: Path, *, seen: Iterable[Callable[[Row], None]] = ()) -> int:
    """Write a line for every case of a run, and return how many; memory does not grow with their number.

    Images are paths below the run, separated by spaces. Numbers are written so that reading gives them back.

    Args:
        run: The run.
        path: The file.
        seen: Who else is shown every row, so that rows are read once.

    Raises:
        InputError: The file cannot be written.
    """
    listeners = tuple(seen)
    written = 0
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        for pair in run.pairs:
            one = pair.requirement
            head = (one.id, one.method, str(one.severity), "; ".join(one.tags), pair.system)
            for row in rows_of(pair):
                for listener in listeners:
                    listener(row)
                lines.writerow((*head, *_cells(row)))
                written += 1
    return written


def _cells(row: Row) -> tuple[str, ...]:
    images = [image_path(Path("images"), digest).as_posix() for digest in str(row["images"] or "").split()]
    return (
        str(row["case"]),
        str(row["status"]),
        _number(row["margin"]),
        str(row["reason"] or ""),
        _number(row["visual_change"]),
        " ".join(images),
    )


def _number(value: Scalar) -> str:
    return "" if value is None else repr(value)
