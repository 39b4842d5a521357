"""A small single-shot detector: is the middle of a thing in this cell of a grid, and what is its box?"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from roadworthy.models.zoo._convolutions import plain, separable, stage

__all__ = ["STRIDE", "Detector"]

STRIDE = 4
"""Pixels from one cell of the grid to the next."""

_RARE = 0.01  # share of cells that a fresh network takes for the middle of something
_UNIT = 8.0  # pixels from the middle to an edge that a fresh network answers with
_FARTHEST = math.log(400.0 / _UNIT)  # 400 pixels at most


class Detector(nn.Module):
    """A detector without anchors, after CenterNet (Zhou et al., 2019) and TTFNet (Liu et al., 2020).

    Four stages of separable convolutions look at 1/4 to 1/32 of the image's size. On the way back, each is
    enlarged and added to the one before (Lin et al., 2017), so that the finest grid, one cell for 4×4 pixels,
    knows of small and of large things. Two short towers answer there: a score per class, and the distances
    from the cell's middle to the four edges of the box.

    The answer is a table per image, (4 + classes) × cells: middle, width and height of the box as shares of
    the image's, then a score from 0 to 1 per class. `DetectionOutput` calls this head "yolov8", normalized.

    Args:
        outputs: How many classes it tells apart.
        width: Of the image.
        height: Of the image.
        channels: Of the first layer and of the four stages.
        blocks: How often each stage looks again.
        neck: Channels of the way back.
    """

    cells: torch.Tensor
    size: torch.Tensor

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 320,
        height: int = 160,
        channels: tuple[int, ...] = (32, 64, 112, 192, 256),
        blocks: tuple[int, ...] = (1, 2, 3, 3),
        neck: int = 64,
    ) -> None:
        super().__init__()
        self.stem = plain(3, channels[0], stride=2)
        self.stages = nn.ModuleList(
            # Far down the picture is small, and a wider look costs little.
            stage(before, after, count, kernel=3 if number < 2 else 5)
            for number, (before, after, count) in enumerate(zip(channels, channels[1:], blocks, strict=False))
        )
        self.sides = nn.ModuleList(nn.Conv2d(count, neck, 1) for count in channels[1:])
        self.joints = nn.ModuleList(separable(neck, neck) for _ in channels[2:])
        self.scores = nn.Sequential(separable(neck, neck), separable(neck, neck), nn.Conv2d(neck, outputs, 1))
        self.edges = nn.Sequential(separable(neck, neck), separable(neck, neck), nn.Conv2d(neck, 4, 1))
        for tower, bias in ((self.scores, -math.log(1 / _RARE - 1)), (self.edges, 0.0)):
            last = tower[-1]
            assert isinstance(last, nn.Conv2d)
            nn.init.normal_(last.weight, std=0.01)
            nn.init.constant_(last.bias, bias)  # type: ignore[arg-type]
        self.register_buffer("cells", _middles(width, height), persistent=False)
        self.register_buffer("size", torch.tensor([[width], [height]] * 2), persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return boxes and scores for a batch of images: batch × (4 + classes) × cells."""
        seen = self.stem(images)
        levels = []
        for layers, side in zip(self.stages, self.sides, strict=True):
            seen = layers(seen)
            levels.append(side(seen))
        found = levels.pop()
        for joint in self.joints:
            finer = levels.pop()
            # An input whose sides are no multiples of 32 leaves a level of uneven size.
            found = joint(finer + functional.interpolate(found, size=finer.shape[2:]))
        # 16 bits are too coarse for the middles of cells and for scores near 1.
        scores = self.scores(found).float().flatten(2).sigmoid()
        edges = self.edges(found).float().flatten(2).clamp(max=_FARTHEST).exp() * _UNIT
        before, after = edges[:, :2], edges[:, 2:]
        boxes = torch.cat([self.cells + (after - before) / 2, before + after], dim=1)
        return torch.cat([boxes / self.size, scores], dim=1)


def _middles(width: int, height: int) -> torch.Tensor:
    """Return x and y of the middle of each cell, in pixels: 2 × cells, row by row."""
    columns, rows = (torch.arange(math.ceil(size / STRIDE)) for size in (width, height))
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return (torch.stack([x.flatten(), y.flatten()]) + 0.5) * STRIDE
