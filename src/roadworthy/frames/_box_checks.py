"""The checks behind the constructor of `Boxes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError, OntologyError
from roadworthy.ontology import ontology

Number = TypeVar("Number", bound=np.generic)


def array_of(name: str, value: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """Return a copy of what was given as an array of numbers."""
    try:
        given = np.asarray(value)
        # An empty list is an array of floats, whatever it is a list of.
        wanted = "biu" if dtype is np.int64 and given.size else "biuf"
        if given.dtype.kind not in wanted:
            raise TypeError(f"got dtype {given.dtype}")
        with np.errstate(over="ignore"):
            return np.array(given, dtype)
    except (TypeError, ValueError) as error:
        raise FrameError(f"{name} must be numbers of {np.dtype(dtype)}: {error}") from error


def checked_corners(xyxy: ArrayLike) -> NDArray[np.float32]:
    """Return a copy of the corners, shape (n, 4)."""
    corners = array_of("boxes", xyxy, np.float32)
    if corners.shape == (0,):
        return corners.reshape(0, 4)
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise FrameError(f"boxes must have shape (n, 4), got {corners.shape}")
    broken = {
        "a coordinate that is not finite": np.any(~np.isfinite(corners), axis=1),
        "x2 < x1": corners[:, 2] < corners[:, 0],
        "y2 < y1": corners[:, 3] < corners[:, 1],
    }
    for complaint, wrong in broken.items():
        if wrong.any():
            index = int(wrong.argmax())
            numbers = ", ".join(f"{value:g}" for value in corners[index])
            raise FrameError(f"box {index} has {complaint}: ({numbers})")
    return corners


def checked_column(
    length: int, name: str, value: ArrayLike | None, dtype: type[Number]
) -> NDArray[Number] | None:
    """Return a copy of one value per box, or None."""
    if value is None:
        return None
    column = array_of(name, value, dtype)
    if column.shape != (length,):
        raise FrameError(f"{name} must have shape ({length},) for {length} boxes, got {column.shape}")
    if np.issubdtype(column.dtype, np.floating):
        fitting = (column >= np.float32(0)) & (column <= np.float32(1))
        if name != "scores":
            fitting |= np.isnan(column)
        if not fitting.all():
            index = int(np.flatnonzero(~fitting)[0])
            raise FrameError(f"{name} must be from 0 to 1, got {column[index]:g} for box {index}")
    return column


def unknown_to_none(column: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """Turn a column in which nothing is known into None, so that there is one way to say it."""
    return None if column is None or np.isnan(column).all() else column


def checked_named(
    length: int, classes: Iterable[str], attributes: Iterable[Mapping[str, str]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, str], ...]]:
    """Return the element names of the classes, and the attributes with those that the class words imply."""
    if isinstance(classes, str):
        raise FrameError(f"classes must be one name per box, got the single word {classes!r}")
    words = tuple(classes)
    if len(words) != length:
        raise FrameError(f"classes must name {length} boxes, got {len(words)}")
    given = tuple(attributes) or (FrozenDict[str, str](),) * length
    if len(given) != length:
        raise FrameError(f"attributes must describe {length} boxes, got {len(given)}")
    names, facts = [], []
    for index, (word, described) in enumerate(zip(words, given, strict=True)):
        if not isinstance(word, str):
            raise FrameError(f"the class of box {index} must be a name, got {word!r}")
        if not isinstance(described, Mapping):
            raise FrameError(f"attributes of box {index} must be a mapping, got {described!r}")
        for key, value in described.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise FrameError(f"attributes of box {index} must map words to words, got {key!r}: {value!r}")
        try:
            element, implied = ontology().resolve_with_properties(word)
        except OntologyError as error:
            raise OntologyError(f"box {index}: {error}") from None
        for key, value in implied.items():
            if described.get(key, value) != value:
                raise FrameError(
                    f"box {index} is a {word!r}, so its {key} must be {value!r}, got {described[key]!r}"
                )
        names.append(element.name)
        facts.append(FrozenDict({**implied, **described}))
    return tuple(names), tuple(facts)


def same_values(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    """Return whether two columns say the same, unknown values included."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
