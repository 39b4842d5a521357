from __future__ import annotations

import colorsys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.transforms import kind_of, make_transform
from roadworthy.transforms.tone import Brightness, ColourJitter, Contrast, RGBShift, Saturate
from roadworthy.visual_change import ReferenceImage

Image = NDArray[np.uint8]
LUMA = np.array([0.299, 0.587, 0.114])


def noise(seed: int, height: int = 23, width: int = 31) -> Image:
    """Pixels of all colours, black, white and grey among them."""
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    image[0, :3] = [[0, 0, 0], [255, 255, 255], [77, 77, 77]]
    return image


def rounded(values: NDArray[np.floating]) -> Image:
    levels: Image = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return levels


@given(bias=st.integers(-255, 255), seed=st.integers(0, 99))
def test_brightness_moves_all_channels_alike(bias: int, seed: int) -> None:
    image = noise(seed)
    assert np.array_equal(Brightness(bias=bias).on_image(image), rounded(image + float(bias)))


@pytest.mark.parametrize("bias", [-90, 25.5, 51, 200])
def test_brightness_of_the_value_is_that_of_hsv(bias: float) -> None:
    image = noise(4)
    changed = Brightness(bias=bias, space="value").on_image(image)
    for before, after in zip(image.reshape(-1, 3), changed.reshape(-1, 3), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(before / 255).tolist())
        expected = colorsys.hsv_to_rgb(hue, saturation, min(max(value + bias / 255, 0), 1))
        assert np.abs(np.array(expected) * 255 - after).max() <= 0.51, before


@given(gain=st.floats(0, 20), seed=st.integers(0, 99))
def test_contrast_about_black_multiplies(gain: float, seed: int) -> None:
    image = noise(seed)
    changed = Contrast(gain=gain, pivot="black").on_image(image).astype(int)
    assert np.abs(changed - np.clip(image * gain, 0, 255)).max() <= 0.501


@given(gain=st.floats(0, 20), seed=st.integers(0, 99))
def test_contrast_about_the_mean_keeps_the_mean_of_each_channel_in_place(gain: float, seed: int) -> None:
    image = (noise(seed) * np.array([0.2, 0.6, 1.0])).astype(np.uint8)  # channels with very different means
    mean = image.mean(axis=(0, 1))
    changed = Contrast(gain=gain).on_image(image)
    assert np.abs(changed - np.clip(mean + gain * (image - mean), 0, 255)).max() <= 0.51 + abs(1 - gain) * 0.2


def test_the_published_values_are_presets() -> None:
    assert [Contrast.preset(f"deeptest-{k}").gain for k in (1, 2, 10)] == [1.2, 1.4, 3.0]
    assert [Brightness.preset(f"deeptest-{k}").bias for k in (1, 10)] == [10, 100]
    assert [Contrast.preset(f"imagenet-c-{k}").gain for k in range(1, 6)] == [0.4, 0.3, 0.2, 0.1, 0.05]
    assert Contrast.preset("deeptest-1").pivot == "black"
    assert Contrast.preset("imagenet-c-1").pivot == "mean"
    assert Brightness.preset("imagenet-c-5") == Brightness(bias=127.5, space="value")
    assert str(Brightness.preset("deeptest-4")) == "brightness(bias=40)"


def test_the_shift_of_each_channel_is_one_number() -> None:
    image = np.full((8, 8, 3), 128, np.uint8)
    seen = set()
    for seed in range(40):
        moved = RGBShift(shift=50).on_image(image, seed).astype(int) - 128
        assert (moved == moved[0, 0]).all()
        seen.add(tuple(moved[0, 0].tolist()))
    assert seen == {(r, g, b) for r in (-50, 50) for g in (-50, 50) for b in (-50, 50)}
    drawn = np.array([RGBShift(shift=50, draw="uniform").on_image(image, seed)[0, 0] for seed in range(300)])
    assert drawn.min() >= 78
    assert drawn.max() <= 178
    assert np.abs(drawn.mean(axis=0) - 128).max() < 6
    assert np.abs(drawn.std(axis=0) - 50 / np.sqrt(3)).max() < 4


def test_jitter_of_brightness_alone_multiplies() -> None:
    image = noise(1) // 4
    change = ColourJitter(brightness=0.5, contrast=0, saturation=0, hue=0)
    results = {change.on_image(image, seed).tobytes() for seed in range(12)}
    assert len(results) == 2
    for one in results:
        factor = np.frombuffer(one, np.uint8).sum() / image.sum()
        assert factor == pytest.approx(0.5, abs=0.02) or factor == pytest.approx(1.5, abs=0.02)


def test_jitter_of_colour_alone_keeps_the_luma() -> None:
    image = noise(2) // 3 + 80  # far from black and white, where colours are cut off
    for change in (
        ColourJitter(brightness=0, contrast=0, saturation=0, hue=0.3),
        ColourJitter(brightness=0, contrast=0, saturation=0.6, hue=0),
    ):
        changed = change.on_image(image, 5)
        assert np.abs(changed.astype(int) - image).mean() > 5
        assert np.abs(changed @ LUMA - image @ LUMA).max() < 1.1
    grey = np.repeat(image[:, :, :1], 3, axis=2)
    same = ColourJitter(brightness=0, contrast=0, saturation=1, hue=0.5).on_image(grey, 3)
    assert np.abs(same.astype(int) - grey).max() <= 1


@pytest.mark.parametrize(("scale", "shift"), [(0.0, 0.0), (0.3, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2)])
def test_saturation_is_that_of_hsv(scale: float, shift: float) -> None:
    image = noise(7)
    changed = Saturate(scale=scale, shift=shift).on_image(image)
    for before, after in zip(image.reshape(-1, 3), changed.reshape(-1, 3), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(before / 255).tolist())
        wanted = min(max(scale * saturation + shift, 0), 1) if saturation else 0.0
        expected = np.array(colorsys.hsv_to_rgb(hue, wanted, value)) * 255
        assert np.abs(expected - after).max() <= 0.51, before


@pytest.mark.parametrize(
    "name",
    [
        "rgb-shift",
        "contrast",
        "defocus-blur",
        "brightness",
        "frost",
        "colour-jitter",
        "jpeg",
        "gaussian-noise",
    ],
)
def test_the_eight_of_hu_et_al_cover_the_range_of_visual_change(name: str, town: Frame) -> None:
    reference = ReferenceImage(town.image)

    def visual_change(amount: float, seed: int) -> float:
        return reference.visual_change(kind_of(name).at(amount).on_image(town.image, seed))

    for seed in (1, 2):
        changes = [visual_change(amount, seed) for amount in np.linspace(0, 1, 9)]
        assert changes[0] == 0
        assert changes[-1] > 0.85
        assert all(more > less - 0.02 for less, more in pairwise(changes)), changes
    for wanted in (0.2, 0.5, 0.8):
        low, high = 0.0, 1.0
        for _ in range(8):
            middle = (low + high) / 2
            low, high = (middle, high) if visual_change(middle, 1) < wanted else (low, middle)
        assert visual_change(high, 1) == pytest.approx(wanted, abs=0.05)


def test_amount_and_name_work_together() -> None:
    assert str(make_transform("contrast", amount=0.25)) == "contrast(gain=0.75)"
    assert str(make_transform("color-jitter", hue=0.2, draw="uniform")).startswith(
        "colour-jitter(brightness=0.3"
    )
