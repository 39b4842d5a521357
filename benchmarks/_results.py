"""The results of the benchmarks, kept in ``benchmarks/measured.json``, and the machine that they are of."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._measured import Bar, Beside, Growth, Measured
from roadworthy.runs.executors.faults import machine_megabytes

__all__ = ["FILE", "Area", "Results", "begun", "machine", "now", "versions"]

FILE = Path(__file__).resolve().parent / "measured.json"
_LIBRARIES = (
    "numpy", "opencv-python-headless", "scipy", "onnxruntime", "torch", "duckdb", "pyarrow", "spacy",
    "z3-solver", "ray", "albumentations", "kornia", "imagecorruptions", "pyiqa", "torchmetrics", "sewar",
    "ortools", "pandas",
)  # fmt: skip


@dataclass(frozen=True)
class Area:
    """What one benchmark found in one run.

    Attributes:
        when: The time in UTC, to the minute.
        load: How busy the machine was when it began: running processes, over the last minute.
        seconds: How long it took.
        rows: Its figures.
        growth: Its rows of growth.
        error: Why it broke off, if it did.
    """

    when: str
    load: float
    seconds: float
    rows: tuple[Measured, ...] = ()
    growth: tuple[Growth, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, found: dict[str, Any]) -> Area:
        """Read it from JSON."""
        rows = tuple(
            Measured(
                **{
                    **row,
                    "beside": row["beside"] and Beside(**row["beside"]),
                    "bar": row["bar"] and Bar(**row["bar"]),
                }
            )
            for row in found["rows"]
        )
        growth = tuple(
            Growth(
                row["name"],
                row["unit"],
                tuple(row["sizes"]),
                tuple(row["seconds"]),
                tuple(row["mib"]),
                row["exponent"],
            )
            for row in found["growth"]
        )
        return cls(found["when"], found["load"], found["seconds"], rows, growth, found["error"])


@dataclass(frozen=True)
class Results:
    """All that was measured on one machine.

    Attributes:
        machine: What it is, such as ``processor``.
        versions: Of Python and the libraries.
        areas: What each benchmark found, by its name.
    """

    machine: dict[str, str]
    versions: dict[str, str]
    areas: dict[str, Area] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path = FILE) -> Results | None:
        """Read the file; None if there is none yet."""
        if not file.exists():
            return None
        found = json.loads(file.read_text("utf-8"))
        areas = {name: Area.of(one) for name, one in found["areas"].items()}
        return cls(found["machine"], found["versions"], areas)

    def write(self, file: Path = FILE) -> None:
        """Write the file."""
        file.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8")

    def joined(self, areas: dict[str, Area]) -> Results:
        """Return the results with some measured anew."""
        return Results(self.machine, self.versions, {**self.areas, **areas})


def begun(file: Path = FILE) -> Results:
    """Return the results to go on with: those in the file, unless they are of another machine or version."""
    here, known = Results(machine(), versions()), Results.read(file)
    if known is None or known.machine != here.machine:
        return here
    if any(here.versions.get(name, version) != version for name, version in known.versions.items()):
        return here
    return Results(known.machine, {**known.versions, **here.versions}, known.areas)


def now() -> str:
    """Return the time in UTC, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def machine() -> dict[str, str]:
    """Describe the machine: what its speed depends on, and nothing that tells whose it is."""
    megabytes = machine_megabytes()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return {
        "processor": _processor(),
        "cores": str(len(cores)),
        "memory": "unknown" if megabytes is None else f"{megabytes / 1024:.0f} GiB",
        "GPU": _gpu(),
        "system": f"{platform.system()}, {platform.machine()}",
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpu() -> str:
    try:
        import torch
    except ImportError:
        return "none"
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "none"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are installed."""
    found = {"Python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
