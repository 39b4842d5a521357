"""Visual change, checked against a plain version in double precision and against what the papers promise."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
import pytest
from benchmarks.vif.plain import plain_vif, plain_vif_pixel, plain_visual_change, plain_vsnr
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.visual_change.pictures import CHANGES, Grey, blurred, compressed, noisy, picture, sharpened, shown

from roadworthy.visual_change import ReferenceImage, vif, vif_pixel, visual_change, vsnr
from roadworthy.visual_change._fidelity import BAND, FIRST_LOW, LOW


@pytest.mark.parametrize("size", [(96, 128), (160, 224), (128, 96)])
@pytest.mark.parametrize("change", CHANGES)
def test_the_plain_version_gives_the_same(change: str, size: tuple[int, int]) -> None:
    reference = picture(*size)
    changed = CHANGES[change](reference)
    assert vif(reference, changed) == pytest.approx(plain_vif(reference, changed), abs=1e-5)
    assert vsnr(reference, changed) == pytest.approx(plain_vsnr(reference, changed), abs=1e-3)
    assert visual_change(reference, changed) == pytest.approx(
        plain_visual_change(reference, changed), abs=1e-5
    )


# VIF, VIF of pixels, VSNR in dB and visual change of one picture: thresholds hold for these numbers only.
KNOWN = {
    "noise": (0.355010, 0.215645, 11.0358, 0.644990),
    "blur": (0.521769, 0.599254, 18.3866, 0.478231),
    "contrast": (0.458828, 0.475680, 7.3513, 0.541172),
    "contrast up": (1.137427, 1.103871, 17.2971, 0.0),
    "brightness": (1.0, 1.0, 12.0906, 0.0),
    "negative": (0.0, 0.0, -2.9342, 1.0),
    "shift": (0.621630, 0.571887, 15.5089, 0.378370),
    "a little noise": (0.987927, 0.950011, 39.8528, 0.012073),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_measure_is_what_it_was(change: str) -> None:
    image = picture()
    changed = CHANGES[change](image)
    found = [measure(image, changed) for measure in (vif, vif_pixel, vsnr, visual_change)]
    assert found == pytest.approx(KNOWN[change], abs=1e-4)


def test_the_filters_are_those_of_the_pyramid_with_six_orientations() -> None:
    """sp5Filters of matlabPyrTools: even filters that keep the mean, and bands that know none."""
    assert FIRST_LOW.shape == (5, 5)
    assert LOW.shape == (9, 9)
    assert BAND.shape == (7, 7)
    for low, total, energy in ((FIRST_LOW, 0.99918, 0.284273), (LOW, 2.0, 0.285495)):
        assert (low == low.T).all()
        assert (low == low[::-1]).all()
        assert (low.sum(), (low**2).sum()) == pytest.approx((total, energy), abs=1e-6)
    assert (-BAND[::-1] == BAND).all()
    assert (BAND[:, ::-1] == BAND).all()
    ramp = np.arange(49).reshape(7, 7)
    known = (2.584444, 0.0625676, 0.18770284)
    sums = (BAND * ramp).sum(), (BAND**2).sum(), (BAND**2 * np.arange(7)).sum()
    assert sums == pytest.approx(known, abs=1e-6)
    assert BAND[3].tolist() == [0.0] * 7


@pytest.mark.parametrize("size", [(96, 128), (73, 101), (41, 60), (30, 47), (17, 17)])
@pytest.mark.parametrize("change", ["noise", "blur", "contrast up", "negative"])
def test_pixels_are_as_in_the_plain_version(change: str, size: tuple[int, int]) -> None:
    reference = picture(*size)
    changed = CHANGES[change](reference)
    assert vif_pixel(reference, changed) == pytest.approx(plain_vif_pixel(reference, changed), abs=1e-8)


@pytest.mark.parametrize("size", [(73, 101), (33, 64), (21, 300), (30, 47)])
def test_odd_and_small_sizes_are_as_in_the_plain_version(size: tuple[int, int]) -> None:
    reference = picture(*size)
    changed = noisy(reference, 12)
    assert vif(reference, changed) == pytest.approx(plain_vif(reference, changed), abs=1e-5)


def test_smooth_images_of_finer_values_are_precise_too() -> None:
    reference = np.asarray(cv2.GaussianBlur(picture().astype(np.float64), (0, 0), 6), np.float64)
    changed = reference + np.random.default_rng(1).normal(scale=3, size=reference.shape)
    assert vif(reference, changed) == pytest.approx(plain_vif(reference, changed), abs=1e-6)


@settings(max_examples=60)
@given(
    height=st.integers(1, 130),
    width=st.integers(1, 130),
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
    reference = ReferenceImage(image)
    assert reference.vif(image) == 1.0
    assert reference.vif_pixel(image) == 1.0
    assert reference.vsnr(image) == math.inf
    assert reference.visual_change(image) == 0.0
    changed = noisy(image, 25, seed)
    for fidelity in (reference.vif(changed), reference.vif_pixel(changed)):
        assert math.isfinite(fidelity)
        assert fidelity >= 0
    # On a few pixels the noise may come to no more than a change of brightness, or to none.
    if min(height, width) >= 16:
        assert reference.vsnr(changed) < 100
    assert 0 <= reference.visual_change(changed) <= 1


def test_images_of_a_few_pixels_are_their_reflections() -> None:
    """Where the least size of a measure is not reached, the image goes on as in a mirror."""
    image, changed = picture(9, 9), noisy(picture(9, 9), 20)
    grown, grown_changed = (np.pad(pixels, 6, mode="reflect") for pixels in (image, changed))
    assert vif(image, changed) == pytest.approx(vif(grown, grown_changed), abs=1e-5)
    one = np.full((1, 1), 7, np.uint8)
    assert visual_change(one, one) == 0.0


@given(noise=st.floats(0, 3), shift=st.integers(-3, 3), seed=st.integers(0, 9))
def test_zero_exactly_where_vsnr_is_infinite_or_vif_above_one(noise: float, shift: int, seed: int) -> None:
    image = picture(64, 64, seed)
    changed = noisy(image + float(shift), noise, seed)
    reference = ReferenceImage(image)
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
            [lambda image, quality=quality: compressed(image, quality) for quality in (90, 60, 30, 15, 6, 1)],
        ],
        ids=["noise", "blur", "contrast", "JPEG"],
    )
    def test_the_stronger_the_change_the_more_is_seen(self, changes: list[Callable[[Grey], Grey]]) -> None:
        image = picture()
        reference = ReferenceImage(image)
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

    def test_sharpening_improves_the_image(self) -> None:
        image = picture(contrast=0.5)
        changed = sharpened(image, 0.5)
        assert vif(image, changed) > 1
        assert math.isfinite(vsnr(image, changed))
        assert visual_change(image, changed) == 0.0

    def test_where_nothing_is_left_it_is_one(self) -> None:
        image = picture()
        assert visual_change(image, np.full_like(image, 128)) == 1.0
        assert visual_change(image, 255 - image) == 1.0

    def test_a_measure_of_pixels_differs(self) -> None:
        image = picture()
        assert abs(vif(image, noisy(image, 10)) - vif_pixel(image, noisy(image, 10))) > 0.02


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
        reference = ReferenceImage(np.full((40, 50), level, np.uint8))
        changes = [noisy(reference.image, scale) for scale in (2, 8, 30)]
        values = [reference.visual_change(change) for change in changes]
        assert values == sorted(values)
        assert 0 < values[0] < values[-1] < 1
        assert [reference.vsnr(change) for change in changes] == [-math.inf] * 3

    def test_flat_along_one_direction(self) -> None:
        """The covariance of blocks is singular then: the pixels of a column are all the same."""
        for image in (np.tile(picture(1 + 15, 128)[:1], (90, 1)), np.tile(picture(128, 16)[:, :1], (1, 90))):
            reference = ReferenceImage(image)
            assert reference.vif(image) == 1.0
            values = [reference.visual_change(noisy(image, scale)) for scale in (5, 20, 60)]
            assert values == sorted(values)
            assert 0 < values[0] < values[-1] < 1
