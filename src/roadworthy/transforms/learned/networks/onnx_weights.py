"""The weights of an engine's ONNX file, so that its network can be trained further."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models.torch_module import imported_torch
from roadworthy.transforms.learned.networks.export import HALF, NOTE

__all__ = ["read_onnx"]


def read_onnx(path: Path) -> dict[str, Any]:
    """Return architecture, settings and state of a network that `export_onnx` wrote.

    Raises:
        InputError: The file is broken, or something else wrote it.
        MissingExtraError: torch is not installed.
    """
    torch = imported_torch("read weights")
    try:
        notes, arrays = _contents(path)
    except Exception as error:
        # protobuf and ONNX raise classes of their own.
        raise InputError(f"cannot read {path}: it is no whole ONNX file") from error
    if NOTE not in notes:
        raise InputError(f"cannot use {path}: it does not say which network it holds; give its checkpoint")
    try:
        note = json.loads(notes[NOTE])
        architecture, settings = note["architecture"], note["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot use {path}: what it says of its network is not understood") from error
    state = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    return {"architecture": architecture, "settings": settings, "state": state}


def _contents(path: Path) -> tuple[dict[str, str], dict[str, NDArray[np.float32]]]:
    """Return what a file says of itself, and the weights with the names of a module's."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    found = {
        one.name.removesuffix(HALF): onnx.numpy_helper.to_array(one).astype(np.float32)
        for one in model.graph.initializer
    }
    for node in model.graph.node:
        # The exporter writes equal tensors once, such as those of fresh norms, and names the others so.
        if node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    notes = {one.key: one.value for one in model.metadata_props}
    # Names that the exporter made up have no dot, or start with what no module is called.
    weights = {
        name: one for name, one in found.items() if "." in name and not name.startswith(("onnx::", "/"))
    }
    return notes, weights
