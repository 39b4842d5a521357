"""Counterfactuals change what they say and nothing else."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from roadworthy.errors import OntologyError, SceneError
from roadworthy.world import (
    TIMES,
    WEATHERS,
    Conditions,
    Picture,
    Scene,
    add,
    classes,
    make_scene,
    remove,
    render,
    replace,
    with_conditions,
)

from roadworthy.world.backdrop import BACKDROP_FACES
from roadworthy.world.raster import SUPERSAMPLING

Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def _seen(picture: Picture) -> np.ndarray:  # type: ignore[type-arg]
    """Which thing (by id, poles included) and class each sub-pixel shows."""
    raster = picture.raster
    ids = np.array([p.thing.id for p in raster.geometry.things] + [0])
    of_face = np.concatenate([np.zeros(BACKDROP_FACES, dtype=int), ids[raster.geometry.faces.thing]])
    return of_face[raster.ids] * 100 + raster.label[raster.ids]


def _shows_something_else(before: Picture, after: Picture) -> Mask:
    height, width = before.labels.shape
    other = (
        (_seen(before) != _seen(after)).reshape(height, SUPERSAMPLING, width, SUPERSAMPLING).any(axis=(1, 3))
    )
    # The haze at the rim of a thing against the sky reaches one pixel farther.
    spread: Mask = cv2.dilate(other.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    return spread


def _may_differ(before: Picture, after: Picture) -> Mask:
    """Where something else is seen, or shadow or light changed."""
    return _shows_something_else(before, after) | (before.influence != after.influence).any(axis=0)


def _scene(time: str = "day", weather: str = "sunny") -> Scene:
    return make_scene("town", 500.0, seed=3, traffic=3, conditions=Conditions(weather, "normal", time))


CHANGES = {
    "pedestrian": lambda s: add(s, "pedestrian", ahead=15),
    "truck": lambda s: add(s, "truck", ahead=18, place="lane"),
    "bicyclist": lambda s: add(s, "bicyclist", ahead=12, place="road edge"),
    "stop sign": lambda s: add(s, "stop sign", ahead=14, place="kerb"),
    "red light": lambda s: add(s, "traffic light", kind="red", ahead=14, place="kerb"),
    "tree": lambda s: add(s, "tree", ahead=16, place="verge"),
    "no lines": lambda s: remove(s, "line"),
    "no buildings": lambda s: remove(s, "building"),
    "no trees": lambda s: remove(s, "tree"),
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
    assert not (differs & ~_may_differ(before, after)).any()
    outside = ~_shows_something_else(before, after)
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
    kinds = [t.kind for t in remove(scene, "truck").actors]
    assert "truck" not in kinds
    assert "car" in kinds
    painted = replace(add(_scene(), "car", color="white", place="lane"), "car", "car", color="black")
    assert {t.color for t in painted.actors if t.kind == "car"} == {"black"}


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda s: add(s, "unicorn"), OntologyError, "unicorn"),
        (lambda s: add(s, "sky"), SceneError, "no 'sky' to place"),
        (lambda s: add(s, "pedestrian", place="roof"), SceneError, "unknown place 'roof'"),
        (lambda s: add(s, "pedestrian", side="up"), SceneError, "side must be 'right' or 'left'"),
        (lambda s: add(s, "vehicle", kind="tank"), SceneError, "unknown kind 'tank'"),
        (lambda s: add(s, "vehicle", color="pinkish"), SceneError, "unknown vehicle colour 'pinkish'"),
        (lambda s: add(s, "pedestrian", ahead=float("nan")), SceneError, "not a number"),
        (lambda s: with_conditions(s, weather="hail"), SceneError, "unknown weather 'hail'"),
        (lambda s: with_conditions(s, level="extreme"), SceneError, "unknown level 'extreme'"),
        (lambda s: with_conditions(s, level=2.0), SceneError, "between 0 and 1"),
        (lambda s: with_conditions(s, time="noonish"), SceneError, "unknown time of day"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(edit: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        edit(_scene())  # type: ignore[operator]
