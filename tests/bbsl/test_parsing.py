"""Reading: the paper's listings, every spelling, precedence, and mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.bbsl import Spec, SpecificationError, load, parse
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
from roadworthy.errors import InputError

LISTINGS = Path(__file__).parent / "listings"
A, B, C = Name("a"), Name("b"), Name("c")


def condition(text: str) -> Expression:
    return parse(f"case go\n{text}\nendcase").case_blocks[0].condition


def problem(text: str) -> str:
    with pytest.raises(SpecificationError) as error:
        parse(text, path="my.bbsl")
    return str(error.value)


def test_listing_1_as_it_is_printed() -> None:
    spec = load(LISTINGS / "listing1.bbsl")
    assert spec.labels == ("stop", "NOT stop")
    assert [(one.name, one.parameters, one.result) for one in spec.functions] == [
        ("vehicleExists", (), Type.BOOL),
        ("vehicle", (), Type.BB),
        ("stoppingDistance", (), Type.INTERVAL),
    ]
    assert spec.precondition == BoxRelation("=", FunctionCall("vehicleExists"), TruthConstant(True))
    stop, not_stop = spec.case_blocks
    assert [(let.name, let.type, let.value) for let in stop.lets] == [
        ("vehicle", Type.BB, FunctionCall("vehicle")),
        ("stoppingDistance", Type.INTERVAL, FunctionCall("stoppingDistance")),
    ]
    side, near = AxisProjection("y", Name("vehicle")), Name("stoppingDistance")
    assert stop.condition == Junction(
        "or", (BoxRelation("overlaps", side, near), BoxRelation("<", side, near))
    )
    assert not_stop.condition == BoxRelation(">", side, near)


@pytest.mark.parametrize(
    ("number", "labels"),
    [
        (2, ("stop", "NOT stop")),
        (3, ("stop", "NOT stop")),
        (4, ("x_ystop", "ysafe_xwarning", "xsafe_ywarning", "NOT warning")),
    ],
)
def test_the_other_listings_as_they_are_printed(number: int, labels: tuple[str, ...]) -> None:
    assert load(LISTINGS / f"listing{number}.bbsl").labels == labels


@pytest.mark.parametrize(
    ("texts", "meaning"),
    [
        (["a ≈ b", "a ~ b", "a overlaps b", "a ∼ b"], BoxRelation("overlaps", A, B)),
        (["a ⊂ b", "a subset b"], BoxRelation("subset", A, B)),
        (["a ⊃ b", "a superset b"], BoxRelation("superset", A, B)),
        (["a ⊆ b", "a subseteq b"], BoxRelation("subseteq", A, B)),
        (["a ⊇ b", "a superseteq b"], BoxRelation("superseteq", A, B)),
        (["a ≤ b", "a <= b"], BoxRelation("<=", A, B)),
        (["a ≥ b", "a >= b"], BoxRelation(">=", A, B)),
        (["a ∈ b", "a in b"], BoxRelation("in", A, B)),
        (["a and b", "a ∧ b", "(a)and(b)"], Junction("and", (A, B))),
        (["a or b", "a ∨ b"], Junction("or", (A, B))),
        (["not a", "¬a", "not(a)"], Not(A)),
        (["a ∪ b", "a union b"], Combination("union", A, B)),
        (["a ∩ b", "a intersect b"], Combination("intersection", A, B)),
        (["forall x ∈ a. b", "∀x∈a.(b)", "forall x in a . b"], Quantified("forall", "x", A, B)),
        (["exists x in a.b", "∃x ∈ a. b"], Quantified("exists", "x", A, B)),
        (["PROJ_x(a)", "PROJ_{x}(a)", "PROJₓ (a)"], AxisProjection("x", A)),
        (
            ["PROJ_y.lower(a)", "PROJ_yL(a)", "PROJ_y\u0332(a)", "PROJ_y . lower (a)"],
            AxisProjection("y", A, "lower"),
        ),
        (
            ["PROJ_x.upper(a)", "PROJ_xU(a)", "PROJ_x\u0305(a)", "PROJ_{x\u0305}(a)"],
            AxisProjection("x", A, "upper"),
        ),
        (["w(a)", "w (a)"], Width(A)),
        (["RAT(a, {b, c})"], Ratio(A, SetLiteral((B, C)))),
        (["{}"], SetLiteral(())),
        (["[0, 1.5]"], IntervalLiteral(RealNumber(0), RealNumber(1.5))),
        (["(a, b)"], BoxLiteral(A, B)),
        (["IMG"], ImageBox()),
        (["f(a, -2e3)"], FunctionCall("f", (A, RealNumber(-2000)))),
        (["always[0, 3] a", "always [0,3](a)"], Timed("always", A, Bounds(0, 3))),
        (["always a", "always[0, inf] a", "always[0, ∞] a"], Timed("always", A)),
        (["a until[1, 2] b"], Until(A, B, Bounds(1, 2))),
        (["previous a"], Previous(A)),
        (["w"], Name("w")),
    ],
)
def test_every_spelling(texts: list[str], meaning: Expression) -> None:
    for text in texts:
        assert condition(text) == meaning, text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a or b and c", "a or (b and c)"),
        ("not a and b", "(not a) and b"),
        ("not a = b", "not (a = b)"),
        ("a ∪ b ∩ c", "a ∪ (b ∩ c)"),
        ("a ∩ b ∪ c = b", "((a ∩ b) ∪ c) = b"),
        ("a ~ b and c", "(a ~ b) and c"),
        ("exists x ∈ a. b and c", "(exists x ∈ a. b) and c"),
        ("exists x ∈ a, forall y ∈ b. c", "exists x ∈ a. (forall y ∈ b. c)"),
        ("forall x ∈ a ∪ b. c", "forall x ∈ (a ∪ b). c"),
        ("always a until b", "(always a) until b"),
        ("a until b until c", "a until (b until c)"),
        ("a until b and c", "(a until b) and c"),
        ("not always a or b", "(not (always a)) or b"),
    ],
)
def test_what_binds_tighter(text: str, same: str) -> None:
    assert condition(text) == condition(same)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("case NOT stop true endcase", ("NOT stop",)),
        ("case shift outside of lane\n true endcase", ("shift outside of lane",)),
        ("case stop: true endcase case go : false endcase", ("stop", "go")),
        ('case "stop, now!" true endcase', ("stop, now!",)),
        ("case stop let a : bool = true in a endcase", ("stop",)),
        ("case NOT stop f(a) = true endcase", ("NOT stop",)),
        ("case NOT stop PROJ_y.lower(a) < b endcase", ("NOT stop",)),
        ("case a b c x ~ y endcase", ("a b c",)),
        ("case stop (* why *) true endcase", ("stop",)),
        ("case stop and wait // why\n true endcase", ("stop and wait",)),
        ("case NOT stop (a) endcase", ("NOT stop",)),
        ("case not respond not(a) endcase", ("not respond",)),
    ],
)
def test_labels(text: str, labels: tuple[str, ...]) -> None:
    assert parse(text).labels == labels


def test_preconditions_may_be_none_empty_or_left_out() -> None:
    for text in ("precondition [none] endprecondition", "condition [] endcondition", ""):
        assert parse(f"{text} case go true endcase").precondition is None
    spec = parse("condition\n[[0, 1] ~ [0, 2]] endcondition case go true endcase")
    assert isinstance(spec.precondition, BoxRelation)


def test_let_ends_with_in() -> None:
    spec = parse("case go let a : bool = (1 in [0, 2]), b : bool = 1 ∈ [0, 2] in a = b endcase")
    inside = BoxRelation("in", RealNumber(1), IntervalLiteral(RealNumber(0), RealNumber(2)))
    assert [let.value for let in spec.case_blocks[0].lets] == [inside, inside]


def test_where_things_stand() -> None:
    spec = parse("case go\n  not (a ~ b)\nendcase")
    part = spec.case_blocks[0].condition
    assert isinstance(part, Not)
    assert spec.source[part.span.start : part.span.stop] == "not (a ~ b)"
    assert spec.source[part.operand.span.start : part.operand.span.stop] == "a ~ b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "my.bbsl:1:1: the specification has no case"),
        ("// nothing\n", "1:11: the specification has no case"),
        ("case go (a endcase", "1:9: this '(' is never closed\n  1 | case go (a endcase\n    |         ^"),
        ("case go: a) endcase", "1:11: this ')' closes nothing"),
        ("case go [1, 2) ~ a endcase", "this '[' is closed by ')': expected ']'"),
        (
            "case go: a",
            "1:11: the text ends too soon: expected a relation or operator, '(', 'endcase' or 'in'",
        ),
        ("case go endcase", "1:9: expected an expression, ':' or 'let', got 'endcase'"),
        ("case\n", "1:5: the text ends too soon: expected the label of the case"),
        ("case go a < b < c endcase", "1:15: expected"),
        ("case go a ≠ b endcase", "1:11: '≠' has no meaning here: write not (a = b)"),
        ("case go w(a) + 1 > b endcase", "there is no arithmetic"),
        ("case go 3-2 > b endcase", "got '-2': there is no arithmetic"),
        (
            'case "go true endcase',
            "1:6: '\"' has no meaning here: expected a label between two quotation marks",
        ),
        (
            "case a: true endcase case worst case x endcase",
            "got 'endcase'; all of 'worst case x' is the label: end it with a colon",
        ),
        ("case go (* a endcase", "1:9: this comment is never closed"),
        (
            "case go let in : bb = a in b endcase",
            "expected a name, got 'in': this word belongs to the language and cannot be a name",
        ),
        (
            "exfunction f():box endexfunction",
            "expected a type (bool, real, interval, bb or setBB), got 'box'",
        ),
        ("exfunction f() bb endexfunction", "expected ':', got 'bb'"),
        ("case go 1e999 < a endcase", "1:9: this number is too large"),
        ("case go always[3, 1] a endcase", "bounds must not end before they begin"),
        (f"case go always[0, {'9' * 5000}] a endcase", "bounds must be below 1,000,000,000 frames"),
        ("case go always[0, 1.5] a endcase", "1:15: bounds must be two whole numbers of frames"),
        ("case go: a until[-1, 2] a endcase", "1:17: bounds must be two whole numbers of frames"),
        ("case go previous[0, 1] a endcase", "1:17: bounds must be two whole numbers of frames"),
        (
            "case stop, now\n a endcase",
            "got ',': a label with such signs in it stands between quotation marks",
        ),
        (
            "exfunction in(): bool endexfunction",
            "got 'in': this word belongs to the language and cannot be a name",
        ),
        ("exfunction f(): bool case go: f() endcase", "expected 'endexfunction' or a name, got 'case'\n"),
        ('case " " a endcase', "label of a case must not be blank"),
        ("case go: a endcase b", "expected 'case' or the end of the specification, got 'b'"),
        ("case go \x00 endcase", "has no meaning here"),
    ],
)
def test_mistakes_are_shown_where_they_are(text: str, message: str) -> None:
    assert message in problem(text)


def test_the_mark_is_under_the_mistake_also_behind_tabs() -> None:
    assert problem("case go\n\t\ta) endcase").endswith("  2 | \t\ta) endcase\n    | \t\t ^")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "(" * 10_000,
        "not " * 10_000 + "a",
        "[" * 10_000 + "a",
        " ∪ ".join("a" * 10_000),
        "previous " * 10_000 + "a",
        "∃x ∈ a. " * 10_000 + "a",
        "w(" * 10_000 + "a" + ")" * 10_000,
    ],
    ids=["parentheses", "open", "not", "brackets", "union", "previous", "exists", "calls"],
)
def test_deep_nesting_is_refused_and_no_recursion(text: str) -> None:
    message = problem(f"case go {text} endcase")
    assert "nested more than 100 deep" in message
    assert max(map(len, message.splitlines())) < 130


def test_long_conjunctions_and_many_quantifiers_are_no_nesting() -> None:
    long = condition(" and ".join(["a"] * 10_000))
    assert isinstance(long, Junction)
    assert len(long.operands) == 10_000
    assert isinstance(condition("(" * 99 + "a" + ")" * 99), Name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        load(tmp_path / "missing.bbsl")
    (tmp_path / "bytes.bbsl").write_bytes(b"case \xff go")
    with pytest.raises(InputError, match="no UTF-8"):
        load(tmp_path / "bytes.bbsl")


def test_trees_and_errors_can_be_sent_to_other_processes() -> None:
    spec = load(LISTINGS / "listing1.bbsl")
    spec.check_types()
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(SpecificationError) as error:
        parse("case")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_a_byte_order_mark_and_windows_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "windows.bbsl"
    path.write_bytes("\ufeffcase NOT stop // c\r\n true\r\nendcase\r\n".encode())
    assert load(path) == Spec((), None, parse("case NOT stop true endcase").case_blocks)
    assert parse("\ufeffcase go true endcase").labels == ("go",)


@settings(max_examples=150)
@given(
    number=st.integers(1, 4),
    edits=st.lists(
        st.tuples(
            st.integers(0, 1000),
            st.integers(0, 12),
            st.sampled_from(
                [*"()[]{},.:~≈∈", "in", "let", "case", " not ", "(*", "//", '"', "endcase", "é", "\n", "0"]
            )
            | st.text(max_size=3),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_broken_text_is_read_or_refused_and_nothing_else(
    number: int, edits: list[tuple[int, int, str]]
) -> None:
    text = (LISTINGS / f"listing{number}.bbsl").read_text("utf-8")
    for where, length, new in edits:
        at = where % (len(text) + 1)
        text = text[:at] + new + text[at + length :]
    shown = ""
    places: tuple[int, ...] = ()
    try:
        spec = parse(text)
    except SpecificationError as error:
        shown, places = str(error), tuple(one.span.start for one in error.problems)
    else:
        assert parse(spec.format()) == spec
    assert ("^" in shown) == bool(places)
    assert all(0 <= place <= len(text) for place in places)
