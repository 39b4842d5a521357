"""Drawings of specifications: what is drawn where."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from roadworthy.bbsl import parse
from roadworthy.bbsl.checking import CheckFinding, Witness
from roadworthy.bbsl.checking.models import FunctionValue
from roadworthy.bbsl.checking.results import ProofStatus
from roadworthy.bbsl.comparing import compare
from roadworthy.bbsl.coverage import SpecCoverage
from roadworthy.bbsl.testing import TestRow
from roadworthy.bbsl.values import Box, Interval
from roadworthy.errors import InputError
from roadworthy.report.bbsl import _borders, draw_cells, draw_coverage, draw_findings, draw_labelled
from roadworthy.report.plots import save

CAR = Box(Interval(100, 300), Interval(50, 150))
WITNESS = Witness(
    (
        FunctionValue("car", (), CAR),
        FunctionValue("near", (), Interval(0, 75)),
        FunctionValue("lane", (), (CAR, Box(Interval(-50, 20), Interval(0, 9)))),
        FunctionValue("wet", (), True),
        FunctionValue("speed", (CAR,), 3.5),
    ),
    1242,
    375,
    ("stop",),
)
REFUTED = CheckFinding("exclusionary", ("stop", "go"), ProofStatus.REFUTED, WITNESS)


def outlines(axes: object) -> set[tuple[float, float, float, float]]:
    patches = [one for one in axes.patches if isinstance(one, Rectangle) and not one.get_fill()]  # type: ignore[attr-defined]
    return {(one.get_x(), one.get_y(), one.get_width(), one.get_height()) for one in patches}


def texts(axes: object) -> list[str]:
    return [one.get_text() for one in axes.texts]  # type: ignore[attr-defined]


def test_a_witness_is_drawn_y_upward_with_names() -> None:
    (axes,) = draw_findings([REFUTED], axes_of={"near": "y"}).axes
    assert outlines(axes) >= {(100, 50, 200, 100), (-50, 0, 70, 9), (0, 0, 1242, 375)}
    assert sorted(texts(axes)) == ["car", "lane[1]", "lane[2]", "near"]
    assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]
    assert axes.get_xlim()[0] < -50
    assert "wet = true" in axes.get_xlabel()
    assert "speed(([100, 300], [50, 150])) = 3.5" in axes.get_xlabel()
    assert "'stop' and 'go' hold at once" in axes.get_title(loc="left")


def test_an_interval_whose_axis_is_not_known_is_written_below() -> None:
    (axes,) = draw_findings([REFUTED]).axes
    assert "near = [0, 75]" in axes.get_xlabel()


def test_findings_have_a_panel_each(tmp_path: object) -> None:
    figure = draw_findings([REFUTED] * 3)
    assert len(figure.axes) == 4
    with pytest.raises(InputError, match="nothing to draw"):
        draw_findings([CheckFinding("exclusionary", ("stop", "go"), ProofStatus.PROVED)])


def test_cells_show_object_and_detection() -> None:
    row = TestRow("000007", ("stop",), ("go",), False, -2.5, 0.7, (10, 20, 30, 40), (11, 20, 30, 44))
    table = compare([row], expectations=("stop", "go"))
    figure = draw_cells(
        table.cells[0.6], lambda _: np.zeros((50, 100, 3), np.uint8), (1242, 375), title="cells"
    )
    filled = [axes for axes in figure.axes if axes.get_xlabel()]
    assert [axes.get_xlabel() for axes in filled] == ["000007 · IoU 0.70 · margin -2.50 px"]
    assert outlines(filled[0]) == {(10, 20, 20, 20), (11, 20, 19, 24)}
    assert sum(texts(axes) == ["no test case"] for axes in figure.axes) == len(table.cells[0.6]) - 1
    assert [one.get_text() for one in figure.legends[0].get_texts()] == ["object", "its detection"]
    # All that is written lies inside the picture.
    figure.draw_without_rendering()
    whole, captions = figure.bbox, [axes.xaxis.label.get_window_extent() for axes in filled]
    assert all(whole.y0 <= one.y0 and one.y1 <= whole.y1 for one in captions)
    assert all(figure.legends[0].get_window_extent().y1 <= one.y0 for one in captions)
    # The part round the boxes, in the shape of the image, y down.
    low, high = filled[0].get_ylim()
    assert 50 >= low > 44
    assert high < 20
    with pytest.raises(InputError, match="nothing to draw"):
        draw_cells(compare([]).cells.get(0.6, ()), lambda _: None, (1, 1))


def test_coverage_and_frames_are_drawn(tmp_path: object) -> None:
    spec = parse("exfunction v(): bb endexfunction case stop PROJ_y(v()) ~ [0, 100] endcase")
    coverage = SpecCoverage(spec, grid=(2, 3))
    coverage.add({"v": [0, 0, 10, 300]}, moving=["v"], height=375, width=1242, place=(5, 300))
    left, right = draw_coverage(coverage, (1242, 375), zones={"near": ("y", [275, 375])}).axes
    assert texts(left) == ["0", "0", "0", "1", "0", "0"]
    assert "0%" in right.get_title(loc="left")
    figure = draw_labelled(None, (100, 50), [([1, 2, 3, 4], "stop")], labels=("stop",), zones={}, title="a")
    assert outlines(figure.axes[0]) >= {(1, 2, 2, 2)}
    assert math.isclose(figure.axes[0].get_ylim()[0], 50)
    save(figure, f"{tmp_path}/frame.png")


def test_borders_are_approached_from_both_sides_of_0() -> None:
    class Atom:
        case, text, has_border, nearest_true, nearest_false = "stop", "a", True, 5.0, 3.0

    class Coverage:
        atoms, near, border_share = (Atom(),), 2.0, 0.5

    axes = Figure().subplots()
    _borders(axes, Coverage())  # type: ignore[arg-type]
    places = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_marker() == "o"]
    assert places == [5.0, -3.0]
    assert axes.get_title("left") == "borders approached from both sides: 50%"
