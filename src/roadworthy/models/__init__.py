"""Systems under test: the protocols they follow, adapters for the runtimes people use, one spelling for all.

::

    model = load_model("onnx:net.onnx", output={"signals": ["steering", "speed"]})
    model = load_model("model.yaml")
    model.predict([frame, …])
"""

from __future__ import annotations

from roadworthy.class_lists import ClassList, class_list, class_lists
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.function import FrameFunction, callable_model
from roadworthy.models.http import http_model, kserve_model
from roadworthy.models.huggingface import huggingface_model
from roadworthy.models.images import ImageInput, View
from roadworthy.models.load import load_model
from roadworthy.models.network import ModelSpec, Network, Runtime, Tensor, history_of
from roadworthy.models.onnx import onnx_model
from roadworthy.models.opencv import opencv_model
from roadworthy.models.outputs import (
    ClassificationOutput,
    DepthOutput,
    Output,
    RegressionOutput,
    SegmentationOutput,
)
from roadworthy.models.prompted import BoxSegmenter, Inpainter
from roadworthy.models.protocols import ObservableSystem, Simulator, SystemUnderTest, Task, task_of
from roadworthy.models.recorded import Recorded, Truth, recorded_model
from roadworthy.models.tflite import tflite_model
from roadworthy.models.torch_module import torch_model, torchscript_model
from roadworthy.models.zoo import saved as _shipped  # noqa: F401 - registers what comes with the package

__all__ = [
    "BoxSegmenter",
    "ClassList",
    "ClassificationOutput",
    "DepthOutput",
    "DetectionOutput",
    "FrameFunction",
    "ImageInput",
    "Inpainter",
    "ModelSpec",
    "Network",
    "ObservableSystem",
    "Output",
    "Recorded",
    "RegressionOutput",
    "Runtime",
    "SegmentationOutput",
    "Simulator",
    "SystemUnderTest",
    "Task",
    "Tensor",
    "Truth",
    "View",
    "callable_model",
    "class_list",
    "class_lists",
    "history_of",
    "http_model",
    "huggingface_model",
    "kserve_model",
    "load_model",
    "onnx_model",
    "opencv_model",
    "recorded_model",
    "task_of",
    "tflite_model",
    "torch_model",
    "torchscript_model",
]
