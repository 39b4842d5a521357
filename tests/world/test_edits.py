"""Counterfactuals change what they say and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy.errors import OntologyError, SceneError
from roadworthy.ontology import ontology
from roadworthy.world import (
    TIMES,
    WEATHERS,
    Camera,
    Conditions,
    Picture,
    Scene,
    add,
    classes,
    frame_of,
    make_scene,
    remove,
    render,
    replace,
    with_conditions,
)
from roadworthy.world.camera import Flags, Ints
from roadworthy.world.lamps import Influence
from roadworthy.world.raster import SUPERSAMPLING
from roadworthy.world.sky import BACKDROP_FACES


def _lit_otherwise(one: Influence, other: Influence) -> Flags:
    """Where two pictures differ in shadow or light."""
    dark = np.zeros((1, 1, 1), np.uint8)
    found: Flags = (one.contact != other.contact) | (one.cast != other.cast)
    for name in ("pools", "halos"):
        lights = [getattr(influence, name) for influence in (one, other)]
        planes = [dark if light is None else light.reshape(*light.shape[:2], -1) for light in lights]
        found |= np.not_equal(*planes).any(axis=2)
    return found


def _seen(picture: Picture) -> Ints:
    """Which thing (by id, poles included) and class each sub-pixel shows."""
    raster = picture.raster
    ids = np.array([p.thing.id for p in raster.geometry.things] + [0])
    of_face = np.concatenate([np.zeros(BACKDROP_FACES, dtype=int), ids[raster.geometry.faces.thing]])
    shown: Ints = (of_face * 100 + raster.label).astype(np.int32)[raster.ids]
    return shown


def _shows_something_else(before: Picture, after: Picture) -> Flags:
    height, width = before.labels.shape
    other = _seen(before) != _seen(after)
    other = other.reshape(height, SUPERSAMPLING, width, SUPERSAMPLING).any(axis=(1, 3))
    # The haze at the rim of a thing against the sky reaches one pixel farther.
    return np.asarray(cv2.dilate(other.astype(np.uint8), np.ones((3, 3), np.uint8)), dtype=bool)


def _scene(time: str = "day", weather: str = "sunny") -> Scene:
    return make_scene("town", 500.0, seed=3, traffic=3, conditions=Conditions(weather, "normal", time))


CHANGES: dict[str, Callable[[Scene], Scene]] = {
    "pedestrian": lambda s: add(s, "pedestrian", ahead=15),
    "truck": lambda s: add(s, "truck", ahead=18, place="lane"),
    "oncoming car": lambda s: add(s, "car", ahead=12, place="oncoming lane", yaw=math.pi),
    "bicyclist": lambda s: add(s, "bicyclist", ahead=12, place="road edge"),
    "stop sign": lambda s: add(s, "stop sign", ahead=14, place="kerb"),
    "red light": lambda s: add(s, "red light", ahead=14, place="kerb"),
    "tree": lambda s: add(s, "tree", ahead=16, place="verge"),
    "no lines": lambda s: remove(s, "line"),
    "no buildings": lambda s: remove(s, "building"),
    "no trees": lambda s: remove(s, "tree"),
    "no lamps": lambda s: remove(s, "pole"),
    "no traffic": lambda s: remove(s, "dynamic object"),
    "buildings to trees": lambda s: replace(s, "building", "tree"),
}


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("change", CHANGES)
def test_pictures_differ_only_where_the_changed_thing_its_shadow_and_its_light_are(
    change: str, time: str
) -> None:
    scene = _scene(time)
    before, after = render(scene), render(CHANGES[change](scene))
    differs = (before.image != after.image).any(axis=2)
    assert differs.any()
    outside = ~_shows_something_else(before, after)
    assert not (differs & outside & ~_lit_otherwise(before.influence, after.influence)).any()
    assert np.array_equal(before.labels[outside], after.labels[outside])
    assert np.array_equal(before.depth[outside], after.depth[outside])


def test_a_pedestrian_added_by_day_changes_a_small_part_of_the_picture() -> None:
    scene = _scene()
    before, after = render(scene), render(add(scene, "pedestrian", ahead=15))
    assert 0.0005 < (before.image != after.image).any(axis=2).mean() < 0.03


def test_removing_lines_leaves_road_where_they_were() -> None:
    scene = _scene()
    before, after = render(scene), render(remove(scene, "lane line"))
    assert not (after.labels == classes.LINE).any()
    assert set(np.unique(after.labels[before.labels == classes.LINE])) == {classes.ROAD}


def test_replacing_buildings_with_trees_keeps_their_places() -> None:
    scene = _scene()
    changed = replace(scene, "building", "tree")
    old = [(t.s, t.d) for t in scene.scenery.things if t.element == "building"]
    new = {(t.s, t.d) for t in changed.scenery.things if t.element == "tree"}
    assert len(old) > 5
    assert set(old) <= new
    assert not (render(changed).labels == classes.BUILDING).any()


@pytest.mark.parametrize("weather", WEATHERS)
@pytest.mark.parametrize("time", TIMES)
def test_weather_and_time_change_the_picture_and_not_the_truth(weather: str, time: str) -> None:
    scene = _scene()
    before, after = render(scene), render(with_conditions(scene, weather=weather, time=time))
    assert np.array_equal(before.labels, after.labels)
    assert np.array_equal(before.instances, after.instances)
    assert np.array_equal(before.depth, after.depth)
    if (weather, time) != ("sunny", "day"):
        assert np.abs(before.image.astype(int) - after.image).mean() > 3


def test_an_edit_leaves_the_original_scene_alone() -> None:
    scene = _scene()
    before = render(scene).image
    for change in CHANGES.values():
        change(scene)
    assert np.array_equal(before, render(scene).image)


def test_only_the_named_kind_is_removed_or_replaced() -> None:
    scene = add(add(_scene(), "truck", place="lane", ahead=20), "car", place="oncoming lane", ahead=20)
    cars = [t for t in scene.actors if t.kind == "car"]
    kinds = [t.kind for t in remove(scene, "truck").actors]
    assert "truck" not in kinds
    assert kinds.count("car") == len(cars)
    painted = replace(scene, "car", "car", color="black")
    assert {t.color for t in painted.actors if t.kind == "car"} == {"black"}
    assert [t for t in painted.actors if t.kind != "car"] == [t for t in scene.actors if t.kind != "car"]


@pytest.mark.parametrize("color", ["red", "yellow", "green"])
def test_a_light_has_the_colour_in_its_name(color: str) -> None:
    scene = add(make_scene("meadow", 300.0, traffic=0), f"{color} light", ahead=12, place=3.0)
    assert scene.actors[-1].attributes == {"color": color}
    picture = render(scene, Camera(640, 320))
    r, g, _ = picture.image[picture.instances == scene.actors[-1].id].astype(int).T
    shines = {"red": r - g > 60, "yellow": np.abs(r - g - 65) < 45, "green": g - r > 60}[color]
    assert shines.sum() > 10


def test_lights_change() -> None:
    scene = add(add(_scene(), "red light", place="kerb"), "yellow light", place="kerb", ahead=30)
    kinds = [t.kind for t in replace(scene, "red light", "green light").actors[-2:]]
    assert kinds == ["green", "yellow"]
    assert "red" not in {t.kind for t in remove(scene, "red light").actors}


def test_a_category_stands_for_everything_in_it() -> None:
    scene = add(_scene(), "bicyclist", place="road edge")
    assert {t.element for t in scene.actors} == {"vehicle", "pedestrian", "bicyclist"}
    assert remove(scene, "dynamic object").actors == ()
    replaced = replace(scene, "dynamic object", "tree")
    assert {t.element for t in replaced.actors} == {"tree"}
    assert {t.speed for t in replaced.actors} == {0.0}  # trees do not drive on
    assert [(t.id, t.s, t.d) for t in replaced.actors] == [(t.id, t.s, t.d) for t in scene.actors]
    bare = remove(scene, "road network")
    assert (bare.lines, bare.scenery.markings) == (False, ())
    assert {t.element for t in bare.scenery.things} == {"tree", "building"}


def test_what_comes_in_place_of_another_can_be_described() -> None:
    changed = replace(_scene(), "building", "tree", kind="conifer", look=3)
    new = {t.id for t in _scene().scenery.things if t.element == "building"}
    assert {(t.kind, t.look) for t in changed.scenery.things if t.id in new} == {("conifer", 3)}


def test_every_colour_of_the_ontology_can_be_painted() -> None:
    scene = make_scene("meadow", 300.0, traffic=0)
    looks = set()
    for color in ontology()["vehicle"].properties["color"]:
        picture = render(add(scene, "van", ahead=10, place="lane", color=color))
        looks.add(tuple(picture.image[picture.instances > 0].mean(axis=0).round().tolist()))
    assert len(looks) == len(ontology()["vehicle"].properties["color"])


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda s: add(s, "unicorn"), OntologyError, "unicorn"),
        (lambda s: add(s, "sky"), SceneError, "cannot place 'sky'"),
        (
            lambda s: add(s, "tram"),
            SceneError,
            "the world has no vehicle 'tram': known names are ambulance, bus",
        ),
        (lambda s: add(s, "vehicle", kind="tank"), SceneError, "no vehicle 'tank'"),
        (lambda s: add(s, "vehicle", color="pinkish"), SceneError, "unknown vehicle colour 'pinkish'"),
        (
            lambda s: add(s, "pedestrian", place="roof"),
            SceneError,
            "unknown place 'roof': known names are kerb",
        ),
        (lambda s: add(s, "pedestrian", place="verg"), SceneError, "did you mean 'verge'"),
        (lambda s: add(s, "pedestrian", side="up"), SceneError, "side must be one of right, left"),
        (lambda s: add(s, "pedestrian", ahead=float("nan")), SceneError, "finite numbers, got s=nan"),
        (lambda s: remove(s, "road"), SceneError, "cannot do without 'road'"),
        (lambda s: remove(s, "yellow line"), SceneError, "all its lines or none"),
        (lambda s: replace(s, "crosswalk", "tree"), SceneError, "cannot replace 'crosswalk'"),
        (lambda s: replace(s, "building", "sky"), SceneError, "cannot place 'sky'"),
        (lambda s: replace(s, "bicyclist", "tram"), SceneError, "no vehicle 'tram'"),
        (lambda s: with_conditions(s, weather="hail"), SceneError, "unknown weather 'hail'"),
        (lambda s: with_conditions(s, level="extreme"), SceneError, "unknown level 'extreme'"),
        (lambda s: with_conditions(s, level=2.0), SceneError, "from 0 to 1"),
        (lambda s: with_conditions(s, time="noonish"), SceneError, "unknown time of day"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(
    edit: Callable[[Scene], Scene], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        edit(_scene())


def test_the_centre_line_can_be_repainted() -> None:
    scene = make_scene("town", 20.0, traffic=0)
    assert scene.track.zone(scene.s).centre == ("dash", "yellow")
    solid = replace(scene, "dashed line", "solid line")
    assert solid.centre_line == ("solid", "yellow")
    assert replace(solid, "line", "white line").centre_line == ("solid", "white")
    assert replace(scene, "white line", "solid line") is scene  # it has no white centre line
    before, after = render(scene), render(solid)
    assert (after.labels == classes.LINE).sum() > (before.labels == classes.LINE).sum()
    with pytest.raises(SceneError, match="a line can be replaced by another line"):
        replace(scene, "line", "tree")


def test_a_field_that_things_do_not_have_is_refused() -> None:
    wrong: dict[str, Any] = {"colour": "red"}
    with pytest.raises(SceneError, match="a thing has no 'colour': did you mean 'color'"):
        add(_scene(), "truck", **wrong)


def test_none_of_a_weather_is_clear_in_the_metadata_too() -> None:
    frame = frame_of(with_conditions(_scene(), weather="rain", level=0.0))
    assert frame.metadata["weather"] == "sunny"


def test_a_scene_prints_on_one_line() -> None:
    assert len(repr(_scene())) < 150


@pytest.mark.parametrize("place", ["sidewalk", "kerb", "verge", "lane"])
def test_the_left_side_of_the_road_mirrors_the_right_one(place: str) -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    right, left = (
        add(scene, "pedestrian", place=place, side=side).actors[-1].d for side in ("right", "left")
    )
    assert left == -right < 0


def test_lines_that_are_gone_stay_gone() -> None:
    assert _scene().lines
    bare = remove(_scene(), "line")
    assert not bare.lines
    assert not remove(bare, "tree").lines
    assert remove(_scene(), "tree").lines


@pytest.mark.parametrize(
    ("kind", "paint", "least"),
    [("ambulance", (24, 60, 190), 0.02), ("police car", (24, 60, 190), 0.03), ("taxi", (230, 180, 30), 0.2)],
)
def test_a_livery_shows(kind: str, paint: tuple[int, int, int], least: float) -> None:
    """What no car of that colour has: blue beacons on the roof, and the paint of taxis."""
    scene = make_scene("meadow", s=100, seed=1, traffic=0)

    def share(kind: str) -> float:
        changed = add(scene, "vehicle", ahead=12, place=1.75, kind=kind)
        picture = render(changed, Camera(640, 320))
        body = picture.image[picture.instances == changed.actors[-1].id].astype(int)
        cosine = (body * paint).sum(1) / (np.linalg.norm(body, axis=1) * np.linalg.norm(paint) + 1e-6)
        return float((cosine > 0.97).mean())

    assert share(kind) > least
    assert share("car") < least / 2


def test_a_motorcycle_is_narrow_and_a_bus_is_large() -> None:
    scene = make_scene("meadow", s=100, seed=1, traffic=0)
    seen = {}
    for kind in ("motorcycle", "car", "bus"):
        changed = add(scene, "vehicle", ahead=16, place=1.75, kind=kind)
        seen[kind] = int((render(changed).instances == changed.actors[-1].id).sum())
    assert 2 * seen["motorcycle"] < seen["car"] < seen["bus"] / 2
