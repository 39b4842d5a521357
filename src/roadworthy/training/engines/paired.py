"""Learning from label maps as Pix2pixHD does (Wang et al., 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import NetworkInputs
from roadworthy.training.engines.feed import Batch, holes, one_hot, with_hole
from roadworthy.training.engines.losses import (
    FeatureNetwork,
    discriminator_loss,
    feature_matching,
    frechet_distance,
    generator_loss,
    masked_mean,
    perceptual_loss,
    pooled,
)
from roadworthy.training.engines.method import Column, EngineMethod, weighted
from roadworthy.training.engines.settings import EngineSettings

Pooled = NDArray[np.float64]


def joined(
    first: torch.Tensor,
    edges: torch.Tensor | None = None,
    context: torch.Tensor | None = None,
    noise: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the inputs of a network as one tensor, in the order of its channels.

    Args:
        first: The label map, a channel per class; or the image, for a network that translates.
        edges: Where things end: 0 or 1.
        context: The image, 0 inside the hole, and the hole as a mask.
        noise: Standard normal noise.

    Example:
        >>> joined(torch.zeros(1, 9, 8, 8), context=torch.zeros(1, 4, 8, 8)).shape
        torch.Size([1, 13, 8, 8])
    """
    return torch.cat([one for one in (first, edges, context, noise) if one is not None], dim=1)


@dataclass(frozen=True)
class SynthesisWeights:
    """How much the losses count; the numbers of Pix2pixHD, and the plain difference inside holes.

    Attributes:
        adversarial: What the discriminators say.
        matching: What they see.
        perceptual: What a trained network sees.
        plain: The mean absolute difference in the hole, for a generator that knows the surroundings.
    """

    adversarial: float = 1.0
    matching: float = 10.0
    perceptual: float = 10.0
    plain: float = 10.0


class Synthesis(EngineMethod):
    """Trains a generator that paints images from label maps.

    Args:
        settings: How it is trained.
        generator: The network.
        inputs: What it sees.
        features: The network of the perceptual loss and of the Fréchet distance.
        ndf: Channels of the first layer of the discriminators.
    """

    name = "pix2pixhd"

    def __init__(
        self,
        settings: EngineSettings,
        generator: nn.Module,
        *,
        inputs: NetworkInputs,
        features: FeatureNetwork,
        ndf: int = 64,
    ) -> None:
        self.inputs, self.weights = inputs, SynthesisWeights()
        discriminator = MultiscaleDiscriminator(inputs.labels + inputs.edges + 3, ndf=ndf, num_D=2)
        super().__init__(settings, {"generator": generator, "discriminator": discriminator}, ["generator"])
        self.features = features.to(self.device)

    def _described(self, batch: Batch) -> torch.Tensor:
        """Return what the label map says, as generator and discriminators see it."""
        labels = one_hot(batch["labels"], self.inputs.labels)
        return joined(labels, batch["edges"].float() if self.inputs.edges else None)

    def _hole(self, batch: Batch) -> torch.Tensor:
        """Return the holes to be painted: everything for a generator that knows no surroundings."""
        if not self.inputs.context:
            return torch.ones_like(batch["image"][:, :1])
        # From the random numbers of this step, which the loop has seeded.
        generator = torch.Generator().manual_seed(int(torch.randint(2**31, ())))
        return holes(batch["labels"], self.inputs.labels, generator)

    def made(self, batch: Batch, hole: torch.Tensor) -> torch.Tensor:
        """Return the images with the holes painted."""
        seen = self._described(batch)
        if self.inputs.context:
            seen = joined(seen, context=with_hole(batch["image"], hole))
        with self.autocast():
            found: torch.Tensor = self.networks["generator"](seen).float()
        return batch["image"] * (1 - hole) + found * hole

    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch."""
        real, described = batch["image"], self._described(batch)
        hole = self._hole(batch)
        made = self.made(batch, hole)
        network = self.networks["discriminator"]
        with self.autocast():
            truth = network(torch.cat([described, real], 1))
            false = network(torch.cat([described, made.detach()], 1))
        right, wrong = ([one[-1] for one in judged] for judged in (truth, false))
        losses = {"discriminator": 0.5 * discriminator_loss(self.settings.loss, right, wrong, hole)}
        self.learn("discriminator", losses["discriminator"])
        self.freeze("discriminator")
        with self.autocast():
            with torch.no_grad():
                truth = network(torch.cat([described, real], 1))
            fake = network(torch.cat([described, made], 1))
            losses["perceptual"] = perceptual_loss(self.features, made, real)
        losses["adversarial"] = generator_loss(self.settings.loss, [one[-1] for one in fake], hole)
        losses["matching"] = feature_matching(truth, fake, hole)
        counted = ["adversarial", "matching", "perceptual"]
        if self.inputs.context:
            losses["plain"] = masked_mean((made - real).abs(), hole)
            counted.append("plain")
        self.learn("generator", weighted(losses, self.weights, *counted))
        self.freeze("discriminator", frozen=False)
        return {name: loss.detach() for name, loss in losses.items()}

    def sheet(self, batch: Batch) -> list[Column]:
        """Return what the generator saw, what it made, and the frame."""
        hole = self._hole(batch)
        made = self.made(batch, hole)
        columns: list[Column] = []
        if self.inputs.context:
            columns.append(("seen", with_hole(batch["image"], hole)[:, :3]))
        return [*columns, ("learned", made), ("frame", batch["image"])]

    def measures(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Return the difference in the holes in grey levels, and the Fréchet distance of whole images."""
        plain, mine, yours = [], [], []
        for number, batch in enumerate(batches):
            # The same holes every time, so that numbers can be compared.
            torch.manual_seed(number)
            hole = self._hole(batch)
            made = self.made(batch, hole)
            plain.append(float(127.5 * masked_mean((made - batch["image"]).abs(), hole)))
            mine.append(pooled(self.features, made))
            yours.append(pooled(self.features, batch["image"]))
        return {"L1 inside, grey levels": sum(plain) / len(plain)} | frechet(mine, yours, self.features)


def frechet(mine: list[Pooled], yours: list[Pooled], features: FeatureNetwork) -> dict[str, float]:
    """Return the Fréchet distance between made and real images, where there are enough of them."""
    one, other = np.concatenate(mine), np.concatenate(yours)
    if min(len(one), len(other)) < 2:
        return {}
    return {f"Fréchet distance in {features.name}": frechet_distance(one, other)}
