"""The same cases of two runs, put side by side in the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roadworthy.runs.store.database import quoted

if TYPE_CHECKING:
    import duckdb

    from roadworthy.runs.store import StoredRun

__all__ = ["Changed", "Paired", "Pairing", "Stoppable", "pair_up"]

Key = tuple[str, str]
"""A requirement's id and the name that a system has in the second run."""
Stoppable = Callable[[Callable[[], None]], AbstractContextManager[object]]
"""Is given what interrupts a query, for as long as there is one."""

_ABSENT = "absent"
_DIFFERENT = "different"
_FAILED = ("violated", "error")
_PER_KIND = 5


@dataclass(frozen=True)
class Changed:
    """A case that is broken or fixed: its margins before and after, and its images."""

    case: str
    before: float | None
    after: float | None
    status_before: str
    status_after: str
    reason: str
    images_before: str
    images_after: str


@dataclass
class Paired:
    """The cases of a requirement and system in both runs.

    Attributes:
        moves: How many cases went from which status to which; "absent" where a run does not have the case.
        different: How many cases have one name in both runs but were made differently; they are in no move.
        kinds: How many source frames have so many cases, of which so many more are broken than fixed.
        shifts: By how much the margin of each source frame went up, where both runs have one: the median of
            its cases.
        broken: Cases that passed and fail now, the farthest from passing first.
        fixed: Cases that failed and pass now, the farthest from passing before first.
    """

    moves: dict[tuple[str, str], int] = field(default_factory=dict)
    different: int = 0
    kinds: dict[tuple[int, int], int] = field(default_factory=dict)
    shifts: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    broken: list[Changed] = field(default_factory=list)
    fixed: list[Changed] = field(default_factory=list)


@dataclass(frozen=True)
class Pairing:
    """What to put side by side.

    Attributes:
        systems: For each system of the first run that has one, its name in the second.
        unpaired: Requirements whose cases cannot be paired, because a search made them as it went.
    """

    systems: Mapping[str, str]
    unpaired: frozenset[str]


def pair_up(
    first: StoredRun, second: StoredRun, pairing: Pairing, stoppable: Stoppable | None = None
) -> dict[Key, Paired]:
    """Return the cases of two runs side by side, by requirement and system.

    All counting is done by the database, which keeps what does not fit into memory on disk.

    Args:
        first: The run before.
        second: The run after.
        pairing: What to put side by side.
        stoppable: Is given what interrupts it while it goes on, from another thread.

    Raises:
        InputError: A run cannot be read.
    """
    import duckdb

    found: dict[Key, Paired] = {}
    with duckdb.connect() as connection, (stoppable or nullcontext)(connection.interrupt):
        first.attach(connection, "first_rows")
        second.attach(connection, "second_rows")
        _join(connection, pairing)
        for requirement, system, before, after, number in _asked(
            connection, "SELECT requirement, system, before, after, count(*) FROM paired GROUP BY ALL"
        ):
            one = found.setdefault((requirement, system), Paired())
            if before == _DIFFERENT:
                one.different = number
            else:
                one.moves[before, after] = number
        for requirement, system, size, change, number in _asked(connection, _KINDS):
            found[requirement, system].kinds[size, change] = number
        _add_shifts(connection, found)
        for kind, name in (("broken", "after"), ("fixed", "before")):
            for requirement, system, *rest in _asked(connection, _worst(kind, name)):
                getattr(found[requirement, system], kind).append(Changed(*rest))
    return found


