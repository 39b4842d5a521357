"""Systems under test: the protocols they follow, adapters for the runtimes people use, one spelling for all.

::

    model = load_model("onnx:net.onnx", output={"signals": ["steering", "speed"]})
    model = load_model("model.yaml")
    model.predict([frame, …])
"""

from __future__ import annotations

# Some register what they open.
from roadworthy.models import http, huggingface, onnx, opencv  # noqa: F401
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.function import FrameFunction, callable_model
from roadworthy.models.images import ImageInput
from roadworthy.models.load import load_model
from roadworthy.models.network import ModelSpec, Network, Runtime, history_of
from roadworthy.models.onnx import onnx_model
from roadworthy.models.outputs import (
    ClassificationOutput,
    DepthOutput,
    Output,
    RegressionOutput,
    SegmentationOutput,
)
from roadworthy.models.prompted import BoxSegmenter, Inpainter
from roadworthy.models.protocols import ObservableSystem, Simulator, SystemUnderTest, Task, task_of
from roadworthy.models.recorded import Recorded, Truth
from roadworthy.models.torch_module import torch_model
from roadworthy.models.zoo import saved as _shipped  # noqa: F401 - registers what comes with the package

__all__ = [
    "BoxSegmenter", "ClassificationOutput", "DepthOutput", "DetectionOutput", "FrameFunction", "ImageInput",
    "Inpainter", "ModelSpec", "Network", "ObservableSystem", "Output", "Recorded", "RegressionOutput",
    "Runtime", "SegmentationOutput", "Simulator", "SystemUnderTest", "Task", "Truth", "callable_model",
    "history_of", "load_model", "onnx_model", "task_of", "torch_model",
]  # fmt: skip
