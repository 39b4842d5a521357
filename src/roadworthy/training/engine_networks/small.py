"""Networks that are small enough to ship and fast on one core; they learn from large ones or from truth."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from roadworthy.training.engine_networks.settings import SmallSynthesisSettings, SmallTranslationSettings

_KERNELS = (3, 3, 5, 7)  # far down the picture is small, and a wider look costs little
_GROWTH = (1, 2, 4, 4)  # channels of the levels, as multiples of the width
_DEEPEST = 2  # times as many blocks at the smallest size


class SmallSynthesis(nn.Module):
    """Paints an image from a label map; where it sees the context, it changes what stands there.

    Args:
        settings: Its sizes.

    Example:
        >>> network = SmallSynthesis(SmallSynthesisSettings(input_nc=13, context=True, width=8)).eval()
        >>> network(torch.zeros(1, 13, 32, 48)).shape
        torch.Size([1, 3, 32, 48])
    """

    def __init__(self, settings: SmallSynthesisSettings) -> None:
        super().__init__()
        self.settings = settings
        self.body = _Body(settings)
        self.head = _Head(settings.width, 12)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1; a fresh network gives the context back, or grey where there is none."""
        found = functional.pixel_shuffle(self.head(self.body(inputs)), 2)
        if not self.settings.context:
            return found.tanh()
        start = self.settings.input_nc - self.settings.noise - 4
        return (inputs[:, start : start + 3] + found).clamp(-1.0, 1.0)


class SmallTranslation(nn.Module):
    """Changes an image as a whole: a mixture of its own colours at each place, and what is added to it.

    So what is sharp in the image stays sharp, although the network looks at half its size; how colours are
    mixed changes slowly over the image (after Gharbi et al., 2017).

    Args:
        settings: Its sizes.

    Example:
        >>> network = SmallTranslation(SmallTranslationSettings(width=8)).eval()
        >>> image = torch.rand(1, 3, 32, 48) * 2 - 1
        >>> torch.equal(network(image), image)
        True
    """

    def __init__(self, settings: SmallTranslationSettings) -> None:
        super().__init__()
        self.settings = settings
        self.body = _Body(settings)
        self.mixing = _Head(settings.width, 9)
        self.adding = _Head(settings.width, 12)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1; a fresh network gives the image back."""
        image = inputs[:, :3]
        found = self.body(inputs)
        shares = functional.interpolate(self.mixing(found), scale_factor=2, mode="bilinear")
        mixed = [(part * image).sum(dim=1, keepdim=True) for part in shares.chunk(3, dim=1)]
        added = functional.pixel_shuffle(self.adding(found), 2)
        return (image + torch.cat(mixed, dim=1) + added).clamp(-1.0, 1.0)


class _Body(nn.Module):
    """A U of four levels: what is found at 1/16 of the image's size is brought back to the half of it."""

    def __init__(self, settings: SmallSynthesisSettings | SmallTranslationSettings) -> None:
        super().__init__()
        self.position = settings.position
        width, blocks = settings.width, settings.blocks
        channels = [width * growth for growth in _GROWTH]
        steps = list(pairwise(channels))
        counts = [blocks] * len(steps) + [_DEEPEST * blocks]
        self.stem = _convolution(settings.channels + 2 * self.position, width, 4, stride=2)
        self.downs = nn.ModuleList(_convolution(finer, coarser, 2, stride=2) for finer, coarser in steps)
        self.before = nn.ModuleList(map(_blocks, channels, _KERNELS, counts))
        self.overall = _Overall(channels[-1])
        self.ups = nn.ModuleList(nn.Conv2d(coarser, finer, 1) for finer, coarser in steps)
        self.after = nn.ModuleList(map(_blocks, channels[:-1], _KERNELS, counts))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.position:
            inputs = torch.cat([inputs, *_places(inputs)], dim=1)
        found: torch.Tensor = self.before[0](self.stem(inputs))
        levels = []
        for down, blocks in zip(self.downs, self.before[1:], strict=True):
            levels.append(found)
            found = blocks(down(found))
        found = self.overall(found)
        for up, blocks in zip(reversed(self.ups), reversed(self.after), strict=True):
            # The fewer channels first: enlarging is cheaper then, and does not change what comes out.
            found = blocks(levels.pop() + functional.interpolate(up(found), scale_factor=2))
        return found


class _Head(nn.Conv2d):
    """The last convolution. It starts at zero, so that training starts from what is given."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__(before, after, 3, padding=1)
        nn.init.zeros_(self.weight)
        assert self.bias is not None
        nn.init.zeros_(self.bias)


class _Block(nn.Module):
    """Adds what is found by looking around in each channel, then across channels (after Liu et al., 2022)."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False),
            nn.BatchNorm2d(channels),
            nn.Conv2d(channels, 2 * channels, 1),
            nn.ReLU(),
            nn.Conv2d(2 * channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, inputs + self.layers(inputs))


class _Overall(nn.Module):
    """Adds to every place what is found over the whole image, such as how bright it is."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        few = channels // 4
        self.layers = nn.Sequential(nn.Conv2d(channels, few, 1), nn.ReLU(), nn.Conv2d(few, channels, 1))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, inputs + self.layers(functional.adaptive_avg_pool2d(inputs, 1)))


def _places(images: torch.Tensor) -> list[torch.Tensor]:
    """Return how far down and how far right each pixel is, from -1 to 1."""
    count, _, *sides = images.shape
    found = []
    for axis, length in enumerate(sides):
        steps = torch.arange(length, dtype=torch.float32, device=images.device) * (2 / (length - 1)) - 1
        shape = (1, 1, -1, 1) if axis == 0 else (1, 1, 1, -1)
        found.append(steps.view(shape).expand(count, 1, *sides).to(images.dtype))
    return found


def _blocks(channels: int, kernel: int, count: int) -> nn.Sequential:
    return nn.Sequential(*(_Block(channels, kernel) for _ in range(count)))


def _convolution(before: int, after: int, kernel: int, *, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(before, after, kernel, stride, (kernel - stride) // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())
