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


def test_sizes_grids_and_empty_places_of_figures() -> None:
    plain = estimate_threshold(BINS, samples=0)
    sizes = {count: draw_thresholds([plain] * count).get_size_inches().tolist() for count in (1, 2, 4, 5)}
    assert sizes == {
        1: pytest.approx([6.4, 4.4]),
        2: pytest.approx([7.2, 3.5]),
        4: pytest.approx([14.4, 3.5]),
        5: pytest.approx([14.4, 6.6]),
    }
    some = np.linspace(0.1, 0.7, 30)
    studies = [LevelStudy(f"change {n}", 0.8, 0.6, some.reshape(5, 6), some, some) for n in range(5)]
    (axis,) = range_figure(studies).axes
    assert not any(line.get_visible() for line in axis.get_ygridlines())
    assert any(line.get_visible() for line in axis.get_xgridlines())
    assert range_figure(studies).get_size_inches().tolist() == pytest.approx([7.2, 0.55 * 5 + 1.2])
    drawn = distribution_figure(studies)
    assert drawn.get_size_inches().tolist() == pytest.approx([4 * 3.1 + 0.6, 2 * 2.3 + 0.6])
    assert [one.get_visible() for one in drawn.axes] == [True] * 5 + [False] * 3
    assert [bool(one.get_xlabel()) for one in drawn.axes] == [False] * 4 + [True] * 4
    (legend,) = drawn.legends
    assert [one.get_text() for one in legend.get_texts()] == [
        *("ImageNet-C, five levels", "parameters drawn as published", "even over Δv (ours)")
    ]


def test_what_was_published_is_drawn_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = estimate_threshold(BINS, samples=0)
    for published, drawn in ((found.value + 0.1, True), (found.value, False), (None, False)):
        monkeypatch.setattr(type(BINS), "published", published)
        labels = draw_thresholds([found]).axes[0].get_legend_handles_labels()[1]
        assert ("published" in labels) is drawn
