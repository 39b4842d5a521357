"""The operators that change a trained network: its weights (GF, WS, NEB, NAI, NS) and layers (LR, LA, LD)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from roadworthy.training.mutants._chain import (
    CONVOLUTIONS,
    DROPOUTS,
    NORMS,
    RECURRENT,
    WEIGHTED,
    Chain,
    RefusedError,
    TracedLayer,
)
from roadworthy.training.mutants.mutating import Mutation

_TWICE_IS_ONCE = (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.Identity, nn.Flatten, *DROPOUTS)
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


def check_layer(operator: str, layer: TracedLayer, chain: Chain) -> None:
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
    if operator == "LA" and isinstance(layer.module, DROPOUTS):
        raise RefusedError("after it is the same as before it: name the layer before it")


def _check_duplicate(layer: TracedLayer) -> None:
    module = layer.module
    if layer.before == layer.after or isinstance(module, (nn.Flatten, *_POOLS)):
        return
    if isinstance(module, CONVOLUTIONS):
        if module.in_channels != module.out_channels:
            raise RefusedError(f"it turns {module.in_channels} channels into {module.out_channels}")
        if set(module.stride) != {1}:
            raise RefusedError("its stride makes what comes out smaller")
        return
    raise RefusedError(f"it turns {_shape(layer.before)} into {_shape(layer.after)}, which it cannot take")


def same_by_proof(operator: str, layer: TracedLayer) -> str:
    """Return why a mutant answers exactly as the original does; nothing where that is not known."""
    if operator == "LR" and isinstance(layer.module, (*DROPOUTS, nn.Identity)):
        return f"{layer.kind} does nothing in evaluation mode"
    if operator == "LD" and isinstance(layer.module, _TWICE_IS_ONCE):
        return f"{layer.kind} twice is {layer.kind} once"
    return ""


def shape_note(operator: str, layer: TracedLayer) -> str:
    """Return how the copy of a duplicated layer keeps the shape, where the layer itself does not."""
    if operator != "LD" or layer.before == layer.after:
        return ""
    if isinstance(layer.module, CONVOLUTIONS):
        return "the copy is padded, so that the shape is kept"
    if isinstance(layer.module, _POOLS):
        return "the copy moves by one and is padded, so that the shape is kept"
    return ""


def change_layer(mutation: Mutation, layer: TracedLayer, module: nn.Module, rng: np.random.Generator) -> None:
    """Change one layer of a module in place."""
    if mutation.operator == "LR":
        new: nn.Module = nn.Identity()
    elif mutation.operator == "LA":
        new = nn.Sequential(layer.module, _added(mutation, layer, rng))
    else:
        new = nn.Sequential(layer.module, _duplicate(layer))
    module.set_submodule(layer.name, new.eval())


def _added(mutation: Mutation, layer: TracedLayer, rng: np.random.Generator) -> nn.Module:
    assert mutation.added is not None
    if mutation.added in _ADDED:
        return _ADDED[mutation.added]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        if len(layer.after) == _PICTURE:
            return nn.Conv2d(layer.after[1], layer.after[1], _KERNEL, padding=_KERNEL // 2)
        return nn.Linear(layer.after[-1], layer.after[-1])


def _duplicate(layer: TracedLayer) -> nn.Module:
    own = copy.deepcopy(layer.module)
    if layer.before == layer.after:
        return own
    if isinstance(own, CONVOLUTIONS):
        own.padding = "same"
        # torch pads as it was told when the layer was made, where the mode is not zeros.
        own._reversed_padding_repeated_twice = _around(own.dilation, own.kernel_size)
        return own
    if isinstance(own, _POOLS):
        axes = len(layer.after) - 2
        sizes, steps = (_several(one, axes) for one in (own.kernel_size, own.dilation))
        own.stride, own.padding = cast(Any, 1), cast(Any, 0)
        pad: Any = {1: nn.ConstantPad1d, 2: nn.ConstantPad2d, 3: nn.ConstantPad3d}[axes]
        # The largest of what is there, and never the padding.
        return nn.Sequential(pad(tuple(_around(steps, sizes)), float("-inf")), own)
    return own


def _around(steps: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return the padding on both sides of each axis, the last axis first, that keeps the shape."""
    total = [step * (size - 1) for step, size in zip(steps, sizes, strict=True)]
    return [side for length in reversed(total) for side in (length // 2, length - length // 2)]


def _several(value: Any, count: int) -> list[int]:
    return [int(one) for one in value] if isinstance(value, tuple) else [int(value)] * count


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape[1:])) or "nothing"


Chosen = dict[str, list[int]]
"""The numbers of the changed weights (GF) or neurons of each layer."""

_GATES = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}
_CANDIDATE = {nn.LSTM: 2, nn.GRU: 2, nn.RNN: 0}  # the gate that proposes what a recurrent neuron gives


def check_weights(operator: str, layer: TracedLayer, chain: Chain) -> None:
    """Make sure that an operator can change a layer.

    Raises:
        RefusedError: It cannot.
    """
    module = layer.module
    if not isinstance(module, WEIGHTED):
        raise RefusedError("it has no neurons with weights")
    if layer.name in chain.repeated:
        raise RefusedError("it runs several times, and a mutant of it would change all")
    if any(id(one) in chain.shared for one in module.parameters()):
        raise RefusedError("it shares weights with another layer, which would change too")
    if isinstance(module, RECURRENT) and (
        module.num_layers > 1 or module.bidirectional or bool(module.proj_size)
    ):
        raise RefusedError("it has several layers, directions or a projection inside")
    if operator == "GF" and not _spread(layer) > 0:
        raise RefusedError("its weights are all equal and have no spread")
    if operator == "NEB":
        chain.follower(layer)
    if operator == "NAI" and chain.leads_to(layer, NORMS):
        raise RefusedError("its batch normalisation, and not it, gives what goes into the activation")
    if operator == "NS" and _neurons(layer) < 2:
        raise RefusedError("it has a single neuron")


