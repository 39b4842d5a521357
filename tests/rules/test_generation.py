from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Original
from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable, RuleError
from roadworthy.frames import Frame
from roadworthy.rules import parse
from roadworthy.rules.amounts import AddedElsewhere, Faded, scaled
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.generation import ChangedScenario, FollowUp, RulePlan, operation_of, plan_for
from roadworthy.rules.reading import Block, Rule, SceneChange
from roadworthy.transforms import Add, Transform, make_transform, read_engines
from roadworthy.transforms.operations import AddOperation, RemoveOperation, ReplaceOperation

SLOWER = Expectation("speed", "decrease")
SAME = Expectation("steering", "same")
PEDESTRIAN = SceneChange("add", "pedestrian", position="on", reference="sidewalk")
RAIN = SceneChange("replace", "weather", replacement="rainy")
NIGHT = SceneChange("replace", "time", replacement="night")


def rule(*blocks: Any) -> Rule:
    """A rule from tuples of changes with an expectation at the end."""
    return Rule("a rule", tuple(Block(tuple(block[:-1]), block[-1]) for block in blocks))


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    data = load("world", count=12)
    return [data[index] for index in range(len(data))]


def added(frame: Frame) -> Any:
    """What is known about the one thing that was added."""
    notes = frame.metadata["added"]
    assert isinstance(notes, tuple)
    (note,) = notes
    return note


def steps(plan: RulePlan) -> list[list[str]]:
    return [[str(step) for step in scenario.steps] for scenario in plan.scenarios]


def adding(target: str, position: Any = None, reference: str | None = None, **more: Any) -> SceneChange:
    return SceneChange("add", target, more.pop("properties", {}), position, reference, **more)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (PEDESTRIAN, AddOperation("pedestrian", "on", "roadside")),
        (adding("pedestrian"), AddOperation("pedestrian", "on", "roadside")),
        (adding("vehicle"), AddOperation("vehicle", "in front of", "ego-vehicle")),
        (
            adding("vehicle", "front", "ego-vehicle", properties={"type": "truck"}),
            AddOperation("truck", "in front of", "ego-vehicle"),
        ),
        (
            adding(
                "vehicle",
                "on",
                "lane",
                properties={"type": "car", "color": "red"},
                reference_properties={"position": "left"},
            ),
            AddOperation("red car", "on", "lane", "left"),
        ),
        (
            adding("bicyclist", "on", "sidewalk", reference_properties={"position": "right"}),
            AddOperation("bicyclist", "on", "roadside", "right"),
        ),
        (
            adding("traffic light", "front", "ego-vehicle"),
            AddOperation("traffic light", "on", "roadside", "right"),
        ),
        (adding("traffic sign", "on", "road"), AddOperation("traffic sign", "on", "roadside", "right")),
        (
            adding("pedestrian", "front", "ego-vehicle"),
            AddOperation("pedestrian", "in front of", "ego-vehicle"),
        ),
        (adding("pedestrian", "in", "crosswalk"), AddOperation("pedestrian", "on", "crosswalk")),
        (adding("pedestrian", "beside", "road"), AddOperation("pedestrian", "beside", "road")),
        (adding("pedestrian", "behind", "vehicle"), AddOperation("pedestrian", "behind", "vehicle")),
        (SceneChange("remove", "line", {"type": "dash"}), RemoveOperation("dash line")),
        (SceneChange("replace", "building", replacement="tree"), ReplaceOperation("building", "tree")),
        (
            SceneChange(
                "replace",
                "vehicle",
                {"color": "black"},
                replacement="vehicle",
                target_properties={"color": "white"},
            ),
            ReplaceOperation("white vehicle", "black vehicle"),
        ),
        (
            SceneChange("replace", "weather", {"level": "heavy"}, replacement="snowy"),
            ReplaceOperation("weather", "blizzard"),
        ),
    ],
)
def test_what_a_change_asks_of_images(change: SceneChange, expected: object) -> None:
    assert operation_of(change) == expected


@pytest.mark.parametrize(("traffic", "side"), [("right", "left"), ("left", "right")])
def test_who_overtakes_is_in_the_next_lane(traffic: Any, side: str) -> None:
    (change,) = parse("If a car overtakes you, do not speed up.").blocks[0].changes
    operation = operation_of(change, traffic)
    assert isinstance(operation, AddOperation)
    assert (operation.reference, operation.side, operation.pose) == ("lane", side, "overtaking")


def test_how_others_brake_over_a_clip_is_not_known() -> None:
    plan = plan_for(parse("If the car ahead brakes, slow down within 1 s."))
    with pytest.raises(InputError, match="brake or overtake"):
        plan.over(0)


