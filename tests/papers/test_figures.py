from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.coverage.oracle import BrokenRelation, ModelAnswers
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.images import read_image
from roadworthy.papers.deeptest import study_change, study_deviation, study_transformations
from roadworthy.papers.deeptest.activity import Activity, HowCounted
from roadworthy.papers.deeptest.deviation import DeviationFinding
from roadworthy.papers.deeptest.directions import DirectionRow, DirectionStudy
from roadworthy.papers.deeptest.figures import (
    CheckPair,
    _draw_counts,
    check_sheet,
    draw_change,
    draw_deviation,
    draw_directions,
    draw_transformations,
)
from roadworthy.papers.deeptest.statistics import Statistic
from roadworthy.report.plots import save
from roadworthy.result_tables import ResultTable


def activity(model: str) -> Activity:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, (12, 2))
    return Activity(
        model,
        8,
        HowCounted(),
        ("blur", "shear"),
        (2, 2),
        rng.integers(0, 256, (12, 1), np.uint8),
        {name: rng.integers(0, 9, (12, 2)) for name in ("blur", "shear")},
        counts,
        np.maximum.accumulate(counts, axis=1),
        {("blur", "shear"): rng.random((12, 2, 2), np.float32)},
    )


def test_directions_in_two_colours() -> None:
    angles = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    half, none = Statistic(0.5, 0.2), Statistic(None, None, "few")
    row = DirectionRow("epoch", "all", 8, 6, 2, 3, 0.5, half, half, none, None)
    study = DirectionStudy((row,), "predicted", HowCounted(), {"epoch": angles / 10}, {"epoch": angles})
    points, boxes = draw_directions(study).axes
    assert points.get_title() == "epoch: Spearman +0.50"
    assert [np.size(line.get_xdata()) for line in points.lines] == [2, 3, 1]
    assert boxes.get_title() == "left against right: Cohen's d not computable"
    assert [one.get_text() for one in boxes.get_xticklabels()] == ["left (2)", "right (3)"]


def test_transformations_have_a_box_for_each_pair_and_model(tmp_path: Path) -> None:
    study = study_transformations([activity("dave2"), activity("epoch")])
    figure = draw_transformations(study)
    distances, growth = figure.axes
    # Each of two models: all pairs, the pair, and the seed images.
    assert len(distances.patches) == 6
    assert [one.get_text() for one in distances.get_yticklabels()] == [
        "all pairs",
        "blur, shear",
        "seed images",
    ]
    assert [line.get_label() for line in growth.lines] == ["dave2", "epoch"]
    assert np.array_equal(growth.lines[0].get_ydata(), [100 * one.share for one in study.growth[:3]])
    save(figure, tmp_path / "figure.png")
    assert min(read_image(tmp_path / "figure.png").shape[:2]) > 200


def test_change_has_a_box_for_each_transformation() -> None:
    (plot,) = draw_change(study_change([activity("dave2")])).axes
    assert [one.get_text() for one in plot.get_xticklabels()] == [
        "seed image",
        "blur",
        "shear",
        "other seed images",
    ]
    assert len(plot.patches) == 4


def test_deviation_shows_both_errors_and_counts() -> None:
    answers = ModelAnswers("m", [0.0] * 4, [0, 0, 0, 2.0], {("fog", 1): [4.0, -4.0, 0.0, 2.5]}, unit="rad")
    errors, counts = draw_deviation(study_deviation([answers], lam=3)).axes
    # A box for the violations, and one for their originals.
    assert len(errors.patches) == 2
    assert errors.get_ylabel() == "deviation from the label, rad"
    assert [line.get_label() for line in counts.lines][-1] == "fog"
    # Squared errors 16, 16, 0 and 6.25 against λ times an MSE of 1.
    assert np.array_equal(counts.lines[-1].get_ydata(), [3] * 6 + [2] * 4)
    unknown = ResultTable("", ("λ", "ε = 1", "fog"), (("1", "4", "-"), ("2", "3", "5")))
    _draw_counts(counts, unknown)
    solid, dashed = counts.lines[-2:]
    np.testing.assert_array_equal(np.asarray(dashed.get_ydata(), float), [np.nan, 5.0])
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")


def test_nothing_that_violates_is_said() -> None:
    answers = ModelAnswers("m", [0.0] * 2, [1.0, 1.0], {("fog", 1): [0.0, 0.0]}, unit="rad")
    errors, _ = draw_deviation(study_deviation([answers])).axes
    assert errors.texts[0].get_text() == "nothing violates Equation 2"


def test_a_sheet_has_two_pictures_of_each_finding() -> None:
    image = np.full((60, 80, 3), 90, np.uint8)
    before = Frame("a", image, signals=Signals(steering=2.0))
    after = Frame("a~blur", image + np.uint8(9))
    worst = BrokenRelation("a", "blur", ("gaussian", 3), error=0.5, margin=-0.1)
    finding = DeviationFinding("m-001", "m", worst, 2, 0.1, 0.2, 0.6, inherited=True)
    pair = CheckPair(finding, before, after, (Signals(steering=1.0), Signals(steering=-1.0)))
    one, three = (check_sheet([pair] * count, title="m") for count in (1, 3))
    assert one.shape[1] < three.shape[1], "two findings stand beside each other"
    assert one.shape[0] < three.shape[0]
    with pytest.raises(InputError, match="at least one tile, got none"):
        check_sheet([])


def test_long_names_stand_aslant() -> None:
    activities = [activity("dave2"), activity("epoch")]
    answers = ModelAnswers("m", [0.0, 0.1], [0.0, 0.2], {("fog", 1): [4.0, -4.0]}, unit="rad")
    drawn = {
        25: draw_change(study_change(activities)).axes[0],
        40: draw_transformations(study_transformations(activities)).axes[1],
        60: draw_deviation(study_deviation([answers])).axes[0],
    }
    for degrees, axes in drawn.items():
        assert {one.get_rotation() for one in axes.get_xticklabels()} == {float(degrees)}
