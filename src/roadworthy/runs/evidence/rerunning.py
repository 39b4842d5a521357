"""Running some cases of a stored run again, to see whether their verdicts come out as they were.

A search decides what to try next by the verdicts before, so of a search its first cases are run again; of all
other methods cases are drawn by lot.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from heapq import nsmallest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from roadworthy.cases import (
    TAKE_BACK,
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Feedback,
    Method,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.runs.evidence.pairs import rows_of
from roadworthy.runs.evidence.reopening import plan_of
from roadworthy.runs.single import run
from roadworthy.runs.store import MEASURE, Row, StoredPair, StoredRun, read_verdicts
from roadworthy.runs.suites.passes import Pass
from roadworthy.runs.suites.planning import SuitePlan, Trial

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class RerunDifference:
    """A case that did not come out as it was.

    Attributes:
        requirement: The requirement's id.
        system: The system.
        case: The case.
        what: What differs: ``status``, ``margin``, a measure, or ``case`` when it was not made again.
        stored: What the run holds.
        again: What came now.
    """

    requirement: str
    system: str
    case: str
    what: str
    stored: Scalar
    again: Scalar

    def __str__(self) -> str:
        where = f"{self.requirement} on {self.system}, case {self.case!r}"
        return f"{where}: {self.what} was {self.stored!r} and is {self.again!r}"


@dataclass(slots=True)
class Rerun:
    """What running again showed.

    Attributes:
        asked: How many cases were asked for.
        compared: How many cases were run again and compared.
        identical: How many of them came out the same to the last bit.
        tolerance: How far numbers may differ, relative to their size and at least to 1.
        differences: What differs by more than the tolerance.
        notes: What a reader should know.
    """

    asked: int
    compared: int = 0
    identical: int = 0
    tolerance: float = 1e-6
    differences: list[RerunDifference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether cases were compared and none differs."""
        return self.compared > 0 and not self.differences

    @property
    def differing(self) -> int:
        """How many cases differ."""
        return len({(one.requirement, one.system, one.case) for one in self.differences})

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        yield from map(str, self.differences)
        yield from (f"Note: {note}" for note in self.notes)
        yield (
            f"{self.compared} cases were run again: {self.identical} came out the same to the last bit, "
            f"{self.compared - self.identical - self.differing} within {self.tolerance:g}, "
            f"{self.differing} differ"
        )

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"passed": self.passed, **asdict(self)}


