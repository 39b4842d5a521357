"""A specification while it is typed: its words by kind, what is wrong with it, and static checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from roadworthy.bbsl import Box, Interval, Spec, SpecificationError, parse
from roadworthy.bbsl.checking import CheckResult, Witness
from roadworthy.bbsl.checking.results import PROPERTIES, written
from roadworthy.bbsl.syntax import SpecificationProblem, Type, place
from roadworthy.bbsl.testing import find_role
from roadworthy.errors import InputError
from roadworthy.report.bbsl import interval_axes, named
from roadworthy.web.rule_text import Fix, RoleSpan, Trouble, utf16
from roadworthy.web.settings import WORDS

ROLES = WORDS["specification"]
"""The kinds of words with what the page says of each."""

_WORDS = re.compile(
    r"""(?P<comment>//[^\n]*|\(\*(?:[^*]|\*(?!\)))*(?:\*\)|\Z))
    |(?P<keyword>\b(?:exfunction|endexfunction|precondition|endprecondition|condition|endcondition|case|endcase
        |let|in|not|and|or|forall|exists|always|eventually|until|previous|none)\b|[¬∧∨∀∃])
    |(?P<type>\b(?:bool|real|interval|bb|setBB)\b)
    |(?P<measure>PROJ_?\{?[xyₓ]\u0332?\u0305?\}?(?:\s*\.\s*(?:lower|upper)|[LU])?(?!\w)|\b(?:RAT|IMG)\b
        |\bw(?=\s*\())
    |(?P<relation><=|>=|[<>=≤≥~≈∼⊂⊃⊆⊇∈∪∩]
        |\b(?:overlaps|subseteq|superseteq|subset|superset|union|intersect)\b)
    |(?P<quantity>(?<!\w)-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|\b(?:true|false|inf)\b)""",
    re.VERBOSE,
)
_MEANT = re.compile(r"'(?P<wrong>[^']+)'.*did you mean '(?P<meant>[^']+)'", re.DOTALL)


def typed_spec(text: str) -> Spec:
    """Return a specification whose names and types are right.

    Raises:
        SpecificationError: It is not written in BBSL, or a name or type in it is wrong.
    """
    spec = parse(text)
    spec.check_types()
    return spec


def read_spec(text: str) -> dict[str, Any]:
    """Return what the page shows of a specification.

    The answer has ``state``: "empty", "read" or "refused", with ``troubles``.

    Example:
        >>> answer = read_spec("exfunction v(): bb endexfunction case far PROJ_y(w()) > [0, 9] endcase")
        >>> answer["state"], answer["troubles"][0]["line"]
        ('refused', 1)
        >>> read_spec("exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 9] endcase")["labels"]
        ['far']
    """
    if not text.strip():
        return {"state": "empty"}
    marks = [asdict(one) for one in utf16(text, _marks(text))]
    try:
        spec = typed_spec(text)
    except SpecificationError as error:
        troubles = [_trouble(text, problem) for problem in error.problems[:20]]
        return {"state": "refused", "marks": marks, "troubles": troubles}
    return {
        "state": "read",
        "marks": marks,
        "labels": list(spec.labels),
        "applies": "always" if spec.precondition is None else "when the precondition holds",
        "functions": [
            {
                "name": one.name,
                "type": one.result.value,
                "parameters": [kind.value for kind in one.parameters],
            }
            for one in spec.functions
        ],
        "object": _object(spec),
        "over_time": spec.is_temporal,
    }


def _object(spec: Spec) -> dict[str, Any] | None:
    """Return which functions most likely stand for the object under test."""
    boxes = [one.name for one in spec.functions if one.result is Type.BB and not one.parameters]
    if not boxes:
        return None
    try:
        role = find_role(spec, (), function=boxes[0])
    except InputError:
        return None
    return None if role is None else {"function": role.function, "exists": list(role.exists)}


def _marks(text: str) -> Iterator[RoleSpan]:
    for found in _WORDS.finditer(text):
        assert found.lastgroup is not None
        yield RoleSpan(found.start(), found.end(), found.lastgroup)


def _trouble(text: str, problem: SpecificationProblem) -> dict[str, Any]:
    start, stop = problem.span.start, max(problem.span.stop, problem.span.start + 1)
    line, column = place(text, start)
    ((begin, end),) = [(one.start, one.stop) for one in utf16(text, [RoleSpan(start, stop, "")])]
    fixes = tuple(_fixes(text, problem))
    # What is meant stands on a button already.
    reason = re.sub(r"; did you mean '[^']*'\?$", "", problem.message) if fixes else problem.message
    return {**asdict(Trouble(reason, begin, end, fixes)), "line": line, "column": column}


def _fixes(text: str, problem: SpecificationProblem) -> Iterator[Fix]:
    """Yield what a message guesses to be meant, put in the place of what is written."""
    if (guess := _MEANT.search(problem.message)) is None:
        return
    start, stop = problem.span.start, problem.span.stop
    at = text[start:stop].find(guess["wrong"])
    if at < 0:
        return
    begin = start + at
    yield Fix(guess["meant"], text[:begin] + guess["meant"] + text[begin + len(guess["wrong"]) :])


def checked(spec: Spec, result: CheckResult) -> dict[str, Any]:
    """Return what static checks found out, as the page shows it."""
    axes = interval_axes(spec)
    return {
        "ok": result.ok,
        "vacuous": result.vacuous,
        "properties": [
            {"name": name, "status": result.status(name).value, "ok": all(one.ok for one in result.of(name))}
            for name in PROPERTIES
        ],
        "findings": [
            {
                "property": one.concerns,
                "sentence": str(one),
                "ok": one.ok,
                "status": one.status.value,
                "witness": None if one.witness is None else drawn(one.witness, axes),
            }
            for one in result.findings
        ],
    }


def drawn(witness: Witness, axes: dict[str, str]) -> dict[str, Any]:
    """Return a witness as shapes.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse("exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase")
        >>> shown = drawn(spec.check().problems[0].witness, interval_axes(spec))
        >>> [one["name"] for one in shown["boxes"]], shown["cases"]
        (['v'], [])
    """
    boxes: list[dict[str, Any]] = []
    bands: list[dict[str, Any]] = []
    notes: list[str] = []
    height = witness.height

    def box(name: str, value: Box) -> dict[str, Any]:
        return {"name": name, **dict(zip(("x1", "y1", "x2", "y2"), witness.in_pixels(value), strict=True))}

    for call in witness.calls:
        name, value = named(call), call.value
        if isinstance(value, Box):
            boxes.append(box(name, value))
        elif isinstance(value, Interval) and axes.get(call.function) in ("x", "y"):
            bands.append(_band(name, value, axes[call.function], height))
        elif isinstance(value, bool | float | Interval) or not value:
            notes.append(f"{name} = {written(value)}")
        else:
            boxes += [box(f"{name}[{number}]", one) for number, one in enumerate(value, 1)]
    return {
        "width": witness.width,
        "height": height,
        "boxes": boxes,
        "bands": bands,
        "notes": notes,
        "cases": list(witness.labels),
        "text": str(witness),
    }


def _band(name: str, interval: Interval, axis: str, height: float) -> dict[str, Any]:
    low, high = interval
    ends = (low, high) if axis == "x" else (height - high, height - low)
    return {"name": name, "axis": axis, "from": ends[0], "to": ends[1]}


def statically_checked(text: str, seconds: float) -> dict[str, Any]:
    """Return what the static checks of a specification find out.

    Example:
        >>> text = "exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase"
        >>> statically_checked(text, 5)["properties"][0]["status"]
        'refuted'
    """
    try:
        spec = typed_spec(text)
        return {"state": "checked", **checked(spec, spec.check(seconds=seconds))}
    except InputError as error:
        return {"state": "unchecked", "reason": str(error)}
