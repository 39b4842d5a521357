"""Faults that coverage must find: in networks whose neurons are known one by one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Requirement, Status
from roadworthy.coverage import Observed
from roadworthy.coverage.criteria.named import parse_criterion
from roadworthy.coverage.measuring import Measuring
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, Network, RegressionOutput, onnx_model
from roadworthy.runs import run
from roadworthy.selftest.faults import SOUND, FaultBench, Frames, Sighting, described, world_frames

_NEURONS = 12
_WIDTH, _HEIGHT = 2 * _NEURONS, 8
_TRIES = 300


def small_network(path: Path, layers: list[tuple[Any, Any]]) -> Network[Any]:
    """Write an ONNX network of dense layers with ReLU between them and open it; it answers with steering.

    Args:
        path: Where to write it.
        layers: Weights (inputs × outputs) and biases; the input is the image in grey, from 0 to 1, flattened.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     weights = np.full((_WIDTH * _HEIGHT, 1), 1 / (_WIDTH * _HEIGHT))
        ...     network = small_network(Path(folder, "mean.onnx"), [(weights, [2.0])])
        ...     white = Frame("white", np.full((_HEIGHT, _WIDTH, 3), 255, np.uint8))
        ...     round(network.predict([white])[0].steering, 3)
        3.0
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("Flatten", ["image"], ["x0"])]
    tensors = []
    value = "x0"
    for number, (weights, biases) in enumerate(layers):
        last = number == len(layers) - 1
        for name, array in ((f"w{number}", weights), (f"b{number}", biases)):
            tensors.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        out = "steering" if last else f"d{number}"
        taken = [value, f"w{number}", f"b{number}"]
        nodes.append(helper.make_node("Gemm", taken, [out], name=f"dense{number}"))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [value := f"x{number + 1}"]))
    shape: list[str | int | None] = ["n", 1, _HEIGHT, _WIDTH]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    steering = helper.make_tensor_value_info("steering", TensorProto.FLOAT, ["n", 1])
    graph = helper.make_graph(nodes, "seeded", [image], [steering], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return onnx_model(path, spec=_spec(), name="seeded", threads=1)


def _spec() -> ModelSpec[Any]:
    taken = ImageInput(_WIDTH, _HEIGHT, color="gray", layout="nchw", dtype="float32", interpolation="area")
    return ModelSpec(RegressionOutput(("steering",)), taken)


def _columns() -> list[Frame]:
    """Return an image for each neuron in which its two columns are white and all else is black."""
    frames = []
    for number in range(_NEURONS):
        image = np.zeros((_HEIGHT, _WIDTH, 3), np.uint8)
        image[:, 2 * number : 2 * number + 2] = 255
        frames.append(Frame(f"column-{number}", image, signals=Signals(steering=0.0)))
    return frames


def _untried(dead: int, path: Path, frames: list[Frame]) -> list[int]:
    """Measure a network whose neurons each look at columns of their own; the first ones are dead."""
    weights = np.zeros((_HEIGHT, _WIDTH, _NEURONS))
    for number in range(_NEURONS):
        weights[:, 2 * number : 2 * number + 2, number] = 1 / (2 * _HEIGHT)
    biases = np.where(np.arange(_NEURONS) < dead, -10.0, 0.0)
    layers = [(weights.reshape(-1, _NEURONS), biases), (np.ones((_NEURONS, 1)), [0.0])]
    measuring = Measuring(Observed(small_network(path, layers)), [parse_criterion("neuron(threshold=0.2)")])
    measuring.add(frames)
    (covered,) = measuring.result.criteria.values()
    return list(covered.rows()[0].untried)


def _dead_neurons(size: float, bench: FaultBench) -> Sighting:
    untried = _untried(int(size), bench.folder / "net.onnx", _columns())
    said = f"{len(untried)} of {_NEURONS} neurons untried: {', '.join(map(str, untried)) or 'none'}"
    return Sighting.of_number(size, untried == list(range(int(size))), said)


def _left_out_images(size: float, bench: FaultBench) -> Sighting:
    left_out = int(size)
    untried = _untried(0, bench.folder / "net.onnx", _columns()[left_out:])
    said = f"{len(untried)} of {_NEURONS} neurons untried"
    return Sighting.of_number(size, untried == list(range(left_out)), said)


def _beyond_training(size: float, bench: FaultBench) -> Sighting:
    """Seed an image on which a neuron answers more than in training, by a share of its range there."""
    count = _HEIGHT * _WIDTH
    network = small_network(bench.folder / "net.onnx", [(np.full((count, 1), 1 / count), [0.0])])
    grey = [Frame(f"g{level}", np.full((_HEIGHT, _WIDTH, 3), level, np.uint8)) for level in (50, 150)]
    brighter = Frame("new", np.full((_HEIGHT, _WIDTH, 3), 150 + round(size), np.uint8))
    measuring = Measuring(Observed(network), [parse_criterion("strong-activation")])
    measuring.learn(lambda: [grey])
    measuring.add([brighter])
    (covered,) = measuring.result.criteria.values()
    return Sighting(covered.covered > 0, f"{covered.covered} of {covered.total} neurons above their range")


def _labelled(bench: FaultBench) -> Frames:
    frames = [frame.replace(signals=Signals(steering=0.0)) for frame in world_frames(6, bench.seed, "96x32")]
    return Frames("town", frames)


def _searched(bench: FaultBench, data: Frames, looks: NDArray[np.float64], above: float) -> Sighting:
    """Search for a failure of a network that is wrong where what it looks for is above a level."""
    layers = [(looks.reshape(-1, 1), [-above]), ([[1000.0]], [0.5])]
    text = "Steering stays right under the changes that a search tries"
    asked = Requirement("C", text, "coverage", {"lambda": 5, "tries": 60 if bench.quick else _TRIES})
    system = Observed(small_network(bench.folder / "net.onnx", layers))
    result = run(CoverageMethod(), asked, data, system, seed=bench.seed)
    return Sighting(result.counts[Status.VIOLATED] > 0, result.outcome.summary.partition("; ")[2])


def _sides() -> NDArray[np.float64]:
    """Return what gives by how much the left half of an image is brighter than the right."""
    looks = np.full((_HEIGHT, _WIDTH), 2 / (_HEIGHT * _WIDTH))
    looks[:, _WIDTH // 2 :] *= -1
    return looks


@lru_cache(maxsize=2)
def _differences(seed: int) -> tuple[float, ...]:
    """Return that of every single change of every frame, the greatest first."""
    images = [frame.image for frame in _labelled(FaultBench(Path(), seed))]
    images += [
        choice.transform.on_image(image, seed)
        for one in parameter_sets(["simple"])
        for choice in one
        for image in tuple(images)
    ]
    taken = _spec().input
    arrays = [taken.tensor([taken.view(Frame("changed", image))]) for image in images]
    found = [float((array.reshape(_HEIGHT, _WIDTH) * _sides()).sum()) for array in arrays]
    return tuple(sorted(found, reverse=True))


def _breaks_under_a_change(size: float, bench: FaultBench) -> Sighting:
    """Seed a network that breaks under exactly so many of all single changes of all frames.

    It is wrong where the left of an image is brighter than the right by more than a level, and the level is
    taken from the changes themselves: those with the greatest differences are above it.
    """
    seen, rank = _differences(bench.seed), int(size)
    above = seen[0] + 10 if size == SOUND else (seen[rank - 1] + seen[rank]) / 2
    return _searched(bench, _labelled(bench), _sides(), above)


def _backdoor(size: float, bench: FaultBench) -> Sighting:
    looks = np.zeros((_HEIGHT, _WIDTH))
    # White beside black beside white: no change of the whole image makes that of a road.
    looks[0, :4] = (1, -1, 1, -1)
    return _searched(bench, _labelled(bench), looks, 100.0 if size == SOUND else 1.5)


_SEEDED = {
    "dead neurons": _dead_neurons,
    "images left out": _left_out_images,
    "beyond training": _beyond_training,
    "breaks under a change": _breaks_under_a_change,
    "backdoor": _backdoor,
}
FAULTS = described("coverage", _SEEDED)
