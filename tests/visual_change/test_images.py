"""What comes in: images of every kind, those that are none, and references that are kept."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.visual_change.pictures import CHANGES, Grey, noisy, picture, shown

from roadworthy.errors import FrameError
from roadworthy.visual_change import (
    ReferenceImage,
    Viewing,
    look_distance,
    ssim,
    vif,
    vif_pixel,
    visual_change,
    vsnr,
)


class TestImages:
    def test_grey_in_three_channels_is_grey(self) -> None:
        image, changed = picture(), noisy(picture(), 10)
        in_three = ReferenceImage(np.stack([image] * 3, axis=2))
        assert in_three.visual_change(np.stack([changed] * 3, axis=2)) == visual_change(image, changed)

    def test_colours_weigh_as_in_matlab(self) -> None:
        image = np.stack([picture(seed=seed) for seed in range(3)], axis=2)
        changed = noisy(image, 20)
        grey, grey_changed = (shown(rgb @ np.array([0.2989, 0.5870, 0.1140])) for rgb in (image, changed))
        assert vif(image, changed) == pytest.approx(vif(grey, grey_changed), abs=1e-4)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_floats_of_whole_values_are_as_bytes(self, dtype: type[np.floating[Any]]) -> None:
        image, changed = picture(), noisy(picture(), 10)
        for measure, close in ((vif, 1e-5), (vif_pixel, 1e-9), (vsnr, 1e-3), (visual_change, 1e-5)):
            expected = measure(image, changed)
            assert measure(image.astype(dtype), changed.astype(dtype)) == pytest.approx(expected, abs=close)

    def test_floats_beyond_the_display_are_no_error(self) -> None:
        image = picture().astype(np.float64)
        changed = image + np.random.default_rng(1).normal(-200, 300, image.shape)
        assert visual_change(image, changed) > 0.5
        assert vsnr(image, changed) < 10
        assert vsnr(changed, image) < 10

    def test_any_layout_in_memory(self) -> None:
        image, changed = np.stack([picture()] * 3, axis=2), np.stack([noisy(picture(), 10)] * 3, axis=2)
        expected = visual_change(image[::-1, ::-1].copy(), changed[::-1, ::-1].copy())
        assert visual_change(image[::-1, ::-1], np.asfortranarray(changed[::-1, ::-1])) == expected

    def test_images_stay_as_they_are(self) -> None:
        image, changed = picture(), noisy(picture(), 10)
        before = image.copy(), changed.copy()
        for measure in (vif, vif_pixel, vsnr, visual_change):
            measure(image, changed)
        np.testing.assert_array_equal(image, before[0])
        np.testing.assert_array_equal(changed, before[1])
        image.setflags(write=False)
        changed.setflags(write=False)
        assert visual_change(image, changed) > 0

    def test_memory_stays_in_proportion(self) -> None:
        image = picture(750, 1000)
        changed = noisy(image, 10)
        tracemalloc.start()
        visual_change(image, changed)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 80 * image.size


class TestReference:
    def test_one_reference_serves_many_changes(self) -> None:
        image = picture()
        reference = ReferenceImage(image)
        for change in CHANGES.values():
            changed = change(image)
            assert reference.vif(changed) == vif(image, changed)
            assert reference.vif_pixel(changed) == vif_pixel(image, changed)
            assert reference.vsnr(changed) == vsnr(image, changed)
            assert reference.visual_change(changed) == visual_change(image, changed)

    @pytest.mark.parametrize("dtype", [np.uint8, np.float64])
    def test_it_does_not_follow_the_array_it_was_made_of(self, dtype: type[Any]) -> None:
        image: NDArray[Any] = picture().astype(dtype)
        changed: NDArray[Any] = noisy(image, 10).astype(dtype)
        expected = visual_change(image.copy(), changed)
        reference = ReferenceImage(image)
        image[:] = 0
        assert reference.visual_change(changed) == expected

    def test_it_is_frozen_and_travels_light(self) -> None:
        image = picture()
        viewing = Viewing(distance=40)
        reference = ReferenceImage(image, viewing)
        expected = reference.visual_change(noisy(image, 5))
        with pytest.raises(AttributeError):
            reference.image = image  # type: ignore[misc]
        with pytest.raises(ValueError, match="read-only"):
            reference.image[0, 0] = 1
        packed = pickle.dumps(reference)
        assert len(packed) < image.size + 1000
        unpacked = pickle.loads(packed)
        assert unpacked.viewing == viewing
        assert unpacked.visual_change(noisy(image, 5)) == expected


class TestErrors:
    @pytest.mark.parametrize(
        ("image", "complaint"),
        [
            (np.zeros((32, 32, 4), np.uint8), r"got shape \(32, 32, 4\) and dtype uint8"),
            (
                np.zeros((2, 32, 32, 3), np.uint8),
                r"\(height, width\) or \(height, width, 3\).*got shape \(2, ",
            ),
            (np.zeros(32, np.uint8), r"got shape \(32,\)"),
            (np.zeros((32, 32), np.int64), "dtype uint8 or float with values from 0 to 255, got.*int64"),
            (np.zeros((32, 32), bool), "got shape .* and dtype bool"),
            ([[1, 2]], "got a list"),
            (np.zeros((15, 0), np.uint8), "at least one pixel high and wide, got 15 × 0"),
            (np.zeros((0, 0, 3), np.uint8), "at least one pixel high and wide, got 0 × 0"),
        ],
    )
    def test_no_image(self, image: Any, complaint: str) -> None:
        with pytest.raises(FrameError, match=f"the reference image must .*{complaint}"):
            vif(image, image)
        with pytest.raises(FrameError, match=f"the changed image must .*{complaint}"):
            vif(picture(32, 32), image)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_values_that_are_no_numbers(self, value: float) -> None:
        image = picture().astype(np.float32)
        broken = image.copy()
        broken[4, 7] = value
        with pytest.raises(FrameError, match=f"must hold finite values, got {value} at row 4, column 7"):
            visual_change(broken, image)
        with pytest.raises(FrameError, match="the changed image must hold finite values"):
            visual_change(image, broken)
        colours = np.stack([image, broken, image], axis=2)
        with pytest.raises(FrameError, match=f"got {value} at row 4, column 7"):
            visual_change(colours, colours)

    @pytest.mark.parametrize("measure", [vif, vif_pixel, vsnr, visual_change])
    def test_shapes_that_differ(self, measure: Callable[[Grey, Grey], float]) -> None:
        with pytest.raises(FrameError, match=r"the reference's shape \(96, 128\), got \(96, 127\)"):
            measure(picture(), picture()[:, 1:])
        with pytest.raises(FrameError, match=r"the reference's shape \(96, 128\), got \(96, 128, 3\)"):
            measure(picture(), np.stack([picture()] * 3, axis=2))


class TestLikeness:
    @pytest.mark.parametrize(("measure", "same"), [(ssim, 1.0), (look_distance, 0.0)])
    def test_only_the_part_that_is_asked_for_counts(self, measure: Callable[..., float], same: float) -> None:
        image = np.stack([picture()] * 3, axis=2)
        changed = image.copy()
        half = image.shape[1] // 2
        changed[:, half:] = noisy(image, 40)[:, half:]
        left, right = np.zeros(image.shape[:2], np.bool_), np.zeros(image.shape[:2], np.bool_)
        left[:, : half // 4], right[:, -(half // 4) :] = True, True
        whole = measure(image, changed)
        assert measure(image, changed, left) == pytest.approx(same, abs=0.05 * abs(whole - same))
        assert abs(measure(image, changed, right) - same) > abs(whole - same)
