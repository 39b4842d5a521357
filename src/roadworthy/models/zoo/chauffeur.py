"""Chauffeur, third in Udacity's challenge 2: convolutions on each frame, and an LSTM over the frames."""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._layers import Head, flat_size, he_normal

__all__ = ["Chauffeur"]

_KERNELS = (5, 5, 3, 3, 2, 2)


class Chauffeur(nn.Module):
    """Features of every frame, an LSTM over them, and dense layers over all that the LSTM gave.

    The public code trains the convolutions by themselves first; here all is trained together. The LSTM and
    the dense layers after it have DeepTest's 513 neurons for one output: 256, 256 and 1.

    Args:
        outputs: How many numbers it answers with.
        width: Of an image.
        height: Of an image.
        history: Earlier frames that it sees.
        channels: Of the six convolutions.
        memory: Neurons of the LSTM.
        hidden: Neurons of the dense layer.
        dropout: After each convolution, of whole channels; and on the features, where it is five times that.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 320,
        height: int = 120,
        history: int = 99,
        channels: tuple[int, ...] = (16, 20, 40, 60, 80, 128),
        memory: int = 256,
        hidden: int = 256,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, (before, after) in enumerate(zip((3, *channels), channels, strict=False)):
            kernel = _KERNELS[number]
            # Keras pads an even kernel at the right and the bottom only.
            left, right = (kernel - 1) // 2, kernel // 2
            layers += [nn.ZeroPad2d((left, right, left, right)), nn.Conv2d(before, after, kernel), nn.ReLU()]
            if number < len(_KERNELS) - 1:
                layers += [nn.Dropout2d(dropout), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers, nn.Flatten())
        he_normal(self.features)
        size = flat_size(self.features, 3, height, width)
        self.shape = (3, height, width)
        self.steps = (history + 1, size)
        self.dropout = nn.Dropout(min(0.5, 5 * dropout))
        self.memory = nn.LSTM(size, memory, batch_first=True)
        self.dense = nn.Sequential(
            nn.Flatten(),
            nn.Linear((history + 1) * memory, hidden),
            nn.ReLU(),
            nn.Linear(hidden, outputs),
        )
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of sequences: batch, time, channels, height, width."""
        features = self.dropout(self.features(images.reshape(-1, *self.shape)))
        remembered, _ = self.memory(features.reshape(-1, *self.steps))
        answers: torch.Tensor = self.head(self.dense(remembered))
        return answers
