"""A small classifier: what is the one thing in a small image?"""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._convolutions import plain, stage

__all__ = ["Classifier"]


class Classifier(nn.Module):
    """Stages of separable convolutions, the mean over the picture, one dense layer. Answers with logits.

    Args:
        outputs: How many classes it tells apart.
        width: Of the image; any, because of the mean.
        height: Of the image, likewise.
        channels: Of the first layer and of the stages.
        blocks: How often each stage looks again.
        dropout: Before the dense layer.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 64,  # noqa: ARG002
        height: int = 64,  # noqa: ARG002
        channels: tuple[int, ...] = (32, 64, 128, 224),
        blocks: tuple[int, ...] = (1, 2, 2),
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(
            plain(3, channels[0], stride=2),
            *(
                stage(before, after, count)
                for before, after, count in zip(channels, channels[1:], blocks, strict=False)
            ),
        )
        self.dense = nn.Sequential(nn.Dropout(dropout), nn.Linear(channels[-1], outputs))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return a logit per class for a batch of images."""
        # Adaptive pooling has no deterministic gradient on a GPU, a mean has.
        logits: torch.Tensor = self.dense(self.features(images).mean((2, 3)))
        return logits
