"""Small networks whose activations can be computed by hand, and activations made of plain numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from roadworthy.coverage import Activations, Layer

torch.set_num_threads(1)

Export = Callable[..., Path]


@pytest.fixture
def exported(tmp_path: Path) -> Export:
    """Writes a torch module to an ONNX file in which the number of images is free."""

    def export(
        module: torch.nn.Module,
        images: NDArray[np.float32],
        *,
        opset: int = 17,
        fold: bool = False,
        **axes: int,
    ) -> Path:
        mode = torch.onnx.TrainingMode
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.onnx"
        free = {axis: name for name, axis in axes.items()} or {0: "n"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module.eval(),
                (torch.from_numpy(images),),
                str(file),
                dynamo=False,
                input_names=["image"],
                output_names=["answer"],
                dynamic_axes={"image": free},
                opset_version=opset,
                do_constant_folding=fold,
                training=mode.EVAL if fold else mode.PRESERVE,
            )
        return file

    return export


@pytest.fixture
def batch_of() -> Callable[..., Activations]:
    """Makes activations of one dense layer, or of several, from lists of numbers."""

    def make(*layers: list[list[float]]) -> Activations:
        arrays = [np.asarray(one, np.float64) for one in layers]
        return Activations(
            tuple(Layer(f"layer{i}", "dense", one.shape[1]) for i, one in enumerate(arrays)),
            np.concatenate(arrays, axis=1),
            np.stack([one.min(axis=1) for one in arrays], axis=1),
            np.stack([one.max(axis=1) for one in arrays], axis=1),
        )

    return make
