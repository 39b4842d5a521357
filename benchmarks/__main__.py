"""Run the benchmarks of speed, or those named; see ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import sys
import time
import traceback
from collections.abc import Sequence

import cv2
import numpy as np

import benchmarks
from benchmarks import _gate
from benchmarks._measured import Growth, Measured
from benchmarks._page import AREAS, GROWTH, PAGE, page
from benchmarks._results import Area, Results, begun, now


def known() -> list[str]:
    """Return the names of all benchmarks."""
    found = pkgutil.iter_modules(benchmarks.__path__)
    return [module.name for module in found if not module.name.startswith("_")]


def measured(name: str) -> Area:
    """Run a benchmark; what goes wrong in it is told, and does not take the others with it."""
    when, load, start = now(), os.getloadavg()[0], time.perf_counter()
    found: Sequence[Measured | Growth] = ()
    error = ""
    try:
        found = importlib.import_module(f"benchmarks.{name}").main() or ()
    except Exception as raised:
        traceback.print_exc()
        error = f"{type(raised).__name__}: {raised}"
    return Area(
        when,
        round(load, 1),
        round(time.perf_counter() - start, 1),
        tuple(one for one in found if isinstance(one, Measured)),
        tuple(one for one in found if isinstance(one, Growth)),
        error,
    )


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    speed = [*AREAS, GROWTH]
    others = sorted(set(known()) - set(speed))
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description=f"Of speed, and run if none is named: {', '.join(speed)}. Others: {', '.join(others)}.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks; all of speed if none")
    parser.add_argument("--page", action="store_true", help=f"write what is found into docs/{PAGE.name}")
    parser.add_argument("--page-only", action="store_true", help="write the page again, measuring nothing")
    parser.add_argument("--gate", action="store_true", help="compare small benchmarks with recorded ratios")
    parser.add_argument("--record", action="store_true", help="with --gate: record the ratios instead")
    told = parser.parse_args(arguments)
    if unknown := sorted(set(told.names) - set(known())):
        parser.error(f"no benchmark named {', '.join(unknown)}: there are {', '.join(known())}")
    if (told.gate or told.page_only) and (told.names or told.page):
        parser.error("--gate and --page-only take neither names nor --page")
    if told.record and not told.gate:
        parser.error("--record goes with --gate")
    told.names = told.names or speed
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    told = _arguments(arguments)
    cv2.setNumThreads(1)
    if told.page_only:
        PAGE.write_text(page(Results.read()), "utf-8")
        return 0
    if told.gate:
        return _gate.record() if told.record else _gate.gate()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"OpenCV {cv2.__version__}, one thread\n"
    )
    results = begun()
    for name in told.names:
        results = results.joined({name: measured(name)})
        if told.page:
            # After each of them: a long run that is stopped has not been in vain.
            results.write()
            PAGE.write_text(page(results), "utf-8")
    return 1 if any(results.areas[name].error for name in told.names) else 0


if __name__ == "__main__":
    sys.exit(main())
