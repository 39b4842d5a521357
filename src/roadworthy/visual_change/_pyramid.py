"""The steerable pyramid "sp5" of Simoncelli and Freeman, as far as VIF needs it.

VIF reads two of the six orientations of a level, the horizontal and the vertical one, whose filters are the
transposes of each other. The coefficients are those of matlabPyrTools and pyrtools (MIT licence), designed
as in Karasaridis and Simoncelli, "A Filter Design Technique for Steerable Pyramid Image Transforms", ICASSP
1996.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from roadworthy.visual_change._grey import Doubles, Pixels, reflected

__all__ = ["BAND", "FIRST_LOW", "LOW", "oriented_bands"]


def _unfolded(quarter: list[list[float]], *, sign: int = 1) -> Doubles:
    """Mirror the upper left quarter of a filter to the right, and downwards with the sign given."""
    corner = np.array(quarter)
    upper = np.hstack([corner, corner[:, -2::-1]])
    return np.vstack([upper, sign * upper[-2::-1]])


FIRST_LOW = _unfolded(
    [
        [0.00341614, -0.01551246, -0.03848215],
        [-0.01551246, 0.05586982, 0.15925570],
        [-0.03848215, 0.15925570, 0.40304148],
    ]
)
"""lo0filt: takes away what lies above the finest level."""

LOW = 2 * _unfolded(
    [
        [0.00085404, -0.00244917, -0.00387812, -0.00944432, -0.00962054],
        [-0.00244917, -0.00523281, -0.00661117, 0.00410600, 0.01002988],
        [-0.00387812, -0.00661117, 0.01396746, 0.03277038, 0.03981393],
        [-0.00944432, 0.00410600, 0.03277038, 0.06426333, 0.08169618],
        [-0.00962054, 0.01002988, 0.03981393, 0.08169618, 0.10096540],
    ]
)
"""lofilt: what goes on to the next level, which has every second row and column."""

BAND = _unfolded(
    [
        [0.00277643, 0.00496194, 0.01026699, 0.01455399],
        [-0.00986904, -0.00893064, 0.01189859, 0.02755155],
        [-0.01021852, -0.03075356, -0.08226445, -0.11732297],
        [0.0, 0.0, 0.0, 0.0],
    ],
    sign=-1,
)
"""One column of bfilts. Its transpose is, but for the sign, the one three columns on."""


def oriented_bands(grey: Pixels, levels: int) -> Iterator[tuple[Pixels, Pixels]]:
    """Yield the horizontal and the vertical subband of each level, from fine to coarse."""
    low = _filtered(grey, FIRST_LOW)
    for level in range(levels):
        if level:
            low = _halved(low)
        yield _filtered(low, BAND), _filtered(low, BAND.T)


def _filtered(image: Pixels, kernel: Doubles) -> Pixels:
    return np.asarray(cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


def _halved(image: Pixels) -> Pixels:
    """Filter with `LOW` at every second row and column.

    Even and odd rows and columns are filtered on their own, so that nothing is computed to be thrown away.
    """
    reach = len(LOW) // 2
    grown = reflected(image, reach, reach, reach, reach)
    rows, columns = ((side + 1) // 2 for side in image.shape)
    half = np.zeros((rows, columns), image.dtype)
    for row in range(2):
        for column in range(2):
            phase, kernel = grown[row::2, column::2], LOW[row::2, column::2]
            part = cv2.filter2D(phase, -1, kernel, anchor=(0, 0), borderType=cv2.BORDER_CONSTANT)
            half += part[:rows, :columns]
    return half
