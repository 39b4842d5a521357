"""Large networks on a GPU: how much one copy of a network serves, and what holds it back.

::

    python -m benchmarks.device --workers 16 --frames 1600

It needs a GPU and torch, so it is no part of ``make bench``; ``--form onnx`` needs onnxruntime-gpu as well.
ResNet101 and VGG16, with weights drawn by lot, are asked on frames of the built-in world, once on one core
and once on the GPU with a process for each core: in a run of the reliability method with all eight changes,
and of the rule about night.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

NETWORK = """
from roadworthy.models.zoo import architecture


def {name}():
    return architecture("{name}").variant(["steering", "speed"], {{}}).build()
"""


RULE = "If the driving time changes into night, then the ego-vehicle should slow down."


def exported(folder: Path, name: str) -> str:
    """Write the network as ONNX, and return what it is named by."""
    import torch

    from roadworthy.models.zoo import architecture

    network = architecture(name).variant(["steering", "speed"], {}).build().eval()
    free = {0: "batch"}
    torch.onnx.export(
        network, (torch.rand(2, 3, 160, 320),), folder / f"{name}.onnx", dynamo=False,
        input_names=["image"], output_names=["signals"], dynamic_axes={"image": free, "signals": free},
    )  # fmt: skip
    return f"onnx:{folder}/{name}.onnx"


def suite(folder: Path, name: str, asked: str, frames: int, form: str) -> dict[str, Any]:
    """Return the suite, and write the network's file."""
    from roadworthy.reliability import PAPER_TRANSFORMATIONS

    requirements: dict[str, dict[str, str]] = {"night": {"rule": RULE}}
    if asked == "reliability":
        requirements = {one: {"reliability": one, "preserve": "prediction"} for one in PAPER_TRANSFORMATIONS}
    count = max(1, frames // len(requirements))
    (folder / f"{name}.py").write_text(NETWORK.format(name=name), "utf-8")
    model = exported(folder, name) if form == "onnx" else f"torch:{folder}/{name}.py:{name}"
    return {
        "suite": "device",
        "models": {
            name: {
                "model": model,
                "options": {"input.width": 320, "input.height": 160, "output.signals": "steering,speed"},
            }
        },
        "data": {"town": {"data": "world:town", "sample": count, "options": {"count": count}}},
        "requirements": requirements,
        "gate": "off",
    }


def measured(
    name: str, asked: str, device: str, workers: int, frames: int, form: str = "torch"
) -> dict[str, Any]:
    """Run the suite; return frames a second and how busy cores and GPU were."""
    from roadworthy.runs.executors import executor_for
    from roadworthy.runs.store import StoredRun, read_manifest
    from roadworthy.runs.suites import run_suite, suite_of

    folder = Path(tempfile.mkdtemp())
    os.environ["ROADWORTHY_DEVICE"] = device
    document = suite(folder, name, asked, frames, form)
    watch = None
    if device != "cpu":
        query = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits"]
        log = (folder / "gpu.csv").open("w")
        watch = subprocess.Popen([*query, "-lms", "250"], stdout=log)
    with executor_for("processes", workers=workers) as executor:
        # What is opened and drawn once is no part of it.
        run_suite(
            suite_of({**document, "data": {"town": {"data": "world:town", "sample": 2}}}),
            folder / "warm",
            executor=executor,
        )
        cores = _processor_seconds()
        start = time.perf_counter()
        run_suite(suite_of(document), folder / "run", executor=executor)
        seconds = time.perf_counter() - start
    cores = _processor_seconds() - cores
    (row,) = StoredRun.open(folder / "run").query("SELECT count(*) AS cases FROM cases")
    cases = int(row["cases"] or 0)
    manifest = read_manifest(folder / "run") or {}
    found: dict[str, Any] = {
        "network": name, "form": form, "asked": asked, "device": device, "workers": workers, "cases": cases,
        "seconds": round(seconds, 1), "cases a second": round(cases / seconds, 2),
        "cores busy": round(cores / seconds, 1),
        "notes": manifest.get("notes", {}).get("models", {}),
    }  # fmt: skip
    if watch is not None:
        watch.terminate()
        rows = [line.split(",") for line in (folder / "gpu.csv").read_text().splitlines()]
        late = rows[-max(1, int(4 * seconds)) :]
        found["GPU busy"] = f"{sum(float(one[0]) for one in late) / len(late):.0f}%"
        found["GPU MiB at most"] = max(int(one[1]) for one in late)
    shutil.rmtree(folder)
    return found


def _processor_seconds() -> float:
    """Return what this process and those that it started have used."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a row each."""
    parser = argparse.ArgumentParser(prog="benchmarks.device", description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--frames", type=int, default=1600, help="cases on the GPU")
    parser.add_argument("--alone", type=int, default=24, help="cases on one core")
    parser.add_argument("--networks", nargs="+", default=["resnet101", "vgg16"])
    parser.add_argument("--asked", nargs="+", default=["reliability", "rule"])
    parser.add_argument("--devices", nargs="+", default=["cpu", "cuda"])
    parser.add_argument("--form", choices=["torch", "onnx"], default="torch")
    given = parser.parse_args(arguments)
    for name, asked, device in product(given.networks, given.asked, given.devices):
        alone = device == "cpu"
        workers, frames = (1, given.alone) if alone else (given.workers, given.frames)
        print(json.dumps(measured(name, asked, device, workers, frames, given.form)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
