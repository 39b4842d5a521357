"""Reading the rows of one run, also while it is being written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roadworthy._files import naming
from roadworthy.cases import Scalar, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.runs.store.parts import Parts, add_statuses, columns_of, opened_part
from roadworthy.runs.store.rows import CORE_COLUMNS, MEASURE, Row, table_of

__all__ = ["Snapshot", "read_rows", "read_verdicts", "verdict_of"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one run at one moment.

    Attributes:
        full: The full shards.
        newest: The rows after them.
    """

    full: tuple[Path, ...]
    newest: tuple[Row, ...]

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        """Return what a run holds now.

        Whatever a writer does meanwhile, this is a beginning of the run: a shard that becomes full between
        the two looks is missed as a whole.

        Raises:
            InputError: A shard is missing.
        """
        parts = Parts(folder)
        full = parts.full()
        return cls(tuple(full), tuple(parts.open_rows(len(full))[0]))

    def rows(self) -> Iterator[Row]:
        """Yield the rows, a few in memory at a time; each has every column that any of them has."""
        newest = table_of(self.newest)
        names = set(newest.schema.names)
        for path in self.full:
            with opened_part(path) as file:
                names.update(columns_of(file))
        columns = [*CORE_COLUMNS, *sorted(names - set(CORE_COLUMNS))]
        for path in self.full:
            with opened_part(path) as file:
                for batch in file.iter_batches(batch_size=1000):
                    for row in batch.to_pylist():
                        yield {name: row.get(name) for name in columns}
        for row in newest.to_pylist():
            yield {name: row.get(name) for name in columns}

    def counts(self) -> dict[Status, int]:
        """Return the number of rows of each status."""
        counts = dict.fromkeys(Status, 0)
        for path in self.full:
            with naming(path), opened_part(path) as file:
                add_statuses(counts, file)
        for row in self.newest:
            counts[Status(str(row["status"]))] += 1
        return counts


def read_rows(folder: Path) -> Iterator[Row]:
    """Yield the rows of a run, in the order in which they were written.

    Every row has every column that any row of the run has, with None where it has no value. Rows are
    read a few at a time.

    Raises:
        InputError: The folder is not a run, or one of its files is damaged.
    """
    if not (folder / "requirements.jsonl").is_file():
        raise InputError(f"{folder} is not the folder of a run: expected requirements.jsonl in it")
    yield from Snapshot.of(folder).rows()


def read_verdicts(folder: Path) -> Iterator[Verdict]:
    """Yield the verdicts of a run as its rows hold them: without the clues that a search was given.

    Raises:
        InputError: As `read_rows` and `verdict_of` do.
    """
    yield from map(verdict_of, read_rows(folder))


def verdict_of(row: Row) -> Verdict:
    """Return the verdict that a row holds.

    Raises:
        InputError: Its parts contradict each other, as a violation with a positive margin does.
    """
    return Verdict(
        case_id=str(row["case"]),
        requirement_id=str(row["requirement"]),
        status=Status(str(row["status"])),
        margin=_number(row["margin"]),
        reason=str(row["reason"]),
        measures={name.removeprefix(MEASURE): row[name] for name in row if name.startswith(MEASURE)},
        visual_change=_number(row["visual_change"]),
    )


def _number(value: Scalar) -> float | None:
    return None if value is None else float(value)
