"""The example specifications over time: read, and tried on tracks whose answers are plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.bbsl import load
from roadworthy.bbsl.tracks import evaluate_track

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "bbsl" / "over_time").glob("*.bbsl"))
BOXES = {"near": [600, 180, 700, 300], "far": [600, 180, 700, 260], "gone": None}


def labels(name: str, seen: str) -> list[str]:
    """Return the cases that hold in each frame of a track; n is a near vehicle, f a far one, - is none."""
    (path,) = (one for one in EXAMPLES if one.stem == name)
    words = [{"n": "near", "f": "far", "-": "gone"}[letter] for letter in seen]
    frames = [
        {"vehicle": BOXES[word], "vehicleExists": word != "gone", "stoppingDistance": [275, 375]}
        for word in words
    ]
    return [" ".join(one.cases) for one in evaluate_track(load(path), frames, height=375).outcomes]


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} == {"vehicle_not_lost", "reaction_steady"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_they_are_right_and_in_canonical_form(path: Path) -> None:
    spec = load(path)
    spec.check_types()
    assert spec.is_temporal
    assert spec.format() == spec.source


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("nnnn", ["kept"] * 4),
        # Three frames on it is gone, four frames on it does not count.
        ("nnnn-", ["kept", "lost", "lost", "lost", ""]),
        # Far away it may be lost.
        ("f-n", ["", "", "kept"]),
    ],
)
def test_a_vehicle_in_the_stopping_zone_is_not_lost(seen: str, expected: list[str]) -> None:
    assert labels("vehicle_not_lost", seen) == expected


@pytest.mark.parametrize(
    ("seen", "at"), [("nfn", 1), ("nffn", 1), ("nfffn", None), ("ffn", None), ("nff", None)]
)
def test_a_reaction_flickers(seen: str, at: int | None) -> None:
    expected = ["flickers" if index == at else "steady" for index in range(len(seen))]
    assert labels("reaction_steady", seen) == expected
