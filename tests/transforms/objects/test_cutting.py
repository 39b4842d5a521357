"""What is told of a cut-out by its pixels: ends, lamps, paint, and whether it is one thing and sharp."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms.objects import cutting, harvesting
from roadworthy.transforms.objects.cutting import (
    ClearObject,
    Refusal,
    _hue,
    _several,
    board_end,
    cropped,
    decontaminated,
    facing_of,
    feathered,
    has_both_lamps,
    height_of,
    properties_of,
    straightened,
    things_of,
)
from roadworthy.transforms.objects.gallery import CutOut, Gallery
from roadworthy.transforms.objects.harvesting import OwnThings, _good, enough
from roadworthy.transforms.objects.surroundings import GroundSurroundings

RED = (200, 20, 20)


def car(
    height: int = 60, width: int = 90, color: tuple[int, int, int] = (120, 120, 120)
) -> NDArray[np.uint8]:
    """A vehicle of one colour, all of it solid."""
    rgba = np.full((height, width, 4), 255, np.uint8)
    rgba[..., :3] = color
    return rgba


def lamps(left: int | None = 30, right: int | None = 30, size: int = 6, **body: Any) -> NDArray[np.uint8]:
    """A vehicle with a red lamp at each side, in these rows."""
    rgba = car(**body)
    if left is not None:
        rgba[left : left + size, 4 : 4 + size, :3] = RED
    if right is not None:
        rgba[right : right + size, -4 - size : -4, :3] = RED
    return rgba


class TestVehicles:
    @pytest.mark.parametrize(
        ("rgba", "facing"),
        [
            (car(50, 90), "side"),
            (car(52, 91), "toward"),
            (lamps(), "away"),
            (lamps(right=None), "away"),
            (lamps(size=1, right=None), ""),
            (lamps(5, 5), "toward"),  # too high for lamps
            (lamps(50, 50), "toward"),  # too low
            (car(color=RED), ""),  # red all over
            (lamps(20, 20, size=25), ""),
        ],
    )
    def test_lamps_tell_the_end(self, rgba: NDArray[np.uint8], facing: str) -> None:
        assert facing_of(rgba) == facing

    @pytest.mark.parametrize(
        ("left", "right", "size", "both"),
        [(30, 30, 6, True), (30, 38, 6, True), (30, 39, 6, False), (None, 30, 6, False), (30, None, 6, False),
         (30, 30, 2, False), (30, 30, 3, True), (8, 8, 6, False), (49, 49, 6, False)],
    )  # fmt: skip
    def test_two_lamps_are_at_one_height(
        self, left: int | None, right: int | None, size: int, both: bool
    ) -> None:
        assert has_both_lamps(lamps(left, right, size)) is both

    def test_what_is_seen_through_is_no_lamp(self) -> None:
        rgba = lamps()
        rgba[..., 3] = 200
        assert (facing_of(rgba), has_both_lamps(rgba)) == ("toward", False)

    @pytest.mark.parametrize(
        ("color", "paint"),
        [
            ((200, 20, 20), "red"), ((20, 20, 200), "blue"), ((20, 160, 30), "green"),
            ((220, 200, 20), "yellow"),
            ((230, 110, 20), ""), ((250, 250, 250), "white"), ((30, 30, 30), "black"), ((120, 120, 120), ""),
            ((120, 90, 90), ""),
        ],
    )  # fmt: skip
    def test_paint_is_named_where_it_is_beyond_doubt(self, color: tuple[int, int, int], paint: str) -> None:
        found = properties_of("vehicle", car(color=color), (100.0, 100.0, 100.0), 1.5)
        assert found == ({"type": "car", "color": paint} if paint else {"type": "car"})

    def test_only_the_body_counts_and_only_where_it_is_solid(self) -> None:
        rgba = car(color=(20, 20, 200))
        rgba[:20], rgba[50:] = 255, 255
        assert properties_of("vehicle", rgba, (100.0, 100.0, 100.0), 1.5)["color"] == "blue"
        rgba[..., 3] = 250
        assert "color" not in properties_of("vehicle", rgba, (100.0, 100.0, 100.0), 1.5)
        half = car(color=(20, 20, 200))
        half[:, ::2, :3] = 120
        assert properties_of("vehicle", half, (100.0, 100.0, 100.0), 1.5)["color"] == "blue"
        half[:, 1::4, :3] = 120
        assert "color" not in properties_of("vehicle", half, (100.0, 100.0, 100.0), 1.5)

    @pytest.mark.parametrize(("metres", "car_"), [(1.19, False), (1.2, True), (1.75, True), (1.76, False)])
    def test_what_is_as_high_as_a_car_is_one(self, metres: float, car_: bool) -> None:
        assert (properties_of("vehicle", car(), (100.0,) * 3, metres) == {"type": "car"}) is car_

    def test_brightness_is_that_beside_the_light_of_the_place(self) -> None:
        grey = car(color=(120, 120, 120))
        for light, paint in ((49.0, "white"), (51.0, None), (340.0, None), (345.0, "black")):
            assert properties_of("vehicle", grey, (light,) * 3, 3.0).get("color") == paint

    @pytest.mark.parametrize(
        ("hue", "name"),
        [(0, "red"), (6.9, "red"), (7, ""), (9, "orange"), (17, ""), (20, "yellow"), (33, ""), (40, "green"),
         (84, "green"), (85, ""), (95, "blue"), (128, ""), (172, "red"), (180, "red"), (171, "")],
    )  # fmt: skip
    def test_hues_between_two_words_have_none(self, hue: float, name: str) -> None:
        assert _hue(hue) == name


class TestLights:
    @pytest.mark.parametrize(
        ("color", "name"),
        [((255, 40, 30), "red"), ((255, 140, 20), "yellow"), ((250, 220, 20), "yellow"),
         ((30, 230, 90), "green"),
         ((40, 60, 255), None), ((140, 20, 20), None), ((255, 200, 190), None)],
    )  # fmt: skip
    def test_the_lit_lamp_is_named(self, color: tuple[int, int, int], name: str | None) -> None:
        rgba = car(30, 12, (40, 40, 40))
        rgba[4:7, 4:6, :3] = color
        assert properties_of("traffic light", rgba, (100.0,) * 3, 3.0).get("color") == name
        rgba[4, 4, :3] = 40
        assert properties_of("traffic light", rgba, (100.0,) * 3, 3.0) == {}, "five pixels are no lamp"
        assert properties_of("pedestrian", rgba, (100.0,) * 3, 1.7) == {}

    def test_the_board_ends_where_its_last_row_is(self) -> None:
        board = np.zeros((9, 4), np.bool_)
        board[2:5, 1] = True
        assert board_end(board) == 5


def thing(element: str, mask: NDArray[np.bool_]) -> ClearObject:
    return ClearObject(element, (0, 0, mask.shape[1], mask.shape[0]), mask)


class TestShapes:
    def test_a_row_of_cars_is_several(self) -> None:
        mask = np.ones((50, 120), np.bool_)
        for cut, several in ((15, False), (18, True)):
            mask[:], mask[-cut:, 60:] = True, False
            assert _several(thing("vehicle", mask)) is several
        assert not _several(thing("bicyclist", mask))
        mask[:] = True
        mask[-40:, :4] = False  # what hangs over at the edge does not count
        assert not _several(thing("vehicle", mask))

    def test_two_heads_are_two_people(self) -> None:
        mask = np.ones((70, 30), np.bool_)
        mask[:10] = False
        mask[:10, 4:10] = True
        assert not _several(thing("pedestrian", mask))
        mask[:10, 20:26] = True
        assert _several(thing("pedestrian", mask))
        mask[:10, 20:26], mask[10, 10:14] = False, False  # below the heads it does not matter
        assert not _several(thing("pedestrian", mask))

    def test_edges_are_soft_and_drawn_in(self) -> None:
        own = np.zeros((9, 30), np.bool_)
        own[:, 10:20] = True
        row = feathered(own)[4].tolist()
        assert row == [0] * 10 + [229] + [255] * 8 + [229] + [0] * 10
        pole = np.zeros((9, 30), np.bool_)
        pole[:, 15] = True
        assert feathered(pole)[4, 15] == 101, "a thin pole stays"

    def test_colours_at_the_border_come_from_inside(self) -> None:
        crop = np.full((20, 30, 3), 250, np.uint8)
        crop[:, 10:20] = (10, 60, 120)
        alpha = np.zeros((20, 30), np.uint8)
        alpha[:, 10:20] = 255
        crop[:, 10] = 200  # a mixture with what lies behind
        found = decontaminated(crop, alpha)
        assert (found[5:15, :20] == (10, 60, 120)).all()
        thin = np.zeros((20, 30), np.uint8)
        thin[:, 15] = 200
        assert (decontaminated(crop, thin)[5:15, 13:17] == (10, 60, 120)).all()

    def test_a_pole_is_drawn_straight_unless_there_are_two(self) -> None:
        own = np.zeros((40, 21), np.bool_)
        own[:10] = True
        own[10:, 10:12] = True
        crop = np.full((40, 21, 3), 70, np.uint8)
        alpha = np.where(own, 255, 0).astype(np.uint8)
        colors, straight = straightened(crop, crop.copy(), alpha, own, 10)
        assert (straight[:10] == alpha[:10]).all()
        assert (straight[10:] == [0] * 10 + [191] * 2 + [0] * 9).all()
        assert (colors == 70).all()
        leaning = np.zeros((40, 21), np.bool_)
        leaning[np.arange(10, 40), 5 + np.arange(30) // 3] = True
        _, upright = straightened(crop, crop.copy(), alpha, leaning, 10)
        assert (upright[10:] == [0] * 9 + [128] * 2 + [0] * 10).all()
        own[10:, 2] = True
        assert straightened(crop, crop, alpha, own, 10)[1] is alpha
        short = own.copy()
        short[13:] = False
        assert straightened(crop, crop, alpha, short, 10)[1] is alpha

    def test_a_crop_has_some_of_its_surroundings(self) -> None:
        image = np.zeros((100, 200, 3), np.uint8)
        one = replace(thing("vehicle", np.ones((80, 40), np.bool_)), box=(50, 15, 90, 95))
        crop, mask, offset = cropped(image, one)
        assert (crop.shape[:2], offset) == ((95, 60), (10, 10))
        assert np.argwhere(mask).min(axis=0).tolist() == [10, 10]
        assert np.count_nonzero(mask) == 3200
        small = replace(thing("vehicle", np.ones((20, 10), np.bool_)), box=(3, 15, 13, 35))
        crop, _, offset = cropped(image, small)
        assert (crop.shape[:2], offset) == ((32, 19), (6, 3))


def site(**known: Any) -> GroundSurroundings:
    """A road below the sky with one person on it, 44 pixels high."""
    ids = np.full((120, 200), 2, np.uint8)
    ids[:50] = 1
    ids[60:104, 90:106] = 3
    image = np.full((120, 200, 3), 100, np.uint8)
    names = ("void", "sky", "road", "pedestrian", "vehicle", "sidewalk")
    return GroundSurroundings(Frame("s", image, labels=LabelMap(ids, names), **known))


class TestFrames:
    def test_hidden_things_are_refused_where_that_is_known(self) -> None:
        instances = np.zeros((120, 200), np.uint16)
        instances[60:104, 90:106] = 7
        for hidden, taken in ((0.03, True), (0.04, False)):
            for known in ("occlusion", "truncation"):
                boxes = Boxes([[90, 60, 106, 104], [0, 0, 9, 9]], ["pedestrian", "car"], track_ids=[7, 8])
                boxes = boxes.replace(**{known: np.array([hidden, 0.0])})
                (found,) = things_of(site(instances=instances, boxes=boxes), "pedestrian", 40)
                assert isinstance(found, ClearObject) is taken
                if taken:
                    assert isinstance(found, ClearObject)
                    assert (found.box, found.single) == ((90, 60, 106, 104), True)
                else:
                    assert found == "partly hidden"
        (alone,) = things_of(site(), "pedestrian", 40)
        assert isinstance(alone, ClearObject)
        assert not alone.single
        (small,) = things_of(site(), "pedestrian", 45)
        assert isinstance(small, Refusal)
        assert small == "too small"

    def test_heights_follow_from_depth_where_it_is_known(self) -> None:
        one = replace(thing("pedestrian", np.ones((44, 16), np.bool_)), box=(90, 60, 106, 104))
        here = site()
        assert height_of(here, one) == pytest.approx(here.view.metres(44, 104))
        depth = np.full((120, 200), 30.0, np.float32)
        depth[60:104, 90:106] = 12.0
        depth[60:64, 90:106] = np.nan
        there = site(depth=depth)
        assert height_of(there, one) == pytest.approx(12.0 * 44 / there.view.focal)
        unknown = depth.copy()
        unknown[60:104, 90:106] = np.inf
        there = site(depth=unknown)
        assert height_of(there, one) == pytest.approx(there.view.metres(44, 104))

    def test_the_light_of_a_place_is_that_of_the_road_or_of_any_ground(self) -> None:
        here = site()
        ids, image = here.labels.ids.copy(), here.frame.image.copy()
        image[here.labels.ids == 2] = (90, 100, 110)
        box = (90, 60, 106, 104)
        frame = here.frame.replace(image=image)
        assert GroundSurroundings(frame).ground_color(box, 1.7) == (90, 100, 110)
        ids[ids == 2] = 5
        walk = GroundSurroundings(frame.replace(labels=LabelMap(ids, here.labels.classes)))
        assert walk.ground_color(box, 1.7) == (90, 100, 110)
        ids[:] = 4
        none = GroundSurroundings(frame.replace(labels=LabelMap(ids, here.labels.classes)))
        found = none.ground_color(box, 1.7)
        assert 85 < found[0] < found[1] < found[2] < 115


def sharp(height: int = 60, width: int = 24, **more: Any) -> CutOut:
    """A cut-out with fine contrast."""
    rows, columns = np.mgrid[:height, :width]
    rgba = np.full((height, width, 4), 255, np.uint8)
    rgba[..., :3] = np.where((rows // 2 + columns // 2) % 2, 40, 200)[..., None]
    return CutOut("one", more.pop("element", "pedestrian"), 1.7, (100.0,) * 3, pixels=rgba, **more)


def test_the_highest_are_kept_of_all_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [
        Frame(
            f"f{number}", np.zeros((2, 2, 3), np.uint8), labels=LabelMap(np.zeros((2, 2), np.uint8), ("sky",))
        )
        for number in range(9)
    ]
    monkeypatch.setattr(harvesting, "_MOST", 4)
    monkeypatch.setattr(
        harvesting, "_of_frame", lambda frame: ([replace(sharp(40 + int(frame.id[1:])), name=frame.id)], 0.5)
    )
    found = harvesting.own_things(frames).gallery  # type: ignore[arg-type]
    assert [one.name for one in found] == ["f8", "f7", "f6", "f5"]


def headed(left: int = 7, right: int = 7) -> NDArray[np.uint8]:
    """Return the pixels of a person whose head is so far from both sides."""
    rgba = sharp().rgba.copy()
    rgba[:10, :left, 3] = rgba[:10, rgba.shape[1] - right :, 3] = 0
    return rgba


class TestGood:
    def test_what_is_sharp_and_whole_is_good(self) -> None:
        assert _good(sharp(element="bicyclist"))
        blunt = sharp(element="bicyclist")
        rgba = blunt.rgba.copy()
        rgba[..., :3] = cv2.GaussianBlur(rgba[..., :3], (0, 0), 4)
        rows = np.linspace(0, 120, 60).astype(np.uint8)
        rgba[..., :3] = rows[:, None, None]
        assert not _good(replace(blunt, pixels=rgba)), "only slow shades"
        flat = blunt.rgba.copy()
        flat[..., :3] = np.where(flat[..., :3] > 100, 124, 100)
        assert not _good(replace(blunt, pixels=flat)), "24 levels are too few"
        flat[..., :3] = np.where(flat[..., :3] > 110, 128, 100)
        assert _good(replace(blunt, pixels=flat))
        assert not _good(sharp(9, 11, element="bicyclist")), "99 pixels are too few"
        assert _good(sharp(10, 10, element="bicyclist"))

    def test_a_person_with_a_gap_is_two(self) -> None:
        rgba = sharp().rgba.copy()
        rgba[5:58, 4:20, 3] = 0
        assert not _good(replace(sharp(), pixels=rgba))
        assert _good(replace(sharp(element="bicyclist"), pixels=rgba))

    def test_a_person_has_no_bite_in_the_upper_body_but_may_stride(self) -> None:
        bitten, striding = headed(), headed()
        bitten[10:30, 12:, 3] = 0
        striding[40:, 6:18, 3] = 0
        assert not _good(replace(sharp(), pixels=bitten)), "something hides an arm"
        assert _good(replace(sharp(), pixels=striding))

    @pytest.mark.parametrize(("left", "right"), [(3, 3), (0, 14)])
    def test_a_head_as_wide_as_a_body_or_beside_it_is_that_of_another(self, left: int, right: int) -> None:
        """The shape of a parent and child, or of somebody before somebody else."""
        assert _good(replace(sharp(), pixels=headed()))
        assert not _good(replace(sharp(), pixels=headed(left, right)))

    @pytest.mark.parametrize(
        ("facing", "lit", "good"),
        [("toward", False, True), ("away", True, True), ("away", False, False), ("side", True, False),
         ("", True, False)],
    )  # fmt: skip
    def test_a_vehicle_is_seen_from_an_end(self, facing: Any, lit: bool, good: bool) -> None:
        one = sharp(60, 90, element="vehicle", facing=facing)
        if lit:
            red = one.rgba.copy()
            red[25:35, 4:16, :3] = red[25:35, -16:-4, :3] = RED
            one = replace(one, pixels=red)
        assert _good(one) is good

    def test_enough_are_some_of_each_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(harvesting, "_LEAST", 3)
        person, away, toward = (
            sharp(),
            sharp(element="vehicle", facing="away"),
            sharp(element="vehicle", facing="toward"),
        )
        assert not enough([person] * 2)
        assert enough([person] * 3)
        assert not enough([away] * 3)
        assert not enough([away] * 3 + [toward] * 2)
        assert enough([away] * 3 + [toward] * 3)
        assert not enough([])

    def test_nobody_comes_from_the_same_moment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(harvesting, "_APART", 2)
        ones = [replace(sharp(), name=str(number)) for number in range(0, 60, 2)]
        for count, left in ((60, 3), (39, 1), (19, 1)):
            places = {one.name: int(one.name) for one in ones}
            known = OwnThings(Gallery(ones), places, {f"f{k}": k for k in range(count)}, {})
            names = {int(one.name) for one in known.without(Frame("f10", np.zeros((2, 2, 3), np.uint8)))}
            missing = set(range(0, 60, 2)) - names
            assert len(missing) == left, count
        other = known.without(Frame("elsewhere", np.zeros((2, 2, 3), np.uint8)))
        assert len(other) == len(ones)

    def test_data_in_which_nothing_can_be_cut_out_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(harvesting, "load", lambda reference: reference)
        empty = OwnThings(Gallery([]), {}, {}, {})
        monkeypatch.setattr(harvesting, "own_things", lambda data: empty)
        with pytest.raises(InputError, match="nothing in 'camvid:x' can be cut out: no thing in it is whole"):
            harvesting.harvested_from("camvid:x")
        some = OwnThings(Gallery([sharp()]), {}, {}, {})
        monkeypatch.setattr(harvesting, "own_things", lambda data: some)
        found = Gallery.opened("camvid:y")
        assert (found.name, [one.name for one in found]) == ("camvid:y", ["one"])

    def test_data_that_changes_is_cut_out_of_again(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        frame = tmp_path / "frames" / "1.png"
        frame.parent.mkdir()
        monkeypatch.setattr(harvesting, "load", lambda reference: frame.read_text())
        monkeypatch.setattr(
            harvesting,
            "own_things",
            lambda data: OwnThings(Gallery([replace(sharp(), name=data)]), {}, {}, {}),
        )
        long_ago = time.time() - 3600
        for name in ("before", "after"):
            frame.write_text(name)
            os.utime(frame, (long_ago, long_ago))
            assert [one.name for one in Gallery.opened(f"camvid:{tmp_path}")] == [name]


def test_a_tile_shows_a_cut_out_on_grey_as_large_as_fits() -> None:
    one = CutOut("one", "pedestrian", 1.7, (100.0,) * 3, pixels=car(20, 10, (200, 100, 50)))
    tile = one.tile(40)
    assert tile.shape == (40, 40, 3)
    assert (tile[:, :9] == 148).all()
    assert (tile[:, 31:] == 148).all()
    assert tile[20, 20].tolist() == [200, 100, 50]
    assert np.count_nonzero((tile == (200, 100, 50)).all(axis=2)) == pytest.approx(800, abs=80)
    assert repr(one) == "CutOut('one', pedestrian, 1.70 m)"
    red = CutOut("two", "vehicle", 1.5, (9.0,) * 3, {"color": "red", "type": "car"}, pixels=car())
    assert repr(red) == "CutOut('two', vehicle (red car), 1.50 m)"


def test_words_for_what_is_harvested_are_those_of_the_ontology() -> None:
    assert cutting.harvestable(["person", "car", "pedestrian"]) == ("pedestrian", "vehicle")
    assert cutting.harvestable(["dynamic object"]) == ("pedestrian", "bicyclist", "vehicle")
