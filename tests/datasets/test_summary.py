"""What the frames of a data set hold."""

from __future__ import annotations

import json

from roadworthy.datasets import load
from roadworthy.datasets.summary import DatasetSummary, frame_facts


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
