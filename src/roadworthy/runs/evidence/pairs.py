"""What a run tested: every requirement on every system, also those that no case tried."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from roadworthy.cases import Outcome, Requirement, Scalar, Status
from roadworthy.errors import InputError
from roadworthy.runs.evidence.argument import Argued, Evidence
from roadworthy.runs.evidence.sums import encoded, sums_text
from roadworthy.runs.store import Row, StoredPair, StoredRun, read_rows
from roadworthy.runs.store.rows import read_records, read_requirement

NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class TestedPair:
    """A requirement on one system.

    Attributes:
        requirement: The requirement.
        system: The system's name.
        outcome: What the run concluded; None where it did not.
        counts: The number of cases per status.
        folder: Where the rows are, below the run, with slashes; empty where the run is one pair itself, None
            where nothing was stored.
    """

    requirement: Requirement
    system: str
    outcome: Outcome | None
    counts: Mapping[Status, int]
    folder: str | None

    @property
    def applicable(self) -> int:
        """How many cases tried the requirement."""
        return sum(count for status, count in self.counts.items() if status.is_judged)

    @property
    def failed(self) -> int:
        """How many of them failed: violations, and answers that cannot be used."""
        return self.counts.get(Status.VIOLATED, 0) + self.counts.get(Status.ERROR, 0)

    @property
    def accepted(self) -> float | None:
        """The largest failure rate that was accepted; None where the method does not decide by a rate."""
        rate = self.measure("max_rate")
        return rate if isinstance(rate, float) else None

    @property
    def searched(self) -> bool:
        """Whether cases follow the answers, so that the share of those that fail is no rate."""
        return self.requirement.method == "coverage" and self.measure("estimate") is None

    def measure(self, name: str) -> Scalar:
        """Return a figure of the outcome; None where there is none."""
        return None if self.outcome is None else self.outcome.measures.get(name)

    @property
    def status(self) -> str:
        """The outcome's status, or ``not tried`` where no case was applicable."""
        if not self.applicable:
            return NOT_TRIED
        return "inconclusive" if self.outcome is None else str(self.outcome.status)

    @property
    def summary(self) -> str:
        """What was found, in one sentence."""
        if self.outcome is not None:
            return self.outcome.summary
        if self.folder is None:
            return "it was not run"
        return f"the run was stopped after {sum(self.counts.values())} cases, before it concluded"

    def argued(self, places: Mapping[str, str]) -> Argued:
        """Return it as an argument needs it.

        Args:
            places: What the folders of the run hash to, as `folder_digests` gives it.
        """
        one = self.requirement
        proof: tuple[Evidence, ...] = ()
        if self.folder is not None and self.applicable:
            place = f"{self.folder}/" if self.folder else "cases/"
            if place not in places:
                raise InputError(
                    f"{place} is reached by a link, and evidence is of files: put there what it leads to"
                )
            proof = (Evidence(place, places[place]),)
        severity = str(one.severity)
        return Argued(
            one.id, one.text, one.method, self.system, self.status, self.summary, proof, one.tags, severity
        )


def pair_results(run: StoredRun) -> list[TestedPair]:
    """Return what a run tested, in the order of its suite.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from roadworthy.cases import Case, RecordDrive, Verdict
        >>> from roadworthy.runs import RunStore
        >>> with tempfile.TemporaryDirectory() as name:
        ...     requirement = Requirement("R1", "The lane is kept", "lanes")
        ...     with RunStore(Path(name), requirement, system="dave2") as store:
        ...         case = Case("lap 1", "R1", (RecordDrive("oval"),))
        ...         store.append(case, Verdict.from_margin(case, -0.5))
        ...     [(one.requirement.id, one.system, one.failed) for one in pair_results(StoredRun.open(name))]
        [('R1', 'dave2', 1)]
    """
    found: dict[tuple[str, str], TestedPair] = {}
    for pair in run.pairs:
        folder = "" if pair.folder == run.folder else pair.folder.relative_to(run.folder).as_posix()
        tested = TestedPair(pair.requirement, pair.system, pair.outcome, pair.counts, folder)
        found[pair.requirement.id, pair.system] = tested
    ordered: list[TestedPair] = []
    whole = run.folder / "requirements.jsonl"
    if (run.folder / "runs").is_dir() and whole.is_file():
        # The suite's own list also has what was never begun.
        for record in read_records(whole):
            key = str(record["id"]), str(record.get("system", ""))
            known = found.pop(key, None)
            ordered.append(known or TestedPair(read_requirement(record), key[1], None, {}, None))
    return [*ordered, *found.values()]


def rows_of(pair: StoredPair) -> Iterator[Row]:
    """Yield the rows of one requirement on one system, each with the system's name.

    As `StoredRun.rows` does, which looks through all pairs first: here a suite may have many thousands.
    """
    for row in read_rows(pair.folder):
        yield {**row, "system": row.get("system") or pair.system}


def folder_digests(digests: Mapping[str, str]) -> dict[str, str]:
    """Return what the files of each requirement and system hash to together, by their folders.

    It is the SHA-256 of their lines in SHA256SUMS: ``grep '  runs/r1/dave2/' SHA256SUMS | sha256sum`` gives
    the same.

    Args:
        digests: What files hash to, by their paths, in the order of SHA256SUMS.

    Example:
        >>> found = folder_digests({"runs/r1/dave2/cases/part": "0" * 64, "trace.csv": "1" * 64})
        >>> {place: digest[:12] for place, digest in found.items()}
        {'runs/r1/dave2/': '4d7ef86d4e51'}
    """
    below: dict[str, dict[str, str]] = {}
    for path, digest in digests.items():
        parts = path.split("/")
        if parts[0] == "runs" and len(parts) > 3:
            below.setdefault("/".join([*parts[:3], ""]), {})[path] = digest
        elif parts[0] == "cases":
            below.setdefault("cases/", {})[path] = digest
    return {place: hashlib.sha256(encoded(sums_text(files))).hexdigest() for place, files in below.items()}
