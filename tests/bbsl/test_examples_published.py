"""The examples against the published specifications: they differ where these are wrong, and nowhere else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.bbsl.published_specs import mended, published

from roadworthy.bbsl import Spec, load

EXAMPLES = Path(__file__).parents[2] / "examples" / "bbsl"
HEIGHT, WIDTH = 12, 8
# In the examples no name is shortened.
RENAMED = {"vehicleEnteringRoadway": "vehicleER", "vehicleEnteringRoadwayExists": "vehicleERExists"}
# Where a published specification says one thing and the example says another; the files say why.
CHANGED = {
    3: {("follow vehicle", "stop")},
    6: {("yield", "NOT respond")},
    7: {("yield", "NOT respond")},
    10: {
        ("shift within lane", "shift outside of lane"),
        *(("NOT respond", label) for label in ("shift within lane", "shift outside of lane")),
    },
    12: {("NOT respond", "decelerate")},
}


def example(start: str) -> Spec:
    (path,) = EXAMPLES.glob(f"{start}_*.bbsl")
    return load(path)


def some_values(spec: Spec, rng: random.Random) -> dict[str, Any]:
    """Return values with boxes on a coarse grid, so that edges often touch and ratios are round."""
    kinds: dict[str, Callable[[], Any]] = {
        "bool": lambda: True,
        "bb": lambda: _box(rng),
        "setBB": lambda: [_box(rng) for _ in range(rng.choice([0, 1, 1, 2, 2]))],
        "interval": lambda: sorted(rng.sample(range(HEIGHT + 1), 2)),
    }
    values: dict[str, Any] = {one.name: kinds[one.result]() for one in spec.functions}
    if "stoppingArea" in values:
        # The precondition of the twelfth: the decelerating area begins where the stopping area ends.
        near, far = values["stoppingArea"], values["deceleratingArea"]
        far[1], far[3] = near[1] - (far[3] - far[1]), near[1]
    return values


def _box(rng: random.Random) -> list[int]:
    (left, right), (top, bottom) = (sorted(rng.sample(range(size), 2)) for size in (WIDTH, HEIGHT))
    return [left, top, right, bottom]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12])
def test_what_was_right_is_kept_and_one_of_several_cases_is_chosen(number: int) -> None:
    before, ours = published(number), example(f"{number:02d}")
    rng = random.Random(number)
    answers: Counter[tuple[tuple[str, ...], str]] = Counter()
    for _ in range(800):
        values = some_values(ours, rng)
        old = before.cases({RENAMED.get(name, name): one for name, one in values.items()}, height=HEIGHT)
        (new,) = ours.cases(values, height=HEIGHT)
        answers[tuple(sorted(old)), new] += 1
    different = {(old[0], new) for old, new in answers if len(old) == 1 and old[0] != new}
    assert different <= CHANGED.get(number, set())
    assert all(new in old for old, new in answers if len(old) > 1)
    assert {new for _, new in answers} == set(ours.labels)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_papers_listings_say_what_they_said(number: int) -> None:
    before, ours = mended(number), example(f"listing{number}")
    rng = random.Random(number)
    # Listing 2 writes the names of the vehicle with capitals.
    renamed = {old.name.lower(): old.name for old in before.functions}
    for _ in range(300):
        values = some_values(ours, rng)
        old = {renamed[name.lower()]: one for name, one in values.items()}
        assert ours.cases(values, height=HEIGHT) == before.cases(old, height=HEIGHT)
