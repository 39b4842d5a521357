"""Runs: the store, beside reading everything."""

from __future__ import annotations

from benchmarks.runs import store


def main() -> None:
    store.main()
