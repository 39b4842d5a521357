"""Faults in what goes into a training: its data, the network before it learns, and how it learns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn, optim

from roadworthy.errors import InputError
from roadworthy.models.images import View
from roadworthy.models.scorers import Measure
from roadworthy.seeding import rng_for
from roadworthy.training import Settings
from roadworthy.training.mutants._layers import WEIGHTED, Chain, TracedLayer
from roadworthy.training.mutants.operators import TrainingMutation
from roadworthy.training.samples import Samples
from roadworthy.training.tasks import TrainingTask


def kinds_of(targets: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return a number for the kind of each sample: below, within or above a standard deviation, per signal.

    DeepCrime counts standard deviations from 0. Speeds are all far above 0, so here they are counted from the
    mean, but for steering the two hardly differ.

    Example:
        >>> kinds_of(np.array([[-9.0], [0.0], [0.1], [9.0]])).tolist()
        [0, 1, 1, 2]
    """
    spread, middle = targets.std(axis=0), targets.mean(axis=0)
    places = 1 + (targets > middle + spread).astype(np.int64) - (targets < middle - spread)
    weights = 3 ** np.arange(targets.shape[1])[::-1]
    found: NDArray[np.int64] = (places * weights).sum(axis=1)
    return found


def changed_samples(samples: Samples, mutation: TrainingMutation) -> Samples:
    """Return training data with a fault in it.

    Args:
        samples: The data.
        mutation: TCL: noise on the labels, its standard deviation in percent of theirs. TRD: percent of the
            samples of every kind that are removed. TUD: the same of those kinds alone that have fewer samples
            than the average kind. TAN: percent of the images that get noise, and its standard deviation in
            percent of that of the image. TCO: percent of the most frequent kind that are repeated with labels
            of the second most frequent.

    Raises:
        InputError: Nothing would be left to learn from, or the value is no percentage.
    """
    share = (mutation.value or 0.0) / 100
    if not 0 <= share <= 1:
        raise InputError(f"{mutation.operator} takes a percentage from 0 to 100, got {mutation.value}")
    # The value is no part of the key: a larger one does more of the same.
    rng = rng_for(mutation.seed, "training mutant", mutation.operator)
    name = f"{samples.name}, {mutation.name}"
    if mutation.operator == "TCL":
        noise = rng.normal(0.0, 1.0, samples.targets.shape) * samples.targets.std(axis=0) * share
        return dataclasses.replace(samples, name=name, targets=(samples.targets + noise).astype(np.float32))
    if mutation.operator == "TAN":
        return dataclasses.replace(samples, name=name, images=_noisy(samples.images, share, rng))
    if mutation.operator == "TCO":
        return dataclasses.replace(_overlapping(samples, share, rng), name=name)
    left = _left(samples.targets, share, rng, only_rare=mutation.operator == "TUD")
    if not len(left):
        raise InputError(f"{mutation.name} leaves nothing to learn from of {samples.name}: remove less")
    return samples.take(left, name)


