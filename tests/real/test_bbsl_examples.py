"""The ready specifications on real traffic: in every frame that they speak of, exactly one case holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.bbsl import FrameView, load, load_bindings
from roadworthy.frames import Boxes

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "bbsl"
NUMBERED = sorted(EXAMPLES.glob("[01]*.bbsl"))


@pytest.fixture(scope="module")
def views(real_data: Path) -> list[FrameView]:
    files = sorted((real_data / "kitti" / "detector" / "label_2").glob("*.txt"))
    assert len(files) == 481
    return [
        FrameView(
            file.stem, 375, 1242, Boxes.from_kitti(file.read_text(), on_unknown="skip", on_invalid="skip")
        )
        for file in files
    ]


def test_there_are_eighteen() -> None:
    assert len(NUMBERED) == 18


@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.stem)
def test_one_case_holds_in_every_frame(path: Path, views: list[FrameView]) -> None:
    spec = load(path)
    values = load_bindings(EXAMPLES / "bindings.yaml").columns(views)
    # The vehicle that cuts in or enters the roadway: the largest of the frame.
    largest = [
        None if not len(one.boxes) else one.boxes.xyxy[int(one.boxes.area.argmax())].tolist() for one in views
    ]
    for name in ("vehicleCuttingIn", "vehicleEnteringRoadway"):
        values |= {name: largest, f"{name}Exists": [one is not None for one in largest]}
    outcomes = spec.evaluate_many(values, height=375, width=1242, count=len(views))
    applies = outcomes.applies == 1
    assert applies.sum() > 100
    held = np.stack(list(outcomes.values.values()))
    assert (held[:, applies] >= 0).all()
    assert ((held[:, applies] == 1).sum(axis=0) == 1).all()
    for row in range(0, len(views), 40):
        one_by_one = {
            name: column[row] if _is_column(column, views) else column for name, column in values.items()
        }
        assert spec.evaluate(one_by_one, height=375, width=1242).cases == outcomes.cases(row)


def _is_column(value: object, views: list[FrameView]) -> bool:
    return isinstance(value, list) and len(value) == len(views)
