"""Pictures: any size, same seed same bytes, and weather that looks like weather."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from roadworthy.errors import SceneError
from roadworthy.frames import Frame
from roadworthy.world import (
    TIMES,
    TRACK_NAMES,
    WEATHERS,
    Camera,
    Conditions,
    Scene,
    Scenery,
    Track,
    WorldObject,
    add,
    classes,
    frame_of,
    make_scene,
    remove,
    render,
    track,
    with_conditions,
)
from roadworthy.world.scene import Marking
from roadworthy.world.track import Zone


def _everything(frame: Frame) -> list[object]:
    assert frame.labels is not None
    assert frame.instances is not None
    assert frame.depth is not None
    assert frame.boxes is not None
    arrays = (frame.image, frame.labels.ids, frame.instances, frame.depth, frame.boxes.xyxy)
    return [*(array.tobytes() for array in arrays), frame.boxes.classes, frame.signals, frame.metadata]


def test_the_same_seed_gives_the_same_bytes_in_another_process_and_another_order() -> None:
    cases = [
        (name, 100.0 * k, k, Conditions(WEATHERS[k + 1], time=TIMES[k])) for k, name in enumerate(TRACK_NAMES)
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
        scenes = [
            elsewhere.submit(make_scene, name, s, seed=seed, conditions=conditions).result()
            for name, s, seed, conditions in cases
        ]
        there = list(elsewhere.map(frame_of, scenes))
    for s in (700.0, 10.0, 350.0):  # fill every cache in another order first
        render(make_scene("town", s, seed=9))
    here = [frame_of(make_scene(name, s, seed=seed, conditions=sky)) for name, s, seed, sky in cases[::-1]]
    for one, other in zip(here[::-1], there, strict=True):
        assert _everything(one) == _everything(other)


def test_another_seed_gives_another_scene() -> None:
    one, two = make_scene("town", 100.0, seed=1), make_scene("town", 100.0, seed=2)
    assert one.actors != two.actors
    assert not np.array_equal(render(one).image, render(two).image)


@pytest.mark.parametrize("name", TRACK_NAMES)
@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("weather", WEATHERS)
def test_every_track_weather_and_time_renders(name: str, time: str, weather: str) -> None:
    picture = render(make_scene(name, 333.0, seed=5, conditions=Conditions(weather, "heavy", time)))
    assert picture.image.shape == (160, 320, 3)
    assert picture.image.dtype == np.uint8
    assert picture.image.std() > 4
    assert {classes.ROAD, classes.LINE, classes.SKY} <= set(np.unique(picture.labels).tolist())


@pytest.mark.parametrize("size", [(16, 16), (64, 200), (321, 161), (200, 66), (1242, 375), (37, 90)])
@pytest.mark.parametrize("time", ["day", "night"])
def test_any_size_works(size: tuple[int, int], time: str) -> None:
    scene = make_scene("town", 120.0, seed=4, conditions=Conditions("snow", time=time))
    frame = frame_of(scene, Camera(*size))
    width, height = size
    assert frame.size == size
    assert frame.image.shape == (height, width, 3)
    assert frame.boxes is not None
    assert frame.instances is not None
    assert len(frame.boxes) == len(np.unique(frame.instances)) - 1
    assert (frame.boxes.xyxy >= 0).all()
    assert (frame.boxes.xyxy <= [width, height, width, height]).all()


@pytest.mark.parametrize("weather", WEATHERS)
def test_amount_zero_of_any_weather_is_a_clear_day(weather: str) -> None:
    scene = make_scene("meadow", 200.0, seed=1)
    clear = render(scene).image
    assert np.array_equal(clear, render(with_conditions(scene, weather=weather, level=0.0)).image)


def test_night_is_darker_than_dusk_and_dusk_darker_than_day() -> None:
    scene = make_scene("town", 200.0, seed=1)
    means = [render(with_conditions(scene, time=time)).image.mean() for time in TIMES]
    assert means[0] > 1.2 * means[1] > 1.4 * means[2]


def test_more_fog_hides_more_of_the_distance() -> None:
    scene = add(make_scene("meadow", 300.0, seed=1, traffic=0), "truck", ahead=45, place="lane")
    truck = render(scene).instances > 0
    contrast = []
    for level in (0.0, 1 / 3, 2 / 3, 1.0):
        image = render(with_conditions(scene, weather="fog", level=level)).image.astype(float)
        contrast.append(image[truck].std())
    assert contrast == sorted(contrast, reverse=True)
    assert contrast[-1] < 0.5 * contrast[0]


def test_snow_whitens_the_verge_and_rain_darkens_the_road() -> None:
    scene = make_scene("meadow", 100.0, seed=1, traffic=0)
    dry = render(scene)
    verge = (dry.labels == classes.TERRAIN) & (dry.depth < 40)
    road = (dry.labels == classes.ROAD) & (dry.depth < 12)
    snow = render(with_conditions(scene, weather="snow", level="heavy")).image.astype(float)
    assert np.ptp(snow[verge].mean(axis=0)) < 25  # white has no hue
    assert snow[verge].mean() > dry.image[verge].mean() + 40
    rain = render(with_conditions(scene, weather="rain", level="heavy")).image
    assert rain[road].mean() < 0.85 * dry.image[road].mean()


def test_headlights_show_a_pedestrian_at_night() -> None:
    scene = make_scene("meadow", 100.0, seed=1, traffic=0, conditions=Conditions(time="night"))
    near, far = (render(add(scene, "pedestrian", ahead=gap, place="road edge", look=3)) for gap in (12, 60))
    assert near.image[near.instances > 0].mean() > 1.8 * far.image[far.instances > 0].mean()


def test_lamps_are_on_by_day_in_rain_and_fog_only() -> None:
    on = {weather for weather in WEATHERS if Conditions(weather, "heavy").light.lamps > 0}
    assert on == {"rainy", "foggy"}


def test_signs_can_be_read() -> None:
    base = remove(make_scene("meadow", 300.0, traffic=0), "tree")
    plates = []
    for value in (30, 80):
        scene = add(base, "speed limit sign", value=value, ahead=14, place=3.0)
        picture = render(scene, Camera(640, 320))
        rows, columns = np.nonzero(picture.instances == scene.actors[-1].id)
        plates.append(picture.image[rows.min() : rows.max(), columns.min() : columns.max()].astype(float))
    assert plates[0].shape == plates[1].shape
    inner = tuple(slice(n // 4, -n // 4) for n in plates[0].shape[:2])
    assert np.abs(plates[0][inner] - plates[1][inner]).max() > 100  # the digits differ


def _hilly(height: float) -> Track:
    corners = [(0, 0), (600, 0), (600, 300), (0, 300)]
    return Track("hilly", corners, 40, [(height, 20, 0.0)], (Zone(0, "rural", 20),))


@pytest.mark.parametrize("what", ["pedestrian", "school bus"])
def test_a_crest_hides_what_stands_behind_it(what: str) -> None:
    for height, seen in ((0.0, True), (3.0, False)):
        road = _hilly(height)
        wave = road.length / 20
        valley = Scene(road, 1.75 * wave)  # where the sine is lowest
        behind = render(add(valley, what, ahead=wave, place="lane"))
        assert (behind.instances > 0).any() == seen
        on_top = render(add(valley, what, ahead=wave / 2, place="lane"))
        assert (on_top.instances > 0).any()


RURAL = Zone(0, "rural", 20)
SQUARE = [(0, 0), (200, 0), (200, 200), (0, 200)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_scene("nowhere"), "unknown track 'nowhere'"),
        (lambda: make_scene("twon"), "did you mean 'town'"),
        (lambda: make_scene("town", float("nan")), "finite"),
        (lambda: make_scene("town", yaw=float("inf")), "finite numbers, got s=0.0, d=1.75, yaw=inf"),
        (lambda: make_scene("town", traffic=-1), "traffic must be from 0 to 5, got -1"),
        (lambda: Camera(8, 8), "16 to 8192 pixels wide and high, got 8×8"),
        (lambda: Camera(field_of_view=200), "from 20 to 120, got 200"),
        (lambda: Conditions("rain", -0.1), "from 0 to 1, got -0.1"),
        (lambda: Conditions("rain", float("nan")), "from 0 to 1, got nan"),
        (lambda: Marking("arrow", 10.0), "unknown marking 'arrow'"),
        (lambda: Zone(0, "desert", 20), "unknown kind of zone 'desert'"),
        (lambda: Zone(0, "rural", 0), "above 0, got 0"),
        (lambda: Zone(0, "rural", 20, ("dash", "pink")), "a line is white or yellow, got 'pink'"),
        (lambda: Track("flat", SQUARE[:2], 30, (), (RURAL,)), "corners of a track must be 3 or more, got 2"),
        (lambda: Track("late", SQUARE, 30, (), (Zone(5, "rural", 20),)), "must start at 0"),
        (lambda: Track("odd", SQUARE, 30, (), (RURAL, Zone(9, "urban", 9), Zone(5, "urban", 9))), "in order"),
        (lambda: Scene(track("town"), 0.0, centre_line=("dotted", "white")), "a line is solid or dash"),
        (lambda: WorldObject(0, "tree", 0.0, 8.0), "from 1 to 65535, got 0"),
        (lambda: WorldObject(1, "traffic sign", 0.0, 5.0, value=-5), "between 0 and 999, got -5"),
        (
            lambda: Scene(
                track("town"),
                0.0,
                scenery=Scenery((WorldObject(1, "tree", 0.0, 8.0),)),
                actors=(WorldObject(1, "pedestrian", 9.0, 5.0),),
            ),
            "same id",
        ),
    ],
)
def test_bad_scenes_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        make()
