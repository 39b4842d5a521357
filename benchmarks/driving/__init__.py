"""Driving quality: metrics, oracles and the closed loop, beside solvers, plain versions and real time."""

from __future__ import annotations

from benchmarks._measured import Measured
from benchmarks.driving import closed_loop, metrics, oracles


def main() -> list[Measured]:
    return [*metrics.main(), *oracles.main(), *closed_loop.main()]
