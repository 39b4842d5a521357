"""Models and what is kept about them: networks, weights, recorded answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_bytes, mutated_csv, mutated_json, mutated_text, mutated_zip

__all__ = ["TARGETS"]


def _frame() -> Any:
    from roadworthy.frames import Frame

    return Frame("a", np.zeros((6, 8, 3), np.uint8))


def _recorded(place: str, **options: str) -> Any:
    def read(folder: Path) -> None:
        from roadworthy.models import load_model

        given = {key: folder / value for key, value in options.items()}
        load_model(f"recorded:{folder / place}", **given).predict([_frame()])

    return read


def _onnx(folder: Path) -> None:
    from roadworthy.models import load_model

    model = load_model(f"onnx:{folder / 'net.onnx'}", **{"output.signals": "steering"})
    model.predict([_frame()])


def _zoo(folder: Path) -> None:
    from roadworthy.models.zoo.saved import read_variant

    read_variant(folder / "net.onnx")


def _watched(folder: Path) -> None:
    from roadworthy.coverage.observed import Observed
    from roadworthy.models import load_model

    model: Any = load_model(f"onnx:{folder / 'net.onnx'}", **{"output.signals": "steering"})
    Observed(model).observe([_frame()])


def _weights(name: str) -> Any:
    def read(folder: Path) -> None:
        import torch

        from roadworthy.models.torch_module import load_weights

        load_weights(torch.nn.Linear(3, 1), folder / name)

    return read


def _darknet(folder: Path) -> None:
    from roadworthy.models.opencv import OpenCVRuntime

    runtime = OpenCVRuntime(folder / "net.cfg", folder / "net.weights")
    assert runtime.input is not None


def _http(folder: Path) -> None:
    from roadworthy._http import UnusableAnswer
    from roadworthy.models.http import HttpRuntime

    with suppress(UnusableAnswer):
        HttpRuntime("http://127.0.0.1:9")._outputs((folder / "answer.json").read_bytes())


_COCO = b'{"images": [{"id": 1, "file_name": "a.png"}], "categories": [{"id": 1, "name": "car"}]}'
_RESULTS = b'[{"image_id": 1, "category_id": 1, "bbox": [1, 1, 3, 2], "score": 0.5}]'

TARGETS = (
    Target("recorded-csv", "answers.csv", _recorded("answers.csv"), mutated_csv),
    Target("recorded-kitti", "results/a.txt", _recorded("results"), mutated_text),
    Target(
        "recorded-coco",
        "results.json",
        _recorded("results.json", annotations="instances.json"),
        mutated_json,
        {"instances.json": _COCO},
    ),
    Target(
        "recorded-coco-annotations",
        "instances.json",
        _recorded("results.json", annotations="instances.json"),
        mutated_json,
        {"results.json": _RESULTS},
    ),
    Target("onnx", "net.onnx", _onnx, mutated_bytes),
    Target("onnx-zoo", "net.onnx", _zoo, mutated_bytes),
    Target("onnx-watched", "net.onnx", _watched, mutated_bytes),
    Target("torch-weights", "net.pth", _weights("net.pth"), mutated_zip),
    Target("safetensors", "net.safetensors", _weights("net.safetensors"), mutated_bytes),
    Target("darknet", "net.cfg", _darknet, mutated_text, {"net.weights": bytes(16 + 4 * 56)}),
    Target("http-answer", "answer.json", _http, mutated_json, names=""),
)
