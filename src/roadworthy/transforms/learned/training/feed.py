"""Pictures on the device that trains: batches without a loop over images, and no state between steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from roadworthy.errors import InputError
from roadworthy.seeding import rng_for
from roadworthy.transforms.learned.training.pictures import Pictures

__all__ = ["Batch", "Feed", "DomainFeed", "one_hot"]

Batch = dict[str, torch.Tensor]

_COLORS = ("image", "truth", "filled")


class Feed:
    """Gives batches of pictures. What is in a batch depends on the seed and its number alone.

    Args:
        groups: Pictures; those of a group have one size. A batch is from one of them.
        device: Where the batches are; the pictures are kept there as well.
        mirror: The share of pictures that are mirrored.
        crop: Height and width of what is cut out of a picture, at random; all of it when left out.
        seed: Chooses the pictures.
        channels_last: Whether the channels of a pixel lie together in memory.
    """

    def __init__(
        self,
        groups: Sequence[Pictures],
        device: torch.device,
        *,
        mirror: float = 0.0,
        crop: tuple[int, int] | None = None,
        seed: int = 0,
        channels_last: bool = True,
    ) -> None:
        self._layout = torch.channels_last if channels_last else torch.contiguous_format
        for one in groups:
            if crop is not None and any(part > whole for part, whole in zip(crop, one.size, strict=True)):
                raise InputError(f"{one.name}: cannot cut {crop} out of images of {one.size}")
        self.device, self.mirror, self.crop, self.seed = device, mirror, crop, seed
        self._groups = [
            {
                key: torch.from_numpy(np.ascontiguousarray(array)).to(device)
                for key, array in one.arrays.items()
            }
            for one in groups
        ]
        self._counts = [len(one) for one in groups]

    def __len__(self) -> int:
        return sum(self._counts)

    def batch(self, step: int, count: int) -> Batch:
        """Return a batch for learning."""
        rng = rng_for(self.seed, "batch", step)
        group = int(rng.choice(len(self._counts), p=np.array(self._counts) / len(self)))
        numbers = rng.integers(self._counts[group], size=count)
        return self._batch(group, numbers, rng)

    def part(self, start: int, count: int, group: int = 0) -> Batch:
        """Return pictures that follow each other, as they are; fewer at the end."""
        numbers = np.arange(start, min(start + count, self._counts[group]))
        return self._batch(group, numbers, None)

    def counts(self) -> tuple[int, ...]:
        """Return how many pictures each group has."""
        return tuple(self._counts)

    def _batch(self, group: int, numbers: np.ndarray[Any, Any], rng: np.random.Generator | None) -> Batch:
        chosen = self._sent(numbers)
        flipped = np.zeros(len(numbers), np.bool_) if rng is None else rng.random(len(numbers)) < self.mirror
        mirrored = self._sent(flipped).view(-1, 1, 1, 1) if flipped.any() else None
        window = self._window(group, len(numbers), rng)
        found: Batch = {}
        for key, array in self._groups[group].items():
            one = array[chosen] if window is None else array[(chosen[:, None, None], *window)]
            one = one.permute(0, 3, 1, 2) if key in _COLORS else one[:, None]
            one = one.float().div_(127.5).sub_(1) if key in _COLORS else one
            if mirrored is not None:
                one = torch.where(mirrored, one.flip(-1), one)
            found[key] = one.contiguous(memory_format=self._layout)
        return found

    def _window(
        self, group: int, count: int, rng: np.random.Generator | None
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return rows and columns to cut out for each picture; from the middle without a random generator."""
        height, width = self._groups[group]["image"].shape[1:3]
        if self.crop is None or self.crop == (height, width):
            return None
        most = np.array([height - self.crop[0], width - self.crop[1]])
        corners = np.tile(most // 2, (count, 1)) if rng is None else rng.integers(most + 1, size=(count, 2))
        rows, columns = (self._sent(corners[:, axis, None] + np.arange(self.crop[axis])) for axis in (0, 1))
        return rows[:, :, None], columns[:, None, :]

    def _sent(self, numbers: np.ndarray[Any, Any]) -> torch.Tensor:
        """Return numbers on the device; a GPU does not wait for them, as it would for plain memory."""
        found = torch.from_numpy(numbers)
        if self.device.type == "cuda":
            return found.pin_memory().to(self.device, non_blocking=True)
        return found.to(self.device)


class DomainFeed:
    """Gives batches of two domains that have nothing to do with each other: ``a`` and ``b``.

    Args:
        a: What is translated.
        b: What it shall look like.
    """

    def __init__(self, a: Feed, b: Feed) -> None:
        self.a, self.b = a, b
        self.device = a.device

    def __len__(self) -> int:
        return len(self.a)

    def batch(self, step: int, count: int) -> Batch:
        """Return a batch for learning."""
        return {"a": self.a.batch(step, count)["image"], "b": self.b.batch(step, count)["image"]}

    def part(self, start: int, count: int, group: int = 0) -> Batch:
        """Return pictures of both that follow each other, as they are; fewer at the end."""
        found: Mapping[str, torch.Tensor] = {
            "a": self.a.part(start, count, group)["image"],
            "b": self.b.part(start, count, group)["image"],
        }
        return dict(found)


def one_hot(labels: torch.Tensor, channels: int) -> torch.Tensor:
    """Return numbers of channels, batch × 1 × height × width, as a channel for each.

    Example:
        >>> one_hot(torch.tensor([[[[0, 2]]]]), 3).squeeze().tolist()
        [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    numbers = torch.arange(channels, device=labels.device).view(1, -1, 1, 1)
    return (labels == numbers).float()
