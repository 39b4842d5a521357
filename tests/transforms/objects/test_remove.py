"""Things are taken out: measured against the world's own picture without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.errors import InputError, NotApplicable, OntologyError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms.objects.inpainting import edge_width
from roadworthy.transforms.objects.remove import Remove
from roadworthy.transforms.objects.selection import _scraps
from roadworthy.world import Camera, Scene, add, frame_of, make_scene, remove

CAMERA = Camera(320, 160)
CLASSES = ("void", "road", "sidewalk", "terrain", "sky", "building", "tree", "vehicle", "pedestrian", "line")


def street(width: int = 96, height: int = 64, *, seed: int = 0) -> Frame:
    """A car on a road between sidewalks, buildings behind, with grainy colours of their own."""
    rows, columns = np.mgrid[0:height, 0:width]
    horizon = height * 2 // 5
    ids = np.full((height, width), 5, np.uint8)
    ids[: height // 5] = 4
    ids[horizon:] = 2
    ids[(rows >= horizon) & (abs(columns - width / 2) < (rows - horizon + 2) * 1.2)] = 1
    car = (slice(horizon - height // 8, horizon + height // 5), slice(width * 2 // 5, width * 3 // 5))
    ids[car] = 7
    colors = np.array(
        [(0, 0, 0), (90, 90, 95), (150, 140, 140), (80, 120, 60), (150, 180, 220), (120, 80, 60),
         (50, 90, 40), (200, 30, 30), (10, 10, 200), (230, 230, 230)]
    )  # fmt: skip
    noise = np.random.default_rng(seed).integers(-6, 7, (height, width, 1))
    image = np.clip(colors[ids] + noise, 0, 255).astype(np.uint8)
    return Frame("street", image, labels=LabelMap(ids, CLASSES), metadata={"track": "drawn"})


def scene_with_cars() -> Scene:
    scene = make_scene("meadow", s=100, seed=3, traffic=0)
    scene = add(scene, "red car", ahead=12, place="lane")
    return add(scene, "blue car", ahead=20, place="oncoming lane")


def distance(image: NDArray[np.uint8], truth: NDArray[np.uint8], where: NDArray[np.bool_]) -> float:
    return float(np.abs(image.astype(float) - truth)[where].mean())


@pytest.mark.parametrize(
    ("element", "track", "s", "least"),
    [("line", "meadow", 100, 0.85), ("vehicle", "meadow", 100, 0.6), ("crosswalk", "town", 25, 0.7)],
)
def test_what_is_left_is_nearer_to_the_truth(element: str, track: str, s: float, least: float) -> None:
    scene = scene_with_cars() if element == "vehicle" else make_scene(track, s=s, seed=2, traffic=0.5)
    before, truth = frame_of(scene, CAMERA), frame_of(remove(scene, element), CAMERA)
    edited = Remove(element=element)(before, 1, measure=False)
    differs = np.any(before.image != truth.image, axis=2)
    nearer = 1 - distance(edited.image, truth.image, differs) / distance(before.image, truth.image, differs)
    assert nearer > least
    assert edited.labels is not None
    assert before.labels is not None
    assert truth.labels is not None
    assert element not in edited.labels.present()
    changed = before.labels.ids != truth.labels.ids
    right = edited.labels.ids[changed] == truth.labels.ids[changed]
    assert right.mean() > (0.95 if element != "vehicle" else 0.7)


@pytest.mark.parametrize("element", ["line", "vehicle", "pedestrian", "tree", "building", "dynamic object"])
def test_outside_the_region_nothing_changes(element: str, town: Frame) -> None:
    change = Remove(element=element, least_share=0)
    edited = change(town, 4, measure=False)
    outside = ~change.region(town, 4)
    assert outside.any()
    assert np.array_equal(edited.image[outside], town.image[outside])
    assert edited.labels is not None
    assert town.labels is not None
    kept = outside & ~town.labels.mask(element)
    assert np.array_equal(edited.labels.ids[kept], town.labels.ids[kept])


def test_the_region_of_a_thing_alone_is_the_thing_and_its_edge() -> None:
    # No shadow, no sky near: only the edge is added.
    frame = street()
    assert frame.labels is not None
    mask = frame.labels.mask("vehicle")
    rows, columns = np.nonzero(Remove(element="vehicle").region(frame))
    inside = np.nonzero(mask)
    edge = edge_width(frame.width)
    assert rows.min() >= inside[0].min() - edge
    assert rows.max() <= inside[0].max() + edge
    assert columns.min() >= inside[1].min() - edge
    assert columns.max() <= inside[1].max() + edge


def test_a_reflection_goes_with_the_thing() -> None:
    frame = street()
    assert frame.labels is not None
    car = frame.labels.mask("vehicle")
    rows, columns = np.nonzero(car)
    foot, high = rows.max() + 1, min(np.ptp(rows) + 1, frame.height - rows.max() - 1)
    mirrored, ground = np.zeros_like(car), frame.labels.mask("road")
    mirrored[foot : foot + high] = car[foot - high : foot][::-1]
    mirrored &= ground
    image = frame.image.copy()
    # Windows and lamps of its own, so that there is something to recognise.
    image[rows.min() : foot, columns.min() + 4 : columns.min() + 12] = (30, 40, 160)
    dry = frame.replace(image=image)
    wet = image.copy()
    above = image[foot - high : foot][::-1].astype(float)
    wet[foot : foot + high] = np.where(
        mirrored[foot : foot + high, :, None],
        0.6 * image[foot : foot + high] + 0.4 * above,
        wet[foot : foot + high],
    )
    change = Remove(element="vehicle")
    assert change.region(dry.replace(image=wet))[mirrored].all()
    assert change.region(dry)[mirrored].mean() < 0.5
    # In other colours it is no reflection.
    wrong = image.copy()
    below = slice(foot, foot + high), slice(columns.min(), columns.max() + 1)
    wrong[below] = wet[below][..., ::-1]
    assert not change.region(dry.replace(image=wrong))[mirrored].all()


def test_the_ground_goes_on_below_and_the_wall_above() -> None:
    frame = street()
    edited = Remove(element="vehicle")(frame, 1, measure=False)
    assert frame.labels is not None
    assert edited.labels is not None
    gone = frame.labels.mask("vehicle")
    found = edited.labels
    assert {found.classes[one] for one in np.unique(found.ids[gone])} == {"building", "road", "sidewalk"}
    top, bottom = np.flatnonzero(gone.any(axis=1))[[0, -1]]
    column = frame.width // 2
    assert found.classes[found.ids[top, column]] == "building"
    assert found.classes[found.ids[bottom, column]] == "road"
    # No red of the car is left.
    red = edited.image[gone].astype(int)
    assert (red[:, 0] - red[:, 1]).max() < 100


def test_only_things_with_the_properties_go() -> None:
    before = frame_of(scene_with_cars(), CAMERA)
    edited = Remove(element="red car")(before, 1, measure=False)
    assert before.boxes is not None
    assert edited.boxes is not None
    assert len(before.boxes.select("car")) == 2
    assert [facts["color"] for facts in edited.boxes.select("car").attributes] == ["blue"]
    assert len(edited.boxes) == len(before.boxes) - 1
    assert edited.instances is not None
    assert edited.boxes.track_ids is not None
    assert set(np.unique(edited.instances)) == {0, *edited.boxes.track_ids.tolist()}


def test_boxes_alone_tell_which_pixels_are_meant() -> None:
    frame = street()
    assert frame.labels is not None
    rows, columns = np.nonzero(frame.labels.mask("vehicle"))
    box = [[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]]
    known = frame.replace(boxes=Boxes(box, ["car"], attributes=[{"color": "red"}]))
    edited = Remove(element="red car")(known, 1, measure=False)
    assert edited.boxes is not None
    assert len(edited.boxes) == 0
    with pytest.raises(NotApplicable, match="there is no blue car in the frame"):
        Remove(element="blue car")(known, 1, measure=False)


def test_what_was_behind_is_less_hidden() -> None:
    scene = make_scene("meadow", s=100, seed=3, traffic=0)
    scene = add(add(scene, "truck", ahead=24, place="lane"), "pedestrian", ahead=12, place=1.6)
    before = frame_of(scene, CAMERA)
    edited = Remove(element="pedestrian")(before, 1, measure=False)
    assert before.boxes is not None
    assert edited.boxes is not None
    assert before.boxes.select("truck").occlusion[0] > 0  # type: ignore[index]
    assert edited.boxes.select("truck").occlusion[0] == 0  # type: ignore[index]


def test_depth_becomes_that_of_what_shows() -> None:
    scene = scene_with_cars()
    before, truth = frame_of(scene, CAMERA), frame_of(remove(scene, "vehicle"), CAMERA)
    edited = Remove(element="vehicle")(before, 1, measure=False)
    assert before.labels is not None
    assert truth.labels is not None
    assert edited.depth is not None
    assert truth.depth is not None
    road = before.labels.mask("vehicle") & truth.labels.mask("road") & edited.labels.mask("road")  # type: ignore[union-attr]
    assert road.sum() > 100
    ratio = edited.depth[road] / truth.depth[road]
    assert np.median(np.abs(np.log(ratio))) < 0.05
    sky = before.labels.mask("vehicle") & edited.labels.mask("sky")  # type: ignore[union-attr]
    assert np.isinf(edited.depth[sky]).all()
    assert before.depth is not None
    gone = before.labels.mask("vehicle") & ~np.isnan(edited.depth)
    moved = edited.labels.mask("road part", "terrain")  # type: ignore[union-attr]
    assert (edited.depth[gone & ~moved] >= before.depth[gone & ~moved]).all()


def test_the_contact_shadow_goes_too() -> None:
    scene = add(make_scene("meadow", s=100, seed=3, traffic=0), "van", ahead=10, place="lane")
    before, truth = frame_of(scene, CAMERA), frame_of(remove(scene, "vehicle"), CAMERA)
    edited = Remove(element="vehicle")(before, 1, measure=False)
    assert before.labels is not None
    shade = truth.image.mean(axis=2) - before.image.mean(axis=2) > 25
    shade &= before.labels.mask("road")
    rows = np.flatnonzero(before.labels.mask("vehicle").any(axis=1))
    shade[rows[-1] + 4 :] = False  # the contact shadow, not a long one
    assert shade.sum() > 30
    left = distance(edited.image, truth.image, shade) / distance(before.image, truth.image, shade)
    assert left < 0.4


def test_a_sign_goes_with_its_post() -> None:
    scene = add(make_scene("meadow", s=100, seed=3, traffic=0), "stop sign", ahead=8, place="kerb")
    before, truth = frame_of(scene, CAMERA), frame_of(remove(scene, "stop sign"), CAMERA)
    edited = Remove(element="stop sign")(before, 1, measure=False)
    assert before.labels is not None
    assert edited.labels is not None
    assert truth.labels is not None
    post = before.labels.mask("pole") & ~truth.labels.mask("pole")
    assert post.sum() > 10
    assert not edited.labels.mask("pole")[post].any()


def test_frames_that_do_not_qualify(town: Frame) -> None:
    frame = street()
    with pytest.raises(NotApplicable) as absent:
        Remove(element="crosswalk")(frame.replace(id="a"), 1)
    assert absent.value.reason == "there is no crosswalk in the frame"
    with pytest.raises(NotApplicable) as small:
        Remove(element="vehicle", least_share=0.9)(frame, 1)
    assert small.value.reason == "what there is of 'vehicle' covers less than 90.000% of the image: too small"
    with pytest.raises(NotApplicable) as blind:
        Remove(element="vehicle")(frame.replace(labels=None), 1)
    assert (
        blind.value.reason == "remove needs a label map, and the frame has none: labels=street estimates one"
    )
    with pytest.raises(NotApplicable) as unknown:
        Remove(element="red car")(frame, 1)
    assert unknown.value.reason == "the type and color of each vehicle is not known in the frame"
    assert str(unknown.value).startswith("frame 'street'")


def test_half_a_person_is_not_left_floating() -> None:
    frame = street()
    assert frame.labels is not None
    ids = frame.labels.ids.copy()
    top = np.flatnonzero((ids == 7).any(axis=1))[0]
    ids[top - 10 : top, 44:50] = CLASSES.index("pedestrian")
    with pytest.raises(NotApplicable, match="without a vehicle before it, the rest of a thing would float"):
        Remove(element="vehicle")(frame.replace(labels=LabelMap(ids, CLASSES)), 1)
    # Both together leave nothing.
    Remove(element="dynamic object")(frame.replace(labels=LabelMap(ids, CLASSES)), 1, measure=False)


@pytest.mark.parametrize(
    "element", ["road", "sky", "terrain", "sidewalk", "ego-vehicle", "road part", "object"]
)
def test_what_everything_stands_on_cannot_go(element: str) -> None:
    with pytest.raises(InputError, match="cannot be edited"):
        Remove(element=element)


def test_words_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'building'"):
        Remove(element="bilding")
    with pytest.raises(InputError, match="'rain' is not a class of label maps"):
        Remove(element="rain")
    with pytest.raises(InputError, match="'purple' is no property of 'vehicle'"):
        Remove(element="purple car")
    assert issubclass(OntologyError, InputError)


def test_lines_are_told_apart() -> None:
    scene = make_scene("meadow", s=60, seed=1, traffic=0)
    before = frame_of(scene, Camera(640, 320))
    assert before.labels is not None
    lines = before.labels.mask("line")
    shares = {}
    for words in ("solid line", "dashed line", "white line", "yellow line"):
        change = Remove(element=words, least_share=0)
        try:
            edited = change(before, 1, measure=False)
        except NotApplicable:
            shares[words] = 0.0
            continue
        assert edited.labels is not None
        shares[words] = float((lines & ~edited.labels.mask("line")).sum() / lines.sum())
    assert shares["solid line"] + shares["dashed line"] == pytest.approx(1)
    assert shares["white line"] + shares["yellow line"] == pytest.approx(1)
    kind, color = scene.track.zone(scene.s).centre
    # The edge lines are solid and white; the centre line is as the track says.
    assert shares["solid line"] > 0.5
    assert (shares["dashed line"] > 0.02) == (kind == "dash")
    assert (shares["yellow line"] > 0.02) == (color == "yellow")


@settings(max_examples=25)
@given(
    width=st.integers(16, 90),
    height=st.integers(16, 70),
    seed=st.integers(0, 10**6),
    element=st.sampled_from(["vehicle", "line", "building", "tree", "pedestrian"]),
)
def test_any_label_map_can_be_edited(width: int, height: int, seed: int, element: str) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, len(CLASSES), (height // 8 + 1, width // 8 + 1))
    ids = np.repeat(np.repeat(blocks, 8, axis=0), 8, axis=1)[:height, :width].astype(np.uint8)
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    frame = Frame("noise", image, labels=LabelMap(ids, CLASSES), metadata={"track": "drawn"})
    change = Remove(element=element, least_share=0)
    if element not in frame.labels.present():  # type: ignore[union-attr]
        with pytest.raises(NotApplicable, match=f"there is no {element} in the frame"):
            change(frame, seed, measure=False)
        return
    try:
        edited = change(frame, seed, measure=False)
    except NotApplicable:  # something would float
        return
    assert edited.labels is not None
    assert element not in edited.labels.present()
    assert edited.image.shape == image.shape
    outside = ~change.region(frame, seed)
    assert np.array_equal(edited.image[outside], image[outside])
    assert np.array_equal(frame.image, image)


def test_a_light_may_have_a_box_thinner_than_a_pixel() -> None:
    ids = np.full((100, 120), 1, np.uint8)
    ids[:45] = 2
    ids[20:40, 60:64] = 3
    image = np.full((100, 120, 3), 100, np.uint8)
    image[20:26, 60:64] = (255, 0, 0)
    frame = Frame(
        "light",
        image,
        labels=LabelMap(ids, ("void", "road", "sky", "traffic light")),
        boxes=Boxes([[60.2, 20, 60.8, 40]], ["traffic light"]),
    )
    edited = Remove(element="red traffic light", realism="any")(frame, 1, measure=False)
    assert edited.boxes is not None
    assert len(edited.boxes) == 0


def test_a_large_part_of_a_thing_that_nobody_labelled_goes_with_it_and_a_large_sky_does_not() -> None:
    ids = np.full((60, 80), 1, np.uint8)
    ids[10:50, 10:70] = 5  # a building
    for number, taken in ((0, True), (4, False)):
        ids[20:40, 20:60] = number  # void, then sky, a sixth of the image
        mask = _scraps(LabelMap(ids, CLASSES), ids == 5)
        assert mask[20:40, 20:60].all() == taken
        assert not mask[ids == 1].any()


def wall(light: int, people: int = 1, grain: int = 0, high: int = 24) -> Frame:
    """Small people on a road in a real frame, before a wall with more or less detail."""
    ids = np.full((240, 320), 5, np.uint8)
    ids[:60], ids[130:] = 4, 1
    for number in range(people):
        ids[120 : 120 + high, 20 + 40 * number : 28 + 40 * number] = 8
    image = np.full((240, 320, 3), light, np.uint8)
    image[:130, np.arange(320) // 4 % 2 == 1] += np.uint8(grain)
    image[ids == 8] = (30, 30, 90)
    return Frame("wall", image, labels=LabelMap(ids, CLASSES))


def is_gone(frame: Frame, element: str, **options: Any) -> bool:
    labels = Remove(element=element, **options)(frame, 1, measure=False).labels
    assert labels is not None
    return element not in labels.present()


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (wall(50), ""),
        (wall(40, people=7), ""),
        (wall(40, people=7, high=100), "is too much of the image"),
        (wall(50, people=5), "is too much of the image"),
        (wall(50, high=30), "is too much of the image"),
        (wall(70), "has too much light and detail around it"),
        (wall(40, grain=90), "has too much light and detail around it"),
    ],
)
def test_people_go_where_smears_are_not_seen(frame: Frame, reason: str) -> None:
    assert is_gone(frame, "pedestrian", realism="any")
    if not reason:
        assert is_gone(frame, "pedestrian")
    else:
        told = rf"pedestrian: what is to go {reason} .*realism=any of a transform"
        with pytest.raises(NotApplicable, match=told):
            is_gone(frame, "pedestrian")


def test_vehicles_of_real_frames_go_only_if_asked_for_by_name() -> None:
    frame = wall(40)
    ids = np.where(frame.label_map.ids == 8, 7, frame.label_map.ids).astype(np.uint8)
    car = frame.replace(labels=LabelMap(ids, CLASSES))
    with pytest.raises(NotApplicable, match=r"what a vehicle hides, .*realism=any of a transform"):
        is_gone(car, "vehicle")
    assert is_gone(car, "vehicle", realism="any")


def test_hatching_and_box_junctions_stay_and_single_lines_go() -> None:
    ids = np.full((240, 320), 1, np.uint8)
    ids[:100] = 4
    image = np.full((240, 320, 3), 90, np.uint8)

    def marked(*paint: tuple[slice, slice]) -> Frame:
        painted, shown = ids.copy(), image.copy()
        for place in paint:
            painted[place], shown[place] = 9, 220
        return Frame("road", shown, labels=LabelMap(painted, CLASSES))

    edges = [np.s_[120:240, left : left + 4] for left in (40, 260)]
    assert is_gone(marked(*edges), "line")
    crossing = [np.s_[row : row + 3, 40:264] for row in (130, 160, 190, 220)]
    hatched = [np.s_[120:240, left : left + 8] for left in range(40, 260, 40)]
    for pattern in (marked(*edges, *crossing), marked(*hatched)):
        with pytest.raises(NotApplicable, match="hatching or a box junction"):
            is_gone(pattern, "line")
        assert is_gone(pattern, "line", realism="any")


def test_lines_go_with_all_their_paint_and_only_if_there_is_some() -> None:
    """Yellow paint as bright as the road, twice as wide as the label map has it."""
    ids = np.full((120, 160), 1, np.uint8)
    ids[:40] = 4
    ids[40:, 78:80] = 9
    image = np.full((120, 160, 3), 110, np.uint8)
    bare = Frame("bare", image, labels=LabelMap(ids, CLASSES))
    with pytest.raises(NotApplicable, match="where the label map has a line, hardly any paint is seen"):
        Remove(element="line")(bare, 1, measure=False)
    yellow = image.copy()
    yellow[40:, 76:82] = (170, 130, 20)
    after = Remove(element="line")(bare.replace(image=yellow), 1, measure=False).image.astype(int)
    assert (after[44:, 70:88, 0] - after[44:, 70:88, 2]).max() < 10


def test_a_light_behind_a_person_is_not_left_without_its_post() -> None:
    frame = wall(40, people=0)
    ids, classes = frame.label_map.ids.copy(), (*CLASSES, "pole", "traffic light", "pedestrian")
    light, post, person = (classes.index(one) for one in ("traffic light", "pole", "pedestrian"))
    ids[70:90, 150:162], ids[90:110, 155:157], ids[110:140, 150:162] = light, post, person
    remove = Remove(element="pedestrian")
    with pytest.raises(NotApplicable, match="the rest of a thing would float"):
        remove(frame.replace(labels=LabelMap(ids, classes)), 1)
    ids[90:140, 166:168] = post
    ids[70:90, 162:168] = light
    assert remove(frame.replace(labels=LabelMap(ids, classes)), 1, measure=False).labels is not None


def test_feet_that_a_network_lost_go_with_a_person() -> None:
    frame = wall(40, people=0)
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    classes = (*CLASSES, "pedestrian")
    ids[110:150, 150:162] = classes.index("pedestrian")
    image[110:160, 150:162] = (250, 30, 30)
    known = frame.replace(labels=LabelMap(ids, classes), image=image)
    feet = np.s_[155:157, 152:160, 0]
    assert Remove(element="pedestrian", realism="any")(known, 1, measure=False).image[feet].mean() > 200
    estimated = known.replace(metadata={"labels_from": "street (estimated)"})
    assert Remove(element="pedestrian", realism="any")(estimated, 1, measure=False).image[feet].mean() < 120
