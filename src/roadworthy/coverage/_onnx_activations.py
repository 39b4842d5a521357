"""Activation functions in ONNX graphs, also those that are spread over several nodes.

ONNX has no SiLU, Mish, GELU or softsign of its own in the versions that most files have: they are written as
x · sigmoid(x), x · tanh(softplus(x)), x · (1 + erf(x / √2)) / 2, x / (1 + |x|). They are recognised by what
they have in common: a product or quotient of x, or of x times a constant, and something that is computed from
x alone, element by element, through a function that bends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

__all__ = ["ACTIVATIONS", "gate_after"]

ACTIVATIONS = frozenset(
    {
        *("Relu", "Elu", "LeakyRelu", "PRelu", "Selu", "Celu", "Gelu", "Mish", "Softplus", "Sigmoid", "Tanh"),
        *("HardSwish", "HardSigmoid", "Softsign", "Clip", "ThresholdedRelu"),
    }
)
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
            gates = (first.linear and second.operations & _BENDING) or (
                node.op_type == "Mul" and second.linear and first.operations & _BENDING
            )
            if gates:
                found = str(node.output[0]), before, given in mine
    if found is None:
        return None
    output, operations, plain = found
    return _halved(output, readers, constants) if plain and _has_factor(operations) else output


def _has_factor(operations: frozenset[str]) -> bool:
    """Return whether a constant factor after the product belongs to the function: GELU's and hard swish's."""
    tanh = "Tanh" in operations and "Softplus" not in operations
    return tanh or bool(operations & {"Erf", "Clip"})


def _halved(output: str, readers: Mapping[str, Sequence[Any]], constants: Set[str]) -> str:
    following = readers.get(output, ())
    if len(following) == 1 and following[0].op_type in ("Mul", "Div"):
        others = [name for name in following[0].input if name != output]
        if len(others) == 1 and others[0] in constants:
            return str(following[0].output[0])
    return output
