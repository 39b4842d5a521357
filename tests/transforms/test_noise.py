from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from roadworthy.transforms.noise import (
    GaussianNoise,
    ImpulseNoise,
    ShotNoise,
    SpeckleNoise,
    normal_noise,
    smooth_noise,
)

Image = NDArray[np.uint8]


def flat(level: int, side: int = 400) -> Image:
    return np.full((side, side, 3), level, np.uint8)


def test_gaussian_noise_is_normal() -> None:
    noise = GaussianNoise(sigma=0.1).on_image(flat(128), 4).astype(np.float64) - 128
    count = noise.size
    assert abs(noise.mean()) < 4 * 25.5 / np.sqrt(count)
    # Rounding adds a twelfth to the variance.
    assert noise.std() == pytest.approx(np.sqrt(25.5**2 + 1 / 12), rel=0.005)
    assert abs(stats.skew(noise.ravel())) < 0.02
    assert abs(stats.kurtosis(noise.ravel())) < 0.03
    for limit in (10.5, 40.5, 76.5):
        expected = stats.norm.cdf(limit / 25.5)
        assert (noise < limit).mean() == pytest.approx(
            expected, abs=4 * np.sqrt(expected * (1 - expected) / count)
        )


def test_noise_is_independent_from_value_to_value() -> None:
    noise = GaussianNoise(sigma=0.1).on_image(flat(128), 9).astype(np.float64) - 128
    for one, other in (
        (noise[:, :, 0], noise[:, :, 1]),
        (noise[:, 1:], noise[:, :-1]),
        (noise[1:], noise[:-1]),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.01


@given(sigma=st.floats(0.001, 0.02), seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_weak_noise_is_not_lost_in_rounding(sigma: float, seed: int) -> None:
    noise = GaussianNoise(sigma=sigma).on_image(flat(90, 200), seed).astype(np.float64) - 90
    deviation = 255 * sigma
    limits = np.arange(-60, 61) + 0.5
    share = np.diff(stats.norm.cdf(limits / deviation))
    expected = np.sqrt((share * np.arange(-59, 61) ** 2).sum())
    assert noise.std() == pytest.approx(expected, rel=0.02, abs=0.01)


@pytest.mark.parametrize("photons", [3.0, 12.0, 60.0, 400.0])
@pytest.mark.parametrize("level", [1, 17, 100])
def test_shot_noise_counts_photons(photons: float, level: int) -> None:
    levels = ShotNoise(photons=photons).on_image(flat(level), 6)
    counts = np.arange(0, 4000)
    shown = np.clip(np.rint(counts * 255 / photons), 0, 255).astype(int)
    chance = np.bincount(shown, stats.poisson.pmf(counts, level * photons / 255), 256)
    mean = (chance * np.arange(256)).sum()
    deviation = np.sqrt((chance * (np.arange(256) - mean) ** 2).sum())
    assert levels.mean() == pytest.approx(mean, abs=5 * deviation / np.sqrt(levels.size) + 0.02)
    assert levels.std() == pytest.approx(deviation, rel=0.02)
    seen = np.bincount(levels.ravel(), minlength=256) / levels.size
    assert np.abs(seen - chance).max() < 0.005


def test_shot_noise_needs_light_and_fades_with_more_of_it() -> None:
    assert not ShotNoise(photons=1).on_image(flat(0), 2).any()
    spread = [ShotNoise.at(amount).on_image(flat(60), 2).std() for amount in (0.05, 0.1, 0.2, 0.4)]
    for less, more in pairwise(spread):
        assert more == pytest.approx(2 * less, rel=0.15)
    assert ShotNoise(photons=9e6).on_image(flat(200), 2).std() < 0.1
    assert [ShotNoise.preset(f"imagenet-c-{k}").photons for k in range(1, 6)] == [60, 25, 12, 5, 3]


def test_speckle_noise_grows_with_brightness() -> None:
    for level in (20, 60, 120):
        noise = SpeckleNoise(sigma=0.2).on_image(flat(level), 3).astype(np.float64)
        assert noise.mean() == pytest.approx(level, abs=0.2)
        assert noise.std() == pytest.approx(0.2 * level, rel=0.02)
    assert not SpeckleNoise(sigma=1).on_image(flat(0), 3).any()


@pytest.mark.parametrize("share", [0.03, 0.27, 1.0])
def test_impulses_hit_their_share_half_black_half_white(share: float) -> None:
    hit = ImpulseNoise(share=share).on_image(flat(100), 5)
    assert set(np.unique(hit).tolist()) <= {0, 100, 255}
    assert (hit != 100).mean() == pytest.approx(share, abs=0.005)
    assert (hit == 255).mean() == pytest.approx(share / 2, abs=0.005)


def test_impulses_hit_channels_or_pixels() -> None:
    channels = ImpulseNoise(share=0.2).on_image(flat(100), 5) != 100
    assert channels.all(axis=2).mean() == pytest.approx(0.2**3, abs=0.003)
    pixels = ImpulseNoise(share=0.2, hits="pixels").on_image(flat(100), 5)
    assert np.array_equal(pixels[:, :, 0], pixels[:, :, 1])
    assert np.array_equal(pixels[:, :, 0], pixels[:, :, 2])
    assert (pixels[:, :, 0] != 100).mean() == pytest.approx(0.2, abs=0.005)


def test_fast_normal_numbers_are_normal() -> None:
    drawn = normal_noise(np.random.default_rng(2), (1000, 300)).ravel()
    # With the largest distance that a sample of this size has in one case of a thousand.
    assert stats.kstest(drawn[::3], "norm").statistic < 1.95 / np.sqrt(drawn[::3].size)
    assert drawn.std() == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("sigma", [0.8, 3.0, 7.0])
def test_smooth_noise_has_the_variance_and_correlation_of_blurred_white_noise(sigma: float) -> None:
    field = smooth_noise(np.random.default_rng(3), 500, 600, sigma)
    assert field.std() == pytest.approx(1, abs=0.06)
    step = max(1, round(sigma))
    for one, other in ((field[step:], field[:-step]), (field[:, step:], field[:, :-step])):
        found = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert found == pytest.approx(np.exp(-(step**2) / (4 * sigma**2)), abs=0.05)
