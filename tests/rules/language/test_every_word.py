"""Every word of a rule counts: it gives something to the reading, is on a published list, or is refused."""

from __future__ import annotations

import re

import pytest
from tests.rules.corpus_judge import Readings

from roadworthy.errors import RuleError
from roadworthy.rules import parse
from roadworthy.rules.generation import plan_for
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.parser import parse_all
from roadworthy.rules.reading import BoundWords, Rule

UNSAID = {
    # What is seen without a verb is there, and someone sees it; what a sky is said to be, it becomes.
    "add", "there", "someone", "becomes",
    # What should follow is expected of the ego-vehicle, of the only output that a word or a unit speaks of.
    "ego-vehicle", "must", "may", "speed", "steering", "acceleration", "be", "go", "keep", "to", "by",
    "at", "more",
    # A quantity without a bound is the least that is asked for; what is kept is the same.
    "at least", "more than", "at most", "less than", "same",
}  # fmt: skip
"""What a reading has, too, where no word says it."""
STILL_SAID = {
    ("reduced", "decrease"), ("is", "remove"), ("appears", "remove"), ("at", "night"), ("high", "as high"),
    ("output", "any"), ("one", "one half"), ("a", "a half"), ("old", "of its old value"), ("may", "may not"),
    ("original", "of the original"), ("pedestrian", "what changed"), ("near", "what changed"),
    ("be", "be limit"), ("be", "be cap"), ("ahead", "front the ego-vehicle"), ("at", "dusk"), ("in", "in"),
    ("are", "replace"), ("with", "remove"), ("before", "of the speed before"), ("is", "be not suppose to"),
    ("lightly", "light"), ("from", "from the original steering angle"), ("in", "summer"), ("is", "replace"),
    ("are", "be not allow to"),
}  # fmt: skip
"""Words without which the same is said, if in bad English: "no pedestrian on the road", "at least half"."""
NONSENSE = "blorf"


@pytest.fixture(scope="module")
def rules() -> dict[str, Rule]:
    return {text: one for text, one in Readings.of_all().of.items() if isinstance(one, Rule)}


def test_no_word_of_a_reading_is_left_over(rules: dict[str, Rule]) -> None:
    """Each letter and digit belongs to words that gave something, or to words without weight."""
    for text, rule in rules.items():
        covered = {place for one in rule.words for place in range(*one.span)}
        heading = text.index(rule.words[0].text[:1])  # "R1:" is a name
        lost = {place for place in range(heading, len(text)) if text[place].isalnum()} - covered
        assert not lost, (text, "".join(text[place] for place in sorted(lost)))


def test_words_without_weight_are_on_the_published_list(rules: dict[str, Rule]) -> None:
    for text, rule in rules.items():
        halves = [run for block in rule.blocks for run in block.condition]
        for one in rule.words:
            if not one.gives and any(start <= one.span[0] < stop for start, stop in halves):
                loose = set(one.text.lower().replace("-", " ").replace(",", " ").split())
                joints = {"and", "but", "also", "that", "if", "when", "while", "plus"}
                assert loose <= lexicon.WEIGHTLESS | joints, (text, one.text)


def _without_a_word(rules: dict[str, Rule], every: int) -> list[tuple[Rule, str, BoundWords, str]]:
    """Return rules with a word that gave something, the phrase it is of, and the sentence without it."""
    found, number = [], 0
    for text, rule in rules.items():
        for one in rule.words:
            start = one.span[0]
            for word in one.text.split():
                start = text.index(word, start)
                stop = start + len(word)
                number += 1
                if one.gives not in ("", "if") and number % every == 0:
                    found.append((rule, word, one, f"{text[:start].rstrip()} {text[stop:].lstrip()}"))
                start = stop
    return found


def _is_said(rule: Rule, word: str, run: BoundWords, now: Rule) -> bool:
    """Return whether what a word gave is given by another one, or holds without being said."""
    said = {one.gives for one in now.words if one.gives}
    if run.gives in said | UNSAID or (word.lower(), run.gives) in STILL_SAID:
        return True
    if len(run.text.split()) > 1:  # the other words of its phrase are still there
        return any(run.gives.split()[0] == one.split()[0] for one in said)
    # What was spoken of before may be left out: "that gets closer".
    return len(rule.blocks) > 1 and any(run.gives == one.target for one in rule.blocks[0].changes)


def _check_deletions(rules: dict[str, Rule], every: int) -> None:
    trials = _without_a_word(rules, every)
    lost = []
    for (rule, word, run, text), now in zip(trials, parse_all([one[-1] for one in trials]), strict=True):
        same = isinstance(now, Rule) and (now.blocks, now.notes) == (rule.blocks, rule.notes)
        if same and isinstance(now, Rule) and not _is_said(rule, word, run, now):
            lost.append((word, run.gives, text))
    assert not lost, lost[:20]
    assert len(trials) > 200


def _check_nonsense(rules: dict[str, Rule], every: int) -> None:
    """A word that nobody knows is refused wherever it stands; only the reason that a rule gives is free."""
    found = ((text, one) for text in rules for one in re.finditer(r"[A-Za-z'’-]+", text))
    trials = [
        text[: one.start()] + NONSENSE + text[one.end() :]
        for number, (text, one) in enumerate(found)
        if number % every == 0
    ]
    passed = [now for now in parse_all(trials) if isinstance(now, Rule)]
    free = {one.text for now in passed for one in now.words if one.gives == "reason"}
    lost = [
        now.text for now in passed if not any(NONSENSE in one for one in free) and "so that" not in now.text
    ]
    assert not lost, lost[:20]
    assert len(trials) > 200


