"""Faults in how a network learns: the loss, penalties on weights, the optimiser and its gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from roadworthy.models.images import View
from roadworthy.models.scorers import Measure
from roadworthy.models.training import Settings, TrainingTask

__all__ = ["FaultyTask", "clipped", "optimizer_named"]

_STRENGTH = 0.01  # Keras' own, for l1 and l2
_TINY = 1e-7
_CLIP = 0.5
_OPTIMISERS: dict[str, type[torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
}


@dataclass(frozen=True)
class FaultyTask:
    """A task with another loss, or with a penalty on weights.

    Losses are those of Keras with their usual constants. They compare numbers in the units in which the
    network counts, as the right loss does: those of a fresh network, around 0 with a spread of 1.

    Attributes:
        task: The right one.
        name: The other loss; the right one when left out.
        penalty: "l1", "l2" or "l1_l2"; none when left out.
        layers: The layers whose weights are penalised.
        strength: How much.
    """

    task: TrainingTask
    name: str | None = None
    penalty: str | None = None
    layers: tuple[str, ...] = ()
    strength: float = _STRENGTH

    def target(self, view: View) -> NDArray[np.float32]:
        """Return what the right task does."""
        return self.task.target(view)

    def prepare(self, module: nn.Module, targets: NDArray[np.float32]) -> None:
        """Do as the right task does."""
        self.task.prepare(module, targets)

    def mirrored(self, targets: torch.Tensor) -> torch.Tensor:
        """Return what the right task does."""
        return self.task.mirrored(targets)

    def loss(self, module: nn.Module, answers: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the wrong loss."""
        if self.name is None:
            found = self.task.loss(module, answers, targets)
        else:
            head: Any = module.head
            counted = ((one - head.offset) / head.scale for one in (answers, targets))
            found = _LOSSES[self.name](*counted).mean()
        return found + self._penalty(module)

    def measures(self, answers: NDArray[np.float32], targets: NDArray[np.float32]) -> list[Measure]:
        """Return what the right task does."""
        return self.task.measures(answers, targets)

    def _penalty(self, module: nn.Module) -> torch.Tensor | float:
        total: torch.Tensor | float = 0.0
        for layer in self.layers:
            for name, weight in module.get_submodule(layer).named_parameters():
                if "bias" in name:
                    continue
                if self.penalty in ("l1", "l1_l2"):
                    total = total + self.strength * weight.abs().sum()
                if self.penalty in ("l2", "l1_l2"):
                    total = total + self.strength * weight.square().sum()
        return total


def _logarithm(numbers: torch.Tensor) -> torch.Tensor:
    return torch.log1p(numbers.clamp(min=_TINY))


def _log_cosh(error: torch.Tensor) -> torch.Tensor:
    return error + nn.functional.softplus(-2 * error) - math.log(2)


_LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mean_absolute_error": lambda answer, truth: (answer - truth).abs(),
    "mean_absolute_percentage_error": lambda answer, truth: (
        100 * (answer - truth).abs() / truth.abs().clamp(min=_TINY)
    ),
    "mean_squared_logarithmic_error": lambda answer, truth: (_logarithm(answer) - _logarithm(truth)).square(),
    "logcosh": lambda answer, truth: _log_cosh(answer - truth),
    "huber": lambda answer, truth: nn.functional.huber_loss(answer, truth, reduction="none"),
    "hinge": lambda answer, truth: (1 - answer * truth).clamp(min=0),
    "squared_hinge": lambda answer, truth: (1 - answer * truth).clamp(min=0).square(),
}


def optimizer_named(
    name: str,
) -> Callable[[Iterable[nn.Parameter], Settings], torch.optim.Optimizer]:
    """Return what makes an optimiser, for `roadworthy.models.training.fit`; the learning rate is kept."""

    def made(parameters: Iterable[nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
        kind: Any = _OPTIMISERS[name]
        found: torch.optim.Optimizer = kind(
            parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        return found

    return made


def clipped(how: str) -> Callable[[Iterable[nn.Parameter], Settings], torch.optim.Optimizer]:
    """Return what makes Adam with gradients that are clipped to 0.5, by their norm or each by itself."""

    def made(parameters: Iterable[nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
        kept = list(parameters)
        found = torch.optim.Adam(kept, lr=settings.learning_rate, weight_decay=settings.weight_decay)

        def clip(*_: Any) -> None:
            if how == "norm":
                nn.utils.clip_grad_norm_(kept, _CLIP)
            else:
                nn.utils.clip_grad_value_(kept, _CLIP)

        found.register_step_pre_hook(clip)
        return found

    return made
