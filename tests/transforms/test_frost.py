from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Frame
from roadworthy.transforms.lens import TEXTURES, Frost, frost_texture


def test_a_picture_of_frost_has_dark_glass_and_bright_thin_crystals() -> None:
    picture = frost_texture(1)
    assert frost_texture(1) is picture  # drawn once
    with pytest.raises(ValueError, match="read-only"):
        picture[0, 0] = 0
    again = frost_texture.__wrapped__(1)
    assert np.array_equal(again, picture)  # and the same wherever it is drawn
    grey = picture.mean(axis=2)
    assert np.percentile(grey, 10) < 90
    assert np.percentile(grey, 99.5) > 190
    # Thin: neighbours differ much more than in a cloud of the same contrast.
    assert np.abs(np.diff(grey, axis=1)).mean() > 0.1 * grey.std()
    # Icy: blue is not below red.
    assert picture[:, :, 2].mean() > picture[:, :, 0].mean()


def test_the_image_and_the_frost_are_weighted(town: Frame) -> None:
    black = np.zeros_like(town.image)
    frost = Frost(scale=1, frost=1).on_image(black, 4).astype(np.float64)
    changed = Frost(scale=0.6, frost=0.5).on_image(town.image, 4)
    assert np.abs(changed - np.clip(0.6 * town.image + 0.5 * frost, 0, 255)).max() <= 0.51


def test_nothing_of_the_image_is_left_in_the_end(town: Frame) -> None:
    other = 255 - town.image
    assert np.array_equal(Frost.at(1).on_image(town.image, 4), Frost.at(1).on_image(other, 4))


def test_frost_differs_from_seed_to_seed() -> None:
    black = np.zeros((90, 160, 3), np.uint8)
    seen = [Frost.at(1).on_image(black, seed) for seed in range(6)]
    for index, one in enumerate(seen):
        for other in seen[:index]:
            assert np.abs(one.astype(int) - other).mean() > 10


@pytest.mark.parametrize("size", [(16, 16), (16, 300), (300, 17), (641, 359)])
def test_any_shape_of_image_gets_its_part(size: tuple[int, int]) -> None:
    image = np.full((*size, 3), 100, np.uint8)
    for seed in range(3):
        changed = Frost.preset("imagenet-c-2").on_image(image, seed)
        assert changed.shape == image.shape
        assert changed.std() > 2


def test_the_published_values_are_presets() -> None:
    published = [(1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)]
    found = [Frost.preset(f"imagenet-c-{k}") for k in range(1, 6)]
    assert [(one.scale, one.frost) for one in found] == published
    assert TEXTURES == 5
