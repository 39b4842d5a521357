"""Driving quality: metrics and oracles, beside solvers and plain versions."""

from __future__ import annotations

from benchmarks.driving import metrics, oracles


def main() -> None:
    metrics.main()
    oracles.main()