def test_without_a_word_a_rule_says_something_else_or_is_refused(rules: dict[str, Rule]) -> None:
    _check_deletions(rules, every=53)


def test_no_place_in_a_rule_takes_a_word_that_nobody_knows(rules: dict[str, Rule]) -> None:
    _check_nonsense(rules, every=103)


@pytest.mark.slow
def test_without_any_word_a_rule_says_something_else_or_is_refused(rules: dict[str, Rule]) -> None:
    _check_deletions(rules, every=1)
    _check_nonsense(rules, every=1)


REFUSED = (
    ("If it isn't summer but , keep your speed.", "isn't"),
    ("If a tractor drives ahead, slow down.", "tractor"),
    ("If a moped appears ahead, slow down.", "moped"),
    ("If an emergency vehicle appears ahead, slow down.", "emergency"),
    ("If a deer runs onto the road, slow down.", "deer"),
    ("If a guide dog stands on the road, slow down.", "guide"),
    ("If a black dog stands on the road, slow down.", "black"),
    ("If a ball rolls onto the road, slow down.", "ball"),
    ("If an ice cream cone stands on the road, slow down.", "ice cream"),
    ("If a wheelchair crosses the road, slow down.", "wheelchair"),
    ("If a woman with a suitcase crosses the road, slow down.", "with a suitcase"),
    ("If a cyclist brakes in front of us, slow down.", "brakes"),
    ("If an oncoming car brakes, slow down.", "an oncoming car"),
    ("If a car overtakes a truck, slow down.", "a truck"),
    ("If a pedestrian is left on the road, slow down.", "is left"),
    ("If there is not no pedestrian on the road, slow down.", "no pedestrian"),
    ("If a pedestrian lies on the road, slow down.", "lies"),
    ("If a pedestrian appears on the roadside, it is not forbidden to speed up.", "is not forbidden to"),
    ("If a pedestrian moves to the left, slow down.", "to the left"),
    ("If it has rained, slow down.", "has rained"),
    ("If the image becomes darker, slow down.", "darker"),
    ("If the rain stops, slow down.", "stops"),
    ("If the rain stops slow down.", "stops"),
    ("If a bus stops at a bus stop, slow down.", "stop,"),
    ("If a sign limits the speed to 30 km/h, do not exceed 30 km/h.", "limits the speed"),
    ("If snow covers the lane markings, slow down.", "lane markings"),
    ("If fog covers the traffic light, slow down.", "traffic light"),
    ("If the sidewalk is removed, keep your speed.", "sidewalk"),
    ("If the road is replaced with grass, keep your speed.", "grass"),
    ("If a car turns into the road, slow down.", "the road"),
    ("If a car changes into the left lane, slow down.", "the left lane"),
    ("If a pedestrian is run over, slow down.", "is run over"),
    ("If a car drives off, slow down.", "drives off"),
    ("If a pedestrian turns around, slow down.", "turns around"),
    ("If a pedestrian has crossed the road, slow down.", "has crossed"),
    ("If a pedestrian would cross the road, slow down.", "would"),
    ("If the light is about to turn red, slow down.", "is about to turn"),
    ("If it is going to rain, slow down.", "is going to rain"),
    ("If a pedestrian is about to cross the road, slow down.", "is about to cross"),
    ("If a pedestrian wants to cross the road, slow down.", "wants to cross"),
    ("If a pedestrian has to cross the road, slow down.", "has to cross"),
    ("If a pedestrian will cross the road, slow down.", "will cross"),
    ("If a pedestrian can cross the road, slow down.", "can"),
    ("If a car is broken down on the shoulder, slow down.", "is broken down"),
    ("If a truck has broken down ahead, slow down.", "has broken down"),
    ("If a pedestrian is taken down, slow down.", "is taken down"),
    ("If a pedestrian passes out on the road, stop.", "passes out"),
    ("If the lines are painted out, slow down.", "are painted out"),
    ("If the rain falls off, speed up.", "falls off"),
    ("If a pedestrian gets into a car, slow down.", "gets"),
    ("If a pedestrian gets off the bus, slow down.", "gets off"),
    ("If a car gives way to a truck, slow down.", "gives"),
    ("If a car runs over a pedestrian, stop.", "over a pedestrian"),
    ("If a car is followed by a truck, slow down.", "by a truck"),
    ("If you see a car parked by a woman, slow down.", "by a woman"),
    ("If a pedestrian is set up, slow down.", "is set up"),
    ("With a pedestrian taken down, slow down.", "taken down"),
    ("Near no pedestrian, slow down.", "no pedestrian"),
    ("If a woman in a car appears ahead, slow down.", "in a car"),
    ("If a pedestrian is out of sight, speed up.", "out of sight"),
    ("If a pedestrian is across the road, keep your speed.", "across the road"),
    ("If a car is in the other lane, keep your speed.", "in the other lane"),
    ("If every other tree is removed, keep your speed.", "every other"),
    ("If any of the trees is removed, keep your speed.", "any of"),
    ("If the light fades, slow down.", "fades"),
    ("On a dark day, slow down.", "dark"),
    ("If a bus stop is on the left side of the road, slow down.", "bus stop"),
    ("If a truck appears, it should slow down.", "it should"),
    ("If a truck appears, its driver should slow down.", "its driver"),
    ("If it rains, the speed should not always decrease.", "not always"),
    ("If it rains, slow down by at least 10% or at most 30%.", "or at most 30%"),
    ("If it rains, the speed should be less than before but more than zero.", "but more than zero"),
    ("If it rains, the car should drive on the left.", "drive on the left"),
    ("If it rains, the detector must find the vehicles in less than 100 ms.", "in less than 100 ms"),
    ("If a pedestrian disappears behind a bus, slow down.", "behind a bus"),
    ("If it rains behind us, slow down.", "behind us"),
    ("If a car passes us, slow down.", "us"),
    ("If a pedestrian appears, slow down 15 m away.", "15 m away"),
    ("Slow down within 15 m if a pedestrian appears.", "within 15 m"),
    ("If a car stands in the adjacent lane ahead, keep your speed.", "adjacent"),
    ("If a pedestrian crosses at a red light, slow down.", "at a red light"),
    ("If a tram stands at a stop, slow down.", "stop"),
    ("If a cyclist overtakes, slow down.", "overtakes"),
    ("If a pedestrian might cross the road, slow down.", "might"),
    ("If there could be a pedestrian ahead, slow down.", "could"),
    ("If a pedestrian does not cross the road, keep your speed.", "does not cross"),
    ("If a pedestrian is hidden behind a car, slow down.", "is hidden"),
    ("If the weather becomes very rainy, slow down.", "very"),
    ("If the very red car appears, slow down.", "very"),
    ("If one of the trees is removed, keep your speed.", "one of"),
    ("If both trees are removed, keep your speed.", "both trees"),
    ("If two trees are removed, keep your speed.", "two"),
    ("If a car appears on the left, slow down.", "on the left"),
    ("If it snows in the left lane, slow down.", "in the left lane"),
    ("If the trees are removed from the left lane, keep your speed.", "from the left lane"),
    ("If a truck's lane is blocked, slow down.", "truck's lane is blocked"),
    # What was said of both things, or of one of them only.
    ("If a red car and truck are ahead, slow down.", "truck"),
    ("If two cars and trucks are ahead, slow down.", "trucks"),
    ("If some of the trees and buildings are removed, keep your speed.", "buildings"),
    ("If half of the trees and the signs are removed, keep your speed.", "the signs"),
    ("If the nearest tree and sign are removed, keep your speed.", "sign"),
    ("If a bus and a car with brake lights on are ahead, slow down.", "with brake"),
    ("If a bus and a car that brakes are ahead, slow down.", "that brakes"),
    ("If two cars are parked on each side of the road, slow down.", "two cars"),
    # How many, and which.
    ("If another tree is removed, keep your speed.", "another tree"),
    ("If the other tree is removed, keep your speed.", "the other tree"),
    ("If too many cars are ahead, slow down.", "too many"),
    ("If half of the road is covered with snow, slow down.", "half of"),
    ("If a truck crosses the centre line, slow down.", "crosses"),
    ("If a car is on your left side, keep your speed.", "on your left side"),
    ("If a solid line is on the left, steer to the right.", "a solid line"),
    ("If the car ahead is replaced by a truck in the left lane, slow down.", "in the left lane"),
    ("If a no stopping sign is ahead, slow down.", "no stopping"),
    ("If a bike is parked on the sidewalk, slow down.", "parked"),
    ("If a braking cyclist is ahead, slow down.", "braking"),
    ("If the white lines are removed and the yellow lines remain, keep your speed.", "remain"),
    ("You must stop behind the line at a stop sign.", "behind the line"),
    ("Ahead of a truck, slow down.", "Ahead of a truck"),
    ("If a car brakes because of a pedestrian, slow down.", "because of a pedestrian"),
    # What is over, or not yet there.
    ("After rain, slow down.", "After rain"),
    ("After heavy snowfall, slow down.", "After heavy snowfall"),
    ("After dawn, keep your speed.", "After dawn"),
    ("If the sun goes behind a cloud, keep your speed.", "behind a cloud"),
    ("If the sun goes down, slow down.", "the sun goes down"),
    ("If the sun rises, speed up.", "the sun rises"),
    ("If the rain halts, speed up.", "halts"),
    ("If the fog breaks, speed up.", "breaks"),
    # What nobody is seen doing.
    ("If a child cycles on the road, slow down.", "cycles"),
    ("If a man who is driving ahead appears, slow down.", "is driving"),
    ("If you see a child riding on the road, slow down.", "riding"),
    ("If a cyclist walks on the road, slow down.", "walks"),
    ("If the lane lines stop, slow down.", "stop"),
    ("If zebras cross the road, slow down.", "cross"),
    ("If the car ahead turns, slow down.", "turns"),
    ("If a truck follows, slow down.", "follows"),
    ("If a pedestrian crosses to the left, slow down.", "to the left"),
    ("If a pedestrian waits before crossing, slow down.", "before crossing"),
    ("If a car drives on the other side of the road, slow down.", "on the other side of the road"),
    # Which, and how many.
    ("If all pedestrians are on the road, slow down.", "all pedestrians"),
    ("If every car ahead brakes, slow down.", "every car"),
    ("If no sign is placed, keep your speed.", "no sign"),
    ("If the line on the right becomes dashed, keep your speed.", "the line"),
    ("If the lane line on the left is removed, keep your speed.", "the lane line"),
    ("If a pedestrian stands on the left side of the lane, slow down.", "on the left side of the lane"),
    # One word for two things.
    ("If there is no light, slow down.", "no light"),
    ("If the light disappears, slow down.", "the light"),
    ("If a hand signal appears, slow down.", "hand"),
    ("If there is a heavy drizzle, slow down.", "heavy"),
    # Who does it, and of which it is said.
    ("If a car appears, slows down, stop.", "slows"),
    ("If a car appears and it is red, slow down.", "it"),
    ("If a car appears and it gets closer, slow down.", "it"),
    ("If it rains, slow down. The same goes for snow.", "The same"),
    ("If a car appears, slow down. The same holds for trucks.", "The same"),
    # Outcomes.
    ("If it rains, not all cars should slow down.", "not all"),
    ("If it rains, drive half as slowly.", "as slowly"),
    ("If it rains, slow down by at least 10% to at most 20 km/h.", "to at most 20 km/h"),
    ("If it rains, the speed should be more than zero.", "more than zero"),
    ("If it rains, all of the road must stay road.", "all of the road"),
    ("If a pedestrian appears ahead, the detector must not miss any pedestrian.", "any pedestrian"),
    # Which of those that an earlier part named.
    ("If two pedestrians appear, slow down. If he gets closer, slow down more.", "he"),
    ("If a pedestrian and a car appear, slow down. If it gets closer, slow down more.", "it"),
    ("If the car ahead had been braking, slow down.", "had"),
    ("If you are overtaken by no car, slow down.", "no car"),
    ("If you are overtaken by a cyclist, slow down.", "are overtaken"),
    ("If you have been overtaken by a car, slow down.", "have been overtaken"),
    ("Anyone driving a truck must slow down.", "driving"),
    ("Slow down for anyone who drives at night.", "drives"),
    ("If there is a pedestrian ahead with its brake lights on, slow down.", "brake"),
    ("If snow lies on the roadside, slow down.", "on the roadside"),
    ("If a light appears, slow down.", "a light"),
    ("If a car passes, slow down.", "passes"),
    ("If a car appears, the cars must be detected.", "the cars"),
    ("If a van appears, the truck is expected to slow down.", "the truck"),
    ("The truck, when it rains, must slow down.", "truck"),
    ("If pedestrians appear, their speed should decrease.", "their speed"),
    ("If a pedestrian is on the crosswalk, stop behind the crosswalk.", "behind"),
    ("If the season is autumn instead of, keep your speed.", "instead of"),
    # Words that no sentence has side by side, each of which would be understood elsewhere.
    ("If it rains, the speed should be greater the original speed.", "greater the original speed"),
    ("If it rains, the speed should be less the original speed.", "less the original speed"),
    ("If it rains, slow down by 10% of the limit.", "the limit"),
    ("If it rains, the speed should be lower than 30% of the limit.", "the limit"),
    ("If it rains, the speed should be more or less than 20 km/h.", "more or"),
    ("If it rains, the number of vehicles must be even.", "even"),
    ("If it rains, the speed should be moderate.", "moderate"),
    ("If it rains, both cars should slow down.", "both"),
    ("If it rains, the detector must detect the vehicles that move.", "that move"),
    ("If it rains, the confidence of the truck's driver must stay above 0.5.", "'s driver"),
    ("If it rains, the road ahead must stay road.", "the road ahead"),
    ("If it rains, the number of detected cars ahead must not change.", "cars ahead"),
    ("If it rains, the car's speed of 20 km/h should drop.", "of 20 km/h"),
    ("If it rains, do not slow down immediately.", "immediately"),
    ("If it rains, you should never have to stop.", "never have to"),
    ("If it rains, do not drive as fast as before.", "as fast as before"),
    # Whose speed it is, and who is no driver.
    ("If a pedestrian is on the road, the pedestrian's speed should decrease.", "the pedestrian's"),
    ("If a pedestrian appears, the truck drive slower.", "truck"),
    ("Trucks driving in fog must slow down.", "Trucks"),
    ("A cyclist must reduce the speed.", "A cyclist"),
    ("Rain should stop.", "Rain should stop"),
    ("A red light requires pedestrians to stop.", "requires"),
    ("Without rain, speed up.", "rain"),
    ("Without the, keep your speed.", "Without"),
    # One of them, none but one, and what is over.
    ("If one tree is removed, keep your speed.", "one tree"),
    ("If one light turns red, stop.", "one light"),
    ("If no pedestrian but a child crosses the road, slow down.", "but a child"),
    ("If a pedestrian crossed the road, slow down.", "crossed"),
    ("If you have passed a stop sign, slow down.", "have passed"),
    ("If a stop sign is removed and a yield sign remains, slow down.", "remains"),
    # What should follow: an idiom, a question, "not" of all times, whose it is, and by how much one stops.
    ("If it rains, the prediction should of course not change.", "should of"),
    ("If it rains, should the car slow down?", "should the car"),
    ("If it rains, the car should not slow down all the time.", "all the time"),
    ("If it rains, the car should not slow down at all times.", "at all times"),
    ("If a dog runs onto the road, it should stop.", "it"),
    ("If a cyclist appears, its speed should decrease.", "its speed"),
    ("If it rains, stop by at least 30%.", "30%"),
    ("If it rains, the detector must not miss all cars.", "not miss all cars"),
    ("If it rains, drive below 20 km/h slower.", "below 20 km/h slower"),
    ("If it rains, steer half left.", "half left"),
    ("If it rains, the speed should not be limited to 20 km/h.", "limited"),
    ("If it rains, apply the brake by at least 30%.", "30%"),
    ("If it rains, the brake should be at least 30%.", "30%"),
    # What is seen at once, where it is, and what is no scene.
    ("If a waiting pedestrian crosses the road, slow down.", "waiting"),
    ("If a braking truck overtakes you, slow down.", "braking"),
    ("If a standing pedestrian crosses the road, slow down.", "standing"),
    ("If a man stands beside a braking car, slow down.", "braking"),
    ("If the camera is foggy, slow down.", "the camera"),
    # How we drive, and what is beside or all but it.
    ("If you drive slowly at night, speed up.", "slowly"),
    ("If the car drives straight in fog, slow down.", "straight"),
    ("If a car appears besides a truck, slow down.", "besides"),
    ("If all vehicles besides trucks are removed, keep your speed.", "besides"),
    ("Besides rain, slow down.", "Besides"),
    # Weather, time and season that are elsewhere, not yet there, or as they were; what things get.
    ("Toward winter, slow down.", "Toward winter"),
    ("By winter, slow down.", "By winter"),
    ("From dusk, slow down.", "From dusk"),
    ("Out of the rain, speed up.", "Out of the rain"),
    ("If a pedestrian stands behind the fog, slow down.", "behind the fog"),
    ("If a pedestrian walks into the night, slow down.", "into the night"),
    ("If it rains toward night, slow down.", "toward night"),
    ("If the weather stays rainy, slow down.", "stays"),
    ("If the season remains winter, slow down.", "remains"),
    ("If houses get trees, keep your speed.", "get"),
    # Where: beside the picture, on one's side, and what is said of the road as of a truck.
    ("If a pedestrian stands behind the camera, keep your speed.", "behind the camera"),
    ("If a pedestrian walks toward the camera, slow down.", "toward the camera"),
    ("If a pedestrian stands in a field, keep your speed.", "in a field"),
    ("If a pedestrian appears in the background, keep your speed.", "in the background"),
    ("If a pedestrian appears on a screen, keep your speed.", "on a screen"),
    ("If a pedestrian is on the left side of the picture, slow down.", "left side of the picture"),
    ("If a truck is on its side, stop.", "its side"),
    ("If a truck appears and a cyclist is on its left side, slow down.", "its left side"),
    ("If a pedestrian stands on the far side of the truck, slow down.", "far side of the truck"),
    ("If a car is to the left of our lane, keep your speed.", "to the left of our lane"),
    ("If a car waits in line, slow down.", "in line"),
    ("If a cyclist follows the road, slow down.", "the road"),
    ("If you follow a stop sign, slow down.", "a stop sign"),
    ("If houses follow trees, keep your speed.", "follow"),
    ("If a pedestrian passes the crosswalk, slow down.", "the crosswalk"),
    ("If a pedestrian is 15 m ahead of the truck, slow down.", "15 m"),
    # Adverbs that ask for nothing, except where they do.
    ("If a pedestrian is not clearly visible, slow down.", "clearly"),
    ("If a pedestrian is no longer fully visible, slow down.", "fully"),
    ("If you do not see a sign immediately, slow down.", "immediately"),
    ("If a car is not directly ahead, speed up.", "directly"),
    ("If just a car appears, slow down.", "just"),
    ("If virtually all trees are removed, keep your speed.", "virtually"),
    ("If straight lines are removed, keep your speed.", "straight"),
    ("If it rains now and then, slow down.", "now and then"),
    # What is over once it is done.
    ("If a pedestrian has walked across the road, speed up.", "has walked"),
    ("If a pedestrian walked across the road, speed up.", "walked"),
    ("If a pedestrian waited at the kerb, slow down.", "waited"),
    ("If a car has followed you, slow down.", "has followed"),
    ("If rain has fallen, slow down.", "has fallen"),
    ("After it rains, slow down.", "After it rains"),
    ("After a pedestrian crosses the road, speed up.", "the road"),
    ("After a car overtakes you, speed up.", "After a car overtakes"),
    # None of them, and none of the places, behind another word.
    ("If there is no other car ahead, speed up.", "no other"),
    ("If a pedestrian appears, slow down. If no other pedestrian appears, speed up.", "no other"),
    ("If no such sign appears, keep your speed.", "no such"),
    ("If you drive behind no truck, speed up.", "no truck"),
    ("If a pedestrian stands on no sidewalk, speed up.", "no sidewalk"),
    ("If a pedestrian stands on every side of the road, slow down.", "every side"),
    ("If it rains on no road, speed up.", "no road"),
    ("If it snows on the other road, slow down.", "the other road"),
    ("If snow covers half of the road, slow down.", "half of"),
    ("If snow covers no road, speed up.", "no road"),
    ("If no lane has a car, speed up.", "no lane"),
    ("If the sky is not clear, slow down.", "is not clear"),
    ("If the sky does not cloud over, speed up.", "does not cloud over"),
    ("If a pedestrian no longer waits, speed up.", "no longer waits"),
    # How and where it is.
    ("If a pedestrian appears by car, slow down.", "by car"),
    ("If a stop sign lies on the road, slow down.", "lies"),
    ("If a child on a bike crosses the road, slow down.", "on a bike"),
    ("If a car comes at us, slow down.", "at us"),
    ("If a truck ahead and a car on the roadside are removed, keep your speed.", "and a car"),
    # Whose it is, and what a later block is compared with.
    ("If a car and a pedestrian crossing the road appear, slow down.", "crossing"),
    ("If a truck and a car parked on the roadside are ahead, slow down.", "parked"),
    ("If a cyclist approaches him, slow down.", "him"),
    ("If a pedestrian appears, slow down. Furthermore, if it rains, slow down.", "it rains"),
    ("If a pedestrian appears, slow down. Moreover, if it rains, slow down more.", "it rains"),
    ("If a car appears, slow down. If a truck appears, slow down by 30%.", "a truck appears"),
    ("If a car is 20 m ahead, slow down. If it is replaced by a truck, slow down more.", "it"),
)


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_would_be_lost_is_underlined(text: str, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    start, stop = caught.value.span
    place = text.index(words)
    assert start < place + len(words), str(caught.value)
    assert place < stop, str(caught.value)


READ = {
    "a truck stands in the oncoming lane ahead of you": "add a truck in the oncoming lane",
    "a truck stands in the left lane ahead": "add a truck in the left lane",
    "a car is in the right lane in front of you": "add a car in the right lane",
    "an oncoming car appears": "add a car in the oncoming lane",
    "the centre line is removed": "remove the centre line",
    "the edge lines disappear": "remove every edge line",
    "some of the trees are removed": "remove about half of the trees",
    "half of the trees are removed": "remove about half of the trees",
    "the nearest tree is removed": "remove the nearest tree",
    "the tree on the left is removed": "remove every tree on the left sidewalk",
    "two pedestrians appear on the roadside": "add a pedestrian on the sidewalk, 2 times",
    "several pedestrians appear on the roadside": "add a pedestrian on the sidewalk, 3 times",
    "a group of pedestrians appears on the roadside": "add a pedestrian on the sidewalk, in a group, 3 times",
    "a pair of pedestrians appears on the roadside": "add a pedestrian on the sidewalk, in a group, 2 times",
    "two pedestrians stand together on the roadside": "add a pedestrian on the sidewalk, in a group, 2 times",
    "pedestrians stand on both sides of the road": (
        "add a pedestrian on the left sidewalk and add a pedestrian on the right sidewalk"
    ),
    "a pedestrian stands on the other side of the road": "add a pedestrian on the far sidewalk",
    "a pedestrian appears on the left": "add a pedestrian on the left sidewalk",
    "a cyclist rides to the left of the truck": "add a bicyclist to the left of the truck",
    "a traffic signal light appears ahead": "add a traffic light in front of the ego-vehicle",
    "a pedestrian crossing the road appears": "add a pedestrian on the road, crossing",
    "there is a pedestrian crossing the road": "add a pedestrian on the road, crossing",
    "a pedestrian crossing is removed": "remove every crosswalk",
    "a pedestrian stands on the sidewalk ahead": "add a pedestrian on the sidewalk",
    "a pedestrian is waiting to cross": "add a pedestrian on the sidewalk, waiting",
    "a pedestrian is waiting to cross the road": "add a pedestrian on the sidewalk, waiting",
    "a maximum speed limit sign appears": "add a speed limit sign",
    "a 30 km/h sign appears": "add a 30 km/h speed limit sign",
    "the scene changes to a snow environment": "the weather becomes snowy",
    "a pedestrian is 15 m ahead": "add a pedestrian in front of the ego-vehicle, 15 m away",
    "a car is within 20 meters": "add a car, within 20 m",
    "there is a car in 50 m": "add a car, 50 m away",
    "children are playing on the sidewalk": "add a child on the sidewalk",
    "there are no buildings any more": "remove every building",
    "the trees are cut down": "remove every tree",
    "a pedestrian waits at the crosswalk": "add a pedestrian beside the crosswalk, waiting",
    "the pedestrian leaves the road": "remove every pedestrian",
    "a cyclist riding along the edge of the road appears": "add a bicyclist on the sidewalk",
    "a person on a bike is on the opposite side of the road": "add a bicyclist on the far sidewalk",
    "a sunny scene is transformed into a rainy one": "the weather becomes rainy",
    "you can see a pedestrian": "add a pedestrian",
    "a pedestrian steps off the kerb": "add a pedestrian on the road, stepping onto the road",
    "a pedestrian steps into our lane": "add a pedestrian in the lane, crossing",
    "a pedestrian walks along the sidewalk": "add a pedestrian on the sidewalk, walking along",
    "you see a car and a pedestrian crosses the road": "add a car and add a pedestrian on the road, crossing",
    "a pedestrian stands at the crossing": "add a pedestrian beside the crosswalk",
    "a pedestrian waits in the road": "add a pedestrian in the road",
    "a pedestrian stands at the edge of the carriageway": "add a pedestrian on the sidewalk",
    "two pedestrians stand on the footway on the right": "add a pedestrian on the right sidewalk, 2 times",
    "a truck drives in the lane on the left": "add a truck in the left lane",
    "a motorcycle follows you": "add a motorcycle behind the ego-vehicle",
    "an ambulance is 30 feet ahead": "add an ambulance in front of the ego-vehicle, 9.144 m away",
    "in 50 m a taxi appears": "add a taxi, 50 m away",
    "the traffic light is red instead of green": "replace every green light by a red light",
    "the markings at the edge of the road are missing": "remove every edge line",
    "the nearest car disappears": "remove the nearest car",
    "you come to a speed limit sign of 30 km/h": "add a 30 km/h speed limit sign",
    "there are no trees and buildings": "remove every tree and remove every building",
    "night replaces day": "the time becomes night",
    "winter replaces summer": "the season becomes winter",
    "rain is substituted for snow": "the weather becomes rainy",
    "the sun sets": "the time becomes dusk",
    "a waiting pedestrian is at the crosswalk": "add a pedestrian beside the crosswalk, waiting",
    "a braking car is ahead": "add a car in front of the ego-vehicle, braking",
    "a truck is in the adjacent lane on the left": "add a truck in the left lane",
    "the other vehicles are removed": "remove every vehicle",
    "you are being overtaken by a lorry": "add a truck, overtaking",
    "you are passed by two cars": "add a car, overtaking, 2 times",
    "a van is parked at the kerb on the left": "add a van on the left sidewalk",
    "a school bus gets in front of you": "add a school bus in front of the ego-vehicle",
    "dashed lines become solid lines": "replace every dash line by a solid line",
    "the season is autumn instead of summer": "the season becomes autumn",
    "a pedestrian stands to the left of the road": "add a pedestrian on the left sidewalk",
    "you drive into fog": "the weather becomes foggy",
    "a pedestrian has started to cross the road": "add a pedestrian on the road, crossing",
    "a pedestrian has run onto the road": "add a pedestrian on the road, stepping onto the road",
    "night has fallen": "the time becomes night",
    "a pedestrian has just appeared": "add a pedestrian",
    "there is a coach ahead with its brake lights on": "add a bus in front of the ego-vehicle, braking",
    "you pass a tram stopped at the kerb": "add a tram on the sidewalk",
    "there is a sign placed at the roadside": "add a traffic sign on the sidewalk",
}


@pytest.mark.parametrize(("condition", "reading"), READ.items())
def test_what_was_lost_or_refused_is_read(condition: str, reading: str) -> None:
    assert str(parse(f"If {condition}, slow down.")).partition(";")[0] == reading


def test_with_the_trees_removed() -> None:
    assert str(parse("In fog with no pedestrian ahead, speed up.")).startswith(
        "the weather becomes foggy and remove every pedestrian in front"
    )
    assert str(parse("With the trees removed, keep your speed.")).startswith("remove every tree;")
    assert str(parse("With the houses replaced by trees, keep your speed.")).startswith(
        "replace every building by"
    )


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("Under no circumstances may you accelerate when it rains.", "x1 >= x2"),
        ("No driver may increase his speed when it rains.", "x1 >= x2"),
        ("Nobody should exceed 36 km/h when it rains.", "x2 <= 10 m/s"),
        ("No person shall drive faster than 36 km/h when it rains.", "x2 <= 10 m/s"),
        ("Anyone driving in rain shall drive at no more than 36 km/h.", "x2 <= 10 m/s"),
        ("Anyone who sees a pedestrian must slow down.", "x1 > x2"),
        ("The ego vehicle, when it rains, ought to slow down.", "x1 > x2"),
        ("Make sure that you do not speed up when it rains, because roads are slippery.", "x1 >= x2"),
        ("In rain, the speed should be greater than or equal to the original speed.", "x1 <= x2"),
        ("In rain, the speed after the change should be lower than the speed before the change.", "x1 > x2"),
        ("When appears a pedestrian, take your foot off the accelerator.", "x1 > x2"),
        ("Drivers facing a red signal shall stop.", "x1 > x2"),
        ("The driver of a vehicle approaching a crosswalk must reduce his speed.", "x1 > x2"),
        ("A driver approaching a parked car must slow down.", "x1 > x2"),
        ("Anybody who drives at night must reduce their speed.", "x1 > x2"),
        ("A person must not drive at a speed greater than 36 km/h if there is fog.", "x2 <= 10 m/s"),
        ("Drivers shall not exceed a speed of 36 km/h in fog.", "x2 <= 10 m/s"),
        ("It is necessary to slow down in fog.", "x1 > x2"),
        ("On no account accelerate while being overtaken.", "x1 >= x2"),
        ("A steady red light requires drivers to stop.", "x1 > x2"),
        ("Driving in fog requires a lower speed.", "x1 > x2"),
        ("The presence of a pedestrian on the road requires the driver to slow down.", "x1 > x2"),
        ("The speed in fog should not exceed 36 km/h.", "x2 <= 10 m/s"),
        ("Fog must slow the vehicle down.", "x1 > x2"),
        ("A pedestrian on the road should cause the vehicle to slow down.", "x1 > x2"),
        ("In fog, the speed in the modified image should be lower than in the original image.", "x1 > x2"),
        ("Adding a pedestrian to the road must reduce the speed.", "x1 > x2"),
        ("Without lane markings, slow down.", "x1 > x2"),
        ("When a pedestrian is waiting at the kerb to cross the road, slow down.", "x1 > x2"),
    ],
)
def test_the_wording_of_codes_is_read(text: str, formula: str) -> None:
    (block,) = parse(text).blocks
    assert block.expectation.formula == formula


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("If a hospital stands beside the road, slow down.", "'hospital' is shown as any building"),
        ("If a child stands beside a church, slow down.", "'church' is shown as any building"),
        ("If a group of pedestrians appears, slow down.", "'a group of' are 3, close to each other"),
    ],
)
def test_what_is_shown_less_exactly_than_said_is_told(text: str, note: str) -> None:
    assert any(one.startswith(note) for one in parse(text).notes), parse(text).notes


