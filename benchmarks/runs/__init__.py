"""Runs: executors beside the serial one, the store beside reading everything."""

from __future__ import annotations

from benchmarks.runs import executors, store


def main() -> None:
    executors.main()
    store.main()
