"""What all cases that did not pass have in common: why some were not judged, and what people tolerate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roadworthy.cases import Status

if TYPE_CHECKING:
    from roadworthy.report.results import Whole
    from roadworthy.runs.store import StoredRun

__all__ = ["FailingRows", "Reason", "failing_rows"]

_COLUMNS = r"^(requirement|case|status|reason|measure\.tolerated)$"
_ALIKE = "regexp_replace(reason, '''[^'']*''|\"[^\"]*\"|[0-9]+', '…', 'g')"


@dataclass(frozen=True)
class Reason:
    """Why cases were not judged, or how the system failed to answer.

    Attributes:
        status: "not applicable" or "error".
        words: The reason, of one of them.
        cases: How many cases have it.
        requirements: Of how many requirements.
        example: One of the cases.
    """

    status: str
    words: str
    cases: int
    requirements: int
    example: str


@dataclass(frozen=True)
class FailingRows:
    """What all cases that did not pass have in common.

    Attributes:
        reasons: Why cases have no margin, the most frequent first; reasons that differ in names and numbers
            only are one.
        left_out: How many reasons are not among them.
        tolerated: How many failures come from changes that people tolerate.
        known: Of how many it is known whether people do.
    """

    reasons: Sequence[Reason] = ()
    left_out: int = 0
    tolerated: int = 0
    known: int = 0


def failing_rows(run: StoredRun, whole: Whole, most: int) -> FailingRows:
    """Return what all cases that did not pass have in common.

    Args:
        run: The run.
        whole: What it found.
        most: The most reasons.
    """
    import duckdb

    if not sum(number for status, number in whole.cases.items() if status is not Status.PASSED):
        return FailingRows()
    with duckdb.connect() as connection:
        run.attach(connection, "stored")
        # Read once: a run of thousands of requirements has as many files.
        connection.execute(
            f"CREATE TABLE kept AS SELECT COLUMNS('{_COLUMNS}') FROM stored WHERE status <> 'passed'"
        )
        reasons, left_out = _reasons(connection, most)
        return FailingRows(reasons, left_out, *_tolerated(connection))


def _tolerated(connection: Any) -> tuple[int, int]:
    names = [row[0] for row in connection.execute("SELECT column_name FROM (DESCRIBE kept)").fetchall()]
    if "measure.tolerated" not in names:
        return 0, 0
    # As text, because two requirements may store different kinds of values under one name.
    (found,) = connection.execute(
        "SELECT count(*) FILTER (lower(CAST(\"measure.tolerated\" AS VARCHAR)) = 'true'), "
        "count(\"measure.tolerated\") FROM kept WHERE status = 'violated'"
    ).fetchall()
    return int(found[0]), int(found[1])


def _reasons(connection: Any, most: int) -> tuple[list[Reason], int]:
    connection.execute(
        f"CREATE TABLE reasons AS SELECT status, {_ALIKE} AS kind, count(*) AS n, "
        'count(DISTINCT requirement) AS requirements, min(reason) AS words, min("case") AS example '
        "FROM kept WHERE status IN ('not applicable', 'error') GROUP BY status, kind"
    )
    (total,) = connection.execute("SELECT count(*) FROM reasons").fetchall()
    rows = connection.execute(
        "SELECT status, words, n, requirements, example FROM reasons ORDER BY status, n DESC, kind LIMIT $1",
        [most],
    ).fetchall()
    return [Reason(*row) for row in rows], int(total[0]) - len(rows)
