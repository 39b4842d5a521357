"""U-GAT-IT (Kim et al., "Unsupervised Generative Attentional Networks with Adaptive Layer-Instance …", 2020).

The parameters have the names of the public code (U-GAT-IT's official PyTorch version), so that its state
dicts can be loaded.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import spectral_norm

from roadworthy.training.engine_networks.pix2pixhd import ResnetBlock
from roadworthy.training.engine_networks.settings import UgatitSettings

_HALVINGS = 2


class ResnetGenerator(nn.Module):
    """Translates images, with attention to what tells the two kinds apart.

    Args:
        settings: Its sizes.

    Example:
        >>> network = ResnetGenerator(UgatitSettings(ngf=4, n_blocks=1, light=True))
        >>> network(torch.zeros(1, 3, 16, 24)).shape
        torch.Size([1, 3, 16, 24])
    """

    def __init__(self, settings: UgatitSettings) -> None:
        super().__init__()
        self.settings = settings
        ngf, dim = settings.ngf, settings.ngf * 2**_HALVINGS
        down: list[nn.Module] = [*_padded(settings.input_nc, ngf, 7), nn.InstanceNorm2d(ngf), nn.ReLU()]
        for number in range(_HALVINGS):
            before, after = ngf * 2**number, ngf * 2 ** (number + 1)
            down += [*_padded(before, after, 3, stride=2), nn.InstanceNorm2d(after), nn.ReLU()]
        down += [ResnetBlock(*_convolved(dim), nn.ReLU(), *_convolved(dim)) for _ in range(settings.n_blocks)]
        self.gap_fc = nn.Linear(dim, 1, bias=False)
        self.gmp_fc = nn.Linear(dim, 1, bias=False)
        self.conv1x1 = nn.Conv2d(2 * dim, dim, 1)
        cells = 1
        if settings.size:
            height, width = settings.size
            cells = (height // settings.multiple) * (width // settings.multiple)
        self.gamma = nn.Linear(dim, dim, bias=False)
        self.beta = nn.Linear(dim, dim, bias=False)
        for number in range(1, settings.n_blocks + 1):
            self.add_module(f"UpBlock1_{number}", _AdaptiveBlock(dim))
        up: list[nn.Module] = []
        for number in reversed(range(_HALVINGS)):
            before, after = ngf * 2 ** (number + 1), ngf * 2**number
            up += [nn.Upsample(scale_factor=2), *_padded(before, after, 3), _Norm(after), nn.ReLU()]
        self.DownBlock = nn.Sequential(*down)
        self.FC = nn.Sequential(
            nn.Linear(dim * cells, dim, bias=False), nn.ReLU(), nn.Linear(dim, dim, bias=False), nn.ReLU()
        )
        self.UpBlock2 = nn.Sequential(*up, *_padded(ngf, settings.output_nc, 7), nn.Tanh())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return translated images, from -1 to 1."""
        return self.attended(images)[0]

    def attended(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return translated images, the logits of the auxiliary classifiers, and where these look."""
        found, logits = _attended(self.DownBlock(images), self.gap_fc, self.gmp_fc)
        found = functional.relu(self.conv1x1(found))
        heat = found.sum(dim=1, keepdim=True)
        seen = functional.adaptive_avg_pool2d(found, 1) if self.settings.light else found
        code = self.FC(seen.flatten(1))
        gamma, beta = self.gamma(code), self.beta(code)
        for number in range(1, self.settings.n_blocks + 1):
            found = self.get_submodule(f"UpBlock1_{number}")(found, gamma, beta)
        return self.UpBlock2(found), logits, heat


class Discriminator(nn.Module):
    """Judges patches of an image, with attention to what tells real ones from others.

    Args:
        input_nc: Channels of the image.
        ndf: Channels of the first layer.
        n_layers: 7 for the one that judges large patches, 5 for the one that judges small ones.

    Example:
        >>> score, logits, heat = Discriminator(ndf=4)(torch.zeros(1, 3, 32, 64))
        >>> score.shape, logits.shape
        (torch.Size([1, 1, 2, 6]), torch.Size([1, 2]))
    """

    def __init__(self, input_nc: int = 3, ndf: int = 64, n_layers: int = 5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before, after = input_nc, ndf
        for number in range(n_layers - 1):
            convolution = nn.Conv2d(before, after, 4, stride=2 if number < n_layers - 2 else 1)
            layers += [nn.ReflectionPad2d(1), spectral_norm(convolution), nn.LeakyReLU(0.2)]
            before, after = after, 2 * after
        self.model = nn.Sequential(*layers)
        self.gap_fc = spectral_norm(nn.Linear(before, 1, bias=False))
        self.gmp_fc = spectral_norm(nn.Linear(before, 1, bias=False))
        self.conv1x1 = nn.Conv2d(2 * before, before, 1)
        self.pad = nn.ReflectionPad2d(1)
        self.conv = spectral_norm(nn.Conv2d(before, 1, 4, bias=False))

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the judgements, the logits of the auxiliary classifiers, and where these look."""
        found, logits = _attended(self.model(images), self.gap_fc, self.gmp_fc)
        found = functional.leaky_relu(self.conv1x1(found), 0.2)
        return self.conv(self.pad(found)), logits, found.sum(dim=1, keepdim=True)


def clip_rho(module: nn.Module) -> None:
    """Keep the shares of instance norm from 0 to 1 after a step of training: ``generator.apply(clip_rho)``.

    Example:
        >>> network = ResnetGenerator(UgatitSettings(ngf=4, n_blocks=1, light=True))
        >>> _ = network.UpBlock1_1.norm1.rho.data.fill_(1.3)
        >>> _ = network.apply(clip_rho)
        >>> network.UpBlock1_1.norm1.rho.max().item()
        1.0
    """
    if isinstance(module, _AdaptiveNorm | _Norm):
        with torch.no_grad():
            module.rho.clamp_(0.0, 1.0)


class _AdaptiveBlock(nn.Module):
    """Adds what two convolutions find, in the style that gamma and beta tell."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.pad1, self.conv1 = _padded(dim, dim, 3)
        self.norm1 = _AdaptiveNorm(dim)
        self.pad2, self.conv2 = _padded(dim, dim, 3)
        self.norm2 = _AdaptiveNorm(dim)

    def forward(self, inputs: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        found = functional.relu(self.norm1(self.conv1(self.pad1(inputs)), gamma, beta))
        added: torch.Tensor = self.norm2(self.conv2(self.pad2(found)), gamma, beta)
        return inputs + added


class _AdaptiveNorm(nn.Module):
    """A mixture of instance and layer norm, with scale and shift from outside."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.rho = nn.Parameter(torch.full((1, dim, 1, 1), 0.9))

    def forward(self, inputs: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        return _mixed(inputs, self.rho) * gamma[:, :, None, None] + beta[:, :, None, None]


class _Norm(nn.Module):
    """A mixture of instance and layer norm, with scale and shift of its own."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.rho = nn.Parameter(torch.zeros(1, dim, 1, 1))
        self.gamma = nn.Parameter(torch.ones(1, dim, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, dim, 1, 1))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return _mixed(inputs, self.rho) * self.gamma + self.beta


def _mixed(inputs: torch.Tensor, rho: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    # 16 bits overflow where so many numbers are summed.
    wide = inputs.float()
    parts = []
    for dimensions in ((2, 3), (1, 2, 3)):
        mean, variance = wide.mean(dimensions, keepdim=True), wide.var(dimensions, keepdim=True)
        parts.append((wide - mean) / torch.sqrt(variance + eps))
    return (rho * parts[0] + (1 - rho) * parts[1]).to(inputs.dtype)


def _attended(found: torch.Tensor, gap_fc: nn.Module, gmp_fc: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what was found, weighted by how much each channel says, and the logits."""
    weighted, logits = [], []
    for classifier, pooled in (
        (gap_fc, functional.adaptive_avg_pool2d(found, 1)),
        (gmp_fc, functional.adaptive_max_pool2d(found, 1)),
    ):
        logits.append(classifier(pooled.flatten(1)))
        # The public code takes the first parameter, which under spectral norm is the weight before it.
        weighted.append(found * next(classifier.parameters())[:, :, None, None].to(found.dtype))
    return torch.cat(weighted, dim=1), torch.cat(logits, dim=1)


def _convolved(dim: int) -> list[nn.Module]:
    return [*_padded(dim, dim, 3), nn.InstanceNorm2d(dim)]


def _padded(before: int, after: int, kernel: int, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    return nn.ReflectionPad2d(kernel // 2), nn.Conv2d(before, after, kernel, stride, bias=False)
