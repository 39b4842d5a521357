"""Runs: executors beside the serial one, the store beside reading everything."""

from __future__ import annotations

from benchmarks._measured import Measured
from benchmarks.runs import executors, store


def main() -> list[Measured]:
    return [*executors.main(), *store.main()]
