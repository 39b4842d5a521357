"""How engines learn: from label maps as Pix2pixHD, and from two kinds of images as UNIT and U-GAT-IT.

Pix2pixHD is Wang et al.'s (2018), UNIT Liu et al.'s (2017), U-GAT-IT Kim et al.'s (2020). The weights of the
losses are those of the public code. The unpaired two learn both ways; the way from ``a`` to ``b`` makes the
engine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import NetworkInputs, UgatitSettings, UnitSettings
from roadworthy.training.engine_networks.ugatit import Discriminator, ResnetGenerator, clip_rho
from roadworthy.training.engine_networks.unit import MsImageDis, VAEGen, translator
from roadworthy.training.engines.feed import Batch, holes, one_hot, with_hole
from roadworthy.training.engines.losses import (
    FeatureNetwork,
    discriminator_loss,
    feature_matching,
    frechet_distance,
    generator_loss,
    kl_loss,
    masked_mean,
    perceptual_loss,
    pooled,
)
from roadworthy.training.engines.method import Column, EngineMethod, weighted
from roadworthy.training.engines.settings import EngineSettings

Pooled = NDArray[np.float64]


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
    # Of Pix2pixHD, and the plain difference inside holes, for a generator that knows the surroundings.
    weights: ClassVar = {"adversarial": 1.0, "matching": 10.0, "perceptual": 10.0, "plain": 10.0}

    def __init__(
        self,
        settings: EngineSettings,
        generator: nn.Module,
        *,
        inputs: NetworkInputs,
        features: FeatureNetwork,
        ndf: int = 64,
    ) -> None:
        self.inputs = inputs
        discriminator = MultiscaleDiscriminator(inputs.labels + inputs.edges + 3, ndf=ndf, num_D=2)
        super().__init__(settings, {"generator": generator, "discriminator": discriminator}, ["generator"])
        self.features = features.to(self.device)

    def _described(self, batch: Batch) -> torch.Tensor:
        """Return what the label map says, as generator and discriminators see it."""
        labels = one_hot(batch["labels"], self.inputs.labels)
        return torch.cat([labels, batch["edges"].float()], 1) if self.inputs.edges else labels

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
            seen = torch.cat([seen, with_hole(batch["image"], hole)], 1)
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
        if self.inputs.context:
            losses["plain"] = masked_mean((made - real).abs(), hole)
        self.learn("generator", weighted(losses, self.weights))
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


_OTHER = {"a": "b", "b": "a"}  # domains


class _Translation(EngineMethod):
    """What both have in common: what is shown and what is measured."""

    features: FeatureNetwork

    @abstractmethod
    def translated(self, images: torch.Tensor, target: str) -> torch.Tensor:
        """Return images as they would be in a domain, ``a`` or ``b``."""

    @abstractmethod
    def engine(self) -> nn.Module:
        """Return the network that leads from ``a`` to ``b``."""

    def sheet(self, batch: Batch) -> list[Column]:
        """Return images there, and there and back; beside them some of the other domain."""
        there = self.translated(batch["a"], "b")
        back = self.translated(there, "a")
        return [("frame", batch["a"]), ("learned", there), ("back", back), ("other", batch["b"])]

    def measures(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Return how far images come back changed, in grey levels, and the Fréchet distance to the domain."""
        apart = []
        seen: dict[str, list[Pooled]] = {"there": [], "a": [], "b": []}
        for batch in batches:
            there = self.translated(batch["a"], "b")
            apart.append(127.5 * (self.translated(there, "a") - batch["a"]).abs().mean((1, 2, 3)))
            for name, images in {**batch, "there": there}.items():
                seen[name].append(pooled(self.features, images))
        found = {"cycle error, grey levels": float(torch.cat(apart).mean())}
        unchanged = frechet(seen["a"], seen["b"], self.features).items()
        learned = frechet(seen["there"], seen["b"], self.features)
        return found | learned | {f"{name}, unchanged": value for name, value in unchanged}


