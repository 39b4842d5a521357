"""Then-parts that must be refused, with the words at fault in brackets and a word of the reason."""

from __future__ import annotations

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules.language.outcomes import ExpectedOutcome, read_outcome
from roadworthy.rules.language.words import analysed


def read(text: str) -> ExpectedOutcome:
    return read_outcome(analysed(text))


REFUSED = {
    # What no model predicts.
    "the driver should be [careful]": "predict",
    "[proceed] with caution": "predict",
    "the car should [honk]": "predict",
    "turn on the [headlights]": "predict",
    "the car should [change lanes]": "predict",
    "the [braking distance] should increase": "predict",
    "the car should keep a safe [distance]": "predict",
    "you must [give way]": "slow down",
    "[prepare to stop]": "slow down",
    "the car should [pull over]": "predict",
    "the car should keep to the [speed limit]": "speed limit",
    # Words that are not known.
    "the car should [dance]": "dance",
    "the car should slow down [wobblingly]": "wobblingly",
    "the car should [decelarate]": "decelarate",
    "[the unicorn] should slow down": "unicorn",
    "the speed should decrease [until] it rains": "until",
    "the car should slow down [unless] it rains": "unless",
    "the car should slow down [only] a third": "only",
    # Others than the ego-vehicle.
    "[he] should slow down": "ego-vehicle",
    "[a red car] should slow down": "ego-vehicle",
    "[that car] should slow down": "ego-vehicle",
    # Too vague to judge.
    "slow down [a bit]": "how much",
    "slow down [slightly]": "how much",
    "slow down by [about] 30%": "between",
    "slow down [gently]": "predict",
    "the car should slow down [some]": "how much",
    # Permission and no obligation are no expectation.
    "the car [may] slow down": "permit",
    "the car [can] slow down": "permit",
    "the car [does not have to] slow down": "nothing",
    "the car [need not] slow down": "nothing",
    # Not enough.
    "": "nothing",
    "the ego-vehicle [should]": "should",
    "[the car]": "should",
    "the speed should [be]": "should",
    "the car should [turn]": "left",
    "the car should [decrease]": "speed",
    "the [prediction] should decrease": "speed",
    "the car should slow down by [at least]": "quantity",
    "the car should slow down [by]": "quantity",
    "the speed should be [20 km/h]": "at most",
    "the steering should be a [smaller] angle": "left",
    # Contradictions.
    "the car should speed up and [slow down]": "contradict",
    "the car should turn left and [turn right]": "contradict",
    "the speed should increase [decrease]": "contradict",
    "the speed should slow down to [at least 20 km/h]": "at most",
    "the speed should increase to [30%]": "by 30%",
    "the speed should decrease to [130%]": "",
    "slow down by [150%]": "100%",
    "slow down by [between 40% and 10%]": "more than",
    # Two expectations in one.
    "slow down and keep the same [steering]": "one",
    "the speed and the [steering] should not change": "one",
    "slow down without changing its [steering]": "one",
    "slow down and [turn left]": "one",
    "the speed should decrease and [stay below 30 km/h]": "one",
    # Units that do not fit.
    "the speed should drop by [5 degrees]": "degrees",
    "turn left by [5 km/h]": "km/h",
    "slow down by [5 metres]": "metres",
    "slow down by [30 furlongs]": "furlongs",
    "the car should not [not] slow down": "negat",
    "the speed should not be [between 10 and 20 km/h]": "between",
    "slow down by 30% [20%]": "",
    "slow down by [10% less]": "less",
    "the car should slow down [from] 50 to 30 km/h": "from",
    # What would be read wrongly if the words were only counted.
    "[stop braking]": "two things",
    "[ease] off the brake": "",
    "slow down by ten percent [or so]": "",
    "slow down [and]": "nothing of its own",
    "stop, [then proceed]": "nothing of its own",
    "[nor] slow down": "missing",
    "slow [no] down": "negates",
    "slow down [not]": "negates",
    "the car must not slow down and [stop]": "negated",
    "the car should not [only] slow down but also stop": "only",
    "the car should slow down but [not stop]": "one",
    "the car should slow down [at 3 m/s]": "by how much",
    "accelerate [up to 50 km/h]": "by how much",
    "the speed should not be [zero]": "at least",
    "the speed should not be [half]": "at least",
    "slow down [two] cars": "no unit",
    "slow down by at least [30]": "no unit",
    "the steering should stay within [3]": "no unit",
    "speed up [twice]": "how often",
    "[left]": "turn",
    "[slower]": "",
    "drive [down]": "down",
    "the car should stay [slow]": "compared",
    "the steering should be [straight]": "compared",
    "the car may slow down by at least 30%": "permit",
    "the car should [steer] more": "side",
    "the steering should change [more]": "judged",
    "the steering should [increase] to the right": "side",
    "slow down [because] you should turn left": "",
    "slow down by [30/40%]": "percentage",
    "slow down by [³] m/s": "",
    "slow down by 30 km/h[/]s": "",
    "slow down by 3 metres per second [per] second": "",
    "drive 10 km/h slower than [the speed limit]": "",
    "[traffic] must stop": "traffic",
    "the car in [front] should slow down": "front",
    "the car should slow down in the same [way]": "way",
    "slow down [if necessary]": "tested",
}


@pytest.mark.parametrize(("marked", "reason"), REFUSED.items(), ids=lambda value: str(value))
def test_what_is_not_understood_is_refused_and_underlined(marked: str, reason: str) -> None:
    start, stop = marked.find("["), marked.find("]") - 1
    text = marked.replace("[", "").replace("]", "")
    with pytest.raises(RuleError) as refusal:
        read(text)
    assert reason in str(refusal.value)
    begin, end = refusal.value.span
    if start >= 0:
        assert max(begin, start) < min(end, stop), f"underlines {text[begin:end]!r}"


def test_refusals_name_the_nearest_thing_that_is_understood() -> None:
    with pytest.raises(RuleError) as refusal:
        read("the car should decelarate")
    assert refusal.value.suggestions[0] == "decelerate"
