"""TensorFlow Lite networks through LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import required
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.network import ModelSpec, Network, OpensLater, Tensor, existing
from roadworthy.models.onnx import wanted_threads
from roadworthy.registry import models


@models.register("tflite", summary="a TensorFlow Lite network, run by LiteRT: tflite:net.tflite")
def tflite_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    threads: int = 0,
    timeout: float | None = None,
) -> Network[Any]:
    """Open a TensorFlow Lite network.

    Args:
        path: The file.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        threads: How many threads it uses; 0 for as many as ROADWORTHY_THREADS says, or LiteRT likes.
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The file is missing or broken, or is not what the spec says.
        MissingExtraError: LiteRT is not installed.
    """
    return Network(name or f"tflite:{path}", TfliteRuntime(Path(path), threads), spec, timeout=timeout)


@dataclass(frozen=True)
class TfliteRuntime(OpensLater):
    """Runs a TensorFlow Lite network with one input; whole numbers in its answers are brought to scale."""

    path: Path
    threads: int = 0

    def __post_init__(self) -> None:
        existing(self.path, "TensorFlow Lite network")
        if len(found := self._interpreter.get_input_details()) != 1:
            raise InputError(f"{self.path}: expected a network with one input, the image, got {len(found)}")

    @cached_property
    def _interpreter(self) -> Any:
        library = required(
            "ai_edge_litert.interpreter", extra="tflite", purpose="run a TensorFlow Lite network"
        )
        try:
            opened = library.Interpreter(str(self.path), num_threads=wanted_threads(self.threads) or None)
            opened.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"cannot read the TensorFlow Lite network {self.path}: {reason}") from error
        return opened

    @cached_property
    def input(self) -> Tensor | None:
        """The network's input."""
        return _tensor(self._interpreter.get_input_details()[0])

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The network's outputs; how many boxes a detector gives, its file does not say."""
        return tuple(_tensor(one) for one in self._interpreter.get_output_details())

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, NDArray[Any]]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        taken = self._interpreter.get_input_details()[0]
        if tuple(taken["shape"]) != images.shape:
            self._interpreter.resize_tensor_input(taken["index"], images.shape)
            self._interpreter.allocate_tensors()
        self._interpreter.set_tensor(taken["index"], images)
        self._interpreter.invoke()
        return {one["name"]: self._scaled(one) for one in self._interpreter.get_output_details()}

    def _scaled(self, output: Any) -> NDArray[Any]:
        found = np.asarray(self._interpreter.get_tensor(output["index"]))
        scale, zero = output["quantization"]
        return found if not scale else ((found.astype(np.float32) - zero) * scale).astype(np.float32)


def _tensor(declared: Any) -> Tensor:
    shape = tuple(int(one) if one > 0 else None for one in declared["shape_signature"])
    return Tensor(declared["name"], shape, np.dtype(declared["dtype"]).name)
