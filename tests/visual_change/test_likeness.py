"""How alike two images look: structural similarity and the distance of local statistics."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter
from tests.visual_change.pictures import CHANGES, picture

from roadworthy.visual_change import look_distance, ssim

Doubles = NDArray[np.float64]
IMAGE = np.stack([picture(70, 90, seed=seed) for seed in (1, 2, 3)], axis=2)
PART = np.zeros((70, 90), np.bool_)
PART[10:40, 20:80] = True

# Of the whole image and of a part, as they were when the thresholds of the package were chosen by them.
DISTANCES = {
    "noise": (0.0364, 0.0333),
    "blur": (0.0339, 0.0393),
    "contrast": (0.2176, 0.2238),
    "contrast up": (0.0714, 0.0731),
    "brightness": (0.1898, 0.1872),
    "negative": (0.2245, 0.2140),
    "shift": (0.0232, 0.0198),
    "a little noise": (0.0021, 0.0018),
}


def changed(name: str) -> NDArray[np.uint8]:
    planes = [CHANGES[name](np.ascontiguousarray(IMAGE[..., channel])) for channel in range(3)]
    return np.stack(planes, axis=2)


def plain_ssim(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> Doubles:
    """Equation 13 of Wang et al. with their window of 11 × 11 and deviation 1.5."""
    x, y = (np.rint(image @ np.array([0.299, 0.587, 0.114])) for image in (one, other))
    mean = partial(gaussian_filter, sigma=1.5, mode="mirror", radius=5)
    about_x, about_y = mean(x), mean(y)
    spread_x, spread_y = (mean(a * a) - b * b for a, b in ((x, about_x), (y, about_y)))
    both = mean(x * y) - about_x * about_y
    c1, c2 = 6.5025, 58.5225
    above = (2 * about_x * about_y + c1) * (2 * both + c2)
    return np.asarray(above / ((about_x**2 + about_y**2 + c1) * (spread_x + spread_y + c2)))


@pytest.mark.parametrize("name", CHANGES)
def test_structural_similarity_is_that_of_its_paper(name: str) -> None:
    other = changed(name)
    expected = plain_ssim(IMAGE, other)
    assert ssim(IMAGE, other) == pytest.approx(float(expected.mean()), abs=2e-3)
    assert ssim(IMAGE, other, PART) == pytest.approx(float(expected[PART].mean()), abs=2e-3)


@pytest.mark.parametrize("name", CHANGES)
def test_the_distance_of_looks_is_what_it_was(name: str) -> None:
    other = changed(name)
    found = look_distance(IMAGE, other), look_distance(IMAGE, other, PART)
    assert found == pytest.approx(DISTANCES[name], abs=3e-4)
    assert look_distance(other, IMAGE) == pytest.approx(found[0], rel=1e-4), "in both directions alike"


def test_the_distance_of_plain_grey_images_is_that_of_their_brightness() -> None:
    def grey(level: int) -> Any:
        return np.full((64, 64, 3), level, np.uint8)

    # L* of 119 is 50, of 255 it is 100: 50 × 2.55 levels of 90, and a quarter of that for four features.
    assert look_distance(grey(119), grey(255)) == pytest.approx(50 * 2.55 / 90 / 4, rel=0.01)
    assert look_distance(grey(119), grey(119)) == 0
    assert look_distance(grey(0), grey(255), np.zeros((64, 64), np.bool_)) == 0, "of no part there is none"


def test_local_deviation_counts_beside_the_mean() -> None:
    rng = np.random.default_rng(2)
    rough = np.repeat(rng.integers(60, 190, (64, 64, 1), dtype=np.uint8), 3, axis=2)
    smooth = np.asarray(np.rint(uniform_filter(rough.astype(float), (9, 9, 1))), np.uint8)
    assert look_distance(rough, smooth) > 2 * look_distance(
        smooth, np.clip(smooth.astype(int) + 6, 0, 255).astype(np.uint8)
    )
    assert ssim(rough, smooth) < 0.3
