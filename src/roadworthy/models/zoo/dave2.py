"""DAVE-2, NVIDIA's network: five convolutions and a few small dense layers on a wide, low image."""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._layers import Head, flat_size

__all__ = ["Dave2"]


class Dave2(nn.Module):
    """The network of Bojarski et al., "End to End Learning for Self-Driving Cars" (2016), with dropout.

    Three convolutions of 5×5 with stride 2, two of 3×3, then dense layers of 100, 50 and 10. For one output
    and 66×200 pixels it has 252,219 parameters, the "250 thousand" of the paper.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        dropout: After the first two dense layers; not in NVIDIA's paper, but in papers/driving-quality.txt.
    """

    def __init__(self, outputs: int, *, width: int = 200, height: int = 66, dropout: float = 0.1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(24, 36, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(36, 48, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(48, 64, 3),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.dense = nn.Sequential(
            nn.Linear(flat_size(self.features, 3, height, width), 100),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(100, 50),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(50, 10),
            nn.ReLU(),
            nn.Linear(10, outputs),
        )
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of images."""
        answers: torch.Tensor = self.head(self.dense(self.features(images)))
        return answers
