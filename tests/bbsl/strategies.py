"""Random expressions and specifications, whatever their types, and random well-typed ones."""

from __future__ import annotations

from hypothesis import strategies as st

from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Let, Spec
from roadworthy.bbsl.syntax import (
    AxisProjection,
    Bounds,
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
    Previous,
    Quantified,
    Ratio,
    RealNumber,
    SetLiteral,
    Timed,
    TruthConstant,
    Type,
    Until,
    Width,
)

NAMES = st.sampled_from(
    ["a", "b", "vehicle", "w", "inside", "notable", "orbit", "straße", "x_1", "trueish", "PROJ"]
)
CALLED = NAMES.filter(lambda name: name != "w")  # w(…) is built in
LABELS = st.sampled_from(
    [
        "stop",
        "NOT stop",
        "shift within lane",
        "x_ystop",
        "stop and wait",
        "lane-keep",
        "let go",
        "odd (label)",
        "2nd",
    ]
)
OPERATORS = st.sampled_from(
    ["<", ">", "=", "<=", ">=", "overlaps", "subset", "superset", "subseteq", "superseteq", "in"]
)
BOUNDS = st.builds(
    lambda low, more: Bounds(low, None if more is None else low + more),
    st.integers(0, 9),
    st.none() | st.integers(0, 9),
)


def _deeper(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(FunctionCall, CALLED, st.lists(inner, max_size=2).map(tuple)),
        st.builds(IntervalLiteral, inner, inner),
        st.builds(BoxLiteral, inner, inner),
        st.builds(SetLiteral, st.lists(inner, max_size=3).map(tuple)),
        st.builds(
            AxisProjection, st.sampled_from(["x", "y"]), inner, st.sampled_from([None, "lower", "upper"])
        ),
        st.builds(Width, inner),
        st.builds(Ratio, inner, inner),
        st.builds(Combination, st.sampled_from(["union", "intersection"]), inner, inner),
        st.builds(BoxRelation, OPERATORS, inner, inner),
        st.builds(Not, inner),
        st.builds(Junction, st.sampled_from(["and", "or"]), several),
        st.builds(Quantified, st.sampled_from(["forall", "exists"]), NAMES, inner, inner),
        st.builds(Timed, st.sampled_from(["always", "eventually"]), inner, BOUNDS),
        st.builds(Until, inner, inner, BOUNDS),
        st.builds(Previous, inner),
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(
        st.builds(RealNumber, st.floats(allow_nan=False, allow_infinity=False)),
        st.builds(TruthConstant, st.booleans()),
        st.builds(Name, NAMES),
        st.just(ImageBox()),
        st.builds(FunctionCall, CALLED),
    ),
    _deeper,
    max_leaves=12,
)

TYPES = st.sampled_from(list(Type))
FUNCTIONS = st.builds(ExternalFunction, CALLED, st.lists(TYPES, max_size=3).map(tuple), TYPES)
LETS = st.builds(Let, NAMES, TYPES, EXPRESSIONS)
CASES = st.builds(CaseClause, LABELS, st.lists(LETS, max_size=2).map(tuple), EXPRESSIONS)
SPECS = st.builds(
    Spec,
    st.lists(FUNCTIONS, max_size=3).map(tuple),
    st.none() | EXPRESSIONS,
    st.lists(CASES, min_size=1, max_size=3).map(tuple),
)
