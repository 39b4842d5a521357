"""Neuron coverage of Epoch, beside straightforward implementations, in one run.

The public code of DeepTest (`guided/ncoverage.py`) does this for one image in `update_coverage`: for every
layer but pooling and flattening, dropout layers and the input among them, it builds a new Keras model from
the input to that layer, runs it on the image, scales the output by its least and largest number, and asks
every neuron in a Python loop for the mean of its map, which it notes in a dictionary. Each image that its
guided search tries goes through `is_testcase_increase_coverage`, which does the same, and through
`update_coverage` and `predict` if it raises the coverage. What is measured here:

- *like the public code*: a new network from the input to each layer is traced (torch.fx, which shares the
  weights as Keras does) and run on one image, channels last; then scaling, the loop over neurons, and the
  dictionary.
- *kinder*: the same without building networks anew, and with channels first, where a map lies in one piece.
- *a try of the search*: prediction, whether coverage rises, and the update; ours has all three from one pass.

All have the same weights, images and counting and must cover as many neurons. Keras itself is not measured:
that each of its models gets a new predict function, which cost the public code most of its second per image,
has no counterpart in torch. The overhead is over plain inference of the same batch by the same runtime. Runs
take turns, and the fastest of each counts, because other work disturbs the rest. On the CPU, where everything
runs in one thread, its own time is taken; on a GPU, the time on the clock.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import fx, nn

from benchmarks._measured import Bar, Beside, Measured, fastest
from roadworthy.coverage import ActivationRecorder, Observed, recorder
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
from roadworthy.models.zoo import architecture
from roadworthy.training import export

IMAGES = 16
_THRESHOLD = 0.2
_SECONDS = 4.0
FASTER, OVERHEAD = 20.0, 30.0  # times as fast as the public way, and percent over inference
_MORE = 4  # times as many images as are different, in the largest batch: 64, as the commands have
_SIZES = ((320, 160), (128, 128))  # ours, and the public code's


class PerLayer:
    """Coverage layer by layer, image by image, neuron by neuron.

    Args:
        module: Epoch.
        whole: Whether the input and the dropout layers count, as in the public code.
        faithful: Whether each layer's network is built anew and channels are last, as in the public code.
        device: Where it runs.
    """

    def __init__(self, module: Any, *, whole: bool, faithful: bool, device: str) -> None:
        self.whole, self.faithful, self.device = whole, faithful, device
        self.layers = [*module.features.children(), *module.dense.children()]
        self.ends = self._counted()
        self.covered = {
            (end, neuron): False
            for end in self.ends
            for neuron in range(
                self._outputs(np.zeros((1, *module_input(module)), np.float32), end).shape[-1]
            )
        }

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

    def _outputs(self, images: NDArray[np.float32], end: int) -> NDArray[np.float32]:
        """Return what the layer gives, channels last."""
        network: nn.Module = nn.Sequential(*self.layers[:end])
        if self.faithful:
            network = fx.symbolic_trace(network)
        with torch.inference_mode():
            outputs = network(torch.from_numpy(images).to(self.device))
        if outputs.dim() == 4:
            outputs = outputs.permute(0, 2, 3, 1)
        found: NDArray[np.float32] = (outputs.contiguous() if self.faithful else outputs).cpu().numpy()
        return found

    def _activated(self, images: NDArray[np.float32]) -> Any:
        for end in self.ends:
            for output in self._outputs(images, end):
                spread = output.max() - output.min()
                scaled = np.zeros_like(output) if spread == 0 else (output - output.min()) / spread
                for neuron in range(scaled.shape[-1]):
                    if np.mean(scaled[..., neuron]) > _THRESHOLD:
                        yield end, neuron

    def update(self, images: NDArray[np.float32]) -> None:
        """Add what images cover."""
        for key in self._activated(images):
            self.covered[key] = True

    def increases(self, images: NDArray[np.float32]) -> bool:
        """Return whether images would raise the coverage."""
        return any(not self.covered[key] for key in self._activated(images))

    @property
    def count(self) -> int:
        """How many neurons are covered."""
        return sum(self.covered.values())


def module_input(module: Any) -> tuple[int, int, int]:
    """Return channels, height and width of what Epoch takes."""
    return module.taken  # type: ignore[no-any-return]


def _beside_the_public_code(
    label: str,
    counting: str,
    network: Network[Any],
    module: nn.Module,
    images: NDArray[np.float32],
    device: str,
) -> list[Measured]:
    watched = recorder(network, counting)
    ours = NeuronCoverage(watched.run(images)[1].layers, threshold=_THRESHOLD)
    whole = counting == "deeptest"
    public = PerLayer(module, whole=whole, faithful=True, device=device)
    kinder = PerLayer(module, whole=whole, faithful=False, device=device)
    for number in range(len(images)):
        for theirs in (public, kinder):
            theirs.update(images[number : number + 1])
        _watch(watched, ours, images[number : number + 1])
    same = "all the same" if ours.covered == public.count == kinder.count else "THEY DIFFER"
    print(
        f"  {label}, counting {counting!r}: {ours.covered} of {ours.total} neurons covered by {len(images)} "
        f"images; per layer {public.count} and {kinder.count}: {same}"
    )
    one, many = images[:1], np.concatenate([images] * _MORE)
    batches = [many[:count] for count in (1, len(images), len(many))]
    works: list[Callable[[], object]] = [
        partial(public.update, one),
        partial(kinder.update, one),
        partial(_public_try, public, module, one, device),
        *(partial(_watch, watched, ours, batch) for batch in batches),
        *(partial(_our_try, watched, ours, batch) for batch in batches),
        *(partial(network.runtime.run, batch, ()) for batch in batches),
    ]
    as_public, as_kinder, tried, *rest = fastest(
        *works,
        seconds=_SECONDS * len(works),
        clock=time.process_time if device == "cpu" else time.perf_counter,
    )
    watches, tries, answers = (rest[place : place + len(batches)] for place in range(0, len(rest), 3))
    print(
        f"    one image: like the public code {_ms(as_public)}, kinder {_ms(as_kinder)}, a try of the search "
        f"{_ms(tried)}, plain inference {_ms(answers[0])}"
    )
    rows = []
    for batch, seconds, trying, answer in zip(batches, watches, tries, answers, strict=True):
        count = len(batch)
        faster, kind = as_public * count / seconds, as_kinder * count / seconds
        print(
            f"    ours, batch {count:3}: {_ms(seconds / count)} an image, {faster:5.1f} times as fast as the "
            f"public way, {kind:5.1f} as the kinder; a try {_ms(trying / count)}, "
            f"{tried * count / trying:5.1f} times; overhead over inference "
            f"{100 * (seconds / answer - 1):+5.1f}%"
        )
        rows.append((count, seconds, 100 * (seconds / answer - 1)))
    # A batch of sixteen stands for all of them on the page.
    count, seconds, overhead = rows[1]
    name = f"Epoch {images.shape[3]}×{images.shape[2]}, {label}, counting `{counting}`, batches of {count}"
    beside = Beside("layer by layer, as in public", 1e3 * as_public, as_public * count / seconds)
    return [
        Measured(
            f"Coverage of {name}", 1e3 * seconds / count, "ms an image", beside, Bar("times", "≥", FASTER)
        ),
        Measured(f"Overhead over inference, {name}", overhead, "%", bar=Bar("value", "≤", OVERHEAD)),
    ]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _public_try(public: PerLayer, module: nn.Module, images: NDArray[np.float32], device: str) -> None:
    """Do what the public search does for an image that raises the coverage."""
    public.increases(images)
    public.update(images)
    with torch.inference_mode():
        module(torch.from_numpy(images).to(device)).cpu()


def _our_try(watched: ActivationRecorder, coverage: NeuronCoverage, images: NDArray[np.float32]) -> None:
    _, activations = watched.run(images)
    coverage.gains(activations)
    coverage.update(activations)


def _watch(watched: ActivationRecorder, coverage: NeuronCoverage, images: NDArray[np.float32]) -> None:
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


def peak_memory(network: Network[Any], images: NDArray[np.float32], count: int) -> int:
    """Return the most bytes that Python holds at once while so many images are measured, in batches."""
    watched = recorder(network)
    coverage = NeuronCoverage(watched.run(images)[1].layers)
    tracemalloc.start()
    try:
        for _ in range(count // len(images)):
            _watch(watched, coverage, images)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main(arguments: Sequence[str] = ()) -> list[Measured]:
    """Measure; on a GPU with ``--device cuda``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    device = parser.parse_args(arguments).device
    # More threads wait for each other where other work is done.
    torch.set_num_threads(1)
    frames = list(load("world:town", count=IMAGES))
    rows: list[Measured] = []
    for width, height in _SIZES:
        variant = architecture("epoch").variant(["steering"], {"width": width, "height": height})
        module: Any = variant.build().to(device).eval()
        module.taken = (3, height, width)
        taken = variant.spec.input
        images = taken.tensor([taken.view(frame) for frame in frames])
        place = torch.cuda.get_device_name() if device == "cuda" else "CPU, one thread"
        print(f"Coverage of Epoch, {width}×{height}, {place}\n")
        for counting in ("deeptest", "distinct"):
            network = torch_model(module, spec=variant.spec, device=device)
            rows += _beside_the_public_code("torch", counting, network, module, images, device)
        if device == "cuda":
            many = np.concatenate([images] * 8)
            network = torch_model(module, spec=variant.spec, device=device)
            rows += _beside_the_public_code("torch, large batch", "distinct", network, module, many, device)
            print()
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "epoch.onnx"
            export(module, variant, file)
            onnx = onnx_model(file, spec=variant.spec, threads=1)
            for counting in ("deeptest", "distinct"):
                rows += _beside_the_public_code("ONNX Runtime", counting, onnx, module, images, device)
            if (width, height) == _SIZES[-1]:
                _criteria(onnx, frames)
                for count in (200, 2000):
                    peak = peak_memory(onnx, images, count)
                    print(f"  peak memory of Python, {count} images: {peak / 1e6:.2f} MB")
                    rows.append(
                        Measured(f"Memory of Python while {count} images are measured", peak / 1e6, "MB")
                    )
        print()
    return rows


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
