"""VGG16 as a driving network: its convolutions with three dense layers for numbers instead of classes."""

from __future__ import annotations

from torch import nn

from roadworthy.models.zoo._layers import Adapted

__all__ = ["Vgg16"]

_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions before a pooling


class Vgg16(Adapted):
    """The 14,714,688 parameters of Simonyan and Zisserman's configuration D, and three dense layers."""

    def convolutions(self) -> nn.Sequential:
        """Return the five blocks."""
        layers: list[nn.Module] = []
        before = 3
        for channels, count in _BLOCKS:
            for _ in range(count):
                layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
                before = channels
            layers.append(nn.MaxPool2d(2))
        return nn.Sequential(*layers, nn.Flatten())
