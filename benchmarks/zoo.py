"""Frames per second of the reference networks on one CPU core and on a GPU, and their parameters.

On the CPU each network runs through the ONNX adapter, with one thread of ONNX Runtime; on the GPU, where
there is one, through the adapter for torch. It runs as a test runs it, from frames to answers, in batches;
beside it the network alone. Weights are fresh, which the speed does not depend on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._measured import Measured
from roadworthy.datasets import load
from roadworthy.frames import Frame
from roadworthy.models import Network, onnx_model, torch_model
from roadworthy.models.zoo import architecture
from roadworthy.training import export

BATCHES: dict[str, tuple[int, int]] = {"cpu": (1, 16), "cuda": (1, 128)}
_SECONDS = 2.0
# The whole Chauffeur sees 100 frames at a time; ten of them tell as much about its speed.
_FORMS: tuple[tuple[str, bool, dict[str, object]], ...] = (
    ("dave2", False, {}),
    ("epoch", True, {}),
    ("chauffeur", True, {}),
    ("epoch", False, {}),
    ("chauffeur", False, {"history": 9}),
    ("rambo", False, {}),
    ("vgg16", False, {}),
    ("resnet101", False, {}),
    ("detector", False, {}),
    ("classifier", False, {}),
)


def _rate(work: Callable[[], object], count: int) -> float:
    """Return frames per second, of the fastest of some calls: other work disturbs the rest."""
    work()
    fastest, end = float("inf"), time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return count / fastest


def _rates(
    network: Network[Any], frames: Sequence[Frame], batches: Sequence[int]
) -> list[tuple[float, float]]:
    """Return frames per second from frame to answer, and of the network alone, for each size of batch."""
    rates = []
    for count in batches:
        part = (list(frames) * (count // len(frames) + 1))[:count]
        images = network.input.tensor([network.input.view(frame) for frame in part])
        whole = _rate(partial(network.predict, part), count)
        alone = _rate(partial(network.runtime.run, images, part), count)
        rates.append((whole, alone))
    return rates


def main() -> list[Measured]:
    import torch

    rows = []
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else "one CPU core"
    batches = BATCHES[device]
    print(f"Reference networks: frames per second on {where}, from frame to answer (the network alone)\n")
    print(f"  {'':24} {'parameters':>12} {'MB':>7} " + " ".join(f"{f'batch {one}':>18}" for one in batches))
    for name, small, options in _FORMS:
        variant = architecture(name).variant(options=options, small=small)
        module = variant.build()
        parameters = sum(one.numel() for one in module.parameters())
        frames = list(load("world:town", count=16, history=variant.spec.input.history))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.onnx"
            export(module, variant, file)
            megabytes = file.stat().st_size / 1e6
            network = (
                torch_model(module, spec=variant.spec, device="cuda")
                if device == "cuda"
                else onnx_model(file, spec=variant.spec, threads=1)
            )
            rates = _rates(network, frames, batches)
        label = ", ".join(
            [name, *(["small"] if small else []), *(f"{key} {one}" for key, one in options.items())]
        )
        cells = [f"{f'{whole:.0f} ({alone:.0f})':>18}" for whole, alone in rates]
        print(f"  {label:24} {parameters:12,} {megabytes:7.1f} " + " ".join(cells))
        best = max(whole for whole, _ in rates)
        rows.append(Measured(f"{label}, from frame to answer, {where}", best, "frames/s"))
    return rows
