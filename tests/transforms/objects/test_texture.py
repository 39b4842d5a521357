"""Trees in the place of buildings: their outline and their leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.objects.replace import Foliage, foliage_of, grown, tree_line
from roadworthy.transforms.perspective import Perspective

VIEW = Perspective(horizon=60.0, camera_height=1.4, focal=200.0)


def facade(width: int = 200, height: int = 120) -> NDArray[np.bool_]:
    region = np.zeros((height, width), np.bool_)
    region[10:90, 20:180] = True
    return region


def leaves(color: tuple[int, int, int]) -> NDArray[np.uint8]:
    noise = np.random.default_rng(0).integers(-20, 21, (120, 200, 1))
    return np.clip(np.array(color) + noise, 0, 255).astype(np.uint8)


def test_trees_stand_inside_what_they_replace_and_reach_the_ground() -> None:
    region = facade()
    trees = tree_line(region, VIEW, np.random.default_rng(1))
    assert not (trees & ~region).any()
    assert 0.4 < trees.sum() / region.sum() < 0.98
    # The lower half is full, the top is not a straight line.
    assert trees[70:88, 25:175].mean() > 0.95
    tops = trees.argmax(axis=0)[25:175]
    assert tops.std() > 2


def test_trees_are_not_as_high_as_towers() -> None:
    # The foot of the facade is 30 rows below the horizon, where a metre has 30 / 1.4 pixels.
    trees = tree_line(
        facade(), Perspective(horizon=82.0, camera_height=1.4, focal=200.0), np.random.default_rng(1)
    )
    highest = 90 - trees.any(axis=1).argmax()
    assert highest <= 14.0 * 8 / 1.4 + 3


def test_the_same_seed_grows_the_same_trees() -> None:
    first, second, other = (tree_line(facade(), VIEW, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_leaves_come_from_the_trees_of_the_image() -> None:
    image = leaves((60, 110, 40))
    trees = np.zeros(image.shape[:2], np.bool_)
    trees[5:55, 20:160] = True
    image[~trees] = (200, 0, 200)
    found = foliage_of(image, trees, np.zeros_like(trees), VIEW)
    assert found.image is image
    region = facade()
    picture = grown(region, found, np.random.default_rng(2))
    # Only greens, although the rest of the image is magenta, and as much contrast as the leaves have.
    assert (picture[region][:, 1] > picture[region][:, 0]).all()
    assert picture[region][:, 1].std() > 8


def test_bare_and_grey_trees_give_way_to_those_of_the_gallery() -> None:
    trees = np.zeros((120, 200), np.bool_)
    trees[5:55, 20:160] = True
    sky = ~trees
    grey = leaves((90, 90, 95))
    assert foliage_of(grey, trees, np.zeros_like(trees), VIEW).image is not grey
    bare = leaves((60, 110, 40))
    bare[::4] = (210, 220, 230)  # sky between the twigs
    bare[sky] = (210, 220, 230)
    assert foliage_of(bare, trees, sky, VIEW).image is not bare
    found = foliage_of(bare, trees & False, sky, VIEW)
    green = found.image[found.centres[:, 0], found.centres[:, 1]].mean(axis=0)
    assert green[1] > green[2]


def test_leaves_of_the_gallery_are_darker_in_a_dark_image() -> None:
    nothing = np.zeros((120, 200), np.bool_)
    bright = foliage_of(np.full((120, 200, 3), 120, np.uint8), nothing, nothing, VIEW)
    dark = foliage_of(np.full((120, 200, 3), 30, np.uint8), nothing, nothing, VIEW)
    assert dark.image.mean() < 0.4 * bright.image.mean()


def test_leaves_cover_everything() -> None:
    # A source of one colour shows every hole.
    source = Foliage(np.full((40, 40, 3), (10, 200, 10), np.uint8), np.array([[20, 20]]), 6)
    region = facade()
    picture = grown(region, source, np.random.default_rng(0))
    assert np.ptp(picture[region][:, 0] / picture[region][:, 1]) < 0.01


def test_clumps_of_large_images_stay_on_the_canvas() -> None:
    """In 1920 × 1208 pixels a clump has a radius of a hundred; some are put beyond the edge."""
    source = Foliage(np.full((40, 40, 3), (10, 200, 10), np.uint8), np.array([[20, 20]]), 96)
    region = np.ones((70, 90), np.bool_)
    for seed in range(20):
        assert grown(region, source, np.random.default_rng(seed)).shape == (70, 90, 3)
