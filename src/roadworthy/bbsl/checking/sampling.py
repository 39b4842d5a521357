"""Guessing: random boxes on a grid, evaluated one after the other.

Shares of areas that are compared with each other are hard for z3 even on a grid, and yet most boxes may
answer the question. A guess that fits is as good a witness as any; that none fits says nothing.
"""

from __future__ import annotations

import time

import numpy as np

from roadworthy.bbsl import syntax
from roadworthy.bbsl.checking.models import Call, Model, Value
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.values import Box, Interval
from roadworthy.seeding import rng_for

__all__ = ["guess"]

_TRIES = 3000
_STEPS = 10
"""Lines of the grid on each axis, besides 0."""


def guess(
    spec: Spec,
    wanted: list[tuple[str | None, bool]],
    *,
    boxes: int,
    image: tuple[float, float],
    seconds: float,
) -> Model | None:
    """Return values that make these conditions true and those false, if a few thousand guesses find some."""
    if any(one.parameters for one in spec.functions):
        return None
    rng = rng_for(0, "bbsl", "guess")
    end = time.monotonic() + seconds
    for _ in range(_TRIES):
        if time.monotonic() > end:
            break
        values = {one.name: _value(one.result, rng, boxes, image) for one in spec.functions}
        outcome = spec.evaluate(values, width=image[0], height=image[1])
        held = {label: outcome.applies if label is None else outcome.values[label] for label, _ in wanted}
        if all(held[label] is truth for label, truth in wanted):
            calls = tuple(Call(name, (), value) for name, value in values.items())
            return Model(calls, *image)
    return None


def _value(kind: syntax.Type, rng: np.random.Generator, boxes: int, image: tuple[float, float]) -> Value:
    if kind is syntax.Type.BOOL:
        return bool(rng.integers(2))
    if kind is syntax.Type.REAL:
        return float(rng.integers(0, 11)) / 10
    if kind is syntax.Type.INTERVAL:
        return _interval(rng, image[1])
    if kind is syntax.Type.BB:
        return _box(rng, image)
    return tuple(_box(rng, image) for _ in range(int(rng.integers(0, boxes + 1))))


def _interval(rng: np.random.Generator, size: float) -> Interval:
    low, high = sorted(rng.choice(_STEPS + 1, size=2, replace=False).tolist())
    return Interval(low * size / _STEPS, high * size / _STEPS)


def _box(rng: np.random.Generator, image: tuple[float, float]) -> Box:
    return Box(_interval(rng, image[0]), _interval(rng, image[1]))
