"""Figures of reliability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.kept import as_kept

from roadworthy.images import read_image
from roadworthy.report.plots import Held, held_figure, save
from roadworthy.report.reliability import _table


def test_a_measure_over_the_visual_change_is_the_mean_of_each_part_of_the_range(tmp_path: Path) -> None:
    changes = np.linspace(0, 0.799, 240)
    held = Held("net", changes, (changes < 0.4).astype(float), 0.9)
    figure = held_figure({"fog": [held], "rain": [held]}, {"fog": 0.8, "rain": 0.8}, "accuracy")
    fog, rain = figure.axes
    curve, required = fog.get_lines()
    assert (fog.get_title(), rain.get_title(), fog.get_ylabel()) == ("fog", "rain", "accuracy")
    np.testing.assert_array_equal(curve.get_ydata(), [1.0] * 6 + [0.0] * 6)
    np.testing.assert_array_equal(required.get_ydata(), [0.9, 0.9])
    save(figure, tmp_path / "held.png")
    assert read_image(tmp_path / "held.png").std() > 10


def test_a_part_of_the_range_needs_three_images_to_have_a_mean() -> None:
    changes = np.array([0.05] * 3 + [0.35] * 2 + [0.85] * 4)
    figure = held_figure({"fog": [Held("net", changes, np.ones(9), 0.9)]}, {"fog": 1.0}, "accuracy")
    curve, _ = figure.axes[0].get_lines()
    np.testing.assert_allclose(np.asarray(curve.get_xdata(), np.float64), np.array([0.05, 0.85]))


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "transformation": "fog",
        "preserve": "correctness",
        "limit": 0.8,
        "required": 0.95,
        "distance": 0.02,
        "bound": 0.04,
        "lower_bound": 0.001,
        "rule": "bound",
        "tolerance": 0.05,
        "status": "passed",
        "confidence": 0.95,
        "requirements": 1,
        "clusters": 60,
        "clusters_needed": 59,
        "counted": "images",
        "vacuous": False,
        "counts": {"error": 0},
        "share_reaching": 0.9,
        "reach": 0.75,
        "summary": "the summary",
    }
    return row | changes


def test_a_table_says_what_its_reader_should_know() -> None:
    few = {"status": "inconclusive", "clusters": 20}
    rows = [
        a_row(),
        a_row(requirements=3, confidence=0.999),
        a_row(distance=0.05, bound=0.1, **few),
        a_row(distance=0.0501, status="violated"),
        a_row(rule="paper", distance=0.2, converged=True),
        a_row(rule="paper", transformation="rain", converged=False),
        a_row(vacuous=True, required=0.123),
        a_row(vacuous=True, required=0.0, preserve="prediction"),
        a_row(counts={"error": 2}, share_reaching=0.5),
        a_row(counts={"error": 1}, share_reaching=None),
        a_row(share_reaching=0.499, limit=0.7),
        a_row(status="inconclusive", clusters=59),
        {name: value for name, value in a_row(status="inconclusive").items() if name != "distance"},
    ]
    as_kept(Path(__file__).with_name("kept") / "reliability.txt", f"{_table('dave2: accuracy', rows)}\n")
