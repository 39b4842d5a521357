"""How near changed frames of the world come to its own render, and changed real frames to real ones."""

from __future__ import annotations

from benchmarks.realism import conditions, edits, objects, real


def main() -> None:
    for part in (real, conditions, objects, edits):
        part.main()