def _join(connection: duckdb.DuckDBPyConnection, pairing: Pairing) -> None:
    """Make the table of pairs: every case of either run once."""
    connection.execute("CREATE TABLE names (before VARCHAR, after VARCHAR)")
    connection.executemany(
        "INSERT INTO names VALUES ($1, $2)", [list(one) for one in pairing.systems.items()]
    )
    connection.execute("CREATE TABLE searched (requirement VARCHAR)")
    if pairing.unpaired:
        connection.executemany(
            "INSERT INTO searched VALUES ($1)", [[one] for one in sorted(pairing.unpaired)]
        )
    columns = [_columns(connection, name) for name in ("first_rows", "second_rows")]
    shared = sorted(name for name in set(columns[0]) & set(columns[1]) if name.startswith("param."))
    same = " AND ".join(_alike(quoted(name)) for name in shared)
    connection.execute(
        f"""
        CREATE TABLE paired AS
        WITH one AS (
            SELECT rows.*, names.after AS named FROM first_rows AS rows
            JOIN names ON rows.system = names.before
            WHERE requirement NOT IN (SELECT requirement FROM searched)
        ), two AS (
            SELECT rows.* FROM second_rows AS rows
            WHERE system IN (SELECT after FROM names)
            AND requirement NOT IN (SELECT requirement FROM searched)
        ), both_of AS (
            SELECT coalesce(one.requirement, two.requirement) AS requirement,
                coalesce(one.named, two.system) AS system,
                coalesce(one."case", two."case") AS "case",
                one."case" IS NOT NULL AND two."case" IS NOT NULL AND NOT ({same or "TRUE"}) AS differs,
                coalesce(one.status, '{_ABSENT}') AS before, coalesce(two.status, '{_ABSENT}') AS after,
                one.margin AS margin_before, two.margin AS margin_after,
                coalesce(two.reason, one.reason, '') AS reason,
                coalesce(one.images, '') AS images_before, coalesce(two.images, '') AS images_after,
                {_frame(columns)} AS frame
            FROM one FULL JOIN two ON one.requirement = two.requirement AND one.named = two.system
            AND one."case" = two."case"
        )
        SELECT * REPLACE (CASE WHEN differs THEN '{_DIFFERENT}' ELSE before END AS before,
            CASE WHEN differs THEN '{_DIFFERENT}' ELSE after END AS after),
            before IN {_FAILED} AS failed_before, after IN {_FAILED} AS failed_after
        FROM both_of
        """
    )


def _alike(column: str) -> str:
    """Return whether both cases have one value, be it stored as text, whole number or number.

    Other requirements of a run may use the name for values of another kind, and then a query gives those of
    all in the kind that holds them: 1 as 1.0, or as text.
    """
    one, two = (f"CAST({table}.{column} AS VARCHAR)" for table in ("one", "two"))
    as_numbers = f"TRY_CAST({one} AS DOUBLE) = TRY_CAST({two} AS DOUBLE)"
    return f"({one} IS NOT DISTINCT FROM {two} OR coalesce({as_numbers}, FALSE))"


def _frame(columns: Sequence[Sequence[str]]) -> str:
    """Return what names the source frame of a case: cases of one frame are not independent."""
    given = [
        f'CAST({table}."{name}" AS VARCHAR)'
        for name in ("param.frame", "measure.frame")
        for table, known in zip(("one", "two"), columns, strict=True)
        if name in known
    ]
    return f'coalesce({", ".join([*given, """one."case" """, """two."case" """])})'


_JUDGED = "('passed', 'violated', 'error')"

_KINDS = f"""
    SELECT requirement, system, size, change, count(*) FROM (
        SELECT requirement, system, frame, count(*) AS size,
            count(*) FILTER (failed_after AND NOT failed_before)
            - count(*) FILTER (failed_before AND NOT failed_after) AS change
        FROM paired WHERE before IN {_JUDGED} AND after IN {_JUDGED} GROUP BY requirement, system, frame
    ) GROUP BY requirement, system, size, change
"""

_SHIFTS = """
    SELECT requirement, system, median(
        CASE WHEN margin_after = margin_before THEN 0.0 ELSE margin_after - margin_before END
    ) AS shift
    FROM paired WHERE margin_before IS NOT NULL AND margin_after IS NOT NULL AND before <> 'different'
    GROUP BY requirement, system, frame
"""


def _worst(kind: str, side: str) -> str:
    condition = (
        "failed_after AND before = 'passed'" if kind == "broken" else "failed_before AND after = 'passed'"
    )
    return f"""
        SELECT requirement, system, "case", margin_before, margin_after, before, after, reason,
            images_before, images_after
        FROM paired WHERE {condition}
        QUALIFY row_number() OVER (
            PARTITION BY requirement, system ORDER BY margin_{side} NULLS FIRST, "case"
        ) <= {_PER_KIND}
        ORDER BY requirement, system, margin_{side} NULLS FIRST, "case"
    """


def _add_shifts(connection: duckdb.DuckDBPyConnection, found: Mapping[Key, Paired]) -> None:
    connection.execute(f"CREATE TABLE shifts AS {_SHIFTS}")
    keys = "SELECT requirement, system, count(*) FROM shifts GROUP BY ALL ORDER BY requirement, system"
    ordered = "SELECT shift FROM shifts ORDER BY requirement, system"
    values = connection.execute(ordered).fetchnumpy()["shift"]
    start = 0
    for requirement, system, number in _asked(connection, keys):
        own = np.asarray(values[start : start + number], np.float64)
        found[requirement, system].shifts = own[~np.isnan(own)]
        start += number


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [str(row[0]) for row in _asked(connection, f"SELECT column_name FROM (DESCRIBE {table})")]


def _asked(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterable[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return rows
