"""What the ways to train an engine have in common: networks, their optimisers, and one step."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from roadworthy.errors import InputError
from roadworthy.training import chosen_device
from roadworthy.training.engines.feed import Batch
from roadworthy.training.engines.settings import EngineSettings

Column = tuple[str, torch.Tensor]
"""A title, and images from -1 to 1."""


class Method(ABC):
    """A way to train an engine.

    Args:
        settings: How it is trained.
        networks: All that learn, by name.
        generators: The names of those whose weights are averaged over time; they make the engine.
        betas: Adam's.
    """

    name: str

    def __init__(
        self,
        settings: EngineSettings,
        networks: Mapping[str, nn.Module],
        generators: Sequence[str],
        betas: tuple[float, float] = (0.5, 0.999),
    ) -> None:
        self.settings = settings
        self.device = chosen_device(settings.device)
        self.half = _half_precision(settings, self.device)
        self.layout = torch.channels_last if settings.channels_last else torch.contiguous_format
        self.networks: dict[str, nn.Module] = {
            name: one.to(self.device, memory_format=self.layout).train()  # type: ignore[call-overload]
            for name, one in networks.items()
        }
        self.generators = tuple(generators)
        others = [one for name, one in self.networks.items() if name not in generators]
        rate = settings.learning_rate
        self.optimizers = {
            "generator": self._adam([self.networks[name] for name in generators], rate, betas),
        }
        self.rates = {"generator": rate}
        if others:
            rate = settings.discriminator_rate or rate
            self.optimizers["discriminator"] = self._adam(others, rate, betas)
            self.rates["discriminator"] = rate

    @abstractmethod
    def step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Learn from a batch, and return the losses, without gradients."""

    @abstractmethod
    def sheet(self, batch: Batch) -> list[Column]:
        """Return what to show of a batch, one column after the other; generators are in evaluation mode."""

    @abstractmethod
    def measures(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Return how good the engine is on pictures that it does not learn from, in evaluation mode."""

    def autocast(self) -> Any:
        """Return the context in which networks run."""
        if self.half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.half)

    def slow_down(self, factor: float) -> None:
        """Set the learning rates to a share of what they were at first."""
        for name, one in self.optimizers.items():
            for group in one.param_groups:
                group["lr"] = self.rates[name] * factor

    def learn(self, name: str, loss: torch.Tensor) -> None:
        """Let an optimiser make a loss smaller."""
        optimizer = self.optimizers[name]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip:
            weights = [one for group in optimizer.param_groups for one in group["params"]]
            nn.utils.clip_grad_norm_(weights, self.settings.clip)
        optimizer.step()

    def freeze(self, *names: str, frozen: bool = True) -> None:
        """Let networks give gradients to what they see, and none to their weights, which saves the work."""
        for name in names:
            self.networks[name].requires_grad_(requires_grad=not frozen)

    def _adam(
        self, modules: Sequence[nn.Module], rate: float, betas: tuple[float, float]
    ) -> torch.optim.Optimizer:
        weights = [one for module in modules for one in module.parameters()]
        # One kernel for all weights: small networks spend more time starting kernels than in them.
        fused = self.device.type == "cuda"
        return torch.optim.Adam(
            weights, rate, betas, weight_decay=self.settings.weight_decay, fused=fused or None
        )


def _half_precision(settings: EngineSettings, device: torch.device) -> torch.dtype | None:
    """Return the 16-bit numbers to use; None for none."""
    if settings.precision == "bfloat16":
        return torch.bfloat16
    if settings.precision == "float32" or device.type != "cuda":
        return None
    if not torch.cuda.is_bf16_supported():
        raise InputError(f"{device} has no bfloat16: use precision float32")
    return torch.bfloat16
