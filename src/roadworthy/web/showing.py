"""A stored row as pages show it, and the least change that still fails."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from roadworthy.cases import Scalar
from roadworthy.errors import InputError
from roadworthy.labelling import estimated_by
from roadworthy.models.load import model_name
from roadworthy.report.rules import shrunk_violations
from roadworthy.rules.answers import overlays
from roadworthy.rules.gauges import unit_of
from roadworthy.rules.shrinking import Violation
from roadworthy.runs.store import MEASURE, PARAMETER, clip_images, shown_images
from roadworthy.runs.suites.forms import as_name
from roadworthy.web.jobs.asks import RulesAsk
from roadworthy.web.previews import trial_of

if TYPE_CHECKING:
    from roadworthy.web.pages import PictureCache
    from roadworthy.web.wall import CaseMark


_FILM = 6  # frames of a clip
_SIDES = ("x1", "y1", "x2", "y2")
_SQUARES = {"speed": " (m/s)²", "steering": " degrees²"}
# Columns that say what was done to a frame as a whole, the most exact first.
_CHANGES = (f"{MEASURE}transform", f"{PARAMETER}transform")


def shown(row: Mapping[str, Scalar], mark: CaseMark | None = None) -> dict[str, Any]:
    """Return a row as JSON can hold it: pictures, answers, boxes, and everything else by name.

    Example:
        >>> row = {"requirement": "R1", "system": "dave2", "case": "town-1", "status": "violated",
        ...        "margin": -1.5, "reason": "", "visual_change": 0.25, "images": "ab cd",
        ...        "param.output.1": "speed", "measure.before.1": 8.0, "measure.after.1": 9.5}
        >>> one = shown(row)
        >>> one["pictures"], one["unit"]
        (['ab', 'cd'], ' m/s')
        >>> [(answer["output"], answer["before"], answer["after"]) for answer in one["answers"]]
        [('speed', 8.0, 9.5)]
    """
    return {
        "requirement": row["requirement"],
        "system": row["system"],
        "case": row["case"],
        "status": row["status"],
        "margin": _number(row["margin"]),
        "unit": _unit(row),
        "reason": row["reason"] or "",
        "visual_change": _number(row.get("visual_change")),
        "tolerated": row.get(f"{MEASURE}tolerated"),
        "estimated": estimated_by(row, MEASURE),
        "pictures": shown_images(row),
        "film": _film(row),
        "answers": list(_answers(row)),
        "boxes": dict(_boxes(row)),
        "overlays": overlays(row, MEASURE),
        "lines": list(_lines(row)),
        "parameters": _part(row, PARAMETER),
        "measures": _part(row, MEASURE),
        "mark": "" if mark is None else mark.mark,
        "note": "" if mark is None else mark.note,
    }


def _film(row: Mapping[str, Scalar]) -> list[str]:
    """Return some pictures of a clip as the change has it; none of a single frame."""
    frames = [one[-1] for one in clip_images(row) if len(one) > 1]
    return frames[:: -(-len(frames) // _FILM)] if len(frames) > 1 else []


def _answers(row: Mapping[str, Scalar]) -> Iterator[dict[str, Any]]:
    """Yield what the model answered, what decides about the margin first."""
    for _, output, words, before, after, part in sorted(_compared(row), key=lambda one: one[0]):
        yield {
            "output": output,
            "unit": "°" if output == "steering" else unit_of(output),
            "before": _number(before),
            "after": _number(after),
            "words": list(words),
            "part": part,
        }


Compared = tuple[float, str, tuple[str, str], Scalar, Scalar, int]
"""A margin, what was predicted, what the two numbers are, the numbers, and of which part of a rule."""


def _compared(row: Mapping[str, Scalar]) -> Iterator[Compared]:
    before_and_after = "before", "after"
    number = 1
    # A rule speaks of one output or of several.
    while (before := row.get(f"{MEASURE}before.{number}")) is not None:
        margin = _number(row.get(f"{MEASURE}margin.{number}"))
        output = str(row.get(f"{PARAMETER}output.{number}") or "answer")
        after = row.get(f"{MEASURE}after.{number}")
        yield math.inf if margin is None else margin, output, before_and_after, before, after, number
        number += 1
    # A search holds an answer against what is true.
    if (label := row.get(f"{MEASURE}label")) is not None:
        output = str(row.get(f"{PARAMETER}output") or "answer")
        yield 0.0, output, ("true", "answered"), label, row.get(f"{MEASURE}prediction"), 1
    # Reliability holds how right the model is.
    if (before := row.get(f"{MEASURE}before")) is not None:
        yield (
            0.0,
            str(row.get(f"{PARAMETER}measure") or "answer"),
            before_and_after,
            before,
            row.get(f"{MEASURE}after"),
            1,
        )


def _unit(row: Mapping[str, Scalar]) -> str:
    """Return what the margin is measured in; nothing where it is a plain number."""
    if row.get(f"{MEASURE}label") is not None:
        # Equation 2 of DeepTest is about squared errors.
        return _SQUARES.get(str(row.get(f"{PARAMETER}output")), "")
    if answers := list(_answers(row)):
        return str(answers[0]["unit"])
    return " px" if dict(_boxes(row)) else ""


def _lines(row: Mapping[str, Scalar]) -> Iterator[str]:
    """Yield what else is worth a line of its own."""
    if (expected := row.get(f"{MEASURE}expected")) is not None:
        yield f"expected {expected}, found {row.get(f'{MEASURE}found') or 'nothing'}"
    if (nearest := row.get(f"{MEASURE}nearest")) is not None:
        value = _number(row.get(f"{MEASURE}{nearest}"))
        yield f"nearest to its threshold: {nearest}" + ("" if value is None else f" {value:.3g}")
    if done := next((str(row[one]) for one in _CHANGES if row.get(one)), ""):
        yield done


def _boxes(row: Mapping[str, Scalar]) -> Iterator[tuple[str, list[float]]]:
    for kind in ("truth", "detection"):
        corners = [_number(row.get(f"{MEASURE}{kind}.{side}")) for side in _SIDES]
        if all(one is not None for one in corners):
            yield kind, [one for one in corners if one is not None]


def _part(row: Mapping[str, Scalar], prefix: str) -> dict[str, Any]:
    """Return the parameters or measures of a row that it has; numbers too large for JavaScript as text."""
    return {
        name.removeprefix(prefix): _told(value)
        for name, value in row.items()
        if name.startswith(prefix) and value is not None
    }


def _told(value: Scalar) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def _number(value: object) -> float | None:
    """Return a number that JSON can hold; an infinite one as a very large one."""
    if not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else math.copysign(1e308, value)


def shrunk(ask: RulesAsk, case: Mapping[str, Any], pictures: PictureCache) -> dict[str, Any]:
    """Return how much of the change is enough for a case to fail, with its pictures and answers.

    Args:
        ask: What the run was asked for.
        case: The case, as the wall shows it.
        pictures: Where pictures are kept for the page.

    Raises:
        InputError: The case does not violate, or does not any more.
    """
    if case["status"] != "violated":
        raise InputError("only a violation can be shrunk")
    reference = next((one for one in ask.models if as_name(model_name(one)) == case["system"]), None)
    if reference is None:
        raise InputError(f"the model {case['system']!r} is not one that this run was asked for")
    trial = trial_of(ask, reference)
    violation = Violation(str(case["parameters"]["frame"]), int(case["parameters"]["seed"]))
    smallest = shrunk_violations(trial.inside, trial.requirement, trial.data, trial.system, [violation])
    if not smallest:
        raise InputError("the case does not fail any more: the model answers differently from time to time")
    (found,) = smallest
    return {
        "amount": found.amount,
        "changes": list(found.changes),
        "pictures": [pictures.add(one.image) for one in found.frames],
        "answers": {output: list(values) for output, values in found.predictions.items()},
        "margin": found.margin,
    }
