"""The rows of a test: what is kept of every test case, and the verdicts that carry them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from roadworthy.bbsl.specification import Spec
from roadworthy.cases import Case, Scalar, Status, Verdict
from roadworthy.errors import InputError

__all__ = ["Corners", "TestRow", "check_labels", "joined", "row_of"]

_NAMES = ("x1", "y1", "x2", "y2")
_BETWEEN, _NONE = " + ", "(none)"
Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class TestRow:
    """One test case: an object of a frame, or a whole frame.

    Attributes:
        frame: The id of the frame.
        expected: The cases that the ground truth leads to.
        found: The cases that the detections lead to; None when they are out of scope.
        passed: The verdict; None when it says nothing.
        margin: By how many pixels the edges may be off before the verdict changes; negative when it is not
            passed.
        iou: The IoU of the object and its detection, 0 without one; None for a whole frame.
        truth: The object's box in pixels; None for a whole frame.
        detection: The box of its detection.
        reason: Why there is no verdict, or why it is out of scope.
    """

    __test__ = False  # else pytest takes it for a test

    frame: str
    expected: tuple[str, ...]
    found: tuple[str, ...] | None
    passed: bool | None
    margin: float
    iou: float | None = None
    truth: Corners | None = None
    detection: Corners | None = None
    reason: str = ""

    @property
    def expectation(self) -> str:
        """The expected cases as one name."""
        return joined(self.expected)

    def measures(self) -> dict[str, Scalar]:
        """Return the row as flat measures of a verdict."""
        known: dict[str, Scalar] = {
            "frame": self.frame,
            "expected": joined(self.expected),
            "found": None if self.found is None else joined(self.found),
            "iou": self.iou,
        }
        for name, box in (("truth", self.truth), ("detection", self.detection)):
            if box is not None:
                known |= {f"{name}.{side}": value for side, value in zip(_NAMES, box, strict=True)}
        return known

    def verdict(self, case: Case) -> Verdict:
        """Return the verdict that carries the row."""
        if self.passed is None:
            return Verdict.not_applicable(case, self.reason, self.measures())
        # On the border the margin has no sign; the verdict has one.
        status = Status.PASSED if self.passed else Status.VIOLATED
        return Verdict(case.id, case.requirement_id, status, self.margin, self.reason, self.measures())


def row_of(verdict: Verdict) -> TestRow | None:
    """Return the row that a verdict carries; None when it is an error, which carries none.

    Example:
        >>> from roadworthy.cases import Drive
        >>> row = TestRow("000007", ("stop",), ("stop",), True, 4.5, 0.8, (0, 0, 2, 2), (0, 0, 2, 3))
        >>> row_of(row.verdict(Case("000007#0", "R1", (Drive("-"),)))) == row
        True
    """
    known = verdict.measures
    if verdict.status is Status.ERROR:
        return None
    iou = known.get("iou")
    found = known.get("found")
    return TestRow(
        str(known["frame"]),
        split(str(known.get("expected", ""))),
        None if found is None else split(str(found)),
        None if verdict.status is Status.NOT_APPLICABLE else verdict.status is Status.PASSED,
        math.nan if verdict.margin is None else verdict.margin,
        None if iou is None else float(iou),
        _corners("truth", verdict),
        _corners("detection", verdict),
        verdict.reason,
    )


def joined(labels: tuple[str, ...]) -> str:
    """Return several cases as one name."""
    return _BETWEEN.join(labels) if labels else _NONE


def split(name: str) -> tuple[str, ...]:
    """Return the cases of a name that was joined."""
    return () if name in ("", _NONE) else tuple(name.split(_BETWEEN))


def check_labels(spec: Spec) -> None:
    """Check that the names of cases can be told apart once they are joined.

    Raises:
        InputError: One cannot be.
    """
    for label in spec.labels:
        if _BETWEEN in label or label == _NONE:
            raise InputError(f"the case {label!r} would be read as several or none in rows: rename it")


def _corners(name: str, verdict: Verdict) -> Corners | None:
    if f"{name}.x1" not in verdict.measures:
        return None
    x1, y1, x2, y2 = (float(verdict.measures[f"{name}.{side}"] or 0.0) for side in _NAMES)
    return (x1, y1, x2, y2)
