"""Things give way to others: measured on frames of the world, where what is what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.datasets import WorldDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms.objects.replace import Replace
from roadworthy.transforms.objects.selection import known_things, select
from roadworthy.transforms.wording import described
from roadworthy.world import Camera, add, frame_of, make_scene, replace

CAMERA = Camera(480, 240)


def changed_pixels(before: Frame, after: Frame) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.any(before.image != after.image, axis=2)
    return found


@pytest.fixture(scope="module")
def street() -> Frame:
    scene = make_scene("town", s=40, seed=1, traffic=0)
    return frame_of(add(scene, "red car", ahead=14, place="lane"), CAMERA)


def test_buildings_become_trees_where_they_stand(street: Frame) -> None:
    edited = Replace(element="building", by="tree")(street, 2, measure=False)
    assert street.labels is not None
    assert edited.labels is not None
    assert "building" not in edited.labels.present()
    grown = edited.labels.mask("tree") & ~street.labels.mask("tree")
    walls = street.labels.mask("building")
    assert (grown & ~walls).sum() <= 0.02 * grown.sum()
    assert grown.sum() > 0.3 * walls.sum()
    green = edited.image[grown].mean(axis=0)
    assert green[1] > green[2]
    # Trees stand as far away as the walls did.
    assert edited.depth is not None
    assert street.depth is not None
    assert (edited.depth[grown & walls] == street.depth[grown & walls]).mean() > 0.98


def test_a_car_gives_way_to_a_truck_on_the_same_spot(street: Frame) -> None:
    edited = Replace(element="red car", by="truck")(street, 1, measure=False)
    assert street.boxes is not None
    assert edited.boxes is not None
    car, truck = street.boxes.select("car"), edited.boxes.select("truck")
    assert len(truck) == 1
    assert len(edited.boxes.select("car")) == 0
    assert truck.xyxy[0, 3] == pytest.approx(car.xyxy[0, 3], abs=2)
    assert (truck.xyxy[0, 0] + truck.xyxy[0, 2]) / 2 == pytest.approx(
        (car.xyxy[0, 0] + car.xyxy[0, 2]) / 2, abs=4
    )
    # As high as the world's own truck there, whose height is known.
    scene = add(make_scene("town", s=40, seed=1, traffic=0), "red car", ahead=14, place="lane")
    truth = frame_of(replace(scene, "car", "truck"), CAMERA).boxes
    assert truth is not None
    height = truth.select("truck").xyxy[0]
    assert truck.xyxy[0, 3] - truck.xyxy[0, 1] == pytest.approx(height[3] - height[1], rel=0.2)


def test_a_truck_keeps_the_colour_of_the_car_if_there_is_one(street: Frame) -> None:
    edited = Replace(element="car", by="truck")(street, 1, measure=False)
    assert edited.boxes is not None
    assert edited.boxes.select("truck").attributes[0]["color"] == "red"


@pytest.mark.parametrize("color", ["blue", "white", "black"])
def test_a_car_is_painted_and_nothing_else(street: Frame, color: str) -> None:
    edited = Replace(element="red car", by=f"{color} car")(street, 1, measure=False)
    assert street.boxes is not None
    assert street.labels is not None
    assert edited.boxes is not None
    assert edited.boxes.select("car").attributes[0]["color"] == color
    assert edited.labels == street.labels
    changed = changed_pixels(street, edited)
    assert not (changed & ~street.labels.mask("vehicle")).any()
    body = edited.image[changed].astype(int)
    red, _, blue = body.mean(axis=0)
    if color == "blue":
        assert blue > red + 30
    else:
        assert abs(red - blue) < 30
        assert (red > 140) == (color == "white")
    # Glass and tyres stay.
    assert 0.2 < changed.sum() / street.labels.mask("vehicle").sum() < 0.95


@pytest.mark.parametrize(("old", "new", "channel"), [("red", "green", 1), ("green", "red", 0)])
def test_a_traffic_light_is_switched(old: str, new: str, channel: int) -> None:
    scene = add(make_scene("meadow", s=100, seed=3, traffic=0), f"{old} light", ahead=9, place="kerb")
    before = frame_of(scene, CAMERA)
    edited = Replace(element=f"{old} light", by=f"{new} light")(before, 1, measure=False)
    assert edited.boxes is not None
    assert edited.boxes.select("traffic light").attributes[0]["color"] == new
    changed = changed_pixels(before, edited)
    lit = edited.image[changed].astype(int)
    brightest = lit[lit.max(axis=1).argmax()]
    assert brightest.argmax() == channel
    # The world shows the same lamp lit.
    truth = frame_of(replace(scene, f"{old} light", f"{new} light"), CAMERA)
    shown = truth.image[changed].astype(int)
    agrees = (shown.max(axis=1) > 150) == (lit.max(axis=1) > 150)
    assert agrees.mean() > 0.6


def test_the_colour_of_a_light_is_seen_without_attributes() -> None:
    scene = add(make_scene("meadow", s=100, seed=3, traffic=0), "red light", ahead=9, place="kerb")
    known = frame_of(scene, CAMERA)
    before = Frame("bare", known.image, labels=known.labels, metadata={"track": "drawn"})
    edited = Replace(element="red light", by="green light")(before, 1, measure=False)
    assert changed_pixels(before, edited).any()
    with pytest.raises(NotApplicable, match="there is no green light in the frame"):
        Replace(element="green light", by="red light")(before, 1, measure=False)


def test_solid_lines_become_dashes() -> None:
    before = frame_of(make_scene("meadow", s=60, seed=1, traffic=0), CAMERA)
    edited = Replace(element="solid line", by="dashed line")(before, 3, measure=False)
    assert before.labels is not None
    assert edited.labels is not None
    old, new = before.labels.mask("line"), edited.labels.mask("line")
    assert not (new & ~old).any()
    assert 0.15 < new.sum() / old.sum() < 0.75
    gone = old & ~new
    assert (edited.image[gone].mean(axis=1) < 170).mean() > 0.95
    kinds = Replace(element="dashed line", by="yellow line")(edited, 1, measure=False)
    assert changed_pixels(edited, kinds).any()


def test_dashes_become_a_solid_line() -> None:
    scene = make_scene("meadow", s=200, seed=1, traffic=0)
    before = frame_of(scene.replace(centre_line=("dash", "white")), CAMERA)
    truth = frame_of(scene.replace(centre_line=("solid", "white")), CAMERA)
    edited = Replace(element="dashed line", by="solid line", least_share=0)(before, 1, measure=False)
    assert before.labels is not None
    assert edited.labels is not None
    assert truth.labels is not None
    added = edited.labels.mask("line") & ~before.labels.mask("line")
    missing = truth.labels.mask("line") & ~before.labels.mask("line")
    assert added.sum() > 0.5 * missing.sum()
    assert (added & truth.labels.mask("line")).sum() > 0.6 * added.sum()
    assert edited.image[added].mean() > 150


def test_lines_are_painted_yellow_and_white_again() -> None:
    before = frame_of(make_scene("meadow", s=60, seed=1, traffic=0), CAMERA)
    assert before.labels is not None
    lines = before.labels.mask("line")
    lines[:140] = False  # where they are wide enough to have a colour
    yellow = Replace(element="line", by="yellow line")(before, 1, measure=False)
    lacking = yellow.image[lines].astype(int)
    assert np.median(lacking[:, 0] - lacking[:, 2]) > 100
    white = Replace(element="yellow line", by="white line")(yellow, 1, measure=False)
    again = white.image[lines].astype(int)
    assert abs(np.median(again[:, 0] - again[:, 2])) < 40
    assert yellow.labels == before.labels


def test_grass_in_the_place_of_a_sidewalk() -> None:
    before = frame_of(make_scene("meadow", s=300, seed=1, traffic=0), CAMERA)
    assert before.labels is not None
    assert before.labels.mask("sidewalk").any(), "choose a stretch that has a sidewalk"
    edited = Replace(element="sidewalk", by="terrain")(before, 1, measure=False)
    assert edited.labels is not None
    assert "sidewalk" not in edited.labels.present()
    paved = before.labels.mask("sidewalk")
    grass = before.image[before.labels.mask("terrain")].mean(axis=0)
    error = np.abs(edited.image[paved].mean(axis=0) - grass).max()
    assert error < 30 < np.abs(before.image[paved].mean(axis=0) - grass).max()


@pytest.mark.parametrize(
    ("element", "by"),
    [
        ("building", "tree"),
        ("tree", "building"),
        ("road", "terrain"),
        ("line", "dashed line"),
        ("line", "solid line"),
        ("white line", "yellow line"),
        ("vehicle", "black vehicle"),
        ("red light", "green light"),
        ("car", "truck"),
        ("pedestrian", "bicyclist"),
        ("traffic sign", "stop sign"),
    ],
)
def test_outside_its_region_nothing_changes(element: str, by: str) -> None:
    change = Replace(element=element, by=by, least_share=0)
    data = WorldDataset("town", count=12, size="480x240", seed=3)
    frames = list(data)
    if element == "red light":
        scenes = [add(data.scene(number), element, ahead=9, place="kerb") for number in range(6)]
        frames = [frame_of(scene, Camera(480, 240)) for scene in scenes]
    done = 0
    for seed, frame in enumerate(frames):
        try:
            edited = change(frame, seed, measure=False)
        except NotApplicable:
            continue
        done += 1
        region = change.region(frame, seed)
        assert not region.all()
        assert np.array_equal(edited.image[~region], frame.image[~region])
        # Much of what is declared does change: the region is not simply large. Of a light it is the lamps.
        assert changed_pixels(frame, edited)[region].mean() > (0.02 if element == "red light" else 0.2)
    assert done >= 1


def test_the_region_keeps_close_to_what_is_replaced(street: Frame) -> None:
    region = Replace(element="red car", by="truck").region(street, 1)
    rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    assert street.boxes is not None
    left, top, right, bottom = street.boxes.select("car").xyxy[0].tolist()
    reach = 1.6 * (bottom - top)
    assert left - reach < columns[0]
    assert columns[-1] < right + reach
    assert top - 2 * reach < rows[0]
    assert rows[-1] < bottom + reach


def test_what_cannot_be_replaced_is_refused() -> None:
    with pytest.raises(InputError, match="'line' is the same as 'line'"):
        Replace(element="line", by="line")
    with pytest.raises(InputError, match="'road' cannot be replaced by 'vehicle'"):
        Replace(element="road", by="vehicle")
    with pytest.raises(InputError, match="has no 'tram'; it has"):
        Replace(element="car", by="tram")
    with pytest.raises(InputError, match="'sky' cannot be edited"):
        Replace(element="sky", by="tree")
    with pytest.raises(InputError, match="there is no gallery in 'nowhere'"):
        Replace(element="car", by="truck", gallery="nowhere")


def test_frames_that_do_not_qualify(street: Frame) -> None:
    assert street.labels is not None
    with pytest.raises(NotApplicable, match="there is no blue car in the frame"):
        Replace(element="blue car", by="red car")(street, 1)
    with pytest.raises(NotApplicable, match="replace needs a label map"):
        Replace()(street.replace(labels=None), 1)
    bare = LabelMap(np.where(street.labels.mask("building"), 1, 2).astype(np.uint8), ("void", "tree", "road"))
    with pytest.raises(
        NotApplicable, match="there is too little building in the frame to take its look from"
    ):
        Replace(element="tree", by="building")(street.replace(labels=bare), 1)


def boxed_car(corners: list[float], **known: object) -> Frame:
    """A red car at the left edge of a road, with a box."""
    ids = np.full((100, 120), 1, np.uint8)
    ids[:45] = 2
    ids[60:80, :20] = 3
    image = np.full((100, 120, 3), 100, np.uint8)
    image[ids == 3] = (200, 20, 20)
    labels = LabelMap(ids, ("void", "road", "sky", "vehicle"))
    boxes = Boxes([corners], ["vehicle"], **known)  # type: ignore[arg-type]
    return Frame("car", image, labels=labels, boxes=boxes, metadata={"track": "drawn"})


def test_a_box_may_begin_outside_the_image() -> None:
    frame = boxed_car([-1, 60, 20, 80])
    edited = Replace(element="vehicle", by="blue vehicle")(frame, 1, measure=False)
    assert changed_pixels(frame, edited)[60:80, :20].mean() > 0.9


@pytest.mark.parametrize("by", ["blue vehicle", "truck"])
def test_things_whose_pixels_are_not_known_do_not_qualify(by: str) -> None:
    """The instance map knows another thing than the box."""
    instances = np.zeros((100, 120), np.uint16)
    instances[60:80, :20] = 9
    frame = boxed_car([0, 60, 20, 80], track_ids=[4]).replace(instances=instances)
    with pytest.raises(NotApplicable, match="which pixels belong to each vehicle is not known"):
        Replace(element="vehicle", by=by)(frame, 1, measure=False)


def parked(*boxes: list[float], **known: object) -> Frame:
    """Three vehicles on a road, of which some have boxes: two apart, and one that touches the second."""
    ids = np.full((100, 240), 1, np.uint8)
    ids[:45] = 2
    for left, right in ((20, 50), (120, 150), (150, 180)):
        ids[60:80, left:right] = 3
    image = np.full((100, 240, 3), 100, np.uint8)
    image[ids == 3] = (200, 20, 20)
    labels = LabelMap(ids, ("void", "road", "sky", "vehicle"))
    given = Boxes(list(boxes), ["vehicle"] * len(boxes), **known) if boxes else None  # type: ignore[arg-type]
    return Frame("parked", image, labels=labels, boxes=given, metadata={"track": "drawn"})


FIRST, SECOND, THIRD = [20.0, 60, 50, 80], [120.0, 60, 150, 80], [150.0, 60, 180, 80]


@pytest.mark.parametrize(
    ("boxes", "spans"),
    [
        ([], [(20, 50), (120, 180)]),
        ([FIRST, SECOND, THIRD], [(20, 50), (120, 150), (150, 180)]),
        ([FIRST], [(20, 50), (120, 180)]),
        ([SECOND], [(20, 50), (120, 150), (150, 180)]),
        # What a box that is too narrow leaves out is no thing of its own.
        ([[20, 60, 46, 80], SECOND, THIRD], [(20, 46), (120, 150), (150, 180)]),
    ],
)
def test_things_without_boxes_are_replaced_too(
    boxes: list[list[float]], spans: list[tuple[int, int]]
) -> None:
    frame = parked(*boxes)
    what = described("vehicle")
    found = [thing.window[1] for thing in known_things(frame, select(frame, what, 0))]
    assert sorted((one.start, one.stop) for one in found) == spans
    edited = Replace(element="vehicle", by="truck")(frame, 1, measure=False)
    added: Any = edited.metadata["added"]
    assert len(added) == len(spans)
    painted = Replace(element="vehicle", by="blue vehicle")(frame, 1, measure=False)
    blue = painted.image[60:80].astype(int)
    for start, stop in spans:
        assert (blue[:, start:stop, 2] > blue[:, start:stop, 0]).mean() > 0.9


def test_instances_tell_a_thing_from_what_a_box_leaves_out() -> None:
    """A small thing without a box touches a large one that has one."""
    frame = parked(FIRST, SECOND, track_ids=[1, 2])
    assert frame.labels is not None
    ids = frame.labels.ids.copy()
    ids[60:80, 154:180] = 1
    instances = np.zeros(ids.shape, np.uint16)
    instances[60:80, 20:50], instances[60:80, 120:150], instances[60:80, 150:154] = 1, 2, 3
    frame = frame.replace(labels=LabelMap(ids, frame.labels.classes))
    for known, count in ((frame, 2), (frame.replace(instances=instances), 3)):
        assert len(known_things(known, select(known, described("vehicle"), 0))) == count


@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("boxed", [True, False])
def test_a_sign_is_replaced_once_and_stands_where_its_post_did(boxed: bool, gap: int) -> None:
    ids = np.full((100, 120), 1, np.uint8)
    ids[:50] = 2
    ids[20:36, 60:76] = 3
    ids[36 + gap : 70, 67:69] = 4
    image = np.full((100, 120, 3), 120, np.uint8)
    image[ids == 3] = (200, 20, 20)
    labels = LabelMap(ids, ("void", "terrain", "sky", "traffic sign", "pole"))
    boxes = Boxes([[60, 20, 76, 36]], ["traffic sign"]) if boxed else None
    frame = Frame("sign", image, labels=labels, boxes=boxes, metadata={"track": "drawn"})
    edited = Replace(element="traffic sign", by="stop sign")(frame, 1, measure=False)
    added: Any = edited.metadata["added"]
    assert [note["box"][3] for note in added] == [70]


@pytest.mark.parametrize("gallery", ["shipped", "own"])
def test_no_drawing_comes_into_a_real_frame_unless_any_will_do(street: Frame, gallery: str) -> None:
    real = street.replace(metadata={})
    by_truck = Replace(element="red car", by="truck", gallery=gallery)
    with pytest.raises(NotApplicable, match="every shipped truck is a drawing or a plain model"):
        by_truck(real, 1, measure=False)
    truck = by_truck.replace(realism="any")(real, 1, measure=False)
    assert truck.metadata["added"][0]["cut_out"].startswith("solid-")  # type: ignore[index]
    by_sign = Replace(element="red car", by="stop sign", gallery=gallery)
    with pytest.raises(NotApplicable, match="every shipped stop sign is a drawing"):
        by_sign(real, 1, measure=False)
    assert by_sign.replace(realism="any")(real, 1, measure=False) is not real
