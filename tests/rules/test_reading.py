"""What a rule says once it is read: documents, words and numbers, whole and at their borders."""

from __future__ import annotations

import math
from typing import Any

import pytest

from roadworthy.errors import InputError, NotApplicable, RuleError
from roadworthy.rules.expectation import Border, Expectation, Quantity, Relation
from roadworthy.rules.language.quantities import UNITS, quantities, read_number
from roadworthy.rules.language.words import analysed
from roadworthy.rules.reading import (
    Block,
    Proposition,
    Rule,
    SceneChange,
    change_in_brief,
    change_in_words,
    reading_in_lines,
    rule_in_words,
)

TRUCK = SceneChange("add", "vehicle", {"type": "truck"}, "front", "ego-vehicle", distance=15)
CLOSER = SceneChange(
    "add", "vehicle", {"type": "truck"}, "front", "ego-vehicle", comparative="closer", distance=15
)
SLOWER = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
RULE = Rule(
    "the text",
    (
        Block(
            (TRUCK, SceneChange("remove", "tree")),
            SLOWER,
            "first",
            (Proposition("A", ("b", "c")),),
            ("ADD(x)",),
            notes=("n", "m"),
        ),
        Block((CLOSER,), Expectation("steering", "same"), "second", notes=("m", "k")),
    ),
)


def test_a_rule_as_a_document() -> None:
    document = RULE.document()
    assert list(document) == ["rule", "reading", "notes", "blocks", "words"]
    assert (document["rule"], document["notes"]) == ("the text", ["n", "m", "k"])
    assert document["reading"] == rule_in_words(RULE) == str(RULE)
    first, second = document["blocks"]
    assert first["changes"][0] == {
        "op": "add",
        "target": "vehicle",
        "properties": {"type": "truck"},
        "position": "front",
        "reference": "ego-vehicle",
        "replacement": None,
        "comparative": None,
        "target_properties": {},
        "reference_properties": {},
        "distance": 15,
        "in_words": "add a truck in front of the ego-vehicle, 15 m away",
    }
    assert "distance" not in first["changes"][1]
    assert first["expectation"] == {
        "output": "speed",
        "formula": "(x1 - x2)/x1 >= 30%",
        "in_words": "the speed should decrease by at least 30%",
    }
    assert first["propositions"] == [{"predicate": "A", "arguments": ["b", "c"]}]
    assert (first["text"], first["inference"], second["text"]) == ("first", ["ADD(x)"], "second")


def test_a_rule_in_lines() -> None:
    assert reading_in_lines(RULE) == [
        "Block 1",
        "  changes       add a truck in front of the ego-vehicle, 15 m away",
        "                remove every tree",
        "  expects       the speed should decrease by at least 30%, compared with the original image",
        "  formula       (x1 - x2)/x1 >= 30%",
        "  found         A('b', 'c')",
        "  inferred by   ADD(x)",
        "Block 2",
        "  changes       add a truck in front of the ego-vehicle, closer to the camera than before",
        "  expects       the steering should stay the same, compared with the image of the block before",
        "  formula       |x1 - x2| <= 1.39 degrees",
    ]
    assert reading_in_lines(Rule("", RULE.blocks[:1]))[0].startswith("  changes")
    assert rule_in_words(RULE).splitlines() == [
        "add a truck in front of the ego-vehicle, 15 m away and remove every tree; compared with the "
        "original image: the speed should decrease by at least 30%",
        "add a truck in front of the ego-vehicle, closer to the camera than before; compared with the image "
        "of the block before: the steering should stay the same",
    ]


@pytest.mark.parametrize(
    ("change", "words", "brief"),
    [
        (SceneChange("add", "vehicle", {"color": "orange"}), "add an orange vehicle", "+ orange vehicle"),
        (
            SceneChange("remove", "tree", {}, "beside", "building"),
            "remove every tree beside the building",
            "- tree",
        ),
        (SceneChange("replace", "season", {}, replacement="winter"), "the season becomes winter", "winter"),
        (
            SceneChange("replace", "weather", {"level": "light"}, replacement="rainy", comparative="lighter"),
            "the weather becomes rainy (light), lighter than before",
            "light rainy, lighter",
        ),
        (
            SceneChange("replace", "building", {}, replacement="tree", comparative="farther"),
            "replace every building by a tree, farther from the camera than before",
            "building → tree, farther",
        ),
        (SceneChange("add", "tree", {}, "on"), "add a tree", "+ tree"),
        (SceneChange("add", "tree", {}, None, "road"), "add a tree", "+ tree"),
    ],
)
def test_changes_in_words(change: SceneChange, words: str, brief: str) -> None:
    assert (change_in_words(change), str(change), change_in_brief(change)) == (words, words, brief)


