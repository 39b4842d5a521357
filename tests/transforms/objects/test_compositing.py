from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects import believing, camera_look, compositing
from roadworthy.transforms.objects.camera_look import haze_of, look_of
from roadworthy.transforms.objects.compositing import _worn, composited
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.placement import CutOutPlace
from roadworthy.transforms.objects.request import Edited
from roadworthy.transforms.objects.surroundings import GroundSurroundings
from roadworthy.world import Camera, Conditions, frame_of, make_scene

Street = Callable[..., Frame]
WithThing = Callable[[Frame, str, tuple[int, int, int, int]], Frame]


def cut_out(color: tuple[int, int, int] = (120, 60, 60), **details: object) -> CutOut:
    pixels = np.zeros((100, 40, 4), np.uint8)
    pixels[..., :3] = color
    pixels[..., 3] = 255
    known = {"height": 1.7, "ambience": (100.0, 100.0, 100.0), "pixels": pixels, **details}
    return CutOut("one", "pedestrian", **known)  # type: ignore[arg-type]


def place(
    one: CutOut, window: tuple[int, int, int, int] = (200, 60, 216, 100), distance: float = 10.0
) -> CutOutPlace:
    return CutOutPlace(one, False, window, (window[0], window[2]), distance, "right")


def put(frame: Frame, where: CutOutPlace, seed: int = 0) -> Frame:
    return composited(GroundSurroundings(frame), where, np.random.default_rng(seed)).frame


def changed(before: Frame, after: Frame) -> np.ndarray:
    return np.asarray(np.any(before.image != after.image, axis=2))


def test_nothing_changes_outside_the_thing_and_its_shadow(street: Street) -> None:
    frame = street()
    kept = frame.image.copy()
    after = put(frame, place(cut_out()))
    assert np.array_equal(frame.image, kept)
    different = changed(frame, after)
    assert different[62:98, 201:215].all()
    outside = np.ones_like(different)
    outside[60:106, 190:226] = False
    assert not different[outside].any()
    # The ground below the foot is darker than it was.
    assert after.image[100, 208].mean() < 0.8 * frame.image[100, 208].mean()


def test_labels_follow_and_only_they_where_the_thing_is(street: Street) -> None:
    frame = street()
    after = put(frame, place(cut_out()))
    assert frame.labels is not None
    assert after.labels is not None
    new = after.labels.ids != frame.labels.ids
    assert np.array_equal(new, after.labels.mask("pedestrian"))
    assert (new[61:99, 201:215]).all()
    assert np.count_nonzero(new) == pytest.approx(40 * 16, rel=0.12)
    assert after.boxes is None  # nobody knew the boxes before, so all of them are not known now
    assert after.instances is None
    assert after.depth is None


