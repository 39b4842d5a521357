"""The verdict on one test case: Definitions 12 and 13.

The case that the ground truth leads to is expected; the test is passed (T in the paper) when the detections
lead to the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from roadworthy.bbsl.coordinates import Coordinates
from roadworthy.bbsl.evaluation import Evaluator, Outcome
from roadworthy.bbsl.margins import Context, Margin, Margins
from roadworthy.bbsl.specification import Spec
from roadworthy.errors import InputError

__all__ = [
    "OUTSIDE",
    "Judgement",
    "Outside",
    "check_outside",
    "judge",
    "labels_of",
    "out_of_scope",
    "verdict_margin",
]

Outside = Literal["fail", "apart"]
"""What a test is when the detections are outside of the scope: F as in the paper, or neither."""

OUTSIDE: tuple[Outside, ...] = get_args(Outside)

_SCOPE = "\0precondition"  # no label of a case


@dataclass(frozen=True)
class Judgement:
    """The verdict on one test case.

    Attributes:
        passed: Whether the detections lead to the expected cases; None when the test says nothing.
        expected: The cases that the ground truth leads to.
        found: The cases that the detections lead to; None when they are outside of the specification's scope.
        margin: By how many pixels the edges of the detections may be off before the verdict changes: positive
            when it is passed, negative when not; minus infinity when nothing was detected.
        reason: Why there is no verdict, or why it is outside.
    """

    passed: bool | None
    expected: tuple[str, ...]
    found: tuple[str, ...] | None
    margin: float
    reason: str = ""


def check_outside(outside: str) -> None:
    """Check that this says what a test out of scope is.

    Raises:
        InputError: It does not.
    """
    if outside not in OUTSIDE:
        raise InputError(f"outside must be one of {', '.join(OUTSIDE)}, got {outside!r}")


def judge(
    spec: Spec,
    truth: Mapping[str, Any],
    detected: Mapping[str, Any],
    *,
    height: float,
    width: float | None = None,
    moving: tuple[str, ...] = (),
    outside: Outside = "fail",
) -> Judgement:
    """Judge the detections by the ground truth.

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
        >>> judge(spec, truth, found, height=375, moving=("vehicle",))
        Judgement(passed=False, expected=('stop',), found=('NOT stop',), margin=-5.0, reason='')
    """
    check_outside(outside)
    outcome = spec.evaluate(truth, height=height, width=width)
    reason = out_of_scope(outcome, "the ground truth")
    if reason:
        return Judgement(None, (), None, math.nan, reason)
    expected = labels_of(outcome)
    outcome = spec.evaluate(detected, height=height, width=width)
    reason = out_of_scope(outcome, "the detections")
    if reason:
        return Judgement(False if outside == "fail" else None, expected, None, -math.inf, reason)
    found = labels_of(outcome)
    margins = _margins(spec, Evaluator(spec.prepared, detected, Coordinates(height, width)), moving)
    return Judgement(found == expected, expected, found, verdict_margin(expected, found, margins))


def labels_of(outcome: Outcome) -> tuple[str, ...]:
    """Return the cases that hold, in the order of the specification."""
    return tuple(label for label, value in outcome.values.items() if value)


def out_of_scope(outcome: Outcome, boxes: str) -> str:
    """Return why a specification says nothing of some boxes; empty where it does say something.

    Example:
        >>> out_of_scope(Outcome(False, {"stop": None}), "the detections")
        'the precondition does not hold for the detections'
    """
    if outcome.applies is not True:
        return (
            f"the precondition {'has no value' if outcome.applies is None else 'does not hold'} for {boxes}"
        )
    names = " and ".join(repr(one) for one in sorted(outcome.unknown))
    return f"{names} has no value for {boxes}" if names else ""


def _margins(spec: Spec, evaluator: Evaluator, moving: tuple[str, ...]) -> dict[str, Margin]:
    read = Margins(evaluator, moving)
    margins = {case.label: read.case(case) for case in spec.case_blocks}
    if spec.precondition is not None:
        margins[_SCOPE] = read.condition(spec.precondition, Context())
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
