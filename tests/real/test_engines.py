"""Learned engines on real frames: what they may change, what they are shown, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from roadworthy._files import sha256_of
from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.ontology import ontology
from roadworthy.transforms.learned import EngineCard, LearnedEngine
from roadworthy.transforms.learned.card import NETWORK
from roadworthy.transforms.learned.engine import NetworkBackend
from roadworthy.transforms.operations import RemoveOperation, ReplaceOperation

CLASSES = ("road", "line", "sidewalk", "tree", "building", "sky")
LINES, TREES = RemoveOperation("line"), ReplaceOperation("building", "tree")


@pytest.fixture(scope="module")
def frames(real_data: Path) -> list[Frame]:
    """Frames of CamVid from all of its drives."""
    data = load(f"camvid:{real_data / 'camvid'}")
    return [data[number] for number in range(0, len(data), len(data) // 20)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LearnedEngine:
    """An engine that paints each class in the ontology's colour for it."""
    folder = tmp_path_factory.mktemp("engine")
    colours = [ontology().palette[ontology().label_id(name)] for name in (*CLASSES, "void")]
    levels = np.array(colours, np.float32).T[:, :, None, None] / 127.5 - 1
    sides: list[str | int | None] = ["height", "width"]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["labels", "colours"], ["result"])],
        "colours",
        [helper.make_tensor_value_info("labels", TensorProto.FLOAT, ["n", len(colours), *sides])],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, ["n", 3, *sides])],
        [numpy_helper.from_array(levels, "colours")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / NETWORK).write_bytes(model.SerializeToString())
    facts = {
        "name": "colours",
        "kind": "synthesis",
        "architecture": "by hand",
        "supports": [
            {"operation": "remove", "element": "line"},
            {"operation": "replace", "element": "building", "by": "tree"},
        ],
        "classes": list(CLASSES),
        "sha256": sha256_of(folder / NETWORK),
    }
    EngineCard.of_dict(facts).write(folder)
    return LearnedEngine.open(folder)


@pytest.mark.parametrize("operation", [LINES, TREES], ids=["lines", "trees"])
def test_only_the_region_changes(
    engine: LearnedEngine, frames: list[Frame], operation: RemoveOperation | ReplaceOperation
) -> None:
    change = engine.transform(operation)
    done, reasons = 0, set()
    for frame in frames:
        try:
            changed = change(frame, 1, measure=False)
        except NotApplicable as error:
            reasons.add(error.reason)
            continue
        region = change.region(frame)
        assert np.array_equal(changed.image[~region], frame.image[~region])
        assert changed.labels is not None
        assert operation.element not in changed.labels.present()
        done += 1
    assert done >= 0.6 * len(frames), reasons
    # What it cannot do is one of these.
    known = ("there is no ", "never saw", "too small")
    assert all(any(one in reason for one in known) for reason in reasons), reasons


def test_lines_are_gone_in_the_tone_of_the_road(engine: LearnedEngine, frames: list[Frame]) -> None:
    change = engine.transform(LINES)
    before, after = [], []
    for frame in frames:
        try:
            changed = change(frame, 1, measure=False)
        except NotApplicable:
            continue
        assert frame.labels is not None
        assert changed.labels is not None
        lines = frame.labels.mask("line") & changed.labels.mask("road")
        road = frame.labels.mask("road")
        if np.count_nonzero(lines) > 200:
            before.append(abs(frame.image[lines].mean() - frame.image[road].mean()))
            after.append(abs(changed.image[lines].mean() - frame.image[road].mean()))
    assert len(before) >= 8
    assert np.mean(after) < 0.4 * np.mean(before)


def test_classes_that_it_never_saw_are_counted(engine: LearnedEngine, frames: list[Frame]) -> None:
    assert isinstance(engine.backend, NetworkBackend)
    unseen: set[str] = set()
    for frame in frames:
        assert frame.labels is not None
        unseen.update(engine.backend.unseen(frame.labels))
    assert {"vehicle", "pedestrian", "pole"} <= unseen
    assert not unseen & {*CLASSES, "void"}
