from __future__ import annotations

import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import world
from roadworthy.datasets.world import CROP_CLASSES, WorldCropsDataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.ontology import ontology
from roadworthy.world import add


def same(one: Frame, other: Frame) -> bool:
    return (
        one.id == other.id
        and np.array_equal(one.image, other.image)
        and one.boxes == other.boxes
        and one.metadata == other.metadata
    )


@pytest.fixture(scope="module")
def one_of_each() -> list[Frame]:
    return list(WorldCropsDataset(weather="all", time="all", count=15, seed=3))


def test_each_image_shows_one_thing_and_says_which(one_of_each: list[Frame]) -> None:
    assert [frame.metadata["class"] for frame in one_of_each] == list(CROP_CLASSES)
    for frame in one_of_each:
        word = str(frame.metadata["class"])
        assert frame.size == (64, 64)
        assert frame.id.startswith(word.replace(" ", "-"))
        assert frame.boxes is not None
        assert len(frame.boxes) == 1
        assert len(frame.boxes.select(word)) == 1, "the box is of that class"
        assert {"weather", "time", "track"} <= set(frame.metadata)


def test_the_thing_fills_most_of_the_image(one_of_each: list[Frame]) -> None:
    for frame in one_of_each:
        assert frame.boxes is not None
        left, top, right, bottom = frame.boxes.xyxy[0]
        assert 0.6 * 64 <= max(right - left, bottom - top) <= 64
        assert frame.image.std() > 1, "something can be seen"


def test_things_are_seen_under_different_skies(one_of_each: list[Frame]) -> None:
    skies = {(frame.metadata["weather"], frame.metadata["time"]) for frame in one_of_each}
    assert len(skies) > 9
    data = WorldCropsDataset(weather="all", classes="car,tree", count=20)
    skies_of_cars = {data._world.scene(number // 2).conditions.weather for number in range(0, 20, 2)}
    assert len(skies_of_cars) == 5, "each class comes under every sky"
    assert WorldCropsDataset(season="winter", count=1)[0].metadata["season"] == "winter"


def test_a_frame_depends_on_seed_and_number_alone() -> None:
    options = {"classes": "stop sign,tree", "path": "town", "seed": 5}
    frames = list(WorldCropsDataset(count=4, **options))  # type: ignore[arg-type]
    more = WorldCropsDataset(count=40, **options)  # type: ignore[arg-type]
    for number in (3, 0):
        assert same(more[number], frames[number])
    travelled = pickle.loads(pickle.dumps(more[1:3]))
    assert same(travelled[0], frames[1])
    other = WorldCropsDataset(count=1, **{**options, "seed": 6})[0]  # type: ignore[arg-type]
    assert not np.array_equal(other.image, frames[0].image)


def test_it_is_a_data_set_with_a_name() -> None:
    data = WorldCropsDataset("town", count=30, size=32, classes=["red light", "green light"])
    assert isinstance(data, Dataset)
    assert data.name == "world-crops:town"
    assert Counter(id.rpartition("-")[0] for id in data.ids) == {"red-light": 15, "green-light": 15}
    assert data[0].size == (32, 32)


def test_classes_are_words_of_the_ontology() -> None:
    assert len(CROP_CLASSES) == len(set(CROP_CLASSES)) == 15
    assert all(word in ontology() for word in CROP_CLASSES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": "stop sing"}, "no crops of 'stop sing'.*'stop sign'"),
        ({"classes": ""}, "no crops of ''"),
        ({"count": 0}, "count must be 1 or more, got 0"),
        ({"size": 4}, "size must be from 8 to 1024, got 4"),
        ({"weather": "hail"}, "hail"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldCropsDataset(**options)  # type: ignore[arg-type]


def test_road_users_on_the_left_come_towards_us_and_signs_face_us(monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[tuple[str, bool, float]] = []

    def noted(scene: Any, word: str, **how: Any) -> Any:
        placed.append((word, how["place"] < 0, how["yaw"]))
        return add(scene, word, **how)

    monkeypatch.setattr(world, "add", noted)
    list(WorldCropsDataset(count=30, seed=1))
    assert {left for _, left, _ in placed} == {True, False}
    for word, left, yaw in placed:
        facing = any(one in word for one in ("sign", "light", "stop", "yield", "limit", "turn"))
        assert yaw == (math.pi if left and not facing else 0.0), word


@pytest.mark.parametrize(
    ("width", "height", "fits"),
    [(10, 30, True), (30, 10, True), (30, 9, False), (10, 200, False), (200, 30, False), (3, 30, True)],
)
def test_a_thing_is_neither_too_low_nor_too_large(width: float, height: float, fits: bool) -> None:
    box = np.array([5, 7, 5 + width * world._LOWEST / 10, 7 + height * world._LOWEST / 10])
    assert world._fits(box.astype(np.float32)) is fits


class Drawn:
    """A generator that always draws one number."""

    def __init__(self, room: float, shift: float) -> None:
        self.room, self.shift = room, shift

    def uniform(self, low: float, high: float, size: int | None = None) -> Any:
        return self.room if size is None else np.full(size, self.shift)


@pytest.mark.parametrize(
    ("box", "room", "shift", "corner", "side"),
    [
        ([40, 30, 60, 50], 1.5, 0.0, (35, 25), 30),
        # Up to two fifths of what is left on both sides: 0.5 · 10 · 0.8 pixels.
        ([40, 30, 60, 50], 1.5, 0.5, (39, 29), 30),
        ([40, 30, 60, 50], 1.5, -0.5, (31, 21), 30),
        ([40, 30, 60, 50], 0.5, 0.5, (45, 35), 10),
        ([0, 0, 20, 20], 1.5, 0.0, (0, 0), 30),
        ([80, 60, 100, 80], 1.5, 0.0, (70, 50), 30),
        ([10, 10, 30, 80], 1.5, 0.0, (0, 0), 80),  # no higher than the image
    ],
)
def test_a_thing_is_cut_out_with_some_room_round_it(
    box: list[float], room: float, shift: float, corner: tuple[int, int], side: int
) -> None:
    rows, columns = np.mgrid[0:80, 0:100]
    image = np.stack([columns, rows, 0 * rows], axis=2).astype(np.uint8)
    frame = Frame("whole", image, metadata={"weather": "rain"})
    rng: Any = Drawn(room, shift)
    found = world._cut_out(frame, np.array(box, np.float32), "car", "car-1", side, rng)
    assert found.image[0, 0, :2].tolist() == list(corner)
    assert found.image[-1, -1, :2].tolist() == [corner[0] + side - 1, corner[1] + side - 1]
    assert found.id == "car-1"
    assert found.metadata == {"weather": "rain", "class": "car"}
    assert found.boxes is not None
    inside = np.array(box) - np.array(corner * 2)
    np.testing.assert_allclose(found.boxes.xyxy[0], np.clip(inside, 0, side), atol=1e-4)
    double = world._cut_out(frame, np.array(box, np.float32), "car", "car-1", 2 * side, rng)
    assert double.size == (2 * side, 2 * side)
    assert double.boxes is not None
    np.testing.assert_allclose(double.boxes.xyxy, 2 * found.boxes.xyxy, atol=1e-3)
