"""Plots of what people tolerate and of the levels of changes."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from roadworthy.errors import InputError
from roadworthy.papers.reliability import LevelStudy, study_bins
from roadworthy.papers.reliability_figures import (
    distribution_figure,
    draw_subsets,
    draw_thresholds,
    range_figure,
)
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


def test_ranges_and_distributions_show_every_transformation() -> None:
    some = np.linspace(0.1, 0.7, 30)
    studies = [
        LevelStudy("fog", 0.8, 0.6, some.reshape(5, 6), some, some),
        LevelStudy("rgb-shift", None, None, np.zeros((0, 0)), some, np.zeros(0)),
    ]
    (axis,) = range_figure(studies).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["rgb-shift", "fog"]
    boxes = [bar.get_path().get_extents(bar.get_patch_transform()) for bar in axis.patches]
    ends = {(round(box.x0, 6), round(box.x1, 6)) for box in boxes}
    assert ends == {(0.0, 0.6), (0.0, 0.8), (0.1, 0.7)}
    assert [one.get_title() for one in distribution_figure(studies).axes] == ["fog", "rgb-shift"]
