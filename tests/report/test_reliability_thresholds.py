"""Plots of what people tolerate."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from roadworthy.errors import InputError
from roadworthy.papers.reliability import study_bins
from roadworthy.papers.reliability_figures import draw_subsets, draw_thresholds
from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
from roadworthy.report.plots import save

BINS = SimulatedHumans(0.6, images=2000).answer(seed=1)


def test_everything_that_a_threshold_rests_on_is_drawn(tmp_path: Path) -> None:
    found = estimate_threshold(BINS, samples=100)
    figure = draw_thresholds([found])
    (axis,) = figure.axes
    _, labels = axis.get_legend_handles_labels()
    assert set(labels) >= {
        "answers",
        "spline, 83%",
        "threshold",
        "spread of repetitions",
        "where the drop begins",
    }
    assert f"{found.value:.2f}" in axis.get_title()
    dots = axis.collections[[one.get_label() for one in axis.collections].index("answers")]
    assert isinstance(dots, PathCollection)
    assert len(np.asarray(dots.get_offsets())) == len(BINS)
    assert dots.get_sizes().max() > dots.get_sizes().min()  # by the number of answers
    for name in ("a.png", "b.png"):
        save(draw_thresholds([found]), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_several_side_by_side() -> None:
    assert sum(one.axison for one in draw_thresholds([estimate_threshold(BINS, samples=0)] * 5).axes) == 5
    studies = [study_bins(BINS, pairs=2)] * 2
    titles = [one.get_title() for one in draw_subsets(studies).axes]
    assert len(titles) == 2
    assert "alike in" in titles[0]


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw_thresholds([])
