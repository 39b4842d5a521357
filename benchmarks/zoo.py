"""Frames per second of the reference networks on one CPU core, and their parameters.

Each network runs through the ONNX adapter as a test runs it, from frames to signals, with one thread of ONNX
Runtime, one frame and sixteen at a time; beside it the network alone. Weights are fresh, which the speed does
not depend on. Those that come with the package are the small forms.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from roadworthy.datasets import load
from roadworthy.frames import Frame
from roadworthy.models import Network, onnx_model
from roadworthy.models.training import export
from roadworthy.models.zoo import architecture

BATCHES = (1, 16)
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


def _rates(network: Network[Any], frames: Sequence[Frame]) -> str:
    cells = []
    for count in BATCHES:
        part = frames[:count]
        images = network.input.tensor([network.input.view(frame) for frame in part])
        whole = _rate(partial(network.predict, part), count)
        alone = _rate(partial(network.runtime.run, images, part), count)
        cells.append(f"{f'{whole:.0f} ({alone:.0f})':>18}")
    return " ".join(cells)


def main() -> None:
    print(
        "Reference networks: frames per second on one CPU core, from frame to signals (the network alone)\n"
    )
    print(f"  {'':24} {'parameters':>12} {'MB':>7} " + " ".join(f"{f'batch {one}':>18}" for one in BATCHES))
    for name, small, options in _FORMS:
        variant = architecture(name).variant(options=options, small=small)
        module = variant.build()
        parameters = sum(one.numel() for one in module.parameters())
        frames = list(load("world:town", count=max(BATCHES), history=variant.spec.input.history))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.onnx"
            export(module, variant, file)
            megabytes = file.stat().st_size / 1e6
            rates = _rates(onnx_model(file, spec=variant.spec, threads=1), frames)
        label = ", ".join(
            [name, *(["small"] if small else []), *(f"{key} {one}" for key, one in options.items())]
        )
        print(f"  {label:24} {parameters:12,} {megabytes:7.1f} {rates}")
