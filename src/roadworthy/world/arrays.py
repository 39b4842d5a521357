"""Names for the kinds of arrays the world works with."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)

Array = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Indices = NDArray[np.intp]
Ids = NDArray[np.uint16]
Bytes = NDArray[np.uint8]
Packed = NDArray[np.uint32]
"""RGBx colours, one integer each."""
Flags = NDArray[np.bool_]


def look_up(table: NDArray[_Scalar], index: NDArray[Any]) -> NDArray[_Scalar]:
    """Return the table's entries at an array of indices that are known to lie inside it."""
    # Wrapping is twice as fast as numpy's check that raises, and faster than clipping.
    return table.take(index, mode="wrap")


def vector(values: ArrayLike) -> Array:
    """Return numbers, or rows of them, as a float32 array.

    Example:
        >>> vector([[1, 2], [3, 4]]).dtype
        dtype('float32')
    """
    return np.asarray(values, dtype=np.float32)
