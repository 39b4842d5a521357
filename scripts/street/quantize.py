"""Whole numbers instead of fractions: the street network with 8-bit weights, 1.8 times as fast.

    python -m scripts.street.quantize street.onnx small.onnx --camvid CAMVID --udacity UDACITY_CH2

Ranges of activations are those of frames that it was trained on: every ninth of CamVid without the held-out
sequence, and 16 of the first four fifths of Udacity's challenge 2. Weights of full convolutions have 7 bits,
so that no processor's 16-bit sums overflow and all of them give the same labels; depthwise ones have 8.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from scripts.street.pack import HELD_OUT

from roadworthy.datasets import BaseDataset, load
from roadworthy.labelling.street import fitted

_KEPT = ("Mul", "Sub", "Div", "ReduceMean", "AveragePool")  # what brightness is computed with: exact


class _Frames(CalibrationDataReader):  # type: ignore[misc]
    """Hands images to the calibration one by one."""

    def __init__(self, images: Iterator[NDArray[np.uint8]]) -> None:
        self._images = images

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        """Return the next image as the network wants it; None after the last."""
        image = next(self._images, None)
        return None if image is None else {"image": fitted(image)[None]}


def _images(camvid: BaseDataset, udacity: BaseDataset) -> Iterator[NDArray[np.uint8]]:
    seen = [number for number, one in enumerate(camvid.ids) if not one.startswith(HELD_OUT)]
    yield from (camvid[number].image for number in seen[::9])
    learned = len(udacity) * 4 // 5
    yield from (udacity[number].image for number in range(0, learned, learned // 16))


def quantize(network: Path, out: Path, images: Iterator[NDArray[np.uint8]]) -> None:
    """Write a network with whole numbers."""
    with tempfile.TemporaryDirectory() as folder:
        # Weights are stored with 16 bits; ONNX Runtime's own simplification turns them into what runs.
        plain = Path(folder) / "plain.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(plain)
        onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
        graph = onnx.load(plain).graph
        shapes = {one.name: tuple(one.dims) for one in graph.initializer}
        weights = [node.input[1] for node in graph.node if node.op_type == "Conv"]
        seven_bits = {"quant_type": QuantType.QInt8, "axis": 0, "reduce_range": True, "symmetric": True}
        quantize_static(
            str(plain),
            str(out),
            _Frames(images),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
            op_types_to_quantize=["Conv", "Add", "Clip", "Relu", "Resize"],
            nodes_to_exclude=[node.name for node in graph.node if node.op_type in _KEPT],
            extra_options={
                "TensorQuantOverrides": {name: [seven_bits] for name in weights if shapes[name][1] > 1}
            },
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.street.quantize", description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--camvid", required=True, help="its folder")
    parser.add_argument("--udacity", required=True, help="the folder of Udacity's challenge 2")
    told = parser.parse_args(arguments)
    data: list[Any] = [load(f"camvid:{told.camvid}"), load(f"udacity-ch2:{told.udacity}")]
    quantize(told.network, told.out, _images(*data))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
