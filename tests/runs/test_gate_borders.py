"""The gate at its borders: what a network that sees as a test says makes of a changed frame."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.runs import gate
from roadworthy.runs.gate import FrameChange, _View
from roadworthy.transforms import AddOperation, RemoveOperation, ReplaceOperation, make_transform

CLASSES = ("road", "line", "sidewalk", "terrain", "tree", "sky", "building", "vehicle", "pedestrian",
           "bicyclist", "pole", "traffic sign", "traffic light", "void")  # fmt: skip
ADD, REMOVE = make_transform("add", element="pedestrian"), make_transform("remove", element="vehicle")
RAIN, MOVED = make_transform("rain"), make_transform("translation", x=3)
SIDE = 10


def seen(**likely: Any) -> Any:
    """What the network sees: how likely some classes are, everywhere or at each of 10 × 10 places."""
    view = object.__new__(_View)
    view._likelihoods = {
        name: np.broadcast_to(np.asarray(likely.get(name, 0.0), np.float32), (SIDE, SIDE)) for name in CLASSES
    }
    view.shape = (SIDE, SIDE)
    return view


def original(**likely: Any) -> Any:
    return SimpleNamespace(view=seen(**likely))


def labelled(ids: Any, *, image: int = 90, **metadata: Any) -> Frame:
    grid = np.broadcast_to(np.asarray(ids, np.uint8), (SIDE, SIDE)).copy()
    pixels = np.full((SIDE, SIDE, 3), image, np.uint8)
    return Frame("f", pixels, labels=LabelMap(grid, CLASSES), metadata=metadata)


def grid(*cells: tuple[int, int], value: float = 1.0, rest: float = 0.0) -> Any:
    found = np.full((SIDE, SIDE), rest)
    for row, column in cells:
        found[row, column] = value
    return found


ROAD, CAR, PERSON, TREE, HOUSE = (
    CLASSES.index(one) for one in ("road", "vehicle", "pedestrian", "tree", "building")
)
PART = [(2, 2), (2, 3), (3, 2), (3, 3)]
GREY = np.random.default_rng(0).integers(60, 200, (60, 80, 3), np.uint8)


@pytest.mark.parametrize(
    ("share", "level", "refused"),
    [(0.15, 0, False), (0.3, 0, True), (0.3, 255, True), (0.3, 6, True), (0.3, 249, True), (0.3, 7, False),
     (0.3, 248, False), (0.6, 128, False), (0.8, 128, True)],
)  # fmt: skip
def test_an_image_without_detail_is_none(share: float, level: int, refused: bool) -> None:
    image = GREY.copy()
    image[: round(60 * share)] = level
    change = FrameChange(Frame("a", GREY), Frame("a", image), ())
    told = gate._emptied(change, gate._Original(GREY))
    assert told == ("much of the image is black, white or empty" if refused else "")
    assert gate._emptied(change, gate._Original(image)) == "", "it was so before"


def test_large_images_are_looked_at_small() -> None:
    stripes = np.tile(np.array([60, 180], np.uint8), (200, 500))[..., None].repeat(3, axis=2)
    assert gate._without_detail(stripes[:, :320]) == (0.0, 0.0)
    assert gate._without_detail(stripes)[1] < 1
    thin = np.zeros((1, 1000, 3), np.uint8)
    assert gate._without_detail(thin) == (1.0, 1.0)
    noisy = np.full((40, 40, 3), 100, np.uint8)
    noisy[::2] += 2
    assert gate._without_detail(noisy) == (0.0, 1.0)
    noisy[::2] += 1
    assert gate._without_detail(noisy) == (0.0, 0.0)


def test_networks_look_at_real_frames_whose_things_or_weather_change() -> None:
    real, drawn = Frame("a", GREY), Frame("a", GREY, metadata={"track": "town"})
    assert gate._is_looked_at(FrameChange(real, real, (RAIN,)))
    assert gate._is_looked_at(FrameChange(real, real, (MOVED, ADD)))
    assert not gate._is_looked_at(FrameChange(real, real, (MOVED,)))
    assert not gate._is_looked_at(FrameChange(real, real, (make_transform("rain", amount=0),)))
    assert drawn.drawn
    assert not gate._is_looked_at(FrameChange(drawn, drawn, (RAIN,)))


def test_what_a_step_asks_for() -> None:
    swap = make_transform("replace", element="building", by="tree")
    assert gate._asked(ADD) == AddOperation(ADD.element)  # type: ignore[attr-defined]
    assert gate._asked(REMOVE) == RemoveOperation(REMOVE.element)  # type: ignore[attr-defined]
    assert isinstance(gate._asked(swap), ReplaceOperation)
    assert gate._asked(RAIN) is None


@pytest.mark.parametrize(
    ("element", "classes"),
    [("pedestrian", ("pedestrian", "bicyclist")), ("bicyclist", ("pedestrian", "bicyclist")),
     ("car", ("vehicle",)), ("stop sign", ("traffic sign", "traffic light")), ("tree", ("tree",)),
     ("building", ("building",)), ("pole", ("pole",)), ("sky", ())],
)  # fmt: skip
def test_what_the_network_calls_an_element(element: str, classes: tuple[str, ...]) -> None:
    assert gate._class_of(element) == classes


def test_how_far_labels_and_network_agree() -> None:
    half = np.where(np.arange(SIDE)[:, None] < 5, ROAD, TREE) * np.ones((1, SIDE), int)
    labels = labelled(half).labels
    road = np.where(half == ROAD, 0.9, 0.0)
    assert gate._agreement(seen(road=road, tree=0.9 - road), labels) == (1.0, 1.0)  # type: ignore[arg-type]
    assert gate._agreement(seen(road=0.9), labels) == (0.5, 1.0)  # type: ignore[arg-type]
    assert gate._agreement(seen(tree=0.9), labels) == (0.5, 0.0)  # type: ignore[arg-type]
    assert gate._agreement(seen(), labels) == (0.0, 0.0)  # type: ignore[arg-type]
    nothing = labelled(CLASSES.index("void")).labels
    assert gate._agreement(seen(road=0.9), nothing) == (1.0, 1.0)  # type: ignore[arg-type]
    few = labelled(grid((0, 0), (0, 1), value=ROAD, rest=TREE)).labels
    assert gate._agreement(seen(tree=0.9), few) == (0.98, 1.0), "two places tell nothing"  # type: ignore[arg-type]
    assert gate._agreement(seen(line=0.9), labels) == (0.5, 1.0), "a line is road"  # type: ignore[arg-type]


def test_a_street_must_stay_one() -> None:
    frame, bare = labelled(ROAD), Frame("f", np.zeros((SIDE, SIDE, 3), np.uint8))
    kept = FrameChange(frame, frame, (RAIN,))
    for now, then, told in [
        ({"road": 0.9}, {"road": 0.9}, ""),
        ({"sky": 0.9}, {"road": 0.9}, "the street network no longer recognises the road"),
        ({"sky": 0.9}, {"sky": 0.9}, ""),  # it did not know this street before
        ({"road": grid(*[(r, c) for r in range(5) for c in range(SIDE)], value=0.9)}, {"road": 0.9}, ""),
    ]:
        assert gate._street_lost(kept, seen(**now), original(**then)) == told
    mixed = labelled(np.where(np.arange(SIDE)[:, None] < 2, ROAD, TREE) * np.ones((1, SIDE), int))
    change = FrameChange(mixed, mixed, (RAIN,))
    known = {
        "road": np.where(np.arange(SIDE)[:, None] < 2, 0.9, 0.0),
        "tree": np.where(np.arange(SIDE)[:, None] < 2, 0.0, 0.9),
    }
    told = gate._street_lost(change, seen(road=known["road"]), original(**known))
    assert told == "the label map no longer fits the image"
    plain = FrameChange(bare, bare, (RAIN,))
    assert gate._street_lost(plain, seen(road=0.9), original(road=0.9)) == ""
    assert gate._street_lost(plain, seen(sky=0.9), original(road=0.9)) == (
        "the street network no longer recognises the street"
    )
    assert gate._street_lost(FrameChange(bare, bare, (MOVED,)), seen(sky=0.9), original(road=0.9)) == ""
    unknown = FrameChange(frame, bare, (MOVED,))
    assert gate._known_labels(unknown) is None
    assert gate._known_labels(FrameChange(frame, bare, (RAIN,))) is frame.labels
    assert gate._known_labels(FrameChange(bare, frame, (MOVED,))) is frame.labels


def failed(change: FrameChange, asked: Any, view: Any, before: Any = None, detected: Any = None) -> str:
    return gate._operation_failed(change, asked, view, before or original(), detected)


@pytest.mark.parametrize(
    ("likely", "there"),
    [(grid(*PART, value=0.2), True), (grid(*PART, value=0.19), False), (grid((9, 9)), False)],
)
def test_somebody_who_was_added_is_seen_where_the_labels_have_them(likely: Any, there: bool) -> None:
    change = FrameChange(labelled(ROAD), labelled(grid(*PART, value=PERSON, rest=ROAD)), (ADD,))
    asked = gate._asked(ADD)
    told = failed(change, asked, seen(pedestrian=likely))
    assert told == ("" if there else "the gate sees no pedestrian where one was added")
    assert failed(change, asked, seen(bicyclist=likely)) == told, "the network takes one for the other"


def test_a_vehicle_must_be_seen_more_surely_than_a_person() -> None:
    car = make_transform("add", element="car")
    change = FrameChange(labelled(ROAD), labelled(grid(*PART, value=CAR, rest=ROAD)), (car,))
    assert failed(change, gate._asked(car), seen(vehicle=0.5)) == ""
    assert failed(change, gate._asked(car), seen(vehicle=0.49)) == "the gate sees no car where one was added"


def test_where_nobody_says_where_more_must_be_seen_than_before() -> None:
    bare = Frame("f", np.zeros((SIDE, SIDE, 3), np.uint8))
    change = FrameChange(bare, bare, (ADD,))
    asked = gate._asked(ADD)
    assert failed(change, asked, seen(pedestrian=grid(*PART[:3], value=0.3))) == ""
    assert failed(change, asked, seen(pedestrian=grid(*PART[:2], value=0.3))) != ""
    assert failed(change, asked, seen(pedestrian=0.3), original(pedestrian=0.2)) != ""
    boxed = bare.replace(
        metadata={"added": ({"element": "pedestrian", "properties": {}, "box": (2, 2, 4, 4)},)}
    )
    told = FrameChange(bare, boxed, (ADD,))
    assert failed(told, asked, seen(pedestrian=grid(*PART, value=0.3))) == ""
    assert failed(told, asked, seen(pedestrian=grid((8, 8), value=0.9))) != ""
    assert failed(FrameChange(bare, bare, (RAIN,)), AddOperation(ADD.element), seen(pedestrian=1.0)) == ""  # type: ignore[attr-defined]


def test_the_box_of_what_was_added_last_counts() -> None:
    notes = (
        {"element": "pedestrian", "properties": {}, "box": [1, 2, 3, 4]},
        {"element": "car", "properties": {}, "box": [5, 6, 7, 8]},
        {"element": "car", "properties": {}},
    )
    frame = Frame("f", GREY, metadata={"added": notes})
    assert gate._box_of(frame, "vehicle") == (5, 6, 7, 8)
    assert gate._box_of(frame, "pedestrian") == (1, 2, 3, 4)
    assert gate._box_of(frame, "tree") is None
    assert gate._box_of(Frame("f", GREY), "car") is None


def test_a_detector_decides_about_people_and_vehicles() -> None:
    bare = Frame("f", np.zeros((SIDE, SIDE, 3), np.uint8))
    boxed = bare.replace(
        metadata={"added": ({"element": "pedestrian", "properties": {}, "box": (0, 0, 4, 4)},)}
    )
    change, asked = FrameChange(bare, boxed, (ADD,)), gate._asked(ADD)
    for box, there in (((0, 0, 4, 4), True), ((0, 0, 4, 2), True), ((6, 6, 9, 9), False)):
        found = Boxes([box], ["pedestrian"], scores=[0.9])
        assert (failed(change, asked, seen(pedestrian=1.0 - there), detected=found) == "") is there
    assert failed(change, asked, seen(pedestrian=1.0), detected=Boxes.empty()) != ""
    gone = FrameChange(labelled(grid(*PART, value=CAR, rest=ROAD)), labelled(ROAD), (REMOVE,))
    asked = gate._asked(REMOVE)
    here, elsewhere = Boxes([[2, 2, 4, 4]], ["car"]), Boxes([[6, 6, 9, 9]], ["car"])
    assert failed(gone, asked, seen(), detected=here) == "the gate still sees the vehicle that should be gone"
    assert failed(gone, asked, seen(vehicle=1.0), detected=elsewhere) == "", "the detector is believed"


@pytest.mark.parametrize(("likely", "still"), [(0.149, False), (0.151, True)])
def test_what_was_removed_must_be_gone(likely: float, still: bool) -> None:
    change = FrameChange(labelled(grid(*PART, value=CAR, rest=ROAD)), labelled(ROAD), (REMOVE,))
    told = failed(change, gate._asked(REMOVE), seen(vehicle=grid(*PART, value=likely, rest=0.0)))
    assert told == ("the gate still sees the vehicle that should be gone" if still else "")
    few = FrameChange(labelled(grid(*PART[:2], value=CAR, rest=ROAD)), labelled(ROAD), (REMOVE,))
    assert failed(few, gate._asked(REMOVE), seen(vehicle=1.0)) == "", "of two places nothing can be told"
    moved = change._replace(steps=(MOVED, REMOVE))
    assert failed(moved, gate._asked(REMOVE), seen(vehicle=1.0)) == "", "nobody knows where it was"


@pytest.mark.parametrize(("tree", "house", "told"), [
    (0.4, 0.14, ""),
    (0.39, 0.14, "the gate sees no tree in place of the building"),
    (0.9, 0.16, "the gate still sees the building that should be gone"),
])  # fmt: skip
def test_what_was_replaced_has_become_the_other(tree: float, house: float, told: str) -> None:
    swap = make_transform("replace", element="building", by="tree")
    change = FrameChange(
        labelled(grid(*PART, value=HOUSE, rest=ROAD)), labelled(grid(*PART, value=TREE, rest=ROAD)), (swap,)
    )
    view = seen(tree=grid(*PART, value=tree), building=grid(*PART, value=house))
    assert failed(change, gate._asked(swap), view) == told
    sky = change._replace(after=labelled(grid(*PART, value=CLASSES.index("sky"), rest=ROAD)))
    assert failed(sky, gate._asked(swap), seen(tree=1.0)) == "the gate sees no tree in place of the building"


def test_large_things_that_nobody_asked_to_change_must_still_be_seen() -> None:
    before = labelled(grid(*PART, value=CAR, rest=ROAD))
    change = FrameChange(before, before.replace(image=before.image + 40), (RAIN,))
    lost = "the gate no longer sees a vehicle that nobody asked to change"

    def told(one: FrameChange, now: float, then: float) -> str:
        return gate._things_lost(one, seen(vehicle=now), original(vehicle=then))

    assert told(change, 0.17, 0.36) == lost
    assert told(change, 0.18, 0.36) == ""
    assert told(change, 0.0, 0.35) == "", "it was hardly seen before"
    assert told(change._replace(after=before), 0.0, 1.0) == "", "its pixels are as they were"
    assert told(change._replace(steps=(MOVED,)), 0.0, 1.0) == ""
    assert told(change._replace(before=change.before.replace(labels=None)), 0.0, 1.0) == ""
    assert told(change._replace(after=labelled(ROAD, image=10)), 0.0, 1.0) == "", "it was asked to go"
    assert gate._things_lost(change, seen(), original(vehicle=1.0)) == lost
    people = labelled(grid(*PART, value=PERSON, rest=ROAD))
    faded = FrameChange(people, people.replace(image=people.image + 40), (RAIN,))
    assert gate._things_lost(faded, seen(), original(pedestrian=1.0)).startswith(
        "the gate no longer sees a pedestrian"
    )
    small = FrameChange(labelled(grid(value=CAR, rest=ROAD)), labelled(ROAD, image=9), (RAIN,))
    assert gate._things_lost(small, seen(), original(vehicle=1.0)) == ""


def test_most_of_a_box_inside_of_a_region() -> None:
    region = np.zeros((SIDE, SIDE), np.bool_)
    region[:, :5] = True
    assert gate._inside((0, 0, 4, 4), region)
    assert gate._inside((3, 0, 6, 4), region)
    assert not gate._inside((4, 0, 6, 4), region), "just half"
    assert not gate._inside((20, 20, 30, 30), region)
    assert gate._inside((-5, -5, 2, 2), region)
    assert gate._mean(np.array([1.0, 0.0], np.float32), np.array([1.0, 3.0], np.float32)) == 0.25
