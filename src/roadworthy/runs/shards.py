"""Shares of a run: several machines test a part each, and their folders are merged to that of one run.

Who tests what follows from the keys of cases alone, so nobody has to talk to anybody. A share is of whole
batches: what a network answers may depend, in the last digits, on what else is in its batch.
"""

from __future__ import annotations

import filecmp
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from roadworthy.cases import Case
from roadworthy.errors import InputError
from roadworthy.runs.executors.serial import Here
from roadworthy.runs.executors.work import BatchJob, Done, Executor, Pair, Session, WorkUnit
from roadworthy.runs.store.manifest import MANIFEST, Tested, check_manifest, difference, read_manifest
from roadworthy.runs.store.parts import read_rows, verdict_of
from roadworthy.runs.store.rows import Row, storable
from roadworthy.runs.store.stored_run import StoredRun
from roadworthy.runs.store.writing import storing

if TYPE_CHECKING:
    from roadworthy.runs.suites.planning import SuitePlan


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
        found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            told = f"a shard must be its number and how many there are, such as 2/4, got {text!r:.80}"
            raise InputError(told)
        return cls(int(found[1]), int(found[2]))

    def takes(self, *key: str) -> bool:
        """Return whether what has this key is in this share."""
        return number_of(key, self.of) == self.number

    def has(self, batch: Sequence[Case]) -> bool:
        """Return whether a batch is in this share."""
        return self.takes(*batch_key(batch))

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
        self._runs = _in_order(folders)
        self._other = other
        self.first = folders[0]
        self.settings: Mapping[str, Any] = (read_manifest(self.first) or {})["settings"]
        self._pairs = {(one.requirement.id, one.system) for run in self._runs.values() for one in run.pairs}
        self._rows: dict[tuple[int, Pair], Iterator[Row]] = {}

    def check(self, plan: SuitePlan, tested: Tested) -> None:
        """See that the shards are what they were, and of the models, data and requirements that are here.

        Raises:
            InputError: They are not.
        """
        # These are of what runs have stored, and so of what stores them.
        from roadworthy.runs.evidence.checking import verify
        from roadworthy.runs.evidence.reopening import conclude_again

        for number, run in self._runs.items():
            found = verify(run.folder)
            conclude_again(run, plan, found)
            if found.findings:
                raise InputError(
                    f"{run.folder} is not what shard {number} was when it ended: {found.findings[0]}; "
                    f"`roadworthy evidence verify {run.folder}` tells more: restore it, or run it again"
                )
        mine: Tested = {**tested, "settings": {**tested["settings"], "shard": self.settings["shard"]}}
        check_manifest(self.first, **mine)
        for trial, model in plan.pairs:
            if (trial.requirement.id, model) not in self._pairs:
                raise InputError(f"no shard has rows of {trial.requirement.id} on {model}: run all again")

    def copy(self, place: Path, out: Path, key: Sequence[str] = ()) -> None:
        """Copy a folder with the images that its rows name.

        Args:
            place: The folder, as it lies in a run.
            out: The folder of the merged run.
            key: What decided which shard has it, as with searches; without one, all that have it.
        """
        for number, run in self._runs.items():
            if not key or number_of(key, len(self._runs)) == number:
                rows = read_rows(run.folder / place) if key else ()
                named = (run.image(digest) for row in rows for digest in str(row["images"]).split())
                for path in (*sorted((run.folder / place).rglob("*")), *named):
                    _copy(path, run.folder, out)

    def session(self, job: BatchJob, /) -> AbstractContextManager[Session]:
        """Prepare for the batches of a run."""
        if job.tested.isdisjoint(self._pairs):
            return self._other.session(job)
        return self._answering(job)

    @contextmanager
    def _answering(self, job: BatchJob) -> Iterator[Session]:
        yield Here(partial(self.done, job))
        for number, pair in product(self._runs, sorted(job.tested)):
            if (row := next(self._rows_of(number, pair), None)) is not None:
                there = f"{self._runs[number].folder} has a row of case {row['case']!r} of {pair[0]}"
                raise InputError(f"{there} on {pair[1]} too many: run shard {number} again")

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
        done = Done()
        number = number_of(batch_key(unit.cases), len(self._runs))
        run = self._runs[number]
        for system in unit.systems:
            for place, case in enumerate(unit.cases):
                if (pair := (case.requirement_id, system)) not in job.tested:
                    continue
                row = next(self._rows_of(number, pair), None)
                if row is None or row["case"] != storable(case.id):
                    there = "no more rows" if row is None else f"case {row['case']!r}"
                    raise InputError(
                        f"{run.folder} has {there} of {pair[0]} on {system} where the suite has "
                        f"case {case.id!r}: run shard {number} again"
                    )
                hashes = str(row["images"]).split()
                done.images |= {one: run.image(one).read_bytes() for one in hashes}
                done.add(job, place, case, system, verdict_of(row), *hashes)
        return done

    def _rows_of(self, number: int, pair: Pair) -> Iterator[Row]:
        if (number, pair) not in self._rows:
            self._rows[number, pair] = iter(self._runs[number].rows(*pair))
        return self._rows[number, pair]


def _copy(path: Path, source: Path, out: Path) -> None:
    """Copy a file of a shard; none may lie elsewhere, or be another one than that of another shard."""
    if not path.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{path} is a link out of the shard, and is not merged: put there what it leads to")
    target = out / path.relative_to(source)
    if target.is_file() and not filecmp.cmp(path, target, shallow=False):
        raise InputError(f"{path} is not what another shard has in this place: run both again")
    if path.is_file():
        with storing(out):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _in_order(folders: Sequence[Path]) -> dict[int, StoredRun]:
    """Return runs by the numbers of their shards; refuse what does not belong together."""
    found: dict[int, StoredRun] = {}
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
            raise InputError(
                f"{found[shard.number].folder} and {folder} are both shard {shard}: leave one out"
            )
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
        found[shard.number] = StoredRun.open(folder)
    if not found:
        raise InputError("give the folders of all shards, got none")
    if missing := [str(number) for number in range(1, shard.of + 1) if number not in found]:
        raise InputError(f"of {shard.of} shards, number {', '.join(missing)} is not among the folders given")
    return found
