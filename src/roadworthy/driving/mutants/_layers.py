"""The operators that change layers: LR, LA and LD."""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from roadworthy.driving.mutants._chain import Chain, Layer, RefusedError
from roadworthy.driving.mutants.mutation import Mutation

__all__ = ["change_layer", "check_layer", "same_by_proof", "shape_note"]

_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
_TWICE_IS_ONCE = (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.Identity, nn.Flatten, *_DROPOUTS)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
_ADDED: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "softsign": nn.Softsign,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "relu": nn.ReLU,
}
_PICTURE = 4  # axes of a batch of maps: batch, channels, height, width
_KERNEL = 3


def check_layer(operator: str, layer: Layer, chain: Chain) -> None:
    """Make sure that an operator can change a layer.

    Raises:
        RefusedError: It cannot.
    """
    if layer.name in chain.repeated:
        raise RefusedError("it runs several times, and a mutant of it would change all")
    if not layer.after:
        raise RefusedError("it gives more than one tensor")
    if operator == "LR" and layer.before != layer.after:
        raise RefusedError(
            f"it turns {_shape(layer.before)} into {_shape(layer.after)}, and the next needs that"
        )
    if operator == "LD":
        _check_duplicate(layer)
    if operator == "LA" and isinstance(layer.module, _DROPOUTS):
        raise RefusedError("after it is the same as before it: name the layer before it")


def _check_duplicate(layer: Layer) -> None:
    module = layer.module
    if layer.before == layer.after or isinstance(module, nn.Flatten):
        return
    if isinstance(module, _CONVOLUTIONS):
        if module.in_channels != module.out_channels:
            raise RefusedError(f"it turns {module.in_channels} channels into {module.out_channels}")
        if set(module.stride) != {1}:
            raise RefusedError("its stride makes what comes out smaller")
        return
    if isinstance(module, _POOLS):
        return
    raise RefusedError(f"it turns {_shape(layer.before)} into {_shape(layer.after)}, which it cannot take")


def same_by_proof(operator: str, layer: Layer) -> str:
    """Return why a mutant answers exactly as the original does; nothing where that is not known."""
    if operator == "LR" and isinstance(layer.module, (*_DROPOUTS, nn.Identity)):
        return f"{layer.kind} does nothing in evaluation mode"
    if operator == "LD" and isinstance(layer.module, _TWICE_IS_ONCE):
        return f"{layer.kind} twice is {layer.kind} once"
    return ""


def shape_note(operator: str, layer: Layer) -> str:
    """Return how the copy of a duplicated layer keeps the shape, where the layer itself does not."""
    if operator != "LD" or layer.before == layer.after:
        return ""
    if isinstance(layer.module, _CONVOLUTIONS):
        return "the copy is padded, so that the shape is kept"
    return "the copy moves by one and is padded, so that the shape is kept" if _pooling(layer) else ""


def _pooling(layer: Layer) -> bool:
    return isinstance(layer.module, _POOLS)


def change_layer(mutation: Mutation, layer: Layer, module: nn.Module, rng: np.random.Generator) -> None:
    """Change one layer of a module in place."""
    if mutation.operator == "LR":
        new: nn.Module = nn.Identity()
    elif mutation.operator == "LA":
        new = nn.Sequential(layer.module, _added(mutation, layer, rng))
    else:
        new = nn.Sequential(layer.module, _duplicate(layer))
    parent, _, name = layer.name.rpartition(".")
    setattr(module.get_submodule(parent), name, new.eval())


def _added(mutation: Mutation, layer: Layer, rng: np.random.Generator) -> nn.Module:
    assert mutation.added is not None
    if mutation.added in _ADDED:
        return _ADDED[mutation.added]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        if len(layer.after) == _PICTURE:
            return nn.Conv2d(layer.after[1], layer.after[1], _KERNEL, padding=_KERNEL // 2)
        return nn.Linear(layer.after[-1], layer.after[-1])


def _duplicate(layer: Layer) -> nn.Module:
    own = copy.deepcopy(layer.module)
    if layer.before == layer.after:
        return own
    if isinstance(own, _CONVOLUTIONS):
        own.padding = "same"
        # torch pads as it was told when the layer was made, where the mode is not zeros.
        total = [step * (size - 1) for step, size in zip(own.dilation, own.kernel_size, strict=True)]
        own._reversed_padding_repeated_twice = [
            side for one in reversed(total) for side in (one // 2, one - one // 2)
        ]
        return own
    if isinstance(own, _POOLS):
        axes = len(layer.after) - 2
        sizes = _several(own.kernel_size, axes)
        steps = _several(own.dilation, axes)
        own.stride, own.padding = cast(Any, 1), cast(Any, 0)
        total = [step * (size - 1) for step, size in zip(steps, sizes, strict=True)]
        around = tuple(side for one in reversed(total) for side in (one // 2, one - one // 2))
        pad: Any = {1: nn.ConstantPad1d, 2: nn.ConstantPad2d, 3: nn.ConstantPad3d}[axes]
        # The largest of what is there, and never the padding.
        return nn.Sequential(pad(around, float("-inf")), own)
    return own


def _several(value: Any, count: int) -> list[int]:
    return [int(one) for one in value] if isinstance(value, tuple) else [int(value)] * count


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape[1:])) or "nothing"
