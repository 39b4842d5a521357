"""Visual information fidelity beside the packages that have it too, on one thread.

Each runs as its users call it: ours on arrays of bytes, sewar too, pyiqa and torchmetrics on tensors of
floats, whose making is not counted. pyiqa takes colours only, so ours gets colours as well; torchmetrics and
sewar get one channel. All take turns, and the best of each counts, in time of the processor: that of a
library that starts threads is their sum, and what else the machine does is not in it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measured import Bar, Beside, Measured
from benchmarks.vif.measuring import SIZES, Grey, Work, best, picture
from roadworthy.visual_change import vif, vif_pixel

LEAST = {"pyiqa (wavelets)": 5.0, "torchmetrics (pixels)": 1.5}  # times faster, at the larger size


def _wavelets_of_pyiqa(torch: Any) -> Callable[[Grey, Grey], Work]:
    """Load VIF alone: importing the package would need torchvision and a dozen of others."""
    spec = importlib.util.find_spec("pyiqa")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'pyiqa'")
    folder = Path(spec.origin).parent
    for name in ("pyiqa", "pyiqa.utils", "pyiqa.archs"):
        hollow = types.ModuleType(name)
        hollow.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = hollow
    measure = importlib.import_module("pyiqa.archs.vif_arch").VIF()

    def tensor(image: Grey) -> Any:
        return torch.from_numpy(image / np.float32(255)).expand(1, 3, -1, -1).contiguous()

    return lambda reference, changed: partial(measure, tensor(changed), tensor(reference))


def _pixels_of_torchmetrics(torch: Any) -> Callable[[Grey, Grey], Work]:
    measure = importlib.import_module("torchmetrics.functional.image").visual_information_fidelity

    def tensor(image: Grey) -> Any:
        return torch.from_numpy(image.astype(np.float32))[None, None]

    return lambda reference, changed: partial(measure, tensor(changed), tensor(reference))


def _pixels_of_sewar(_: Any) -> Callable[[Grey, Grey], Work]:
    measure = importlib.import_module("sewar").vifp
    return lambda reference, changed: partial(measure, reference, changed)


PEERS: dict[str, Callable[[Any], Callable[[Grey, Grey], Work]]] = {
    "pyiqa (wavelets)": _wavelets_of_pyiqa,
    "torchmetrics (pixels)": _pixels_of_torchmetrics,
    "sewar (pixels)": _pixels_of_sewar,
}


def _peers(torch: Any) -> dict[str, Callable[[Grey, Grey], Work]]:
    found = {}
    for name, load in PEERS.items():
        try:
            found[name] = load(torch)
        except ImportError as error:
            print(f"  {name} is not measured: {error}")
    return found


def _measure(torch: Any) -> list[Measured]:
    rows = []
    print("Visual information fidelity of a pair of images, milliseconds, and the value found")
    peers = _peers(torch)
    for width, height in SIZES:
        reference, changed = picture(width, height)
        colours = [
            np.ascontiguousarray(np.broadcast_to(grey[..., None], (*grey.shape, 3)))
            for grey in (reference, changed)
        ]
        works: dict[str, Work] = {
            "ours (wavelets)": partial(vif, *colours),
            "ours (pixels)": partial(vif_pixel, reference, changed),
            **{name: make(reference, changed) for name, make in peers.items()},
        }
        with torch.inference_mode():
            times = best(works)
            values = {name: float(work()) for name, work in works.items()}  # type: ignore[arg-type]
        ours = times["ours (wavelets)"]
        for name, spent in times.items():
            label = f"{width}x{height} {name}"
            print(f"  {label:36}{spent:9.2f}{values[name]:9.4f}{_verdict(name, spent / ours, width)}")
            if not name.startswith("ours"):
                rows.append(_row(name, ours, spent, width, height))
    return rows


def _row(name: str, ours: float, spent: float, width: int, height: int) -> Measured:
    least = LEAST.get(name) if width == SIZES[-1][0] else None
    return Measured(
        f"VIF of wavelets, {width}×{height}",
        ours,
        "ms",
        Beside(name, spent, spent / ours),
        None if least is None else Bar("times", "≥", least),
    )


def _verdict(name: str, ratio: float, width: int) -> str:
    least = LEAST.get(name)
    if name.startswith("ours"):
        return ""
    if least is None or width != SIZES[-1][0]:
        return f"{ratio:8.1f}x"
    return f"{ratio:8.1f}x  {'ok' if ratio >= least else 'SLOW'} (wavelets at least {least:g}x faster)"


def main() -> list[Measured]:
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = _measure(torch)
    finally:
        torch.set_num_threads(threads)
    print()
    missing = [name for name in LEAST if name not in {row.beside.name for row in rows if row.beside}]
    for name in missing:
        note = f"{name.split()[0]} is not installed"
        rows.append(Measured("VIF of wavelets", None, "ms", bar=Bar("times", "≥", LEAST[name]), note=note))
    return rows
