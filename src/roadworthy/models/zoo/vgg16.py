"""VGG16 as a driving network: its convolutions with three dense layers for numbers instead of classes."""

from __future__ import annotations

import torch
from torch import nn

from roadworthy.models.zoo._layers import Head, he_normal, three_layers

__all__ = ["Vgg16"]

_HALVINGS = 2**5
_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


class Vgg16(nn.Module):
    """The 14,714,688 parameters of Simonyan and Zisserman's configuration D, and three dense layers.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        hidden: Neurons of the two dense layers before the last.
        dropout: After each of them.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 320,
        height: int = 160,
        hidden: tuple[int, ...] = (512, 128),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if min(width, height) < _HALVINGS:
            raise RuntimeError(f"five poolings need {_HALVINGS} pixels each way")
        layers: list[nn.Module] = []
        before = 3
        for channels, count in _BLOCKS:
            for _ in range(count):
                layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
                before = channels
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        he_normal(self.features)
        size = before * (width // _HALVINGS) * (height // _HALVINGS)
        self.dense = nn.Sequential(nn.Flatten(), *three_layers(size, hidden, dropout, outputs))
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of images."""
        answers: torch.Tensor = self.head(self.dense(self.features(images)))
        return answers