def test_also_keeps_what_was_said_before() -> None:
    rule = parse("If a pedestrian appears, slow down. If it also rains, slow down more.")
    assert [str(one) for one in rule.blocks[1].changes] == ["add a pedestrian", "the weather becomes rainy"]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (
            "If a pedestrian appears, slow down. If another pedestrian appears, slow down more.",
            "add a pedestrian & add a pedestrian",
        ),
        (
            "If a car appears, slow down. If it rains too, slow down more.",
            "add a car & the weather becomes rainy",
        ),
        (
            "If a pedestrian appears, slow down. If he crosses the road, stop.",
            "add a pedestrian on the road, crossing",
        ),
        (
            "If two pedestrians appear, slow down. If they cross the road, stop.",
            "add a pedestrian on the road, crossing & add a pedestrian on the road, crossing",
        ),
        (
            "If it rains and a pedestrian appears, slow down. If he gets closer, slow down more.",
            "add a pedestrian, closer to the camera than before & the weather becomes rainy",
        ),
        (
            "If it rains and a car is ahead, slow down. If the rain gets heavier, slow down more.",
            "the weather becomes rainy, heavier than before & add a car in front of the ego-vehicle",
        ),
        (
            "If a pedestrian is on the road, slow down. If he is on the left sidewalk, slow down less.",
            "add a pedestrian on the left sidewalk",
        ),
    ],
)
def test_what_an_earlier_part_named_is_still_there(text: str, changes: str) -> None:
    assert " & ".join(map(str, parse(text).blocks[1].changes)) == changes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (
            "In winter, if a police car is parked on the roadside, slow down.",
            "the season becomes winter & add a police car on the sidewalk",
        ),
        ("In autumn, when it rains, slow down.", "the season becomes autumn & the weather becomes rainy"),
        ("Next to a cyclist, slow down.", "add a bicyclist beside the ego-vehicle"),
        ("Keep your speed even if a tree appears.", "add a tree"),
        ("Even when it rains, keep your speed.", "the weather becomes rainy"),
    ],
)
def test_what_stands_before_a_condition_is_part_of_it(text: str, changes: str) -> None:
    assert " & ".join(map(str, parse(text).blocks[0].changes)) == changes