def test_signs_stand_where_one_drives_unless_a_side_is_said() -> None:
    sign = adding("traffic sign", "on", "sidewalk")
    assert operation_of(sign, "left") == AddOperation("traffic sign", "on", "roadside", "left")
    said = dataclasses.replace(sign, reference_properties={"position": "right"})
    assert operation_of(said, "left") == AddOperation("traffic sign", "on", "roadside", "right")
    assert plan_for(rule((sign, SLOWER)), traffic="left").scenarios[0].steps[0].settings["side"] == "left"
    (night,) = plan_for(rule((NIGHT, SLOWER)), traffic="left", realism="any").scenarios[0].steps
    assert (night.settings["traffic"], night.settings["realism"]) == ("left", "any")


def test_a_thing_beyond_a_hundred_metres_is_too_far_away_to_be_seen(frames: list[Frame]) -> None:
    pedestrian = make_transform("add", element="pedestrian", distance=20)
    frame = next(one for one in frames if applies(pedestrian, one))
    with pytest.raises(NotApplicable, match="a pedestrian would be too far away to be seen"):
        AddedElsewhere(pedestrian, (5.5, 8.0))(frame, 0)
    near = AddedElsewhere(pedestrian, (5.5, 0.6))(frame, 0)
    assert added(near)["distance"] == pytest.approx(12, rel=0.1)


def applies(transform: Transform, frame: Frame) -> bool:
    try:
        transform(frame, 0, measure=False)
    except NotApplicable:
        return False
    return True


def test_every_block_has_a_scenario_from_the_original_frame(frames: list[Frame]) -> None:
    closer = dataclasses.replace(PEDESTRIAN, comparative="closer")
    farther = dataclasses.replace(PEDESTRIAN, comparative="farther")
    made = 0
    for word, change, sign in (("closer", closer, -1), ("farther", farther, 1)):
        plan = plan_for(rule((PEDESTRIAN, SLOWER), (change, SLOWER)))
        assert isinstance(plan.scenarios[1].steps[0], AddedElsewhere), word
        for seed, frame in enumerate(frames):
            try:
                original, first, second = plan.frames(frame, seed)
            except NotApplicable:
                continue
            made += 1
            assert original is frame
            one, two = added(first), added(second)
            # Formula 2: made of the original, so there is one pedestrian and not two.
            assert (one["cut_out"], one["side"]) == (two["cut_out"], two["side"])
            ratio = two["distance"] / one["distance"]
            assert ratio <= 0.85 if sign < 0 else ratio >= 1.2
    assert made >= 16


def test_things_get_closer_and_closer(frames: list[Frame]) -> None:
    closer = dataclasses.replace(PEDESTRIAN, comparative="closer")
    plan = plan_for(rule((PEDESTRIAN, SLOWER), (closer, SLOWER), (closer, SLOWER)))
    ran = 0
    for seed, frame in enumerate(frames):
        try:
            _, *made = plan.frames(frame, seed)
        except NotApplicable:
            continue
        ran += 1
        away = [added(one)["distance"] for one in made]
        assert away[0] > away[1] > away[2]
    assert ran >= 3


def test_a_car_ahead_gets_closer_on_our_lane(frames: list[Frame]) -> None:
    ahead = SceneChange("add", "vehicle", {"type": "car"}, "front", "ego-vehicle")
    closer = dataclasses.replace(ahead, comparative="closer")
    plan = plan_for(rule((ahead, SLOWER), (closer, SLOWER)))
    ran = 0
    for seed, frame in enumerate(frames):
        try:
            _, first, second = plan.frames(frame, seed)
        except NotApplicable:
            continue
        ran += 1
        one, two = added(first), added(second)
        assert one["side"] == two["side"] == "ahead"
        assert two["distance"] < one["distance"]
    assert ran >= 3


def test_weather_gets_heavier_and_lighter_by_levels() -> None:
    heavier = dataclasses.replace(RAIN, comparative="heavier")
    lighter = dataclasses.replace(RAIN, comparative="lighter")
    plan = plan_for(rule((RAIN, SLOWER), (heavier, SLOWER), (lighter, SLOWER), (lighter, SLOWER)))
    amounts = [scenario.steps[0].settings["amount"] for scenario in plan.scenarios]
    assert amounts == pytest.approx([2 / 3, 1, 2 / 3, 1 / 3], abs=1e-3)
    with pytest.raises(InputError, match="there is no weather heavier than heavy"):
        plan_for(rule((RAIN, SLOWER), (heavier, SLOWER), (heavier, SLOWER)))