def test_changes_that_are_none() -> None:
    for given, message in (
        (
            {"op": "add", "target": "tree", "replacement": "pole"},
            "a replacement is needed to replace something",
        ),
        ({"op": "replace", "target": "tree"}, "a replacement is needed to replace something"),
        ({"op": "paint", "target": "tree"}, "op must be one of add, remove, replace, got 'paint'"),
        ({"op": "add", "target": "tree", "position": "under"}, "position must be one of"),
        ({"op": "add", "target": "tree", "comparative": "nicer"}, "comparative must be one of"),
    ):
        with pytest.raises(InputError, match=message):
            SceneChange(**given)  # type: ignore[arg-type]
    assert SceneChange("remove", "tree", {}, "on", "lane", reference_properties={"position": "left"}).chooses
    assert not SceneChange("remove", "tree", {}, "on", "lane").chooses
    assert not SceneChange("add", "tree", {}, "behind", "building").chooses


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("thirty", (30, False, 1)),
        ("twenty five", (25, False, 2)),
        ("twenty zero", (20, False, 1)),
        ("two hundred and five", (205, False, 4)),
        ("a hundred", (100, False, 2)),
        ("three thousand", (3000, False, 2)),
        ("one thousand two hundred", (1200, False, 4)),
        ("three point one four", (3.14, False, 4)),
        ("one and a half", (1.5, False, 4)),
        ("two thirds", (2 / 3, True, 2)),
        ("a quarter", (0.25, True, 2)),
        ("an eighth", (0.125, True, 2)),
        ("½", (0.5, True, 1)),
        ("twice", (2, True, 1)),
        ("half", (0.5, True, 1)),
        ("3 / 4", (0.75, True, 3)),
        ("1,500", (1500, False, 1)),
        (".5", (0.5, False, 1)),
        ("zero", (0, False, 1)),
        ("five six", (5, False, 1)),
        ("nineteen two", (19, False, 1)),
        ("hundred", None),
        ("a car", None),
        ("and", None),
        ("three point", (3, False, 1)),
        ("two and", (2, False, 1)),
    ],
)
def test_numbers_in_words(words: str, number: tuple[float, bool, int] | None) -> None:
    found = read_number(words.split(), 0)
    if number is None:
        assert found is None
    else:
        assert found is not None
        assert found.value == pytest.approx(number[0])
        assert found[1:] == number[1:]


@pytest.mark.parametrize(
    ("text", "kind", "value", "upper"),
    [
        ("5 km/h", "speed", 5 / 3.6, None),
        ("5 miles per hour", "speed", 5 * 0.44704, None),
        ("5 m / s", "speed", 5, None),
        ("2 rad", "steering", math.degrees(2), None),
        ("2°", "steering", 2, None),
        ("7", "number", 7, None),
        ("10%", "share", 0.1, None),
        ("two times", "share", 2, None),
        ("half a degree", "steering", 0.5, None),
        ("between 10 and 20 km/h", "speed", 10 / 3.6, 20 / 3.6),
        ("10-20%", "share", 0.1, 0.2),
        ("10% to 20%", "share", 0.1, 0.2),
        ("between 10 km/h and 20", "speed", 10 / 3.6, 20 / 3.6),
        ("3 metres a second", "speed", 3, None),
    ],
)
def test_quantities_with_their_units(text: str, kind: str, value: float, upper: float | None) -> None:
    (found,) = quantities(analysed(f"slow down by {text}"))
    assert found.kind == kind
    assert found.value == pytest.approx(value)
    assert (None if found.upper is None else pytest.approx(found.upper)) == upper


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1/0", "nothing can be divided by 0"),
        ("1/2 %", "this can be a fraction or a percentage"),
        ("5 kg", "'kg' is no unit of speed or steering"),
        ("between 10%", "a second quantity is needed after 'between'"),
        ("between 40% and 10%", "'40' is more than '10': name the smaller end first"),
        ("from 10 km/h", "'from' names a prediction before"),
        ("10 km/h to 20 km/h", "this can be a range or a new value"),
        ("between 10% and 20 km/h", "the two ends have different units"),
        ("minus 5%", "a quantity is not negative"),
        ("%", "a number is needed before '%'"),
        ("infinity", "'infinity' is not a number"),
        ("5x", "has no unit that is known"),
        ("5 % percent", "'percent' stands after a quantity that is complete"),
        ("2 10%", "these numbers cannot be read as one number"),
    ],
)
def test_quantities_that_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason.replace("(", r"\(")):
        quantities(analysed(f"slow down by {text}"))


