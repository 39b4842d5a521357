"""What a network computes and no counting sees is named, the same for torch and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional

from roadworthy.cases import Requirement
from roadworthy.coverage import Observed, recorder
from roadworthy.coverage.criteria.named import parse_criterion
from roadworthy.coverage.measuring import Measuring
from roadworthy.coverage.method import CoverageMethod
from roadworthy.datasets import load
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, load_model, torch_model
from roadworthy.runs import run

Export = Callable[..., Path]
IMAGES = np.random.default_rng(0).random((2, 3, 16, 16), dtype=np.float32)


class Block(nn.Module):
    """Attention by hand and a dense layer, each with a way round it: one attention block, two sums."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out, self.dense = (nn.Linear(8, 8) for _ in range(5))
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5
        x = x + self.out(functional.dropout(scores.softmax(-1), 0.1, self.training) @ self.value(x))
        y: torch.Tensor = x + functional.gelu(self.dense(self.norm(x)))
        return y


class Transformer(nn.Module):
    """Patches with positions, two blocks, their mean, and an answer."""

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.positions = nn.Parameter(torch.ones(1, 16, 8))
        self.blocks = nn.Sequential(*(blocks or (Block(), Block())))
        self.answer = nn.Linear(8, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        seen = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        return self.answer(self.blocks(seen).mean(1))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """Two blocks whose activation functions are calls: the one in a block counts, the one after a sum not."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.pairs = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(4))
        self.answer = nn.Linear(4, 1)
        self.register_buffer("scale", torch.tensor(3.0))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.norm(self.stem(images)))
        for number in (0, 2):
            x = functional.relu(x + self.pairs[number + 1](functional.relu(self.pairs[number](x))))
        pooled = functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return 1 - self.answer(pooled) * self.scale  # type: ignore[no-any-return]


def told(source: nn.Module | Path, counting: str = "distinct") -> list[str]:
    _, found = recorder(source, counting).run(IMAGES)
    assert found.not_counted is not None
    assert found.take([1]).not_counted == found.not_counted
    return [str(one).lower() for one in found.not_counted]


def test_attention_and_sums_of_a_transformer_are_named(exported: Export) -> None:
    module = Transformer()
    attention = "2 attention blocks (4 matmul, 2 softmax)"
    assert told(module) == [attention, "6 operations (4 add, 2 layer_norm)"]
    assert told(exported(module, IMAGES)) == [attention, "6 operations (4 add, 2 layernormalization)"]


class Scores(nn.Module):
    """Gives weights to patches, and nothing by them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.softmax(x @ x.transpose(1, 2), -1)[..., :8]


def test_a_softmax_by_which_nothing_is_weighted_is_no_attention() -> None:
    assert told(Transformer(Scores())) == ["2 operations (1 matmul, 1 softmax)"]


def test_torchs_own_attention_is_an_attention_block(exported: Export) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    module = Transformer(layer)
    assert told(module) == [
        "1 attention block (1 multi_head_attention_forward)",
        "4 operations (2 add, 2 layer_norm)",
    ]
    (attention, _) = told(exported(module, IMAGES))
    assert attention == "1 attention block (2 matmul, 1 softmax)"


def test_calls_and_sums_of_a_residual_network_are_named(exported: Export) -> None:
    """Batch norm, pooling and the answer's scaling are no activations; ReLU inside a block counts."""
    module = Residual()
    assert told(module) == ["4 operations (2 add, 2 relu)"]
    assert told(exported(module, IMAGES)) == ["4 operations (2 add, 2 relu)"]
    assert told(module, "activations") == ["2 operations (2 add)"], "activation functions are counted there"
    assert told(exported(module, IMAGES), "activations") == ["2 operations (2 add)"]


class Homemade(nn.Module):
    """A dense layer that is none to torch, and a gate of two values."""

    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside
        self.weight = nn.Parameter(torch.ones(4, 3))
        self.bias = [torch.ones(4)]  # neither parameter nor buffer

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.linear(images.mean((2, 3)), self.weight, self.bias[0])
        inside = self.inside(x)
        return inside * torch.sigmoid(x)  # type: ignore[no-any-return]


class Squared(nn.Module):
    """Leaves torch for numpy, and comes back."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(given.numpy() ** 2)


def test_a_layer_that_is_none_to_torch_is_named() -> None:
    assert told(Homemade(nn.Linear(4, 4))) == ["3 operations (1 linear, 1 sigmoid, 1 mul)"]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("scripted", [False, True])
def test_what_cannot_be_looked_into_is_said(scripted: bool) -> None:
    part = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU())) if scripted else Squared()
    module = nn.Sequential(nn.Conv2d(3, 3, 1), Homemade(part))
    assert told(module) == [
        "3 operations (1 linear, 1 sigmoid, 1 mul)",
        "1 part that cannot be looked into (1 torchscript or code outside of torch)",
    ]


def test_a_branch_of_an_onnx_file_cannot_be_looked_into(tmp_path: Path) -> None:
    weights = [
        numpy_helper.from_array(np.ones((3, 2), np.float32), "w"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    shown = helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)
    both = [
        helper.make_graph([helper.make_node("Relu", ["dense"], ["inner"])], name, [], [shown])
        for name in ("then", "else")
    ]
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["pooled"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["pooled", "w"], ["dense"]),
        helper.make_node("If", ["yes"], ["branch"], then_branch=both[0], else_branch=both[1]),
        helper.make_node("Exp", ["branch"], ["answer"]),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 16, 16])
    answer = helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph(nodes, "net", [image], [answer], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    assert told(tmp_path / "net.onnx") == ["1 operation (1 exp)", "1 part that cannot be looked into (1 if)"]


def test_rows_of_a_table_are_told_apart_from_parts_of_what_is_seen(tmp_path: Path) -> None:
    weights = [
        numpy_helper.from_array(np.ones((3, 2), np.float32), "w"),
        numpy_helper.from_array(np.ones((300, 4), np.float32), "table"),
        numpy_helper.from_array(np.array([0, 1]), "two"),
    ]
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["pooled"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["pooled", "w"], ["dense"]),
        helper.make_node("Gather", ["dense", "two"], ["part"], axis=1),
        helper.make_node("Cast", ["part"], ["numbers"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "numbers"], ["answer"]),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 16, 16])
    answer = helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["n", 2, 4])
    graph = helper.make_graph(nodes, "net", [image], [answer], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    assert told(tmp_path / "net.onnx") == ["1 operation (1 gather of embeddings)"]


def test_nothing_is_missing_from_a_network_of_layers_alone() -> None:
    _, found = Observed(load_model("dave2")).observe(list(load("world:town", count=1)))  # type: ignore[arg-type]
    assert found.not_counted == ()


def steering(module: nn.Module) -> Observed[Any]:
    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput(width=16, height=16))
    return Observed(torch_model(module, name="residual", spec=spec))


def test_a_measurement_says_what_is_not_counted() -> None:
    measuring = Measuring(steering(Residual()), [parse_criterion("neuron")])
    measuring.add(list(load("world:town", count=2)))
    assert "not counted: 4 operations (2 add, 2 relu)" in measuring.result.lines()
    assert measuring.result.as_dict()["not_counted"] == [
        {"what": "operation", "count": 4, "operations": {"add": 2, "relu": 2}}
    ]


def test_a_search_notes_what_is_not_counted() -> None:
    requirement = Requirement("C1", "steering stays right", "coverage", {"lambda": 5, "tries": 2})
    system = steering(Residual())
    result = run(CoverageMethod(), requirement, load("world:town", count=2), system)
    notes = result.outcome.notes
    assert "Neurons of the counted layers only; not counted: 4 operations (2 add, 2 relu)." in notes
