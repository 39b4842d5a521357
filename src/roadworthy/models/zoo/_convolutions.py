"""Convolutions for networks that must be small: each is split into one over space and one over channels."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["Residual", "plain", "separable", "stage"]


def plain(before: int, after: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a convolution with batch norm and ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()
    )


def separable(before: int, after: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a depthwise-separable convolution, as MobileNet has it (Howard et al., 2017)."""
    return nn.Sequential(
        nn.Conv2d(before, before, kernel, stride, kernel // 2, groups=before, bias=False),
        nn.BatchNorm2d(before),
        nn.ReLU(),
        *plain(before, after, kernel=1),
    )


class Residual(nn.Module):
    """Adds what a separable convolution finds to what came in.

    Args:
        channels: Of what comes in and goes out.
        kernel: Of the convolution over space.
    """

    def __init__(self, channels: int, kernel: int = 3) -> None:
        super().__init__()
        self.layers = separable(channels, channels, kernel=kernel)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the sum."""
        found: torch.Tensor = images + self.layers(images)
        return found


def stage(before: int, after: int, blocks: int, kernel: int = 3) -> nn.Sequential:
    """Return layers that halve width and height and then look again so many times."""
    return nn.Sequential(
        separable(before, after, kernel=kernel, stride=2), *(Residual(after, kernel) for _ in range(blocks))
    )
