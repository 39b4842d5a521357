"""Planned paths: what is refused, and what follows from the points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from roadworthy.errors import FrameError
from roadworthy.frames import PlannedPath


@pytest.mark.parametrize(
    ("points", "times", "complaint"),
    [
        ([], [], "n × 2"),
        ([[1, 2, 3]], [1], "n × 2"),
        ([[1, 2]], [1, 2], "a time for each"),
        ([[1, float("nan")]], [1], "finite"),
        ([[1, 0], [2, 0]], [1, 1], "rise"),
        ([[1, 0]], [0], "above 0"),
        ([["a", "b"]], [1], "numbers"),
    ],
)
def test_it_is_refused(points: Sequence[object], times: Sequence[float], complaint: str) -> None:
    with pytest.raises(FrameError, match=complaint):
        PlannedPath(points, times)  # type: ignore[arg-type]


def test_a_circle_has_its_headings_and_speed() -> None:
    angles = np.linspace(0.05, 1.5, 30)
    path = PlannedPath(np.stack([20 * np.sin(angles), 20 * (1 - np.cos(angles))], axis=1), angles * 2)
    assert path.speeds == pytest.approx(np.full(30, 10.0), rel=0.01)
    assert path.headings() == pytest.approx(angles - 0.025, abs=0.001)
    assert path.mirrored().points[:, 1] == pytest.approx(-path.points[:, 1])
    assert path.offset(path) == pytest.approx(0, abs=1e-9)


def test_who_stands_still_keeps_its_heading() -> None:
    path = PlannedPath([[3, 3], [3, 3], [3, 3]], [1, 2, 3])
    assert path.headings() == pytest.approx([np.pi / 4] * 3)
    assert PlannedPath([[0, 0]], [1]).headings() == [0]
