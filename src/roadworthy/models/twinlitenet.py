"""TwinLiteNet, written from its paper and published weights: where to drive and lane lines, 0.4 M numbers.

Che et al., TwinLiteNet: An Efficient and Lightweight Model for Driveable Area and Lane Segmentation in
Self-Driving Cars, 2023. The names of parts are those of its weights, which are MIT-licensed.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn


class _Unit(nn.Module):
    """A convolution, or one that doubles the size, with normalisation and activation."""

    def __init__(
        self, taken: int, given: int, size: int = 3, stride: int = 1, *, doubles: bool = False
    ) -> None:
        super().__init__()
        if doubles:
            self.deconv = nn.ConvTranspose2d(taken, given, 2, 2, bias=False)
        else:
            self.conv = nn.Conv2d(taken, given, size, stride, size // 2, bias=False)
        self.bn = nn.BatchNorm2d(given, eps=1e-3)
        self.act = nn.PReLU(given)

    def forward(self, x: Tensor) -> Tensor:
        first = self.deconv if hasattr(self, "deconv") else self.conv
        return cast("Tensor", self.act(self.bn(first(x))))


class _Normalised(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(channels, eps=1e-3)
        self.act = nn.PReLU(channels)

    def forward(self, x: Tensor) -> Tensor:
        return cast("Tensor", self.act(self.bn(x)))


class _Plain(nn.Module):
    def __init__(self, taken: int, given: int, size: int = 3, stride: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(taken, given, size, stride, size // 2 * dilation, dilation=dilation, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return cast("Tensor", self.conv(x))


class _Pyramid(nn.Module):
    """ESPNet's block: convolutions of five reaches side by side, each added to the one before."""

    def __init__(self, taken: int, given: int, *, halves: bool) -> None:
        super().__init__()
        part = given // 5
        self.c1 = _Plain(taken, part, 3, 2) if halves else _Plain(taken, part, 1)
        self.d1 = _Plain(part, given - 4 * part)
        self.d2, self.d4, self.d8, self.d16 = (_Plain(part, part, dilation=one) for one in (2, 4, 8, 16))
        self.halves = halves
        if halves:
            self.bn: nn.Module = nn.BatchNorm2d(given, eps=1e-3)
            self.act = nn.PReLU(given)
        else:
            self.bn = _Normalised(given)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.c1(x)
        parts = [self.d1(inner), self.d2(inner)]
        for reach in (self.d4, self.d8, self.d16):
            parts.append((parts[-1] if len(parts) > 1 else 0) + reach(inner))
        joined = torch.cat(parts, 1)
        return cast("Tensor", self.act(self.bn(joined)) if self.halves else self.bn(x + joined))


class _Places(nn.Module):
    """Attention between the places of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query_conv = nn.Conv2d(channels, channels // 8, 1)
        self.key_conv = nn.Conv2d(channels, channels // 8, 1)
        self.value_conv = nn.Conv2d(channels, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (one(x).flatten(2) for one in (self.query_conv, self.key_conv, self.value_conv))
        attention = (query.transpose(1, 2) @ key).softmax(-1)
        return cast("Tensor", self.gamma * (value @ attention.transpose(1, 2)).view_as(x) + x)


class _Channels(nn.Module):
    """Attention between channels."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        energy = flat @ flat.transpose(1, 2)
        return self.gamma * ((energy.amax(-1, keepdim=True) - energy).softmax(-1) @ flat).view_as(x) + x


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.level1, self.b1 = _Unit(3, 16, 3, 2), _Unit(19, 19)
        self.level2_0, self.b2 = _Pyramid(19, 64, halves=True), _Unit(131, 131)
        self.level2 = nn.ModuleList(_Pyramid(64, 64, halves=False) for _ in range(2))
        self.level3_0, self.b3 = _Pyramid(131, 128, halves=True), _Unit(256, 32)
        self.level3 = nn.ModuleList(_Pyramid(128, 128, halves=False) for _ in range(3))
        self.sa, self.sc = _Places(32), _Channels()
        self.conv_sa, self.conv_sc, self.classifier = _Unit(32, 32), _Unit(32, 32), _Unit(32, 32, 1)
        self.shrink = nn.AvgPool2d(3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        half = self.shrink(x)
        first = self.level2_0(self.b1(torch.cat([self.level1(x), half], 1)))
        deep = first
        for block in self.level2:
            deep = block(deep)
        second = self.level3_0(self.b2(torch.cat([deep, first, self.shrink(half)], 1)))
        deep = second
        for block in self.level3:
            deep = block(deep)
        joined = self.b3(torch.cat([second, deep], 1))
        return cast("Tensor", self.classifier(self.conv_sa(self.sa(joined)) + self.conv_sc(self.sc(joined))))


class TwinLiteNet(nn.Module):
    """Two maps of the image's size with scores for no and yes: drivable area, lane lines."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = _Encoder()
        self.up_1_1, self.up_1_2 = (_Unit(32, 16, doubles=True) for _ in range(2))
        self.up_2_1, self.up_2_2 = (_Unit(16, 8, doubles=True) for _ in range(2))
        self.classifier_1, self.classifier_2 = (_Unit(8, 2, doubles=True) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two maps for images of which both sides are multiples of 8."""
        deep = self.encoder(x)
        area = self.classifier_1(self.up_2_1(self.up_1_1(deep)))
        return area, self.classifier_2(self.up_2_2(self.up_1_2(deep)))
