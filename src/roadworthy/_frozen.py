"""A dictionary that cannot be changed, for the fields of frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that refuses changes.

    It is a dict rather than a `types.MappingProxyType` because frames travel to worker processes and into
    JSON, and a proxy can do neither.

    Example:
        >>> weather = FrozenDict({"level": "heavy"})
        >>> weather["level"]
        'heavy'
        >>> weather["level"] = "light"
        Traceback (most recent call last):
        ...
        TypeError: this mapping cannot be changed: make a changed copy with {**mapping, ...}
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this mapping cannot be changed: make a changed copy with {**mapping, ...}")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict[K, V]:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return (type(self), (dict(self),))


def frozen(mapping: Mapping[K, V]) -> FrozenDict[K, V]:
    """Return the mapping as a `FrozenDict`, without a copy when it is one."""
    return mapping if isinstance(mapping, FrozenDict) else FrozenDict(mapping)
