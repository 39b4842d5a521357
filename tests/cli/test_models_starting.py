"""A network that nobody has described yet: what is told, and that the description to begin with works."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import yaml
from onnx import TensorProto, helper
from typer.testing import Result

from roadworthy.models import load_model
from roadworthy.models.zoo import located_weights

Run = Callable[..., Result]


def network(path: Path, shape: list[int | str], *outputs: tuple[str, list[int | str]]) -> None:
    """Write a network whose outputs are as declared; what they are is of no matter."""
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, wanted) for name, wanted in outputs]
    nodes, constants = [], []
    for name, wanted in outputs:
        sizes = [1 if isinstance(one, str) else one for one in wanted]
        constants.append(helper.make_tensor(f"{name}.shape", TensorProto.INT64, [len(sizes)], sizes))
        nodes.append(helper.make_node("ReduceMean", ["image"], [f"{name}.mean"], keepdims=0))
        nodes.append(helper.make_node("Expand", [f"{name}.mean", f"{name}.shape"], [name]))
    graph = helper.make_graph(nodes, "made", [image], made, constants)
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def test_a_shipped_network_is_told_and_its_description_opens(roadworthy: Run) -> None:
    Path("net.onnx").write_bytes(located_weights("dave2").read_bytes())
    result = roadworthy("models", "try", "onnx:net.onnx")
    assert result.exit_code == 2, "nothing was tried"
    assert "onnx:net.onnx has no description: it is not known what its outputs mean" in result.stdout
    assert "66, 200) float32" in result.stdout
    assert not list(Path().glob("*.png"))
    text = json.loads(roadworthy("models", "try", "onnx:net.onnx", "--json").stdout)["description"]
    assert all(line in result.stdout for line in text.splitlines())
    Path("model.yaml").write_text(text)
    told = yaml.safe_load(text)
    assert told["input"] == {"width": 200, "height": 66, "layout": "nchw", "color": "rgb", "range": [0, 1]}
    assert told["output"]["signals"] == ["steering", "speed"]
    tried = roadworthy("models", "try", "model.yaml", "-n", "2", "-o", "size=64x32")
    assert tried.exit_code == 0, tried.output


@pytest.mark.parametrize(
    ("shape", "outputs", "task", "more"),
    [
        (["n", 3, 8, 16], [("angle", ["n", 1])], "regression", {"signals": ["steering"]}),
        ([1, 8, 16, 3], [("speed", [1]), ("steer", [1])], "regression", {"signals": ["speed", "steering"]}),
        ([1, 1, 8, 16], [("out", [1, 3])], "regression", {"signals": ["steering", "speed", "throttle"]}),
        ([1, 3, 8, 16], [("logits", [1, 7])], "classification", {"activation": "softmax"}),
        (
            [1, 3, 8, 16],
            [("masks", [1, 5, 8, 16])],
            "segmentation",
            {"classes": [f"class-{n}" for n in range(5)]},
        ),
        ([1, 3, 32, 32], [("boxes", [1, 6, 84])], "detection", {"head": "yolov8"}),
        ([1, 3, 32, 32], [("boxes", [1, 84, 7])], "detection", {"head": "yolov5"}),
        (["n", 3, "h", "w"], [("angle", ["n", 1])], "regression", {}),
        ([1, 2, 3, 8, 16], [("angle", [1, 1])], "regression", {}),
    ],
)
def test_what_a_network_gives_says_what_it_is_most_likely_for(
    roadworthy: Run,
    shape: list[int | str],
    outputs: list[tuple[str, list[int | str]]],
    task: str,
    more: dict[str, object],
) -> None:
    network(Path("net.onnx"), shape, *outputs)
    document = json.loads(roadworthy("models", "try", "onnx:net.onnx", "--json").stdout)
    assert document["input"]["shape"] == [one if isinstance(one, int) else None for one in shape]
    Path("model.yaml").write_text(document["description"])
    told = yaml.safe_load(document["description"])["output"]
    assert {key: told[key] for key in more} == more
    system = load_model("model.yaml")
    assert system.task == task  # type: ignore[attr-defined]
    tried = roadworthy("models", "try", "model.yaml", "-n", "1", "-o", "size=64x32")
    assert tried.exit_code == 0, tried.output


def test_other_commands_still_ask_for_the_description(roadworthy: Run) -> None:
    network(Path("net.onnx"), [1, 3, 8, 16], ("angle", [1, 1]))
    result = roadworthy("rules", "run", "--rule", "If it rains, slow down.", "--model", "onnx:net.onnx")
    assert result.exit_code == 2
    assert "say what the network answers (it has input 'image' (1, 3, 8, 16) float32" in result.stderr
