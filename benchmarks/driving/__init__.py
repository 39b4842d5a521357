"""Driving quality: fitting oracles, beside solvers and plain versions."""

from __future__ import annotations

from benchmarks.driving import oracles


def main() -> None:
    oracles.main()
