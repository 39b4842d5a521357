"""Models that suites of tests open by name: quick, and wrong in ways that are known."""

from __future__ import annotations

from collections.abc import Sequence

from roadworthy.frames import Boxes, Frame, Signals

CALLS: list[str] = []


def careful(frames: Sequence[Frame]) -> list[Signals]:
    """Drive slower the darker it is."""
    CALLS.extend(frame.id for frame in frames)
    return [Signals(speed=float(frame.image.mean()) / 10, steering=0.0) for frame in frames]


def heedless(frames: Sequence[Frame]) -> list[Signals]:
    """Drive at one speed, whatever comes."""
    return [Signals(speed=10.0, steering=0.0) for _ in frames]


def steering_only(frames: Sequence[Frame]) -> list[Signals]:
    """Say nothing about speed."""
    return [Signals(steering=0.0) for _ in frames]


def broken(frames: Sequence[Frame]) -> list[Signals]:
    """Crash on everything."""
    raise RuntimeError("out of order")


def blind(frames: Sequence[Frame]) -> list[Boxes]:
    """See nothing."""
    return [Boxes.empty() for _ in frames]
