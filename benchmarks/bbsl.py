"""S1 to S4 of the BBSL paper over a million boxes, on one core, beside the same specifications box by box.

The paper tests four specifications on 2736 and 5644 vehicles, "programmed in Python". Here each is read from
its text and evaluated over arrays, and a part of the boxes is evaluated one by one with the same values. The
last rows are specifications over sets: frames with lanes and vehicles, with unions, intersections and ratios.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.bbsl import RaggedBoxes, Spec, load
from roadworthy.seeding import rng_for

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "bbsl"
BOXES = 1_000_000
FRAMES = 50_000
ALONE = 2_000
REPEATS = 3
BAR = 1_000_000.0  # boxes per second, for S1 to S4


def some_boxes(count: int, *keys: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return boxes in images of 1242 x 375 pixels."""
    rng = rng_for(0, "boxes", *keys)
    corners = rng.uniform((0, 100), (1142, 300), (count, 2))
    return np.concatenate([corners, corners + rng.uniform(5, (100, 75), (count, 2))], axis=1)


def measured(
    spec: Spec, values: Mapping[str, Any], count: int, each: Mapping[str, list[Any]]
) -> tuple[float, float]:
    """Return how many rows a second are evaluated together, and one by one."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        together = spec.evaluate_many(values, height=375, width=1242, count=count)
        best = min(best, time.perf_counter() - start)
    start = time.perf_counter()
    for row in range(ALONE):
        alone = spec.evaluate(
            {**values, **{name: rows[row] for name, rows in each.items()}}, height=375, width=1242
        )
        assert alone.cases == together.cases(row)
    return count / best, ALONE / (time.perf_counter() - start)


def main() -> list[Measured]:
    rows = []
    print(f"BBSL, {BOXES:,} boxes, or {FRAMES:,} frames with 4 vehicles and 3 lanes each\n")
    print(f"{'specification':38} {'rows/s together':>16} {'one by one':>11} {'ratio':>7}")
    boxes = some_boxes(BOXES)
    single: dict[str, Any] = {
        "vehicleExists": True,
        "vehicle": boxes,
        "stoppingDistance": (275, 375),
        "directionAreaDistance": (420, 821),
    }
    slowest = np.inf
    for path in sorted(EXAMPLES.glob("listing*.bbsl")):
        together, alone = measured(load(path), single, BOXES, {"vehicle": boxes[:ALONE].tolist()})
        slowest = min(slowest, together)
        rows.append(_row(path.stem, "boxes/s", together, alone, Bar("value", "≥", BAR)))
        print(f"{path.stem:38} {together:16,.0f} {alone:11,.0f} {together / alone:7.0f}")
    flat = some_boxes(FRAMES * 4, "sets")
    lanes = [[560, 190, 680, 225], [500, 225, 740, 275], [420, 275, 821, 375]]
    cars = flat[: ALONE * 4].reshape(ALONE, 4, 4).tolist()
    for name in ("09_adjacent_vehicle_encroaching", "10_opposing_vehicle_encroaching"):
        spec = load(EXAMPLES / f"{name}.bbsl")
        function = "adjacentVehicles" if name.startswith("09") else "opposingVehicles"
        sets: dict[str, Any] = {
            function: RaggedBoxes(flat, np.full(FRAMES, 4)),
            "travelingLane": lanes,
            "deceleratingArea": [420, 225, 821, 275],
        }
        together, alone = measured(spec, sets, FRAMES, {function: cars})
        rows.append(_row(name, "frames/s", together, alone))
        print(f"{name:38} {together:16,.0f} {alone:11,.0f} {together / alone:7.0f}")
    verdict = "met" if slowest >= BAR else "MISSED"
    print(f"\nbar: {BAR:,.0f} boxes a second for S1 to S4 on one core: {slowest:,.0f}, {verdict}\n")
    return rows


def _row(name: str, unit: str, together: float, alone: float, bar: Bar | None = None) -> Measured:
    return Measured(f"`{name}.bbsl`", together, unit, Beside("one by one", alone, together / alone), bar)


if __name__ == "__main__":
    main()
