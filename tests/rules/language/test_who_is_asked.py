"""Who is asked must be able to do it, what is permitted is no duty, and who is meant must be clear."""

from __future__ import annotations

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules import parse

REFUSED = {
    # Who cannot do it.
    "If it rains, [the detector] must slow down.": "does not decide on the speed",
    "If it rains, [the network] must brake.": "does not decide on the speed",
    "If it rains, [the segmentation] must steer to the left.": "does not decide on the steering",
    "If a pedestrian appears, [the planner] must detect the pedestrian.": "does not decide",
    "If a pedestrian appears, [you] must see the pedestrian.": "does not decide",
    "If a pedestrian appears, [the detector] must stop before the pedestrian.": "does not decide",
    "If it rains, the speed [of the detector] must drop.": "does not decide on the speed",
    # What is permitted.
    "If it rains, the ego-vehicle [may] slow down by at most 20%.": "permits",
    "If it rains, you [are allowed to] slow down by at most 20%.": "permits",
    "If it rains, the speed [can] drop by at most 20%.": "permits",
    "If it rains, you [would] slow down.": "not understood",
    # Who is meant.
    "If two pedestrians are added, the detector must [detect it].": "not one thing",
    "If a car appears ahead, the detector must [detect them].": "not one thing",
    "If a car appears ahead, slow down for [him].": "stands for",
    "If two cars appear ahead, slow down for [it].": "stands for",
    "If two pedestrians appear, [the pedestrian] must be detected.": "which pedestrian",
    "If a pedestrian appears, [the added pedestrians] must be detected.": "no more",
    "If a car and a truck appear and a pedestrian stands behind [it], slow down.": "which of them",
    "If a car appears, slow down. If [they] get closer, slow down more.": "only one",
    "If it rains, the detector must see [the vehicles ahead].": "not several",
    "If it rains, the detector must see [the sky].": "no box",
    # What is not so yet, is over, or does not change.
    "In the [rainy] season, drive more slowly.": "may be dry",
    "If the weather [will become] rainy, slow down.": "cannot be seen",
    "If the trees [will be removed], keep your speed.": "cannot be seen",
    "If the light [was] red, stop.": "cannot be seen",
    "If the car ahead [braked], slow down.": "cannot be seen",
    "If the light is [still] red, stop.": "changes nothing",
    "If the light is [already] red, stop.": "changes nothing",
    "If rain [approaches], slow down.": "not understood",
    # What cannot be shown, or told apart.
    "If the [oak] trees are removed, keep your speed.": "not known",
    "If the [oaks] are removed, keep your speed.": "cannot be told",
    "If [a policeman] stands on the road, slow down.": "cannot be told",
    "If [a single tree] is removed, keep your speed.": "how many",
    "If snow lies [on the car] ahead, slow down.": "not understood",
    "If the sun is [in front of you], slow down.": "where the sun stands",
    "If a car [is waiting] to cross, slow down.": "on foot",
    "If a [walking] cyclist appears ahead, slow down.": "walks",
    # What is done with something else than is measured, or somewhere else.
    "If a pedestrian appears ahead, slow down [behind] the pedestrian.": "not understood",
    "If it rains, [hold the wheel].": "no model",
    "If it rains, [raise the wheel].": "no model",
    "If it rains, [adjust your speed].": "no model",
}


@pytest.mark.parametrize(("marked", "reason"), REFUSED.items())
def test_what_cannot_be_asked_is_refused_and_underlined(marked: str, reason: str) -> None:
    start, stop = marked.index("["), marked.index("]") - 1
    with pytest.raises(RuleError, match=reason) as refusal:
        parse(marked.replace("[", "").replace("]", ""))
    begin, end = refusal.value.span
    assert max(begin, start) < min(end, stop), str(refusal.value)


READ = {
    "If it rains, the speed may drop by at most 20%.": "(x1 - x2)/x1 <= 20%",
    "If it rains, the network must predict the same steering angle.": "|x1 - x2| <= 1.39 degrees",
    "If it rains, the driving model must slow down.": "x1 > x2",
    "If it rains, do not adjust your speed.": "|x1 - x2| <= 10% of x1",
    "If cars appear, slow down for them.": "x1 > x2",
    "If a pedestrian is standing still on the road, slow down.": "x1 > x2",
    "If a jogger appears on the roadside, slow down.": "x1 > x2",
}


@pytest.mark.parametrize(("text", "formula"), READ.items())
def test_what_is_like_it_and_clear_is_read(text: str, formula: str) -> None:
    assert parse(text).blocks[0].expectation.formula == formula


@pytest.mark.parametrize("what", ["all signs but the stop sign are", "all vehicles but buses are"])
def test_what_is_left_out_is_not_taken_as_well(what: str) -> None:
    with pytest.raises(RuleError, match="leaves out what it names"):
        parse(f"If {what} removed, keep your speed.")


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("a pedestrian is waiting to cross", "add a pedestrian on the sidewalk, waiting"),
        ("a pedestrian is waiting to cross ahead", "add a pedestrian on the sidewalk, waiting"),
        ("a pedestrian appears behind the parked car", "add a pedestrian behind the car"),
    ],
)
def test_where_people_are(condition: str, change: str) -> None:
    assert str(parse(f"If {condition}, slow down.").blocks[0].changes[0]) == change


def test_plural_pronouns_are_all_that_were_added() -> None:
    rule = parse("If pedestrians appear ahead, the detector must detect them.")
    assert rule.blocks[0].expectation.output == "overlap of the added pedestrian"