def _noisy(images: NDArray[np.uint8], share: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    found = images.copy()
    for number in rng.permutation(len(images))[: round(share * len(images))].tolist():
        image = images[number].astype(np.float32)
        noise = rng.standard_normal(image.shape, np.float32) * (image.std() * share)
        found[number] = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
    return found


def _left(
    targets: NDArray[np.float32], share: float, rng: np.random.Generator, *, only_rare: bool
) -> NDArray[np.intp]:
    """Return which samples are left when a share of every kind, or of every rare kind, is removed."""
    kinds = kinds_of(targets)
    numbers, counts = np.unique(kinds, return_counts=True)
    gone = [np.zeros(0, np.intp)]
    for number in numbers[counts < counts.mean()] if only_rare else numbers:
        members = rng.permutation(np.flatnonzero(kinds == number))
        gone.append(members[: int(share * len(members))])
    return np.setdiff1d(np.arange(len(targets)), np.concatenate(gone))


def _overlapping(samples: Samples, share: float, rng: np.random.Generator) -> Samples:
    """Return the samples with some of the most frequent kind once more, as if they were of the second."""
    kinds = kinds_of(samples.targets)
    numbers, counts = np.unique(kinds, return_counts=True)
    if len(numbers) < 2:
        raise InputError(f"TCO needs samples of two kinds, and those of {samples.name} are all of one")
    first, second = numbers[np.argsort(-counts, kind="stable")[:2]]
    members = rng.permutation(np.flatnonzero(kinds == first))
    repeated = members[: int(share * len(members))]
    labels = samples.targets[rng.choice(np.flatnonzero(kinds == second), len(repeated))]
    windows, drives = (np.concatenate([one, one[repeated]]) for one in (samples.windows, samples.drives))
    targets = np.concatenate([samples.targets, labels])
    return dataclasses.replace(samples, windows=windows, targets=targets, drives=drives)


_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
_ACTIVATION = (nn.ReLU, nn.ELU, nn.SELU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Softsign, nn.LeakyReLU, nn.GELU)
_BIASED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class _Exponential(nn.Module):
    """e to the power of what comes in, as Keras has it."""

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the power."""
        return torch.exp(numbers)


class _HardSigmoid(nn.Module):
    """Keras' piecewise linear sigmoid, 0.2·x + 0.5 between 0 and 1; torch's has another slope."""

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the values."""
        return (0.2 * numbers + 0.5).clamp(0.0, 1.0)


_MADE: dict[str, Callable[[int], nn.Module]] = {
    "elu": lambda _axis: nn.ELU(),
    "selu": lambda _axis: nn.SELU(),
    "softplus": lambda _axis: nn.Softplus(),
    "softsign": lambda _axis: nn.Softsign(),
    "tanh": lambda _axis: nn.Tanh(),
    "sigmoid": lambda _axis: nn.Sigmoid(),
    "hard_sigmoid": lambda _axis: _HardSigmoid(),
    "exponential": lambda _axis: _Exponential(),
    "softmax": lambda axis: nn.Softmax(axis),
}
_FEW = 2  # axes of what a dense layer gives for a batch


def _refusal(operator: str, layer: TracedLayer, chain: Chain) -> str:
    module = layer.module
    if operator in ("ACH", "ARM"):
        return "" if isinstance(module, _ACTIVATION) else f"{layer.kind} is not an activation"
    if operator == "RCD":
        return "" if isinstance(module, _DROPOUTS) else f"{layer.kind} is not a dropout"
    if not isinstance(module, _BIASED):
        return f"{layer.kind} is neither dense nor a convolution"
    if operator == "AAL":
        return f"{layer.name} has an activation already" if chain.leads_to(layer, _ACTIVATION) else ""
    if operator == "WAB" and module.bias is not None:
        return f"{layer.name} has a bias already"
    if operator == "WRB" and module.bias is None:
        return f"{layer.name} has no bias"
    return ""


def change_network(module: nn.Module, example: torch.Tensor, mutation: TrainingMutation) -> bool:
    """Put a fault into a network that is not yet trained, in place.

    Returns:
        Whether it still has the layers of its variant.

    Raises:
        InputError: The fault cannot be put there.
    """
    assert mutation.layer is not None
    chain = Chain(module.eval(), example)
    layer = chain.layer(mutation.layer)
    if refused := _refusal(mutation.operator, layer, chain):
        raise InputError(f"{mutation.name} cannot be done: {refused}")
    target: Any = layer.module
    # Channels and dense neurons are along the second axis; after a sequence they are along the last.
    axis = 1 if len(layer.after) != _FEW + 1 else 2
    if mutation.operator in ("ACH", "ARM"):
        new = nn.Identity() if mutation.choice is None else _MADE[mutation.choice](axis)
        module.set_submodule(layer.name, new)
    elif mutation.operator == "AAL":
        module.set_submodule(layer.name, nn.Sequential(target, _MADE[mutation.choice or ""](axis)))
    elif mutation.operator == "RCD":
        target.p = float(mutation.choice or 0)
    elif mutation.operator == "WCI":
        _initialise(target, mutation.choice or "", mutation.seed)
    else:
        target.bias = nn.Parameter(torch.zeros(len(target.weight))) if mutation.operator == "WAB" else None
    return mutation.operator in ("RCD", "WCI")


def layers_for(operator: str, module: nn.Module, example: torch.Tensor) -> list[str]:
    """Return the layers into which a fault of an operator can be put, in the order in which they run."""
    chain = Chain(module.eval(), example)
    if operator == "RAW":
        return [one.name for one in chain.layers if isinstance(one.module, WEIGHTED)]
    return [one.name for one in chain.layers if not _refusal(operator, one, chain)]


def _initialise(layer: nn.Linear | nn.Conv2d, name: str, seed: int) -> None:
    """Draw the first weights of a layer as Keras' initialiser of this name does; biases stay."""
    weight = layer.weight
    fan_in = weight[0].numel()
    fan_out = len(weight) * weight[0, 0].numel()
    scale, _, shape = name.partition("_")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        if name in ("zeros", "ones", "constant"):
            weight.fill_(1.0 if name == "ones" else 0.0)  # Keras' constant is 0 unless it is told another
        elif name == "random_normal":
            weight.normal_(0.0, 0.05)
        elif name == "random_uniform":
            weight.uniform_(-0.05, 0.05)
        elif name == "truncated_normal":
            nn.init.trunc_normal_(weight, 0.0, 0.05, -0.1, 0.1)
        elif name == "orthogonal":
            nn.init.orthogonal_(weight)
        else:
            variance = {"he": 2 / fan_in, "lecun": 1 / fan_in, "glorot": 2 / (fan_in + fan_out)}[scale]
            if shape == "uniform":
                weight.uniform_(-((3 * variance) ** 0.5), (3 * variance) ** 0.5)
            else:
                weight.normal_(0.0, variance**0.5)


_STRENGTH = 0.01  # Keras' own, for l1 and l2
_TINY = 1e-7
_CLIP = 0.5
_OPTIMISERS = {
    kind.__name__.lower(): kind
    for kind in (optim.SGD, optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.Adamax, optim.NAdam)
}


@dataclass(frozen=True)
class FaultyTask(TrainingTask):
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


_LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mean_absolute_error": lambda answer, truth: (answer - truth).abs(),
    "mean_absolute_percentage_error": lambda answer, truth: (
        100 * (answer - truth).abs() / truth.abs().clamp(min=_TINY)
    ),
    "mean_squared_logarithmic_error": lambda answer, truth: (_logarithm(answer) - _logarithm(truth)).square(),
    "logcosh": lambda answer, truth: (x := answer - truth) + nn.functional.softplus(-2 * x) - math.log(2),
    "huber": lambda answer, truth: nn.functional.huber_loss(answer, truth, reduction="none"),
    "hinge": lambda answer, truth: (1 - answer * truth).clamp(min=0),
    "squared_hinge": lambda answer, truth: (1 - answer * truth).clamp(min=0).square(),
}


def optimizer_named(name: str) -> Callable[[Iterable[nn.Parameter], Settings], torch.optim.Optimizer]:
    """Return what makes an optimiser, for `roadworthy.training.fit`; the learning rate is kept."""
    kind: Any = _OPTIMISERS[name]
    return lambda parameters, settings: kind(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay
    )


def clipped(how: str) -> Callable[[Iterable[nn.Parameter], Settings], torch.optim.Optimizer]:
    """Return what makes Adam with gradients that are clipped to 0.5, by their norm or each by itself."""

    def made(parameters: Iterable[nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
        kept = list(parameters)
        adam = torch.optim.Adam(kept, lr=settings.learning_rate, weight_decay=settings.weight_decay)
        clip: Any = nn.utils.clip_grad_norm_ if how == "norm" else nn.utils.clip_grad_value_

        def clip_gradients(*_: object) -> None:
            clip(kept, _CLIP)

        adam.register_step_pre_hook(clip_gradients)
        return adam

    return made
