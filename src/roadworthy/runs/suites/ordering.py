"""What is tried first: cases that failed before, or are like those that did, for the time that they take."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from roadworthy._files import read_text
from roadworthy.cases import Case
from roadworthy.errors import InputError
from roadworthy.runs.store import StoredRun

_SCORES = read_text(Path(__file__).with_suffix(".sql"))


class Order:
    """How much is to be expected of a case in a second, by what an earlier run found.

    Attributes:
        digest: The SHA-256 of what it goes by.

    Args:
        folder: The folder of a run of the same suite, or one like it, with any models.

    Raises:
        InputError: It is no run, or says nothing about frames.
    """

    def __init__(self, folder: Path) -> None:
        run = StoredRun.open(folder)
        columns = {row["column_name"] for row in run.query("SELECT column_name FROM (DESCRIBE cases)")}
        gain = '"measure.gain"' if "measure.gain" in columns else "0"
        rows = run.query(_SCORES.format(gain=gain)) if "param.frame" in columns else []
        if not rows:
            raise InputError(f"{folder} judged no case that is about a frame, so it suggests no order")
        found = [(str(row["requirement"]), str(row["frame"]), float(row["score"] or 0)) for row in rows]
        self._known = {(requirement, frame): score for requirement, frame, score in found}
        self._requirements = _means((requirement, score) for requirement, _, score in found)
        # Beside what else is seen in the requirement, a frame may be hard or easy.
        self._frames = _means((one, score / (self._requirements[id] or 1.0)) for id, one, score in found)
        self._unknown = fmean(self._requirements.values())
        cases: dict[str, int] = {}
        for row in rows:
            cases[str(row["requirement"])] = cases.get(str(row["requirement"]), 0) + int(row["cases"] or 0)
        took = (run.manifest or {}).get("seconds", {})
        self._seconds = {id: float(took[id]) / count for id, count in cases.items() if took.get(id)}
        self.digest = sha256(repr((found, sorted(self._seconds.items()))).encode()).hexdigest()
        self._second = fmean(self._seconds.values()) if self._seconds else 1.0

    def of_case(self, case: Case) -> float:
        """Return what is to be expected of a case."""
        return self.expected(case.requirement_id, str(case.parameters.get("frame", "")))

    def expected(self, requirement: str, frame: str) -> float:
        """Return what is to be expected of a requirement on a frame: what was found, or on others like it."""
        guess = self._requirements.get(requirement, self._unknown) * self._frames.get(frame, 1.0)
        return self._known.get((requirement, frame), guess) / self._seconds.get(requirement, self._second)

    def of_requirements(self, ids: Iterable[str]) -> float:
        """Return what is to be expected of a case of some requirements."""
        each = [self._requirements.get(id, self._unknown) / self._seconds.get(id, self._second) for id in ids]
        return fmean(each)


def _means(found: Iterable[tuple[str, float]]) -> dict[str, float]:
    every: dict[str, list[float]] = {}
    for name, score in found:
        every.setdefault(name, []).append(score)
    return {name: fmean(scores) for name, scores in every.items()}
