"""ResNet101 as a driving network: its convolutions with three dense layers for numbers instead of classes."""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._layers import Adapted

__all__ = ["ResNet101"]

_STAGES = ((64, 3, 1), (128, 4, 2), (256, 23, 2), (512, 3, 2))  # channels inside a block, blocks, stride
_GROWTH = 4  # channels that a block gives for one inside


class _Block(nn.Module):
    """Three convolutions beside a way round them."""

    def __init__(self, before: int, inside: int, stride: int) -> None:
        super().__init__()
        after = inside * _GROWTH
        self.residual = nn.Sequential(
            nn.Conv2d(before, inside, 1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, inside, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        # Blocks that add nothing at first keep a network of 33 of them from overflowing before it learns.
        nn.init.zeros_(self.residual[-1].weight)  # type: ignore[arg-type]
        same = before == after and stride == 1
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        )

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.residual(maps) + self.shortcut(maps))


class _Mean(nn.Module):
    """The mean of each channel: its gradient on a GPU is deterministic, and adaptive pooling's is not."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return maps.mean((2, 3))


class ResNet101(Adapted):
    """The 42,500,160 parameters of He et al.'s network before its classifier, and three dense layers."""

    def convolutions(self) -> nn.Sequential:
        """Return the stem and the four stages."""
        before = 64
        layers: list[nn.Module] = [
            nn.Conv2d(3, before, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(before),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        ]
        for inside, blocks, stride in _STAGES:
            for number in range(blocks):
                layers.append(_Block(before, inside, stride if number == 0 else 1))
                before = inside * _GROWTH
        return nn.Sequential(*layers, _Mean())
