"""Random specifications without type errors, and values for their functions."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st

from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Let, Spec
from roadworthy.bbsl.syntax import (
    AxisProjection,
    BoxLiteral,
    BoxRelation,
    Combination,
    Expression,
    FunctionCall,
    ImageBox,
    IntervalLiteral,
    Junction,
    Name,
    Not,
    Operator,
    Quantified,
    Ratio,
    RealNumber,
    SetLiteral,
    TruthConstant,
    Type,
    Width,
)

FUNCTIONS = (
    ExternalFunction("flag", (), Type.BOOL),
    ExternalFunction("number", (), Type.REAL),
    ExternalFunction("near", (), Type.INTERVAL),
    ExternalFunction("box", (), Type.BB),
    ExternalFunction("boxes", (), Type.SET_BB),
    ExternalFunction("others", (), Type.SET_BB),
    ExternalFunction("size", (Type.BB,), Type.REAL),
    ExternalFunction("grown", (Type.BB, Type.REAL), Type.BB),
    ExternalFunction("around", (Type.SET_BB,), Type.SET_BB),
)
WIDTH, HEIGHT = 12, 8
POSITIONAL: list[Operator] = ["overlaps", "subset", "superset", "subseteq", "superseteq", "="]
# Sixths, so that sums are not exact in binary and the two ways of adding up could differ.
COORDINATES = st.integers(0, 48).map(lambda n: n / 6)


@st.composite
def bools(draw: st.DrawFn, depth: int, names: tuple[str, ...] = ()) -> Expression:
    """A condition; the names are those of boxes that quantifiers bind."""
    kinds = ["truth", "flag", "interval", "bb", "real", "in", "flags"]
    kinds += ["not", "and", "or", "forall", "exists"] * 2 if depth else []
    kind = draw(st.sampled_from(kinds))
    if kind == "truth":
        return TruthConstant(draw(st.booleans()))
    if kind == "flag":
        return FunctionCall("flag")
    ordered: list[Operator] = ["<", ">"]
    if kind == "interval":
        operator = draw(st.sampled_from([*POSITIONAL, *ordered]))
        right = draw(
            intervals(depth, names) | reals(depth, names) if operator != "=" else intervals(depth, names)
        )
        return BoxRelation(operator, draw(intervals(depth, names)), right)
    if kind == "bb":
        return BoxRelation(
            draw(st.sampled_from(POSITIONAL)), draw(boxes(depth, names)), draw(boxes(depth, names))
        )
    if kind == "real":
        more: list[Operator] = ["<=", ">=", "="]
        operator = draw(st.sampled_from([*ordered, *more]))
        return BoxRelation(operator, draw(reals(depth, names)), draw(reals(depth, names)))
    if kind == "in":
        return BoxRelation(
            "in", draw(reals(depth, names) | ends(depth, names)), draw(intervals(depth, names))
        )
    if kind == "flags":
        return BoxRelation("=", FunctionCall("flag"), TruthConstant(draw(st.booleans())))
    if kind == "not":
        return Not(draw(bools(depth - 1, names)))
    if kind in ("and", "or"):
        several = tuple(draw(st.lists(bools(depth - 1, names), min_size=2, max_size=3)))
        return Junction("and" if kind == "and" else "or", several)
    variable = f"v{len(names)}"
    return Quantified(
        "forall" if kind == "forall" else "exists",
        variable,
        draw(sets(depth - 1, names)),
        draw(bools(depth - 1, (*names, variable))),
    )


@st.composite
def ends(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> Expression:
    return AxisProjection("y", draw(boxes(0, names)), draw(st.sampled_from(["lower", "upper"])))


@st.composite
def reals(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> Expression:
    kind = draw(st.sampled_from(["number", "call", *(["w", "RAT", "size"] if depth else [])]))
    if kind == "number":
        return RealNumber(draw(COORDINATES))
    if kind == "call":
        return FunctionCall("number")
    if kind == "w":
        return Width(draw(intervals(depth - 1, names)))
    if kind == "size":
        return FunctionCall("size", (draw(boxes(depth - 1, names)),))
    return Ratio(draw(sets(depth - 1, names)), draw(sets(depth - 1, names)))


@st.composite
def intervals(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> Expression:
    kind = draw(st.sampled_from(["near", "y", "end", *(["literal", "meet"] if depth else [])]))
    if kind == "near":
        return FunctionCall("near")
    if kind == "literal":
        sides = [draw(reals(depth - 1, names) | ends(0, names)) for _ in range(2)]
        if all(isinstance(side, RealNumber) for side in sides):
            sides.sort(key=lambda side: side.value if isinstance(side, RealNumber) else 0.0)
        return IntervalLiteral(*sides)
    if kind == "meet":
        return Combination(
            "intersection", draw(intervals(depth - 1, names)), draw(intervals(depth - 1, names))
        )
    return draw(ends(depth, names)) if kind == "end" else AxisProjection("y", draw(boxes(depth, names)))


@st.composite
def boxes(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> Expression:
    kind = draw(st.sampled_from(["box", "IMG", *names, *(["literal", "grown"] if depth else [])]))
    if kind == "box":
        return FunctionCall("box")
    if kind == "IMG":
        return ImageBox()
    if kind == "literal":
        return BoxLiteral(AxisProjection("x", FunctionCall("box")), draw(intervals(depth - 1, names)))
    if kind == "grown":
        amount = draw(reals(depth - 1, names) | ends(0, names))
        return FunctionCall("grown", (draw(boxes(depth - 1, names)), amount))
    return Name(kind)


@st.composite
def sets(draw: st.DrawFn, depth: int, names: tuple[str, ...]) -> Expression:
    kind = draw(
        st.sampled_from(
            ["boxes", "others", "literal", *(["union", "intersection", "around"] if depth else [])]
        )
    )
    if kind == "literal":
        return SetLiteral(tuple(draw(st.lists(boxes(max(depth - 1, 0), names), max_size=3))))
    if kind in ("union", "intersection"):
        operator: Literal["union", "intersection"] = "union" if kind == "union" else "intersection"
        return Combination(operator, draw(sets(depth - 1, names)), draw(sets(depth - 1, names)))
    if kind == "around":
        return FunctionCall("around", (draw(sets(depth - 1, names)),))
    return FunctionCall(kind)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """A specification over all of the functions."""
    lets = (
        Let("near2", Type.INTERVAL, FunctionCall("near")),
        Let("low", Type.REAL, AxisProjection("y", FunctionCall("box"), "lower")),
    )
    cases = (
        CaseClause(
            "first", lets, Junction("and", (draw(bools(3)), BoxRelation("in", Name("low"), Name("near2"))))
        ),
        CaseClause("second", (), draw(bools(3))),
    )
    return Spec(FUNCTIONS, draw(st.none() | bools(1)), cases)


PAIRS = st.tuples(COORDINATES, COORDINATES).map(lambda pair: tuple(sorted(pair)))
BOXES = st.tuples(PAIRS, PAIRS).map(lambda sides: (sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
SETS = st.lists(BOXES, max_size=4)


@st.composite
def frames(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Values for a few frames, some of them missing."""
    return [
        {
            "flag": draw(st.none() | st.booleans()),
            "number": draw(st.none() | COORDINATES),
            "near": draw(st.none() | PAIRS),
            "box": draw(st.none() | BOXES),
            "boxes": draw(st.none() | SETS),
            "others": draw(SETS),
        }
        for _ in range(draw(st.integers(1, 4)))
    ]
