"""Small networks of other people: a segmenter, a detector and one for depth, exact and without weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def network(path: Path, weights: np.ndarray[Any, Any], height: int = 40, width: int = 80) -> Path:
    """Write a network whose outputs are weighted sums of red, green and blue."""
    count = len(weights)
    node = helper.make_node("Conv", ["image", "w"], ["out"], kernel_shape=[1, 1])
    graph = helper.make_graph(
        [node],
        "colours",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, height, width])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", count, height, width])],
        [numpy_helper.from_array(weights.astype(np.float32)[:, :, None, None], "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


@pytest.fixture
def segmenter(tmp_path: Path) -> Path:
    """Red is road, green is a wall, blue is sky, in the numbers of Cityscapes."""
    weights = np.full((19, 3), -1.0)
    weights[[0, 3, 10], [0, 1, 2]] = 1
    network(tmp_path / "segmenter.onnx", weights)
    text = "model: onnx:segmenter.onnx\noutput: {task: segmentation, classes: cityscapes-19}\n"
    (tmp_path / "segmenter.yaml").write_text(text)
    return tmp_path / "segmenter.yaml"


@pytest.fixture
def depth_network(tmp_path: Path) -> Path:
    """Red, from 0 to 1, is how many metres away it is, in tens."""
    network(tmp_path / "depth.onnx", np.array([[10.0, 0, 0]]))
    (tmp_path / "depth.yaml").write_text("model: onnx:depth.onnx\noutput: {task: depth, values: metres}\n")
    return tmp_path / "depth.yaml"
