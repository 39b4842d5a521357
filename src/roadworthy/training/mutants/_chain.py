"""The layers of a torch module in the order in which they run, and what each neuron is connected to."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx, nn

from roadworthy.errors import InputError

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
_POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
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
        if name not in known:
            raise InputError(f"there is no layer {name!r}; there are {', '.join(known)}")
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
        last = recurrent or isinstance(layer.module, nn.Linear)
        return _spread(shape, len(shape) - 1 if last else 1)

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
                if not torch.equal(labels, _spread(tuple(labels.shape), 1)):
                    raise RefusedError(f"{node.target} mixes neurons")
                return _spread(tuple(self._values[node].shape), 1)
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


def _spread(shape: tuple[int, ...], axis: int) -> torch.Tensor:
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