def test_units_are_those_of_physics() -> None:
    assert {
        name: round(1000 * factor, 1)
        for name, (kind, factor) in UNITS.items()
        if kind == "speed" and "/" in name and " " not in name
    } == {"km/h": 277.8, "km/hr": 277.8, "km/hour": 277.8, "mi/h": 447.0, "m/s": 1000, "m/sec": 1000}
    assert UNITS["%"] == ("share", 0.01)
    assert UNITS["rad"][1] == pytest.approx(57.2958, abs=1e-4)
    assert len({UNITS[one] for one in ("degree", "degrees", "deg", "°")}) == 1


class TestRelations:
    def test_a_tolerance_of_nothing_is_nothing(self) -> None:
        share = Quantity(0.1, relative=True)
        assert Border(share, tolerance=True).at(0) == 0
        assert Border(share, tolerance=True).at(-5) == 0.5
        with pytest.raises(NotApplicable, match="the prediction before is 0: it has no percentage change"):
            Border(share).at(0)
        assert Border(Quantity(2)).at(0) == 2

    @pytest.mark.parametrize(
        ("measured", "value"),
        [("rise", 3), ("fall", -3), ("gap", 3), ("value", 1), ("size", 1), ("left", -1)],
    )
    def test_what_is_measured(self, measured: Any, value: float) -> None:
        relation = Relation("steering", measured, low=Border(Quantity(0.0)))
        assert relation.margin(-2, 1) == value
        assert relation.holds(-2, 1) == (value >= 0)
        strict = Relation("steering", measured, low=Border(Quantity(0.0), strict=True))
        assert strict.holds(-2, 1) == (value > 0)

    def test_both_borders_count_and_rounding_does_not(self) -> None:
        both = Relation("speed", "fall", Border(Quantity(1)), Border(Quantity(2)))
        assert [both.holds(10, after) for after in (9.1, 9, 8, 7.9)] == [False, True, True, False]
        assert both.margin(10, 8.25) == 0.25
        third = Relation("speed", "fall", low=Border(Quantity(0.3, relative=True)))
        assert third.holds(0.1 + 0.2, 0.7 * (0.1 + 0.2))
        with pytest.raises(InputError, match="predictions must be finite numbers, got nan and 1"):
            both.holds(float("nan"), 1)

    def test_what_follows_from_what(self) -> None:
        def fall(low: float, *, relative: bool = False, strict: bool = False) -> Relation:
            return Relation("speed", "fall", low=Border(Quantity(low, relative), strict))

        assert fall(2).implies(fall(1))
        assert not fall(1).implies(fall(2))
        assert not fall(2).implies(fall(0.3, relative=True))
        assert fall(0.3, relative=True).implies(fall(0.0))
        assert not fall(0.0).implies(fall(0.0, strict=True))
        assert fall(0.0, strict=True).implies(fall(0.0))
        assert not fall(2).implies(Relation("speed", "fall", high=Border(Quantity(3))))
        assert not fall(2).implies(Relation("steering", "fall", low=Border(Quantity(1))))
        falls = fall(2)
        assert falls != Relation("speed", "rise", low=Border(Quantity(2)))
        assert falls == fall(2)
        assert hash(falls) == hash(fall(2))
        assert falls != fall(2, strict=True)
        assert falls != "the speed should decrease"


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match=r"part must be one of .*half.*, got 'hlaf'"):
        SceneChange("remove", "tree", part="hlaf")  # type: ignore[arg-type]