def rerun_sample(
    folder: Path,
    count: int,
    *,
    suite: Path | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> Rerun:
    """Run some cases of a stored run again and compare their verdicts with those stored.

    Args:
        folder: The folder of the run, which was made from a suite.
        count: How many cases, over all requirements and systems.
        suite: The suite file where it stands; the copy in the run when left out.
        seed: The seed of the lot; the same seed draws the same cases.
        tolerance: How far margins and measures may differ, relative to their size and at least to 1. On the
            same machine and libraries they agree to the last bit; others round differently.
        allow_commands: Whether engines of the user may run programs and code.
        progress: Called with what is done and how many of it are.

    Raises:
        InputError: The run was not made from a suite, or something that it names cannot be reached.
    """
    told = progress or (lambda *_: None)
    stored = StoredRun.open(folder)
    plan = plan_of(folder, suite, allow_commands=allow_commands)
    trials = {trial.requirement.id: trial for trial in plan.trials}
    found = Rerun(count, tolerance=tolerance)
    drawn = _drawn(stored, trials, count, seed)
    for pair in stored.pairs:
        if not (wanted := drawn.get((pair.requirement.id, pair.system))):
            continue
        again = _again(plan, trials[pair.requirement.id], pair, wanted)
        for case, row in wanted.items():
            _compare(row, again.get(case), pair, found)
        told("Running cases again", found.compared)
    if not found.compared:
        found.notes.append("no case of the run was applicable, so none could be run again")
    return found


def _drawn(
    stored: StoredRun, trials: Mapping[str, Trial], count: int, seed: int
) -> dict[tuple[str, str], dict[str, Row]]:
    """Return the rows that are run again, by requirement and system, and by case."""
    lot = nsmallest(count, _eligible(stored, trials, count, seed), key=lambda one: one[0])
    drawn: dict[tuple[str, str], dict[str, Row]] = {}
    for _, pair, row in lot:
        drawn.setdefault(pair, {})[str(row["case"])] = row
    return drawn


def _eligible(
    stored: StoredRun, trials: Mapping[str, Trial], count: int, seed: int
) -> Iterator[tuple[str, tuple[str, str], Row]]:
    for pair in stored.pairs:
        key = pair.requirement.id, pair.system
        if (trial := trials.get(key[0])) is None:
            continue
        judged = 0
        for row in rows_of(pair):
            if not Status(str(row["status"])).is_judged:
                continue
            judged += 1
            if trial.kind.one_at_a_time and judged > count:
                break
            text = "\x1f".join((str(seed), *key, str(row["case"])))
            yield hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest(), key, row


def _again(plan: SuitePlan, trial: Trial, pair: StoredPair, wanted: Iterable[str]) -> dict[str, Verdict]:
    """Return the verdicts on some cases, judged anew."""
    one = Pass(plan, (trial,), frozenset([(trial.requirement.id, pair.system)]))
    (system,) = one.systems()
    method = _Only(one.method([system]), wanted, search=trial.kind.one_at_a_time)
    with TemporaryDirectory(prefix="roadworthy-rerun-") as name:
        run(
            method,
            trial.requirement,
            one.data,
            system,
            out=Path(name, "run"),
            seed=plan.context.seed,
            simulator=one.simulator(),
            images="none",
            gate=plan.gate,
        )
        return {verdict.case_id: verdict for verdict in read_verdicts(Path(name, "run"))}


class _Only(BaseMethod):
    """A method that makes some of its cases only; of a search, all up to the last of them.

    Nothing is concluded from a sample: the rate is for the runner, which wants an outcome.
    """

    def __init__(self, method: Method, wanted: Iterable[str], *, search: bool) -> None:
        self.name = method.name
        self._method = method
        self._wanted = frozenset(wanted)
        self._open = set(self._wanted)
        self._search = search

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        for one in self._method.cases(requirement, data, rng):
            if self._search:
                yield one
                # A try that is taken back is made again under the same id, so only what was kept counts.
                if isinstance(one, AwaitVerdicts) and not self._open:
                    return
            elif isinstance(one, Case) and one.id in self._wanted:
                yield one
                self._open.discard(one.id)
                if not self._open:
                    return

    def judge(self, case: Case, answers: Answers) -> Verdict:
        return self._method.judge(case, answers)

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        told = self._method.feedback(case, verdict)
        if told is not TAKE_BACK:
            self._open.discard(case.id)
        return told


def _compare(row: Row, again: Verdict | None, pair: StoredPair, found: Rerun) -> None:
    key = pair.requirement.id, pair.system, str(row["case"])
    found.compared += 1
    if again is None:
        found.differences.append(RerunDifference(*key, "case", "there", "not made again"))
        return
    stored: dict[str, Scalar] = {"status": row["status"], "margin": row["margin"]}
    stored |= {name.removeprefix(MEASURE): row[name] for name in row if name.startswith(MEASURE)}
    now: dict[str, Scalar] = {"status": str(again.status), "margin": again.margin, **again.measures}
    same = True
    for name in [*stored, *(one for one in now if one not in stored)]:
        before, after = stored.get(name), now.get(name)
        if _identical(before, after):
            continue
        same = False
        if not _close(before, after, found.tolerance):
            found.differences.append(RerunDifference(*key, name, before, after))
    found.identical += same


def _identical(one: Scalar, other: Scalar) -> bool:
    # What is no number is no other, either.
    return one == other or repr(one) == repr(other) == "nan"


def _close(one: Scalar, other: Scalar, tolerance: float) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return False
    near = abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
    return near and math.isfinite(one) and math.isfinite(other)