def test_a_sign_may_say_what_it_means() -> None:
    assert str(parse("A red light ahead means that you must stop.")).startswith(
        "add a red light in front of the ego-vehicle;"
    )


def test_a_reason_is_told_to_be_untested() -> None:
    rule = parse("Drive more slowly at night because you cannot see far.")
    assert rule.notes == ("'because you cannot see far' is not tested.",)
    assert rule.words[-1].gives == "reason"


@pytest.mark.parametrize(
    ("condition", "said", "words"),
    [
        ("20 signs appear", "a speed limit with its unit", "20 signs"),
        ("30 traffic signs appear", "a speed limit with its unit", "30 traffic signs"),
        ("20 speed limit signs appear", "a speed limit with its unit", "20 speed limit signs"),
        ("a 30 mph sign appears", "signs are in km/h here", "30 mph sign"),
        ("the trees on the right side and the left side are removed", "one place only", "and the left side"),
        (
            "the trees on the right and the buildings on the left are removed",
            "one place only",
            "and the buildings",
        ),
        ("the left side is removed", "bare ground cannot be", "the left side"),
        ("the left side is replaced by trees", "bare ground cannot be", "the left side"),
        ("a car appears in the far lane", "which lane is far is not known", "far"),
        ("one of the trees is removed", "how many, or which of them", "one of"),
        ("one of the trees is replaced by a house", "how many, or which of them", "one of"),
    ],
)
def test_what_was_read_as_something_else_is_refused(condition: str, said: str, words: str) -> None:
    with pytest.raises(RuleError, match=said) as caught:
        parse(f"If {condition}, slow down.")
    start, stop = caught.value.span
    assert caught.value.text[start:stop] == words


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("two 30 km/h signs appear", "add a 30 km/h speed limit sign, 2 times"),
        ("a 30 speed limit sign appears", "add a 30 km/h speed limit sign"),
        ("the trees on both sides are removed", "remove every tree on the sidewalk"),
        (
            "the trees on both sides are replaced by houses",
            "replace every tree on the sidewalk by a building",
        ),
        ("a pedestrian stands on the far side of the road", "add a pedestrian on the far sidewalk"),
        ("one half of the trees is removed", "remove about half of the trees"),
        ("half of the school buses are removed", "remove about half of the school buses"),
        ("one sees a pedestrian", "add a pedestrian"),
        ("one pedestrian appears", "add a pedestrian"),
        ("there are people crossing", "add a pedestrian, crossing"),
        ("a pedestrian stands at this crossing", "add a pedestrian beside the crosswalk"),
        ("winter follows autumn", "the season becomes winter"),
        ("a pedestrian appears and he crosses the road", "add a pedestrian on the road, crossing"),
        ("two pedestrians appear and they wait", "add a pedestrian, waiting, 2 times"),
        ("the traffic lights are removed", "remove every traffic light"),
        ("dawn breaks", "the time becomes dusk"),
        (
            "pedestrian on roadside and the road has no lane lines",
            "add a pedestrian on the sidewalk and remove every line",
        ),
    ],
)
def test_what_is_near_to_it_is_read_and_can_be_planned(condition: str, change: str) -> None:
    rule = parse(f"If {condition}, slow down.")
    assert str(rule).partition(";")[0] == change
    assert plan_for(rule).scenarios
