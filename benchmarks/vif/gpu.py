"""Visual change of batches on a GPU, beside one CPU thread of the same machine.

The tensors lie on the GPU already ("there"), or arrays are sent first ("sent"). "one" compares every image
with the same reference. The largest difference from the numbers of the CPU is given too. Needs torch and a
GPU, and nothing else beyond numpy and OpenCV.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._measured import Beside, Measured
from benchmarks.vif.measuring import SIZES, picture
from roadworthy.visual_change import vifs, vifs_pixel, visual_changes, vsnrs

BATCHES = (1, 8, 32, 128)
PICTURES = 8  # different ones; a batch repeats them
SECONDS = 1.0  # for each rate

Images = NDArray[np.uint8]


def _rate(work: Callable[[], object], count: int) -> float:
    """Return images per second over many rounds; every round ends with its numbers on the CPU."""
    work()
    rounds, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < SECONDS:
        work()
        rounds += 1
    return rounds * count / spent


def _batch(width: int, height: int, count: int) -> tuple[Images, Images]:
    pairs = [picture(width, height, seed) for seed in range(PICTURES)]
    references, changes = (np.stack([pair[which] for pair in pairs]) for which in (0, 1))
    places = np.arange(count) % PICTURES
    return references[places], changes[places]


def _rates(send: Callable[[Images], Any], references: Images, changes: Images) -> list[float]:
    before, after = send(references), send(changes)
    works: list[Callable[[], object]] = [
        lambda: visual_changes(before, after),
        lambda: visual_changes(send(references), send(changes)),
        lambda: visual_changes(before[:1], after),
    ]
    return [_rate(work, len(changes)) for work in works]


def _differences(send: Callable[[Images], Any], references: Images, changes: Images) -> str:
    told = []
    for measure in (vifs, vifs_pixel, vsnrs, visual_changes):
        difference = measure(references, changes) - measure(send(references), send(changes))
        told.append(f"{measure.__name__} {np.abs(difference).max():.1e}")
    return ", ".join(told)


def main() -> list[Measured]:
    rows = []
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        print("Visual change on a GPU is not measured: torch finds none\n")
        return [Measured("Visual change on a GPU", None, "images/s", note="torch finds no GPU")]
    send = partial(torch.as_tensor, device="cuda")
    print(f"Visual change of grey images, {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"  {'images per second':28}{'there':>9}{'sent':>9}{'one':>9}")
    for width, height in SIZES:
        best = 0.0
        for count in BATCHES:
            rates = _rates(send, *_batch(width, height, count))
            print(f"  {f'{width}x{height} batch of {count}':28}" + "".join(f"{rate:9.0f}" for rate in rates))
            best = max(best, rates[0])
        pair = _batch(width, height, PICTURES)
        rate = _rate(partial(visual_changes, *pair), PICTURES)
        print(f"  {f'{width}x{height} one CPU thread':28}{'':9}{rate:9.0f}")
        beside = Beside("one CPU thread", rate, best / rate)
        rows.append(Measured(f"Visual change on the GPU, {width}×{height}", best, "images/s", beside))
        print(f"  largest differences from the CPU: {_differences(send, *pair)}")
    print(f"  most memory of the GPU: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB\n")
    return rows
