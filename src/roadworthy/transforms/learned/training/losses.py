"""Losses of adversarial training: how generator and discriminators play, and what a generator shall match."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from roadworthy.transforms.learned.training.settings import Loss

__all__ = ["discriminator_loss", "feature_matching", "generator_loss", "kl_loss", "masked_mean"]

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
    total = torch.zeros((), device=fake[0].device)
    for score in fake:
        total = total + _mean(-score.float() if kind == "hinge" else (score.float() - 1) ** 2, part)
    return total


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
