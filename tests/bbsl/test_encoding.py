"""Formulas for z3 say what evaluation says: random conditions on random boxes, one against the other."""

from typing import Any
from unittest.mock import patch

import z3
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.bbsl import typed_strategies
from tests.bbsl.typed_strategies import FUNCTIONS, HEIGHT, WIDTH

from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.symbols import ExactAreas, TooManyBoxes
from roadworthy.bbsl.coverage import pinned
from roadworthy.bbsl.specification import CaseClause, Spec
from roadworthy.bbsl.syntax import Expression, FunctionCall, walk
from roadworthy.bbsl.type_checking import Axis
from roadworthy.bbsl.values import Coordinates

# Whole numbers, so that evaluation, which rounds, and z3, which does not, agree on borders too.
WHOLE = st.integers(0, 8).map(float)
PAIRS = st.tuples(WHOLE, WHOLE).map(sorted)
BOXES = st.tuples(PAIRS, PAIRS).map(lambda sides: (sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
VALUES = st.fixed_dictionaries(
    {
        "flag": st.booleans(),
        "number": WHOLE,
        "near": PAIRS,
        "box": BOXES,
        "boxes": st.lists(BOXES, max_size=3),
        "others": st.lists(BOXES, max_size=2),
    }
)
PLAIN = tuple(one for one in FUNCTIONS if not one.parameters)


@st.composite
def conditions(draw: st.DrawFn) -> Expression:
    with patch.object(typed_strategies, "COORDINATES", WHOLE):
        return draw(typed_strategies.bools(3))


def encoded(spec: Spec, values: dict[str, Any]) -> bool | None:
    """What z3 makes of the condition when every function has its value."""
    sizes = {name: len(values[name]) for name in ("boxes", "others")}
    encoding = Encoding(spec, sizes, ExactAreas(), (WIDTH, HEIGHT))
    coordinates = Coordinates(HEIGHT, WIDTH)
    types = {one.name: one.result for one in spec.functions}
    solver = z3.Solver()
    solver.add(*encoding.known)
    for one in encoding.applications:
        axis: Axis = "y" if one.function == "near" else "open"
        known = coordinates.inward(values[one.function], types[one.function], one.function, axis)
        solver.add(pinned(one.value, known))
    assert solver.check() == z3.sat
    model = solver.model()
    held = [bool(model.eval(side, model_completion=True)) for side in _sides(encoding)]
    assert held != [True, True]
    return True if held[0] else False if held[1] else None


def _sides(encoding: Encoding) -> tuple[Any, Any]:
    return encoding.cases["it"].true, encoding.cases["it"].false


@settings(max_examples=150)
@given(conditions(), VALUES)
def test_formulas_say_what_evaluation_says(condition: Expression, values: dict[str, Any]) -> None:
    assume(all(not part.arguments for part in walk(condition) if isinstance(part, FunctionCall)))
    spec = Spec(PLAIN, None, (CaseClause("it", (), condition),))
    try:
        found = encoded(spec, values)
    except TooManyBoxes:
        assume(False)
    # Compared with nothing on an axis it would not be turned, so it is given y upward already.
    given_values = {
        **values,
        "near": Coordinates(HEIGHT).inward(values["near"], PLAIN[2].result, "near", "y"),
    }
    assert found == spec.evaluate(given_values, height=HEIGHT, width=WIDTH).values["it"]
