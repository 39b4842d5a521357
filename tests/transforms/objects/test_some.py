"""Some of the things of a kind go or give way; signs and lights agree with what stands there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.images import Mask
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects.gallery import Gallery
from roadworthy.transforms.objects.request import POSES, ROADSIDE
from roadworthy.transforms.objects.surroundings import surroundings
from roadworthy.transforms.objects.traffic import agreeing
from roadworthy.transforms.perspective import ROAD, Perspective
from roadworthy.transforms.wording import added_things
from roadworthy.world import Conditions, add, make_scene
from roadworthy.world.render import frame_of


@pytest.fixture(scope="module")
def town() -> list[Frame]:
    return list(load("world:town", count=12))


def test_half_of_the_trees(town: list[Frame]) -> None:
    tried = 0
    half = make_transform("remove", element="tree", part="half")
    for frame in town:
        try:
            left = half(frame, 1, measure=False).label_map.mask("tree")
        except NotApplicable:
            continue
        tried += 1
        trees = frame.label_map.mask("tree")
        assert 0 < np.count_nonzero(left & trees) < np.count_nonzero(trees)
    assert tried >= 3


def test_the_nearest_car_goes_and_the_others_stay() -> None:
    change = make_transform("remove", element="vehicle", part="nearest", realism="any")
    tried = 0
    for frame in load("world:town", count=40):
        assert frame.boxes is not None
        cars = [
            box for box, name in zip(frame.boxes.xyxy, frame.boxes.classes, strict=True) if name == "vehicle"
        ]
        try:
            changed = change(frame, 1, measure=False)
        except NotApplicable:
            continue
        assert changed.boxes is not None
        assert list(changed.boxes.classes).count("vehicle") == len(cars) - 1
        tried += len(cars) > 1
        if tried >= 2:
            break
    assert tried >= 2


def test_the_nearest_tree_of_a_row_is_not_guessed(town: list[Frame]) -> None:
    with pytest.raises(NotApplicable, match="which pixels belong to the nearest tree is not known"):
        make_transform("remove", element="tree", part="nearest")(town[0], 1)


def test_trees_on_one_side_go_and_the_others_stay(town: list[Frame]) -> None:
    tried = 0
    for frame in town:
        trees = frame.label_map.mask("tree")
        gone = {}
        for side in ("left", "right"):
            try:
                changed = make_transform("remove", element="tree", part=side)(frame, 1, measure=False)
            except NotApplicable:
                continue
            gone[side] = trees & ~changed.label_map.mask("tree")
            site = surroundings(frame)
            middle = float(np.median(np.argwhere(gone[side])[:, 1]))
            assert (middle < float(np.median(site.path))) == (side == "left")
        if len(gone) == 2:
            assert not (gone["left"] & gone["right"]).any()
            tried += 1
    assert tried >= 3


def test_the_centre_line_goes_and_the_edge_lines_stay(town: list[Frame]) -> None:
    tried = 0
    for frame in town:
        lines = frame.label_map.mask("line")
        try:
            centre, edge = (
                make_transform("remove", element="line", part=part)(frame, 1, measure=False)
                for part in ("centre", "edge")
            )
        except NotApplicable:
            continue
        tried += 1
        gone = [lines & ~one.label_map.mask("line") for one in (centre, edge)]
        assert not (gone[0] & gone[1]).any()
        road = frame.label_map.mask("road") | lines | frame.label_map.mask("crosswalk")
        to_edge = [
            np.median([_to_edge(road[row], column) for row, column in np.argwhere(one)]) for one in gone
        ]
        assert to_edge[0] > 2 * to_edge[1]
    assert tried >= 3


def _to_edge(road: Mask, column: int) -> int:
    """Return how many pixels of a row lie between a column and the nearest edge of the road."""
    return int(np.abs(np.flatnonzero(~road) - column).min(initial=len(road)))


def test_parts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="the part 'centre' cannot be told of a tree"):
        make_transform("remove", element="tree", part="centre")
    with pytest.raises(InputError, match="the part 'half' cannot be told of a line"):
        make_transform("remove", element="line", part="half")


def test_within_some_metres(town: list[Frame]) -> None:
    near = make_transform("add", element="pedestrian", within=12)
    distances = []
    for number, frame in enumerate(town):
        try:
            distances.append(added_things(near(frame, number, measure=False))[-1]["distance"])
        except NotApplicable:
            continue
    assert len(distances) >= 3
    assert max(distances) <= 12


def _aside_and_away(frame: Frame, note: Mapping[str, Any]) -> tuple[float, float]:
    middle = sum(note["foot"]) / 2 - frame.width / 2
    return middle / Perspective.of(frame).focal * note["distance"], note["distance"]


def test_a_group_stands_together_and_others_need_not(town: list[Frame]) -> None:
    widest: dict[str, list[float]] = {"any": [], "group": []}
    for company, found in widest.items():
        add = make_transform("add", element="pedestrian", company=company)
        for number, frame in enumerate(town):
            try:
                three = add(add(add(frame, number), number + 50), number + 99)
            except NotApplicable:
                continue
            notes = added_things(three)
            if company == "group":
                assert len({one["side"] for one in notes}) == 1
            boxes = [one["box"] for one in notes]
            for one, other in combinations(boxes, 2):
                # Nobody stands in front of somebody.
                assert one[2] <= other[0] + 2 or other[2] <= one[0] + 2 or company == "any"
            places = [_aside_and_away(frame, one) for one in notes]
            found.append(max(math.dist(*pair) for pair in combinations(places, 2)))
    assert len(widest["group"]) >= 3
    assert max(widest["group"]) < 8
    assert max(widest["any"]) > 8


@pytest.mark.parametrize("pose", ["crossing", "waiting", "stepping onto the road", "walking along"])
def test_people_are_seen_doing_what_is_said(town: list[Frame], pose: str) -> None:
    ground = "road" if pose in ("crossing", "stepping onto the road") else ROADSIDE
    change = make_transform("add", element="pedestrian", reference=ground, pose=pose)
    known = {one.name: one for one in Gallery.posed()}
    sides = set()
    for number, frame in enumerate(town):
        try:
            note = added_things(change(frame, number, measure=False))[-1]
        except NotApplicable:
            continue
        shown, (low, high) = known[note["cut_out"]], note["foot"]
        sides.add(note["side"])
        assert shown.pose == ("standing" if pose == "waiting" else "walking")
        assert (shown.facing == "side") == (pose != "walking along")
        if pose in ("waiting", "stepping onto the road"):
            # Cut-outs face right; who is right of our path turns to the left.
            assert note["mirrored"] == (note["side"] == "right")
        road = frame.label_map.mask(*ROAD)[note["box"][3] - 1]
        assert road[(low + high) // 2] == (ground == "road")
        if pose == "stepping onto the road":
            metre = Perspective.of(frame).focal / note["distance"]
            assert _to_edge(road, low if note["side"] == "left" else high) < 1.5 * metre + 2
    assert sides == {"left", "right"}


SIZES = {
    "child": (0.95, 1.5),
    "wheelchair user": (1.3, 1.5),
    "pram": (1.5, 2.0),
    "traffic cone": (0.5, 1.1),
    "dog": (0.5, 1.0),
}


@pytest.mark.parametrize("kind", SIZES)
def test_what_else_people_test_with_has_its_own_cut_outs_for_all_frames(kind: str) -> None:
    low, high = SIZES[kind]
    for drawn in (True, False):
        found = Gallery.shipped_for(drawn).select(kind)
        assert len(found) >= 3
        assert all(low < one.height < high and one.shape[0] >= 390 for one in found)
        assert not set(found) & set(Gallery.shipped_for(drawn).select("pedestrian"))
    for pose, (stance, _) in POSES.items() if kind in ("child", "wheelchair user", "pram") else ():
        if stance:
            make_transform("add", element=kind, pose=pose)


@pytest.mark.parametrize(
    ("kind", "reference"), [("traffic cone", "road"), ("dog", "road"), ("child", ROADSIDE)]
)
def test_cones_dogs_and_children_stand_where_it_is_said(town: list[Frame], kind: str, reference: str) -> None:
    change = make_transform("add", element=kind, reference=reference)
    tried = 0
    for number, frame in enumerate(town[:6]):
        try:
            changed = change(frame, number, measure=False)
        except NotApplicable:
            continue
        note, tried = added_things(changed)[-1], tried + 1
        low, high = note["foot"]
        on_road = frame.label_map.mask(*ROAD)[note["box"][3] - 1, (low + high) // 2]
        assert on_road == (reference == "road")
        assert changed.label_map.mask(note["element"]).sum() > frame.label_map.mask(note["element"]).sum()
        assert changed.label_map.to_rgb().shape == frame.image.shape
        # A child looks smaller than an adult would there.
        tall = (note["box"][3] - note["box"][1]) * note["distance"] / Perspective.of(frame).focal
        assert SIZES[kind][0] - 0.15 < tall < SIZES[kind][1] + 0.15
    assert tried >= 3


def test_only_people_have_poses() -> None:
    with pytest.raises(InputError, match="has no 'bicyclist'; it has pedestrian"):
        make_transform("add", element="bicyclist", pose="crossing")


@pytest.mark.parametrize("kind", ["motorcycle", "red car", "pedestrian"])
def test_only_vehicles_whose_lamps_are_known_brake(kind: str) -> None:
    with pytest.raises(InputError, match=f"no {kind} is known to be seen braking"):
        make_transform("add", element=kind, pose="braking")
    if kind == "pedestrian":
        with pytest.raises(InputError, match="overtaking"):
            make_transform("add", element=kind, pose="overtaking")


@pytest.mark.parametrize("kind", ["white car", "green truck", "taxi", "ambulance"])
def test_who_brakes_shows_two_lit_lamps(town: list[Frame], kind: str) -> None:
    place = {"element": kind, "relation": "in front of", "reference": "ego-vehicle", "distance": 12}
    tried = 0
    for number, frame in enumerate(town):
        try:
            plain, brakes = (
                make_transform("add", **place, **pose)(frame, number, measure=False)
                for pose in ({}, {"pose": "braking"})
            )
        except NotApplicable:
            continue
        notes = [added_things(one)[-1] for one in (plain, brakes)]
        left, top, right, bottom = notes[0]["box"]
        if notes[0]["box"] != notes[1]["box"] or right - left < 30:
            continue
        tried += 1
        lit = brakes.image.astype(int) - plain.image
        reddened = (lit[top:bottom, left:right, 0] > 40) & (brakes.image[top:bottom, left:right, 0] > 200)
        assert all(half.any() for half in np.array_split(reddened, 2, axis=1))
    assert tried >= 2


def test_real_frames_get_no_drawn_car_that_brakes(town: list[Frame]) -> None:
    ahead = {"relation": "in front of", "reference": "ego-vehicle"}
    change = make_transform("add", element="car", pose="braking", **ahead)
    with pytest.raises(NotApplicable, match="does not look real enough"):
        change(town[0].replace(metadata={}), 1, measure=False)


def test_what_is_oncoming_shows_its_front(town: list[Frame]) -> None:
    change = make_transform("add", element="truck", reference="oncoming lane")
    shown = []
    for number, frame in enumerate(town):
        try:
            shown.append(added_things(change(frame, number, measure=False))[-1])
        except NotApplicable:
            continue
    assert len(shown) >= 3
    assert {one["side"] for one in shown} == {"left"}
    trucks = {one.name: one for one in Gallery.shipped().select("truck")}
    assert {trucks[one["cut_out"]].facing for one in shown} == {"toward"}


LIGHTS = tuple((one,) for one in Gallery.shipped().select("traffic light"))
LIMITS = tuple((one,) for one in Gallery.shipped().select("speed limit sign"))


def _with(kind: str, element: str, **details: int) -> Frame:
    scene = make_scene("meadow", 100, seed=1, conditions=Conditions("sunny", time="day"), traffic=0)
    return frame_of(add(scene, element, ahead=9.0, place=4.5, kind=kind, **details))  # type: ignore[arg-type]


def test_a_light_never_contradicts_one_that_is_lit() -> None:
    frame = _with("green", "traffic light")
    assert {views[0].properties["color"] for views in agreeing(frame, LIGHTS)} == {"green"}
    red = tuple(views for views in LIGHTS if views[0].properties["color"] == "red")
    with pytest.raises(
        NotApplicable, match="a green light stands there already, which the new one would contradict"
    ):
        agreeing(frame, red)
    stop = tuple((one,) for one in Gallery.shipped().select("stop sign"))
    with pytest.raises(NotApplicable, match="a green light stands there"):
        agreeing(frame, stop)
    with pytest.raises(NotApplicable, match="a stop sign stands there already"):
        agreeing(_with("stop", "traffic sign"), LIGHTS)


def test_the_number_on_a_sign_lies_below_the_speed_driven() -> None:
    frame = make_scene("meadow", 100, seed=1, traffic=0)
    plain = frame_of(frame).replace(boxes=None)  # a sign that stands there would be in the way
    for speed, limits in ((60 / 3.6, {"20", "30", "50"}), (29 / 3.6, {"20"}), (None, {"20", "30"})):
        driven = dataclasses.replace(plain, signals=Signals(speed=speed))
        assert {views[0].properties["limit"] for views in agreeing(driven, LIMITS)} == limits
    with pytest.raises(NotApplicable, match="no speed limit is below the 10 km/h that are driven"):
        agreeing(dataclasses.replace(plain, signals=Signals(speed=10 / 3.6)), LIMITS)
    with pytest.raises(NotApplicable, match="speed limit sign stands there already"):
        agreeing(_with("speed limit", "traffic sign", value=80), LIMITS)
    thirty = make_transform("add", element="30 speed limit sign")
    assert added_things(thirty(plain, 1, measure=False))[-1]["properties"]["limit"] == "30"
