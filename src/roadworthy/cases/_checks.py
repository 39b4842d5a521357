"""The checks behind the constructors of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from roadworthy._frozen import FrozenDict, frozen
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases.requirements import Scalar

_StrEnum = TypeVar("_StrEnum", bound=StrEnum)


def check_text(what: str, value: object) -> None:
    """Refuse anything but a string with something in it.

    Example:
        >>> check_text("a case's id", "drive/17")
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be a non-empty string, got {value!r}")


def as_enum(what: str, kind: type[_StrEnum], value: str) -> _StrEnum:
    """Return the member of an enumeration that a value names.

    Example:
        >>> from roadworthy.cases import Severity
        >>> as_enum("the severity", Severity, "minor")
        <Severity.MINOR: 'minor'>
    """
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{what} must be one of {', '.join(kind)}, got {value!r}") from None


def as_scalars(what: str, values: Mapping[str, Scalar]) -> FrozenDict[str, Scalar]:
    """Return a flat copy with plain Python values, without the names whose value is None.

    Example:
        >>> as_scalars("the measures", {"speed": np.float32(0.5), "objects": np.int8(3), "gap": None})
        {'speed': 0.5, 'objects': 3}
    """
    flat: dict[str, Scalar] = {}
    for name, value in values.items():
        check_text(f"a name in {what}", name)
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None:
            continue
        if not isinstance(plain, bool | int | float | str):
            raise InputError(
                f"{name!r} in {what} must be a bool, int, float or str, got {type(plain).__name__}"
            )
        if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
            raise InputError(f"{name!r} in {what} must fit into 64 bits with a sign, got {plain}")
        flat[name] = plain
    return frozen(flat)


def as_json(what: str, values: Mapping[str, object]) -> FrozenDict[str, object]:
    """Return a copy made of what JSON can hold.

    Example:
        >>> as_json("the parameters", {"levels": (1, 2)})
        {'levels': [1, 2]}
    """
    for name in values:
        check_text(f"a name in {what}", name)
    try:
        copy: dict[str, object] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be what JSON can hold: {error}") from error
    return frozen(copy)