def test_all_that_is_known_follows() -> None:
    frame = frame_of(make_scene("town", s=560, seed=5), Camera(320, 160))
    assert frame.boxes is not None
    after = put(frame, place(cut_out(properties={}), (150, 70, 166, 110), 9.0))
    assert after.boxes is not None
    assert after.instances is not None
    assert frame.instances is not None
    assert after.depth is not None
    assert after.labels is not None
    new = after.boxes[-1]
    assert new.classes == ("pedestrian",)
    assert new.track_ids is not None
    number = int(new.track_ids[0])
    assert number not in frame.instances
    pixels = after.instances == number
    assert np.array_equal(after.labels.mask("pedestrian") & pixels, pixels)
    assert (after.depth[pixels] == 9.0).all()
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    assert new.xyxy[0].tolist() == [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    assert new.truncation is not None
    assert new.truncation[0] == 0
    # The others are as the world would have them: boxes go round what can still be seen.
    assert after.boxes.track_ids is not None
    for box in after.boxes[:-1]:
        assert box.track_ids is not None
        left = after.instances == box.track_ids[0]
        rows, columns = np.flatnonzero(left.any(axis=1)), np.flatnonzero(left.any(axis=0))
        assert box.xyxy[0].tolist() == [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    gone = set(frame.boxes.track_ids.tolist()) - set(after.boxes.track_ids.tolist())  # type: ignore[union-attr]
    assert all(not (after.instances == one).any() for one in gone)


def test_what_it_hides_is_more_hidden(street: Street, with_thing: WithThing) -> None:
    """A car of 40 × 20 pixels of which a person covers 10 × 20, and one that is hidden altogether."""
    frame = with_thing(street(), "vehicle", (190, 70, 230, 90))
    instances = np.zeros((160, 320), np.uint16)
    instances[70:90, 190:230] = 7
    instances[75:80, 213:216] = 8
    known = Boxes(
        [[190, 70, 230, 90], [213, 75, 216, 80]], ["car", "car"], track_ids=[7, 8], occlusion=[0.2, np.nan]
    )
    frame = frame.replace(boxes=known, instances=instances)
    after = put(frame, place(cut_out(), (210, 60, 220, 100)))
    assert after.boxes is not None
    assert after.boxes.track_ids is not None
    assert after.boxes.occlusion is not None
    assert after.boxes.track_ids.tolist() == [7, 9]
    visible = np.count_nonzero(after.instances == 7) / np.count_nonzero(instances == 7)
    assert after.boxes.occlusion[0] == pytest.approx(1 - 0.8 * visible, abs=1e-5)
    assert after.boxes.occlusion[1] == 0


def test_boxes_without_pixels_are_hidden_by_their_area(street: Street) -> None:
    frame = street().replace(boxes=Boxes([[205, 60, 225, 100], [0, 0, 9, 9]], ["car", "tree"]))
    after = put(frame, place(cut_out(), (205, 60, 215, 100)))
    assert after.boxes is not None
    assert after.boxes.occlusion is not None
    assert after.boxes.occlusion[0] == pytest.approx(0.5, abs=0.08)
    assert np.isnan(after.boxes.occlusion[1])
    assert after.boxes.track_ids is None


def test_what_stands_nearer_stays_in_front(street: Street, with_thing: WithThing) -> None:
    frame = with_thing(street(), "pole", (205, 20, 209, 130))
    after = put(frame, place(cut_out()))
    assert np.array_equal(after.image[60:100, 205:209], frame.image[60:100, 205:209])
    assert after.labels is not None
    assert after.labels.mask("pole")[60:100, 205:209].all()
    # One that ends higher up stands behind.
    behind = with_thing(street(), "pole", (205, 20, 209, 90))
    covered = put(behind, place(cut_out()))
    assert covered.labels is not None
    assert not covered.labels.mask("pole")[62:90, 205:209].any()


def test_depth_says_what_is_in_front(street: Street) -> None:
    depth = np.full((160, 320), 50, np.float32)
    depth[:, 205:209] = 4.0
    frame = street().replace(depth=depth, boxes=Boxes.empty())
    after = put(frame, place(cut_out(), distance=10.0))
    assert np.array_equal(after.image[60:92, 205:209], frame.image[60:92, 205:209])
    assert after.depth is not None
    assert (after.depth[:, 205:209] == 4.0).all()
    assert (after.depth[70:95, 202:204] == 10.0).all()
    assert after.boxes is not None
    assert after.boxes.occlusion is not None
    assert after.boxes.occlusion[0] == pytest.approx(4 / 16, abs=0.05)


def test_a_thing_at_the_edge_is_truncated(street: Street) -> None:
    frame = street().replace(boxes=Boxes.empty())
    after = put(frame, place(cut_out(), (310, 60, 326, 100)))
    assert after.boxes is not None
    assert after.boxes.truncation is not None
    assert after.boxes.truncation[0] == pytest.approx(6 / 16, abs=0.01)
    assert after.boxes.xyxy[0, 2] == 320


@pytest.mark.parametrize(("brightness", "expected"), [(100, 100), (50, 53), (160, 153)])
def test_light_follows_the_ground(street: Street, brightness: int, expected: float) -> None:
    """A grey cut-out from a place as bright as 100 becomes about as bright as the ground is here."""
    frame = street(brightness=brightness)
    after = put(frame, place(cut_out((100, 100, 100))))
    assert after.image[65:95, 203:213].mean() == pytest.approx(expected, rel=0.1)


def test_warm_light_makes_warm_things(street: Street) -> None:
    frame = street()
    warm = (frame.image * np.array([1.2, 1.0, 0.8])).clip(0, 255).astype(np.uint8)
    red, green, blue = put(frame.replace(image=warm), place(cut_out((100, 100, 100)))).image[70, 208].tolist()
    assert red > 1.1 * green > 1.1 * blue


def test_at_night_things_are_dark(street: Street) -> None:
    night = street(brightness=25).replace(metadata={"time": "night"})
    assert put(night, place(cut_out((100, 100, 100)))).image[70:90, 203:213].mean() < 25


def test_a_traffic_light_shines_at_night(street: Street) -> None:
    pixels = np.full((100, 40, 4), (30, 30, 30, 255), np.uint8)
    pixels[20:60, 10:30] = (250, 40, 30, 255)
    light = CutOut("light", "traffic light", 3.5, (100.0, 100.0, 100.0), pixels=pixels)
    night = street(brightness=25).replace(metadata={"time": "night"})
    after = put(night, place(light, (200, 40, 220, 90)))
    assert after.image[58, 210, 0] > 180
    assert after.image[80, 210].max() < 30


@pytest.mark.parametrize("blur", [0.0, 0.9, 1.6])
def test_blur_of_an_image_is_measured(blur: float) -> None:
    rng = np.random.default_rng(3)
    sharp = np.kron(rng.integers(0, 2, (20, 40)) * 180 + 30, np.ones((12, 12)))
    image = cv2.GaussianBlur(sharp, (0, 0), blur) if blur else sharp
    found = look_of(Frame("chess", np.repeat(image[..., None], 3, axis=2).astype(np.uint8)))
    assert found.blur == pytest.approx(max(blur, 0.35), rel=0.25)


@pytest.mark.parametrize("noise", [0.0, 2.0, 6.0])
def test_noise_of_an_image_is_measured(noise: float) -> None:
    rng = np.random.default_rng(4)
    grey = np.full((200, 300), 120.0) + np.linspace(0, 60, 300) + rng.normal(0, noise, (200, 300))
    image = np.repeat(np.clip(grey, 0, 255)[..., None], 3, axis=2).astype(np.uint8)
    assert look_of(Frame("noisy", image)).noise == pytest.approx(noise, abs=0.45 + 0.35 * noise)


def test_a_blurred_image_gets_a_blurred_thing(street: Street) -> None:
    rng = np.random.default_rng(3)
    frame = street()
    image = frame.image.copy()
    image[40:130, :180] = np.kron(rng.integers(0, 2, (9, 18)) * 180 + 30, np.ones((10, 10)))[..., None]
    soft = cv2.GaussianBlur(image, (0, 0), 1.5)
    edges = []
    for given in (image, soft):
        after = put(frame.replace(image=given), place(cut_out((250, 250, 250))))
        row = after.image[80, 192:224].astype(int).mean(axis=1)
        edges.append(np.abs(np.diff(row)).max())
    assert edges[1] < 0.75 * edges[0]


@pytest.mark.parametrize("level", ["light", "normal", "heavy"])
def test_fog_hides_what_is_added_as_it_hides_the_rest(level: str) -> None:
    scene = make_scene("meadow", s=100, seed=1, conditions=Conditions("foggy", level))
    # Without depth, so that the ground does not hide what is put there at a distance that is not its own.
    frame = frame_of(scene, Camera(480, 240)).replace(depth=None)
    haze = haze_of(GroundSurroundings(frame))
    assert haze is not None
    # The world's own density of the haze.
    assert haze.density == pytest.approx(scene.conditions.light.density, rel=0.5)
    black = cut_out((0, 0, 0))
    near, far = (
        put(frame, place(black, (100, 70, 132, 150), distance)).image[95:125, 110:122].mean()
        for distance in (8.0, 40.0)
    )
    assert near < far
    air = float(np.mean(haze.color))
    assert far == pytest.approx(air * (1 - haze.clear(40.0)), abs=12)


def test_clear_frames_have_no_haze(street: Street) -> None:
    assert haze_of(GroundSurroundings(street())) is None
    assert haze_of(GroundSurroundings(street().replace(metadata={"weather": "foggy"}))) is None


def test_parts_get_their_own_class(street: Street) -> None:
    ids = np.zeros((100, 40), np.uint8)
    ids[:30] = 1
    sign = CutOut(
        "sign", "traffic sign", 2.6, (100.0, 100.0, 100.0), pixels=cut_out().rgba, parts=ids,
        part_names=("pole", "traffic sign"),
    )  # fmt: skip
    after = put(street(), place(sign))
    assert after.labels is not None
    assert "traffic sign" in after.labels.classes  # the label map had no such class
    assert after.labels.mask("traffic sign")[62:70, 203:213].all()
    assert after.labels.mask("pole")[75:98, 203:213].all()


def test_what_was_added_is_noted(town: Frame) -> None:
    once = make_transform("add", element="red car", reference="lane", side="left")(town, 2, measure=False)
    twice = make_transform("add", relation="on", reference="sidewalk")(once, 3, measure=False)
    added: Any = twice.metadata["added"]
    first, second = added
    assert first["element"] == "vehicle"
    assert dict(first["properties"]) == {"type": "car", "color": "red"}
    assert second["element"] == "pedestrian"
    assert twice.metadata["weather"] == town.metadata["weather"]


def test_numbers_that_need_more_bits(street: Street) -> None:
    instances = np.zeros((160, 320), np.uint16)
    instances[0, 0] = 65535
    after = put(street().replace(instances=instances, boxes=Boxes.empty()), place(cut_out()))
    assert after.instances is not None
    assert after.instances.dtype == np.int32
    assert after.instances.max() == 65536


@pytest.mark.parametrize(("apart", "grey"), [(0, True), (2, True), (3, False)])
def test_a_camera_without_colours(apart: int, grey: bool) -> None:
    image = np.full((48, 48, 3), 90, np.uint8)
    image[::2, ::2, 1] += np.uint8(apart)
    assert camera_look.is_grey(Frame("f", image)) is grey


@pytest.mark.parametrize(
    ("level", "known", "night"),
    [(29, {}, True), (30, {}, False), (200, {"time": "night"}, True), (5, {"time": "day"}, False)],
)
def test_night_is_what_the_frame_says_or_a_dark_sky(level: int, known: dict[str, str], night: bool) -> None:
    image = np.full((40, 60, 3), 250, np.uint8)
    image[:20] = level
    assert camera_look.is_night(Frame("f", image, metadata=known)) is night


def test_how_much_light_comes_through() -> None:
    haze = camera_look.Haze(0.05, (200.0, 200.0, 200.0), (90.0, 90.0, 90.0))
    assert haze.clear(0) == 1
    assert haze.clear(20) == pytest.approx(np.exp(-1))
    values = np.array([5, 1, 4, 2, 3], np.float32)
    assert [camera_look._quantile(values, share) for share in (0, 0.5, 0.8, 1)] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("color", "lit"),
    [
        ((250, 40, 30), 1),
        ((120, 0, 0), 0),
        ((150, 50, 50), 0.5),
        ((250, 200, 200), 0),
        ((180, 105, 105), 0.5),
    ],
)
def test_a_lamp_is_bright_and_of_a_clear_colour(color: tuple[int, int, int], lit: float) -> None:
    patch = np.array([[(*color, 255)]], np.float32)
    assert compositing._lit(patch)[0, 0] == pytest.approx(lit)


def test_things_with_all_their_views() -> None:
    ones = [cut_out(thing=name) for name in ("a", "b", "a")]
    found = compositing._grouped(ones)
    assert list(found) == ["pedestrian"]
    assert [[one.thing for one in views] for views in found["pedestrian"]] == [["a", "a"], ["b"]]


def test_cut_outs_of_like_light_come_first(street: Street) -> None:
    site = GroundSurroundings(street(brightness=100))
    levels = [100, 150, 60, 152, 40, *([300] * 12)]
    ones = [cut_out(ambience=(float(level),) * 3) for level in levels]
    found = compositing._in_like_light(ones, site)
    assert len(found) == 10, "at least so many"
    near = [sum(one.ambience) / 3 for one in found[:5]]
    assert near[0] == 100
    assert near == sorted(
        near, key=lambda level: abs(np.log(level / sum(site.ground_color((0, 0, 320, 159), 1.0)) * 3))
    )
    many = [cut_out(ambience=(100.0 + number,) * 3) for number in range(14)]
    assert len(compositing._in_like_light(many, site)) == 14


def test_a_number_that_no_thing_has(street: Street) -> None:
    frame = street()
    assert compositing._free_number(frame) == 1
    boxes = Boxes([[0, 0, 1, 1]], ["car"], track_ids=[41])
    assert compositing._free_number(frame.replace(boxes=boxes)) == 42
    instances = np.full(frame.image.shape[:2], 50, np.uint16)
    assert compositing._free_number(frame.replace(boxes=boxes, instances=instances)) == 51
    assert compositing._free_number(frame.replace(boxes=Boxes.empty())) == 1


def test_clothes_of_solid_models_are_paler_and_have_folds_and_shoes_are_darker() -> None:
    even = np.zeros((100, 40, 3), np.float32)
    even[:] = 180, 30, 30
    worn = _worn(even, np.random.default_rng(1))
    clothes = worn[:90]
    light, true = clothes.mean(axis=2) / clothes.mean(), even[0, 0]
    assert np.ptp(clothes.mean(axis=(0, 1))) == pytest.approx(0.8 * 0.45 * np.ptp(true), rel=0.05)
    assert light.std() == pytest.approx(0.12, abs=0.01)
    assert np.abs(np.diff(light, axis=0)).mean() < 0.06, "folds, not grain"
    assert worn[98:].mean() < 0.6 * clothes.mean()


def test_a_thing_is_as_blurred_as_what_is_beside_it() -> None:
    """The left half of a chessboard is blurred: a camera that turns sees the roadside like that."""
    board = (np.indices((80, 200)) // 8).sum(axis=0) % 2 * 200
    image = np.repeat(board[..., None], 3, axis=2).astype(np.uint8)
    image[:, :100] = cv2.GaussianBlur(image, (0, 0), 1.7)[:, :100]
    frame = Frame("board", image)
    assert camera_look.blur_around(frame, (40, 20, 50, 60)) == pytest.approx(1.7, abs=0.3)
    assert camera_look.blur_around(frame, (150, 20, 160, 60)) == camera_look.SHARPEST


def test_shade_at_a_place_and_the_tint_of_a_real_camera(street: Street) -> None:
    frame, where = street(), place(cut_out((120, 120, 120)))
    shaded = frame.image.copy()
    shaded[94:106, 190:226] //= 5
    plain = put(frame, where).image[70:90, 204:212].mean()
    assert put(frame.replace(image=shaded), where).image[70:90, 204:212].mean() < 0.6 * plain
    blue = (frame.image * (0.6, 0.9, 1.6)).clip(0, 255).astype(np.uint8)
    seen = put(frame.replace(image=blue), where).image[70:90, 204:212].mean(axis=(0, 1))
    assert seen[2] / seen[0] == pytest.approx(1.6 / 0.6, rel=0.15)


@pytest.mark.parametrize(
    ("name", "seen", "stands_out"),
    [
        ("pedestrian", [(0, 100)], True),
        ("pedestrian", [(0, 55), (55, 74), (95, 100)], False),  # 19 of 40 rows of the legs
        ("pedestrian", [(0, 55), (55, 75), (95, 100)], True),
        ("pedestrian", [(0, 39), (55, 75)], False),  # 59 of 100 rows
        ("pedestrian", [(0, 40), (55, 75)], True),
        ("pedestrian", [(7, 100)], False),  # the head is not seen
        ("pedestrian, like glass", [(0, 100)], False),
        ("vehicle", [(0, 31)], True),
        ("vehicle", [(0, 29)], False),
        ("vehicle", [(20, 60)], False),  # its upper end is not seen
    ],
)
def test_people_must_stand_out_more_than_things_and_on_their_legs(
    name: str, seen: list[tuple[int, int]], stands_out: bool
) -> None:
    ids = np.zeros((120, 60), np.uint8)
    change: Any = np.zeros((120, 60), np.uint8)
    names = ("road", "pedestrian", "vehicle")
    before = Frame("f", np.zeros((120, 60, 3), np.uint8), labels=LabelMap(ids.copy(), names))
    ids[10:110, 20:40] = names.index(name.removesuffix(", like glass"))
    for start, stop in seen:
        change[10 + start : 10 + stop, 20:40] = 30 if name == "pedestrian" else 20
    edited = Edited(before.replace(labels=LabelMap(ids, names)), ids > 0)
    assert believing.stands_out(before, edited, change) == stands_out


def test_nothing_is_added_where_its_light_or_size_is_not_known(street: Street) -> None:
    add = make_transform("add", element="pedestrian", gallery="shipped")
    assert add(street(), 1, measure=False).metadata["added"]
    red = (street().image * (1.0, 0.6, 0.7)).astype(np.uint8)
    for frame in (street(brightness=240), street().replace(image=red)):
        with pytest.raises(NotApplicable, match=r"the sun blinds the camera where it .*; .*--realism any"):
            add(frame, 1, measure=False)
        assert add.replace(realism="any")(frame, 1, measure=False).metadata["added"]
    with pytest.raises(NotApplicable, match="the horizon is not seen"):
        add(street(horizon=115.0), 1, measure=False)


def test_a_solid_person_is_no_silhouette_unless_asked_for(street: Street) -> None:
    frame = street(brightness=130)
    ids = frame.label_map.ids.copy()
    ids[60:110, 150:170] = frame.label_map.classes.index("pedestrian")
    image = frame.image.copy()
    after = frame.replace(image=image, labels=LabelMap(ids, frame.label_map.classes))
    for grey, believed in ((20, False), (35, False), (60, True), (75, True)):
        image[60:110, 150:170] = grey
        edited = Edited(after.replace(image=image.copy()), ids > 0)
        assert ("too dark or too bright for its place" in believing.unfit_model(frame, edited)) != believed


def test_a_vehicle_that_shows_its_side_is_not_put_near(street: Street) -> None:
    one = cut_out((90, 90, 90))
    for bearing, distance, fits in ((-24.0, 9.0, False), (-24.0, 20.0, True), (-3.0, 9.0, True)):
        askew = dataclasses.replace(one, element="vehicle", bearing=bearing)
        where = dataclasses.replace(place(askew), distance=distance)
        told = believing.unfit_place(GroundSurroundings(street()), where)
        assert ("seen from straight behind" in told) != fits
