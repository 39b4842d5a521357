"""Small networks in every form that the adapters read, and a server that answers for them."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput
from roadworthy.models.detection import DetectionOutput

WIDTH, HEIGHT = 40, 24


class Driver(torch.nn.Module):
    """A regressor with convolutions: steering and speed."""

    def __init__(self, outputs: int = 2) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 6, 5, stride=2),
            torch.nn.ELU(),
            torch.nn.Conv2d(6, 8, 3, stride=2),
            torch.nn.ELU(),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * 4 * 8, outputs),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)  # type: ignore[no-any-return]


class Spotter(torch.nn.Module):
    """A detector with a head like YOLOv8's: (n, 4 + classes, cells)."""

    cells: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Conv2d(3, 8, 4, stride=4)
        self.head = torch.nn.Conv2d(8, 6, 3, padding=1)
        rows, columns = torch.meshgrid(torch.arange(6), torch.arange(10), indexing="ij")
        self.register_buffer("cells", (torch.stack([columns, rows]).reshape(1, 2, -1) + 0.5) * 4.0)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        raw = self.head(torch.relu(self.body(images))).flatten(2)
        centres = self.cells + 2 * torch.tanh(raw[:, :2])
        sizes = 12 * torch.sigmoid(raw[:, 2:4])
        scores = torch.sigmoid(8 * (raw[:, 4:] - raw[:, 4:].mean(2, keepdim=True)))
        return torch.cat([centres, sizes, scores], dim=1)


DRIVER_SPEC = ModelSpec(
    RegressionOutput(
        ("steering", "speed"), SignalUnits(speed="km/h", steering="rad", steering_positive="left")
    ),
    ImageInput(width=WIDTH, height=HEIGHT, color="yuv", range=(-1, 1), crop=(8, 2)),
)
SPOTTER_SPEC = ModelSpec(
    DetectionOutput(("car", "person"), head="yolov8", score_threshold=0.55),
    ImageInput(width=WIDTH, height=HEIGHT, fit="letterbox"),
)


def seeded(build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return build().eval()


@pytest.fixture(scope="session")
def driver() -> torch.nn.Module:
    return seeded(Driver)


@pytest.fixture(scope="session")
def spotter() -> torch.nn.Module:
    return seeded(Spotter)


@pytest.fixture(scope="session")
def exported(
    tmp_path_factory: pytest.TempPathFactory, driver: torch.nn.Module, spotter: torch.nn.Module
) -> Path:
    """A folder with both networks as ONNX, ONNX for one image, TorchScript, state dict and safetensors."""
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("exported")
    example = torch.zeros(1, 3, HEIGHT, WIDTH)
    for name, module in (("driver", driver), ("spotter", spotter)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.trace(module, example).save(str(folder / f"{name}.ts"))  # type: ignore[no-untyped-call]
            for suffix, axes in (("", {"image": {0: "n"}, "answer": {0: "n"}}), ("-one", {})):
                torch.onnx.export(
                    module,
                    (example,),
                    str(folder / f"{name}{suffix}.onnx"),
                    input_names=["image"],
                    output_names=["answer"],
                    dynamic_axes=axes,
                    dynamo=False,
                )
        torch.save(module.state_dict(), folder / f"{name}.pth")
        save_file(module.state_dict(), folder / f"{name}.safetensors")
    return folder


@pytest.fixture(scope="session")
def frames() -> list[Frame]:
    """Frames that differ in content and in size."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(34):
        size = (60, 90) if number % 5 else (48, 72)
        coarse = rng.integers(0, 256, (6, 9, 3), np.uint8)
        image = np.kron(coarse, np.ones((size[0] // 6, size[1] // 9, 1), np.uint8))
        found.append(Frame(f"f{number:02d}", image, signals=Signals(steering=0.5, speed=5.0)))
    return found


@pytest.fixture
def serving(serve: Callable[[Callable[[bytes, Any], Any]], str]) -> Callable[[torch.nn.Module], str]:
    """Serves a torch module for arrays."""

    def start(module: torch.nn.Module) -> str:
        def answer(body: bytes, headers: Any) -> object:
            assert headers["Content-Type"] == "application/x-npy"
            images = np.load(io.BytesIO(body), allow_pickle=False)
            assert len(json.loads(headers["X-Frame-Ids"])) == len(images)
            with torch.inference_mode():
                return {"outputs": {"answer": module(torch.from_numpy(images)).tolist()}}

        return serve(answer)

    return start


@pytest.fixture(scope="session")
def driver_spec() -> ModelSpec[Signals]:
    return DRIVER_SPEC


@pytest.fixture(scope="session")
def spotter_spec() -> ModelSpec[Any]:
    return SPOTTER_SPEC
