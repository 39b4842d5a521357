"""ONNX graphs of networks of the zoo with the dropout layers that exporters leave out.

A dropout layer lets everything through when a network is used, so an ONNX file does without it. Where such
layers count, the network is exported once more from its own weights, with every dropout layer as a node.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from roadworthy.models.zoo.saved import write_onnx

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
"""The layers of torch that count as dropout."""


class _Through(torch.autograd.Function):
    """Does nothing, and is a dropout node in ONNX."""

    @staticmethod
    def forward(_context: Any, given: torch.Tensor) -> torch.Tensor:
        return given.clone()

    @staticmethod
    def symbolic(graph: Any, given: Any) -> Any:
        return graph.op("Dropout", given).setType(given.type())


class _Kept(nn.Module):
    """Stands where a dropout layer was; notes its calls in order, as the nodes of the graph are."""

    def __init__(self, name: str, calls: list[str]) -> None:
        super().__init__()
        self.name = name
        self.calls = calls

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        self.calls.append(self.name)
        return _Through.apply(given)  # type: ignore[no-any-return, no-untyped-call]


def graph_with_dropout(module: nn.Module, shape: tuple[int, ...]) -> Any:
    """Return a module as an ONNX model whose dropout layers are nodes with the names of the layers.

    Args:
        module: The network, in evaluation mode.
        shape: Of one image as it takes it, without the axis of the batch.
    """
    import onnx

    changed = copy.deepcopy(module)
    calls: list[str] = []
    for name, layer in list(changed.named_modules()):
        if isinstance(layer, DROPOUT):
            changed.set_submodule(name, _Kept(name, calls))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        calls.clear()
        write_onnx(changed, torch.zeros(2, *shape).numpy(), file)
        model = onnx.load(file)
    nodes = [node for node in model.graph.node if node.op_type == "Dropout"]
    for node, name in zip(nodes, calls, strict=True):
        node.name = name
    return model
