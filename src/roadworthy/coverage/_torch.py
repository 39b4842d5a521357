"""ONNX graphs of networks of the zoo with the dropout layers that exporters leave out.

A dropout layer lets everything through when a network is used, so an ONNX file does without it. Where such
layers count, the network is exported once more from its own weights, with every dropout layer as a node.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.overrides import TorchFunctionMode

from roadworthy.coverage import activations
from roadworthy.coverage.activations import NAMES, Counting, Operation, not_counted
from roadworthy.errors import InputError
from roadworthy.models.network import named_tensors
from roadworthy.models.outputs import Arrays
from roadworthy.models.zoo.saved import write_onnx

DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
"""The layers of torch that count as dropout."""


class _Through(torch.autograd.Function):
    """Does nothing, and is a dropout node in ONNX."""

    @staticmethod
    def forward(_context: Any, given: torch.Tensor) -> torch.Tensor:
        return given.clone()

    @staticmethod
    def symbolic(graph: Any, given: Any) -> Any:
        return graph.op("Dropout", given).setType(given.type())


class _Kept(nn.Module):
    """Stands where a dropout layer was; notes its calls in order, as the nodes of the graph are."""

    def __init__(self, name: str, calls: list[str]) -> None:
        super().__init__()
        self.name = name
        self.calls = calls

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        self.calls.append(self.name)
        return _Through.apply(given)  # type: ignore[no-any-return, no-untyped-call]


def graph_with_dropout(module: nn.Module, shape: tuple[int, ...]) -> Any:
    """Return a module as an ONNX model whose dropout layers are nodes with the names of the layers.

    Args:
        module: The network, in evaluation mode.
        shape: Of one image as it takes it, without the axis of the batch.
    """
    import onnx

    changed = copy.deepcopy(module)
    calls: list[str] = []
    for name, layer in list(changed.named_modules()):
        if isinstance(layer, DROPOUT):
            changed.set_submodule(name, _Kept(name, calls))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        calls.clear()
        write_onnx(changed, torch.zeros(2, *shape).numpy(), file)
        model = onnx.load(file)
    nodes = [node for node in model.graph.node if node.op_type == "Dropout"]
    for node, name in zip(nodes, calls, strict=True):
        node.name = name
    return model


_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_RECURRENT = (nn.LSTM, nn.GRU, nn.RNN)
_CELLS = (nn.LSTMCell, nn.GRUCell, nn.RNNCell)
# The names of functions, with and without "_" for those that work in place.
_ACTIVATIONS = NAMES["torch activations"]
_TRANSPARENT = {"batch_norm", "instance_norm", "dropout", "dropout2d", "dropout3d", "alpha_dropout"}


class TorchRecorder:
    """Runs a torch module and tells what its neurons answered.

    Args:
        module: The module.
        counting: Which outputs count as neurons.
        device: Where the images are sent; where the module is when left out.
        axes: Of its input, a letter each, such as "nchw".

    Raises:
        InputError: The module is a TorchScript archive, whose layers cannot be watched.
    """

    def __init__(
        self, module: nn.Module, counting: Counting, *, device: str | None = None, axes: str = "nchw"
    ) -> None:
        if isinstance(module, torch.jit.ScriptModule):
            raise InputError(
                "the layers of TorchScript cannot be watched: give the torch module it was made from, or "
                "export it to ONNX"
            )
        self.module = module
        self.counting = counting
        self.axes = axes
        own = next(module.parameters(), None)
        self._device = device or ("cpu" if own is None else own.device)
        self._assembler = activations.Assembler(counting)

    def run(self, images: NDArray[Any], frames: Sequence[str] = ()) -> tuple[Arrays, activations.Activations]:
        """Return the network's outputs for a batch of images, and the activations.

        Raises:
            InputError: The network has no layers to count, or other neurons than before.
            SystemUnderTestError: A neuron answered with NaN or infinity.
        """
        # A network does the same with every batch: it is enough to look once at what else it computes.
        trace = _Trace() if self._assembler.not_counted is None else None
        watch = _Watch(self.counting, trace)
        training = self.module.training
        self.module.eval()
        try:
            with ExitStack() as stack:
                for name, layer in self.module.named_modules():
                    if (hook := watch.hook(name or type(layer).__name__, layer)) is not None:
                        stack.callback(layer.register_forward_pre_hook(watch.enter).remove)
                        stack.callback(layer.register_forward_hook(hook).remove)
                stack.enter_context(torch.inference_mode())
                given = torch.from_numpy(images).to(self._device)
                if trace is not None:
                    trace.begin(given)
                stack.enter_context(watch)
                found = self.module(given)
        finally:
            self.module.train(training)
        if trace is not None:
            self._assembler.not_counted = not_counted(trace.operations)
        layers = watch.layers()
        if self.counting.inputs:
            layers.insert(0, activations.input_layer(images, self.axes))
        return named_tensors(found), self._assembler.assemble(layers, len(images), frames)


_Hook = Callable[[nn.Module, Any, Any], None]


class _Call:
    """One call of a layer, with its output as long as an activation function may still follow."""

    def __init__(self, name: str, kind: activations.Kind, output: torch.Tensor) -> None:
        self.name = name
        self.kind = kind
        self.output: torch.Tensor | None = output
        self._channels = output.shape[1] if output.dim() > 1 else 1
        self._found: tuple[torch.Tensor, ...] = ()

    def finish(self) -> None:
        """Reduce the output to a number per unit; it may change from here on."""
        if self.output is None:
            return
        output = self.output.float()
        self.output = None
        flat = output.flatten(1)
        if self.kind == "conv" or (self.kind in ("activation", "dropout") and output.dim() > 2):
            # They may have been flattened on their way to the activation function.
            units = output.reshape(len(output), self._channels, -1).mean(2)[:, None]
        else:
            # A copy: what follows may work in place.
            units = output.reshape(len(output), -1, output.shape[-1]).clone()
        # Two passes: torch's aminmax over an axis is twenty times as slow.
        self._found = (units, flat.amin(1), flat.amax(1))

    def found(self) -> tuple[torch.Tensor, ...]:
        """Return a number per unit, and the extremes."""
        self.finish()
        return self._found


class _Trace:
    """Keeps what a network computes from its input, in order.

    The number of the operation that made a tensor is written on it. A tensor that was there before the pass
    is a constant, such as a weight, and so is what is computed from such alone. One that was made in the pass
    by nothing that was seen comes from code that cannot be watched: TorchScript, or numpy.
    """

    _CONSTANT = -1

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def begin(self, images: torch.Tensor) -> None:
        """Take note of the input."""
        images._made_by = len(self.operations)  # type: ignore[attr-defined]
        self.operations.append(Operation("input", counted=True))

    def add(self, name: str, given: Any, result: Any, *, counted: bool) -> None:
        """Take note of what a function made of what it was given."""
        made = [one for one in _tensors(result) if one.is_inference()]
        if not made:
            return
        parents = tuple(one for one in map(self._place, _tensors(given)) if one != self._CONSTANT)
        for one in made:
            one._made_by = len(self.operations) if parents else self._CONSTANT  # type: ignore[attr-defined]
        if parents:
            self.operations.append(Operation(name, parents, counted))

    def _place(self, given: torch.Tensor) -> int:
        place: int | None = getattr(given, "_made_by", None)
        if place is None and not given.is_inference():
            return self._CONSTANT
        if place is None:
            place = given._made_by = len(self.operations)  # type: ignore[attr-defined]
            self.operations.append(Operation("TorchScript or code outside of torch", hidden=True))
        return place


def _tensors(given: Any) -> list[torch.Tensor]:
    if isinstance(given, torch.Tensor):
        return [given]
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, list | tuple):
        return []
    return [one for part in given for one in _tensors(part)]


class _Watch(TorchFunctionMode):
    """Collects the outputs of layers, and follows each to the activation function after it."""

    def __init__(self, counting: Counting, trace: _Trace | None) -> None:
        super().__init__()
        self.counting = counting
        self._trace = trace
        self._inside = 0  # how many counted layers are running, one in another
        self.calls: list[_Call] = []
        # Outputs that no activation function has taken yet, by identity; the call keeps the tensor alive.
        self._open: dict[int, _Call] = {}

    def enter(self, _layer: nn.Module, _given: Any) -> None:
        """Take note that a counted layer begins; its hook says that it is over."""
        self._inside += 1

    def hook(self, name: str, layer: nn.Module) -> _Hook | None:
        """Return what is to be called with the outputs of a layer; None for one that does not count."""
        if (add := self._adding(name, layer)) is None:
            return None

        def leave(layer: nn.Module, given: Any, output: Any) -> None:
            add(layer, given, output)
            self._inside -= 1

        return leave

    def _adding(self, name: str, layer: nn.Module) -> _Hook | None:
        if isinstance(layer, _CONVOLUTIONS):
            return lambda _layer, _given, output: self._add(name, "conv", output)
        if isinstance(layer, nn.Linear):
            return lambda _layer, _given, output: self._add(name, "dense", output)
        if isinstance(layer, _RECURRENT):
            return lambda watched, given, output: self._add_recurrent(name, watched, given, output)
        if isinstance(layer, _CELLS):
            return lambda _layer, _given, output: self._add(
                name, "recurrent", output[0] if isinstance(output, tuple) else output
            )
        if self.counting.dropout and isinstance(layer, DROPOUT):
            return lambda _layer, _given, output: self._add(name, "dropout", output)
        return None

    def _add(self, name: str, kind: activations.Kind, output: torch.Tensor) -> None:
        call = _Call(name, kind, output)
        self.calls.append(call)
        if kind in ("conv", "dense") and not self.counting.activations:
            self._open[id(output)] = call
        else:
            call.finish()

    def _add_recurrent(self, name: str, layer: Any, given: Any, output: Any) -> None:
        if not isinstance(output[0], torch.Tensor):
            raise InputError(f"layer {name!r} gives packed sequences; coverage needs those of one length")
        outputs = [*_inner_outputs(layer, *given), output[0]]
        for number, steps in enumerate(outputs):
            label = f"{name}.l{number}" if len(outputs) > 1 else name
            self._add(label, "recurrent", steps if layer.batch_first else steps.transpose(0, 1))

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        options = kwargs or {}
        given = args[0] if args else options.get("input")
        name = getattr(func, "__name__", "")
        plain = name.rstrip("_")
        follows = plain in _ACTIVATIONS
        call = self._open.get(id(given)) if isinstance(given, torch.Tensor) else None
        if call is not None and not follows and plain not in _TRANSPARENT and _in_place(name):
            del self._open[id(given)]
            call.finish()
        result = func(*args, **options)
        taken = call is not None and (
            follows or plain in _TRANSPARENT or _flattens(plain, call, given, result)
        )
        if self._trace is not None:
            counted = taken or self._inside > 0 or (follows and self.counting.activations)
            self._trace.add(name, (args, options), result, counted=counted)
        if not isinstance(result, torch.Tensor):
            return result
        if self.counting.activations and follows:
            number = sum(one.kind == "activation" for one in self.calls)
            self._add(f"activation {number}", "activation", result)
        elif call is not None and taken:
            self._open.pop(id(given), None)
            call.output = result
            if follows:
                call.finish()
            else:
                self._open[id(result)] = call
        return result

    def layers(self) -> list[activations.Reduced]:
        """Return what every call of a layer gave."""
        found = [call.found() for call in self.calls]
        arrays = iter(_fetched([one for parts in found for one in parts]))
        return [
            activations.Reduced(call.name, call.kind, *(next(arrays) for _ in parts))
            for call, parts in zip(self.calls, found, strict=True)
        ]


def _fetched(tensors: Sequence[torch.Tensor]) -> list[NDArray[Any]]:
    """Return tensors as arrays; from a GPU in one go, because every fetch waits for it."""
    if not tensors or tensors[0].device.type == "cpu":
        return [one.numpy() for one in tensors]
    flat = torch.cat([one.reshape(-1) for one in tensors]).cpu().numpy()
    parts = np.split(flat, np.cumsum([one.numel() for one in tensors])[:-1])
    return [part.reshape(one.shape) for part, one in zip(parts, tensors, strict=True)]


def _inner_outputs(layer: Any, steps: torch.Tensor, state: Any = None) -> list[torch.Tensor]:
    """Return what the recurrent layers below the last one gave, which torch computes and throws away."""
    found = []
    ways = 2 if layer.bidirectional else 1
    for number in range(layer.num_layers - 1):
        options = {"nonlinearity": layer.nonlinearity} if isinstance(layer, nn.RNN) else {}
        if layer.proj_size:
            options["proj_size"] = layer.proj_size
        options |= {name: getattr(layer, name) for name in ("bias", "batch_first", "bidirectional")}
        one: Any = type(layer)(steps.shape[-1], layer.hidden_size, device="meta", **options)
        weights = {
            name: getattr(layer, name.replace("_l0", f"_l{number}")) for name, _ in one.named_parameters()
        }
        own = slice(number * ways, (number + 1) * ways)
        before = tuple(part[own] for part in state) if isinstance(state, tuple) else state
        if isinstance(before, torch.Tensor):
            before = before[own]
        steps = torch.func.functional_call(one, weights, (steps, before))[0]
        found.append(steps)
    return found


def _flattens(name: str, call: _Call, given: Any, result: Any) -> bool:
    """Return whether a function makes a row of the feature maps of each image."""
    return name == "flatten" and call.kind == "conv" and result.dim() == 2 and len(result) == len(given)


def _in_place(name: str) -> bool:
    return (name.endswith("_") and not name.endswith("__")) or (
        name.startswith("__i") and name.endswith("__")
    )
