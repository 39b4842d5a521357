"""The layers of a torch module in the order in which they run, and what the operators change of them."""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx, nn

from roadworthy.errors import InputError, check_known
from roadworthy.training.mutants.operators import Mutation

RECURRENT = (nn.LSTM, nn.GRU, nn.RNN)
WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, *RECURRENT)
"""Layers with neurons: dense ones, convolutions, whose channels count as neurons, and recurrent ones."""

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_ACTIVATIONS = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Tanh,
    nn.Sigmoid, nn.Softplus, nn.Softsign, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Tanhshrink,
    nn.Softshrink, nn.Hardshrink, nn.LogSigmoid, nn.Threshold,
)  # fmt: skip
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_ELEMENTWISE = (*_ACTIVATIONS, *DROPOUTS, *NORMS, nn.Identity)
_MAX_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
_POOLS = (*_MAX_POOLS, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
_SPATIAL = (
    *_POOLS,
    *(getattr(nn, f"Adaptive{kind}Pool{n}d") for kind in ("Avg", "Max") for n in (1, 2, 3)),
    *(getattr(nn, f"{kind}Pad{n}d") for kind in ("Zero", "Constant", "Reflection") for n in (1, 2, 3)),
    *(getattr(nn, f"ReplicationPad{n}d") for n in (1, 2, 3)),
)
_F = nn.functional
_ELEMENTWISE_CALLS = {
    torch.relu, torch.tanh, torch.sigmoid, _F.relu, _F.relu6, _F.leaky_relu, _F.elu, _F.selu, _F.gelu,
    _F.silu, _F.tanh, _F.sigmoid, _F.softplus, _F.softsign, _F.dropout,
    "relu", "tanh", "sigmoid", "contiguous", "float",
}  # fmt: skip
_RESHAPING_CALLS = {
    torch.flatten, torch.reshape, torch.squeeze, torch.unsqueeze, torch.permute,
    "reshape", "view", "flatten", "squeeze", "unsqueeze", "permute", "transpose",
}  # fmt: skip


class RefusedError(Exception):
    """Why an operator cannot change a layer."""


@dataclass(frozen=True, eq=False)
class TracedLayer:
    """A layer of a network.

    Attributes:
        name: Its name in the module.
        module: The layer itself.
        node: Where it is in the graph.
        before: The shape of what comes in, with the batch.
        after: The shape of what goes out; empty where that is not one tensor.
    """

    name: str
    module: nn.Module
    node: fx.Node
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def kind(self) -> str:
        """What it is, such as "Conv2d"."""
        return type(self.module).__name__


class _Recorder(fx.Interpreter):
    """Runs a graph and remembers what every node gave."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        found = self.values[n] = super().run_node(n)
        return found


class Chain:
    """The layers of a module, found by following a batch through it.

    Args:
        module: The module, in evaluation mode.
        example: A batch as it takes it; only its shape matters.

    Raises:
        InputError: The module cannot be followed: what it does depends on the numbers, for instance.
    """

    def __init__(self, module: nn.Module, example: torch.Tensor) -> None:
        try:
            traced = fx.symbolic_trace(module)
            traced.graph.eliminate_dead_code()
            recorder = _Recorder(traced)
            with torch.no_grad():
                self.answer: Any = recorder.run(example)
        except Exception as error:
            # Tracing and running raise whatever the module's code comes to.
            raise InputError(
                f"{type(module).__name__} cannot be mutated: its layers cannot be followed "
                f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason'}); "
                "its forward must neither branch on numbers nor loop over them"
            ) from error
        self._values = recorder.values
        calls = [node for node in traced.graph.nodes if node.op == "call_module"]
        times = Counter(str(node.target) for node in calls)
        self.repeated = {name for name, count in times.items() if count > 1}
        first = {str(node.target): node for node in reversed(calls)}
        self.layers = [
            TracedLayer(name, module.get_submodule(name), one, self._shape(one.args[0]), self._shape(one))
            for name, one in ((name, first[name]) for name in times)
        ]

        owners = Counter(id(weight) for one in self.layers for weight in one.module.parameters())
        self.shared = {weight for weight, count in owners.items() if count > 1}

    def layer(self, name: str) -> TracedLayer:
        """Return the layer of this name.

        Raises:
            InputError: There is none, or it runs several times.
        """
        if name in self.repeated:
            raise InputError(f"layer {name!r} runs several times, and a mutant of it would change all")
        known = {one.name: one for one in self.layers}
        check_known("there is no layer", name, known)
        return known[name]

    @property
    def last(self) -> str:
        """The name of the last layer with neurons: they are the answers of the network."""
        found = [one.name for one in self.layers if isinstance(one.module, WEIGHTED)]
        return found[-1] if found else ""

    def follower(self, layer: TracedLayer) -> tuple[TracedLayer, torch.Tensor]:
        """Return the next layer with neurons, and for each of its inputs the neuron of `layer` behind it.

        Raises:
            RefusedError: There is none, or what is between them is not understood.
        """
        node, labels = layer.node, self._labels(layer)
        while True:
            users = list(node.users)
            if len(users) != 1:
                raise RefusedError(f"what it gives goes to {len(users)} places")
            node = users[0]
            if node.op == "output":
                raise RefusedError("no layer with weights comes after it")
            if node.op == "call_module":
                name = str(node.target)
                if name in self.repeated:
                    raise RefusedError(f"{name}, which comes after it, runs several times")
                found = self.layer(name)
                if isinstance(found.module, WEIGHTED):
                    return found, _columns(labels, found)
            labels = self._passed(node, labels)

    def _labels(self, layer: TracedLayer) -> torch.Tensor:
        """Return what a layer gives, with the number of the neuron instead of its value."""
        value = self._values[layer.node]
        recurrent = isinstance(layer.module, RECURRENT)
        shape = tuple((value[0] if recurrent else value).shape)
        return _labelled(shape, len(shape) - 1 if recurrent or isinstance(layer.module, nn.Linear) else 1)

    def _passed(self, node: fx.Node, labels: torch.Tensor) -> torch.Tensor:
        """Return the numbers of the neurons after something that mixes none of them.

        Raises:
            RefusedError: It may mix them.
        """
        if node.op == "call_module":
            layer = self.layer(str(node.target)).module
            if isinstance(layer, _ELEMENTWISE):
                return labels
            if isinstance(layer, nn.Flatten | nn.Unflatten):
                return cast(torch.Tensor, layer(labels))
            if isinstance(layer, _SPATIAL):
                if not torch.equal(labels, _labelled(tuple(labels.shape), 1)):
                    raise RefusedError(f"{node.target} mixes neurons")
                return _labelled(tuple(self._values[node].shape), 1)
        target: Any = None if node.op == "call_module" else node.target
        if target in _ELEMENTWISE_CALLS or (target is operator.getitem and node.args[1] == 0):
            return labels
        if target in _RESHAPING_CALLS:
            call = getattr(torch.Tensor, target) if node.op == "call_method" else target
            rest, keys = fx.map_arg((node.args[1:], dict(node.kwargs)), lambda one: self._values[one])
            return cast(torch.Tensor, call(labels, *rest, **keys))
        raise RefusedError(f"it is not known what {node.name}, which comes after it, does to its neurons")

    def leads_to(self, layer: TracedLayer, kinds: tuple[type[nn.Module], ...]) -> bool:
        """Return whether what a layer gives goes to one place, which is a layer of these kinds."""
        (user, *others) = layer.node.users or [None]
        if user is None or others or user.op != "call_module":
            return False
        # Also where it runs several times: nothing of it is changed.
        return any(one.name == user.target and isinstance(one.module, kinds) for one in self.layers)

    def _shape(self, node: Any) -> tuple[int, ...]:
        value = self._values.get(node) if isinstance(node, fx.Node) else None
        return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _labelled(shape: tuple[int, ...], axis: int) -> torch.Tensor:
    """Return a tensor of this shape that counts along one axis."""
    along = [1] * len(shape)
    along[axis] = shape[axis]
    return torch.arange(shape[axis]).reshape(along).expand(shape).contiguous()


def _columns(labels: torch.Tensor, layer: TracedLayer) -> torch.Tensor:
    """Return the neuron behind each input of a layer.

    Raises:
        RefusedError: An input comes from several neurons, at different places.
    """
    inputs = labels.movedim(1 if isinstance(layer.module, CONVOLUTIONS) else labels.ndim - 1, 0).flatten(1)
    if not bool((inputs == inputs[:, :1]).all()):
        raise RefusedError(f"inputs of {layer.name}, which comes after it, come from several of its neurons")
    return inputs[:, 0]


_TWICE_IS_ONCE = (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.Identity, nn.Flatten, *DROPOUTS)
_ADDED = {kind.__name__.lower(): kind for kind in (nn.Tanh, nn.Softsign, nn.Sigmoid, nn.Softplus, nn.ReLU)}
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
    if layer.before == layer.after or isinstance(module, (nn.Flatten, *_MAX_POOLS)):
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
    if isinstance(layer.module, _MAX_POOLS):
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
    if isinstance(own, _MAX_POOLS):
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
                chosen = np.sort(np.append(chosen, rng.choice(np.setdiff1d(np.arange(end - start), chosen))))
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
