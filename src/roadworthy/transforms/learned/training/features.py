"""What a trained network sees in images: for perceptual losses and for distances between sets of images.

Nothing is downloaded, so the features are by default those of the detector that comes with the package,
trained on the built-in world. Losses and distances in them are no LPIPS and no FID, and are not called so.
Who has the weights of VGG19 gives the file, and learns by the loss of Pix2pixHD's paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from roadworthy.errors import InputError
from roadworthy.models.zoo import load_module
from roadworthy.models.zoo.perception_networks import Detector

__all__ = ["FeatureNetwork", "feature_network", "frechet_distance", "perceptual_loss", "pooled"]

_VGG19 = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels, convolutions before a pooling
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
        self,
        stages: Sequence[nn.Module],
        name: str,
        mean: Sequence[float] = (0.5, 0.5, 0.5),
        deviation: Sequence[float] = (0.5, 0.5, 0.5),
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
        found = []
        for one in self.stages:
            seen = one(seen)
            found.append(seen)
        return found


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
        assert isinstance(module, Detector)
        first, *rest = module.stages
        return FeatureNetwork([nn.Sequential(module.stem, first), *rest], "the shipped detector")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"there is no file {path}: give one with the weights of VGG19, or 'detector'")
    layers = _vgg19(path)
    # After the first ReLU of each block, as in Pix2pixHD.
    cuts = [0, 2, 7, 12, 21, 30]
    stages = [layers[start:stop] for start, stop in pairwise(cuts)]
    return FeatureNetwork(stages, f"VGG19 of {path.name}", _MEAN, _DEVIATION)


def _vgg19(path: Path) -> nn.Sequential:
    """Return the convolutions of VGG19 with the weights of a file; those of the classifier are left out."""
    layers: list[nn.Module] = []
    before = 3
    for channels, count in _VGG19:
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
            before = channels
        layers.append(nn.MaxPool2d(2))
    found = nn.Sequential(*layers)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        start = "features."
        found.load_state_dict(
            {name.removeprefix(start): one for name, one in state.items() if name.startswith(start)}
        )
    except Exception as error:
        # torch raises a different class for each way in which a file can be broken.
        told = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{path} does not have the weights of VGG19 under torchvision's names: {told}"
        ) from error
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
