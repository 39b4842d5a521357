"""Faults in a network before it is trained: ACH, ARM, AAL, RCD, WCI, WAB and WRB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from roadworthy.driving.mutants._chain import WEIGHTED, Chain, Layer
from roadworthy.driving.mutants.training.operators import TrainingMutation
from roadworthy.errors import InputError

__all__ = ["change_network", "network_refusal"]

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


def network_refusal(mutation: TrainingMutation, chain: Chain) -> str:
    """Return why a fault cannot be put into a network; nothing where it can."""
    assert mutation.layer is not None
    layer = chain.layer(mutation.layer)
    return _refusal(mutation.operator, layer, chain)


def _refusal(operator: str, layer: Layer, chain: Chain) -> str:
    module = layer.module
    if operator in ("ACH", "ARM"):
        return "" if isinstance(module, _ACTIVATION) else f"{layer.kind} is no activation"
    if operator == "RCD":
        return "" if isinstance(module, _DROPOUTS) else f"{layer.kind} is no dropout"
    if not isinstance(module, _BIASED):
        return f"{layer.kind} is neither dense nor a convolution"
    if operator == "AAL":
        return f"{layer.name} has an activation already" if _activated(layer, chain) else ""
    if operator == "WAB" and module.bias is not None:
        return f"{layer.name} has a bias already"
    if operator == "WRB" and module.bias is None:
        return f"{layer.name} has no bias"
    return ""


def _activated(layer: Layer, chain: Chain) -> bool:
    users = list(layer.node.users)
    return (
        len(users) == 1
        and users[0].op == "call_module"
        and isinstance(chain.layer(str(users[0].target)).module, _ACTIVATION)
    )


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
    if refused := network_refusal(mutation, chain):
        raise InputError(f"{mutation.name} cannot be done: {refused}")
    target: Any = layer.module
    # Channels and dense neurons are along the second axis; after a sequence they are along the last.
    axis = 1 if len(layer.after) != _FEW + 1 else 2
    if mutation.operator in ("ACH", "ARM"):
        new = nn.Identity() if mutation.choice is None else _MADE[mutation.choice](axis)
        _put(module, layer.name, new)
        return False
    if mutation.operator == "AAL":
        _put(module, layer.name, nn.Sequential(target, _MADE[mutation.choice or ""](axis)))
        return False
    if mutation.operator == "RCD":
        target.p = float(mutation.choice or 0)
    elif mutation.operator == "WCI":
        _initialise(target, mutation.choice or "", mutation.seed)
    elif mutation.operator == "WRB":
        target.bias = None
        return False
    else:
        target.bias = nn.Parameter(torch.zeros(len(target.weight)))
        return False
    return True


def layers_for(operator: str, module: nn.Module, example: torch.Tensor) -> list[str]:
    """Return the layers into which a fault of an operator can be put, in the order in which they run."""
    chain = Chain(module.eval(), example)
    if operator == "RAW":
        return [one.name for one in chain.layers if isinstance(one.module, WEIGHTED)]
    return [one.name for one in chain.layers if not _refusal(operator, one, chain)]


def _put(module: nn.Module, name: str, new: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(module.get_submodule(parent), own, new)


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
