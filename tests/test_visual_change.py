"""Visual change, checked against a plain version in double precision and against what the papers promise."""

from __future__ import annotations

import importlib.util
import math
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.errors import FrameError, InputError
from roadworthy.visual_change import (
    Reference,
    Viewing,
    vif,
    vif_pixel,
    visual_change,
    visual_changes,
    vsnr,
)

Grey = NDArray[np.uint8]


def _plain_version() -> ModuleType:
    """Load the benchmark, which is not installed: the plain version that it measures against lives there."""
    path = Path(__file__).resolve().parents[1] / "benchmarks" / "visual_change.py"
    spec = importlib.util.spec_from_file_location("plain_visual_change", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain = _plain_version()


def shown(pixels: NDArray[Any]) -> Grey:
    return np.asarray(np.rint(np.clip(pixels, 0, 255)), np.uint8)


def picture(height: int = 96, width: int = 128, seed: int = 3, contrast: float = 1.0) -> Grey:
    """Structure at every scale, and edges, around a middle grey."""
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width))
    for scale in range(5):
        pixels += 9 * 2**scale * cv2.GaussianBlur(rng.normal(size=(height, width)), (0, 0), 1.6**scale)
    pixels[height // 3 : height // 2, width // 4 : width // 2] += 40
    return shown(128 + contrast * pixels)


def noisy(image: NDArray[Any], scale: float, seed: int = 9) -> Grey:
    return shown(image + np.random.default_rng(seed).normal(scale=scale, size=image.shape))


def blurred(image: Grey, scale: float) -> Grey:
    return shown(cv2.GaussianBlur(image, (0, 0), scale))


CHANGES: dict[str, Callable[[Grey], Grey]] = {
    "noise": lambda image: noisy(image, 12),
    "blur": lambda image: blurred(image, 1.5),
    "contrast": lambda image: shown(128 + 0.4 * (image - 128.0)),
    "contrast up": lambda image: shown(128 + 1.2 * (image - 128.0)),
    "brightness": lambda image: shown(image + 60.0),
    "negative": lambda image: 255 - image,
    "shift": lambda image: np.roll(image, 1, axis=1),
    "a little noise": lambda image: noisy(image, 0.6),
}


@pytest.mark.parametrize("size", [(96, 128), (160, 224), (128, 96)])
@pytest.mark.parametrize("change", CHANGES)
def test_the_plain_version_gives_the_same(change: str, size: tuple[int, int]) -> None:
    reference = picture(*size)
    changed = CHANGES[change](reference)
    assert vif(reference, changed) == pytest.approx(plain.plain_vif(reference, changed), abs=1e-5)
    assert vsnr(reference, changed) == pytest.approx(plain.plain_vsnr(reference, changed), abs=1e-3)
    assert visual_change(reference, changed) == pytest.approx(
        plain.plain_visual_change(reference, changed), abs=1e-5
    )


@pytest.mark.parametrize("size", [(73, 101), (33, 64), (21, 300), (30, 47)])
def test_odd_and_small_sizes_are_as_in_the_plain_version(size: tuple[int, int]) -> None:
    reference = picture(*size)
    changed = noisy(reference, 12)
    assert vif(reference, changed) == pytest.approx(plain.plain_vif(reference, changed), abs=1e-5)


def test_smooth_images_of_finer_values_are_precise_too() -> None:
    reference = np.asarray(cv2.GaussianBlur(picture().astype(np.float64), (0, 0), 6), np.float64)
    changed = reference + np.random.default_rng(1).normal(scale=3, size=reference.shape)
    assert vif(reference, changed) == pytest.approx(plain.plain_vif(reference, changed), abs=1e-6)


@settings(max_examples=60)
@given(
    height=st.integers(16, 130),
    width=st.integers(16, 130),
    seed=st.integers(0, 99),
    contrast=st.floats(0, 3),
    channels=st.sampled_from([1, 3]),
)
def test_any_size_gives_sensible_numbers(
    height: int, width: int, seed: int, contrast: float, channels: int
) -> None:
    image = picture(height, width, seed, contrast)
    if channels == 3:
        image = np.stack([image, image[::-1], image[:, ::-1]], axis=2)
    reference = Reference(image)
    assert reference.vif(image) == 1.0
    assert reference.vif_pixel(image) == 1.0
    assert reference.vsnr(image) == math.inf
    assert reference.visual_change(image) == 0.0
    changed = noisy(image, 25, seed)
    for fidelity in (reference.vif(changed), reference.vif_pixel(changed)):
        assert math.isfinite(fidelity)
        assert fidelity >= 0
    assert reference.vsnr(changed) < 100
    assert 0 <= reference.visual_change(changed) <= 1


@given(noise=st.floats(0, 3), shift=st.integers(-3, 3), seed=st.integers(0, 9))
def test_zero_exactly_where_vsnr_is_infinite_or_vif_above_one(noise: float, shift: int, seed: int) -> None:
    image = picture(64, 64, seed)
    changed = noisy(image + float(shift), noise, seed)
    reference = Reference(image)
    fidelity = reference.vif(changed)
    expected = 0.0 if reference.vsnr(changed) == math.inf or fidelity > 1 else 1 - fidelity
    assert reference.visual_change(changed) == expected


class TestVisualChange:
    def test_a_change_of_one_level_at_a_few_pixels_is_none(self) -> None:
        image = picture()
        changed = image.copy()
        changed[5:90:20, 7:120:25] += 1
        assert vif(image, changed) < 1
        assert vsnr(image, changed) == math.inf
        assert visual_change(image, changed) == 0.0

    @pytest.mark.parametrize(
        "changes",
        [
            [lambda image, scale=scale: noisy(image, scale) for scale in (2, 5, 10, 20, 40, 80)],
            [lambda image, scale=scale: blurred(image, scale) for scale in (0.5, 0.8, 1.2, 2, 4, 8)],
            [
                lambda image, share=share: shown(128 + share * (image - 128.0))
                for share in (0.9, 0.7, 0.5, 0.3, 0.1, 0.01)
            ],
        ],
        ids=["noise", "blur", "contrast"],
    )
    def test_the_stronger_the_change_the_more_is_seen(self, changes: list[Callable[[Grey], Grey]]) -> None:
        image = picture()
        reference = Reference(image)
        values = [reference.visual_change(change(image)) for change in changes]
        assert values == sorted(values)
        assert values[0] > 0
        assert values[-1] > 0.85
        ratios = [reference.vsnr(change(image)) for change in changes]
        assert ratios[0] > ratios[-1]

    def test_raising_the_contrast_without_loss_improves_the_image(self) -> None:
        image = picture(contrast=0.5)
        raised = shown(128 + 1.5 * (image - 128.0))
        assert vif(image, raised) > 1.05
        assert vsnr(image, raised) < 30
        assert visual_change(image, raised) == 0.0

    def test_where_nothing_is_left_it_is_one(self) -> None:
        image = picture()
        assert visual_change(image, np.full_like(image, 128)) == 1.0
        assert visual_change(image, 255 - image) == 1.0

    def test_a_measure_of_pixels_differs(self) -> None:
        image = picture()
        assert abs(vif(image, noisy(image, 10)) - vif_pixel(image, noisy(image, 10))) > 0.02


class TestVisibility:
    def test_one_scale_above_its_threshold_is_enough(self) -> None:
        """Fine noise hides among the contrast of all scales together, but not among that of its own."""
        rng = np.random.default_rng(4)
        image = shown(128 + 400 * cv2.GaussianBlur(rng.normal(size=(128, 128)), (0, 0), 5))
        changed = noisy(image, 0.5)
        assert np.std(changed - image.astype(np.float64)) < image.std() / 30
        assert math.isfinite(vsnr(image, changed))

    @pytest.mark.parametrize(("shift", "hidden"), [(1, False), (40, False), (0, True)])
    def test_a_change_of_brightness_alone(self, shift: int, hidden: bool) -> None:
        image = picture(contrast=0.5)
        brighter = shown(image + float(shift))
        assert (vsnr(image, brighter) == math.inf) is hidden
        assert visual_change(image, brighter) == pytest.approx(0, abs=1e-6)

    def test_half_a_percent_of_the_luminance_is_not_seen(self) -> None:
        image = picture(contrast=0.5).astype(np.float64)
        assert vsnr(image, image * 1.002) == math.inf
        assert math.isfinite(vsnr(image, image * 1.01))

    def test_fine_noise_is_seen_from_near_and_not_from_far(self) -> None:
        image = picture()
        changed = noisy(image, 0.5)
        assert math.isfinite(vsnr(image, changed, Viewing(distance=10)))
        assert vsnr(image, changed, Viewing(distance=160)) == math.inf
        assert visual_change(image, changed, Viewing(distance=10)) > 0
        assert visual_change(image, changed, Viewing(distance=160)) == 0

    def test_a_regular_pattern_that_vanishes_is_seen(self) -> None:
        """Its wavelet details are all the same: they have an energy, but no deviation from their mean."""
        stripes = np.tile(np.array([60, 180], np.uint8), (64, 32))
        assert vsnr(stripes, np.full_like(stripes, 120)) < 30

    def test_a_lamp_that_goes_out_at_night_is_seen(self) -> None:
        """The error is far below minus the mean of the image, where the authors' code cuts it off."""
        night = np.full((64, 64), 2, np.uint8)
        lamp = night.copy()
        lamp[30:34, 30:34] = 250
        assert math.isfinite(vsnr(lamp, night))
        assert visual_change(lamp, night) == 1.0

    def test_the_display_decides_what_is_seen_of_the_dark(self) -> None:
        image = picture(contrast=0.5)
        changed = noisy(image, 8)
        assert vsnr(image, changed) != vsnr(image, changed, Viewing(gamma=1.0, black_level=1.0))

    @pytest.mark.parametrize("name", ["resolution", "distance", "gain", "gamma"])
    @pytest.mark.parametrize("value", [0, -1.5, math.inf, math.nan])
    def test_viewing_conditions_are_positive(self, name: str, value: float) -> None:
        with pytest.raises(InputError, match=f"viewing {name} must be a positive number, got {value}"):
            Viewing(**{name: value})

    def test_the_black_level_may_be_zero_but_not_below(self) -> None:
        with pytest.raises(InputError, match="viewing black level must be a non-negative number, got -1"):
            Viewing(black_level=-1)


class TestFlatReference:
    @pytest.mark.parametrize("level", [0, 1, 128, 200, 255])
    def test_identical_or_only_brighter(self, level: int) -> None:
        flat = np.full((40, 50), level, np.uint8)
        other = np.full_like(flat, (level + 90) % 256)
        assert vif(flat, flat) == vif_pixel(flat, flat) == 1.0
        assert vsnr(flat, flat) == math.inf
        assert vif(flat, other) == vif_pixel(flat, other) == 1.0
        assert math.isfinite(vsnr(flat, other))
        assert visual_change(flat, other) == 0.0

    @pytest.mark.parametrize("level", [0, 1, 128, 255])
    def test_the_more_noise_the_more_change(self, level: int) -> None:
        reference = Reference(np.full((40, 50), level, np.uint8))
        changes = [noisy(reference.image, scale) for scale in (2, 8, 30)]
        values = [reference.visual_change(change) for change in changes]
        assert values == sorted(values)
        assert 0 < values[0] < values[-1] < 1
        assert [reference.vsnr(change) for change in changes] == [-math.inf] * 3

    def test_flat_along_one_direction(self) -> None:
        """The covariance of blocks is singular then: the pixels of a column are all the same."""
        for image in (np.tile(picture(1 + 15, 128)[:1], (90, 1)), np.tile(picture(128, 16)[:, :1], (1, 90))):
            reference = Reference(image)
            assert reference.vif(image) == 1.0
            values = [reference.visual_change(noisy(image, scale)) for scale in (5, 20, 60)]
            assert values == sorted(values)
            assert 0 < values[0] < values[-1] < 1


class TestImages:
    def test_grey_in_three_channels_is_grey(self) -> None:
        image, changed = picture(), noisy(picture(), 10)
        in_three = Reference(np.stack([image] * 3, axis=2))
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
        reference = Reference(image)
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
        reference = Reference(image)
        image[:] = 0
        assert reference.visual_change(changed) == expected

    def test_it_is_frozen_and_travels_light(self) -> None:
        image = picture()
        viewing = Viewing(distance=40)
        reference = Reference(image, viewing)
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


class TestBatches:
    @pytest.mark.parametrize("channels", [(), (3,)])
    def test_a_batch_is_its_images(self, channels: tuple[int, ...]) -> None:
        images = np.stack([np.broadcast_to(picture(seed=seed).T, (*channels, 128, 96)) for seed in range(4)])
        images = np.moveaxis(images, 1, -1) if channels else images
        changes = np.stack([noisy(image, 4 * k) for k, image in enumerate(images)])
        expected = [visual_change(*pair) for pair in zip(images, changes, strict=True)]
        assert visual_changes(images, changes).tolist() == expected
        assert expected[0] == 0
        kept = visual_changes(Reference(images[2]), changes)
        assert kept.dtype == np.float64
        assert kept.tolist() == [visual_change(images[2], changed) for changed in changes]

    def test_viewing_conditions_reach_every_image(self) -> None:
        images = np.stack([picture(), picture()])
        changes = np.stack([noisy(picture(), 0.5)] * 2)
        assert visual_changes(images, changes, Viewing(distance=10)).min() > 0
        assert visual_changes(images, changes, Viewing(distance=160)).max() == 0

    def test_none_gives_none(self) -> None:
        none = np.empty((0, 32, 32), np.uint8)
        assert visual_changes(none, none).shape == (0,)

    def test_what_does_not_fit_together(self) -> None:
        images = np.stack([picture(), picture()])
        with pytest.raises(FrameError, match=r"references' shape \(2, 96, 128\), got \(1, 96, 128\)"):
            visual_changes(images, images[:1])
        with pytest.raises(FrameError, match=r"\(n, height, width, 3\), got shape \(96, 128\)"):
            visual_changes(Reference(images[0]), images[0])
        with pytest.raises(InputError, match="viewing conditions belong to the Reference"):
            visual_changes(Reference(images[0]), images, Viewing())


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
            (np.zeros((15, 40), np.uint8), "at least 16 pixels high and wide, got 15 × 40"),
            (np.zeros((0, 0, 3), np.uint8), "at least 16 pixels high and wide, got 0 × 0"),
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
