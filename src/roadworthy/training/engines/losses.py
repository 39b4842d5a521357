"""What an engine learns to come near to: adversaries, and features of a trained network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from roadworthy.errors import InputError, told_as
from roadworthy.models.zoo import load_module
from roadworthy.models.zoo.driving_networks import vgg_layers
from roadworthy.models.zoo.perception_networks import SmallDetector
from roadworthy.training.engines.settings import Loss

_VGG19 = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels, convolutions before a pooling
Color = tuple[float, float, float]
_HALF = (0.5, 0.5, 0.5)
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, from 0 to 1


class FeatureNetwork(nn.Module):
    """Stages of a trained network, the coarsest last; its weights do not change.

    Args:
        stages: One after the other.
        name: What to call it.
        mean: Of what the stages take, for each colour from 0 to 1; None for images from -1 to 1.
        deviation: Likewise.
    """

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(
        self, stages: Sequence[nn.Module], name: str, mean: Color = _HALF, deviation: Color = _HALF
    ) -> None:
        super().__init__()
        self.name = name
        self.stages = nn.ModuleList(stages)
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(1, 3, 1, 1))
        self.eval().requires_grad_(requires_grad=False)

    def train(self, mode: bool = True) -> FeatureNetwork:
        """Stay as it is: statistics of batches must not change what is seen."""
        super().train(mode=False)
        return self

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Return what each stage sees in images from -1 to 1."""
        seen = ((images + 1) / 2 - self.mean) / self.deviation
        return list(accumulate(self.stages, lambda images, one: one(images), initial=seen))[1:]


def feature_network(source: str | Path = "detector") -> FeatureNetwork:
    """Return the features of a network.

    Args:
        source: "detector" for those of the detector that comes with the package, or a file with the weights
            of VGG19, named as torchvision names them.

    Raises:
        InputError: The file cannot be read, or has other weights.

    Example:
        >>> [tuple(one.shape) for one in feature_network()(torch.zeros(1, 3, 32, 64))][-1]
        (1, 256, 1, 2)
    """
    if str(source) == "detector":
        module = load_module("detector")
        assert isinstance(module, SmallDetector)
        first, *rest = module.stages
        return FeatureNetwork([nn.Sequential(module.stem, first), *rest], "the shipped detector")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"there is no file {path}: give one with the weights of VGG19, or 'detector'")
    layers = _vgg19(path)
    # After the first ReLU of each block, as in Pix2pixHD.
    stages = [layers[start:stop] for start, stop in pairwise((0, 2, 7, 12, 21, 30))]
    return FeatureNetwork(stages, f"VGG19 of {path.name}", _MEAN, _DEVIATION)


def _vgg19(path: Path) -> nn.Sequential:
    """Return the convolutions of VGG19 with the weights of a file; those of the classifier are left out."""
    found = vgg_layers(_VGG19)
    told = f"{path} does not have the weights of VGG19 under torchvision's names"
    # torch raises a different class for each way in which a file can be broken.
    with told_as(InputError, told, Exception):
        state = torch.load(path, map_location="cpu", weights_only=True)
        start = "features."
        own = {name.removeprefix(start): one for name, one in state.items() if name.startswith(start)}
        found.load_state_dict(own)
    return found


