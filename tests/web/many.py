"""A run with many pairs, made in a few seconds: all of them show the same few pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from roadworthy.cases import Case, RecordDrive, Requirement, Scalar, Verdict
from roadworthy.runs import RunStore

__all__ = ["PAIRS", "make_run"]

PAIRS = 20_000


def make_run(folder: Path, pairs: int = PAIRS) -> None:
    """Store a run whose worst case is ``frame-00000``, the next worst ``frame-00001``, and so on."""
    requirement = Requirement("R1", "If it becomes foggy, the ego-vehicle should slow down.", "rules")
    with RunStore(
        folder / "runs" / "r1" / "dave2", requirement, system="dave2", images=folder / "images"
    ) as store:
        levels = (30 * number for number in range(8))
        pictures = [store.add_image(np.full((160, 320, 3), level, np.uint8)) for level in levels]
        for number in range(pairs):
            known: dict[str, Scalar] = {
                "change.1": "fog",
                "output.1": "speed",
                "frame": f"frame-{number:05d}",
                "seed": number,
            }
            case = Case(f"frame-{number:05d}", "R1", (RecordDrive("x"),), known)
            margin = (number - pairs // 2) / pairs
            measures = {"before.1": 8.0, "after.1": 8.0 - margin, "margin.1": margin, "pixels.1": 3.0}
            verdict = Verdict.from_margin(case, margin, measures=measures)
            store.append(
                case,
                replace(verdict, visual_change=number / pairs),
                [pictures[number % 8], pictures[(number + 1) % 8]],
            )
