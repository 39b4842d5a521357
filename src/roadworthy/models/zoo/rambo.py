"""Rambo, second in Udacity's challenge 2: three networks that look at what moved, and their merger."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from roadworthy.models.zoo._layers import Head, flat_size

__all__ = ["Rambo"]

_Convolution = tuple[int, int, int]  # channels, kernel, stride
_NVIDIA: tuple[_Convolution, ...] = ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 2), (64, 3, 2))
_COMMA: tuple[_Convolution, ...] = ((16, 8, 4), (32, 5, 2), (64, 5, 2))


class Rambo(nn.Module):
    """Three branches on the differences of three consecutive grey images, merged by a last layer.

    The branches are DeepTest's S1 and S2, after NVIDIA's network with one more and with the same number of
    convolutions, and S3, after comma.ai's.

    Args:
        outputs: How many numbers it answers with.
        width: Of an image.
        height: Of an image.
        history: Earlier frames that it sees, at least one; there is a difference between each and the next.
    """

    def __init__(self, outputs: int, *, width: int = 256, height: int = 192, history: int = 2) -> None:
        super().__init__()
        if history < 1:
            raise ValueError("without an earlier frame there is no difference to see")
        size = (history, height, width)
        self.branches = nn.ModuleList(
            [
                _branch((*_NVIDIA, (64, 3, 2)), (100, 50, 10), outputs, size),
                _branch(_NVIDIA, (100, 50, 10), outputs, size),
                _branch(_COMMA, (512,), outputs, size),
            ]
        )
        self.merger = nn.Sequential(nn.ReLU(), nn.Linear(3 * outputs, outputs))
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of sequences with their images as channels, oldest first."""
        # The public code squeezes differences from -255 … 255 into 0 … 255, which halves them.
        moved = (images[:, 1:] - images[:, :-1]) / 2
        merged = torch.cat([branch(moved) for branch in self.branches], dim=1)
        answers: torch.Tensor = self.head(self.merger(merged))
        return answers


def _branch(
    convolutions: Sequence[_Convolution], dense: Sequence[int], outputs: int, size: tuple[int, int, int]
) -> nn.Sequential:
    layers: list[nn.Module] = []
    before = size[0]
    for channels, kernel, stride in convolutions:
        layers += [nn.Conv2d(before, channels, kernel, stride, padding=(kernel - 1) // 2), nn.ReLU()]
        before = channels
    features = nn.Sequential(*layers, nn.Flatten())
    layers = []
    before = flat_size(features, *size)
    for neurons in dense:
        layers += [nn.Linear(before, neurons), nn.ReLU()]
        before = neurons
    return nn.Sequential(*features, *layers, nn.Linear(before, outputs))
