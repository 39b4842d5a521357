"""Arrays that cannot be written through the objects that hold them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """Return a view that cannot be written; the array given stays as writable as it was."""
    view = array.view()
    view.setflags(write=False)
    return view


def described(array: Any) -> str:
    """Return shape and dtype for messages, or the type of what is no array."""
    if isinstance(array, np.ndarray):
        return f"shape {array.shape} and dtype {array.dtype}"
    return f"a {type(array).__name__}"


class ReadOnlyArrays:
    """Keeps arrays read-only across pickling and copying, which would make them writable again."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)
