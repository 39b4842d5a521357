"""Any ONNX network as an engine: write a card beside it.

This one makes a network of two operations that takes most of the light away, so that the example needs no
weights. A network of your own needs the inputs that the card tells (see docs/engines.md) and one output, an
image from -1 to 1.

    python wrap_network.py my-engines/darker
    roadworthy engines use my-engines/darker --file engines.yaml
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from roadworthy.transforms.learned import sha256_of
from roadworthy.transforms.learned.card import NETWORK, EngineCard


def network(light: float) -> bytes:
    """Return a network that keeps a share of the light: black is -1."""
    shape: list[str | int | None] = ["n", 3, "height", "width"]
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["image", "light"], ["less"]),
            helper.make_node("Add", ["less", "black"], ["result"]),
        ],
        "darker",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(np.array(light, np.float32), "light"),
            numpy_helper.from_array(np.array(light - 1, np.float32), "black"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def write_engine(folder: Path) -> None:
    """Write the network and its card."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NETWORK).write_bytes(network(light=0.2))
    card = EngineCard.of_dict(
        {
            "name": folder.name,
            "kind": "translation",
            "architecture": "by hand",
            "supports": [{"operation": "replace", "element": "time", "by": "night"}],
            "trained_at": [160, 320],
            "license": "Apache-2.0",
            "sha256": sha256_of(folder / NETWORK),
        }
    )
    card.write(folder)


if __name__ == "__main__":
    write_engine(Path(sys.argv[1]))