def test_weather_and_darkness_come_over_what_is_added_whatever_is_said_first() -> None:
    plan = plan_for(rule((NIGHT, RAIN, PEDESTRIAN, SLOWER)))
    assert steps(plan) == [["add(element=pedestrian)", "rain(amount=0.6667)", "night(amount=0.6667)"]]
    winter = SceneChange("replace", "season", replacement="winter")
    (made,) = steps(plan_for(rule((NIGHT, RAIN, winter, PEDESTRIAN, SLOWER))))
    assert [one.partition("(")[0] for one in made] == ["add", "winter", "rain", "night"]


def test_what_is_added_must_be_seen_in_the_dark(frames: list[Frame]) -> None:
    @dataclasses.dataclass(frozen=True)
    class Blackout(Transform):
        name, family = "blackout", "weather"

        def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
            return frame.replace(image=np.zeros_like(frame.image))

        @property
        def is_identity(self) -> bool:
            return False

    person = make_transform("add", element="pedestrian")
    person(frames[0], 1)
    with pytest.raises(NotApplicable, match="would not stand out from its background"):
        ChangedScenario((person, Blackout()))(frames[0], 1)


def test_the_same_thing_comes_whatever_else_changes(frames: list[Frame]) -> None:
    lines = SceneChange("remove", "line")
    plans = [plan_for(rule((*changes, SLOWER))) for changes in ((PEDESTRIAN,), (PEDESTRIAN, lines))]
    notes = [added(plan.frames(frames[0], 5)[1]) for plan in plans]
    assert notes[0]["cut_out"] == notes[1]["cut_out"]
    assert notes[0]["side"] == notes[1]["side"]
    two = ChangedScenario(plans[0].scenarios[0].steps * 2)(frames[0], 5).metadata["added"]
    assert isinstance(two, tuple)
    assert len({note["box"] for note in two}) == 2


def test_the_same_seed_makes_the_same_bytes_wherever_frames_are_made(frames: list[Frame]) -> None:
    plan = plan_for(rule((PEDESTRIAN, RAIN, SLOWER)))
    data = load("world", count=12)
    source = plan.sources(Original(data, 3), 7)[1]
    assert isinstance(source, FollowUp)
    images = [one().image for one in (source, pickle.loads(pickle.dumps(source)))]
    images += [plan.frames(frames[3], 7)[1].image]
    assert np.array_equal(images[0], images[1])
    assert np.array_equal(images[0], images[2])
    assert not np.array_equal(images[0], plan.frames(frames[3], 8)[1].image)


def test_sources_of_rules_about_the_same_change_are_equal() -> None:
    data = load("world", count=2)
    third = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
    one, other = (
        plan_for(rule((PEDESTRIAN, expected))).sources(Original(data, 0), 1) for expected in (SLOWER, third)
    )
    assert one == other
    assert len(set(one) | set(other)) == 2


def test_earlier_frames_are_changed_alike(frames: list[Frame]) -> None:
    frame = frames[0].replace(previous=(frames[0].replace(id="before"),))
    _, changed = plan_for(rule((RAIN, SLOWER))).frames(frame, 1)
    assert np.array_equal(changed.previous[0].image, changed.image)
    assert changed.visual_change is not None
    assert changed.visual_change > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (SceneChange("replace", "time", replacement="day"), r"makes it 'day'.*--engines FILE"),
        (SceneChange("replace", "weather", replacement="sunny"), r"no built-in engine makes it 'sunny'"),
        (SceneChange("remove", "road"), r"'road' cannot be edited"),
        (SceneChange("replace", "building", replacement="pedestrian"), r"cannot be replaced by 'pedestrian'"),
        (SceneChange("add", "pedestrian", position="behind", reference="ego-vehicle"), r"not in the image"),
        (SceneChange("add", "traffic light", position="above", reference="road"), r"above"),
        (SceneChange("add", "building", position="on", reference="road"), r"gallery"),
        (SceneChange("remove", "tree", position="beside", reference="building"), r"wherever they are"),
        (
            SceneChange(
                "replace", "building", replacement="tree", position="in", reference="lane",
                reference_properties={"position": "left"},
            ),
            r"wherever they are",
        ),
    ],
)  # fmt: skip
def test_what_nothing_can_change_is_refused_before_any_frame_is_read(
    change: SceneChange, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        plan_for(rule((change, SLOWER)))
    assert f"cannot be tried ({change})" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            dataclasses.replace(PEDESTRIAN, comparative="closer"),
            "no earlier block says what it is closer than",
        ),
        (SceneChange("remove", "line", comparative="closer"), "no earlier block"),
    ],
)
def test_a_comparison_with_nothing_is_refused(change: SceneChange, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_for(rule((change, SLOWER)))


def test_only_what_is_added_gets_closer() -> None:
    lines = SceneChange("remove", "line")
    with pytest.raises(InputError, match="only a thing that is added can be closer"):
        plan_for(rule((lines, SLOWER), (dataclasses.replace(lines, comparative="closer"), SLOWER)))


def test_engines_of_users_go_first_and_may_know_closer(tmp_path: Any, frames: list[Frame]) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def painted(frame, operation, rng):\n"
        "    level = {'on': 50, 'closer': 200}[operation.relation]\n"
        "    return np.full_like(frame.image, level)\n"
    )
    supports = "[{operation: add, element: pedestrian}]"
    (tmp_path / "engines.yaml").write_text(
        f"engines:\n  mine:\n    entry: mine.py:painted\n    supports: {supports}\n"
    )
    engines = read_engines(tmp_path / "engines.yaml", allow_commands=True)
    plan = plan_for(
        rule((PEDESTRIAN, SLOWER), (dataclasses.replace(PEDESTRIAN, comparative="closer"), SLOWER)), engines
    )
    _, first, second = plan.frames(frames[0], 1)
    assert (first.image[0, 0, 0], second.image[0, 0, 0]) == (50, 200)


