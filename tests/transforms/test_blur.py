from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.transforms import make_transform
from roadworthy.transforms.blur import (
    AveragingBlur,
    BilateralBlur,
    DefocusBlur,
    GaussianBlur,
    GlassBlur,
    MedianBlur,
    MotionBlur,
    ZoomBlur,
    disc_kernel,
    line_convolved,
    line_kernel,
)

Image = NDArray[np.uint8]


def dot(side: int = 101) -> Image:
    """A white pixel on black."""
    image = np.zeros((side, side, 3), np.uint8)
    image[side // 2, side // 2] = 255
    return image


def largest_difference(changed: Image, expected: NDArray[Any], border: int = 0) -> float:
    part = slice(border, -border or None)
    return float(np.abs(changed.astype(np.float64) - expected)[part, part].max())


@pytest.mark.parametrize("size", [3, 5, 9])
def test_averaging_is_the_mean_of_a_square(size: int, town: Frame) -> None:
    expected = ndimage.uniform_filter(town.image.astype(np.float64), (size, size, 0))
    assert largest_difference(AveragingBlur(size=size).on_image(town.image), expected, size) <= 0.501


@pytest.mark.parametrize(("sigma", "size"), [(0.9, 3), (1.5, 7), (2.0, 0), (6.0, 0)])
def test_gaussian_is_that_of_scipy(sigma: float, size: int, town: Frame) -> None:
    radius = size // 2 if size else math.ceil(3 * sigma)
    expected = ndimage.gaussian_filter(
        town.image.astype(np.float64), (sigma, sigma, 0), radius=(radius, radius, 0), mode="mirror"
    )
    assert largest_difference(GaussianBlur(sigma=sigma, size=size).on_image(town.image), expected) <= 0.51


@pytest.mark.parametrize("size", [3, 5, 7])
def test_median_is_that_of_scipy(size: int, town: Frame) -> None:
    expected = ndimage.median_filter(town.image, (size, size, 1)).astype(np.float64)
    assert largest_difference(MedianBlur(size=size).on_image(town.image), expected, size) == 0


def test_table_4_of_deeptest() -> None:
    assert [AveragingBlur.preset(f"deeptest-{k}").size for k in range(1, 5)] == [3, 4, 5, 6]
    assert [GaussianBlur.preset(f"deeptest-{k}").size for k in range(1, 5)] == [3, 5, 7, 3]
    assert [MedianBlur.preset(f"deeptest-{k}").size for k in range(1, 3)] == [3, 5]
    assert BilateralBlur.preset("deeptest-1") == BilateralBlur(diameter=9, sigma_colour=75, sigma_space=75)
    for kind, count in ((AveragingBlur, 4), (MedianBlur, 2), (BilateralBlur, 1)):
        assert sum(name.startswith("deeptest") for name in kind.presets) == count


@pytest.mark.parametrize("size", [3, 5, 7])
def test_the_gaussian_of_deeptest_is_opencvs_own_for_the_size(size: int, town: Frame) -> None:
    sigma = 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    preset = next(one for one in map(GaussianBlur.preset, GaussianBlur.presets) if one.size == size)
    assert preset.sigma == pytest.approx(sigma)
    expected = cv2.GaussianBlur(town.image.astype(np.float64), (size, size), 0)
    assert largest_difference(preset.on_image(town.image), expected) <= 0.51


def test_sizes_that_must_be_odd() -> None:
    with pytest.raises(InputError, match=r"median-blur: size must be odd.*got 4"):
        MedianBlur(size=4)
    with pytest.raises(InputError, match="gaussian-blur: size must be odd"):
        make_transform("gaussian-blur", size=8)
    assert all(MedianBlur.at(amount).size % 2 for amount in np.linspace(0, 1, 41))


def test_bilateral_keeps_edges_and_smooths_the_rest() -> None:
    rng = np.random.default_rng(3)
    levels = np.where(np.arange(60)[None, :, None] < 30, 60, 200) + rng.integers(-5, 6, (50, 60, 1))
    image = np.repeat(levels, 3, axis=2).astype(np.uint8)
    changed = BilateralBlur(diameter=9, sigma_colour=30, sigma_space=75).on_image(image).astype(np.float64)
    assert changed[:, :30].std() < image[:, :30].std() / 2
    assert (changed[:, 30] - changed[:, 29]).mean() > 135
    for nothing in (BilateralBlur(diameter=1), BilateralBlur(sigma_colour=0)):
        assert np.array_equal(nothing.on_image(image), image)


@pytest.mark.parametrize(("preset", "radius", "alias"), [(1, 3, 0.1), (2, 4, 0.5), (4, 8, 0.5), (5, 10, 0.5)])
def test_defocus_is_the_disc_of_imagenet_c(preset: int, radius: int, alias: float, town: Frame) -> None:
    # The kernel as ImageNet-C's code makes it, with room for its smoothing.
    offsets = np.arange(-radius - 3, radius + 4)
    disc = (offsets[:, None] ** 2 + offsets**2 <= radius**2).astype(np.float64)
    size = 3 if radius <= 8 else 5
    kernel = cv2.GaussianBlur(disc / disc.sum(), (size, size), alias)
    expected = cv2.filter2D(town.image.astype(np.float64), -1, kernel)
    change = DefocusBlur.preset(f"imagenet-c-{preset}")
    changed = change.on_image(town.image)
    assert largest_difference(changed, expected) <= 1
    assert abs(float((changed - expected).mean())) < 0.02


def test_the_disc_grows_steadily_and_keeps_the_light() -> None:
    assert disc_kernel(0, 0).tolist() == [[1]]
    before: NDArray[Any] = np.zeros((61, 61))
    before[30, 30] = 1
    for radius in np.arange(0.05, 12, 0.05):
        kernel = disc_kernel(float(radius), 0.0)
        assert kernel.sum() == pytest.approx(1, abs=1e-5)
        room = 30 - len(kernel) // 2
        padded = np.pad(kernel, room)
        assert np.abs(padded - before).sum() < 0.11  # of 2
        before = padded


@given(length=st.floats(0, 60), angle=st.floats(-180, 180), fade=st.one_of(st.none(), st.floats(0.5, 30)))
@settings(max_examples=40)
def test_a_line_in_pieces_is_the_whole_line(length: float, angle: float, fade: float | None) -> None:
    image = np.random.default_rng(1).integers(0, 256, (40, 50, 3), np.uint8)
    kernel, (row, column) = line_kernel(length, angle, fade)
    assert kernel.sum() == pytest.approx(1, abs=1e-5)
    expected = cv2.filter2D(
        image.astype(np.float64),
        -1,
        kernel.astype(np.float64),
        anchor=(column, row),
        borderType=cv2.BORDER_REPLICATE,
    )
    assert largest_difference(line_convolved(image, kernel, (row, column)), expected) <= 0.6


@pytest.mark.parametrize("angle", [-120, -45, 0, 20, 45, 90, 180])
def test_motion_draws_a_line_in_its_direction(angle: float) -> None:
    line = MotionBlur(length=40, angle=angle, spread=0).on_image(dot())[:, :, 0].astype(np.float64)
    rows, columns = np.mgrid[-50:51, -50:51]
    light = line.sum()
    assert abs((rows * line).sum()) / light < 0.6  # its middle stays in place
    assert abs((columns * line).sum()) / light < 0.6
    across = -math.sin(math.radians(angle)) * columns + math.cos(math.radians(angle)) * rows
    along = math.cos(math.radians(angle)) * columns + math.sin(math.radians(angle)) * rows
    assert math.sqrt((across**2 * line).sum() / light) < 0.8
    # An even line of 41 pixels has this standard deviation.
    assert math.sqrt((along**2 * line).sum() / light) == pytest.approx(41 / math.sqrt(12), rel=0.08)


def test_a_fading_motion_starts_at_the_point() -> None:
    change = MotionBlur(length=40, angle=0, spread=0, profile="fading", fade=0.25)
    line = change.on_image(dot())[50, :, 0].astype(int)
    # Convolution as OpenCV has it gathers light from the right.
    assert line[50] == line.max()
    assert not line[52:].any()
    trail = line[10:51][::-1]
    assert (np.diff(trail) <= 0).all()
    assert trail[10] == pytest.approx(trail[0] * math.exp(-0.5), abs=1.5)


def test_the_direction_of_motion_is_random_within_its_spread(town: Frame) -> None:
    change = MotionBlur.preset("imagenet-c-3")
    assert change.length == 30
    assert change.fade * change.length == pytest.approx(8, rel=2e-4)
    assert change.on_image(town.image, 1).tobytes() != change.on_image(town.image, 2).tobytes()
    still = change.replace(spread=0.0)
    assert still.on_image(town.image, 1).tobytes() == still.on_image(town.image, 2).tobytes()


def test_motion_turns_to_both_sides_of_its_direction() -> None:
    change = MotionBlur(length=40, angle=0, spread=30)
    rows, columns = np.mgrid[-50:51, -50:51]
    turned = []
    for seed in range(40):
        line = change.on_image(dot(), seed)[:, :, 0].astype(np.float64)
        turned.append(math.degrees(math.atan2((rows * columns * line).sum(), (columns**2 * line).sum())))
    assert -31 < min(turned) < -20
    assert 20 < max(turned) < 31


@pytest.mark.parametrize("zoom", [1.11, 1.3, 2.0])
def test_zoom_is_the_mean_of_enlargements(zoom: float, town: Frame) -> None:
    image = town.image.astype(np.float64)
    height, width = image.shape[:2]
    total, count = np.zeros_like(image), 400
    for factor in np.linspace(1, zoom, count):
        matrix = np.array(
            [
                [1 / factor, 0, (1 - 1 / factor) * (width - 1) / 2],
                [0, 1 / factor, (1 - 1 / factor) * (height - 1) / 2],
            ]
        )
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        total += cv2.warpAffine(image, matrix, (width, height), flags=flags)
    difference = np.abs(ZoomBlur(zoom=zoom).on_image(town.image) - total / count)
    assert difference.mean() < 1.2
    assert np.percentile(difference, 99) < 9


def test_zoom_leaves_the_centre_in_place() -> None:
    image = np.zeros((61, 81, 3), np.uint8)
    image[28:33, 38:43] = 200
    changed = ZoomBlur(zoom=1.5).on_image(image)
    assert abs(int(changed[30, 40, 0]) - 200) <= 3
    rows, columns = np.mgrid[0:61, 0:81]
    light = changed[:, :, 0].astype(np.float64)
    assert (rows * light).sum() / light.sum() == pytest.approx(30, abs=0.1)
    assert (columns * light).sum() / light.sum() == pytest.approx(40, abs=0.1)


def swapped(delta: int, iterations: int, side: int = 60) -> NDArray[np.int64]:
    """How far pixels move in ImageNet-C's loop of swaps."""
    rng = np.random.default_rng(5)
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=2)
    moved = places.copy()
    for _ in range(iterations):
        for row in range(side - delta, delta, -1):
            for column in range(side - delta, delta, -1):
                dx, dy = rng.integers(-delta, delta, 2)
                there = row + dy, column + dx
                moved[row, column], moved[there] = moved[there].copy(), moved[row, column].copy()
    return (moved - places)[12:-12, 12:-12]


@pytest.mark.parametrize(("delta", "iterations"), [(2, 1), (3, 2), (4, 2)])
def test_glass_moves_pixels_as_far_as_imagenet_c(delta: int, iterations: int) -> None:
    columns = np.arange(250, dtype=np.uint8)
    image = np.stack(
        [np.broadcast_to(columns, (250, 250)), np.broadcast_to(columns[:, None], (250, 250))] * 2, axis=2
    )
    change = GlassBlur(sigma=0, delta=delta, iterations=iterations)
    moved = change.on_image(np.ascontiguousarray(image[:, :, :3]), 8).astype(int) - image[:, :, :3]
    inner = moved[30:-30, 30:-30]
    expected = swapped(delta, iterations)
    for axis in (0, 1):
        assert abs(inner[:, :, axis].mean()) < 0.1
        assert inner[:, :, axis].std() == pytest.approx(expected[:, :, axis].std(), rel=0.12)
    assert np.array_equal(inner[:, :, 0], inner[:, :, 2])  # all channels of a pixel come from one place
    assert abs(np.corrcoef(inner[:, :, 0].ravel(), inner[:, :, 1].ravel())[0, 1]) < 0.02
