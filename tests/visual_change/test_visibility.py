"""VSNR, and what it says about whether a change can be seen."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from benchmarks.vif.plain import plain_excess
from tests.visual_change.pictures import noisy, picture, shown

from roadworthy.errors import InputError
from roadworthy.visual_change import ReferenceImage, Viewing, visual_change, vsnr
from roadworthy.visual_change._visibility import WEBER, Masking


class TestVisibility:
    @pytest.mark.parametrize("grain", [0, 1.5, 5])
    def test_infinite_exactly_up_to_the_threshold(self, grain: float) -> None:
        image = picture().astype(np.float64)
        error = np.random.default_rng(2).normal(size=image.shape)
        error = np.asarray(cv2.GaussianBlur(error, (0, 0), grain) if grain else error, np.float64)
        # Without a change of brightness, which is another matter.
        error -= error.mean()
        at_threshold = error / plain_excess(image, image + error)
        assert 0.05 < at_threshold.std() < 3
        for share in (0.1, 0.999):
            assert vsnr(image, image + share * at_threshold) == math.inf
            assert visual_change(image, image + share * at_threshold) == 0.0
        for share in (1.001, 1.5, 10):
            assert math.isfinite(vsnr(image, image + share * at_threshold))
            assert visual_change(image, image + share * at_threshold) > 0

    def test_noise_of_bytes_below_the_threshold_is_no_change(self) -> None:
        image = picture(contrast=1.5)
        levels = np.random.default_rng(3).choice([-1, 0, 1], p=[0.008, 0.984, 0.008], size=image.shape)
        changed = shown(image + levels.astype(np.float64))
        assert (changed != image).mean() > 0.01
        assert plain_excess(image, changed) < 1
        assert visual_change(image, changed) == 0.0

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

    def test_a_shift_is_hidden_below_the_threshold_and_seen_at_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        masking = Masking(Viewing(), 100.0, np.ones(5))
        for shift, hidden in ((WEBER * 0.999, True), (WEBER, False)):
            monkeypatch.setattr(Masking, "_shift", lambda *_, shift=shift: shift)
            assert masking.hides_shift(1.0) is hidden
            assert (masking.brightness_decibels(1.0) == math.inf) is hidden

    @pytest.mark.parametrize("error", [50.0, -50.0])
    def test_a_change_of_brightness_counts_by_what_was_there_before(self, error: float) -> None:
        viewing = Viewing()
        before, after = (float(viewing.luminance(level)) for level in (100.0, 100.0 + error))
        decibels = 20 * before / abs(after - before) - 20 * math.log10(1.5)
        assert Masking(viewing, 100.0, np.ones(5)).brightness_decibels(error) == pytest.approx(decibels)

    def test_fine_noise_is_seen_from_near_and_not_from_far(self) -> None:
        image = picture()
        changed = noisy(image, 0.5)
        assert math.isfinite(ReferenceImage(image, Viewing(distance=10)).vsnr(changed))
        assert ReferenceImage(image, Viewing(distance=160)).vsnr(changed) == math.inf
        assert ReferenceImage(image, Viewing(distance=10)).visual_change(changed) > 0
        assert ReferenceImage(image, Viewing(distance=160)).visual_change(changed) == 0

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
        assert vsnr(image, changed) != ReferenceImage(image, Viewing(gamma=1.0, black_level=1.0)).vsnr(
            changed
        )

    @pytest.mark.parametrize("name", ["resolution", "distance", "gain", "gamma"])
    @pytest.mark.parametrize("value", [0, -1.5, math.inf, math.nan])
    def test_viewing_conditions_are_positive(self, name: str, value: float) -> None:
        with pytest.raises(InputError, match=f"viewing {name} must be a positive number, got {value}"):
            Viewing(**{name: value})

    def test_luminance_is_a_power_of_the_voltage(self) -> None:
        viewing = Viewing(black_level=0.5, gain=0.01, gamma=2.0)
        assert viewing.luminance(np.array([0.0, 100.0, 300.0])) == pytest.approx([0.25, 2.25, 3.05**2])

    def test_the_black_level_may_be_zero_but_not_below(self) -> None:
        with pytest.raises(InputError, match="viewing black level must be a non-negative number, got -1"):
            Viewing(black_level=-1)
