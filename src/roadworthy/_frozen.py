"""Arrays and dictionaries that cannot be changed, for the fields of frozen dataclasses."""

from __future__ import annotations

import dataclasses
import sys
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import BROKEN_ZIP, check_zip
from roadworthy.errors import InputError

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


T = TypeVar("T", bound=np.generic)

# What numpy raises for a header that says something else than an array.
_BROKEN_ARRAY = (KeyError, TypeError, AttributeError, MemoryError, SyntaxError, tokenize.TokenError)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """Return a view that cannot be written; the array given stays as writable as it was."""
    view = array.view()
    view.setflags(write=False)
    return view


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an NPZ file by name; nothing in it can run.

    Raises:
        ValueError: The file is missing or broken; numpy and what it uses raise a class for each way in which
            it can be.
    """
    try:
        check_zip(path)
        # Opened here, because numpy leaves a broken file open.
        with path.open("rb") as file, warnings.catch_warnings():
            # Of headers that Python 2 or an old numpy wrote; what they say is read or refused all the same.
            warnings.simplefilter("ignore")
            with np.load(file, allow_pickle=False) as arrays:
                return {name: _checked(name, arrays[name]) for name in arrays.files}
    except InputError as error:
        raise ValueError(str(error)) from error
    except (*BROKEN_ZIP, *_BROKEN_ARRAY) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _checked(name: str, found: Any) -> NDArray[Any]:
    """Return an array of a file; numpy gives bytes for what is none, and text with numbers beyond Unicode."""
    if not isinstance(found, np.ndarray):
        raise TypeError(f"{name} is no array")
    if found.dtype.kind == "U":
        numbers = np.frombuffer(found.tobytes(), np.dtype("u4").newbyteorder(found.dtype.byteorder))
        if numbers.max(initial=0) > sys.maxunicode:
            raise ValueError(f"{name} is no text")
    return found


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


def content_of(value: object) -> Iterator[bytes]:
    """Yield what a frame, or a part of one, says, so that two that differ give different bytes.

    Example:
        >>> b"".join(content_of([1, "a"]))
        b"[1:1;3:'a';]"
    """
    if isinstance(value, np.ndarray):
        yield f"array {value.dtype.str} {value.shape};".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield f"{type(value).__name__}(".encode()
        for field in dataclasses.fields(value):
            # What would estimate something is none of the data; where it does, a manifest has it by itself.
            # Nor is the data that a frame belongs to a part of the frame.
            if field.name not in ("estimator", "siblings"):
                yield f"{field.name}=".encode()
                yield from content_of(getattr(value, field.name))
        yield b")"
    elif isinstance(value, Mapping):
        yield b"{"
        for name in sorted(value, key=str):
            yield from content_of(name)
            yield from content_of(value[name])
        yield b"}"
    elif isinstance(value, list | tuple):
        yield b"["
        for one in value:
            yield from content_of(one)
        yield b"]"
    else:
        text = repr(value).encode("utf-8", "backslashreplace")
        yield f"{len(text)}:".encode() + text + b";"
