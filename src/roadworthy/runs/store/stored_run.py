"""Reading what runs have stored: rows, outcomes and images of one run or of many in one folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import naming
from roadworthy.cases import Outcome, Requirement, Scalar, Status
from roadworthy.errors import InputError, suggest
from roadworthy.runs.store.database import add_view, answers, connected
from roadworthy.runs.store.images import image_path
from roadworthy.runs.store.manifest import MANIFEST, read_manifest
from roadworthy.runs.store.reading import Snapshot
from roadworthy.runs.store.records import read_outcome, read_records, read_requirement
from roadworthy.runs.store.rows import Row

if TYPE_CHECKING:
    import duckdb

__all__ = ["StoredPair", "StoredRun"]


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
class _Found:
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
        >>> from roadworthy.cases import Case, Drive, Verdict
        >>> from roadworthy.runs import RunStore
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with RunStore(Path(folder), requirement, system="dave2") as store:
        ...         for number, margin in enumerate([0.5, -0.25, -2.0]):
        ...             case = Case(f"lap {number}", "R1", (Drive("oval"),), {"speed": 10 * number})
        ...             store.append(case, Verdict.from_margin(case, margin))
        ...     run = StoredRun.open(folder)
        ...     [(row["case"], row["margin"]) for row in run.worst("R1")]
        ...     run.query('SELECT max("param.speed") AS fastest FROM cases WHERE status = $1', ["passed"])
        [('lap 2', -2.0), ('lap 1', -0.25)]
        [{'fastest': 0}]
    """

    def __init__(self, folder: Path, pairs: Sequence[_Found]) -> None:
        self.folder = folder
        self._found = pairs

    @classmethod
    def open(cls, folder: str | Path) -> StoredRun:
        """Open the folder of a run.

        Raises:
            InputError: The folder holds no run, or a file is missing or cannot be read.
        """
        folder = Path(folder)
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
        return cls(
            folder,
            [_Found(place.parent, read_records(place)[0], Snapshot.of(place.parent)) for place in places],
        )

    @cached_property
    def manifest(self) -> Mapping[str, Any] | None:
        """What was tested, with what and where; None where nobody wrote it down."""
        return read_manifest(self.folder)

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
        return answers(self._connection, self._snapshots, sql, parameters)

    def worst(self, requirement: str | None = None, system: str | None = None, count: int = 50) -> list[Row]:
        """Return the worst failures: violations by margin, the farthest from passing first, then errors.

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
            'ORDER BY margin NULLS LAST, requirement, system, "case" LIMIT $1'
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

    def attach(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Create the view of the rows, under a name, in a database of the caller's: to join two runs, say.

        Args:
            connection: The database.
            name: What the view is called.

        Raises:
            InputError: A file is damaged.
        """
        add_view(connection, self._snapshots, name)

    @property
    def _snapshots(self) -> list[Snapshot]:
        return [found.snapshot for found in self._found]

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connected(self._snapshots)

    def _chosen(self, requirement: str | None, system: str | None) -> list[_Found]:
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
