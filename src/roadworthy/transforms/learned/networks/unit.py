"""UNIT (Liu, Breuel, Kautz, "Unsupervised Image-to-Image Translation Networks", 2017), in its second version.

The parameters have the names of the public code, which MUNIT shares, so that its state dicts can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import nn

from roadworthy.transforms.learned.networks.settings import UnitSettings

__all__ = ["MsImageDis", "VAEGen", "translator"]


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
        self.enc = _ContentEncoder(settings)
        self.dec = _Decoder(settings)
        self.apply(_initial)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return the mean of what the images may have in common with those of another kind."""
        latent: torch.Tensor = self.enc(images)
        return latent

    def decode(self, latent: torch.Tensor) -> torch.Tensor:
        """Return images from -1 to 1."""
        images: torch.Tensor = self.dec(latent)
        return images

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
        input_dim: Channels of the image.
        dim: Channels of the first layer.
        n_layer: Layers of each.
        num_scales: At how many sizes.
        activ: Activation.
        norm: "none", "in", "ln" or "bn".
        pad_type: What is put around an image.

    Example:
        >>> [score.shape[2:] for score in MsImageDis(dim=4)(torch.zeros(1, 3, 64, 128))]
        [torch.Size([4, 8]), torch.Size([2, 4]), torch.Size([1, 2])]
    """

    def __init__(
        self,
        input_dim: int = 3,
        dim: int = 64,
        n_layer: int = 4,
        num_scales: int = 3,
        activ: str = "lrelu",
        norm: str = "none",
        pad_type: str = "reflect",
    ) -> None:
        super().__init__()
        self.cnns = nn.ModuleList()
        for _ in range(num_scales):
            layers: list[nn.Module] = [_Conv2dBlock(input_dim, dim, 4, 2, 1, "none", activ, pad_type)]
            for number in range(n_layer - 1):
                before = dim * 2**number
                layers.append(_Conv2dBlock(before, 2 * before, 4, 2, 1, norm, activ, pad_type))
            layers.append(nn.Conv2d(dim * 2 ** (n_layer - 1), 1, 1))
            self.cnns.append(nn.Sequential(*layers))
        self.downsample = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.normal_(module.weight, 0.0, 0.02)
                assert module.bias is not None
                nn.init.zeros_(module.bias)

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Return the judgements, the finest size first."""
        found = []
        for number, layers in enumerate(self.cnns):
            if number:
                images = self.downsample(images)
            found.append(layers(images))
        return found


class _ContentEncoder(nn.Module):
    def __init__(self, settings: UnitSettings) -> None:
        super().__init__()
        dim, activ, pad = settings.dim, settings.activ, settings.pad_type
        layers: list[nn.Module] = [_Conv2dBlock(settings.input_dim, dim, 7, 1, 3, "in", activ, pad)]
        for _ in range(settings.n_downsample):
            layers.append(_Conv2dBlock(dim, 2 * dim, 4, 2, 1, "in", activ, pad))
            dim *= 2
        self.model = nn.Sequential(*layers, _ResBlocks(settings.n_res, dim, activ, pad))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(images)
        return found


class _Decoder(nn.Module):
    def __init__(self, settings: UnitSettings) -> None:
        super().__init__()
        dim = settings.dim * 2**settings.n_downsample
        activ, pad = settings.activ, settings.pad_type
        layers: list[nn.Module] = [_ResBlocks(settings.n_res, dim, activ, pad)]
        for _ in range(settings.n_downsample):
            layers += [nn.Upsample(scale_factor=2), _Conv2dBlock(dim, dim // 2, 5, 1, 2, "ln", activ, pad)]
            dim //= 2
        layers.append(_Conv2dBlock(dim, settings.input_dim, 7, 1, 3, "none", "tanh", pad))
        self.model = nn.Sequential(*layers)

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(latent)
        return found


class _ResBlocks(nn.Module):
    def __init__(self, count: int, dim: int, activ: str, pad: str) -> None:
        super().__init__()
        self.model = nn.Sequential(*(_ResBlock(dim, activ, pad) for _ in range(count)))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(inputs)
        return found


class _ResBlock(nn.Module):
    def __init__(self, dim: int, activ: str, pad: str) -> None:
        super().__init__()
        self.model = nn.Sequential(
            _Conv2dBlock(dim, dim, 3, 1, 1, "in", activ, pad),
            _Conv2dBlock(dim, dim, 3, 1, 1, "in", "none", pad),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = inputs + self.model(inputs)
        return found


class _Conv2dBlock(nn.Module):
    """Padding, convolution, normalisation and activation, in the order of the public code."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int, padding: int, norm: str, activ: str, pad: str
    ) -> None:
        super().__init__()
        self.pad = _PADDINGS[pad](padding)
        self.conv = nn.Conv2d(before, after, kernel, stride)
        self.norm = _NORMS[norm](after)
        self.activation = _ACTIVATIONS[activ]()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.activation(self.norm(self.conv(self.pad(inputs))))
        return found


class _LayerNorm(nn.Module):
    """Normalises each image over all channels and pixels, by its deviation as the public code takes it."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.rand(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        # 16 bits overflow where so many numbers are summed.
        wide = inputs.float()
        flat = wide.flatten(1)
        shape = (-1, 1, 1, 1)
        mean, deviation = flat.mean(1).view(shape), flat.std(1).view(shape)
        found = (wide - mean) / (deviation + self.eps)
        found = found * self.gamma.view(1, -1, 1, 1) + self.beta.view(1, -1, 1, 1)
        return found.to(inputs.dtype)


_PADDINGS: dict[str, Callable[[int], nn.Module]] = {
    "reflect": nn.ReflectionPad2d,
    "replicate": nn.ReplicationPad2d,
    "zero": nn.ZeroPad2d,
}
_NORMS: dict[str, Callable[[int], nn.Module]] = {
    "none": nn.Identity,
    "in": nn.InstanceNorm2d,
    "ln": _LayerNorm,
    "bn": nn.BatchNorm2d,
}
_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "lrelu": lambda: nn.LeakyReLU(0.2),
    "prelu": nn.PReLU,
    "selu": nn.SELU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}


def _initial(module: nn.Module) -> None:
    """Give a layer the weights that the public code starts with."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, a=0, mode="fan_in")
        assert module.bias is not None
        nn.init.zeros_(module.bias)
