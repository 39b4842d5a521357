"""The truth is true: label map, instances, boxes, depth and occlusion agree, with the scene too."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.world import (
    Camera,
    Conditions,
    Picture,
    Scene,
    Scenery,
    add,
    classes,
    frame_of,
    make_scene,
    render,
)
from roadworthy.world.render import boxes_of


def test_boxes_are_tight_round_the_instance_pixels(picture: Picture) -> None:
    boxes = boxes_of(picture)
    assert boxes.track_ids is not None
    assert set(boxes.track_ids.tolist()) == set(np.unique(picture.instances).tolist()) - {0}
    for box, number, name in zip(boxes.xyxy, boxes.track_ids, boxes.classes, strict=True):
        rows, columns = np.nonzero(picture.instances == number)
        assert box.tolist() == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert set(np.unique(picture.labels[rows, columns])) == {classes.NAMES.index(name)}


def test_instances_lie_on_their_class_and_nowhere_else(picture: Picture) -> None:
    boxed = np.isin(picture.labels, list(classes.BOXED))
    assert np.array_equal(boxed, picture.instances > 0)


def test_sky_is_infinitely_far_and_nothing_else_is(picture: Picture) -> None:
    assert np.array_equal(picture.labels == classes.SKY, np.isinf(picture.depth))
    assert picture.depth.min() > 0.3


def test_depth_of_a_thing_is_where_the_thing_stands(scene: Scene, picture: Picture) -> None:
    view = scene.view(Camera())
    placed = {p.thing.id: p for p in picture.raster.geometry.things}
    for number in np.unique(picture.instances[picture.instances > 0]).tolist():
        thing = placed[number]
        middle = float(view.to_camera(thing.base)[2])
        seen = picture.depth[picture.instances == number]
        assert np.abs(seen - middle).max() <= thing.mesh.reach + 0.1


def test_road_pixels_put_back_into_the_world_lie_on_the_road(scene: Scene, picture: Picture) -> None:
    rows, columns = np.nonzero((picture.labels == classes.ROAD) & (picture.depth < 60))
    pick = np.random.default_rng(0).choice(len(rows), 120, replace=False)
    raster = picture.raster
    for row, column in zip(rows[pick].tolist(), columns[pick].tolist(), strict=True):
        ray = np.array([raster.ray_x[0, column], raster.ray_y[row, 0], 1.0])
        point = raster.view.origin + picture.depth[row, column] * (ray @ raster.view.rotation)
        s, d = scene.track.locate(float(point[0]), float(point[1]), near=scene.s + 30)
        surface = scene.track.position(s, d)
        assert abs(d) < 4.3
        assert abs(point[2] - surface[2]) < 0.25


def test_occlusion_is_the_share_hidden_by_what_stands_in_front() -> None:
    checked = 0
    for seed in range(12):
        scene = make_scene("meadow", 300.0 + 40 * seed, seed=seed, traffic=4)
        picture = render(scene)
        boxes = boxes_of(picture)
        assert boxes.track_ids is not None
        assert boxes.occlusion is not None
        things = {t.id: t for t in (*scene.actors, *scene.scenery.things)}
        for number, share in zip(boxes.track_ids.tolist(), boxes.occlusion.tolist(), strict=True):
            alone = render(scene.replace(scenery=Scenery(), actors=(things[number],)))
            whole = np.count_nonzero(alone.instances == number)
            visible = np.count_nonzero(picture.instances == number)
            assert share == pytest.approx(1 - visible / whole, abs=1e-6)
            checked += share > 0.05
    assert checked >= 8  # enough of them really hide each other


def test_truncation_grows_as_a_car_leaves_the_picture() -> None:
    scene = make_scene("meadow", 300.0, traffic=0)
    shares = []
    for ahead in (20.0, 8.0, 6.5, 5.5):
        boxes = boxes_of(render(add(scene, "car", ahead=ahead, place=-1.75)))
        assert boxes.truncation is not None
        shares.append(float(boxes.truncation[boxes.classes.index("vehicle")]))
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert shares[-1] > 0.3


def test_a_frame_carries_everything() -> None:
    frame = frame_of(
        make_scene("town", 40.0, seed=1, conditions=Conditions("rain", "heavy", "night")), id="a"
    )
    assert frame.labels is not None
    assert frame.boxes is not None
    assert frame.depth is not None
    assert frame.signals.speed is not None
    assert frame.signals.steering is not None
    assert frame.metadata["weather"] == "rainy"
    assert frame.metadata["level"] == "heavy"
    assert frame.metadata["time"] == "night"
    assert frame.metadata["place"] == "urban"
