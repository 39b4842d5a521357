"""Random arrays, drawn fast: bits, normal noise and smooth noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

STEPS = 65536
_FINENESS = 2.0  # points of the grid of smooth noise in a standard deviation of its Gaussian


def random_bits(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Return sixteen random bits for every element of an array."""
    count = math.prod(shape)
    words = rng.integers(0, 2**64, (count + 3) // 4, np.uint64)
    return words.view(np.uint16)[:count].reshape(shape)


def looked_up(table: NDArray[Scalar], index: NDArray[Any]) -> NDArray[Scalar]:
    """Return the table's entries at an array of indices that are known to lie inside it."""
    # Wrapping costs less than the check.
    return np.take(table, index, mode="wrap")


@lru_cache(maxsize=1)
def normal_quantiles() -> NDArray[np.float32]:
    """Return equally likely values of the standard normal distribution, with mean 0 and variance 1."""
    from scipy import special

    values = special.ndtri((np.arange(STEPS) + 0.5) / STEPS)
    table = (values / values.std()).astype(np.float32)
    table.setflags(write=False)
    return table  # type: ignore[no-any-return]


def normal_noise(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return normally distributed numbers, with mean 0 and variance 1.

    They are looked up by sixteen random bits each, which is five times as fast as drawing them; their tails
    end at 4.3 standard deviations.
    """
    return looked_up(normal_quantiles(), random_bits(rng, shape))


def smooth_noise(
    rng: np.random.Generator, height: int, width: int, sigma: float, layers: int = 1
) -> NDArray[np.float32]:
    """Return white noise smoothed by a Gaussian: normally distributed, with mean 0 and variance 1.

    Args:
        rng: Where the noise comes from.
        height: Rows.
        width: Columns.
        sigma: The standard deviation of the Gaussian, in pixels.
        layers: How many independent fields; the last axis of the result, left out where it is 1.
    """
    # Smooth noise is the same on a coarse grid: it is drawn and blurred there, and then enlarged.
    step = max(1.0, sigma / _FINENESS)
    rows, columns = math.ceil(height / step), math.ceil(width / step)
    spread = sigma / step
    reach = math.ceil(3 * spread)
    white = normal_noise(rng, (rows + 2 * reach, columns + 2 * reach, layers))
    kernel = cv2.getGaussianKernel(2 * reach + 1, max(spread, 1e-3), cv2.CV_32F)
    # The variance stays that of the white noise. Interpolation between points with this correlation takes
    # away a part of it, which is given back.
    kept = math.sqrt((2 + math.exp(-1 / (4 * spread**2))) / 3) if step > 1 else 1.0
    kernel = kernel / (np.linalg.norm(kernel) * kept)
    smooth = cv2.sepFilter2D(white, -1, kernel, kernel)[reach : reach + rows, reach : reach + columns]
    if step > 1:
        smooth = cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR)
    return cast("NDArray[np.float32]", smooth)
