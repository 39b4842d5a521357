"""The season in rules: another condition beside the weather and the time of day, without levels."""

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules import parse
from roadworthy.rules.wordnet.elements import match_element


def conditions_of(text: str) -> list[tuple[str, str | None]]:
    """Return what a sentence changes, and into what."""
    (block,) = parse(text).blocks
    return [(one.target, one.replacement) for one in block.changes]


@pytest.mark.parametrize(
    "text",
    [
        "If the season changes to winter, the ego-vehicle should slow down.",
        "If the season is replaced by winter, slow down.",
        "If we change the season from summer to winter, the speed should decrease.",
        "If the time of year changes to winter, slow down.",
        "If it is winter, slow down.",
        "When winter comes, drive more slowly.",
        "When winter sets in, slow down.",
        "After winter has come, slow down.",
        "If the season turns from autumn to winter, slow down.",
        "If summer turns to winter, slow down.",
        "If summer gives way to winter, slow down.",
        "In winter, slow down.",
        "In the winter season, slow down.",
        "In wintertime, slow down.",
        "The car should slow down in winter.",
        "With the arrival of winter, slow down.",
        "On a winter day, slow down.",
        "In winter weather, slow down.",
        "If the scene becomes a winter scene, slow down.",
        "If the scene is in winter, slow down.",
        "If you drive in winter, slow down.",
    ],
)
def test_it_becomes_winter(text: str) -> None:
    assert conditions_of(text) == [("season", "winter")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("If winter changes to summer, keep your speed.", ["summer"]),
        ("If it becomes spring, keep your speed.", ["spring"]),
        ("If the season is autumn, keep your speed.", ["autumn"]),
        ("On a winter night, slow down.", ["night", "winter"]),
        ("On a rainy winter night, slow down.", ["rainy", "night", "winter"]),
        ("In a dark winter, slow down.", ["night", "winter"]),
        ("If it rains in winter, slow down.", ["rainy", "winter"]),
        ("If the season changes to winter at night, slow down.", ["winter", "night"]),
        ("If a summer day turns into a winter night, slow down.", ["night", "winter"]),
        ("If winter and night come, slow down.", ["winter", "night"]),
        ("If night falls in spring, slow down.", ["night", "spring"]),
        ("If the sun sets in winter, slow down.", ["dusk", "winter"]),
        ("If the sky gets dark in winter, slow down.", ["night", "winter"]),
        ("If the weather clears up in winter, keep your speed.", ["sunny", "winter"]),
        ("If snow covers the road in winter, slow down.", ["snowy", "winter"]),
    ],
)
def test_it_goes_with_weather_and_time(text: str, expected: list[str]) -> None:
    assert [new for _, new in conditions_of(text)] == expected


def test_the_level_is_that_of_the_weather() -> None:
    (block,) = parse("In light spring rain, slow down.").blocks
    assert [dict(one.properties) for one in block.changes] == [{"level": "light"}, {}]


def test_things_are_changed_in_the_season() -> None:
    assert conditions_of("If trees are replaced by buildings in winter, steer the same.") == [
        ("tree", "building"),
        ("season", "winter"),
    ]


@pytest.mark.parametrize(
    ("text", "about", "reason"),
    [
        ("If it is not winter, slow down.", "is not winter", "a season that ends is not understood"),
        ("When winter is gone, slow down.", "is", "a season that ends is not understood"),
        ("If no winter comes, slow down.", "comes", "a season that ends is not understood"),
        ("If winter gets heavier, slow down.", "winter gets", "a season cannot be heavier"),
        ("In a mild winter, slow down.", "mild", "winter cannot be light: only weather has levels"),
        ("If the winter is mild, slow down.", "the winter is", "winter cannot be light: only weather has"),
        ("If autumn comes lightly, slow down.", "autumn comes", "autumn cannot be light: only weather has"),
        ("If night falls heavily, slow down.", "night falls", "night cannot be heavy: only weather has"),
        ("If a spring lies on the road, slow down.", "a spring", "'a spring' may be a thing"),
        ("If a car stops near the spring, slow down.", "near the spring", "does not say which season it is"),
        ("If the season changes, slow down.", "the season changes", "what the season becomes is not said"),
        ("If the season changes to snow, slow down.", "snow", "cannot replace 'the season'"),
        ("If the weather becomes winter, slow down.", "winter", "cannot replace 'the weather'"),
        ("If a car is replaced by winter, slow down.", "winter", "cannot replace 'a car'"),
        ("If spring comes with autumn, slow down.", "autumn", "the season cannot be spring and autumn at"),
        ("In spring and in autumn, slow down.", "autumn", "the season cannot be spring and autumn at once"),
        ("After winter, slow down.", "After winter", "does not say which season it is"),
        ("If it rains before winter, slow down.", "before winter", "does not say which season it is"),
        ("If it is wintr, slow down.", "wintr", "is no weather, time of day or season"),
        ("If a pedestrian springs onto the road, slow down.", "springs onto the road", "not understood"),
        ("If the summer house appears, slow down.", "the summer house", "cannot be changed"),
    ],
)
def test_what_is_refused(text: str, about: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason) as caught:
        parse(text)
    assert text[slice(*caught.value.span)] == about


def test_fall_is_no_season() -> None:
    assert match_element("fall") is None
    with pytest.raises(RuleError) as caught:
        parse("In the fall, slow down.")
    assert caught.value.suggestions[0] == "autumn"
    assert conditions_of("If night falls, slow down.") == [("time", "night")]


def test_dark_clouds_are_no_night() -> None:
    assert conditions_of("If dark clouds appear, slow down.") == [("weather", "cloudy")]


@pytest.mark.parametrize(
    "text", ["If no rain falls, slow down.", "If the night is gone, slow down.", "Before dark, slow down."]
)
def test_a_condition_that_is_not_there_is_never_made(text: str) -> None:
    with pytest.raises(RuleError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "If rain and night come, slow down.",
        "If the weather changes to rain at night, slow down.",
        "If the scene becomes a rainy night, slow down.",
        "In dark rain, slow down.",
        "If rain at night falls, slow down.",
        "If rain falls by night, slow down.",
        "If rain comes with the night, slow down.",
    ],
)
def test_no_condition_is_lost(text: str) -> None:
    assert conditions_of(text) == [("weather", "rainy"), ("time", "night")]
