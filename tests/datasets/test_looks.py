"""Data that is made is the data that was made: recorded results and trained networks rest on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.looks import NEAR, apart, kept, look_of

from roadworthy.datasets import load
from roadworthy.datasets.world import WorldCropsDataset
from roadworthy.frames import Frame

KEPT = Path(__file__).with_name("looks.json")


def looks(frames: Iterable[Frame]) -> dict[str, Any]:
    return {
        frame.id: {
            "image": look_of(frame.image),
            "boxes": [] if frame.boxes is None else np.round(frame.boxes.xyxy, 1).tolist(),
            "signals": {name: round(value, 3) for name, value in frame.signals.as_dict().items()},
            "metadata": {name: str(value) for name, value in sorted(frame.metadata.items())},
            "before": [one.id for one in frame.previous],
        }
        for frame in frames
    }


def world(**options: object) -> dict[str, Any]:
    return looks(load("world", size="96x48", **options))


def crops() -> dict[str, Any]:
    return looks(WorldCropsDataset(weather="all", time="all", count=15, seed=4))


LOOKS: dict[str, Callable[[], dict[str, Any]]] = {
    "frames": partial(world, weather="all", time="all", season="all", count=6, seed=3),
    "drives": partial(world, sequence=2, count=4, history=1, seed=5, traffic=3.0),
    "levels": partial(world, weather="rain,snow", level="heavy", time="dusk", count=2, jitter=0.0),
    "crops": crops,
}


@pytest.mark.parametrize("name", LOOKS)
def test_data_that_is_made_looks_as_it_did(name: str) -> None:
    before, now = kept(KEPT)[name], LOOKS[name]()
    assert list(before) == list(now)
    for id, one in before.items():
        other = now[id]
        assert (one["metadata"], one["before"]) == (other["metadata"], other["before"])
        assert apart(one["image"], other["image"]) <= NEAR, id
        assert one["signals"] == pytest.approx(other["signals"], abs=0.005)
        assert np.array(one["boxes"]) == pytest.approx(np.array(other["boxes"]), abs=0.25)
