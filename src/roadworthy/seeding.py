"""Randomness that depends on names, never on the order of execution."""

from __future__ import annotations

import hashlib

import numpy as np

from roadworthy.errors import InputError

__all__ = ["rng_for"]


def rng_for(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the random generator that belongs to a seed and a path of keys.

    The same seed and keys give the same numbers in every process, in any order of execution and on
    every platform, so an executor may split the work as it likes.

    Args:
        seed: The seed of the run; any integer.
        *keys: What the randomness is for, from the general to the particular, such as a requirement's
            id and a frame's number. ``1`` and ``"1"`` are different keys.

    Example:
        >>> rng = rng_for(7, "rain", 3)
        >>> int(rng.integers(1000)) == int(rng_for(7, "rain", 3).integers(1000))
        True
        >>> int(rng_for(7, "rain", 4).integers(2**32)) == int(rng_for(7, "rain", 3).integers(2**32))
        False
    """
    digest = hashlib.sha256()
    for part in (seed, *keys):
        digest.update(_encode(part))
    # PCG64 is named because default_rng may change its bit generator between releases of numpy.
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "big")))


def _encode(part: str | int) -> bytes:
    """Encode one part with its type and length, so that no two different paths give the same bytes."""
    if isinstance(part, str):
        tag, content = b"s", part.encode("utf-8", "surrogatepass")
    elif isinstance(part, int | np.integer) and not isinstance(part, bool):
        tag, content = b"i", str(int(part)).encode("ascii")
    else:
        raise InputError(f"a seed or key must be an int or a str, got {part!r} of type {type(part).__name__}")
    return tag + len(content).to_bytes(8, "big") + content
