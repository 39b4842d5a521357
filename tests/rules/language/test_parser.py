"""Whole rules: the paper's, the traps of its prototype, references between blocks, and refusals."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.errors import InputError, RuleError
from roadworthy.rules import parse, read_rules
from roadworthy.rules.language.words import analysed
from roadworthy.rules.reading import SceneChange

EXAMPLES = Path(__file__).parents[3] / "examples" / "rules"
CORPUS = Path(__file__).parents[1] / "corpus" / "development.yaml"


def change_of(text: str) -> SceneChange:
    """Return the only change of a condition."""
    (block,) = parse(f"If {text}, the ego-vehicle should slow down.").blocks
    (change,) = block.changes
    return change


def test_the_papers_rules() -> None:
    rules = {one.id: parse(one.text) for one in read_rules(EXAMPLES / "paper.rules")}
    assert set(rules) == {"R1", "R2", "R3", "R4", "R5", "R6", "R7", "CR1", "CR2", "CR3"}
    first = rules["R1"].blocks[0].changes[0]
    assert first == SceneChange("add", "pedestrian", position="on", reference="sidewalk")
    assert rules["R2"].blocks[0].changes[0].properties == {"type": "speed limit"}
    assert rules["R3"].blocks[0].expectation.formula == "(x1 - x2)/x1 >= 30%"
    assert rules["R4"].blocks[1].changes[0] == SceneChange(
        "add", "pedestrian", position="on", reference="sidewalk", comparative="closer"
    )
    assert rules["R5"].blocks[0].changes == (SceneChange("remove", "line"),)
    assert rules["R5"].blocks[0].expectation.output == "steering"
    assert rules["R6"].blocks[0].changes == (SceneChange("replace", "building", replacement="tree"),)
    assert rules["R7"].blocks[0].changes == (SceneChange("replace", "time", replacement="night"),)
    assert len(rules["CR2"].blocks[0].changes) == 2


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("there is a cyclist", SceneChange("add", "bicyclist")),
        (
            "there is a car in front of you",
            SceneChange("add", "vehicle", {"type": "car"}, "front", "ego-vehicle"),
        ),
        ("the weather changes to rain", SceneChange("replace", "weather", replacement="rainy")),
        ("a red traffic light appears", SceneChange("add", "traffic light", {"color": "red"})),
        ("it is a rainy day", SceneChange("replace", "weather", replacement="rainy")),
        (
            "the light turns red",
            SceneChange("replace", "traffic light", {"color": "red"}, replacement="traffic light"),
        ),
        (
            "a white car is replaced with a black car",
            SceneChange(
                "replace",
                "vehicle",
                {"type": "car", "color": "black"},
                replacement="vehicle",
                target_properties={"type": "car", "color": "white"},
            ),
        ),
        (
            "a tram stands in the left lane",
            SceneChange(
                "add", "vehicle", {"type": "tram"}, "in", "lane", reference_properties={"position": "left"}
            ),
        ),
        ("the lane markings are no longer there", SceneChange("remove", "line")),
        ("a pedestrian is not there any longer", SceneChange("remove", "pedestrian")),
        ("the tree is not longer there", SceneChange("remove", "tree")),
        ("day breaks", SceneChange("replace", "time", replacement="day")),
        ("it rains heavily", SceneChange("replace", "weather", {"level": "heavy"}, replacement="rainy")),
    ],
)
def test_conditions(condition: str, change: SceneChange) -> None:
    assert change_of(condition) == change


def test_two_things_are_two_changes_in_the_order_of_the_words() -> None:
    block = parse("If a pedestrian and a cyclist appear on the road at night, slow down.").blocks[0]
    assert [(one.op, one.target, one.replacement) for one in block.changes] == [
        ("add", "pedestrian", None),
        ("add", "bicyclist", None),
        ("replace", "time", "night"),
    ]


def test_the_car_is_the_ego_vehicle_unless_another_was_spoken_of() -> None:
    assert change_of("a pedestrian appears in front of the car").reference == "ego-vehicle"
    rule = parse("If a car appears ahead, slow down. If the car gets closer, slow down more.")
    assert rule.blocks[1].changes[0].comparative == "closer"
    assert rule.blocks[1].changes[0].target == "vehicle"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            "If a red light is ahead, stop. If it turns green, speed up.",
            "add a green light in front of the ego-vehicle",
        ),
        (
            "If a car stands on the roadside, slow down. If the car becomes a truck, slow down more.",
            "add a truck on the sidewalk",
        ),
        (
            "If a pedestrian crosses the road, slow down. If you approach him, slow down more.",
            "add a pedestrian on the road, crossing, closer to the camera than before",
        ),
        (
            "If a pedestrian is ahead, slow down. If a cyclist approaches him, slow down more.",
            "add a pedestrian in front of the ego-vehicle; add a bicyclist beside the pedestrian",
        ),
    ],
)
def test_a_later_block_changes_what_an_earlier_one_brought(text: str, change: str) -> None:
    assert "; ".join(map(str, parse(text).blocks[1].changes)) == change


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("If a unicorn appears, the ego-vehicle should slow down.", "unicorn"),
        ("If a pedestrian levitates, the ego-vehicle should slow down.", "levitates"),
        ("If the buildings are replaced, the steering should stay the same.", "replaced"),
        ("If he gets closer, the ego-vehicle should slow down.", "he"),
        ("If a pedestrian or a cyclist appears, slow down.", "or"),
        ("If a pedestrian appears on the roadside.", "If a pedestrian appears on the roadside"),
        ("Slow down unless it rains.", "unless"),
        ("If a blue pedestrian appears, slow down.", "blue"),
        ("If ten pedestrians appear, slow down.", "ten"),
        ("If a pedestrian appears, the driver should whistle.", "whistle"),
    ],
)
def test_what_is_not_understood_is_underlined(text: str, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    start, stop = caught.value.span
    assert words in text[start:stop] or text[start:stop] in words
    assert "^" in str(caught.value)


def test_a_typing_error_gets_the_word_that_was_meant() -> None:
    with pytest.raises(RuleError) as caught:
        parse("If a pedstrian appears on the roadside, slow down.")
    assert caught.value.suggestions == ("pedestrian",)


@pytest.mark.parametrize(
    ("condition", "slip", "meant"),
    [
        ("it is fogy", "fogy", "foggy"),
        ("it gets fogy and a pedestrian appears", "fogy", "foggy"),
        ("the weather becomes raniy", "raniy", "rainy"),
        ("the weather changes into fogy", "fogy", "foggy"),
        ("the driving time changes into nigth", "nigth", "night"),
    ],
)
def test_a_slip_in_the_weather_is_underlined_itself(condition: str, slip: str, meant: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(f"If {condition}, the ego-vehicle should slow down.")
    start, stop = caught.value.span
    assert caught.value.text[start:stop] == slip
    assert caught.value.suggestions[0] == meant


def test_what_is_no_slip_is_no_weather() -> None:
    with pytest.raises(RuleError, match="'it' refers to nothing"):
        parse("If it is a car, slow down.")
    with pytest.raises(RuleError, match="the weather cannot become this"):
        parse("If the sky turns gray, slow down.")


def test_text_that_is_none() -> None:
    with pytest.raises(RuleError, match="the rule is empty"):
        parse(" \n ")
    with pytest.raises(InputError, match="a rule must be text, got int"):
        parse(3)  # type: ignore[arg-type]


def test_a_unit_at_the_end_of_a_sentence_ends_it() -> None:
    rule = parse("If it rains, slow down by at least 5 km/h. If it rains more, slow down more.")
    assert len(rule.blocks) == 2
    assert [word.text for word in analysed("by 5 km/h.")][-1] == "."


@cache
def vocabulary() -> list[str]:
    sentences = [one["rule"] for one in yaml.safe_load(CORPUS.read_text("utf-8"))["rules"]]
    return sorted({word for text in sentences for word in text.split()})


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_written_is_read_or_refused(data: st.DataObject) -> None:
    """No words make the reader fail; what it refuses lies within the text."""
    text = " ".join(data.draw(st.lists(st.sampled_from(vocabulary()), min_size=1, max_size=14)))
    try:
        rule = parse(text)
    except RuleError as error:
        start, stop = error.span
        assert 0 <= start < stop <= len(text)
    else:
        assert rule.blocks
        assert str(rule)


JOINED = "If a pedestrian appears on the roadside, slow down, and if he gets closer, then slow down more"


def test_conditions_that_are_joined_are_blocks_of_their_own() -> None:
    rule = parse(f"{JOINED}, and if he gets even closer, slow down more.")
    assert [block.changes[0].comparative for block in rule.blocks] == [None, "closer", "closer"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("If a pedestrian appears and " * 12, "6 conditions at most"),
        ("If it rains, slow down by " + "very " * 120 + "much.", "120 words at most"),
        ("If it rains" + "," * 3000, "a word may have 100 characters at most"),
    ],
)
def test_sentences_in_which_nobody_finds_the_way_are_refused(text: str, said: str) -> None:
    """Every "and if" may begin a part of the rule, and there were twice as many ways to cut with each."""
    with pytest.raises(RuleError, match=said):
        parse(text)


@pytest.mark.parametrize(
    "condition", ["a pedestrian stays longer", "the car is longer on the road", "it rains longer"]
)
def test_what_stays_longer_is_not_gone(condition: str) -> None:
    with pytest.raises(RuleError, match=r"these words are not understood here|is no change of a scene"):
        parse(f"If {condition}, slow down.")