def perceptual_loss(network: FeatureNetwork, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return how differently a network sees images: Pix2pixHD's sum over its stages, the last counting 1.

    Each stage counts half as much as the one after it, but for the last but one, which counts a quarter.
    """
    total = torch.zeros((), device=one.device)
    mine = network(one)
    with torch.no_grad():
        yours = network(other)
    for number, (left, right) in enumerate(zip(mine, yours, strict=True)):
        behind = len(mine) - 1 - number
        weight = 1.0 if behind == 0 else 0.5 ** (behind + 1)
        total = total + weight * (left.float() - right.float()).abs().mean()
    return total


def pooled(network: FeatureNetwork, images: torch.Tensor) -> NDArray[np.float64]:
    """Return the mean over each image of what the last stage sees: images × channels."""
    with torch.inference_mode():
        return np.asarray(network(images)[-1].float().mean((2, 3)).cpu().numpy(), np.float64)


def frechet_distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the Fréchet distance between two sets of features, each taken as normally distributed.

    Heusel et al. (2017), equation 6; in the features of another network than theirs it is no FID.

    Args:
        one: Samples × features, two samples or more.
        other: Likewise.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> features = rng.normal(size=(500, 2))
        >>> round(frechet_distance(features, features + [3, 4]), 6)
        25.0
    """
    apart = one.mean(0) - other.mean(0)
    first, second = (np.atleast_2d(np.cov(some, rowvar=False)) for some in (one, other))
    # The trace of the root of a product of covariances: its eigenvalues are real and not negative.
    values, vectors = np.linalg.eigh(first)
    root = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    shared = np.sqrt(np.linalg.eigvalsh(root @ second @ root).clip(0)).sum()
    return float(apart @ apart + np.trace(first) + np.trace(second) - 2 * shared)


Scores = Sequence[torch.Tensor]
Features = Sequence[Sequence[torch.Tensor]]


def discriminator_loss(
    kind: Loss, real: Scores, fake: Scores, part: torch.Tensor | None = None
) -> torch.Tensor:
    """Return how badly discriminators tell real images from made ones, the sum over the discriminators.

    `part` says where images were made, batch × 1 × height × width; all of the images when left out. Elsewhere
    made and real images are the same: a discriminator that is asked about that learns nothing else.

    Example:
        >>> yes, no = [torch.ones(1, 1, 2, 2)], [torch.zeros(1, 1, 2, 2)]
        >>> float(discriminator_loss("lsgan", yes, no)), float(discriminator_loss("lsgan", no, yes))
        (0.0, 2.0)
    """
    total = torch.zeros((), device=real[0].device)
    for right, wrong in zip(real, fake, strict=True):
        right, wrong = right.float(), wrong.float()
        if kind == "hinge":
            one, other = functional.relu(1 - right), functional.relu(1 + wrong)
        else:
            one, other = (right - 1) ** 2, wrong**2
        total = total + _mean(one, part) + _mean(other, part)
    return total


def generator_loss(kind: Loss, fake: Scores, part: torch.Tensor | None = None) -> torch.Tensor:
    """Return how clearly made images are seen to be made, the sum over the discriminators.

    `part` is as in `discriminator_loss`.

    Example:
        >>> float(generator_loss("lsgan", [torch.zeros(1, 1, 2, 2)]))
        1.0
    """
    losses = (-score.float() if kind == "hinge" else (score.float() - 1) ** 2 for score in fake)
    return sum((_mean(one, part) for one in losses), torch.zeros((), device=fake[0].device))


def feature_matching(real: Features, fake: Features, part: torch.Tensor | None = None) -> torch.Tensor:
    """Return how far what discriminators see in made images is from what they see in real ones.

    Pix2pixHD (Wang et al., 2018), equation 4, weighted as in the public code: the mean over the scales of the
    sum over the layers of the mean absolute difference, times 4 / layers. The last layer is the score,
    which takes no part and is not counted.

    Example:
        >>> layers = [[torch.ones(1, 2, 4, 4), torch.ones(1, 1, 4, 4)]]
        >>> float(feature_matching(layers, [[torch.zeros(1, 2, 4, 4), torch.zeros(1, 1, 4, 4)]]))
        4.0
    """
    total = torch.zeros((), device=real[0][0].device)
    for right, wrong in zip(real, fake, strict=True):
        weight = 4 / (len(right) - 1)
        for one, other in zip(right[:-1], wrong[:-1], strict=True):
            total = total + weight * _mean((one.detach().float() - other.float()).abs(), part)
    return total / len(real)


def kl_loss(latent: torch.Tensor) -> torch.Tensor:
    """Return how far a latent code is from a standard normal one, as UNIT has it: the mean of its squares.

    Its deviation is fixed at 1, so nothing else of the divergence is left (Liu et al., 2017, section 2).
    """
    return (latent.float() ** 2).mean()


def _mean(values: torch.Tensor, part: torch.Tensor | None) -> torch.Tensor:
    """Return the mean, over the cells of a map that have a pixel of the part where there is one."""
    if part is None:
        return values.mean()
    height, width = values.shape[2:]
    return masked_mean(values, functional.adaptive_max_pool2d(part, (height, width)))


def masked_mean(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over the pixels of a mask, batch × 1 × height × width, and all channels.

    Example:
        >>> float(masked_mean(torch.tensor([[[[1.0, 5.0]]]]), torch.tensor([[[[1.0, 0.0]]]])))
        1.0
    """
    return (values * mask).sum() / (mask.sum() * values.shape[1]).clamp(min=1.0)
