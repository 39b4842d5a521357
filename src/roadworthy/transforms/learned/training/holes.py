"""Holes for painting: what an engine that sees the surroundings is asked to paint while it learns."""

from __future__ import annotations

import torch
from torch.nn import functional

from roadworthy.transforms.learned.training.feed import one_hot

__all__ = ["holes", "with_hole"]

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
    own = draw[:, 0] < _OWN
    source = torch.where(own, torch.arange(count), torch.randperm(count, generator=generator))
    shapes = labels[source.to(labels.device)]
    sizes = one_hot(shapes, channels).sum((2, 3)).cpu()
    fits = (sizes >= _LEAST) & (sizes <= _MOST * height * width)
    # A class that does not fit is drawn only where none does.
    chance = torch.rand(count, channels, generator=generator) + fits.float()
    chosen = chance.argmax(1)
    found = (shapes == chosen.to(labels.device).view(-1, 1, 1, 1)).float()
    reach = 1 + (draw[:, 1] * _WIDEST).long()
    wide = torch.zeros_like(found)
    for step in range(1, _WIDEST + 1):
        found = functional.max_pool2d(found, 3, 1, 1)
        wide = torch.where((reach == step).to(labels.device).view(-1, 1, 1, 1), found, wide)
    usable = fits.gather(1, chosen[:, None]).to(labels.device).view(-1, 1, 1, 1)
    boxes = _boxes(count, height, width, generator).to(labels.device)
    return torch.where(usable, wide, boxes)


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
