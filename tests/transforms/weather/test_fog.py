from __future__ import annotations

import math

import numpy as np
import pytest

from roadworthy.frames import Frame
from roadworthy.transforms import make_transform
from roadworthy.transforms.weather.fog import Fog


def contrast(image: np.ndarray, row: int) -> float:
    """Of a row whose left half is bright and whose right half is dark."""
    half = image.shape[1] // 2
    return float(image[row, : half - 2].mean() - image[row, half + 2 :].mean())


@pytest.fixture
def striped() -> Frame:
    """Each row is as many metres away as its number says; left bright, right dark."""
    image = np.full((120, 40, 3), 40, np.uint8)
    image[:, :20] = 200
    depth = np.repeat(np.arange(1, 121, dtype=np.float32)[:, None], 40, axis=1)
    return Frame("striped", image, depth=depth)


@pytest.mark.parametrize("visibility", [40.0, 90.0, 300.0])
@pytest.mark.parametrize("metres", [5, 20, 60, 110])
def test_contrast_falls_with_distance_as_koschmieder_says(
    visibility: float, metres: int, striped: Frame
) -> None:
    fog = make_transform("fog", amount=1, visibility=visibility, overcast=0, patches=0)
    changed = fog(striped, 1, measure=False).image
    expected = contrast(striped.image, metres - 1) * math.exp(-3.912 * metres / visibility)
    assert contrast(changed, metres - 1) == pytest.approx(expected, abs=1.5)


def test_at_the_visibility_two_percent_of_the_contrast_are_left(striped: Frame) -> None:
    fog = make_transform("fog", amount=1, visibility=100, overcast=0, patches=0)
    left = contrast(fog(striped, 1, measure=False).image, 99) / contrast(striped.image, 99)
    assert left == pytest.approx(0.02, abs=0.01)


def test_all_that_is_far_has_the_colour_of_the_air(striped: Frame) -> None:
    changed = make_transform("fog:heavy")(striped, 1, measure=False).image[-1].astype(int)
    assert np.ptp(changed, axis=0).max() <= 3
    assert np.ptp(changed[0]) < 15  # grey


def test_visibility_is_that_of_the_levels() -> None:
    metres = {level: 3.912 / Fog.preset(level).extinction for level in ("light", "normal", "heavy")}
    assert metres == pytest.approx({"light": 259.8, "normal": 91.9, "heavy": 50.0}, abs=0.1)
    assert Fog(amount=1, visibility=92).level == "normal"
    assert Fog(amount=1, visibility=260).level == "light"


@pytest.mark.parametrize("known", ["depth", "labels", "nothing"])
def test_far_things_lose_more_contrast_than_near_ones(known: str, town: Frame) -> None:
    frame = Frame(
        "town",
        town.image,
        labels=None if known == "nothing" else town.labels,
        depth=town.depth if known == "depth" else None,
    )
    assert town.labels is not None
    assert town.depth is not None
    road = town.labels.mask("road", "line")
    near, far = road & (town.depth < 8), road & (town.depth > 30) & (town.depth < 90)
    before = town.image.astype(float)
    for amount in (1 / 3, 1.0):
        after = make_transform("fog", amount=amount, overcast=0, patches=0)(frame, 1, measure=False)
        kept = [after.image[part].std() / before[part].std() for part in (near, far)]
        assert kept[1] < 0.8 * kept[0]


def test_more_fog_leaves_less_contrast(town: Frame) -> None:
    spread = [
        float(make_transform("fog", amount=amount)(town, 1, measure=False).image.std())
        for amount in (0.1, 0.3, 0.5, 0.7, 1.0)
    ]
    assert spread == sorted(spread, reverse=True)


def test_patches_make_it_uneven_and_depend_on_the_seed(striped: Frame) -> None:
    even, patchy, other = (
        make_transform("fog", patches=patches, overcast=0)(striped, seed, measure=False)
        .image[30, 20:]
        .std(axis=0)
        .max()
        for patches, seed in ((0, 1), (1, 1), (1, 2))
    )
    assert even < 1
    assert patchy > even
    assert patchy != other


@pytest.mark.parametrize(("severity", "weight"), [(1, 1.5), (2, 2.0), (3, 2.5), (4, 2.5), (5, 3.0)])
def test_the_style_of_imagenet_c_keeps_as_much_contrast_as_its_formula(severity: int, weight: float) -> None:
    """(x + c·plasma)·m / (m + c): what differs between two images with the same m shrinks by m / (m + c)."""
    fog = make_transform(f"fog:imagenet-c-{severity}")
    one, other = np.full((40, 60, 3), 50, np.uint8), np.full((40, 60, 3), 150, np.uint8)
    one[0, 0] = other[0, 0] = 255
    changed = [fog.on_image(image, 3).astype(int) for image in (one, other)]
    assert (changed[1] - changed[0])[5:, 5:].mean() == pytest.approx(100 / (1 + weight), abs=1)
