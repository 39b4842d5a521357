"""Shares of a run: several machines test a part each, and their folders are merged to that of one run.

Who tests what follows from the keys of cases alone, so nobody has to talk to anybody. A share is of whole
batches: what a network answers may depend, in the last digits, on what else is in its batch.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from roadworthy.cases import Case
from roadworthy.errors import InputError
from roadworthy.runs.executors.serial import Here
from roadworthy.runs.executors.work import BatchJob, Done, Executor, Pair, Session, WorkUnit
from roadworthy.runs.store.manifest import MANIFEST, difference, read_manifest
from roadworthy.runs.store.parts import read_rows, verdict_of
from roadworthy.runs.store.rows import Row, storable
from roadworthy.runs.store.stored_run import StoredRun
from roadworthy.runs.store.writing import add_image, storing


@dataclass(frozen=True)
class Shard:
    """Which share of a run is taken.

    Attributes:
        number: Of the share, from 1.
        of: How many there are.

    Example:
        >>> shard = Shard.read("2/4")
        >>> sum(shard.takes("R1", f"frame {number}") for number in range(1000))
        267
    """

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """Return the shard that "2/4" stands for.

        Raises:
            InputError: It is not of that form.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InputError(f"a shard must be its number and how many there are, such as 2/4, got {text!r}")
        return cls(int(number), int(of))

    def takes(self, *key: str) -> bool:
        """Return whether what has this key is in this share."""
        return number_of(key, self.of) == self.number

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def number_of(key: Sequence[str], of: int) -> int:
    """Return the number of the share that something belongs to."""
    digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % of + 1


def batch_key(cases: Sequence[Case]) -> tuple[str, str]:
    """Return what decides to which share a batch belongs."""
    return cases[0].requirement_id, cases[0].id


class Shards:
    """The shards of one run; an executor that has their rows for the answers.

    What they do not hold, such as what is asked about the models at the end, another executor answers.

    Args:
        folders: The folders of the shards, in any order.
        other: The other executor.

    Raises:
        InputError: A folder is no shard, or one of another run, or not complete; one is there twice, or
            missing.
    """

    name = "shards"
    workers = 1

    def __init__(self, folders: Sequence[Path], other: Executor) -> None:
        self.folders = _in_order(folders)
        self.first = folders[0]
        self._other = other
        self._runs = {number: StoredRun.open(folder) for number, folder in self.folders.items()}
        self._pairs = {(one.requirement.id, one.system) for run in self._runs.values() for one in run.pairs}
        self._rows: dict[tuple[int, Pair], Iterator[Row]] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that all of them have in common."""
        told: dict[str, Any] = (read_manifest(self.first) or {}).get("settings", {})
        return {name: value for name, value in told.items() if name != "shard"}

    def copy(self, place: Path, out: Path, key: Sequence[str] = ()) -> None:
        """Copy a folder with the images that its rows name.

        Args:
            place: The folder, as it lies in a run.
            out: The folder of the merged run.
            key: What decided which shard has it, as with searches; without one, all that have it.
        """
        of = len(self.folders)
        for number, source in self.folders.items():
            if (key and number_of(key, of) != number) or not (source / place).is_dir():
                continue
            with storing(out):
                shutil.copytree(source / place, out / place, dirs_exist_ok=True)
            for row in read_rows(source / place) if key else ():
                for digest in str(row["images"]).split():
                    with storing(out):
                        add_image(out / "images", self._runs[number].image(digest).read_bytes())

    def session(self, job: BatchJob, /) -> AbstractContextManager[Session]:
        """Prepare for the batches of a run."""
        if job.tested.isdisjoint(self._pairs):
            return self._other.session(job)
        return nullcontext(Here(partial(self.done, job)))

    def __enter__(self) -> Self:
        self._other.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._other.__exit__(*error)

    def done(self, job: BatchJob, unit: WorkUnit) -> Done:
        """Return what became of a batch.

        Raises:
            InputError: Its shard has other rows.
        """
        number = number_of(batch_key(unit.cases), len(self.folders))
        done = Done()
        for system in unit.systems:
            for place, case in enumerate(unit.cases):
                if (pair := (case.requirement_id, system)) not in job.tested:
                    continue
                row = next(self._rows_of(number, pair), None)
                if row is None or row["case"] != storable(case.id):
                    there = "no more rows" if row is None else f"case {row['case']!r}"
                    raise InputError(
                        f"{self.folders[number]} has {there} of {pair[0]} on {system} where the suite has "
                        f"case {case.id!r}: run shard {number} again"
                    )
                hashes = str(row["images"]).split()
                done.images |= {one: self._runs[number].image(one).read_bytes() for one in hashes}
                done.add(job, place, case, system, verdict_of(row), *hashes)
        return done

    def _rows_of(self, number: int, pair: Pair) -> Iterator[Row]:
        if (number, pair) not in self._rows:
            self._rows[number, pair] = iter(self._runs[number].rows(*pair))
        return self._rows[number, pair]


def _in_order(folders: Sequence[Path]) -> dict[int, Path]:
    """Return folders by the numbers of their shards; refuse what does not belong together."""
    found: dict[int, Path] = {}
    first: dict[str, Any] | None = None
    for folder in folders:
        record = read_manifest(folder)
        told = (record or {}).get("settings", {}).get("shard")
        if record is None or not isinstance(told, str):
            raise InputError(
                f"{folder} is no shard of a run: its {MANIFEST} names none; run with --shard i/n"
            )
        shard = Shard.read(told)
        if shard.number in found:
            raise InputError(f"{found[shard.number]} and {folder} are both shard {shard}: leave one out")
        if record.get("ended") is None:
            raise InputError(f"{folder} is not complete: give the command of shard {shard} again")
        alike = {"shard": f"of {shard.of}", "only": record.get("only", [])}
        record = {**record, "settings": {**record["settings"], **alike}}
        first = first or record
        if different := difference(first, record, may_grow=False):
            what, one, other = different
            raise InputError(
                f"{folder} is of another run than {folders[0]}: its {what} is {other}, there it is {one}"
            )
        found[shard.number] = folder
    if not found:
        raise InputError("give the folders of all shards, got none")
    if missing := [str(number) for number in range(1, shard.of + 1) if number not in found]:
        raise InputError(f"of {shard.of} shards, number {', '.join(missing)} is not among the folders given")
    return found
