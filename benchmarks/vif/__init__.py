"""Visual information fidelity and visual change: beside peers, beside a plain version, in threads, on a GPU.

``make bench`` installs the peers. A part that lacks what it needs, such as a GPU, says so, and the others are
measured.
"""

from __future__ import annotations

import importlib

from benchmarks._measured import Measured

PARTS = ("peers", "plainly", "threads", "gpu")


def main() -> list[Measured]:
    rows: list[Measured] = []
    for part in PARTS:
        try:
            module = importlib.import_module(f"benchmarks.vif.{part}")
        except ImportError as error:
            print(f"The part {part} of vif is not measured: {error}\n")
        else:
            rows += module.main()
    return rows
