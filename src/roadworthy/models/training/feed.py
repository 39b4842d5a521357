"""Batches for a network, made on the device it is trained on: images out of memory, changed a little."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.models.images import ImageInput
from roadworthy.models.torch_module import imported_torch
from roadworthy.models.training.samples import Samples
from roadworthy.models.training.settings import Settings
from roadworthy.models.training.tasks import TrainingTask

if TYPE_CHECKING:
    import torch

__all__ = ["Feed"]

_MOST_OF_THE_DEVICE = 0.5  # of its free memory, for images; the rest is for the network


class Feed:
    """Gives the samples of a training as tensors.

    Args:
        samples: The samples. Their images go to the device at once if they fit well.
        taken: What the network takes.
        task: Says what the targets of mirrored images are.
        settings: How much images are changed.
        device: Where the tensors are wanted.
    """

    def __init__(
        self,
        samples: Samples,
        taken: ImageInput,
        task: TrainingTask,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self._torch = imported_torch("train a network")
        self._taken, self._task, self._settings, self._device = taken, task, settings, device
        images = self._torch.from_numpy(samples.images)
        self._images = images.to(device) if _fits(self._torch, samples.images.nbytes, device) else images
        self._windows = self._torch.from_numpy(samples.windows).to(self._images.device)
        self._targets = self._torch.from_numpy(samples.targets).to(device)
        # Colours are scaled image by image, also where the images of a history are stacked as channels.
        factor, shift = dataclasses.replace(taken, history=0).scaling(np.float32)
        self._factor, self._shift = (self._torch.from_numpy(one.copy()).to(device) for one in (factor, shift))
        grey = [0.0, 128.0, 128.0] if taken.color == "yuv" else [0.0]
        self._black = self._torch.tensor(grey, device=device).reshape(-1, 1, 1)

    def __len__(self) -> int:
        return len(self._windows)

    def plain(self, chosen: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples as they are."""
        images, targets = self._raw(chosen)
        return self._scaled(images), targets

    def changed(
        self, chosen: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples, some of them mirrored, all brighter or darker."""
        images, targets = self._raw(chosen)
        gains = 1 + self._settings.brightness * rng.uniform(-1, 1, len(chosen))
        mirrored = rng.random(len(chosen)) < self._settings.mirror
        if self._settings.brightness:
            gain = self._torch.from_numpy(gains.astype(np.float32)).to(self._device).reshape(-1, 1, 1, 1, 1)
            images = ((images - self._black) * gain + self._black).clamp(0, 255)
        if mirrored.any():
            flags = self._torch.from_numpy(mirrored).to(self._device)
            images = self._torch.where(flags.reshape(-1, 1, 1, 1, 1), images.flip(-1), images)
            other = self._task.mirrored(targets)
            targets = self._torch.where(flags.reshape(-1, *[1] * (targets.ndim - 1)), other, targets)
        return self._scaled(images), targets

    def _raw(self, chosen: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return samples × time × channels × height × width from 0 to 255, and the targets."""
        numbers = self._torch.from_numpy(np.ascontiguousarray(chosen))
        windows = self._windows[numbers.to(self._windows.device)]
        images = self._images[windows].to(self._device).float()
        return images, self._targets[numbers.to(self._device)]

    def _scaled(self, images: Any) -> Any:
        """Return what the network takes."""
        images = images * self._factor + self._shift
        if self._taken.stacking == "channels":
            return images.flatten(1, 2)
        return images if self._taken.history else images[:, 0]


def _fits(torch: Any, size: int, device: torch.device) -> bool:
    if device.type != "cuda":
        return device.type == "cpu"
    free, _ = torch.cuda.mem_get_info(device)
    return bool(size < _MOST_OF_THE_DEVICE * free)
