"""Run every benchmark, or those named: ``python -m benchmarks world``."""

from __future__ import annotations

import importlib
import pkgutil
import platform
import sys

import cv2
import numpy as np

import benchmarks


def main() -> int:
    known = [
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    ]
    wanted = sys.argv[1:] or known
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"OpenCV {cv2.__version__}, one thread\n"
    )
    cv2.setNumThreads(1)
    for name in wanted:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
