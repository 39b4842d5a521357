"""Stored rows as a table that DuckDB can be asked about."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.cases import Scalar
from roadworthy.errors import InputError
from roadworthy.runs.store.parts import opened_part
from roadworthy.runs.store.reading import Snapshot
from roadworthy.runs.store.rows import CORE_COLUMNS, Row, table_of

if TYPE_CHECKING:
    import duckdb

__all__ = ["add_view", "answers", "connected", "quoted"]

_IN_SQL = {"string": "VARCHAR", "double": "DOUBLE"}


def connected(snapshots: Sequence[Snapshot]) -> duckdb.DuckDBPyConnection:
    """Return a database with the view ``cases`` of the rows of some runs, and nothing else in reach.

    Raises:
        InputError: A file is damaged.
    """
    import duckdb

    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            # It is made when it is needed, and deleted. One of its own: files in it can be read by queries.
            "temp_directory": str(Path(tempfile.gettempdir(), f"roadworthy-queries-{os.getpid()}")),
        }
    )
    add_view(connection, snapshots, "cases")
    # The text of a query may come from anywhere: it sees these rows, and no other file.
    full = [str(path) for snapshot in snapshots for path in snapshot.full]
    connection.execute("SET allowed_paths = $1", [full])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def add_view(connection: duckdb.DuckDBPyConnection, snapshots: Sequence[Snapshot], name: str) -> None:
    """Add the view of the rows of some runs to a database.

    Raises:
        InputError: A file is damaged.
    """
    import duckdb

    full = [path for snapshot in snapshots for path in snapshot.full]
    newest = [row for snapshot in snapshots for row in snapshot.newest]
    # A table, because what is registered is there for one connection only, and threads have each their own.
    connection.register("roadworthy_rows", table_of(_united(newest)))
    connection.execute(f"CREATE TABLE {quoted(f'{name}_newest')} AS SELECT * FROM roadworthy_rows")
    connection.unregister("roadworthy_rows")
    both = f"SELECT * FROM {quoted(f'{name}_newest')}"
    try:
        if full:
            shards = connection.read_parquet([str(path) for path in full], union_by_name=True)
            shards.create_view(f"{name}_full")
            kinds = dict(zip(shards.columns, map(str, shards.types), strict=True))
            if any(kinds.get(column) != _IN_SQL[kind] for column, kind in CORE_COLUMNS.items()):
                _check_shards(full)
            both = f"SELECT * FROM {quoted(f'{name}_full')} UNION ALL BY NAME {both}"
        connection.execute(f"CREATE VIEW {quoted(name)} AS {both}")
    except duckdb.Error as error:
        _check_shards(full)
        told = str(error).splitlines()[0]
        raise InputError(f"the rows in {full[0].parent} cannot be read: {told}") from error


def answers(
    connection: duckdb.DuckDBPyConnection,
    snapshots: Sequence[Snapshot],
    sql: str,
    parameters: Sequence[Scalar] | Mapping[str, Scalar],
) -> list[Row]:
    """Return the rows that answer a question.

    Raises:
        InputError: It is no SELECT, or is not understood, or a file is damaged.
    """
    import duckdb

    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(f"expected one SELECT, got {sql!r}")
        # A connection of its own, so that several threads may ask at once.
        cursor = connection.cursor()
        cursor.execute(sql, dict(parameters) if isinstance(parameters, Mapping) else list(parameters))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except duckdb.Error as error:
        _check_shards(path for snapshot in snapshots for path in snapshot.full)
        raise InputError(f"the query {sql!r} cannot be answered: {error}") from error


def _check_shards(paths: Iterable[Path]) -> None:
    """Raise if a file is damaged; DuckDB does not always say which."""
    for path in paths:
        with opened_part(path) as file:
            for _ in file.iter_batches():
                pass


def quoted(name: str) -> str:
    """Return a name as SQL has it.

    Example:
        >>> quoted("param.amount")
        '"param.amount"'
    """
    return '"' + name.replace('"', '""') + '"'


def _united(rows: Sequence[Row]) -> Sequence[Row]:
    """Return rows whose columns hold values of one kind each, as DuckDB unites the columns of full shards."""
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    mixed = {name: found for name, found in kinds.items() if len(found) > 1 and found != {int, float}}
    if not mixed:
        return rows
    return [
        {name: _as_one(value, mixed[name]) if name in mixed else value for name, value in row.items()}
        for row in rows
    ]


def _as_one(value: Scalar, kinds: set[type]) -> Scalar:
    if str in kinds:
        return str(value).lower() if isinstance(value, bool) else str(value)
    return int(value) if isinstance(value, bool) else value
