"""Activation functions in ONNX graphs, also those that are spread over several nodes.

ONNX has no SiLU, Mish, GELU or softsign of its own in the versions that most files have: they are written as
x · sigmoid(x), x · tanh(softplus(x)), x · (1 + erf(x / √2)) / 2, x / (1 + |x|). They are recognised by what
they have in common: a product or quotient of x, or of x times a constant, and something that is computed from
x alone, element by element, through a function that bends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import required
from roadworthy.coverage import activations
from roadworthy.coverage.activations import NAMES, Operation, not_counted
from roadworthy.errors import InputError, told_as
from roadworthy.models.onnx import session_of, wanted_threads
from roadworthy.models.outputs import Arrays

ACTIVATIONS = NAMES["ONNX activations"]
"""Nodes that are an activation function by themselves."""

_BENDING = frozenset({"Erf", "Tanh", "Sigmoid", "Softplus", "HardSigmoid", "Clip", "Abs", "Exp"})
_ELEMENTWISE = _BENDING | {"Add", "Sub", "Mul", "Div", "Neg", "Pow", "Sqrt", "Reciprocal", "Log", "Cast"}
_LINEAR = frozenset({"Mul", "Div", "Cast"})
_MOST = 24  # nodes of one function; the longest, GELU by tanh, has 9


@dataclass(frozen=True)
class _Derived:
    """What a value was computed by, from x alone."""

    operations: frozenset[str]
    linear: bool


def gate_after(
    given: str, nodes: Iterable[Any], readers: Mapping[str, Sequence[Any]], constants: Set[str]
) -> str | None:
    """Return the output of the function of several nodes that is applied to a value; None if there is none.

    Args:
        given: The name of the value.
        nodes: Those of the graph, in order.
        readers: The nodes that read a value, by its name.
        constants: The names of values that never change.
    """
    derived = {given: _Derived(frozenset(), linear=True)}
    found: tuple[str, frozenset[str], bool] | None = None
    for node in nodes:
        if len(derived) > _MOST:
            break
        inputs = [name for name in node.input if name]
        mine = [name for name in inputs if name in derived]
        if (
            not mine
            or node.op_type not in _ELEMENTWISE
            or any(name not in derived and name not in constants for name in inputs)
        ):
            continue
        before = frozenset().union(*(derived[name].operations for name in mine))
        operations = before | {node.op_type}
        linear = node.op_type in _LINEAR and len(mine) == 1 and derived[mine[0]].linear
        derived[str(node.output[0])] = _Derived(operations, linear)
        if node.op_type in ("Mul", "Div") and len(set(mine)) == 2:
            first, second = (derived[name] for name in mine)
            if (first.linear and second.operations & _BENDING) or (
                node.op_type == "Mul" and second.linear and first.operations & _BENDING
            ):
                found = str(node.output[0]), before, given in mine
    if found is None:
        return None
    output, operations, plain = found
    return _halved(output, readers, constants) if plain and _has_factor(operations) else output


def _has_factor(operations: frozenset[str]) -> bool:
    """Return whether a constant factor after the product belongs to the function: GELU's and hard swish's."""
    return ("Tanh" in operations and "Softplus" not in operations) or bool(operations & {"Erf", "Clip"})


def _halved(output: str, readers: Mapping[str, Sequence[Any]], constants: Set[str]) -> str:
    following = readers.get(output, ())
    if len(following) == 1 and following[0].op_type in ("Mul", "Div"):
        others = [name for name in following[0].input if name != output]
        if len(others) == 1 and others[0] in constants:
            return str(following[0].output[0])
    return output


_CONVOLUTIONS = {"Conv", "ConvTranspose"}
_DENSE = {"Gemm", "MatMul"}
_RECURRENT = {"LSTM", "GRU", "RNN"}
_TRANSPARENT = {"BatchNormalization", "InstanceNormalization", "Dropout", "Identity"}
# Nodes that tell something about the form of what they are given, not about its numbers.
_OF_SHAPE = {"Shape", "Size", "ConstantOfShape", "EyeLike", "RandomNormalLike", "RandomUniformLike"}
_WITH_GRAPHS = {"If", "Loop", "Scan", "SequenceMap"}
_PREFIX = "roadworthy_coverage_"
_AXES_ARE_INPUT = 18  # the opset from which reductions take their axes as an input


@dataclass(frozen=True)
class _Tap:
    """Where a layer's output can be read: the names of further outputs of the graph."""

    name: str
    kind: activations.Kind
    outputs: tuple[str, ...]
    batch_first: bool = True


