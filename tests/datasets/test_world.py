from __future__ import annotations

import math
import pickle
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import WorldDataset, load
from roadworthy.datasets.world import _renderer
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.world import (
    SEASONS,
    TIMES,
    TRACK_NAMES,
    WEATHERS,
    Camera,
    add,
    careful_driver,
    frame_of,
    with_conditions,
)


def same(one: Frame, other: Frame) -> bool:
    return (
        one.id == other.id
        and np.array_equal(one.image, other.image)
        and one.labels == other.labels
        and one.boxes == other.boxes
        and one.signals == other.signals
        and one.metadata == other.metadata
        and all(map(same, one.previous, other.previous))
    )


def test_a_frame_has_all_ground_truth_and_says_where_it_is() -> None:
    data = load("world:town", weather="rain", time="night", level="heavy", count="3")
    frame = data[2]
    assert isinstance(data, Dataset)
    assert frame.id == "town-000002"
    assert frame.size == (320, 160)
    for known in (frame.labels, frame.boxes, frame.depth, frame.instances, frame.signals.speed):
        assert known is not None
    conditions = {"weather": "rainy", "time": "night", "level": "heavy", "track": "town"}
    assert conditions.items() <= frame.metadata.items()


def test_a_frame_does_not_depend_on_the_order_of_access() -> None:
    options = {"weather": "all", "time": "all", "count": 8, "seed": 3, "size": "96x48"}
    forwards = list(load("world", **options))
    fresh = load("world", **options)
    for index in (5, 0, 7):
        assert same(fresh[index], forwards[index])
    assert same(WorldDataset(**{**options, "count": 80})[5], forwards[5]), "more frames leave the first as is"  # type: ignore[arg-type]


def test_another_seed_gives_other_frames() -> None:
    one, other = (WorldDataset("town", count=1, seed=seed, size="96x48")[0] for seed in (0, 1))
    assert not np.array_equal(one.image, other.image)


def test_data_sets_and_slices_travel_to_other_processes() -> None:
    data = WorldDataset("meadow", count=4, size="96x48")[1:3]
    copy = pickle.loads(pickle.dumps(data))
    assert copy.name == "world:meadow[1:3]"
    assert same(copy[0], data[0])


def test_all_combinations_come_once_before_any_comes_again() -> None:
    data = WorldDataset(weather="all", time="all", count=90)
    cells = [
        (scene.track.name, scene.conditions.weather, scene.conditions.time)
        for scene in map(data.scene, range(len(data)))
    ]
    assert set(cells[:45]) == set(product(TRACK_NAMES, WEATHERS, TIMES))
    assert cells[45:] == cells[:45]
    assert {cell[1:] for cell in cells[:15]} == set(product(WEATHERS, TIMES)), "the first few differ most"
    assert [cell[0] for cell in cells[:6]] == [*TRACK_NAMES, *TRACK_NAMES]


def test_conditions_may_be_lists() -> None:
    data = WorldDataset("town", weather="rain+fog", level=["light", 0.5], count=4)
    found = {(data.scene(i).conditions.weather, round(data.scene(i).conditions.level, 2)) for i in range(4)}
    assert found == {("rainy", 0.33), ("rainy", 0.5), ("foggy", 0.33), ("foggy", 0.5)}


def test_seasons_take_turns_and_one_season_leaves_places_and_order_as_they_are() -> None:
    data = WorldDataset("town", season="all", weather="sunny,snowy", count=16)
    found = [(data.scene(i).conditions.season, data.scene(i).conditions.weather) for i in range(16)]
    assert set(found[:8]) == set(product(SEASONS, ("sunny", "snowy")))
    assert {season for season, _ in found[:4]} == set(SEASONS), "the first few differ most"
    summer, winter = (
        WorldDataset(weather="all", time="all", level="all", season=season, count=30)
        for season in ("summer", "winter")
    )
    later = [summer.scene(i).conditions for i in range(22, 28)]
    assert [(one.weather, one.level_name, one.time) for one in later] == [
        ("snowy", "light", "night"), ("snowy", "heavy", "day"), ("rainy", "heavy", "night"),
        ("rainy", "normal", "dusk"), ("cloudy", "light", "day"), ("foggy", "light", "dusk"),
    ], "as it was before there were seasons"  # fmt: skip
    for i in range(30):
        one, other = summer.scene(i), winter.scene(i)
        assert with_conditions(one, season="winter").conditions == other.conditions
        assert (one.s, one.d, one.actors) == (other.s, other.d, other.actors)


def test_a_name_given_twice_counts_once() -> None:
    assert WorldDataset("town,town", count=2).name == "world:town"
    places = [WorldDataset("town,town", count=2).scene(index).s for index in range(2)]
    assert places[0] != places[1]


@pytest.mark.parametrize("part", [slice(0, 20), slice(20, 40), slice(0, 40)])
def test_any_stretch_of_frames_is_spread_over_the_track(part: slice) -> None:
    data = WorldDataset("meadow", count=40)[part]
    scenes = [data.scene(index) for index in range(len(data))]
    places = np.sort([scene.s for scene in scenes])
    gaps = np.diff(places, append=places[0] + scenes[0].track.length)
    assert gaps.max() < 3 * scenes[0].track.length / len(data)