def test_a_rule_on_top_of_a_change_of_others(frames: list[Frame]) -> None:
    plan = plan_for(rule((PEDESTRIAN, SLOWER))).after(make_transform("rain:heavy"))
    assert steps(plan) == [["rain(amount=1)"], ["rain(amount=1)", "add(element=pedestrian)"]]
    assert plan.expectations == (SLOWER, SLOWER)
    assert plan.words == ("rain(amount=1)", "rain(amount=1) and add a pedestrian on the sidewalk")
    original, rain, both = plan.frames(frames[0], 3)
    box = added(both)["box"]
    changed = np.flatnonzero((rain.image != both.image).any(axis=(0, 2)))
    # It is the same rain: only where the pedestrian stands do the two differ.
    assert box[0] - 8 <= changed.min() <= changed.max() <= box[2] + 8
    assert original.metadata["weather"] == "sunny"
    assert both.metadata["weather"] == "rainy"


def test_a_change_made_by_another_transform() -> None:
    plan = plan_for(rule((RAIN, SAME)))
    assert steps(plan.made_by(make_transform("spatter"))) == [[str(make_transform("spatter"))]]
    with pytest.raises(InputError, match="another transform can make one change only"):
        plan_for(rule((RAIN, PEDESTRIAN, SAME))).made_by(make_transform("spatter"))


def test_tolerances_are_a_setting() -> None:
    plan = plan_for(rule((RAIN, SAME))).with_tolerances({"steering": Quantity(3.0), "speed": Quantity(1.0)})
    assert plan.expectations[0].holds(0.0, 2.9)
    assert not plan.expectations[0].holds(0.0, 3.1)


class TestAmounts:
    def test_less_of_a_change_is_less_of_it(self, frames: list[Frame]) -> None:
        differences = []
        for amount in (1.0, 0.5, 0.25):
            rain = scaled(make_transform("rain:heavy"), amount)
            changed = rain(frames[0], 1, measure=False)
            differences.append(float(np.abs(changed.image.astype(int) - frames[0].image).mean()))
        assert differences[0] > differences[1] > differences[2] > 0

    def test_things_stand_farther_away(self, frames: list[Frame]) -> None:
        person = make_transform("add", element="pedestrian")
        assert isinstance(person, Add)
        whole, half = (scaled(person, amount)(frames[0], 1, measure=False) for amount in (1.0, 0.6))
        one, two = added(whole), added(half)
        assert two["distance"] == pytest.approx(one["distance"] / 0.6, rel=0.08)
        assert two["cut_out"] == one["cut_out"]

    def test_edits_fade(self, frames: list[Frame]) -> None:
        lines = make_transform("remove", element="line")
        gone = lines(frames[0], 1, measure=False)
        faded = scaled(lines, 0.25)
        assert isinstance(faded, Faded)
        image = faded(frames[0], 1, measure=False).image.astype(float)
        mixed = 0.25 * gone.image + 0.75 * frames[0].image
        assert np.abs(image - mixed).max() <= 0.5 + 1e-9
        assert faded(frames[0], 1).labels is frames[0].labels
        assert scaled(lines, 0.75)(frames[0], 1).labels is not frames[0].labels

    def test_compositions_and_moved_things_scale_step_by_step(self) -> None:
        both = ChangedScenario(
            (make_transform("rain:heavy"), make_transform("remove", element="line"))
        ).scaled(0.5)
        assert str(both) == "rain(amount=0.5) + remove(element=line), 0.5 of it seen"
        closer = AddedElsewhere(make_transform("add", element="pedestrian"), (0.6,))
        assert (
            str(scaled(closer, 0.5)) == "add(element=pedestrian), 2 times as far away, 0.6 times as far away"
        )

    @pytest.mark.parametrize("amount", [0, -1, 1.5])
    def test_amounts_out_of_range_are_refused(self, amount: float) -> None:
        with pytest.raises(InputError, match="an amount must be above 0 and at most 1"):
            scaled(make_transform("rain"), amount)

    def test_only_things_that_are_added_move(self) -> None:
        with pytest.raises(InputError, match="only a thing that is added can be nearer or farther"):
            AddedElsewhere(make_transform("rain"), (0.5,))
        with pytest.raises(InputError, match="must be from 0 to 1"):
            Faded(make_transform("rain"), 2.0)


