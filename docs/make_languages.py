"""Write the reference parts of rules-language.md and suites.md from the code. Run with ``make docs``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from roadworthy.errors import RuleError
from roadworthy.ontology import ontology
from roadworthy.rules import parse
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.quantities import UNITS
from roadworthy.rules.reading import change_in_words
from roadworthy.runs.suites import forms
from roadworthy.runs.suites.kinds import FORMS
from roadworthy.runs.suites.kinds.coverage import ImageForm, StepForm
from roadworthy.runs.suites.schema import SuiteForm

DOCS = Path(__file__).parent
RULES, SUITES = DOCS / "rules-language.md", DOCS / "suites.md"
START = "<!-- From here on written by docs/make_languages.py. -->\n"

CONDITIONS = {
    "Something is added": (
        "If a pedestrian appears on the roadside, slow down.",
        "If there is a red light ahead, stop.",
        "When you see a stop sign, slow down.",
        "If a lorry is parked beside the road, do not speed up.",
        "If a cyclist is added to the scene, slow down.",
        "With the addition of a pedestrian, slow down.",
    ),
    "Something is removed": (
        "If the lane lines are removed, the steering should stay the same.",
        "When the trees are gone, keep your speed.",
        "If there are no longer any signs, the speed should not change.",
        "If the road has no lane lines, steer the same.",
        "In the absence of lane markings, the steering angle should not change.",
        "Without lane lines, the steering should stay the same.",
        "If the pedestrian disappears, do not slow down.",
    ),
    "Something is replaced": (
        "If the buildings are replaced with trees, the steering should stay the same.",
        "If a white car is swapped for a black one, the speed must not change.",
        "When the light turns red, stop.",
        "If the solid line becomes a dashed line, keep the same steering.",
    ),
    "Weather, time of day and season": (
        "If it rains heavily, slow down.",
        "When fog rolls in, slow down.",
        "If the weather changes to snow, slow down.",
        "If it becomes cloudy, the speed should stay the same.",
        "If it gets sunny, do not slow down.",
        "At night, drive more slowly.",
        "After dark, slow down.",
        "On a rainy night, slow down.",
        "If the driving time changes into dusk, the steering should stay the same.",
        "In daylight, the steering should stay the same.",
        "If the season changes to winter, slow down.",
        "In winter, drive more slowly.",
        "If it rains on a winter night, slow down.",
        "If winter turns to spring, do not slow down.",
        "When summer comes, the steering should stay the same.",
        "If the scene becomes an autumn scene, keep your speed.",
    ),
    "Where": (
        "If a pedestrian stands on the road, stop.",
        "If a car is in front of you, slow down.",
        "If a pedestrian is behind a car, slow down.",
        "If a cyclist is beside the ego-vehicle, do not steer to the right.",
        "If a traffic light hangs above the road, the steering should stay the same.",
        "If a van stops in the lane, slow down.",
        "If a cyclist is on the left side of the road, steer to the right.",
    ),
    "Properties": (
        "If a red car appears ahead, slow down.",
        "If a school bus is parked on the shoulder, slow down.",
        "If an ambulance is ahead, slow down.",
        "If a taxi stops in front of you, slow down.",
        "If the traffic light is red instead of green, stop.",
        "If a speed limit sign appears on the roadside, slow down.",
        "If a yellow line becomes white, the steering should stay the same.",
        "In light rain, the steering should stay the same.",
    ),
    "How many, and how far away": (
        "If two pedestrians stand on the roadside, slow down.",
        "If several cyclists appear on the road, slow down.",
        "If a group of children stands on the sidewalk, slow down.",
        "If two cyclists ride together on the road, slow down.",
        "If pedestrians stand on both sides of the road, slow down.",
        "If a pedestrian is 15 m ahead, stop.",
        "If a pedestrian appears within 20 m, slow down.",
        "If a car is 30 m ahead and two pedestrians are 10 m ahead, stop.",
        "If there is a car in 50 m, slow down.",
        "If a bus is 30 feet ahead, slow down.",
    ),
    "Lanes, and sides of the road": (
        "If a truck stands in the oncoming lane ahead of you, keep your speed.",
        "If an oncoming car appears, keep your speed.",
        "If a car is in the left lane ahead, keep your speed.",
        "If a pedestrian stands on the other side of the road, slow down.",
        "If a pedestrian appears on the left, do not steer to the left.",
        "If the car ahead brakes, slow down.",
        "If a truck with its brake lights on is 20 m ahead, slow down.",
        "If a car overtakes you, do not speed up.",
        "If a pedestrian is crossing the road, slow down.",
        "If a pedestrian is waiting to cross the road, slow down.",
        "If a pedestrian waits at the crosswalk, slow down.",
        "If a pedestrian steps off the kerb, stop.",
        "If a child stands on the footway on the right, slow down.",
    ),
    "Which of them": (
        "If some of the trees are removed, keep your speed.",
        "If half of the buildings are replaced by trees, keep your speed.",
        "If the nearest sign disappears, keep your speed.",
        "With the trees on the left removed, keep your speed.",
        "If the centre line is removed, steer the same.",
        "If the edge lines disappear, steer the same.",
        "If a 30 km/h sign appears on the roadside, slow down.",
    ),
    "Several changes at once": (
        "If a pedestrian and a cyclist appear on the roadside, slow down.",
        "If it rains and a car appears in front of you, slow down.",
    ),
    "Several blocks, and words that compare": (
        "If a pedestrian appears on the roadside, slow down. If he gets closer, slow down more.",
        "If a car appears in front of you, slow down. If it is farther away, slow down less.",
        "If it rains, slow down. If the rain gets heavier, slow down more.",
        "If it snows, slow down. If the snow becomes lighter, slow down less.",
    ),
    "Other orders of words": (
        "Slow down if a pedestrian appears on the roadside.",
        "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down.",
        "Should a pedestrian appear on the roadside, slow down.",
        "A red light means that you must stop.",
        "Whoever drives in heavy snowfall must slow down.",
        "Drivers facing a red light must stop.",
        "A driver who sees a pedestrian on the road must reduce his speed.",
        "The presence of a pedestrian on the road requires the driver to slow down.",
        "The speed in fog should be lower than before.",
        "Rain should not affect the steering.",
        "Suppose that a tree is removed: the steering angle should not change.",
        "Despite fog, keep your speed.",
        "Although it is cloudy, do not slow down.",
        "If the light is not green but red, stop.",
        "If on the left there is a pedestrian, do not steer to the left.",
        "Verify that the car slows down when it rains.",
    ),
}
"""Sentences that show each way to say what changes."""

OUTCOMES = {
    "The speed goes down": (
        "the ego-vehicle should slow down", "you must brake", "a vehicle must be driven more slowly",
        "come to a stop", "the car shall decelerate",
        "the speed has to decrease", "ease off the gas", "drive more slowly", "start to slow down",
        "halve the speed",
    ),
    "The speed goes up": (
        "the vehicle should speed up", "drive faster", "the speed is expected to increase",
        "double your speed", "triple the speed", "the speed should exceed the original speed",
    ),
    "To the left or right": (
        "turn left", "steer to the right", "make a left turn", "the steering angle should increase",
    ),
    "The same, or not": (
        "the steering angle should stay the same", "the steering should stay about the same",
        "keep your speed", "remain at the current speed",
        "go straight", "stay on course", "drive as fast as before", "the speed should not change",
        "we expect the speed to be different", "we expect that the speed changes",
        "swerve", "the steering should deviate",
    ),
    "Not": (
        "do not slow down", "the speed must not increase", "never turn left", "drive without slowing down",
        "there should be no change of the steering",
    ),
    "At least, more than": (
        "slow down by at least 30%", "slow down by more than 5 km/h", "reduce the speed by a third or more",
        "slow down over 10%", "the speed should be above 20 km/h", "the speed should be no lower than 5 m/s",
    ),
    "At most, less than": (
        "slow down by at most 30%", "the speed may drop by at most 30%", "slow down less than 30%",
        "slow down by 10% or less", "slow down by under 10%",
        "the speed should be below 20 km/h", "drive no faster than 30 km/h",
        "the speed must not exceed 50 km/h", "the speed should be limited to 30 km/h",
    ),
    "Exactly, between": (
        "slow down by exactly 10%", "slow down by between 10% and 40%",
        "the steering should stay within 3 degrees",
    ),
    "The change, or the new value": (
        "slow down by 10 km/h", "slow down to 20 km/h", "drive at most half as fast as before",
        "drive at no more than 50 km/h", "the speed should be smaller by 2 m/s",
        "the speed should be larger than before", "the steering angle should be at most 5 degrees",
        "turn left to at least 5 degrees",
    ),
    "Two bounds of one change": (
        "slow down, but by at most 30%",
        "turn right, but by at most 5 degrees",
    ),
    "Brake, throttle and acceleration": (
        "the brake should increase", "the throttle must be at most 0.3",
        "the acceleration must decrease by at least 1 m/s²",
    ),
    "What a detector sees": (
        "the detector must detect the added pedestrian", "the pedestrian must be detected",
        "the detector must still see the vehicles", "the detector must not lose the vehicles",
        "the number of detected vehicles must not change",
        "the box of the car ahead must overlap by at least 0.7", "the confidence must stay above 0.5",
        "the confidence of the vehicles must not drop by more than 20%",
    ),
    "What a segmentation network labels": (
        "the road must stay road", "at least 95% of the road must stay road",
        "the pedestrian must be labelled as such",
    ),
    "Where a planned path leads": (
        "the path must stay within 0.5 m", "the path must not change",
        "the path must not come closer than 1 m to the pedestrian",
        "the distance of the stop from the crosswalk should be at least 2 m",
    ),
    "When, over a clip": (
        "slow down within 2 s", "slow down in less than 500 ms",
        "slow down by at least 30% within one second", "slow down for at least 1 s",
        "slow down within 1 s for at least 2 s", "slow down while it is visible",
        "never accelerate while it is visible", "the steering should stay the same throughout",
        "never exceed 30 km/h at any time",
    ),
    "What only a drive shows": (
        "you must not collide", "you must not collide with the pedestrian",
        "the ego-vehicle must stay in its lane", "you must not leave your lane",
        "keep at least 2 s of distance",
    ),
}  # fmt: skip
"""Then-parts that show each way to say what should follow a change."""

REFUSED = (
    "If a car or a truck appears, slow down.",
    "If it rains, the perception must slow down.",
    "If it rains, the segmenter must brake.",
    "If it rains, the planner must turn left.",
    "If it rains, you may slow down by at most 20%.",
    "Unless it rains, slow down.",
    "If ten pedestrians appear on the roadside, slow down.",
    "If one of the trees is removed, keep your speed.",
    "If a tractor appears ahead, slow down.",
    "If a deer runs onto the road, slow down.",
    "If a cyclist brakes in front of you, slow down.",
    "If a car overtakes a truck, slow down.",
    "If a pedestrian lies on the road, stop.",
    "If snow covers the lane markings, slow down.",
    "If the sidewalk is removed, keep your speed.",
    "If the light is about to turn red, slow down.",
    "If a pedestrian wants to cross the road, slow down.",
    "If a car has broken down ahead, slow down.",
    "If a truck appears, it should slow down.",
    "If a pedestrian might cross the road, slow down.",
    "If a pedestrian does not cross the road, keep your speed.",
    "If the very red car appears, slow down.",
    "If a car appears on the left, slow down.",
    "If a pedestrian is hidden behind a car, slow down.",
    "If a unicorn appears on the roadside, slow down.",
    "If it stops raining, speed up.",
    "If it is not winter, speed up.",
    "If the winter gets heavier, slow down.",
    "If the light does not turn red, keep your speed.",
    "If a pedestrian appears on the roadside, he should stop.",
    "If a pedestrian appears on the roadside, you may slow down.",
    "If a pedestrian appears on the roadside, you may slow down by at most 20%.",
    "If a pedestrian appears on the roadside, you need not stop.",
    "If it rains, the detector must slow down.",
    "If it rains, the network must brake.",
    "If two pedestrians appear on the roadside, the detector must detect it.",
    "If the light is still red, stop.",
    "If it will rain, slow down.",
    "In the rainy season, slow down.",
    "If the oaks are removed, keep your speed.",
    "If a pedestrian appears on the roadside, slow down if necessary.",
    "If a pedestrian appears on the roadside, slow down significantly.",
    "If a pedestrian appears on the roadside, slow down by about 30%.",
    "If a pedestrian appears on the roadside, slow down smoothly.",
    "If a pedestrian appears on the roadside, sound the horn.",
    "If a pedestrian appears on the roadside, turn left or slow down.",
    "If a pedestrian appears on the roadside, give way to him.",
    "If it rains, the prediction should not change.",
    "If it rains, the steering angle should be smaller.",
    "If it rains, slow down and do not brake by more than 50%.",
    "If it rains, the speed should be greater the original speed.",
    "If it rains, slow down by 10% of the limit.",
    "If it rains, the speed of 20 km/h should drop.",
    "If it rains, do not slow down immediately.",
    "If it rains, do not drive as fast as before.",
    "If one tree is removed, keep your speed.",
    "If it rains, slow down and still detect the vehicles.",
    "If it rains, the detector must detect it.",
    "If it rains, the detector must not detect the vehicles.",
    "If a red car appears ahead, the detector must detect the red car.",
    "If it rains, the pedestrian must be labelled as such.",
    "If it rains, the confidence must be at least 2.",
    "If it rains, the path must stay within 5 km/h.",
)
"""Sentences that are refused, each for another reason."""

WORDS = {
    "open a condition": [" ".join(words) for words in lexicon.MARKERS],
    "add": lexicon.SETS["add"],
    "see, so add": lexicon.SETS["see"],
    "be or come, so add": lexicon.SETS["presence"],
    "verbs with the particles they may have": [" ".join(pair) for pair in lexicon.PHRASAL],
    "remove": lexicon.SETS["remove"],
    "go away, so remove": lexicon.SETS["vanish"],
    "not there, so remove": lexicon.SETS["absent"],
    "replace": lexicon.SETS["replace"],
    "become, so replace": lexicon.SETS["change"],
    "a change as a noun": lexicon.NOMINALS,
    "weather as a verb": lexicon.WEATHER_VERBS,
    "heavier, as a verb": lexicon.SETS["heavier"],
    "lighter, as a verb": lexicon.SETS["lighter"],
    "compare": lexicon.COMPARATIVES,
    "levels of weather": lexicon.LEVELS,
    "values of properties": lexicon.VALUES,
    "places": [" ".join(words) for words, place in lexicon.PREPOSITIONS if place],
    "places from the ego-vehicle": [" ".join(words) for words, _ in lexicon.ADVERB_PLACES],
    "more or less of a weather": lexicon.AMOUNTS_OF_WEATHER,
    "other prepositions": [" ".join(words) for words, place in lexicon.PREPOSITIONS if not place],
    "nouns beside those of the ontology": lexicon.NOUNS,
    "units": [unit for unit in UNITS if " " not in unit],
    "adjectives that ask for nothing": lexicon.SETS["plain adjectives"],
    "adverbs that ask for nothing where all is affirmed": lexicon.SETS["fillers"],
    "without weight in a condition, all in all": lexicon.WEIGHTLESS,
    "which lines, by where they are": lexicon.LINES,
    "poses of pedestrians, by what they do": lexicon.POSES["pedestrian"],
    "poses of vehicles": lexicon.POSES["vehicle"],
    "how many come, or which of them go": [" ".join(words) for words in lexicon.AMOUNTS],
}
"""The vocabulary: what the words do, and which they are."""


ABOUT_THINGS = """What [the ontology](../src/roadworthy/ontology.yaml) knows; a file of the same form adds to
it. Plurals are understood."""
ABOUT_WORDS = """A noun that is not here is looked up in WordNet: a jogger is a pedestrian. Other verbs are
refused."""


def rules_of(outcomes: Iterable[str]) -> list[str]:
    """Return whole rules for then-parts."""
    about = {True: "If a pedestrian appears on the roadside", False: "If it rains"}
    return [f"{about['pedestrian' in one]}, {one}." for one in outcomes]


def examples() -> list[str]:
    """Return every sentence of the page that is understood."""
    return [
        *(one for group in CONDITIONS.values() for one in group),
        *(one for group in OUTCOMES.values() for one in rules_of(group)),
    ]


def _changes(sentence: str) -> str:
    blocks = ["<br>".join(map(change_in_words, block.changes)) for block in parse(sentence).blocks]
    return "<br>**then**<br>".join(blocks)


def rules_reference() -> str:
    """Return the reference part of the page on the language of rules."""
    lines = ["## What changes", ""]
    for heading, sentences in CONDITIONS.items():
        compared = any(len(parse(one).blocks) > 1 for one in sentences)
        more = (" what must hold |", "---|") if compared else ("", "")
        lines += [f"### {heading}", "", f"| sentence | how it is read |{more[0]}", f"|---|---|{more[1]}"]
        for one in sentences:
            formulas = "<br>".join(_code(block.formula) for block in parse(one).blocks)
            lines.append(f"| {one} | {_changes(one)} |" + (f" {formulas} |" if compared else ""))
        lines.append("")
    lines += ["## What should follow", ""]
    lines += [
        "x1 is the prediction before, x2 the one after the change; steering to the right is positive.",
        "A rule that says when is [tried on clips](rules.md#over-time).",
        "",
    ]
    for heading, outcomes in OUTCOMES.items():
        lines += [f"### {heading}", "", "| words | output | what must hold |", "|---|---|---|"]
        alike: dict[tuple[str, str], list[str]] = {}
        for words, rule in zip(outcomes, rules_of(outcomes), strict=True):
            block = parse(rule).blocks[0]
            alike.setdefault((block.expectation.output, block.formula), []).append(words)
        lines += [
            f"| {'; '.join(words)} | {output} | {_code(held)} |" for (output, held), words in alike.items()
        ]
        lines.append("")
    lines += ["## What is refused", "", "| sentence | reason |", "|---|---|"]
    lines += [f"| {_marked(one)} | {_reason(one)} |" for one in REFUSED]
    lines += ["", "## Things and their properties", ""]
    lines += [ABOUT_THINGS, ""]
    lines += ["| thing | other words | properties |", "|---|---|---|"]
    lines += [_thing(name) for name in ontology().elements]
    lines += ["", "## All words", ""]
    lines += [ABOUT_WORDS, ""]
    lines += ["| words that | are |", "|---|---|"]
    lines += [f"| {what} | {', '.join(sorted(words))} |" for what, words in WORDS.items()]
    return "\n".join(lines) + "\n"


def _code(formula: str) -> str:
    return f"`{formula}`".replace("|", r"\|")


def refusal(sentence: str) -> RuleError:
    """Return the error of a sentence that is not understood."""
    try:
        parse(sentence)
    except RuleError as error:
        return error
    raise AssertionError(f"this is understood: {sentence}")


def _marked(sentence: str) -> str:
    first, last = refusal(sentence).span
    return f"{sentence[:first]}**{sentence[first:last]}**{sentence[last:]}"


def _reason(sentence: str) -> str:
    return refusal(sentence).reason


def _thing(name: str) -> str:
    element = ontology()[name]
    words = ", ".join([*element.synonyms, *element.kinds])
    properties = "; ".join(f"{key}: {', '.join(values)}" for key, values in element.properties.items())
    return f"| {name} | {words} | {properties} |"


def suite_forms() -> dict[str, type[BaseModel]]:
    """Return the forms of a suite with their headings, what they have in common first."""
    kinds: dict[str, type[BaseModel]] = {}
    for key, form in FORMS.items():
        kinds[f"`{key}`"] = form
        if key == "coverage":
            kinds |= {"An image of `only`": ImageForm, "A change of `made`": StepForm}
    return {
        "A suite": SuiteForm,
        "`models`": forms.ModelForm,
        "`data`": forms.DataForm,
        "`defaults`": forms.DefaultsForm,
        "Every requirement": forms.EntryForm,
        "`accept`": forms.AcceptForm,
        **kinds,
    }


def suites_reference() -> str:
    """Return the reference part of the page on suites."""
    lines = ["## Reference: every key", ""]
    common = set(forms.EntryForm.model_fields)
    for heading, form in suite_forms().items():
        lines += [f"### {heading}", ""]
        inherited = issubclass(form, forms.EntryForm) and form is not forms.EntryForm
        for name, field in form.model_fields.items():
            if not (inherited and name in common):
                takes = ", ".join(filter(None, (_takes(field.annotation), _default(field))))
                lines.append(f"- `{field.alias or name}` ({takes}): {field.description}")
        lines.append("")
    return "\n".join(lines)


def _takes(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        return "a mapping"
    if origin is list:
        if get_origin(inner[0]) is dict:
            return "a list of mappings"
        return (
            "a list"
            if isinstance(inner[0], type) and issubclass(inner[0], BaseModel)
            else "a word, or a list"
        )
    named = [one for one in inner if one is not type(None)]
    if origin is not None and str(origin).endswith("Literal"):
        return ", ".join(f"`{one}`" for one in inner)
    if named:
        return " or ".join(dict.fromkeys(_takes(one) for one in named if not _is_note(one)))
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names.get(kind, "a mapping, or its short form")


def _is_note(kind: Any) -> bool:
    return not (isinstance(kind, type) or get_origin(kind) is not None)


def _default(field: Any) -> str:
    if field.is_required():
        return "**needed**"
    value = field.get_default(call_default_factory=True)
    if value is None or value == {} or isinstance(value, BaseModel):
        return ""
    if isinstance(value, list):
        return f"default {', '.join(f'`{one}`' for one in value)}" if value else ""
    return f"default `{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> None:
    """Write the pages."""
    for page, text in ((RULES, rules_reference()), (SUITES, suites_reference())):
        head, _, _ = page.read_text("utf-8").partition(START)
        page.write_text(f"{head}{START}\n{text.rstrip()}\n", "utf-8")


if __name__ == "__main__":
    main()