def test_jitter_leaves_the_middle_of_the_lane_and_none_stays_there() -> None:
    exact = WorldDataset("town", count=20, jitter=0)
    assert {(exact.scene(i).d, exact.scene(i).yaw) for i in range(20)} == {(1.75, 0.0)}
    data = WorldDataset("town", count=300)
    offsets = np.array([data.scene(i).d - 1.75 for i in range(300)])
    yaws = np.degrees([data.scene(i).yaw for i in range(300)])
    assert offsets.std() == pytest.approx(0.25, rel=0.15)
    assert yaws.std() == pytest.approx(1.5, rel=0.15)
    assert np.abs(offsets).max() < 0.7


def test_a_sequence_is_one_drive_of_the_careful_driver() -> None:
    data = WorldDataset("meadow", count=40, sequence=20, fps=10, seed=2)
    scenes = [data.scene(index) for index in range(20)]
    for before, after in pairwise(scenes):
        driven = before.track.ahead(before.s, after.s)
        assert driven == pytest.approx((careful_driver(before).speed or 0) / 10, rel=0.05)
        for old, new in zip(before.actors, after.actors, strict=True):
            # Forward in its own direction, slower only to keep its distance.
            moved = before.track.ahead(old.s, new.s) * (1 if math.cos(old.yaw) > 0 else -1)
            assert 0 <= moved <= old.speed / 10 + 1e-9
    assert abs(scenes[-1].d - 1.75) < max(0.05, abs(scenes[0].d - 1.75))
    assert data.scene(20).s != pytest.approx(scenes[-1].s, abs=5), "the next sequence is elsewhere"
    assert data[7].metadata["sequence"] == 0
    assert data[27].metadata["sequence"] == 1
    assert data[7].signals.timestamp == pytest.approx(0.7)


def test_every_frame_has_its_history_even_the_first() -> None:
    data = WorldDataset("town", count=4, sequence=4, history=2, size="96x48")
    first, third = data[0], data[2]
    assert [one.id for one in first.previous] == ["town-000000-before-2", "town-000000-before-1"]
    assert [one.id for one in third.previous] == ["town-000000", "town-000001"]
    assert same(third.previous[1], data[1].replace(previous=()))
    assert [one.signals.timestamp for one in (*first.previous, first)] == pytest.approx([0, 1 / 15, 2 / 15])
    assert all(one.previous == () for one in third.previous)


def test_the_scene_behind_a_frame_renders_to_it_and_can_be_changed() -> None:
    data = WorldDataset("town", count=6)[2:]
    frame, scene = data[1], data.scene(1)
    again = frame_of(scene, id=frame.id)
    assert same(again, frame)
    changed = frame_of(add(scene, "pedestrian", ahead=10))
    assert not np.array_equal(changed.image, frame.image)


@pytest.mark.parametrize(("size", "most"), [((1920, 1080), 8), ((320, 160), 327), ((8192, 8192), 1)])
def test_few_large_frames_are_kept_and_enough_small_ones(size: tuple[int, int], most: int) -> None:
    draws: Any = _renderer(Camera(*size))
    assert draws.cache_info().maxsize == most


def test_without_traffic_nobody_is_on_the_road() -> None:
    data = WorldDataset(count=12, traffic=0)
    assert not any(data.scene(index).actors for index in range(12))


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("twon", {}, "unknown track 'twon': did you mean 'town'"),
        ("town", {"weather": "rian"}, "unknown weather 'rian': did you mean 'rainy'"),
        ("town", {"weather": "rain,"}, "weather must be 'all' or some of sunny, .* got 'rain,'"),
        ("town", {"time": "noon"}, "unknown time of day 'noon'"),
        ("town", {"level": "havy"}, "unknown level 'havy': did you mean 'heavy'"),
        ("town", {"level": "1.5"}, "level must be from 0 to 1, got 1.5"),
        ("town", {"count": 0}, "count must be between 1 and 1,000,000, got 0"),
        ("town", {"sequence": 0}, "sequence must be between 1 and 1,000,000, got 0"),
        ("town", {"history": -1}, "history must be between 0 and 1,000,000, got -1"),
        ("town", {"traffic": 6}, "traffic must be between 0 and 5, got 6"),
        ("town", {"jitter": "nan"}, "jitter must be between 0 and 10, got nan"),
        ("town", {"fps": 0}, "fps must be between 1 and 1,000, got 0"),
        ("town", {"size": "320"}, "size must be width and height in pixels such as '320x160', got '320'"),
        ("town", {"size": "8x8"}, "16 to 8192 pixels"),
        ("town", {"size": 320}, "size must be width and height in pixels such as '320x160', got 320"),
        ("town", {"weather": 3}, "weather must be 'all' or some of sunny, .* got 3"),
        ("town", {"time": []}, r"time must be 'all' or some of day, .* got \[\]"),
    ],
)
def test_bad_options_say_what_was_expected(path: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(f"world:{path}", **options)
