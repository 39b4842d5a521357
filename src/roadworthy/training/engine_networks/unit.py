"""UNIT (Liu, Breuel, Kautz, "Unsupervised Image-to-Image Translation Networks", 2017), in its second version.

The parameters have the names of the public code, which MUNIT shares, so that its state dicts can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import chain, pairwise
from typing import cast

import torch
from torch import nn

from roadworthy.training.engine_networks.settings import UnitSettings

_JUDGING = 4  # layers of a discriminator


class VAEGen(nn.Module):
    """The encoder and the decoder of one kind of images.

    What the encoder finds is the mean of a normal distribution with variance 1. Training adds noise to it,
    ``gen.decode(latent + torch.randn_like(latent))``; translating does not, so that it has one answer.

    Args:
        settings: Its sizes.

    Example:
        >>> network = VAEGen(UnitSettings(dim=4, n_res=1))
        >>> network.encode(torch.zeros(1, 3, 16, 24)).shape, network(torch.zeros(1, 3, 16, 24)).shape
        (torch.Size([1, 16, 4, 6]), torch.Size([1, 3, 16, 24]))
    """

    def __init__(self, settings: UnitSettings) -> None:
        super().__init__()
        self.settings = settings
        self.enc = _encoder(settings)
        self.dec = _decoder(settings)
        self.apply(_initial)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return the mean of what the images may have in common with those of another kind."""
        return cast(torch.Tensor, self.enc(images))

    def decode(self, latent: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1."""
        return cast(torch.Tensor, self.dec(latent))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return what is decoded from the mean, without noise."""
        return self.decode(self.encode(images))


def translator(source: VAEGen, target: VAEGen) -> VAEGen:
    """Return one network that translates: a copy of the source's encoder and of the target's decoder.

    Example:
        >>> day, night = VAEGen(UnitSettings(dim=4, n_res=1)), VAEGen(UnitSettings(dim=4, n_res=1))
        >>> image = torch.rand(1, 3, 16, 24)
        >>> torch.equal(translator(day, night)(image), night.decode(day.encode(image)))
        True
    """
    found = deepcopy(source)
    found.dec = deepcopy(target.dec)
    return found


class MsImageDis(nn.Module):
    """Judges patches of an image at several sizes.

    Args:
        dim: Channels of the first layer.
        num_scales: At how many sizes.

    Example:
        >>> [score.shape[2:] for score in MsImageDis(dim=4)(torch.zeros(1, 3, 64, 128))]
        [torch.Size([4, 8]), torch.Size([2, 4]), torch.Size([1, 2])]
    """

    def __init__(self, dim: int = 64, num_scales: int = 3) -> None:
        super().__init__()
        widths = [3, *(dim * 2**level for level in range(_JUDGING))]
        layer = partial(_Layer, kernel=4, stride=2, norm="none", activ="lrelu", pad="reflect")
        self.cnns = nn.ModuleList(
            nn.Sequential(
                *(layer(before, after) for before, after in pairwise(widths)), nn.Conv2d(widths[-1], 1, 1)
            )
            for _ in range(num_scales)
        )
        self.downsample = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
        self.apply(partial(_initial, draw=partial(nn.init.normal_, std=0.02)))

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Return the judgements, the finest size first."""
        found = []
        for number, layers in enumerate(self.cnns):
            if number:
                images = self.downsample(images)
            found.append(layers(images))
        return found


class _Stage(nn.Module):
    """Layers, under the name that the public code gives them."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.model = nn.Sequential(*layers)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.model(inputs))


def _encoder(settings: UnitSettings) -> _Stage:
    widths, layer = _widths(settings), _layers_of(settings)
    return _Stage(
        layer(settings.input_dim, widths[0], kernel=7, norm="in"),
        *(layer(before, after, kernel=4, stride=2, norm="in") for before, after in pairwise(widths)),
        _blocks(settings, widths[-1]),
    )


def _decoder(settings: UnitSettings) -> _Stage:
    widths, layer = _widths(settings)[::-1], _layers_of(settings)
    grown = ((nn.Upsample(scale_factor=2), layer(*both, kernel=5, norm="ln")) for both in pairwise(widths))
    return _Stage(
        _blocks(settings, widths[0]),
        *chain.from_iterable(grown),
        layer(widths[-1], settings.input_dim, kernel=7, norm="none", activ="tanh"),
    )


def _blocks(settings: UnitSettings, width: int) -> _Stage:
    layer = partial(_layers_of(settings), width, width, kernel=3, norm="in")
    return _Stage(*(_Block(layer(), layer(activ="none")) for _ in range(settings.n_res)))


class _Block(_Stage):
    """Layers whose result is added to what goes in."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + super().forward(inputs)


class _Layer(nn.Module):
    """Padding by half of the kernel, a convolution, a norm and an activation."""

    def __init__(
        self, before: int, after: int, *, kernel: int, stride: int = 1, norm: str, activ: str, pad: str
    ) -> None:
        super().__init__()
        self.pad = _PADDINGS[pad]((kernel - 1) // 2)
        self.conv = nn.Conv2d(before, after, kernel, stride)
        self.norm = _NORMS[norm](after)
        self.activation = _ACTIVATIONS[activ]()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.activation(self.norm(self.conv(self.pad(inputs)))))


class _LayerNorm(nn.Module):
    """Normalises each image over all channels and pixels; the small number is added to the deviation."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.rand(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # 16 bits overflow where so many numbers are summed.
        wide = inputs.float()
        image = (1, 2, 3)
        found = (wide - wide.mean(image, keepdim=True)) / (wide.std(image, keepdim=True) + self.eps)
        return (found * self.gamma[:, None, None] + self.beta[:, None, None]).to(inputs.dtype)


def _widths(settings: UnitSettings) -> list[int]:
    """Return the channels at each size, the largest size first."""
    return [settings.dim * 2**level for level in range(settings.n_downsample + 1)]


def _layers_of(settings: UnitSettings) -> Callable[..., _Layer]:
    """Return what makes the layers of a network."""
    return partial(_Layer, activ=settings.activ, pad=settings.pad_type)


_PADDINGS: dict[str, Callable[[int], nn.Module]] = {
    "reflect": nn.ReflectionPad2d,
    "replicate": nn.ReplicationPad2d,
    "zero": nn.ZeroPad2d,
}
_NORMS: dict[str, Callable[[int], nn.Module]] = {
    "none": nn.Identity,
    "in": nn.InstanceNorm2d,
    "ln": _LayerNorm,
}
_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "lrelu": lambda: nn.LeakyReLU(0.2),
    "prelu": nn.PReLU,
    "selu": nn.SELU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}


def _initial(module: nn.Module, draw: Callable[..., object] = nn.init.kaiming_normal_) -> None:
    """Give a layer the weights that the public code starts with."""
    if isinstance(module, nn.Conv2d):
        draw(module.weight)
        assert module.bias is not None
        nn.init.zeros_(module.bias)