@dataclass(frozen=True)
class _WeightChange:
    """What some of the weights or neurons of a layer are changed by."""

    mutation: Mutation
    layer: TracedLayer
    chain: Chain
    chosen: NDArray[Any]
    rng: np.random.Generator


def change_weights(
    mutation: Mutation, layers: Sequence[TracedLayer], chain: Chain, rng: np.random.Generator
) -> Chosen:
    """Change some of the weights of layers in place, and return which.

    The share of the mutation is taken of the weights or neurons of all the layers together, and is at least
    one. NS gives a partner in the same layer to a neuron that was drawn alone there.
    """
    assert mutation.ratio is not None
    sizes = [_count(layer) if mutation.operator == "GF" else _neurons(layer) for layer in layers]
    drawn = np.sort(rng.choice(sum(sizes), max(1, round(mutation.ratio * sum(sizes))), replace=False))
    starts = np.cumsum([0, *sizes])
    found: Chosen = {}
    with torch.no_grad():
        for layer, start, end in zip(layers, starts[:-1], starts[1:], strict=True):
            chosen = drawn[(drawn >= start) & (drawn < end)] - start
            if mutation.operator == "NS" and len(chosen) == 1:
                others = np.setdiff1d(np.arange(end - start), chosen)
                chosen = np.sort(np.append(chosen, rng.choice(others)))
            if len(chosen):
                _CHANGES[mutation.operator](_WeightChange(mutation, layer, chain, chosen, rng))
                found[layer.name] = [int(one) for one in chosen]
    return found


def _weights(layer: TracedLayer, kinds: Sequence[str] = ("weight",)) -> list[nn.Parameter]:
    ends = ("_ih_l0", "_hh_l0") if isinstance(layer.module, RECURRENT) else ("",)
    found = (getattr(layer.module, kind + end, None) for kind in kinds for end in ends)
    return [one for one in found if one is not None]


def _neurons(layer: TracedLayer) -> int:
    module = layer.module
    return module.hidden_size if isinstance(module, RECURRENT) else len(_weights(layer)[0])


def _rows(layer: TracedLayer, neuron: int) -> list[int]:
    """Return the rows of a layer's weights and biases that belong to a neuron: one for each of its gates."""
    return [gate * _neurons(layer) + neuron for gate in range(_GATES.get(type(layer.module), 1))]


def _count(layer: TracedLayer) -> int:
    return sum(one.numel() for one in _weights(layer))


def _spread(layer: TracedLayer) -> float:
    return float(torch.cat([one.detach().flatten() for one in _weights(layer)]).std(correction=0))


def _fuzz(change: _WeightChange) -> None:
    noise = change.rng.normal(0.0, change.mutation.sigma * _spread(change.layer), len(change.chosen))
    start = 0
    for weight in _weights(change.layer):
        here = (change.chosen >= start) & (change.chosen < start + weight.numel())
        places, added = (torch.from_numpy(array[here]) for array in (change.chosen - start, noise))
        weight.view(-1)[places] += added.to(weight)
        start += weight.numel()


def _shuffle(change: _WeightChange) -> None:
    for neuron in change.chosen.tolist():
        for weight in _weights(change.layer):
            for row in _rows(change.layer, neuron):
                flat = weight[row].reshape(-1)
                shuffled = flat[torch.from_numpy(change.rng.permutation(len(flat)))]
                if torch.equal(shuffled, flat):
                    # Chance may put all back into place, and then nothing would be changed.
                    shuffled = flat.roll(1)
                weight[row] = shuffled.reshape(weight[row].shape)


def _block(change: _WeightChange) -> None:
    after, behind = change.chain.follower(change.layer)
    weight = _weights(after)[0]
    inputs = np.flatnonzero(np.isin(behind.numpy(), change.chosen))
    rows, columns = len(weight) // getattr(after.module, "groups", 1), weight.shape[1]
    for one in inputs.tolist():
        group, column = divmod(one, columns)
        weight[group * rows : (group + 1) * rows, column] = 0


def _invert(change: _WeightChange) -> None:
    gate = _CANDIDATE.get(type(change.layer.module), 0)
    for neuron in change.chosen.tolist():
        row = _rows(change.layer, neuron)[gate]
        for one in _weights(change.layer, ("weight", "bias")):
            one[row] = -one[row]


def _switch(change: _WeightChange) -> None:
    # Each takes the place of the next in a circle of random order, so that none stays where it was.
    circle = change.rng.permutation(change.chosen)
    for one in _weights(change.layer, ("weight", "bias")):
        before = one.clone()
        for neuron, other in zip(circle.tolist(), np.roll(circle, 1).tolist(), strict=True):
            one[_rows(change.layer, neuron)] = before[_rows(change.layer, other)]


_CHANGES: Mapping[str, Callable[[_WeightChange], None]] = {
    "GF": _fuzz,
    "WS": _shuffle,
    "NEB": _block,
    "NAI": _invert,
    "NS": _switch,
}