def test_cut_outs_may_come_from_another_gallery(tmp_path: Any) -> None:
    crossing = Rule("R1", (Block((PEDESTRIAN,), SLOWER),))
    assert plan_for(crossing).scenarios[0].steps[0].settings["gallery"] == "own"
    with pytest.raises(InputError, match=r"nowhere"):
        plan_for(crossing, gallery=str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("words", "distance"),
    [
        ("on the roadside 15 m away", 15.0),
        ("12.5 metres in front of the ego-vehicle", 12.5),
        ("9 m in front of our car", 9.0),
        ("in front of the truck, 20 m away", 20.0),
        ("on the roadside, at a distance of 20 m", 20.0),
        ("on the roadside", 0.0),
    ],
)
def test_a_rule_says_how_far_away_a_thing_appears(words: str, distance: float) -> None:
    rule = parse(f"If a pedestrian appears {words}, then the ego-vehicle should slow down.")
    (scenario,) = plan_for(rule).scenarios
    assert scenario.steps[0].settings["distance"] == distance
    told = str(rule.blocks[0].changes[0])
    assert (f", {distance:g} m away" in told) == bool(distance)


@pytest.mark.parametrize(
    ("words", "distances"),
    [
        ("three pedestrians stand 25 m ahead", [25, 25, 25]),
        ("a lorry is 30 m ahead of you and a car is in the oncoming lane", [30, 0]),
        ("a car is in the oncoming lane and a lorry is 30 m ahead of you", [0, 30]),
        ("a car is placed 30 m ahead and a pedestrian is placed 10 m ahead", [30, 10]),
        ("a car and a truck are 30 m ahead", [30, 30]),
        ("it rains and a truck is 30 m ahead", [0, 30]),
    ],
)
def test_a_distance_is_that_of_what_is_named_before_it(words: str, distances: list[float]) -> None:
    (block,) = parse(f"If {words}, slow down.").blocks
    assert [one.distance for one in block.changes] == distances


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("If it rains 15 m ahead, then the ego-vehicle should slow down.", "said once, of a thing"),
        ("If a pedestrian appears 1 m ahead, the ego-vehicle should slow down.", "from 3 to 100 m away"),
        (
            "If lane lines are removed 9 m away, the steering angle should keep the same.",
            "a thing that is added",
        ),
        ("If a car is 10 m ahead and a car is in the oncoming lane, slow down.", "clear of which"),
        ("If a pedestrian on the roadside and a cyclist 20 m ahead appear, slow down.", "clear of which"),
        ("If a car is 10 m ahead and a car is 20 m ahead, slow down.", "clear of which"),
        ("If a pedestrian appears 10 m away within 20 m, slow down.", "said once"),
        (
            "If a pedestrian appears 20 m in front of the truck, the ego-vehicle should slow down.",
            r"measured from the ego-vehicle(.|\n)* 20 m in front of the truck.*\n +\^{5}",
        ),
    ],
)
def test_a_distance_that_means_nothing_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        parse(text)


def test_things_of_every_scenario_are_large_enough() -> None:
    rule = parse(
        "If a pedestrian appears on the roadside, then the ego-vehicle should slow down. "
        "If he gets closer to the ego-vehicle, then the speed should decrease more."
    )
    plan = plan_for(rule).with_smallest(48)
    assert [one.steps[0].settings["smallest"] for one in plan.scenarios] == [48, 48]
    # Who says how small things may be gets what was said.
    assert plan.with_smallest(96) == plan
