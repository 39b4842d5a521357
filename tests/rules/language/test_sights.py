"""Then-parts about what models see and plan: what is read, what is refused, and that no word is lost."""

from __future__ import annotations

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules import parse

WALKER, RAIN = "If a pedestrian appears on the roadside", "If it rains"

READ = {
    f"{WALKER}, the detector must detect the added pedestrian.": ("overlap of the added pedestrian", 0.5),
    f"{WALKER}, the detector must still see him.": ("overlap of the added pedestrian", 0.5),
    f"{WALKER}, the pedestrian must be detected.": ("overlap of the added pedestrian", 0.5),
    f"{WALKER}, the detector must not overlook the pedestrian.": ("overlap of the added pedestrian", 0.5),
    f"{WALKER}, the detector must still detect the vehicles.": ("overlap of the vehicles", 0.5),
    f"{RAIN}, all trucks must still be detected.": ("overlap of the trucks", 0.5),
    f"{RAIN}, the boxes of the vehicles must overlap by at least 70%.": ("overlap of the vehicles", 0.7),
    f"{RAIN}, the box of the car ahead must overlap by at least 0.7.": ("overlap of the car ahead", 0.7),
    f"{RAIN}, the confidence of the detector must stay above 0.5.": ("confidence of the things", 0.5),
    f"{RAIN}, the road must stay labelled as road.": ("share of the road that stays road", 0.9),
    f"{RAIN}, at least 95% of the road must stay road.": ("share of the road that stays road", 0.95),
    f"{WALKER}, the pedestrian must be labelled as a pedestrian.": (
        "share of the added pedestrian that is labelled so", 0.5,
    ),
    f"{WALKER}, keep at least 1.5 m away from him.": ("distance of the path from the added pedestrian", 1.5),
    f"{WALKER}, its path must not come closer than 80 cm to the pedestrian.": (
        "distance of the path from the added pedestrian", 0.8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", READ)
def test_it_is_read(sentence: str) -> None:
    (block,) = parse(sentence).blocks
    output, least = READ[sentence]
    assert block.expectation.output == output
    low = block.expectation.relation.low
    assert low is not None
    assert low.quantity.value == pytest.approx(least)
    assert not low.quantity.relative
    # What it says can be said again.
    condition = sentence.partition(",")[0]
    assert parse(f"{condition}, {block.expectation.words}.").blocks[0].expectation == block.expectation


@pytest.mark.parametrize("sentence", READ)
def test_every_word_is_bound(sentence: str) -> None:
    rule = parse(sentence)
    outcome = rule.blocks[0].outcome[0][0]
    bound = [one for one in rule.words if one.gives and one.span[0] >= outcome]
    told = " ".join(one.text for one in bound).lower()
    weightless = {"the", "of", "still", "by", "a"}
    words = sentence[outcome:].rstrip(".").replace("%", "").lower().split()
    assert [one for one in words if one not in weightless and one not in told] == []


REFUSED = {
    f"{RAIN}, the detector must detect it.": "it",
    f"{RAIN}, the detector must detect the unicorn.": "unicorn",
    f"{RAIN}, the detector must detect the vehicles quickly.": "quickly",
    f"{RAIN}, the detector must not detect the vehicles.": "not detect the vehicles",
    f"{RAIN}, the detector must detect the added pedestrian.": "detect the added pedestrian",
    f"{WALKER}, the detector must see all pedestrians.": "see all pedestrians",
    f"{WALKER}, the detector must see him and the vehicles.": "and the vehicles",
    f"{RAIN}, slow down and still detect the vehicles.": "still detect the vehicles",
    f"{RAIN}, the overlap of the vehicles must be at least 0.7 and at most 0.6.": "0.7 and at most 0.6",
    f"{RAIN}, the confidence must be at least 2.": "at least 2",
    f"{RAIN}, the path must stay within 5 km/h.": "5 km/h",
    f"{RAIN}, the path must stay within 20%.": "20%",
    f"{RAIN}, the speed must decrease by 5 m.": "5 m",
    f"{RAIN}, the acceleration must decrease by 3 km/h.": "3 km/h",
    f"{RAIN}, the path must not come closer than 1 m to the pedestrian.": "closer than 1 m to the pedestrian",
    f"{RAIN}, the road must stay terrain.": "road",
    "If a red car appears ahead, the detector must detect the red car.": "detect the red car",
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_it_is_refused_and_underlined(sentence: str) -> None:
    with pytest.raises(RuleError) as told:
        parse(sentence)
    assert REFUSED[sentence] in told.value.text[slice(*told.value.span)]


def test_conditions_keep_their_distances() -> None:
    (block,) = parse("If a pedestrian stands on the road 15 m ahead, the path must stay within 0.5 m.").blocks
    assert block.changes[0].distance == 15
    assert block.expectation.formula.startswith("|x1 - x2| <= 0.5 m")


@pytest.mark.parametrize(
    ("added", "named", "output"),
    [
        ("truck", "vehicle", "overlap of the added vehicle"),
        ("child", "pedestrian", "overlap of the added pedestrian"),
    ],
)
def test_what_must_be_detected_may_be_the_added_thing(added: str, named: str, output: str) -> None:
    rule = parse(f"If a {added} appears, the detector must detect the {named}.")
    assert rule.blocks[0].expectation.output == output


@pytest.mark.parametrize(("added", "named"), [("car", "truck"), ("truck", "car")])
def test_one_of_another_kind_than_was_added_is_nobody(added: str, named: str) -> None:
    with pytest.raises(RuleError, match=f"say 'the added {added}', or 'the {named}s that were there before'"):
        parse(f"If a {added} appears, the detector must detect the {named}.")
