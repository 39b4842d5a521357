"""Pictures on the device that trains, in batches, with holes to paint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from roadworthy.errors import InputError
from roadworthy.seeding import rng_for
from roadworthy.training.engines.pictures import Pictures

Batch = dict[str, torch.Tensor]

_COLORS = ("image", "truth", "filled")


class PictureFeed:
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
        self._groups = [{key: self._sent(array) for key, array in one.arrays.items()} for one in groups]
        self._counts = [len(one) for one in groups]

    def __len__(self) -> int:
        return sum(self._counts)

    def batch(self, step: int, count: int) -> Batch:
        """Return a batch for learning."""
        rng = rng_for(self.seed, "batch", step)
        group = int(rng.choice(len(self._counts), p=np.array(self._counts) / len(self)))
        return self._batch(group, rng.integers(self._counts[group], size=count), rng)

    def part(self, start: int, count: int, group: int = 0) -> Batch:
        """Return pictures that follow each other, as they are; fewer at the end."""
        return self._batch(group, np.arange(start, min(start + count, self._counts[group])), None)

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
        found = torch.from_numpy(np.ascontiguousarray(numbers))
        if self.device.type == "cuda":
            return found.pin_memory().to(self.device, non_blocking=True)
        return found.to(self.device)


class DomainFeed:
    """Gives batches of two domains that have nothing to do with each other: ``a`` and ``b``.

    Args:
        a: What is translated.
        b: What it shall look like.
    """

    def __init__(self, a: PictureFeed, b: PictureFeed) -> None:
        self.a, self.b = a, b
        self.device = a.device

    def __len__(self) -> int:
        return len(self.a)

    def batch(self, step: int, count: int) -> Batch:
        """Return a batch for learning."""
        return {"a": self.a.batch(step, count)["image"], "b": self.b.batch(step, count)["image"]}

    def part(self, start: int, count: int, group: int = 0) -> Batch:
        """Return pictures of both that follow each other, as they are; fewer at the end."""
        parts = {"a": self.a, "b": self.b}
        return {domain: feed.part(start, count, group)["image"] for domain, feed in parts.items()}


def one_hot(labels: torch.Tensor, channels: int) -> torch.Tensor:
    """Return numbers of channels, batch × 1 × height × width, as a channel for each.

    Example:
        >>> one_hot(torch.tensor([[[[0, 2]]]]), 3).squeeze().tolist()
        [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    return (labels == torch.arange(channels, device=labels.device).view(1, -1, 1, 1)).float()


_OWN = 0.35  # of the holes: a class of the picture itself, which is painted where it stands
_WIDEST = 6  # pixels by which a hole is larger than a thing
_LEAST = 24  # pixels of a class, to be worth a hole
_MOST = 0.5  # of the picture that a hole may take
_BOX = 0.35  # of height and width: the largest box that is a hole where nothing else will do


def holes(labels: torch.Tensor, channels: int, generator: torch.Generator) -> torch.Tensor:
    """Return a hole for each picture: batch × 1 × height × width, 1 inside.

    A hole has the shape of all that is of one class, a little larger. Mostly it is the shape that a class has
    in another picture, laid over this one: so it is learned to paint road where there may have been a line,
    and trees where there may have been a building, from the label map and from what is round the hole. Some
    holes are a class of the picture itself. Where a shape is too small or too large, a box is taken.

    Args:
        labels: Numbers of channels, batch × 1 × height × width.
        channels: How many there are.
        generator: Chooses.

    Example:
        >>> labels = torch.zeros(2, 1, 16, 32, dtype=torch.uint8)
        >>> labels[:, :, 8:] = 1
        >>> found = holes(labels, 3, torch.Generator().manual_seed(0))
        >>> found.shape, bool(found.any(3).any(2).all())
        (torch.Size([2, 1, 16, 32]), True)
    """
    count, _, height, width = labels.shape
    draw = torch.rand(count, 3, generator=generator)
    source = torch.where(draw[:, 0] < _OWN, torch.arange(count), torch.randperm(count, generator=generator))
    shapes = labels[source.to(labels.device)]
    sizes = one_hot(shapes, channels).sum((2, 3)).cpu()
    fits = (sizes >= _LEAST) & (sizes <= _MOST * height * width)
    # A class that does not fit is drawn only where none does.
    chosen = (torch.rand(count, channels, generator=generator) + fits.float()).argmax(1)
    found = (shapes == chosen.to(labels.device).view(-1, 1, 1, 1)).float()
    reach = 1 + (draw[:, 1] * _WIDEST).long()
    wide = torch.zeros_like(found)
    for step in range(1, _WIDEST + 1):
        found = functional.max_pool2d(found, 3, 1, 1)
        wide = torch.where((reach == step).to(labels.device).view(-1, 1, 1, 1), found, wide)
    usable = fits.gather(1, chosen[:, None]).to(labels.device).view(-1, 1, 1, 1)
    return torch.where(usable, wide, _boxes(count, height, width, generator).to(labels.device))


def _boxes(count: int, height: int, width: int, generator: torch.Generator) -> torch.Tensor:
    draw = torch.rand(count, 4, generator=generator)
    high, wide = (1 + draw[:, :2] * _BOX * torch.tensor([height, width])).T
    top, left = draw[:, 2] * (height - high), draw[:, 3] * (width - wide)
    rows, columns = torch.arange(height), torch.arange(width)
    inside = (rows >= top[:, None]) & (rows < top[:, None] + high[:, None])
    across = (columns >= left[:, None]) & (columns < left[:, None] + wide[:, None])
    found: torch.Tensor = (inside[:, :, None] & across[:, None, :])[:, None].float()
    # A box may be thinner than a pixel and fall between two.
    found[:, :, height // 2, width // 2] = torch.maximum(
        found[:, :, height // 2, width // 2], 1 - found.amax((2, 3))
    )
    return found


def with_hole(image: torch.Tensor, hole: torch.Tensor, inside: torch.Tensor | None = None) -> torch.Tensor:
    """Return what a painting network sees of the surroundings: RGB with the hole at 0, and the hole.

    Args:
        image: RGB from -1 to 1.
        hole: 1 inside.
        inside: What it sees inside the hole instead of 0, such as what a classical transform painted there.
    """
    seen = image * (1 - hole)
    if inside is not None:
        seen = seen + inside * hole
    return torch.cat([seen, hole], 1)