class Unit(_Translation):
    """Trains two variational autoencoders that share a latent space.

    Args:
        settings: How it is trained.
        network: The autoencoders' sizes.
        features: For the Fréchet distance.
        dim: Channels of the first layer of the discriminators.
        scales: How many of them there are for each domain.
    """

    name = "unit"
    weights: ClassVar = {
        "adversarial": 1.0,
        "reconstruction": 10.0,
        "kl": 0.01,
        "cycle": 10.0,
        "cycle kl": 0.01,
    }

    def __init__(
        self,
        settings: EngineSettings,
        network: UnitSettings,
        *,
        features: FeatureNetwork,
        dim: int = 64,
        scales: int = 3,
    ) -> None:
        networks = {domain: VAEGen(network) for domain in ("a", "b")}
        judges = {f"judge {domain}": MsImageDis(dim=dim, num_scales=scales) for domain in ("a", "b")}
        super().__init__(settings, {**networks, **judges}, ["a", "b"])
        self.features = features.to(self.device)

    def _network(self, name: str) -> VAEGen:
        found = self.networks[name]
        assert isinstance(found, VAEGen)
        return found

    def translated(self, images: torch.Tensor, target: str) -> torch.Tensor:
        """Return images as they would be in a domain."""
        with self.autocast():
            return self._network(target).decode(self._network(_OTHER[target]).encode(images)).float()

    def engine(self) -> nn.Module:
        """Return the network that leads from ``a`` to ``b``."""
        return translator(self._network("a"), self._network("b"))

    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch: the discriminators first, as in the public code."""
        kind = self.settings.loss
        images, other = {"a": batch["a"], "b": batch["b"]}, _OTHER
        with self.autocast():
            latent = {domain: self._network(domain).encode(images[domain]) for domain in images}
            noisy = {domain: _noisy(code) for domain, code in latent.items()}
            # From the other domain into this domain.
            made = {domain: self._network(domain).decode(noisy[other[domain]]) for domain in images}
            real = {domain: self.networks[f"judge {domain}"](images[domain]) for domain in images}
            fake = {domain: self.networks[f"judge {domain}"](made[domain].detach()) for domain in images}
        losses = {
            "discriminator": sum_of(discriminator_loss(kind, real[domain], fake[domain]) for domain in images)
        }
        self.learn("discriminator", self.weights["adversarial"] * losses["discriminator"])
        self.freeze("judge a", "judge b")
        with self.autocast():
            again = {domain: self._network(domain).decode(noisy[domain]) for domain in images}
            # Codes of what was made here belong to the other domain's images.
            recoded = {domain: self._network(domain).encode(made[domain]) for domain in images}
            back = {domain: self._network(domain).decode(_noisy(recoded[other[domain]])) for domain in images}
            fake = {domain: self.networks[f"judge {domain}"](made[domain]) for domain in images}
        losses |= {
            "adversarial": sum_of(generator_loss(kind, fake[domain]) for domain in images),
            "reconstruction": sum_of(_apart(again[domain], images[domain]) for domain in images),
            "kl": sum_of(kl_loss(latent[domain]) for domain in images),
            "cycle": sum_of(_apart(back[domain], images[domain]) for domain in images),
            "cycle kl": sum_of(kl_loss(recoded[domain]) for domain in images),
        }
        self.learn("generator", weighted(losses, self.weights))
        self.freeze("judge a", "judge b", frozen=False)
        return {name: loss.detach() for name, loss in losses.items()}


class Ugatit(_Translation):
    """Trains two generators with attention and adaptive normalisation.

    Args:
        settings: How it is trained.
        network: The generators' sizes.
        features: For the Fréchet distance.
        ndf: Channels of the first layer of the discriminators.
        layers: Of the local and of the global discriminators.
    """

    name = "ugatit"
    weights: ClassVar = {"adversarial": 1.0, "cycle": 10.0, "identity": 10.0, "attention": 1000.0}

    def __init__(
        self,
        settings: EngineSettings,
        network: UgatitSettings,
        *,
        features: FeatureNetwork,
        ndf: int = 64,
        layers: tuple[int, int] = (5, 7),
    ) -> None:
        # Named by what they make, and what they judge.
        networks: dict[str, nn.Module] = {domain: ResnetGenerator(network) for domain in ("a", "b")}
        for domain in ("a", "b"):
            for place, count in zip(("local", "global"), layers, strict=True):
                networks[f"{place} {domain}"] = Discriminator(ndf=ndf, n_layers=count)
        super().__init__(settings, networks, ["a", "b"])
        self.judges = tuple(name for name in networks if name not in ("a", "b"))
        self.features = features.to(self.device)

    def _attended(self, into: str, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        network = self.networks[into]
        assert isinstance(network, ResnetGenerator)
        with self.autocast():
            image, attention, _ = network.attended(images)
        return image.float(), attention.float()

    def translated(self, images: torch.Tensor, target: str) -> torch.Tensor:
        """Return images as they would be in a domain."""
        return self._attended(target, images)[0]

    def engine(self) -> nn.Module:
        """Return the network that leads from ``a`` to ``b``."""
        return self.networks["b"]

    def _judged(self, domain: str, images: torch.Tensor) -> list[torch.Tensor]:
        """Return what both discriminators of a domain say, each by its scores and by its attention."""
        found = []
        with self.autocast():
            for place in ("local", "global"):
                scores, attention, _ = self.networks[f"{place} {domain}"](images)
                found += [scores, attention]
        return found

    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch: the discriminators first, as in the public code."""
        kind, domains, other = self.settings.loss, ("a", "b"), _OTHER
        made, attention = {}, {}
        for domain in domains:
            made[domain], attention[domain] = self._attended(domain, batch[other[domain]])
        real = {domain: self._judged(domain, batch[domain]) for domain in domains}
        fake = {domain: self._judged(domain, made[domain].detach()) for domain in domains}
        losses = {"discriminator": sum_of(discriminator_loss(kind, real[one], fake[one]) for one in domains)}
        self.learn("discriminator", self.weights["adversarial"] * losses["discriminator"])
        self.freeze(*self.judges)
        back = {domain: self._attended(domain, made[other[domain]])[0] for domain in domains}
        same, own = {}, {}
        for domain in domains:
            same[domain], own[domain] = self._attended(domain, batch[domain])
        losses |= {
            "adversarial": sum_of(generator_loss(kind, self._judged(one, made[one])) for one in domains),
            "cycle": sum_of(_apart(back[one], batch[one]) for one in domains),
            "identity": sum_of(_apart(same[one], batch[one]) for one in domains),
            "attention": sum_of(_answered(attention[one], 1.0) + _answered(own[one], 0.0) for one in domains),
        }
        self.learn("generator", weighted(losses, self.weights))
        self.freeze(*self.judges, frozen=False)
        for domain in domains:
            self.networks[domain].apply(clip_rho)
        return {name: loss.detach() for name, loss in losses.items()}


def sum_of(losses: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return the sum of losses."""
    return torch.stack(list(losses)).sum()


def _noisy(code: torch.Tensor) -> torch.Tensor:
    return code + torch.randn_like(code)


def _apart(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one.float() - other).abs().mean()


def _answered(attention: torch.Tensor, answer: float) -> torch.Tensor:
    return functional.binary_cross_entropy_with_logits(attention, torch.full_like(attention, answer))
