"""TorchScript archives, which run without the class that they were made from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models.network import (
    ModelSpec,
    Network,
    OpensLater,
    Tensor,
    existing,
    named_tensors,
    needed_spec,
)
from roadworthy.models.torch_module import imported_torch
from roadworthy.registry import models

__all__ = ["TorchScriptRuntime", "torchscript_model"]


@models.register("torchscript", summary="a TorchScript archive, run by torch: torchscript:net.pt")
def torchscript_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    device: str = "cpu",
    timeout: float | None = None,
) -> Network[Any]:
    """Open a TorchScript archive.

    Args:
        path: The file, as ``torch.jit.trace(…).save(…)`` or ``torch.jit.script(…).save(…)`` write it.
        spec: What it takes and what its numbers mean.
        name: What it is called in rows and reports.
        device: Where it runs, such as "cuda:0".
        timeout: Seconds that it may take for a batch; it is waited for when left out.

    Raises:
        InputError: The file is missing, broken or something else.
        MissingExtraError: torch is not installed.
    """
    runtime = TorchScriptRuntime(Path(path), device)
    label = name or f"torchscript:{path}"
    return Network(label, runtime, needed_spec(spec, label, runtime), timeout=timeout)


@dataclass(frozen=True)
class TorchScriptRuntime(OpensLater):
    """Runs a TorchScript archive."""

    path: Path
    device: str = "cpu"

    input: Tensor | None = None
    outputs: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        existing(self.path, "TorchScript archive")
        self.module  # noqa: B018 - opened at once, so that a broken file is told when it is named

    @cached_property
    def module(self) -> Any:
        """The module in the archive."""
        torch = imported_torch("run a TorchScript archive")
        try:
            with warnings.catch_warnings():
                # torch deprecates what it still runs; users with such archives know.
                for kind in (DeprecationWarning, FutureWarning):
                    warnings.filterwarnings("ignore", r".*torch\.jit", kind)
                return torch.jit.load(str(self.path), map_location=self.device).eval()
        except RuntimeError as error:
            reason = str(error).strip().partition("\n")[0].partition(". This is an internal")[0]
            raise InputError(
                f"{self.path} is no whole TorchScript archive: {reason}. Write one with "
                "torch.jit.trace(module, example).save(…); for a file of weights write "
                f"torch:package.module:Class with weights={self.path}; a pickled module is never loaded, "
                "because it could run code"
            ) from error

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> dict[str, Any]:  # noqa: ARG002
        """Return the outputs for a batch of images."""
        import torch

        with torch.inference_mode():
            found = self.module(torch.from_numpy(images).to(self.device))
        return named_tensors(found)
