"""Epoch, cg23's entry to Udacity's challenge 2: three convolutions and one large dense layer."""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._layers import Head, flat_size

__all__ = ["Epoch"]


class Epoch(nn.Module):
    """Convolutions of 32, 64 and 128 channels, each with pooling and dropout, then a dense layer of 1024.

    With one output it has 1249 neurons, a channel counting as one; DeepTest's 2500 counts the three channels
    of the input and every dropout layer as well.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        channels: Of the three convolutions.
        hidden: Neurons of the dense layer.
        dropout: After the first two poolings, and after the last one and the dense layer.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 320,
        height: int = 160,
        channels: tuple[int, ...] = (32, 64, 128),
        hidden: int = 1024,
        dropout: tuple[float, ...] = (0.25, 0.5),
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, rate in zip((3, *channels), channels, (dropout[0], *dropout), strict=False):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(rate)]
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.dense = nn.Sequential(
            nn.Linear(flat_size(self.features, 3, height, width), hidden),
            nn.ReLU(),
            nn.Dropout(dropout[1]),
            nn.Linear(hidden, outputs),
        )
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of images."""
        answers: torch.Tensor = self.head(self.dense(self.features(images)))
        return answers
