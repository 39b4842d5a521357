"""How near changed frames of the world come to the world's own render of the change."""

from __future__ import annotations

from benchmarks.realism import conditions, edits, objects


def main() -> None:
    for part in (conditions, objects, edits):
        part.main()
