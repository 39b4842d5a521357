"""Engines whose networks are a few operations of ONNX, so that what they paint is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from roadworthy._files import sha256_of
from roadworthy.transforms.learned.card import NETWORK, EngineCard

CLASSES = ("road", "line", "sky", "building", "tree", "sidewalk")
GREYS = (90, 250, 170, 110, 60, 140, 255)
"""What the engine "colours" paints for each of them, and for all else."""
REMOVE_LINE = {"operation": "remove", "element": "line"}
NIGHT = {"operation": "replace", "element": "time", "by": "night"}


class MakeEngine(Protocol):
    def __call__(
        self,
        name: str,
        kind: str,
        nodes: Sequence[onnx.NodeProto],
        constants: dict[str, NDArray[Any]] | None = None,
        *,
        inputs: dict[str, int] | None = None,
        **more: Any,
    ) -> Path: ...


def network(
    nodes: Sequence[onnx.NodeProto], inputs: dict[str, int], constants: dict[str, NDArray[Any]]
) -> bytes:
    """A network that gives `result`; inputs with their numbers of channels, all else is open."""

    def tensor(name: str, channels: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", channels, "height", "width"])

    graph = helper.make_graph(
        nodes,
        "engine",
        [tensor(name, channels) for name, channels in inputs.items()],
        [tensor("result", 3)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@pytest.fixture
def make_engine(tmp_path: Path) -> MakeEngine:
    """Writes engines: a network of these nodes, and a card that fits it unless it is told otherwise."""

    def make(
        name: str,
        kind: str,
        nodes: Sequence[onnx.NodeProto],
        constants: dict[str, NDArray[Any]] | None = None,
        *,
        inputs: dict[str, int] | None = None,
        **more: Any,
    ) -> Path:
        facts: dict[str, Any] = {
            "name": name,
            "kind": kind,
            "architecture": "by hand",
            "supports": [REMOVE_LINE] if kind == "synthesis" else [NIGHT],
            "classes": list(CLASSES) if kind == "synthesis" else [],
            **more,
        }
        card = EngineCard.of_dict(facts)
        folder = tmp_path / name
        folder.mkdir()
        (folder / NETWORK).write_bytes(network(nodes, inputs or card.inputs, constants or {}))
        card.replace(sha256=sha256_of(folder / NETWORK)).write(folder)
        return folder

    return make


@pytest.fixture
def colours(make_engine: MakeEngine) -> Path:
    """An engine that paints each class in a grey of its own, and all else in white."""
    levels = np.array([GREYS] * 3, np.float32)[:, :, None, None] / 127.5 - 1
    node = helper.make_node("Conv", ["labels", "colours"], ["result"])
    supports = [REMOVE_LINE, {"operation": "replace", "element": "building", "by": "tree"}]
    return make_engine("colours", "synthesis", [node], {"colours": levels}, supports=supports)


def darkening(factor: float = 0.25) -> tuple[list[onnx.NodeProto], dict[str, NDArray[Any]]]:
    """Nodes that multiply what is above black, which is -1, by a factor."""
    nodes = [
        helper.make_node("Mul", ["image", "factor"], ["less"]),
        helper.make_node("Add", ["less", "shift"], ["result"]),
    ]
    return nodes, {"factor": np.array(factor, np.float32), "shift": np.array(factor - 1, np.float32)}


@pytest.fixture
def night(make_engine: MakeEngine) -> Path:
    """An engine that leaves a quarter of the light."""
    return make_engine("night", "translation", *darkening())
