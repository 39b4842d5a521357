"""What the frames of a data set hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets.summary import DatasetSummary, frame_facts, spread_frames, summarize
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame


def test_people_and_scripts_read_the_same_numbers() -> None:
    frames = list(load("world:town", count=3, size="64x32"))
    summary = DatasetSummary.of(frames)
    document, lines = summary.document(), summary.lines()
    assert lines["sizes"] == "64x32 3"
    assert lines["frames with"] == "boxes 3, labels 3, instances 3, depth 3"
    speed = document["signals"]["speed"]
    assert f"speed {speed['min']:.3g} to {speed['max']:.3g}" in lines["signals"]
    assert sum(document["boxes"].values()) == sum(len(one.boxes or ()) for one in frames)
    facts = [frame_facts(one) for one in frames]
    assert [one["id"] for one in json.loads(json.dumps(facts))] == [one.id for one in frames]


class Broken:
    """Ten frames, of which some cannot be read."""

    name = "broken"

    def __init__(self, bad: set[int], count: int = 10, on_error: str = "skip") -> None:
        self.bad, self.count, self.on_error = bad, count, on_error

    @property
    def ids(self) -> list[str]:
        return [f"f{number}" for number in range(self.count)]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Frame:
        if index in self.bad:
            raise FrameError(f"no {index}")
        return Frame(f"f{index}", np.zeros((4, 4, 3), np.uint8))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


def quietly(items: Any, what: str) -> Any:
    return items


def test_every_frame_is_read_and_those_that_cannot_be_are_named() -> None:
    summary, bad = summarize(Broken({2, 7}), quietly)
    assert (summary.read, bad) == (8, {"f2": "no 2", "f7": "no 7"})
    with pytest.raises(InputError, match="broken has no frames to check"):
        summarize(Broken(set(), 0), quietly)


def test_the_next_frame_stands_in_for_one_that_cannot_be_read() -> None:
    starts = [frame.id for frame in spread_frames(Broken(set()), 2, quietly)[0]]
    first, second = (int(one[1:]) for one in starts)
    frames, bad = spread_frames(Broken({second, second + 1}), 2, quietly)
    assert [frame.id for frame in frames] == [f"f{first}", f"f{second + 2}"]
    assert bad == {second: f"no {second}", second + 1: f"no {second + 1}"}
    # Never one that stands for another place.
    frames, bad = spread_frames(Broken(set(range(first, second))), 2, quietly)
    assert [frame.id for frame in frames] == [f"f{second}"]
    with pytest.raises(FrameError, match=f"no {second}; -o on_error=skip shows the frames that can be read"):
        spread_frames(Broken({second}, on_error="raise"), 2, quietly)
    with pytest.raises(InputError, match="none of the 10 frames of broken can be read"):
        spread_frames(Broken(set(range(10))), 1, quietly)
    with pytest.raises(InputError, match="broken has no frames to show"):
        spread_frames(Broken(set(), 0), 2, quietly)
