"""Learning from pairs of the world: a frame, and the truth after the change."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from scripts.engines.look import look_distances
from scripts.engines.recipes import PairedWeights
from torch import nn

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import NetworkInputs
from roadworthy.training.engines.feed import Batch, one_hot, with_hole
from roadworthy.training.engines.losses import (
    discriminator_loss,
    feature_matching,
    generator_loss,
    masked_mean,
)
from roadworthy.training.engines.method import Column, EngineMethod, weighted
from roadworthy.training.engines.settings import EngineSettings


class PairedMethod(EngineMethod):
    """Trains a generator to come near a truth that is known.

    A picture has ``image`` and ``truth``. For synthesis it also has ``labels`` after the edit, the
    ``opacity`` with which it is painted anew, and ``differs``, where the truth differs; ``filled`` is what a
    classical transform made of it.

    Args:
        settings: How it is trained.
        generator: The network.
        inputs: What it sees; noise is drawn anew for each batch.
        prefilled: Whether it sees in the hole what the classical transform painted.
        weights: How much the losses count.
        teacher: A network of the same kind that has learned already.
        discriminator: Its channels of the first layer, where the weights ask for one.
    """

    name = "paired"

    def __init__(
        self,
        settings: EngineSettings,
        generator: nn.Module,
        *,
        inputs: NetworkInputs,
        prefilled: bool = False,
        weights: PairedWeights | None = None,
        teacher: nn.Module | None = None,
        discriminator: int = 32,
    ) -> None:
        self.weights = weights or PairedWeights()
        if prefilled and not inputs.context:
            raise InputError("only a network that sees the surroundings can be given a hole that is filled")
        if self.weights.teacher and teacher is None:
            raise InputError("to learn from a teacher, give one")
        self.inputs, self.prefilled = inputs, prefilled
        networks: dict[str, nn.Module] = {"generator": generator}
        if self.weights.adversarial:
            networks["discriminator"] = MultiscaleDiscriminator(6, ndf=discriminator, num_D=2)
        self.betas = (0.5, 0.999) if self.weights.adversarial else (0.9, 0.99)
        super().__init__(settings, networks, ["generator"])
        self.teacher = None if teacher is None else teacher.to(self.device).eval().requires_grad_(False)

    def made(self, batch: Batch, network: nn.Module | None = None) -> torch.Tensor:
        """Return the changed images, with nothing changed outside the region."""
        with self.autocast():
            painter = network or self.networks["generator"]
            found: torch.Tensor = painter(self._seen(batch)).float()
        if not self.inputs.labels:
            return found
        opacity = batch["opacity"].float() / 255
        return batch["image"] * (1 - opacity) + found * opacity

    def _seen(self, batch: Batch) -> torch.Tensor:
        image, inputs = batch["image"], self.inputs
        noise = None
        if inputs.noise:
            noise = torch.randn(len(image), inputs.noise, *image.shape[2:], device=image.device)
        if not inputs.labels:
            return image if noise is None else torch.cat([image, noise], 1)
        context = None
        if inputs.context:
            filled = batch["filled"] if self.prefilled else None
            context = with_hole(image, (batch["opacity"] > 0).float(), filled)
        edges = batch["edges"].float() if inputs.edges else None
        parts = (one_hot(batch["labels"], inputs.labels), edges, context, noise)
        return torch.cat([one for one in parts if one is not None], 1)

    def _part(self, batch: Batch) -> torch.Tensor:
        """Return where the truth differs."""
        if "differs" in batch:
            return batch["differs"].float()
        return torch.ones_like(batch["image"][:, :1])

    def _painted(self, batch: Batch, part: torch.Tensor) -> torch.Tensor:
        """Return where the truth differs or something is painted."""
        return torch.maximum(part, (batch["opacity"] > 0).float()) if "opacity" in batch else part

    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch."""
        weights, truth = self.weights, batch["truth"]
        part = self._part(batch)
        painted = self._painted(batch, part)
        made = self.made(batch)
        losses = {
            "look": look_distances(made, truth, part).mean(),
            "plain": masked_mean((made - truth).abs(), painted),
        }
        if self.teacher is not None and weights.teacher:
            with torch.no_grad():
                taught = self.made(batch, self.teacher)
            losses["teacher"] = look_distances(made, taught, part).mean() + masked_mean(
                (made - taught).abs(), painted
            )
        if weights.adversarial:
            losses |= self._judged(batch, made, painted)
        self.learn("generator", weighted(losses, vars(weights)))
        if weights.adversarial:
            losses["discriminator"] = self._discriminate(batch, made.detach(), painted)
        return {name: loss.detach() for name, loss in losses.items()}

    def _judged(self, batch: Batch, made: torch.Tensor, part: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return what the discriminator says about a part of made images."""
        network = self.networks["discriminator"]
        self.freeze("discriminator")
        with self.autocast():
            fake = network(torch.cat([batch["image"], made], 1))
            with torch.no_grad():
                real = network(torch.cat([batch["image"], batch["truth"]], 1))
        self.freeze("discriminator", frozen=False)
        scores = [one[-1] for one in fake]
        return {
            "adversarial": generator_loss(self.settings.loss, scores, part),
            "matching": feature_matching(real, fake, part),
        }

    def _discriminate(self, batch: Batch, made: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        network = self.networks["discriminator"]
        with self.autocast():
            real, fake = (
                [one[-1] for one in network(torch.cat([batch["image"], image], 1))]
                for image in (batch["truth"], made)
            )
        loss = discriminator_loss(self.settings.loss, real, fake, part)
        self.learn("discriminator", loss)
        return loss

    def sheet(self, batch: Batch) -> list[Column]:
        """Return frame, classical result where it is known, made image and truth."""
        found: list[Column] = [("frame", batch["image"])]
        if "filled" in batch:
            found.append(("classical", batch["filled"]))
        return [*found, ("learned", self.made(batch)), ("truth", batch["truth"])]

    def measures(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Return the look distance to the truth, and the mean absolute difference in grey levels."""
        sums: dict[str, list[torch.Tensor]] = {}
        for batch in batches:
            part, made, truth = self._part(batch), self.made(batch), batch["truth"]
            images = {"look": made, "look, unchanged": batch["image"]}
            if "filled" in batch:
                images["look, classical"] = batch["filled"]
            for name, image in images.items():
                sums.setdefault(name, []).append(look_distances(image, truth, part))
            plain = ((made - truth).abs() * part).sum((1, 2, 3)) / part.sum((1, 2, 3)).clamp(min=1) / 3
            sums.setdefault("L1, grey levels", []).append(127.5 * plain)
        return {name: float(torch.cat(values).mean()) for name, values in sums.items()}
