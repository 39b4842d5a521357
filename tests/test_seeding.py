from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.seeding import rng_for

KEYS = st.lists(st.one_of(st.text(), st.integers()), max_size=4)


def draw(*path: Any) -> int:
    return int(rng_for(*path).integers(2**63))


def test_the_value_is_the_same_on_every_platform() -> None:
    # Built from the documented encoding step by step, so that a change of either is noticed.
    encoded = b"i" + (2).to_bytes(8, "big") + b"42" + b"s" + (4).to_bytes(8, "big") + b"rain"
    seed = int.from_bytes(hashlib.sha256(encoded).digest(), "big")
    expected = int(np.random.Generator(np.random.PCG64(seed)).integers(2**63))
    assert draw(42, "rain") == expected == 6891597627271135736


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "a", "bc"), (0, "ab", "c")),
        ((0, 1), (0, "1")),
        ((0, 1, 2), (0, 12)),
        ((0,), (1,)),
        ((0,), (0, "")),
        ((0, "a", "b"), (0, "b", "a")),
        ((-1,), (1,)),
    ],
)
def test_different_paths_give_different_numbers(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert draw(*one) != draw(*other)


@given(KEYS, KEYS)
def test_numbers_agree_exactly_when_the_paths_do(one: list[str | int], other: list[str | int]) -> None:
    assert (draw(0, *one) == draw(0, *other)) == (one == other)


def test_numpy_integers_are_integers() -> None:
    assert draw(np.int64(5), np.uint8(3)) == draw(5, 3)


@pytest.mark.parametrize("bad", [True, 1.5, None, b"a"])
def test_other_types_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="must be an int or a str, got"):
        rng_for(0, bad)
