from __future__ import annotations

import numpy as np

from roadworthy.coverage.search.findings import CoverageGrowth
from roadworthy.frames import Frame, Signals
from roadworthy.report.plots import ShownFinding, draw_growth, finding_sheet


def test_growth_has_a_line_for_each_search_in_percent_and_in_failures() -> None:
    searches = {
        "random": CoverageGrowth([0.2, 0.3], [0, 1]),
        "curious": CoverageGrowth([0.2, 0.4, 0.5], [0, 0, 2]),
    }
    coverage, failures = draw_growth(searches, criterion="top-k").axes
    assert coverage.get_ylabel() == "top-k coverage (%)"
    assert [line.get_label() for line in coverage.lines] == ["random", "curious"]
    np.testing.assert_allclose(np.asarray(coverage.lines[1].get_ydata(), float), [20, 40, 50])
    np.testing.assert_array_equal(coverage.lines[1].get_xdata(), [0, 1, 2])
    np.testing.assert_array_equal(failures.lines[0].get_ydata(), [0, 1])
    assert draw_growth({"random": searches["random"]}).axes[0].get_legend() is None


def test_a_finding_is_a_row_of_original_changed_image_and_difference() -> None:
    dark = np.zeros((40, 80, 3), np.uint8)
    dark[20:, 20:] = 200
    original = Frame("town-1", dark, signals=Signals(steering=1.0))
    changed = original.replace(image=255 - dark, signals=Signals(steering=-9.0))
    shown = ShownFinding(original, changed, "error -10 deg, 1 failure", "brightness(bias=20)")
    one = finding_sheet([shown], title="curious")
    two = finding_sheet([shown, shown], title="curious")
    assert one.shape[1] == two.shape[1]
    assert two.shape[0] > 1.5 * one.shape[0]
    third = one.shape[1] // 3
    assert not np.array_equal(one[:, :third], one[:, third : 2 * third])
