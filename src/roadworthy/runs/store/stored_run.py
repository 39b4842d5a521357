"""Reading what runs have stored: rows, outcomes and images, also as a table that DuckDB is asked about."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import naming
from roadworthy.cases import Outcome, Requirement, Scalar, Status
from roadworthy.errors import InputError, suggest
from roadworthy.places import copied, is_address
from roadworthy.runs.store.manifest import MANIFEST, read_manifest
from roadworthy.runs.store.parts import Snapshot, damaged, opened_part
from roadworthy.runs.store.rows import (
    CORE_COLUMNS,
    Row,
    read_outcome,
    read_records,
    read_requirement,
    table_of,
)
from roadworthy.runs.store.writing import image_path

if TYPE_CHECKING:
    import duckdb
    import pyarrow


Stoppable = Callable[[Callable[[], None]], AbstractContextManager[object]]
"""Is given what interrupts a query, for as long as there is one."""

_IN_SQL = {"string": "VARCHAR", "double": "DOUBLE"}


@contextmanager
def _refusing(snapshots: Sequence[Snapshot], query: str = "") -> Iterator[None]:
    """Let what DuckDB complains about be an error that names the damaged file, or the query.

    Raises:
        InputError: A file is damaged, or the query is not understood.
    """
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        _check_shards(path for snapshot in snapshots for path in snapshot.full)
        what = f"the query {query!r} cannot be answered" if query else "the rows cannot be read together"
        raise InputError(f"{what}: {error}") from error


@contextmanager
def joined(
    runs: Mapping[str, StoredRun], stoppable: Stoppable = nullcontext
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a new database with the views of the rows of some runs, under names, while it is asked.

    Args:
        runs: The runs, by what the view of each is called.
        stoppable: Is given what interrupts it while it goes on, from another thread.

    Raises:
        InputError: A file is damaged.
    """
    import duckdb

    snapshots = [one for run in runs.values() for one in run.snapshots]
    with _refusing(snapshots), duckdb.connect() as connection, stoppable(connection.interrupt):
        for name, run in runs.items():
            _add_view(connection, run.snapshots, name)
        yield connection


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
    with _refusing(snapshots):
        _add_view(connection, snapshots, "cases")
    # The text of a query may come from anywhere: it sees these rows, and no other file.
    full = [str(path) for snapshot in snapshots for path in snapshot.full]
    connection.execute("SET allowed_paths = $1", [full])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _add_view(connection: duckdb.DuckDBPyConnection, snapshots: Sequence[Snapshot], name: str) -> None:
    """Add the view of the rows of some runs to a database."""
    full = [path for snapshot in snapshots for path in snapshot.full]
    newest = [row for snapshot in snapshots for row in snapshot.newest]
    # A table, because what is registered is there for one connection only, and threads have each their own.
    connection.register("roadworthy_rows", table_of(_united(newest)))
    connection.execute(f"CREATE TABLE {quoted(f'{name}_newest')} AS SELECT * FROM roadworthy_rows")
    connection.unregister("roadworthy_rows")
    both = f"SELECT * FROM {quoted(f'{name}_newest')}"
    if full:
        shards = connection.read_parquet(list(map(str, full)), union_by_name=True)
        shards.create_view(f"{name}_full")
        kinds = dict(zip(shards.columns, map(str, shards.types), strict=True))
        if any(kinds.get(column) != _IN_SQL[kind] for column, kind in CORE_COLUMNS.items()):
            _check_shards(full)
        both = f"SELECT * FROM {quoted(f'{name}_full')} UNION ALL BY NAME {both}"
    connection.execute(f"CREATE VIEW {quoted(name)} AS {both}")


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

    with _refusing(snapshots, sql):
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(f"expected one SELECT, got {sql!r}")
        # A connection of its own, so that several threads may ask at once.
        cursor = connection.cursor()
        cursor.execute(sql, dict(parameters) if isinstance(parameters, Mapping) else list(parameters))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _check_shards(paths: Iterable[Path]) -> None:
    """Raise if a file is damaged; DuckDB does not always say which, and another reader may read it."""
    import duckdb

    with duckdb.connect() as connection:
        for path in paths:
            with opened_part(path) as file:
                for _ in file.iter_batches():
                    pass
            try:
                connection.read_parquet([str(path)]).aggregate("max(COLUMNS(*))").fetchall()
            except duckdb.Error as error:
                raise damaged(path, error) from error


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


