"""Kernels, perspectives and images of every kind, at their borders: closed forms and exact numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import pytest

from roadworthy.errors import EngineError, InputError, NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Image
from roadworthy.transforms import Keeps, Transform, make_transform
from roadworthy.transforms.blur import (
    _pieces,
    _separable,
    convolved,
    disc_kernel,
    gaussian_blurred,
    line_convolved,
    line_kernel,
)
from roadworthy.transforms.perspective import (
    FAR,
    Perspective,
    _foot_rows,
    _limits,
    _plane,
    _solved,
    _usable,
    _vanishing_row,
    distance_map,
    real_height,
)
from roadworthy.transforms.transform import ImageTransform, Parameter, number, shortened, spelled
from roadworthy.transforms.weather._condition import LOW_REALISM, known
from roadworthy.transforms.weather._estimates import _false_sky, believed

NOISE: Image = np.random.default_rng(5).integers(0, 256, (60, 70, 3), np.uint8)
PLUS = np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]])


class TestDiscs:
    def test_whole_radii_are_discs_and_others_are_mixed(self) -> None:
        assert disc_kernel(1, 0).tolist() == pytest.approx(PLUS)
        mixed = disc_kernel(0.25, 0)
        assert mixed == pytest.approx(0.25 * PLUS + 0.75 * np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]]))
        assert np.count_nonzero(disc_kernel(2, 0)) == 13
        assert not disc_kernel(2, 0).flags.writeable

    @pytest.mark.parametrize(
        ("radius", "alias", "side"),
        [
            (0, 0, 1),
            (3, 0, 7),
            (3.5, 0, 9),
            (3, 0.1, 9),
            (8, 0.5, 19),
            (8.1, 0.5, 23),
            (10, 0.5, 25),
            (10, 0, 21),
        ],
    )
    def test_there_is_room_for_the_disc_and_its_smoothing(
        self, radius: float, alias: float, side: int
    ) -> None:
        kernel = disc_kernel(radius, alias)
        assert kernel.shape == (side, side)
        assert kernel.sum() == pytest.approx(1)
        assert np.array_equal(kernel, kernel[::-1])
        assert kernel == pytest.approx(kernel.T, abs=1e-6)

    def test_smoothing_is_a_small_gaussian(self) -> None:
        soft = cv2.GaussianBlur(np.pad(disc_kernel(2, 0), 1), (3, 3), 0.5, borderType=cv2.BORDER_CONSTANT)
        found = disc_kernel(2, 0.5)
        assert np.abs(found - soft).max() < 0.002
        assert found[0, 3] > 0
        assert found[0, 0] == 0, "what hardly counts is left out"

    @pytest.mark.parametrize("radius", [5, 6, 12, 22, 23])
    def test_every_way_to_convolve_gives_the_same(self, radius: int) -> None:
        kernel = disc_kernel(radius, 0)
        exact = cv2.filter2D(NOISE.astype(np.float64), -1, kernel.astype(np.float64))
        assert np.abs(convolved(NOISE, kernel) - exact).max() <= (0.51 if radius in (5, 23) else 4)
        pairs = _separable(len(kernel), kernel.tobytes())
        assert sum(float(column.sum() * row.sum()) for column, row in pairs) == pytest.approx(1, abs=1e-4)
        whole = sum(np.outer(column, row) for column, row in pairs)
        assert np.abs(whole - kernel).sum() < 0.12


class TestGaussians:
    @pytest.mark.parametrize(
        ("sigma", "size"), [(0.8, 3), (1.1, 5), (1.4, 7), (1.7, 9), (1.0, 3), (2.0, 0), (0.5, 0)]
    )
    def test_kernels_are_as_wide_as_asked_for(self, sigma: float, size: int) -> None:
        dot = np.zeros((41, 41), np.uint8)
        dot[20, 20] = 255
        wide = size or 2 * math.ceil(3 * sigma) + 1
        kernel = cv2.getGaussianKernel(wide, sigma)
        exact: Any = 255 * kernel @ kernel.T
        found = gaussian_blurred(dot, sigma, size)[
            20 - wide // 2 : 21 + wide // 2, 20 - wide // 2 : 21 + wide // 2
        ]
        if size in (3, 5, 7) and sigma != 1:
            # OpenCV has kernels of round numbers for the deviation that it takes itself.
            rounded = cv2.GaussianBlur(dot, (size, size), 0)
            exact = rounded[20 - wide // 2 : 21 + wide // 2, 20 - wide // 2 : 21 + wide // 2]
        assert np.abs(found - exact).max() <= (0 if exact.dtype == np.uint8 else 0.51)


class TestLines:
    def test_lines_by_hand(self) -> None:
        kernel, origin = line_kernel(0, 30, None)
        assert (kernel[origin], kernel.sum()) == (1, 1)
        kernel, origin = line_kernel(2, 0, None)
        assert origin[0] == 0
        row = kernel[0]
        assert row[row > 0] == pytest.approx([1 / 3] * 3)
        assert row[origin[1] - 1 : origin[1] + 2] == pytest.approx([1 / 3] * 3), "its middle stays"
        down, origin = line_kernel(2, 90, None)
        assert down[:, origin[1]][down[:, origin[1]] > 0] == pytest.approx([1 / 3] * 3)
        half, _ = line_kernel(1.5, 0, None)
        assert half.sum() == pytest.approx(1)
        fading, origin = line_kernel(4, 0, 2.0)
        weights = np.exp(-(np.arange(5) ** 2) / 8)
        assert origin == (0, 0)
        assert fading[0, :5] == pytest.approx(weights / weights.sum(), rel=0.01)
        back, origin = line_kernel(4, 180, 2.0)
        assert origin[1] == back.shape[1] - 1 or back[0, origin[1]] == back.max()
        aslant, origin = line_kernel(10, 45, 100.0)
        assert aslant[7, 7] == pytest.approx(aslant[3, 3], rel=0.02)
        assert origin == (0, 0)

    def test_pieces_are_small_and_hold_all_of_the_line(self) -> None:
        for angle in (0, 17, 45, 80, 90):
            kernel, _ = line_kernel(70, angle, None)
            held = np.zeros_like(kernel)
            for top, bottom, first, last in _pieces(kernel):
                assert (bottom - top) * (last - first) < 130
                assert not held[top:bottom, first:last][kernel[top:bottom, first:last] > 0].any()
                held[top:bottom, first:last] = kernel[top:bottom, first:last]
            assert np.array_equal(held, kernel)

    def test_edges_are_carried_on(self) -> None:
        flat = np.full((9, 9, 3), 77, np.uint8)
        kernel, origin = line_kernel(20, 30, None)
        assert np.abs(line_convolved(flat, kernel, origin).astype(int) - 77).max() <= 1


@dataclass(frozen=True, kw_only=True)
class Tinted(Transform):
    """Makes an image red by so much."""

    much: int = number(30, "How much.", low=0, high=90, identity=0, integer=True)
    name = "tinted"
    family = "test"
    keeps = Keeps.LABELS

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return frame.replace(image=frame.image + np.array([self.much, 0, 0], np.uint8))


@dataclass(frozen=True, kw_only=True)
class Broken(ImageTransform):
    """Ends in an error of its own."""

    name = "broken"
    family = "test"

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        raise SystemExit("enough")


class TestImages:
    def test_grey_images_become_grey_again_as_the_eye_sees_them(self) -> None:
        grey = np.full((4, 5), 100, np.uint8)
        assert Tinted().on_image(grey).tolist() == [[109] * 5] * 4
        assert Tinted().on_image(np.full((4, 5, 3), 100, np.uint8))[0, 0].tolist() == [130, 100, 100]
        assert np.array_equal(Tinted(much=0).on_image(grey), grey)
        assert (Tinted(much=0).is_identity, Tinted().is_identity) == (True, False)
        noise = make_transform("gaussian-noise")
        one, two = (noise.on_image(grey, seed) for seed in (3, 4))
        assert one.shape == (4, 5)
        assert not np.array_equal(one, two)
        assert np.array_equal(one, noise.on_image(grey, np.random.default_rng(3)))

    def test_a_change_that_ends_is_an_error_of_its_case(self) -> None:
        with pytest.raises(EngineError, match="broken raised SystemExit: enough"):
            Broken()(Frame("a", NOISE))

    def test_numbers_are_short_and_exact(self) -> None:
        one = Parameter("x", "X.", 1.0, low=-1, high=9, identity=1, strongest=-0.123456789)
        assert (one.at(0), one.at(1)) == (1, -0.123456789)
        assert one.at(0.5) == pytest.approx(0.4383, abs=1e-4)
        whole = Parameter("n", "N.", 1, "integer", low=1, high=9, identity=1, strongest=8)
        assert [whole.at(amount) for amount in (0, 0.5, 1)] == [1, 4, 8]
        assert (shortened(123456.0), shortened(0.00012345), spelled(5), spelled(-0.5)) == (
            123500,
            0.0001234,
            "5",
            "-0.5",
        )
        assert one.checked("t", np.float32(2)) == 2.0
        assert isinstance(whole.checked("t", 3.0), int)
        with pytest.raises(InputError, match=r"t: x must be between -1 and 9, got 9\.1"):
            one.checked("t", 9.1)
        for border in (-1, 9):
            assert one.checked("t", border) == border


def frame_with(ids: np.ndarray[Any, Any], names: tuple[str, ...], **more: Any) -> Frame:
    return Frame(
        "f", np.zeros((*ids.shape, 3), np.uint8), labels=LabelMap(ids.astype(np.uint8), names), **more
    )


class TestGround:
    def test_rows_have_the_distance_of_their_middle(self) -> None:
        found = Perspective(10.0, 1.5, 100.0).distances(14)
        assert found.dtype == np.float32
        assert np.isinf(found[:10]).all()
        assert found[10:].tolist() == pytest.approx([300, 100, 60, 150 / 3.5])
        assert np.isinf(Perspective(10.5, 1.5, 100.0).distances(14)[10]), (
            "the horizon itself is infinitely far"
        )

    def test_heights(self) -> None:
        assert [real_height("vehicle", {"type": one}) for one in ("van", "tram", "spaceship")] == [
            2.1,
            3.5,
            1.5,
        ]
        assert real_height("pedestrian", {"type": "truck"}) == 1.72
        assert real_height("vehicle", {"type": "child"}) == 1.5
        assert [real_height(one) for one in ("bicyclist", "traffic light", "pole", "tree", "building")] == [
            1.75,
            3.4,
            6,
            7,
            8,
        ]

    @pytest.mark.parametrize(
        ("box", "known", "usable"),
        [
            ((10, 10, 20, 40), {}, True),
            ((0, 10, 10, 40), {}, False), ((10, 0, 20, 40), {}, False),
            ((190, 10, 200, 40), {}, False), ((10, 70, 20, 100), {}, False),
            ((10, 30, 12, 36), {}, True), ((10, 30, 12, 35.9), {}, False),
            ((10, 10, 30, 40), {}, False), ((10, 10, 30, 40), {"type": "x"}, True),
            ((10, 10, 16, 40), {}, False), ((10, 10, 16.1, 40), {}, True),
        ],
    )  # fmt: skip
    def test_things_must_be_whole_and_likely(
        self, box: tuple[float, ...], known: dict[str, str], usable: bool
    ) -> None:
        frame = Frame("f", np.zeros((100, 200, 3), np.uint8))
        found = _usable(frame, "pedestrian", known, *box)
        assert found == ([(box[3], box[3] - box[1], 1.72)] if usable else [])
        assert _usable(frame, "tree", {}, *box) == []

    def test_sky_and_road_hold_the_horizon(self) -> None:
        names = ("void", "sky", "road")
        ids = np.zeros((100, 160), np.uint8)
        ids[:30], ids[60:, 20:140] = 1, 2
        labels = LabelMap(ids, names)
        assert _limits(labels, labels.mask("road")) == (30, 60, True)
        ids[60:, 0] = 2
        assert _limits(LabelMap(ids, names), ids == 2) == (30, 60, False)
        ids[59, 50:52] = 2  # two pixels are too few to be road
        assert _limits(LabelMap(ids, names), ids == 2)[1] == 60
        ids[59, 50:53] = 2
        assert _limits(LabelMap(ids, names), ids == 2)[1] == 59
        ids[70:75, 50:90] = 1
        assert _limits(LabelMap(ids, names), ids == 2)[0] == 30, "a road that leads uphill"
        empty = LabelMap(np.zeros((9, 9), np.uint8), names)
        assert _limits(empty, empty.mask("road")) == (-math.inf, math.inf, False)

    def test_where_a_road_would_have_no_width(self) -> None:
        rows, columns = np.mgrid[:100, :200] + 0.5
        road = np.abs(columns - 100) < (rows - 30) * 1.0
        found = _vanishing_row(road & (rows > 45))
        assert found == pytest.approx(30, abs=0.6)
        assert _vanishing_row(road & (rows > 45) & (rows < 52)) is None, "seven rows tell nothing"
        assert _vanishing_row(np.abs(columns - 100) < 20 + 0.1 * rows) is None, "it hardly narrows"
        assert _vanishing_row(np.zeros((100, 200), np.bool_)) is None

    def test_a_plane_needs_depth_that_tells_one(self) -> None:
        rows = np.arange(100)[:, None] + 0.5 + np.zeros((1, 160))
        depth = np.where(rows > 40, 200 / np.maximum(rows - 40, 1e-3), np.inf).astype(np.float32)
        frame = frame_with(np.where(rows > 50, 1, 0), ("sky", "road"), depth=depth)
        found = _plane(frame)
        assert found is not None
        assert found[0] == pytest.approx(40, abs=0.01)
        assert found[1] == pytest.approx(1 / 200, rel=1e-3)
        bare = _plane(frame.replace(labels=None))
        assert bare is not None
        assert bare[0] == pytest.approx(40, abs=0.01)
        assert _plane(frame.replace(depth=None)) is None
        assert _plane(frame.replace(depth=np.full((100, 160), np.nan, np.float32))) is None
        upside_down = np.where(rows > 50, rows, 1).astype(np.float32)
        assert _plane(frame.replace(depth=upside_down)) is None

    def test_evidence_that_disagrees_loses_its_weight(self) -> None:
        usual = [(1.0, 0.0, 45.0, 10.0), (0.0, 1.0, 1.45, 0.2)]
        assert _solved(np.array(usual)) == pytest.approx((45, 1.45))
        good = [(1.0, 0.0, 60.0, 1.0)] * 4
        assert _solved(np.array([*usual, *good]))[0] == pytest.approx(60, abs=0.3)
        assert _solved(np.array([*usual, *good, (1.0, 0.0, 10.0, 1.0)]))[0] == pytest.approx(60, abs=0.5)
        assert _solved(np.array([usual[0], (0.0, 1.0, 9.0, 0.2)]))[1] == 3.0
        assert _solved(np.array([usual[0], (0.0, 1.0, 0.1, 0.2)]))[1] == 0.9

    def test_what_stands_on_nothing_is_as_far_as_what_is_below_it(self) -> None:
        names = ("void", "sky", "road", "vehicle", "tree", "traffic sign", "pole")
        ids = np.full((20, 12), 2, np.uint8)
        ids[:8] = 1
        ids[6:12, 2:5] = 3  # a car that stands in row 12
        ids[2:5, 8], ids[5:14, 8] = 5, 6  # a sign on a pole
        ids[9:11, 10] = 4  # a tree whose foot is in row 10
        found = _foot_rows(LabelMap(ids, names))
        assert (found[6:12, 2:5] == 11).all()
        assert (found[2:14, 8] == 13).all()
        assert (found[9:11, 10] == 10).all()
        assert found[15, 0] == 15
        assert found[3, 0] == 8, "the sky is as far as the ground below it"

    def test_depth_that_is_known_is_not_estimated(self) -> None:
        frame = Frame("f", np.zeros((100, 60, 3), np.uint8))
        assert distance_map(frame).max() == FAR
        known_depth = np.full((100, 60), 7.0, np.float32)
        assert distance_map(frame.replace(depth=known_depth)) is not None
        half = known_depth.copy()
        half[:50] = np.nan
        found = distance_map(frame.replace(depth=half))
        assert (found[50:] == 7).all()
        assert found[0, 0] == FAR


class TestWeather:
    @pytest.mark.parametrize(
        ("text", "facts"),
        [
            ("fog:light", {"weather": "foggy", "level": "light"}),
            ("fog:normal", {"weather": "foggy", "level": "normal"}),
            ("rain(amount=0.49)", {"weather": "rainy", "level": "light"}),
            ("rain(amount=0.51)", {"weather": "rainy", "level": "normal"}),
            ("rain(amount=0.17)", {"weather": "rainy", "level": "light"}),
            ("rain(amount=0.16)", {}),
            ("night", {"time": "night"}),
            ("winter(realism=any)", {"season": "winter"}),
            ("shadow", {}),
        ],
    )
    def test_what_is_noted(self, text: str, facts: dict[str, str]) -> None:
        from roadworthy.transforms import parse_transform

        sunny = {"weather": "sunny", "time": "day", "season": "summer"}
        frame = Frame("f", np.full((64, 96, 3), (120, 140, 160), np.uint8), metadata=sunny)
        changed = parse_transform(text)(frame, 3, measure=False)
        assert changed.metadata == {**sunny, **facts, "realism": LOW_REALISM}
        labelled = frame.replace(labels=LabelMap(np.zeros((64, 96), np.uint8), ("road",)))
        assert "realism" not in parse_transform(text)(labelled, 3, measure=False).metadata

    def test_what_is_there_already_is_not_made_again(self) -> None:
        frame = Frame(
            "f", np.full((64, 96, 3), 120, np.uint8), metadata={"weather": "rain", "level": "normal"}
        )
        assert (known(frame, "weather"), known(frame, "time")) == ("rainy", None)
        assert known(frame.replace(metadata={"weather": 3}), "weather") is None
        assert known(frame.replace(metadata={"weather": "hail"}), "weather") == "hail"
        for level, applies in (("light", False), ("normal", False), ("heavy", True)):
            if applies:
                assert make_transform(f"rain:{level}")(frame, 1, measure=False).metadata["level"] == level
            else:
                with pytest.raises(NotApplicable, match="the weather is already rainy"):
                    make_transform(f"rain:{level}")(frame, 1, measure=False)
        with pytest.raises(NotApplicable, match="the weather is already rainy"):
            make_transform("rain:heavy")(frame.replace(metadata={"weather": "rainy"}), 1, measure=False)


class TestEstimates:
    def test_sky_that_is_dark_and_rough_is_none(self) -> None:
        image = np.full((60, 100, 3), 220, np.uint8)
        image[:30, :50] = np.where(np.indices((30, 50)).sum(0) % 2, 20, 90)[..., None]
        sky = np.zeros((60, 100), np.bool_)
        sky[:30, :40], sky[:30, 60:] = True, True
        found = _false_sky(sky, image)
        assert found[:30, :40].all()
        assert not found[:28, 64:].any()
        assert not found[30:].any()

    def test_only_estimates_are_doubted(self) -> None:
        image = np.full((60, 100, 3), 220, np.uint8)
        image[:30] = np.where(np.indices((30, 100)).sum(0) % 2, 20, 90)[..., None]
        ids = np.where(np.arange(60)[:, None] < 30, 1, 2).repeat(100, 1)
        own = frame_with(ids, ("tree", "sky", "road")).replace(image=image)
        assert believed(own) is own
        guess = believed(own.replace(metadata={"labels_from": "street (estimated)"}))
        assert guess.label_map.mask("tree")[:30].all()
        assert guess.label_map.mask("road")[30:].all()
        nameless = frame_with(ids, ("void", "sky", "road")).replace(
            image=image, metadata={"labels_from": "x (estimated)"}
        )
        assert believed(nameless) is nameless
        depth = np.full((60, 100), 300.0, np.float32)
        far = own.replace(depth=depth, labels=LabelMap(np.zeros((60, 100), np.uint8), ("tree",)))
        assert believed(far) is far
        near = believed(far.replace(metadata={"depth_from": "street (estimated)"}))
        assert near.depth is not None
        assert near.depth.max() < 80, "woods that fill the image are near"


def test_boxes_without_things_give_usual_values() -> None:
    frame = Frame(
        "f",
        np.zeros((100, 200, 3), np.uint8),
        boxes=Boxes([[10, 20, 20, 50]], ["pedestrian"], occlusion=[0.05]),
    )
    blank = frame.replace(boxes=None)
    assert Perspective.of(frame) == Perspective.of(blank), "what is partly hidden tells nothing"
    seen = frame.replace(boxes=Boxes([[10, 20, 20, 50]], ["pedestrian"], occlusion=[0.04]))
    assert Perspective.of(seen) != Perspective.of(blank)
