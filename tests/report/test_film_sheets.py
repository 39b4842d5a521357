"""Strips of film: which frames of a clip they show, and what stands below them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Scalar
from roadworthy.report import rules as sheets
from roadworthy.report.drawing import BACKGROUND
from roadworthy.report.rules import film_sheet, violation_sheet
from roadworthy.report.sheets import Tile
from roadworthy.rules import parse
from roadworthy.rules.generation import plan_for
from roadworthy.runs.store.writing import add_image

PLAN = plan_for(parse("If it rains, the ego-vehicle should slow down within 1 s.")).over(0.0)


def row(images: Path, frames: int, **known: Scalar) -> dict[str, Scalar]:
    """A clip whose first frame is grey level 10 and changed 20, the second 30 and 40, and so on."""
    stored = [
        add_image(images, np.full((40, 80, 3), 10 + 10 * number, np.uint8)) for number in range(2 * frames)
    ]
    course = "; ".join(f"{0.5 * number:.2f} 9.0 {8 - number:.1f}" for number in range(frames))
    return {
        "case": "drive-7", "images": " ".join(stored), "param.change.1": "rain", "param.clip": 1.5,
        "measure.course.1": course, "measure.decides": 1, **known,
    }  # fmt: skip


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> list[Tile]:
    """What the next sheet consists of."""
    found: list[Tile] = []
    whole = vars(sheets)["contact_sheet"]

    def noted(some: Sequence[Tile], *columns: int, **options: Any) -> Any:
        found[:] = some
        return whole(some, *columns, **options)

    monkeypatch.setattr(sheets, "contact_sheet", noted)
    return found


def levels(tiles: Sequence[Tile]) -> list[int]:
    return [int(one.image[5, 5, 0]) for one in tiles]


def test_a_clip_of_three_frames_is_two_strips_that_repeat_none(tmp_path: Path, tiles: list[Tile]) -> None:
    made = violation_sheet(PLAN, [row(tmp_path, 3)], tmp_path, title="night")
    above, below = tiles[:6], tiles[6:]
    blank = [BACKGROUND[0]] * 3
    assert levels(above) == [10, 30, 50, *blank]
    assert levels(below) == [20, 40, 60, *blank]
    assert [one.title for one in above] == ["0.0 s", "0.5 s", "1.0 s", "", "", ""]
    assert [one.note for one in above] == ["drive-7", "", "", "", "", ""]
    assert all(one.title for one in below[:3])
    assert made.ndim == 3


def test_a_long_clip_is_shown_by_six_frames_with_the_one_that_decides(
    tmp_path: Path, tiles: list[Tile]
) -> None:
    film_sheet(PLAN, [row(tmp_path, 11)], tmp_path, title="night")
    assert [one.title for one in tiles[:6]] == ["0.5 s", "1.0 s", "2.0 s", "3.0 s", "4.0 s", "5.0 s"]


def test_a_film_says_what_was_estimated(tmp_path: Path, tiles: list[Tile]) -> None:
    known = row(tmp_path, 3, **{"measure.labels_from": "street (estimated)"})
    film_sheet(PLAN, [known], tmp_path, title="night")
    assert tiles[0].note == "drive-7; labels are estimated (street)"


def test_what_is_seen_before_or_after_what_counts_is_not_shown(tmp_path: Path, tiles: list[Tile]) -> None:
    course = "-1.00 9.0 8.0; -0.50 - -; 0.00 9.0 9.5; 0.50 9.0 9.5; 1.00 - -; 1.50 9.0 9.5"
    known: dict[str, Scalar] = {"measure.course.1": course, "measure.decides": 3}
    film_sheet(PLAN, [{**row(tmp_path, 6), **known}], tmp_path, title="night")
    assert [one.title for one in tiles[:2]] == ["0.0 s", "0.5 s"]
    assert levels(tiles[:3]) == [50, 70, BACKGROUND[0]]
