"""Neuron coverage of Epoch at its full size, beside a straightforward implementation, in one run.

The straightforward one does what DeepTest's public code does: for every layer it runs the network up to that
layer, scales the layer's output, and asks every neuron in a loop. It does not rebuild the network for each
layer, as the public code does with Keras, so it is faster than that. Both have the same weights, images and
counting, and must cover as many neurons. The overhead is over plain inference of the same batch by the same
runtime. Runs take turns, and the fastest of each counts, because other work disturbs the rest.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from roadworthy.coverage import Observed, Recorder, recorder
from roadworthy.coverage.criteria import (
    BoundaryCoverage,
    Cells,
    DistanceSurpriseCoverage,
    LikelihoodSurpriseCoverage,
    MultisectionCoverage,
    NeuronCoverage,
    StrongActivationCoverage,
    TopKCoverage,
    TopKPatterns,
    learn_ranges,
    learn_reference,
)
from roadworthy.datasets import load
from roadworthy.models import Network, onnx_model, torch_model
from roadworthy.models.training import export
from roadworthy.models.zoo import architecture

IMAGES = 16
_THRESHOLD = 0.2
_SECONDS = 4.0


class PerLayer:
    """Coverage as the public code computes it: layer by layer, image by image, neuron by neuron."""

    def __init__(self, module: Any, *, whole: bool, threshold: float = _THRESHOLD) -> None:
        self.whole = whole
        self.layers = [*module.features.children(), *module.dense.children()]
        self.threshold = threshold
        self.covered: set[tuple[int, int]] = set()

    def _counted(self) -> list[int]:
        """Return after how many layers of torch each layer of Keras ends; 0 is the input."""
        ends = [0] if self.whole else []
        for number, layer in enumerate(self.layers):
            if isinstance(layer, nn.Conv2d | nn.Linear):
                # In Keras the activation function belongs to the layer.
                fused = number + 1 < len(self.layers) and isinstance(self.layers[number + 1], nn.ReLU)
                ends.append(number + 1 + fused)
            elif self.whole and isinstance(layer, nn.Dropout):
                ends.append(number + 1)
        return ends

    def update(self, images: NDArray[np.float32]) -> None:
        """Add what images cover."""
        for end in self._counted():
            with torch.inference_mode():
                outputs = nn.Sequential(*self.layers[:end])(torch.from_numpy(images)).numpy()
            for output in outputs:
                spread = output.max() - output.min()
                scaled = np.zeros_like(output) if spread == 0 else (output - output.min()) / spread
                for neuron in range(len(scaled)):
                    if np.mean(scaled[neuron]) > self.threshold:
                        self.covered.add((end, neuron))


def fastest(*works: Callable[[], object], seconds: float = _SECONDS) -> list[float]:
    """Return the seconds of the fastest call of each; they take turns, so that all are disturbed alike."""
    for work in works:
        work()
    best = [float("inf")] * len(works)
    end = time.perf_counter() + seconds * len(works)
    while time.perf_counter() < end:
        for number, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def _beside_the_public_code(
    label: str, counting: str, network: Network[Any], module: nn.Module, images: NDArray[np.float32]
) -> None:
    watched = recorder(network, counting)
    ours = NeuronCoverage(watched.run(images)[1].layers, threshold=_THRESHOLD)
    theirs = PerLayer(module, whole=counting == "deeptest")
    for number in range(len(images)):
        _watch(watched, ours, images[number : number + 1])
        theirs.update(images[number : number + 1])
    same = "the same number" if ours.covered == len(theirs.covered) else "ANOTHER NUMBER"
    print(
        f"  {label}, counting {counting!r}: {ours.covered} of {ours.total} neurons covered by {len(images)} "
        f"images; per layer {len(theirs.covered)}, {same}"
    )
    slow, answer_one = fastest(partial(theirs.update, images[:1]), partial(_answer, module, images[:1]))
    for count in (1, len(images)):
        part = images[:count]
        seconds, answer = fastest(
            partial(_watch, watched, ours, part), partial(network.runtime.run, part, ())
        )
        alone = (seconds - answer) / count
        beyond = f"{(slow - answer_one) / alone:6.0f}" if alone > 0 else "beyond measure"
        overhead = 100 * (seconds / answer - 1)
        print(
            f"    batch {count:3}: {1e3 * seconds / count:6.1f} ms an image, per layer {1e3 * slow:6.1f}: "
            f"{slow * count / seconds:5.1f} times as fast; without the answer itself {1e3 * alone:6.2f} and "
            f"{1e3 * (slow - answer_one):6.1f}: {beyond} times; overhead {overhead:+5.1f}%"
        )


def _answer(module: nn.Module, images: NDArray[np.float32]) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = module(torch.from_numpy(images))
    return found


def _watch(watched: Recorder, coverage: NeuronCoverage, images: NDArray[np.float32]) -> None:
    coverage.update(watched.run(images)[1])


def _criteria(network: Network[Any], frames: list[Any]) -> None:
    _, batch = Observed(network).observe(frames)
    ranges, reference = learn_ranges([batch]), learn_reference([batch])
    criteria: list[Cells] = [
        NeuronCoverage(batch.layers),
        MultisectionCoverage(ranges),
        BoundaryCoverage(ranges),
        StrongActivationCoverage(ranges),
        TopKCoverage(batch.layers),
        TopKPatterns(batch.layers),
        LikelihoodSurpriseCoverage(reference),
        DistanceSurpriseCoverage(reference),
    ]
    print(f"\n  {'update alone':20} {'ms an image':>12} {'kB of state':>12}")
    for one in criteria:
        (seconds,) = fastest(partial(one.update, batch), seconds=0.5)
        print(f"  {one.name:20} {1e3 * seconds / len(batch):12.3f} {len(pickle.dumps(one)) / 1e3:12.0f}")


def main() -> None:
    # More threads wait for each other where other work is done.
    torch.set_num_threads(1)
    variant = architecture("epoch").variant(["steering"])
    module = variant.build().eval()
    taken = variant.spec.input
    frames = list(load("world:town", count=IMAGES))
    images = taken.tensor([taken.view(frame) for frame in frames])
    print(f"Coverage of Epoch, {taken.width}×{taken.height}, one thread\n")
    for counting in ("deeptest", "distinct"):
        network = torch_model(module, spec=variant.spec)
        _beside_the_public_code("torch", counting, network, module, images)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "epoch.onnx"
        export(module, variant, file)
        network = onnx_model(file, spec=variant.spec, threads=1)
        _beside_the_public_code("ONNX Runtime", "distinct", network, module, images)
        _criteria(network, frames)
