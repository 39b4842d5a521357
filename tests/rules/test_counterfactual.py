"""From rules to counterfactual scenes: what is changed, where, and when a scene does not qualify."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest

from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.rules.counterfactual import Counterfactuals
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.reading import Block, Comparative, Position, Rule, SceneChange
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.world import (
    Conditions,
    Scene,
    WorldObject,
    add,
    frame_of,
    make_scene,
    remove,
    with_conditions,
)

SLOWER = Expectation("speed", "decrease")
WALKER = SceneChange("add", "pedestrian", {}, "on", "sidewalk")
LIMIT = SceneChange("add", "traffic sign", {"type": "speed limit"}, "on", "sidewalk")
TRUCK = SceneChange("add", "vehicle", {"type": "truck"}, "front", "ego-vehicle")
NO_LINES = SceneChange("remove", "line")
TREES = SceneChange("replace", "building", replacement="tree")
NIGHT = SceneChange("replace", "time", replacement="night")
RAIN = SceneChange("replace", "weather", replacement="rainy")
WINTER = SceneChange("replace", "season", replacement="winter")
DATA = WorldDataset("meadow,town,mountain", weather="all", time="all", count=40, seed=5)


def rule(*blocks: tuple[SceneChange, ...]) -> Rule:
    return Rule("", tuple(Block(changes, SLOWER) for changes in blocks))


def compared(change: SceneChange, comparative: Comparative) -> SceneChange:
    return dataclasses.replace(change, comparative=comparative)


def weather(name: str, level: str | None = None) -> SceneChange:
    return SceneChange("replace", "weather", {"level": level} if level else {}, replacement=name)


def of(scene: Scene, *blocks: tuple[SceneChange, ...], seed: int = 0) -> tuple[Scene, ...]:
    return Counterfactuals(scene, seed).of(rule(*blocks))


def one(scene: Scene, *changes: SceneChange, seed: int = 0) -> Scene:
    (made,) = of(scene, changes, seed=seed)
    return made


def meadow(**sky: str) -> Scene:
    return make_scene("meadow", 100.0, traffic=0, conditions=Conditions(**sky))


def town(s: float = 40.0) -> Scene:
    return make_scene("town", s, seed=1)


def ahead(scene: Scene, thing: WorldObject) -> float:
    return scene.track.ahead(scene.s, thing.s)


def test_what_is_added_is_all_that_changes_and_is_in_view() -> None:
    made = 0
    for index in range(len(DATA)):
        scene = DATA.scene(index)
        for change in (WALKER, LIMIT, TRUCK):
            try:
                changed = one(scene, change, seed=index)
            except NotApplicable:
                continue
            made += 1
            assert changed.actors[:-1] == scene.actors
            assert changed.replace(actors=scene.actors).__dict__ == scene.__dict__
            thing = changed.actors[-1]
            assert thing.element == change.target
            assert change.properties.items() <= thing.attributes.items()
            # Seen in the finished frame, which is made in another way than the one that decides.
            frame = frame_of(changed)
            assert frame.instances is not None
            assert np.count_nonzero(frame.instances == thing.id) >= LEAST_SHARE * frame.instances.size
    assert made > 75


def test_things_stand_where_rules_put_them() -> None:
    for seed in range(12):
        scene = meadow()
        assert 3.9 < abs(one(scene, WALKER, seed=seed).actors[-1].d) < 6.6
        assert 3.9 < one(scene, LIMIT, seed=seed).actors[-1].d < 6.6  # on the right: it is for us
        lorry = one(scene, TRUCK, seed=seed).actors[-1]
        assert (lorry.d, lorry.yaw, lorry.kind) == (1.75, 0.0, "truck")
        on_road = one(scene, SceneChange("add", "pedestrian", {}, "on", "road"), seed=seed).actors[-1]
        assert 0 < on_road.d < 3.5
        beside = one(scene, SceneChange("add", "vehicle", {}, "beside", "ego-vehicle"), seed=seed).actors[-1]
        assert (beside.d, beside.yaw) == (-1.75, math.pi)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_that_a_rule_names_is_kept(side: str) -> None:
    for seed in range(8):
        for change in (WALKER, LIMIT):
            sided = dataclasses.replace(change, reference_properties={"position": side})
            assert (one(meadow(), sided, seed=seed).actors[-1].d < 0) == (side == "left")


def test_both_sides_many_distances_and_limits_are_tried() -> None:
    walkers = [one(meadow(), WALKER, seed=seed).actors[-1] for seed in range(30)]
    assert 8 < sum(one.d < 0 for one in walkers) < 22
    distances = [ahead(meadow(), one) for one in walkers]
    assert min(distances) < 14 < 21 < max(distances)
    assert len({one.look for one in walkers}) > 20
    values = {one(meadow(), LIMIT, seed=seed).actors[-1].value for seed in range(30)}
    assert values == {30, 40, 50, 60, 70}  # the limit in force is 70
    suburb = make_scene("meadow", 300.0, traffic=0)
    # Below the speed that is driven there, which is that of the limit.
    assert {one(suburb, LIMIT, seed=seed).actors[-1].value for seed in range(20)} == {30, 40}


def test_a_thing_is_the_same_in_all_blocks_and_rules() -> None:
    made = Counterfactuals(meadow(), 3)
    (alone,) = made.of(rule((WALKER,)))
    first, nearer = made.of(rule((WALKER,), (compared(WALKER, "closer"),)))
    dark, walker_in_the_dark = made.of(rule((NIGHT,), (WALKER, NIGHT)))
    assert first is alone  # whoever drives in it need not do so twice
    assert walker_in_the_dark.actors == alone.actors
    assert (dark.conditions.time, walker_in_the_dark.conditions.time) == ("night", "night")
    assert dark.actors == ()
    far, near = alone.actors[-1], nearer.actors[-1]
    assert dataclasses.replace(near, s=far.s) == far
    assert ahead(meadow(), near) == pytest.approx(0.6 * ahead(meadow(), far))
    assert Counterfactuals(meadow(), 3).of(rule((WALKER,)))[0].actors == alone.actors
    assert Counterfactuals(meadow(), 4).of(rule((WALKER,)))[0].actors != alone.actors


def test_farther_is_farther() -> None:
    first, other = of(meadow(), (WALKER,), (compared(WALKER, "farther"),), seed=1)
    assert ahead(meadow(), other.actors[-1]) > 1.25 * ahead(meadow(), first.actors[-1])


def test_every_comparative_compares_with_the_block_before() -> None:
    closer = compared(LIMIT, "closer")
    made = None
    for seed in range(40):
        try:
            made = of(meadow(), (LIMIT,), (closer,), (closer,), seed=seed)
        except NotApplicable:
            continue
        break
    assert made is not None
    distances = [ahead(meadow(), scene.actors[-1]) for scene in made]
    assert distances[0] > distances[1] > distances[2]


def test_changes_of_one_block_are_made_together() -> None:
    scene = town()
    bare = one(scene, NO_LINES, TREES)
    assert not bare.lines
    assert not any(thing.element == "building" for thing in bare.scenery.things)
    assert bare.actors == scene.actors
    rider = SceneChange("add", "bicyclist", {}, "on", "sidewalk")
    both = one(meadow(), WALKER, rider, NIGHT, RAIN)
    assert [thing.element for thing in both.actors] == ["pedestrian", "bicyclist"]
    assert (both.conditions.time, both.conditions.weather) == ("night", "rainy")
    two = one(meadow(), WALKER, WALKER, seed=2)
    assert len({(thing.s, thing.d) for thing in two.actors}) == 2


def test_it_becomes_winter_under_the_same_sky() -> None:
    scene = meadow(weather="rainy", time="dusk")
    made = one(scene, WINTER)
    assert made.conditions == Conditions("rainy", time="dusk", season="winter")
    assert (made.scenery, made.actors, made.s) == (scene.scenery, scene.actors, scene.s)


def test_weather_has_levels() -> None:
    levels = [scene.conditions.level for scene in of(meadow(), (RAIN,), (compared(RAIN, "heavier"),))]
    assert levels == [pytest.approx(2 / 3), 1.0]
    levels = [scene.conditions.level for scene in of(meadow(), (RAIN,), (compared(RAIN, "lighter"),))]
    assert levels == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert one(meadow(), weather("snowy", "heavy")).conditions == Conditions("snowy", "heavy")
    drizzle = meadow(weather="rainy", level="light")
    assert one(drizzle, weather("rainy", "heavy")).conditions == Conditions("rainy", "heavy")
    assert one(drizzle, weather("sunny")).conditions.weather == "sunny"
    assert one(meadow(weather="cloudy", time="dusk"), RAIN).conditions == Conditions("rainy", time="dusk")


def test_things_give_way() -> None:
    scene = add(add(meadow(), "green light", ahead=12, place="kerb"), "truck", ahead=20, place="lane")
    red = SceneChange("replace", "traffic light", {"color": "red"}, replacement="traffic light")
    assert [thing.kind for thing in one(scene, red).actors] == ["red", "truck"]
    black = SceneChange("replace", "vehicle", {"type": "car", "color": "black"}, replacement="vehicle")
    car = one(scene, black).actors[-1]
    assert (car.kind, car.color, car.s, car.id) == ("car", "black", scene.actors[-1].s, scene.actors[-1].id)
    gone = SceneChange("remove", "vehicle", {"type": "truck"})
    assert [thing.element for thing in one(scene, gone).actors] == ["traffic light"]
    solid = SceneChange("replace", "line", {"type": "solid"}, replacement="line")
    assert one(town(20), solid).centre_line == ("solid", "yellow")


def test_markings_go_where_they_are_seen() -> None:
    crosswalk = town().scenery.markings[0].s
    bare = one(town(crosswalk - 12), SceneChange("remove", "crosswalk"))
    assert {marking.kind for marking in bare.scenery.markings} == {"stop line"}
    with pytest.raises(NotApplicable, match="no crosswalk is seen, or too little of it"):
        one(town(crosswalk + 10), SceneChange("remove", "crosswalk"))


def test_a_group_stands_together() -> None:
    change = SceneChange("add", "pedestrian", {}, "on", "sidewalk", group=True)
    made = 0
    for seed in range(8):
        try:
            three = one(town(), change, change, change, seed=seed).actors[-3:]
        except NotApplicable:
            continue
        made += 1
        for first, second in combinations(three, 2):
            apart = math.dist((first.s, first.d), (second.s, second.d))
            assert 0.7 < apart < 4
    assert made >= 4


def test_people_are_put_at_crosswalks_and_beside_things() -> None:
    crosswalk = town().scenery.markings[0].s
    waiting = town(crosswalk - 15)
    on_it = one(waiting, SceneChange("add", "pedestrian", {}, "on", "crosswalk"), seed=1).actors[-1]
    assert 0 < waiting.track.ahead(crosswalk, on_it.s) < 3
    with pytest.raises(NotApplicable, match="there is no crosswalk ahead"):
        one(meadow(), SceneChange("add", "pedestrian", {}, "on", "crosswalk"))
    scene = add(meadow(), "car", ahead=20, place=6.5)
    places: tuple[tuple[Position, bool], ...] = (("front", True), ("behind", False))
    for position, nearer in places:
        change = SceneChange("add", "pedestrian", {}, position, "vehicle")
        distance = ahead(scene, one(scene, change, seed=2).actors[-1])
        assert (distance < 20) == nearer
        assert abs(distance - 20) < 8
    school_bus = SceneChange(
        "add", "pedestrian", {}, "beside", "vehicle", reference_properties={"type": "school bus"}
    )
    with pytest.raises(NotApplicable, match="there is no school bus ahead"):
        one(scene, school_bus)


@pytest.mark.parametrize(
    ("sky", "change", "reason"),
    [
        ({"time": "night"}, NIGHT, "it is night already"),
        ({"season": "winter"}, WINTER, "it is winter already"),
        ({"weather": "rainy"}, RAIN, "it is rainy already"),
        ({"weather": "rainy", "level": "heavy"}, weather("rainy", "heavy"), "it is rainy already"),
        ({"weather": "sunny"}, weather("sunny"), "it is sunny already"),
        ({"weather": "snowy"}, RAIN, "it is snowy: rainy in its place would be two changes"),
        ({"weather": "rainy"}, weather("foggy"), "it is rainy: foggy in its place would be two changes"),
    ],
)
def test_a_sky_that_does_not_qualify(sky: Mapping[str, str], change: SceneChange, reason: str) -> None:
    for changes in ((change,), (WALKER, change)):
        with pytest.raises(NotApplicable) as caught:
            one(meadow(**sky), *changes)
        assert caught.value.reason == reason


def test_what_is_not_there_cannot_go() -> None:
    with pytest.raises(NotApplicable, match="no pedestrian is seen, or too little of it"):
        one(meadow(), SceneChange("remove", "pedestrian"))
    with pytest.raises(NotApplicable, match="no line is seen, or too little of it"):
        one(remove(meadow(), "line"), NO_LINES)
    lights = SceneChange("replace", "traffic light", {"color": "red"}, replacement="traffic light")
    with pytest.raises(NotApplicable, match="no traffic light that could change is seen"):
        one(add(meadow(), "red light", ahead=12, place="kerb"), lights)
    far_away = add(meadow(), "pedestrian", ahead=70)
    with pytest.raises(NotApplicable, match="no pedestrian is seen, or too little of it"):
        one(far_away, SceneChange("remove", "pedestrian"))


def test_what_would_be_hidden_does_not_count() -> None:
    scene = add(meadow(), "truck", ahead=10, place="lane")
    scene = add(scene, "truck", ahead=10, place="oncoming lane")
    scene = add(scene, "truck", ahead=10, place=6.0)
    found: Counter[str] = Counter()
    for seed in range(10):
        try:
            one(scene, WALKER, seed=seed)
        except NotApplicable as error:
            found[error.reason] += 1
    assert found["the pedestrian that is added is hidden or hardly seen"] >= 3


def test_nothing_stands_in_another_thing() -> None:
    crowd = meadow()
    for step in range(4, 26):
        for side in ("left", "right"):
            crowd = add(crowd, "pedestrian", ahead=step, place="sidewalk", side=side)
    with pytest.raises(NotApplicable, match="there is no room in view for a pedestrian"):
        one(crowd, WALKER)


def test_a_vehicle_ahead_is_the_next_one() -> None:
    with pytest.raises(NotApplicable, match="there is no room in view for a truck"):
        one(add(meadow(), "car", ahead=11, place="lane"), TRUCK)
    farther = add(meadow(), "car", ahead=60, place="lane")
    assert ahead(farther, one(farther, TRUCK).actors[-1]) < 31
    behind_us = add(meadow(), "car", ahead=-9, place="lane")
    assert len(one(behind_us, TRUCK).actors) == 2


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (
            [(SceneChange("add", "pedestrian", {}, "behind", "ego-vehicle"),)],
            "'behind ego-vehicle' that the camera",
        ),
        ([(SceneChange("add", "traffic light", {}, "above", "road"),)], "puts nothing 'above road'"),
        ([(SceneChange("add", "crosswalk"),)], "cannot place 'crosswalk'"),
        ([(SceneChange("add", "vehicle", {"type": "tram"}),)], "no vehicle 'tram'"),
        ([(SceneChange("remove", "road"),)], "cannot do without 'road'"),
        ([(SceneChange("remove", "vehicle", {"type": "truck", "color": "red"}),)], "a truck that is red"),
        ([(SceneChange("remove", "vehicle", {}, "front", "ego-vehicle"),)], "wherever they are"),
        ([(compared(WALKER, "closer"),)], "no earlier block says what it is closer than"),
        ([(NO_LINES,), (compared(WALKER, "closer"),)], "no earlier block"),
        ([(RAIN,), (compared(RAIN, "closer"),)], "only a thing that is added can be closer"),
        ([(weather("rainy", "heavy"),), (compared(RAIN, "heavier"),)], "no weather heavier than heavy"),
        ([(SceneChange("remove", "weather"),)], "weather, time and season can only be replaced"),
    ],
)
def test_what_the_world_cannot_show_is_refused(blocks: list[tuple[SceneChange, ...]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        of(meadow(), *blocks)


def test_removed_from_the_road_is_removed() -> None:
    assert not one(meadow(), SceneChange("remove", "line", {}, "on", "road")).lines


def test_scenes_that_follow_from_one_another_are_alike() -> None:
    night = with_conditions(meadow(), time="night")
    assert one(night, WALKER, seed=1).actors == one(meadow(), WALKER, seed=1).actors
