"""The verdict of a specification on one labelled frame, and which functions detections answer.

A test over single objects (the paper's) asks the specification about one object at a time: one function
gives its box, and another may say whether it is there at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.evaluation import Evaluator, SpecificationOutcome
from roadworthy.bbsl.margins import Margin, MarginContext, Margins
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.values import Coordinates
from roadworthy.cases import Case, Scalar, Status, Verdict
from roadworthy.errors import InputError, check_choice, check_known, check_number
from roadworthy.frames import Boxes
from roadworthy.ontology import ontology


@dataclass(frozen=True)
class ObjectRole:
    """The functions that stand for the object under test.

    Attributes:
        function: The one that gives its box.
        exists: Those that say whether it is there: true for an object of the ground truth, and for its
            detection if there is one.
        classes: Words of the ontology: which objects are tested. Detections of the same elements are matched
            with them, whatever their properties: a truck that is detected as a car is detected.
    """

    function: str
    exists: tuple[str, ...] = ()
    classes: tuple[str, ...] = ("vehicle",)

    def __post_init__(self) -> None:
        for word in self.classes:
            ontology().resolve(word)

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements of the ontology that the classes belong to: "truck" is a vehicle."""
        return tuple(dict.fromkeys(ontology().resolve(word).name for word in self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        """All functions that the role gives values to."""
        return (self.function, *self.exists)


def find_role(
    spec: Spec, bound: Collection[str], *, function: str = "", classes: Iterable[str] = ("vehicle",)
) -> ObjectRole | None:
    """Return the functions that stand for the object under test.

    Args:
        spec: The specification.
        bound: The functions that have values already.
        function: The one that gives the box; when left out, the only one of type bb that is not bound, if
            there is one.
        classes: Which objects are tested.

    Returns:
        None when every function of type bb is bound: then the test is about whole frames.

    Raises:
        InputError: The function is not declared or gives no box, or several come into question.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction vehicleExists(): bool vehicle(): bb stoppingDistance(): interval endexfunction
        ... precondition [vehicleExists() = true] endprecondition
        ... case stop PROJ_y(vehicle()) ~ stoppingDistance() endcase
        ... ''')
        >>> find_role(spec, ["stoppingDistance"])
        ObjectRole(function='vehicle', exists=('vehicleExists',), classes=('vehicle',))
    """
    boxes = [one.name for one in spec.functions if one.result is Type.BB and not one.parameters]
    if function:
        check_known("no function of type bb is called", function, boxes)
    else:
        free = [name for name in boxes if name not in bound]
        if not free:
            return None
        if len(free) > 1:
            names = " or ".join(f"{name}()" for name in free)
            raise InputError(
                f"the object may be {names}: choose it by --object, and bind the others by --set or --bind"
            )
        function = free[0]
    wanted = f"{function}exists".casefold()
    flags = (one.name for one in spec.functions if one.result is Type.BOOL and one.name not in bound)
    exists = tuple(name for name in flags if name.casefold() == wanted)
    return ObjectRole(function, exists, tuple(classes))


def object_values(role: ObjectRole, box: Sequence[float] | None) -> dict[str, Any]:
    """Return the values of the functions that stand for the object under test; None where there is no box.

    Example:
        >>> object_values(ObjectRole("vehicle", ("vehicleExists",)), None)
        {'vehicle': None, 'vehicleExists': False}
    """
    return {role.function: box, **dict.fromkeys(role.exists, box is not None)}


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
        >>> from roadworthy.cases import RecordDrive
        >>> row = TestRow("000007", ("stop",), ("stop",), True, 4.5, 0.8, (0, 0, 2, 2), (0, 0, 2, 3))
        >>> row_of(row.verdict(Case("000007#0", "R1", (RecordDrive("-"),)))) == row
        True
    """
    known = verdict.measures
    if verdict.status in (Status.ERROR, Status.ENGINE_ERROR):
        return None
    iou, found = known.get("iou"), known.get("found")
    labels = split(str(known.get("expected", ""))), None if found is None else split(str(found))
    passed = None if verdict.status is Status.NOT_APPLICABLE else verdict.status is Status.PASSED
    numbers = math.nan if verdict.margin is None else verdict.margin, None if iou is None else float(iou)
    corners = _corners("truth", verdict), _corners("detection", verdict)
    return TestRow(str(known["frame"]), *labels, passed, *numbers, *corners, verdict.reason)


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


Matching = Literal["best", "greedy", "optimal"]
"""How detections are matched with the ground truth."""

MATCHINGS: tuple[Matching, ...] = get_args(Matching)


@dataclass(frozen=True, eq=False)
class Matched:
    """The detection of every object.

    Attributes:
        index: The number of the detection, or -1 where none overlaps the object.
        iou: Its IoU with the object; 0 where there is none.
    """

    index: NDArray[np.int64]
    iou: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.index)


def match(truth: Boxes, detections: Boxes, matching: Matching = "best", *, least: float = 0.0) -> Matched:
    """Return the detection of every object of the ground truth.

    Args:
        truth: The objects.
        detections: What the detector found.
        matching: How they are matched: "best", "greedy" or "optimal".
        least: Pairs with an IoU of at most this are no match; with 0, boxes that share no area are none.

    Raises:
        InputError: There is no such matching, or ``least`` is not from 0 to 1.

    Example:
        >>> truth = Boxes([[0, 0, 10, 10], [2, 0, 12, 10]], ["car", "car"])
        >>> found = Boxes([[1, 0, 11, 10]], ["car"])
        >>> match(truth, found).index.tolist(), match(truth, found, "greedy").index.tolist()
        ([0, 0], [0, -1])
    """
    check_choice("matching", matching, MATCHINGS)
    check_number("least", least, least=0, below=1)
    iou = truth.iou(detections)
    index = np.full(len(truth), -1, np.int64)
    if iou.size:
        rows, columns = _PAIRS[matching](np.where(iou > least, iou, 0.0))
        index[rows] = columns
    taken = index >= 0
    overlap = np.zeros(len(truth))
    overlap[taken] = iou[taken, index[taken]]
    index[overlap <= least] = -1
    overlap[index < 0] = 0.0
    return Matched(index, overlap)


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _best(iou: NDArray[np.float64]) -> Pairs:
    return np.arange(len(iou)), iou.argmax(axis=1)


def _greedy(iou: NDArray[np.float64]) -> Pairs:
    rows, columns = [], []
    left = iou.copy()
    while left.max() > 0:
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        rows.append(int(row))
        columns.append(int(column))
        left[row] = 0
        left[:, column] = 0
    return np.array(rows, np.int64), np.array(columns, np.int64)


def _optimal(iou: NDArray[np.float64]) -> Pairs:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(iou, maximize=True)
    return np.asarray(rows, np.int64), np.asarray(columns, np.int64)


_PAIRS = {"best": _best, "greedy": _greedy, "optimal": _optimal}


Outside = Literal["fail", "apart"]
"""What a test is when the detections are outside of the scope: F as in the paper, or neither."""

OUTSIDE: tuple[Outside, ...] = get_args(Outside)

_SCOPE = "\0precondition"  # no label of a case


def judge(
    spec: Spec,
    truth: Mapping[str, Any],
    detected: Mapping[str, Any],
    *,
    height: float,
    width: float | None = None,
    moving: tuple[str, ...] = (),
    outside: Outside = "fail",
) -> TestRow:
    """Judge the detections by the ground truth; which frame it was and which object is for others to add.

    Args:
        spec: The specification.
        truth: The values of the external functions for the ground truth.
        detected: Their values for the detections.
        height: The height of the image in pixels.
        width: Its width, for IMG.
        moving: The functions whose boxes are detected, for the margin.
        outside: What detections out of scope are (an object that is not detected, say):
            "fail" as in the paper, or "apart".

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction vehicle(): bb endexfunction
        ... case stop PROJ_y(vehicle()) ~ [0, 100] endcase
        ... case NOT stop PROJ_y(vehicle()) > [0, 100] endcase
        ... ''')
        >>> truth, found = {"vehicle": [600, 180, 700, 300]}, {"vehicle": [600, 180, 700, 270]}
        >>> row = judge(spec, truth, found, height=375, moving=("vehicle",))
        >>> row.passed, row.expected, row.found, row.margin
        (False, ('stop',), ('NOT stop',), -5.0)
    """
    check_choice("outside", outside, OUTSIDE)
    outcome = spec.evaluate(truth, height=height, width=width)
    reason = out_of_scope(outcome, "the ground truth")
    if reason:
        return TestRow("", (), None, None, math.nan, reason=reason)
    expected = labels_of(outcome)
    outcome = spec.evaluate(detected, height=height, width=width)
    reason = out_of_scope(outcome, "the detections")
    if reason:
        return TestRow("", expected, None, False if outside == "fail" else None, -math.inf, reason=reason)
    found = labels_of(outcome)
    margins = _margins(spec, Evaluator(spec.prepared, detected, Coordinates(height, width)), moving)
    return TestRow("", expected, found, found == expected, verdict_margin(expected, found, margins))


def labels_of(outcome: SpecificationOutcome) -> tuple[str, ...]:
    """Return the cases that hold, in the order of the specification."""
    return tuple(label for label, value in outcome.values.items() if value)


def out_of_scope(outcome: SpecificationOutcome, boxes: str) -> str:
    """Return why a specification says nothing of some boxes; empty where it does say something.

    Example:
        >>> out_of_scope(SpecificationOutcome(False, {"stop": None}), "the detections")
        'the precondition does not hold for the detections'
    """
    if outcome.applies is not True:
        holds = "has no value" if outcome.applies is None else "does not hold"
        return f"the precondition {holds} for {boxes}"
    names = " and ".join(map(repr, sorted(outcome.unknown)))
    has = "has" if len(outcome.unknown) == 1 else "have"
    return f"{names} {has} no value for {boxes}" if names else ""


def _margins(spec: Spec, evaluator: Evaluator, moving: tuple[str, ...]) -> dict[str, Margin]:
    read = Margins(evaluator, moving)
    margins = {case.label: read.case(case) for case in spec.case_blocks}
    if spec.precondition is not None:
        margins[_SCOPE] = read.condition(spec.precondition, MarginContext())
    return margins


def verdict_margin(expected: tuple[str, ...], found: tuple[str, ...], margins: Mapping[str, Margin]) -> float:
    """Return how far the detections are from another verdict.

    A verdict that is passed changes as soon as one case changes; one that is not, when all cases that are
    wrong have changed.
    """
    sizes = {label: math.inf if one is None else abs(one) for label, one in margins.items()}
    if expected == found:
        return min(sizes.values())
    return -max(sizes[label] for label in set(expected) ^ set(found))