class OnnxRecorder:
    """Runs an ONNX network and tells what its neurons answered.

    Args:
        path: The file.
        counting: Which outputs count as neurons.
        device: Where it runs.
        threads: How many threads it uses; 0 for as many as there are cores.
        axes: Of its input, a letter each, such as "nchw".
        whole: What to run in place of what the file holds: the same network with all its dropout layers.

    Raises:
        InputError: The file is missing or broken; or dropout layers are to be counted, and it has none.
        MissingExtraError: onnx is not installed.
    """

    def __init__(
        self,
        path: Path,
        counting: activations.Counting,
        *,
        device: Literal["cpu", "cuda"] = "cpu",
        threads: int = 0,
        axes: str = "nchw",
        whole: Any = None,
    ) -> None:
        model = read_graph(path) if whole is None else whole
        if whole is None and counting.dropout and not has_dropout(model):
            raise InputError(
                f"{path} has no dropout layers, which exporters leave out: give the torch module, or count "
                "'distinct'; use Counting(dropout=False) if the network never had any"
            )
        self.counting = counting
        self.axes = axes
        self._assembler = activations.Assembler(counting)
        self._names = [str(one.name) for one in model.graph.output]
        tapping = _Tapping(model, counting)
        self._taps = tapping.taps
        self._assembler.not_counted = not_counted(tapping.operations())
        self._path = path
        self._device = device
        self._threads = threads
        self._graph: bytes = model.SerializeToString()
        self._session: Any = self._opened()

    def _opened(self) -> Any:
        with told_as(InputError, f"cannot watch the layers of {self._path}", Exception):
            return session_of(self._graph, self._device, wanted_threads(self._threads))

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: all but the session, which is opened there."""
        return {name: value for name, value in vars(self).items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = self._opened()

    def run(self, images: NDArray[Any], frames: Sequence[str] = ()) -> tuple[Arrays, activations.Activations]:
        """Return the network's outputs for a batch of images, and the activations.

        Raises:
            InputError: The network has no layers to count, or other neurons than before.
            SystemUnderTestError: A neuron answered with NaN or infinity.
        """
        wanted = [*self._names, *(name for tap in self._taps for name in tap.outputs)]
        feed = {self._session.get_inputs()[0].name: images}
        arrays = dict(zip(wanted, self._session.run(wanted, feed), strict=True))
        layers = [_read(tap, arrays) for tap in self._taps]
        if self.counting.inputs:
            layers.insert(0, activations.input_layer(images, self.axes))
        watched = self._assembler.assemble(layers, len(images), frames)
        return {name: arrays[name] for name in self._names}, watched


def _read(tap: _Tap, arrays: Arrays) -> activations.Reduced:
    found = [np.asarray(arrays[name], np.float32) for name in tap.outputs]
    if tap.kind == "recurrent":
        # Steps, directions, batch, units; or batch, steps, directions, units.
        steps = found[0] if tap.batch_first else found[0].transpose(2, 0, 1, 3)
        return activations.reduced(tap.name, tap.kind, steps.reshape(*steps.shape[:2], -1))
    if len(found) == 1:
        return activations.reduced(tap.name, tap.kind, found[0])
    units, lows, highs = found
    return activations.Reduced(tap.name, tap.kind, units[:, None], lows, highs)


def read_graph(path: Path) -> Any:
    """Return what an ONNX file holds.

    Raises:
        InputError: The file is missing or broken.
        MissingExtraError: onnx is not installed.
    """
    onnx = required("onnx", extra="torch", purpose="watch the layers of an ONNX file")
    # protobuf raises classes of its own.
    with told_as(InputError, f"cannot read the ONNX network {path}", Exception):
        model = onnx.load(path)
        if any(isinstance(name, bytes) for node in model.graph.node for name in (*node.input, *node.output)):
            raise ValueError("it has names that are no UTF-8 text")
        return model


def has_dropout(model: Any) -> bool:
    """Return whether an ONNX network has dropout layers."""
    return any(node.op_type == "Dropout" for node in model.graph.node)


class _Tapping:
    """Adds outputs to a graph: one number per unit for every layer that counts."""

    def __init__(self, model: Any, counting: activations.Counting) -> None:
        self.graph = model.graph
        self.counting = counting
        self.taps: list[_Tap] = []
        self._functions = {(one.domain, one.name) for one in model.functions}
        # The outputs of nodes that belong to a layer that counts.
        self._counted: set[str] = set()
        versions = [one.version for one in model.opset_import if one.domain in ("", "ai.onnx")]
        self._axes_are_input = max(versions, default=1) >= _AXES_ARE_INPUT
        self._constants = self._find_constants()
        self._readers: dict[str, list[Any]] = {}
        self._weights_of: dict[str, str] = {}
        self._count = 0
        self._makers = {name: node for node in self.graph.node for name in node.output}
        for node in self.graph.node:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        self._numbers = 0
        self._nodes = list(self.graph.node)
        for node in self._nodes:
            self._tap(node)
        self._tell_stacked_apart()

    def _find_constants(self) -> set[str]:
        found = {one.name for one in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant" or (
                # Weights may be shared, turned or unpacked on their way.
                node.op_type in ("Identity", "Transpose", "Cast", "Reshape", "DequantizeLinear")
                and all(name in found for name in node.input if name)
            ):
                found.update(node.output)
        return found

    def _tap(self, node: Any) -> None:
        kind = node.op_type
        if kind in _RECURRENT:
            self._tap_recurrent(node)
        elif kind in _CONVOLUTIONS:
            self._tap_layer(node, "conv", node.output[0])
        elif kind in _DENSE and node.input[1] in self._constants:
            self._tap_layer(node, "dense", self._biased(node))
        elif kind in ACTIVATIONS and self.counting.activations:
            self._counted.update(node.output)
            self._expose(f"activation {self._numbers}", "activation", node.output[0])
            self._numbers += 1
        elif kind == "Dropout" and self.counting.dropout:
            self._expose(node.name or node.output[0], "dropout", node.output[0])

    def _biased(self, node: Any) -> str:
        """Return the output of a matrix product with the bias that is added to it."""
        output = str(node.output[0])
        readers = self._readers.get(output, [])
        if node.op_type == "MatMul" and len(readers) == 1 and readers[0].op_type == "Add":
            (other,) = [name for name in readers[0].input if name != output] or [output]
            if other in self._constants:
                return str(readers[0].output[0])
        return output

    def _tap_layer(self, node: Any, kind: activations.Kind, output: str) -> None:
        last = output if self.counting.activations else self._activated(output)
        flat = ""
        if last == output and kind == "conv" and not self.counting.activations:
            # Feature maps may be flattened on their way to the activation function.
            for reader in self._readers.get(output, []):
                if reader.op_type == "Flatten" and self._activated(reader.output[0]) != reader.output[0]:
                    last, flat = self._activated(reader.output[0]), output
        self._count_to(last, node)
        self._expose(self._name_of(node), kind, last, flat)

    def _count_to(self, last: str, layer: Any) -> None:
        """Take note that a layer and everything between it and its last output are counted."""
        self._counted.update(layer.output)
        waiting = [last]
        while waiting:
            name = waiting.pop()
            if name in self._makers and name not in self._counted:
                self._counted.update(self._makers[name].output)
                waiting += self._makers[name].input

    def operations(self) -> list[Operation]:
        """Return everything that the network computes from its input."""
        places = {one.name: 0 for one in self.graph.input}
        for one in self.graph.initializer:
            places.pop(one.name, None)
        found = [Operation("input", counted=True)]
        for node in self._nodes:
            parents = tuple(places[name] for name in node.input if name in places)
            hidden = node.op_type in _WITH_GRAPHS or (node.domain, node.op_type) in self._functions
            if (parents or hidden) and node.op_type not in _OF_SHAPE:
                places.update(dict.fromkeys(node.output, len(found)))
                # Rows of a table that the input chooses.
                looked_up = node.op_type == "Gather" and node.input[0] not in places
                name = "Gather of embeddings" if looked_up else node.op_type
                counted = any(one in self._counted for one in node.output)
                found.append(Operation(name, parents, counted, hidden))
        return found

    def _activated(self, output: str) -> str:
        """Return the output of the activation function that directly follows; the one given if none does."""
        last = output
        while True:
            gate = gate_after(last, self._nodes, self._readers, self._constants)
            if gate is not None:
                return gate
            readers = self._readers.get(last, [])
            for reader in readers:
                if reader.op_type in ACTIVATIONS and reader.input[0] == last:
                    return str(reader.output[0])
            through = [one for one in readers if one.op_type in _TRANSPARENT and one.input[0] == last]
            if not through:
                return last
            last = str(through[0].output[0])

    def _name_of(self, node: Any) -> str:
        for name in node.input[1:]:
            if name.endswith(".weight"):
                return str(name.removesuffix(".weight"))
        for reader in self._readers.get(node.output[0], []):
            for name in reader.input:
                if name.endswith(".bias"):
                    return str(name.removesuffix(".bias"))
        # "/layer1/layer1.0/conv1/Conv" is of the layer "layer1.0.conv1".
        path: list[str] = []
        for part in [part for part in node.name.split("/") if part][:-1]:
            if path and part.startswith(f"{path[-1]}."):
                path.pop()
            path.append(part)
        name, weights = ".".join(path) or node.name or str(node.output[0]), str(node.input[1])
        # Stacked recurrent layers are one module; any other name stands for the nodes with its weights.
        if node.op_type not in _RECURRENT and self._weights_of.setdefault(name, weights) != weights:
            return f"{name} ({node.output[0]})"
        return name

    def _tap_recurrent(self, node: Any) -> None:
        if not node.output[0]:
            node.output[0] = self._fresh()
        layout = next((one.i for one in node.attribute if one.name == "layout"), 0)
        output = str(node.output[0])
        self._counted.update(node.output)
        self._add_output(output)
        self.taps.append(_Tap(self._name_of(node), "recurrent", (output,), batch_first=layout == 1))

    def _tell_stacked_apart(self) -> None:
        """Number recurrent layers that lie upon each other, which are one module in torch."""
        names = [tap.name for tap in self.taps if tap.kind == "recurrent"]
        counts: dict[str, int] = {}
        for number, tap in enumerate(self.taps):
            if tap.kind == "recurrent" and names.count(tap.name) > 1:
                level = counts.setdefault(tap.name, 0)
                counts[tap.name] += 1
                self.taps[number] = replace(tap, name=f"{tap.name}.l{level}")

    def _expose(self, name: str, kind: activations.Kind, output: str, shaped_as: str = "") -> None:
        if kind == "dense":
            self._add_output(output)
            self.taps.append(_Tap(name, kind, (output,)))
            return
        from onnx import numpy_helper

        if shaped_as:
            form, whole = self._fresh(), self._fresh()
            self._node("Shape", [shaped_as], form)
            self._node("Reshape", [output, form], whole)
            output = whole
        # As batch × channels × all the rest, whatever the number of axes.
        shape, maps, flat = (self._fresh() for _ in range(3))
        self.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, -1]), shape))
        self._node("Reshape", [output, shape], maps)
        self._node("Flatten", [output], flat, axis=1)
        reductions = (("ReduceMean", maps, 2), ("ReduceMin", flat, 1), ("ReduceMax", flat, 1))
        self.taps.append(_Tap(name, kind, tuple(self._reduce(*one) for one in reductions)))

    def _reduce(self, operation: str, given: str, axis: int) -> str:
        from onnx import numpy_helper

        output = self._fresh()
        if self._axes_are_input:
            axes = self._fresh()
            self.graph.initializer.append(numpy_helper.from_array(np.array([axis]), axes))
            self._node(operation, [given, axes], output, keepdims=0)
        else:
            self._node(operation, [given], output, keepdims=0, axes=[axis])
        self._add_output(output)
        return output

    def _node(self, operation: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self.graph.node.append(helper.make_node(operation, inputs, [output], **attributes))

    def _add_output(self, name: str) -> None:
        from onnx import ValueInfoProto

        if name not in {one.name for one in self.graph.output}:
            # Type and shape are left to ONNX Runtime, which infers them.
            self.graph.output.append(ValueInfoProto(name=name))

    def _fresh(self) -> str:
        self._count += 1
        return f"{_PREFIX}{self._count}"
