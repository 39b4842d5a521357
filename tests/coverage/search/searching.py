"""A small drive, a small network and a search on them, for the tests of this folder."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roadworthy.cases import Requirement
from roadworthy.coverage import Observed
from roadworthy.coverage.method import CoverageMethod
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, onnx_model, torch_model
from roadworthy.runs import RunResult, read_rows, run

torch.set_num_threads(1)


class Drive:
    """A few small frames with a gradient that says where the road goes."""

    name = "drive"

    def __init__(self, count: int = 5, units: SignalUnits | None = None, *, labels: bool = True) -> None:
        self.count = count
        self.labels = labels
        if units is not None:
            self.units = units

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int, /) -> Frame:
        rng = np.random.default_rng(index)
        image = rng.integers(60, 120, (24, 36, 3), np.uint8)
        image[:, : 4 + 5 * index] += 60
        steering = 4.0 * index - 8 + 0.3 * (-1) ** index
        return Frame(f"drive/{index}", image, signals=Signals(steering=steering if self.labels else None))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


class Small(torch.nn.Module):
    """A network with a convolution, a hidden layer and an answer; its weights are always the same."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.conv = torch.nn.Conv2d(3, 6, 5, stride=3)
        self.hidden = torch.nn.Linear(6 * 7 * 11, 8)
        self.answer = torch.nn.Linear(8, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        maps = torch.relu(self.conv(images))
        return self.answer(torch.relu(self.hidden(maps.flatten(1)))) * 40  # type: ignore[no-any-return]


SPEC = ModelSpec(RegressionOutput(("steering",)), ImageInput(width=36, height=24, range=(-1.0, 1.0)))


def network(change: Callable[[Small], object] | None = None) -> Observed[Signals]:
    """Return the network, run by torch if something about it is changed."""
    if change is None:
        return Observed(onnx_model(_exported(), spec=SPEC, name="small", threads=1))
    module = Small()
    with torch.no_grad():
        change(module)
    return Observed(torch_model(module, spec=SPEC, name="small"))


@cache
def _exported() -> Path:
    """Write the network to a file: what ONNX Runtime answers does not depend on the batch, to the bit."""
    file = Path(tempfile.mkdtemp()) / "small.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Small().eval(),
            (torch.zeros(1, 3, 24, 36),),
            str(file),
            dynamo=False,
            input_names=["image"],
            output_names=["answer"],
            dynamic_axes={"image": {0: "n"}},
        )
    return file


def requirement(**parameters: Any) -> Requirement:
    transforms = ["rotation", "brightness", "translation"]
    given = {"lambda": 5, "tries": 60, "transforms": transforms, "again": True}
    return Requirement("C1", "Steering stays right", "coverage", {**given, **parameters})


def searched(out: Path | None, data: Any = None, system: Any = None, **options: Any) -> RunResult:
    keys = {"seed", "batch_size", "resume", "progress"}
    settings = {name: value for name, value in options.items() if name not in keys}
    rest = {name: value for name, value in options.items() if name in keys}
    return run(
        CoverageMethod(),
        requirement(**settings),
        Drive() if data is None else data,
        system or network(),
        out=out,
        # Drives of noise have no street, and the search itself is tried here.
        gate="off",
        **rest,
    )


def tried(folder: Path) -> list[dict[str, Any]]:
    return [row for row in read_rows(folder) if row.get("param.transform")]


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
