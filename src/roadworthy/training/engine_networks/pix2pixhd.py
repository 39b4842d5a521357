"""Pix2pixHD (Wang et al., "High-Resolution Image Synthesis and Semantic Manipulation with …", CVPR 2018).

The parameters have the names of the public code, so that its state dicts can be loaded.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import cast

import torch
from torch import nn

from roadworthy.training.engine_networks.settings import GlobalSettings, LocalSettings

_MOST_CHANNELS = 512  # of a discriminator


class GlobalGenerator(nn.Module):
    """Paints an image from a label map: down to a small size, residual blocks there, and up again.

    Args:
        settings: Its sizes.

    Example:
        >>> network = GlobalGenerator(GlobalSettings(input_nc=5, ngf=4, n_downsampling=2, n_blocks=1))
        >>> network(torch.zeros(1, 5, 16, 24)).shape
        torch.Size([1, 3, 16, 24])
    """

    def __init__(self, settings: GlobalSettings) -> None:
        super().__init__()
        self.settings = settings
        sizes = settings.n_downsampling, settings.n_blocks
        layers = _hourglass(settings.input_nc, settings.ngf, *sizes, settings.norm)
        self.model = nn.Sequential(*layers, *_last(settings.ngf, settings.output_nc))
        self.apply(_initial)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1."""
        return cast(torch.Tensor, self.model(inputs))


class LocalEnhancer(nn.Module):
    """A global generator for a smaller image, and enhancers around it that each double width and height.

    Args:
        settings: Its sizes.

    Example:
        >>> sizes = LocalSettings(input_nc=5, ngf=4, n_downsample_global=2, n_blocks_global=1)
        >>> LocalEnhancer(sizes)(torch.zeros(1, 5, 16, 24)).shape
        torch.Size([1, 3, 16, 24])
    """

    def __init__(self, settings: LocalSettings) -> None:
        super().__init__()
        self.settings = settings
        count, norm = settings.n_local_enhancers, settings.norm
        sizes = settings.n_downsample_global, settings.n_blocks_global
        self.model = nn.Sequential(*_hourglass(settings.input_nc, settings.ngf * 2**count, *sizes, norm))
        for number in range(1, count + 1):
            width = settings.ngf * 2 ** (count - number)
            before = [*_first(settings.input_nc, width, norm), *_down([width, 2 * width], norm)]
            after: list[nn.Module] = [_block(2 * width, norm) for _ in range(settings.n_blocks_local)]
            after += _up([width, 2 * width], norm)
            if number == count:
                after += _last(width, settings.output_nc)
            self.add_module(f"model{number}_1", nn.Sequential(*before))
            self.add_module(f"model{number}_2", nn.Sequential(*after))
        self.downsample = _halving()
        self.apply(_initial)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1."""
        count = self.settings.n_local_enhancers
        sizes = [inputs]
        for _ in range(count):
            sizes.append(self.downsample(sizes[-1]))
        found: torch.Tensor = self.model(sizes[-1])
        for number in range(1, count + 1):
            before, after = (self.get_submodule(f"model{number}_{half}") for half in (1, 2))
            found = after(before(sizes[count - number]) + found)
        return found


class MultiscaleDiscriminator(nn.Module):
    """Judges patches of an image at several sizes.

    Args:
        input_nc: Channels of what is judged: the generator's input and the image.
        ndf: Channels of the first layer.
        n_layers: Layers that look at larger and larger patches.
        num_D: At how many sizes.

    Example:
        >>> judge = MultiscaleDiscriminator(4, ndf=4, num_D=2)
        >>> [len(layers) for layers in judge(torch.zeros(1, 4, 32, 64))]
        [5, 5]
    """

    def __init__(self, input_nc: int, ndf: int = 64, n_layers: int = 3, num_D: int = 2) -> None:
        super().__init__()
        self.n_layers, self.num_D = n_layers, num_D
        for number in range(num_D):
            for place, layer in enumerate(_judging(input_nc, ndf, n_layers)):
                self.add_module(f"scale{number}_layer{place}", nn.Sequential(*layer))
        self.downsample = _halving()
        self.apply(_initial)

    def forward(self, inputs: torch.Tensor) -> list[list[torch.Tensor]]:
        """Return what each layer found, the finest size first; the last layer's is the judgement."""
        found = []
        for number in reversed(range(self.num_D)):
            layers = (self.get_submodule(f"scale{number}_layer{place}") for place in range(self.n_layers + 2))
            found.append(list(accumulate(layers, lambda seen, layer: layer(seen), initial=inputs))[1:])
            if number:
                inputs = self.downsample(inputs)
        return found


class ResnetBlock(nn.Module):
    """Adds what its layers find."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.conv_block = nn.Sequential(*layers)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, inputs + self.conv_block(inputs))


def _block(channels: int, norm: str) -> ResnetBlock:
    def convolved() -> list[nn.Module]:
        return [nn.ReflectionPad2d(1), nn.Conv2d(channels, channels, 3), _normalised(channels, norm)]

    return ResnetBlock(*convolved(), nn.ReLU(), *convolved())


def _hourglass(before: int, width: int, halvings: int, blocks: int, norm: str) -> list[nn.Module]:
    channels = [width * 2**number for number in range(halvings + 1)]
    inner = (_block(channels[-1], norm) for _ in range(blocks))
    return [*_first(before, width, norm), *_down(channels, norm), *inner, *_up(channels, norm)]


def _normalised(channels: int, norm: str) -> nn.Module:
    return nn.BatchNorm2d(channels) if norm == "batch" else nn.InstanceNorm2d(channels)


def _halving() -> nn.Module:
    return nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)


def _first(before: int, after: int, norm: str) -> list[nn.Module]:
    return [nn.ReflectionPad2d(3), nn.Conv2d(before, after, 7), _normalised(after, norm), nn.ReLU()]


def _down(channels: list[int], norm: str) -> list[nn.Module]:
    found: list[nn.Module] = []
    for before, after in pairwise(channels):
        found += [nn.Conv2d(before, after, 3, stride=2, padding=1), _normalised(after, norm), nn.ReLU()]
    return found


def _up(channels: list[int], norm: str) -> list[nn.Module]:
    found: list[nn.Module] = []
    for before, after in pairwise(reversed(channels)):
        up = nn.ConvTranspose2d(before, after, 3, stride=2, padding=1, output_padding=1)
        found += [up, _normalised(after, norm), nn.ReLU()]
    return found


def _last(before: int, after: int) -> list[nn.Module]:
    return [nn.ReflectionPad2d(3), nn.Conv2d(before, after, 7), nn.Tanh()]


def _judging(input_nc: int, ndf: int, n_layers: int) -> list[list[nn.Module]]:
    channels = [ndf, *(min(ndf * 2**number, _MOST_CHANNELS) for number in range(1, n_layers + 1))]
    layers: list[list[nn.Module]] = [[nn.Conv2d(input_nc, ndf, 4, stride=2, padding=2), nn.LeakyReLU(0.2)]]
    for number, (before, after) in enumerate(pairwise(channels), 1):
        convolution = nn.Conv2d(before, after, 4, stride=2 if number < n_layers else 1, padding=2)
        layers.append([convolution, nn.InstanceNorm2d(after), nn.LeakyReLU(0.2)])
    layers.append([nn.Conv2d(channels[-1], 1, 4, stride=1, padding=2)])
    return layers


def _initial(module: nn.Module) -> None:
    """Give a layer the weights that the public code starts with."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)