@dataclass(frozen=True, slots=True)
class StoredPair:
    """What is stored of one requirement on one system.

    Attributes:
        requirement: The requirement.
        system: The name of the system.
        outcome: What the run concluded; None while it goes on, or where it was stopped.
        counts: The number of cases per status; every status is present.
        folder: Where the rows are.
        about: What else the run is of, such as its data and seed.
    """

    requirement: Requirement
    system: str
    outcome: Outcome | None
    counts: Mapping[Status, int]
    folder: Path
    about: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class _PairFolder:
    """What lies in the folder of one pair."""

    folder: Path
    record: Mapping[str, Any]
    snapshot: Snapshot

    @property
    def system(self) -> str:
        return str(self.record.get("system") or self.folder.name)

    def pair(self) -> StoredPair:
        with naming(self.folder / "requirements.jsonl"):
            outcome, requirement = read_outcome(self.record), read_requirement(self.record)
            about = self.record.get("run", {})
            if not isinstance(about, Mapping):
                raise InputError(f"'run' must be a mapping, got {about!r:.80}")
        counts = self.snapshot.counts() if outcome is None else outcome.counts
        return StoredPair(requirement, self.system, outcome, counts, self.folder, about)


class StoredRun:
    """A run as it was when it was opened, also one that is still going on.

    Args:
        folder: The folder of a suite, of several runs, or of one.
        pairs: What is in it.

    Example:
        >>> import tempfile
        >>> from roadworthy.cases import Case, RecordDrive, Verdict
        >>> from roadworthy.runs import RunStore
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with RunStore(Path(folder), requirement, system="dave2") as store:
        ...         for number, margin in enumerate([0.5, -0.25, -2.0]):
        ...             case = Case(f"lap {number}", "R1", (RecordDrive("oval"),), {"speed": 10 * number})
        ...             store.append(case, Verdict.from_margin(case, margin))
        ...     run = StoredRun.open(folder)
        ...     [(row["case"], row["margin"]) for row in run.worst("R1")]
        ...     run.query('SELECT max("param.speed") AS fastest FROM cases WHERE status = $1', ["passed"])
        [('lap 2', -2.0), ('lap 1', -0.25)]
        [{'fastest': 0}]
    """

    def __init__(self, folder: Path, pairs: Sequence[_PairFolder]) -> None:
        self.folder = folder
        self._found = pairs

    @classmethod
    def open(cls, folder: str | Path) -> StoredRun:
        """Open the folder of a run.

        Raises:
            InputError: The folder holds no run, or a file is missing or cannot be read.
        """
        folder = copied(folder) if is_address(folder) else Path(folder)
        places = sorted((folder / "runs").glob("*/*/requirements.jsonl"))
        begun = (folder / MANIFEST).is_file()
        # That of a suite lists what shall be run, before anything is; rows lie beside that of a single run.
        alone = not begun or (folder / "cases").is_dir()
        if not places and alone and (folder / "requirements.jsonl").is_file():
            places = [folder / "requirements.jsonl"]
        if not places and not begun:
            from roadworthy.driving.drives.readers.recorded import DRIVE_FILE

            if (folder / DRIVE_FILE).is_file():
                raise InputError(
                    f"{folder} must be the folder of a run; got a drive of `roadworthy driving drive`: "
                    f"`roadworthy driving metrics {folder}` measures it, and `roadworthy serve --run "
                    f"{folder}` shows it"
                )
            came = "another one" if folder.is_dir() else "a file" if folder.exists() else "nothing"
            raise InputError(
                f"{folder} must be the folder of a run, with requirements.jsonl and cases, or runs in it; "
                f"got {came}: give the folder that was written with --out"
            )
        found = ((place.parent, read_records(place)[0]) for place in places)
        return cls(folder, [_PairFolder(where, record, Snapshot.of(where)) for where, record in found])

    @cached_property
    def manifest(self) -> Mapping[str, Any] | None:
        """What was tested, with what and where; None where nobody wrote it down."""
        return read_manifest(self.folder)

    @cached_property
    def _records(self) -> Sequence[Mapping[str, Any]]:
        whole = self.folder / "requirements.jsonl"
        return read_records(whole) if whole.is_file() else []

    @property
    def asked(self) -> list[str]:
        """The ids of all requirements, in the order of their suite."""
        with naming(self.folder / "requirements.jsonl"):
            return [*dict.fromkeys(str(one["id"]) for one in self._records)]

    @cached_property
    def problems(self) -> Mapping[tuple[str, str], tuple[Requirement, str]]:
        """What could not be tried, by the ids of requirements and names of systems, and why."""
        with naming(self.folder / "requirements.jsonl"):
            return {
                (str(one["id"]), str(one.get("system"))): (read_requirement(one), str(one["problem"]))
                for one in self._records
                if "problem" in one
            }

    @cached_property
    def pairs(self) -> tuple[StoredPair, ...]:
        """What is stored of each requirement on each system."""
        return tuple(found.pair() for found in self._found)

    def rows(self, requirement: str | None = None, system: str | None = None) -> Iterator[Row]:
        """Yield the rows in the order in which they were written, a few in memory at a time.

        Args:
            requirement: The id of the requirement; of all when left out.
            system: The name of the system; of all when left out.

        Raises:
            InputError: There is no such requirement or system, or a file is damaged.
        """
        for found in self._chosen(requirement, system):
            yield from found.snapshot.rows()

    def query(self, sql: str, parameters: Sequence[Scalar] | Mapping[str, Scalar] = ()) -> list[Row]:
        """Ask in SQL, as DuckDB speaks it, of the table ``cases``.

        A column that has values of different kinds for two requirements is text there, and two names that
        differ in capitals only are one column.

        Args:
            sql: One SELECT. Names with a dot are quoted: ``"param.amount"``.
            parameters: The values of ``$1``, ``$2`` …, or of ``$name`` …: never put values into the text.

        Raises:
            InputError: It is no SELECT, or is not understood, or a file is damaged.
        """
        return answers(self._connection, self.snapshots, sql, parameters)

    def table(self, sql: str) -> pyarrow.Table:
        """Return the answer to a SELECT as a table: for very many rows.

        Raises:
            InputError: It is not understood, or a file is damaged.
        """
        with _refusing(self.snapshots, sql):
            return self._connection.cursor().sql(sql).to_arrow_table()

    def worst(self, requirement: str | None = None, system: str | None = None, count: int = 50) -> list[Row]:
        """Return the worst failures: violations by margin, the farthest from passing first, then errors.

        A margin that is infinite measures nothing: those come after the others.

        Args:
            requirement: The id of the requirement; of all when left out, though margins of two requirements
                may be in different units.
            system: The name of the system; of all when left out.
            count: The most rows.

        Raises:
            InputError: There is no such requirement or system, or a file is damaged.
        """
        chosen = [found.snapshot for found in self._chosen(requirement, system)]
        # A few files of thousands are sooner opened on their own.
        connection = self._connection if len(chosen) == len(self._found) else connected(chosen)
        sql = (
            "SELECT * FROM cases WHERE status IN ('violated', 'error') "
            'ORDER BY isinf(margin) NULLS LAST, margin, requirement, system, "case" LIMIT $1'
        )
        return answers(connection, chosen, sql, [count])

    def image(self, digest: str) -> Path:
        """Return the file of an image that a row names.

        Raises:
            InputError: It is not there.
        """
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise InputError(f"an image is named by 64 hexadecimal digits, got {digest!r}")
        folder = self.folder
        if not (folder / "images").is_dir() and folder.parent.parent.name == "runs":
            folder = folder.parent.parent.parent
        path = image_path(folder / "images", digest)
        if not path.is_file():
            raise InputError(f"the image {digest} is not in {folder / 'images'}: the run may have been moved")
        return path

    @property
    def snapshots(self) -> list[Snapshot]:
        """The files of all rows, as they were when the run was opened."""
        return [found.snapshot for found in self._found]

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connected(self.snapshots)

    def _chosen(self, requirement: str | None, system: str | None) -> list[_PairFolder]:
        known = {str(found.record["id"]) for found in self._found}
        if requirement is not None and requirement not in known:
            raise InputError(
                f"{self.folder} has no requirement {requirement!r}; {suggest(requirement, known)}"
            )
        systems = {found.system for found in self._found}
        if system is not None and system not in systems:
            raise InputError(f"{self.folder} has no system {system!r}; {suggest(system, systems)}")
        return [
            found
            for found in self._found
            if requirement in (None, found.record["id"]) and system in (None, found.system)
        ]
