"""Figures of reliability."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from roadworthy.images import read_image
from roadworthy.report.plots import Held, held_figure, save


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
