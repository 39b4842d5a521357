"""Then-parts and what they must be read as; the formulas were written by hand before the code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import RuleError
from roadworthy.rules.expectation import Expectation, Output, Quantity
from roadworthy.rules.language.outcome_words import LEXICON, base_form
from roadworthy.rules.language.outcomes import ExpectedOutcome, read_outcome
from roadworthy.rules.language.words import analysed


def read(text: str, **options: object) -> ExpectedOutcome:
    return read_outcome(analysed(text), **options)  # type: ignore[arg-type]


DOWN, UP, NOT_DOWN, NOT_UP = "x1 > x2", "x1 < x2", "x1 <= x2", "x1 >= x2"
SAME_SPEED = "|x1 - x2| <= 10% of x1"
SAME_STEERING = "|x1 - x2| <= 1.39 degrees"

SPEED = {
    # The paper's own rules.
    "Then: the ego-vehicle should slow down.": DOWN,
    "the ego-vehicle should slow down at least 30%": "(x1 - x2)/x1 >= 30%",
    "the speed should decrease more": DOWN,
    # Who or what: the ego-vehicle in many names, its speed, or nobody.
    "the car should slow down": DOWN,
    "the vehicle must slow down": DOWN,
    "the autonomous vehicle shall decelerate": DOWN,
    "the self-driving car will slow down": DOWN,
    "you should slow down": DOWN,
    "you have to slow down": DOWN,
    "it should brake": DOWN,
    "the driver must reduce the speed": DOWN,
    "the driver needs to slow down": DOWN,
    "drivers must slow down": DOWN,
    "its speed should drop": DOWN,
    "the speed of the ego-vehicle should decrease": DOWN,
    "the ego-vehicle's speed should be reduced": DOWN,
    "the predicted speed should be lower": DOWN,
    "the velocity of the car should go down": DOWN,
    "the model should predict a lower speed": DOWN,
    "speed should fall": DOWN,
    "slow down": DOWN,
    "Slow down!": DOWN,
    "please slow down": DOWN,
    "drive more slowly": DOWN,
    "drive slowly": DOWN,
    "drive slower": DOWN,
    "go slower": DOWN,
    "drive slower than before": DOWN,
    "be slower than before": DOWN,
    "drive less fast": DOWN,
    "reduce your speed": DOWN,
    "lower its speed": DOWN,
    "cut your speed": DOWN,
    "ease off the accelerator": DOWN,
    "apply the brakes": DOWN,
    "the car slows down": DOWN,
    "then it has to slow down too": DOWN,
    "the car is expected to slow down": DOWN,
    "the car ought to decelerate": DOWN,
    "the car is required to reduce its speed": DOWN,
    "the car should immediately slow down": DOWN,
    "the car should start braking": DOWN,
    "there should be a decrease in speed": DOWN,
    "a drop in speed is expected": DOWN,
    "we expect the car to slow down": DOWN,
    "the car should drive at a lower speed": DOWN,
    "the car should travel at a reduced speed": DOWN,
    "stop": DOWN,
    "the car must stop": DOWN,
    "brake": DOWN,
    "the car should come to a complete stop": DOWN,
    "slow down and prepare to stop": DOWN,
    "slow down and be ready to stop": DOWN,
    "slow down and be ready to stop, if necessary": DOWN,
    "slow down and reduce its speed": DOWN,
    "the car must slow down or stop": DOWN,
    "slow down and give way": DOWN,
    "the speed should be less than before": DOWN,
    "the speed should be lower than in the original image": DOWN,
    "the car should slow down compared to before": DOWN,
    "the car should not speed up but slow down": DOWN,
    "speed up": UP,
    "the car should accelerate": UP,
    "the speed should increase": UP,
    "the speed should rise": UP,
    "the speed should go up": UP,
    "the car may not slow down": NOT_DOWN,
    "the car should drive faster": UP,
    "you may not speed up": NOT_UP,
    "the speed should be higher than before": UP,
    "it should pick up speed": UP,
    # Negation reverses.
    "the ego-vehicle should not slow down": NOT_DOWN,
    "the car shouldn't slow down": NOT_DOWN,
    "the car must never slow down": NOT_DOWN,
    "do not slow down": NOT_DOWN,
    "don't brake": NOT_DOWN,
    "the speed should not decrease": NOT_DOWN,
    "the speed should not be lower": NOT_DOWN,
    "there should be no decrease in speed": NOT_DOWN,
    "the car should not speed up": NOT_UP,
    "do not speed up": NOT_UP,
    "the car can't accelerate": NOT_UP,
    "the car cannot go faster": NOT_UP,
    "the car is not allowed to speed up": NOT_UP,
    "the car should avoid accelerating": NOT_UP,
    "the car should drive no faster than before": NOT_UP,
    "the speed must not be increased": NOT_UP,
    # Amounts of the change.
    "the car should slow down by 30%": "(x1 - x2)/x1 >= 30%",
    "the car should slow down 30 percent": "(x1 - x2)/x1 >= 30%",
    "slow down by at least 12.5%": "(x1 - x2)/x1 >= 12.5%",
    "slow down by a third": "(x1 - x2)/x1 >= 33.33%",
    "slow down by at least half": "(x1 - x2)/x1 >= 50%",
    "halve its speed": "(x1 - x2)/x1 >= 50%",
    "the speed should be cut in half": "(x1 - x2)/x1 >= 50%",
    "the speed should be halved": "(x1 - x2)/x1 >= 50%",
    "double its speed": "(x2 - x1)/x1 >= 100%",
    "slow down by more than 20 per cent": "(x1 - x2)/x1 >= 20%",
    "slow down by less than 20%": "(x1 - x2)/x1 <= 20% and x1 > x2",
    "slow down by at most 20%": "(x1 - x2)/x1 <= 20%",
    "slow down by up to 20%": "(x1 - x2)/x1 <= 20%",
    "slow down no more than 30%": "(x1 - x2)/x1 <= 30%",
    "slow down by not more than 30%": "(x1 - x2)/x1 <= 30%",
    "slow down by a maximum of 30%": "(x1 - x2)/x1 <= 30%",
    "slow down by no less than 30%": "(x1 - x2)/x1 >= 30%",
    "slow down by 30% or more": "(x1 - x2)/x1 >= 30%",
    "slow down by 30% or less": "(x1 - x2)/x1 <= 30%",
    "slow down by exactly 30%": "(x1 - x2)/x1 = 30%",
    "the car should not slow down by more than 30%": "(x1 - x2)/x1 <= 30%",
    "the car should not slow down at least 30%": "(x1 - x2)/x1 <= 30%",
    "the car should not slow down by less than 30%": "(x1 - x2)/x1 >= 30%",
    "the car should not slow down by 30%": "(x1 - x2)/x1 <= 30%",
    "the car should slow down at least 5 km/h": "x1 - x2 >= 1.39 m/s",
    "the car should slow down by less than 5 km/h": "x1 - x2 <= 1.39 m/s and x1 > x2",
    "the car should slow down by at least ten miles per hour": "x1 - x2 >= 4.47 m/s",
    "the car should slow down by 3 m/s": "x1 - x2 >= 3 m/s",
    "the car should slow down 20kph": "x1 - x2 >= 5.56 m/s",
    "the car should speed up by at least 10%": "(x2 - x1)/x1 >= 10%",
    "the car should speed up by less than 10%": "(x2 - x1)/x1 <= 10% and x2 > x1",
    "the car should speed up by up to 10%": "(x2 - x1)/x1 <= 10%",
    "the car should speed up by less than 5 m/s": "x2 - x1 <= 5 m/s and x2 > x1",
    "the car should not speed up by less than 5 m/s": "x2 - x1 >= 5 m/s",
    "the car should not speed up by more than 5 m/s": "x2 - x1 <= 5 m/s",
    "the speed should be at least 30% lower": "(x1 - x2)/x1 >= 30%",
    "the speed should be 10 km/h less than before": "x1 - x2 >= 2.78 m/s",
    "the speed should be lower by at least 2 m/s": "x1 - x2 >= 2 m/s",
    "the speed should be at most 30% lower": "(x1 - x2)/x1 <= 30%",
    "a reduction in speed of at least 10% is expected": "(x1 - x2)/x1 >= 10%",
    "the decrease in speed should not exceed 30%": "(x1 - x2)/x1 <= 30%",
    "the speed should decrease between 10% and 40%": "10% <= (x1 - x2)/x1 <= 40%",
    "the speed should decrease by between 10 and 40 percent": "10% <= (x1 - x2)/x1 <= 40%",
    "the speed should decrease by 10 to 40 percent": "10% <= (x1 - x2)/x1 <= 40%",
    "the speed should decrease by 10-40%": "10% <= (x1 - x2)/x1 <= 40%",
    "slow down by at least 10% but no more than 40%": "10% <= (x1 - x2)/x1 <= 40%",
    "slow down by between 5 and 10 km/h": "1.39 m/s <= x1 - x2 <= 2.78 m/s",
    "slow down and reduce the speed by at least 30%": "(x1 - x2)/x1 >= 30%",
    "slow down by at least 10% more": "(x1 - x2)/x1 >= 10%",
    # The new value.
    "slow down to 20 km/h": "x2 <= 5.56 m/s",
    "slow down to at most 20 km/h": "x2 <= 5.56 m/s",
    "slow down to at most half": "x2/x1 <= 50%",
    "slow down to half its speed": "x2/x1 <= 50%",
    "slow down to at most two thirds of its original speed": "x2/x1 <= 66.67%",
    "reduce its speed to below 30 km/h": "x2 <= 8.33 m/s",
    "the speed should drop below 30 km/h": "x2 <= 8.33 m/s",
    "the speed should not drop below 30 km/h": "x2 >= 8.33 m/s",
    "the speed should be at most half": "x2/x1 <= 50%",
    "the speed should be at most half of what it was": "x2/x1 <= 50%",
    "the speed should be at most half the previous speed": "x2/x1 <= 50%",
    "the speed should be at most half as fast as before": "x2/x1 <= 50%",
    "the speed should be at least 30 km/h": "x2 >= 8.33 m/s",
    "the speed should stay below 50 km/h": "x2 <= 13.89 m/s",
    "keep your speed under 50 km/h": "x2 <= 13.89 m/s",
    "the car should not exceed 50 km/h": "x2 <= 13.89 m/s",
    "the speed should not exceed 30 mph": "x2 <= 13.41 m/s",
    "the car should drive no faster than 30 km/h": "x2 <= 8.33 m/s",
    "drive slower than 30 km/h": "x2 <= 8.33 m/s",
    "the speed should be less than 30 km/h": "x2 <= 8.33 m/s",
    "the speed should not be more than 30 km/h": "x2 <= 8.33 m/s",
    "the speed should be 30 km/h or less": "x2 <= 8.33 m/s",
    "the speed should be limited to 30 km/h": "x2 <= 8.33 m/s",
    "limit your speed to 30 km/h": "x2 <= 8.33 m/s",
    "the speed should be between 20 and 40 km/h": "5.56 m/s <= x2 <= 11.11 m/s",
    "speed up to 50 km/h": "x2 >= 13.89 m/s",
    "the car should speed up to at least 50 km/h": "x2 >= 13.89 m/s",
    "the speed should increase up to 30%": "(x2 - x1)/x1 <= 30%",
    "reduce the speed up to 30%": "(x1 - x2)/x1 <= 30%",
    "the speed should increase to at least 130%": "x2/x1 >= 130%",
    "the speed should be zero": "x2 <= 0 m/s",
    "the speed should drop to zero": "x2 <= 0 m/s",
    # The same.
    "the speed should stay the same": SAME_SPEED,
    "the speed should remain unchanged": SAME_SPEED,
    "the speed should be the same as before": SAME_SPEED,
    "the speed should not change": SAME_SPEED,
    "the speed should not be affected": SAME_SPEED,
    "the speed should be unaffected": SAME_SPEED,
    "this should not affect the speed": SAME_SPEED,
    "there should be no change in speed": SAME_SPEED,
    "no change in speed is expected": SAME_SPEED,
    "this should have no effect on its speed": SAME_SPEED,
    "keep your speed": SAME_SPEED,
    "keep the speed constant": SAME_SPEED,
    "the car should maintain its speed": SAME_SPEED,
    "the car should hold its speed": SAME_SPEED,
    "the car should keep the same speed": SAME_SPEED,
    "drive at the same speed": SAME_SPEED,
    "the car should continue at the same speed as before": SAME_SPEED,
    "the car should keep driving at the same speed": SAME_SPEED,
    "the car should drive as fast as before": SAME_SPEED,
    "the speed should stay about the same": SAME_SPEED,
    "the car should neither speed up nor slow down": SAME_SPEED,
    "the car should not speed up or slow down": SAME_SPEED,
    "the speed should vary at most 10%": "|x1 - x2|/x1 <= 10%",
    "the speed should stay within 5%": "|x1 - x2|/x1 <= 5%",
    "the speed should stay within 5 km/h of its previous value": "|x1 - x2| <= 1.39 m/s",
    "the speed should not change by more than 2 m/s": "|x1 - x2| <= 2 m/s",
    "the change in speed should be less than 5%": "|x1 - x2|/x1 <= 5%",
    "the speed should change": "|x1 - x2| > 10% of x1",
    "the speed should not stay the same": "|x1 - x2| > 10% of x1",
    "the speed should change by at least 10%": "|x1 - x2|/x1 >= 10%",
    # Written later, from other people's ways of saying it.
    "bring its speed down to 30 km/h": "x2 <= 8.33 m/s",
    "the vehicle should lose at least 10 km/h": "x1 - x2 >= 2.78 m/s",
    "the car should not lose more than 10% of its speed": "(x1 - x2)/x1 <= 10%",
    "the car should keep at least 80% of its speed": "x2/x1 >= 80%",
    "the speed must be reduced to 70% of the original": "x2/x1 <= 70%",
    "the speed should be 10 km/h below the original speed": "x1 - x2 >= 2.78 m/s",
    "the speed should be no more than 10 km/h above the original speed": "x2 - x1 <= 2.78 m/s",
    "the speed should be 10% higher at most": "(x2 - x1)/x1 <= 10%",
    "the car should slow down by 30%, at least": "(x1 - x2)/x1 >= 30%",
    "drive at a 10% lower speed": "(x1 - x2)/x1 >= 10%",
    "drive 10 km/h slower": "x1 - x2 >= 2.78 m/s",
    "drive at 30 km/h or less": "x2 <= 8.33 m/s",
    "do not go over 50 km/h": "x2 <= 13.89 m/s",
    "drive with a speed of at most 30 km/h": "x2 <= 8.33 m/s",
    "the speed must never be more than 10% higher than before": "(x2 - x1)/x1 <= 10%",
    "the speed should at most double": "(x2 - x1)/x1 <= 100%",
    "the car should drive without slowing down": NOT_DOWN,
    "without slowing down": NOT_DOWN,
    "the car should continue without changing speed": SAME_SPEED,
    "the car should continue without braking": NOT_DOWN,
    "accelerating is not allowed": NOT_UP,
    "acceleration is forbidden": NOT_UP,
    "the speed ought not to increase": NOT_UP,
    "the speed is not to exceed 30 km/h": "x2 <= 8.33 m/s",
    "the vehicle is required not to accelerate": NOT_UP,
    "the car must not slow down or stop": NOT_DOWN,
    "the car should slow down, not speed up": DOWN,
    "braking is expected": DOWN,
    "a 10% decrease in speed is expected": "(x1 - x2)/x1 >= 10%",
    "it is expected that the speed will decrease by at least 10%": "(x1 - x2)/x1 >= 10%",
    "the car should be brought to a standstill": DOWN,
    "slow down to avoid a collision": DOWN,
    "slow down in order to avoid a collision": DOWN,
    "SLOW DOWN BY 30 KM/H": "x1 - x2 >= 8.33 m/s",
    "the car should proceed at its current speed": SAME_SPEED,
    "the speed should match the original speed": SAME_SPEED,
    "the speed should be equal to the original speed": SAME_SPEED,
    "the car should hold its speed to within 10%": "|x1 - x2|/x1 <= 10%",
    "the speed should change by between 10% and 20%": "10% <= |x1 - x2|/x1 <= 20%",
}

STEERING = {
    "the steering angle of ego-vehicle should keep the same": SAME_STEERING,
    "the steering angle of the ego-vehicle should stay the same": SAME_STEERING,
    "the steering should not change": SAME_STEERING,
    "steering should not change": SAME_STEERING,
    "the steering wheel should be held steady": SAME_STEERING,
    "the steering angle must remain constant": SAME_STEERING,
    "the car should keep its steering": SAME_STEERING,
    "the car should keep the same steering angle": SAME_STEERING,
    "keep going straight": SAME_STEERING,
    "the car should continue straight ahead": SAME_STEERING,
    "the car should keep its course": SAME_STEERING,
    "the car should not change direction": SAME_STEERING,
    "the car should not swerve": SAME_STEERING,
    "do not turn the steering wheel": SAME_STEERING,
    "the car should not turn left or right": SAME_STEERING,
    "the steering should not deviate by more than 5 degrees": "|x1 - x2| <= 5 degrees",
    "the steering should stay within 2 degrees": "|x1 - x2| <= 2 degrees",
    "the car should not deviate by more than 2 degrees": "|x1 - x2| <= 2 degrees",
    "the steering angle should vary at most 10%": "|x1 - x2|/|x1| <= 10%",
    "the steering angle should differ by less than 3°": "|x1 - x2| <= 3 degrees",
    "the steering should change by at most 0.1 radians": "|x1 - x2| <= 5.73 degrees",
    "the steering should change by at least 5 degrees": "|x1 - x2| >= 5 degrees",
    "the steering should deviate at least 5 degrees": "|x1 - x2| >= 5 degrees",
    "the steering should differ by more than 5 degrees": "|x1 - x2| >= 5 degrees",
    "the steering should not change by less than 5 degrees": "|x1 - x2| >= 5 degrees",
    "the steering angle should change": "|x1 - x2| > 1.39 degrees",
    "keep the deviation below 2 degrees": "|x1 - x2| <= 2 degrees",
    "turn left": DOWN,
    "the car should turn to the left": DOWN,
    "the car should steer left": DOWN,
    "the car should swerve to the right": UP,
    "the car should turn right": UP,
    "the car should turn more to the right": UP,
    "the steering should be more to the left": DOWN,
    "the steering wheel should be turned to the left": DOWN,
    "the car should make a left turn": DOWN,
    "the car should steer at least 3 degrees to the left": "x1 - x2 >= 3 degrees",
    "the car should steer to the left by at least 3 degrees": "x1 - x2 >= 3 degrees",
    "the car should turn right by less than 3 degrees": "x2 - x1 <= 3 degrees and x2 > x1",
    "the car should deviate to the left by at most 3 degrees": "x1 - x2 <= 3 degrees",
    "the car should not turn left": NOT_DOWN,
    "the car must not steer to the right": NOT_UP,
    "the steering angle should increase": UP,
    "the steering angle should decrease by at least 3 degrees": "x1 - x2 >= 3 degrees",
    "the steering angle should increase by more than 10%": "(x2 - x1)/|x1| >= 10%",
    "the steering angle should not exceed 10 degrees": "|x2| <= 10 degrees",
    "the steering should be at least 5 degrees to the left": "-x2 >= 5 degrees",
    "no steering change should occur": SAME_STEERING,
    "there must not be any change of steering": SAME_STEERING,
    "this must not have any influence on steering": SAME_STEERING,
    "the network should predict the same steering angle": SAME_STEERING,
    "the steering should remain as it was before": SAME_STEERING,
    "the car should continue on its course": SAME_STEERING,
    "turn neither left nor right": SAME_STEERING,
    "don't move the steering wheel": SAME_STEERING,
    "the difference between the steering angles should be at most 2 degrees": "|x1 - x2| <= 2 degrees",
    "the steering must not differ from the original by more than 3 degrees": "|x1 - x2| <= 3 degrees",
    "the steering angle should be within 2 degrees of the original": "|x1 - x2| <= 2 degrees",
    "a deviation of up to 2 degrees is allowed": "|x1 - x2| <= 2 degrees",
    "a change of more than 2 degrees is not acceptable": "|x1 - x2| <= 2 degrees",
    "the steering angle may vary by up to 2.5 deg": "|x1 - x2| <= 2.5 degrees",
    "steer 5 to 10 degrees to the right": "5 degrees <= x2 - x1 <= 10 degrees",
    "turn the wheel to the left by 10 degrees": "x1 - x2 >= 10 degrees",
    "the steering angle should move left": DOWN,
    "the steering should be at least 5 degrees further to the left": "x1 - x2 >= 5 degrees",
}

ALL = [("speed", *item) for item in SPEED.items()] + [("steering", *item) for item in STEERING.items()]


@pytest.mark.parametrize(("output", "text", "formula"), ALL, ids=lambda value: str(value))
def test_then_part_is_read(output: Output, text: str, formula: str) -> None:
    expectation = read(text).expectation
    assert (expectation.output, expectation.formula) == (output, formula)


@pytest.mark.parametrize(("output", "text", "formula"), ALL, ids=lambda value: str(value))
def test_reading_in_plain_words_is_read_as_the_same(output: Output, text: str, formula: str) -> None:
    expectation = read(text).expectation
    again = read(expectation.words).expectation
    assert (again.output, again.formula) == (output, formula), expectation.words


def test_patterns_are_of_base_forms() -> None:
    """Words come to the patterns in their base form: one with another form would never match."""
    words = {word for entry in LEXICON for word in re.findall("[a-z]+", entry.pattern.pattern)}
    assert {word for word in words if base_form(word) != word} == set()


COMPARATIVES = {
    "the speed should decrease more": (True, DOWN),
    "the car should slow down even more": (True, DOWN),
    "it should slow down further": (True, DOWN),
    "slow down more than before": (True, DOWN),
    "the car should brake harder": (True, DOWN),
    "the car should turn less to the left": (True, UP),
    "drive even slower": (True, DOWN),
    "the car should keep slowing down": (True, DOWN),
    "the car should continue to slow down": (True, DOWN),
    "be slower than before": (False, DOWN),
    "drive more slowly": (False, DOWN),
    "the speed should decrease": (False, DOWN),
    "slow down by a further 10%": (True, "(x1 - x2)/x1 >= 10%"),
}


@pytest.mark.parametrize("text", COMPARATIVES)
def test_comparatives(text: str) -> None:
    outcome = read(text)
    assert (outcome.comparative, outcome.expectation.formula) == COMPARATIVES[text]


def test_earlier_block_says_which_output_is_meant() -> None:
    assert read("it should decrease more", default_output="speed").expectation.output == "speed"
    assert read("it should not change", default_output="steering").expectation.formula == SAME_STEERING
    # The words win.
    assert read("the speed should decrease", default_output="steering").expectation.output == "speed"


def test_the_car_is_not_the_ego_vehicle_where_another_was_introduced() -> None:
    with pytest.raises(RuleError, match="ego-vehicle"):
        read("the car should slow down", others={"car"})
    assert read("the ego-vehicle should slow down", others={"car"}).expectation.change == "decrease"
    assert read("the vehicle should slow down", others={"car"}).expectation.change == "decrease"
    assert read("you should slow down", others={"car"}).expectation.change == "decrease"
    for text in ("it should slow down", "its speed should decrease"):
        assert read(text).expectation.change == "decrease"
        with pytest.raises(RuleError, match="ego-vehicle"):
            read(text, others={"it"})
    assert read("the ego-vehicle should reduce its speed", others={"it"}).expectation.change == "decrease"


def test_things_of_the_if_part_may_be_named_again() -> None:
    with pytest.raises(RuleError):
        read("the car should slow down for the pedestrian")
    outcome = read("the car should slow down for the pedestrian", mentioned={"pedestrian"})
    assert outcome.expectation.formula == DOWN
    with pytest.raises(RuleError, match="ego-vehicle"):
        read("the pedestrian should slow down", mentioned={"pedestrian"})
    outcome = read("the rain should not influence the steering", mentioned={"rain"})
    assert outcome.expectation.formula == SAME_STEERING
    # A name that also stands for something else keeps its meaning.
    assert read("turn to the left", mentioned={"left"}).expectation.formula == DOWN
    assert read("drive at the same speed", mentioned={"speed", "sign"}).expectation.formula == SAME_SPEED
    with pytest.raises(RuleError, match="ego-vehicle"):
        read("the speed of the car should drop", mentioned={"car"}, others={"car"})
    assert read("slow down for the car", mentioned={"car"}, others={"car"}).expectation.formula == DOWN
    assert read("slow down because of it").expectation.formula == DOWN
    assert read("drive more slowly because you cannot see as far ahead").expectation.formula == DOWN


def test_propositions_and_inference_are_those_of_table_5() -> None:
    outcome = read("the ego-vehicle should slow down at least 30%")
    assert [str(one) for one in outcome.propositions] == [
        "CHANGE('decrease')",
        "MODIFIER('at least')",
        "QUANTITY('30', 'percentage')",
    ]
    assert outcome.inference == (
        "CHANGE(decrease) ∧ MODIFIER(at least) ∧ QUANTITY(n, percentage) → (x1 - x2)/x1 >= n%"
    )
    negated = read("the car should not slow down by more than 5 km/h")
    assert [str(one) for one in negated.propositions] == [
        "CHANGE('decrease')",
        "MODIFIER('more than')",
        "QUANTITY('5', 'number')",
        "NEGATION('not')",
    ]
    assert negated.inference == (
        "CHANGE(decrease) ∧ MODIFIER(more than) ∧ QUANTITY(n, number) ∧ NEGATION(description) → x1 - x2 <= n"
    )
    assert read("keep the same speed").inference == "CHANGE(same) → |x1 - x2| <= δ"


SUBJECTS = ["the speed", "its speed", "the car's speed", "the speed of the ego-vehicle"]
VERBS = {
    "decrease": ["decrease", "drop", "fall", "be reduced", "go down", "be lowered"],
    "increase": ["increase", "rise", "go up", "be raised"],
    "different": ["change", "vary", "be altered"],
}
MODALS = {
    False: ["should", "must", "has to", "is expected to", "ought to"],
    True: ["should not", "must never"],
}
MODIFIERS = {
    "at least": ["at least", "a minimum of"],
    "at most": ["at most", "up to", "a maximum of"],
    "less than": ["less than"],
    "more than": ["more than", "over"],
    None: [""],
}
AMOUNTS = {
    "30%": Quantity(0.3, relative=True),
    "thirty percent": Quantity(0.3, relative=True),
    "a quarter": Quantity(0.25, relative=True),
    "18 km/h": Quantity(5.0),
    "5 m/s": Quantity(5.0),
}


@given(st.data())
def test_every_combination_means_the_sum_of_its_parts(data: st.DataObject) -> None:
    """Subject, modal, negation, verb, modifier and amount can be combined at will."""

    def one_of(choices: list[str]) -> str:
        return data.draw(st.sampled_from(choices))

    change, negated = data.draw(st.sampled_from(sorted(VERBS))), data.draw(st.booleans())
    modifier = data.draw(st.sampled_from(list(MODIFIERS)))
    amount = one_of(sorted(AMOUNTS))
    clause = f"{one_of(SUBJECTS)} {one_of(MODALS[negated])} {one_of(VERBS[change])}"
    if data.draw(st.booleans()):
        text = f"{clause} by {one_of(MODIFIERS[modifier])} {amount}"
        wanted = Expectation("speed", change, modifier, AMOUNTS[amount], negated=negated)  # type: ignore[arg-type]
    else:
        text, wanted = clause, Expectation("speed", change, negated=negated)  # type: ignore[arg-type]
    assert read(text).expectation == wanted


KNOWN = sorted({word for text in (*SPEED, *STEERING) for word in re.findall(r"[a-z]+", text.lower())})


@given(st.sampled_from(ALL), st.data())
def test_no_foreign_word_passes_unseen(gold: tuple[str, str, str], data: st.DataObject) -> None:
    """A word that means nothing here, anywhere in a clause, is refused and underlined."""
    words = gold[1].split()
    position = data.draw(st.integers(0, len(words)))
    foreign = data.draw(st.sampled_from(["xylophone", "zebra", "unless", "banana", "seldom", "%", "qwerty"]))
    text = " ".join([*words[:position], foreign, *words[position:]])
    with pytest.raises(RuleError) as refusal:
        read(text)
    start, stop = refusal.value.span
    assert 0 <= start <= stop <= len(text)


@given(st.lists(st.sampled_from(KNOWN), max_size=8))
def test_word_salad_is_read_or_refused_but_never_crashes(words: list[str]) -> None:
    try:
        outcome = read(" ".join(words))
    except RuleError as refusal:
        start, stop = refusal.span
        assert 0 <= start <= stop
    else:
        assert outcome.expectation.formula


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the ego-vehicle must stop", "stop"),
        ("you have to halt", "halt"),
        ("the car should come to a complete stop", "come to a complete stop"),
        ("slow down and stop", "stop"),
    ],
)
def test_stopping_is_read_as_slowing_down_and_a_note_says_so(text: str, words: str) -> None:
    outcome = read(text)
    assert outcome.expectation.formula == DOWN
    (note,) = outcome.notes
    assert note.startswith(
        f"'{words}' is tested as slowing down: a car that slows down and does not stop passes"
    )
    # What the note offers instead asks for a standstill, and needs no note.
    offered = re.findall(r"write '(.+)'", note)[0]
    assert read(offered).expectation.formula == "x2 <= 0.28 m/s"
    assert read(offered).notes == ()


@pytest.mark.parametrize("text", ["slow down", "brake", "slow down for it", "the speed should not change"])
def test_what_means_what_it_says_needs_no_note(text: str) -> None:
    assert read(text).notes == ()


def test_what_is_said_besides_and_not_tested_is_noted() -> None:
    assert read("be ready to stop and slow down").notes == ("'be ready to stop' is not tested.",)
    (note,) = read("slow down because you cannot see far").notes
    assert note == "'because you cannot see far' is not tested."


@pytest.mark.parametrize(
    ("text", "holds", "fails"),
    [
        ("slow down, but by at most 30%", [(10, 9), (10, 7)], [(10, 10), (10, 12), (10, 6)]),
        ("slow down, and by no more than 5 m/s", [(10, 9)], [(10, 11), (10, 4)]),
        ("turn right, but by at most 5 degrees", [(0, 1), (-5, 0)], [(0, -1), (0, 6), (0, 0)]),
        ("slow down by at most 30%", [(10, 9), (10, 12)], [(10, 6)]),
    ],
)
def test_a_change_and_its_bound(
    text: str, holds: list[tuple[float, float]], fails: list[tuple[float, float]]
) -> None:
    expectation = read(text).expectation
    assert [expectation.holds(*pair) for pair in holds] == [True] * len(holds)
    assert [expectation.holds(*pair) for pair in fails] == [False] * len(fails)


def test_not_to_stop_is_read_as_not_slowing_down_and_a_note_says_so() -> None:
    outcome = read("the ego-vehicle should not stop")
    assert outcome.expectation.formula == NOT_DOWN
    assert outcome.notes[0].endswith("a car that slows down and does not stop violates this rule too.")
