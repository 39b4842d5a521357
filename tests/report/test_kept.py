"""What the report draws, kept: every line, word, colour and place of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kept import as_kept, defaults_of, described, drawn_as_kept
from tests.report.test_bbsl import CAR, WITNESS
from tests.report.test_driving import a_drive

from roadworthy.bbsl import parse
from roadworthy.bbsl.checking import CheckFinding, Witness
from roadworthy.bbsl.checking.models import FunctionValue
from roadworthy.bbsl.checking.results import ProofStatus
from roadworthy.bbsl.comparing import compare
from roadworthy.bbsl.coverage import SpecCoverage
from roadworthy.bbsl.testing import TestRow
from roadworthy.bbsl.values import Box, Interval
from roadworthy.cases import ClassScores, InverseDepth
from roadworthy.coverage.search.findings import CoverageGrowth
from roadworthy.driving.drives import Drive
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.ontology import ontology
from roadworthy.report.bbsl import draw_cells, draw_check, draw_coverage, draw_findings, draw_labelled
from roadworthy.report.drawing import (
    draw_depth_legend,
    draw_difference,
    draw_frame,
    draw_legend,
    draw_signals,
    draw_text,
    line_color,
    palette_color,
    round_rectangle,
)
from roadworthy.report.driving import _captioned, drive_figure
from roadworthy.report.html.charts import Chart
from roadworthy.report.html.page import environment
from roadworthy.report.plots import Held, ShownFinding, draw_growth, finding_sheet, growth_figure, held_figure
from roadworthy.report.sheets import (
    Pair,
    Tile,
    contact_sheet,
    frame_sheet,
    pair_sheet,
    prediction_sheet,
    transform_strip,
    variants,
)
from roadworthy.transforms import kind_of

KEPT = Path(__file__).with_name("kept")


def scene(id: str = "a", size: tuple[int, int] = (60, 120), **others: object) -> Frame:
    """Return a frame with everything that can be known about one."""
    height, width = size
    rows, columns = np.mgrid[:height, :width]
    image = np.dstack([rows * 3, columns * 2, (rows + columns) % 250]).astype(np.uint8)
    ids = np.zeros(size, np.uint8)
    for number, name in enumerate(("road", "sidewalk", "sky", "vehicle")):
        ids[:, width // 5 * (number + 1) :] = ontology().label_id(name)
    depth = np.geomspace(2, 200, width, dtype=np.float32)[None].repeat(height, 0)
    depth[:6], depth[6:12] = np.inf, np.nan
    instances = (columns // 30 * (rows > 20)).astype(np.uint16)
    boxes = Boxes(
        [[10, 20, 50, 50], [12, 22, 30, 48], [80, 2, 118, 58], [60, 5, 63, 9]],
        ["car", "pedestrian", "truck", "car"],
        occlusion=[0.1, 0.45, 0.0, 0.9],
        scores=[0.5, 0.25, 0.999, 0.1],
    )
    known = {"boxes": boxes, "labels": LabelMap(ids), "depth": depth, "instances": instances}
    return Frame(id, image, **{**known, "signals": Signals(speed=12.0, steering=-3.0), **others})


def written(words: str, x: float, y: float, size: float, *, bold: bool) -> NDArray[np.uint8]:
    canvas = np.full((36, 200, 3), 40, np.uint8)
    draw_text(canvas, words, x, y, size, (250, 200, 100), bold=bold)
    return canvas


def test_frames_and_strips_are_drawn_as_kept() -> None:
    frame = scene()
    crowd = scene(
        boxes=Boxes(
            [[1, 1, 119, 59], *([20 + 4 * i, 20, 40 + 4 * i, 55] for i in range(8))],
            ["truck", *["pedestrian"] * 8],
        )
    )
    corners = np.zeros((40, 80, 3), np.uint8)
    round_rectangle(corners, (5.5, 4), (60, 30), 9, (10, 200, 90))
    round_rectangle(corners, (64, 4), (76, 38), 90, (200, 20, 90))
    drawn_as_kept(
        KEPT / "frames.json",
        {
            **{
                one: draw_frame(frame, one)
                for one in ("boxes", "labels", "depth", "instances", "signals", "none")
            },
            "all, small": draw_frame(frame, "labels,boxes,signals,instances,depth", 0.75),
            "at its size": draw_frame(frame, "none", 1),
            "unlabelled": draw_frame(frame, "labels,boxes", 3, legend=False),
            "crowd": draw_frame(crowd, "boxes", 3),
            "difference": draw_difference(frame, frame.replace(image=frame.image // 2 + 60)),
            "legend": draw_legend(["sky", "road", "void", "vehicle", "road"], 150, margin=5),
            "wide legend": draw_legend(ontology().label_classes, 500, background=(90, 10, 10)),
            "depth legend": draw_depth_legend(400),
            "narrow depth legend": draw_depth_legend(90),
            "signals": draw_signals(Signals(speed=8.0, steering=2.5), 320, "truth"),
            "far right": draw_signals(Signals(speed=90.0, steering=60.0), 300),
            "far left": draw_signals(Signals(steering=-60.0), 200),
            "straight": draw_signals(Signals(speed=0.05, steering=0.0), 280, "a long name"),
            "narrow": draw_signals(Signals(speed=20.0, steering=5.0), 150, "model"),
            "rounded": corners,
            "words": written("Speed 3.5° → Köln · Δ x-y 東", 4, 16, 11, bold=False),
            "bold": written("Bold Ag|", 6.6, 20.4, 15.5, bold=True),
            "cut off": written("beyond the edges of it all", -20, 2, 12, bold=False),
            "captioned": _captioned(frame.image, a_drive(), 13),
            "crashed": _captioned(frame.image, a_drive(signals={"speed": np.full(40, np.nan)}), 39),
        },
    )


def test_colours_of_classes() -> None:
    assert {
        name: (palette_color(name), line_color(name)) for name in ("road", "pedestrian", "sky", "zebra")
    } == {
        "road": ((128, 64, 128), (218, 109, 218)),
        "pedestrian": ((220, 20, 60), (255, 56, 96)),
        "sky": ((70, 130, 180), (99, 184, 255)),
        "zebra": ((152, 158, 170), (228, 237, 255)),
    }


def test_sheets_are_drawn_as_kept() -> None:
    frame, other = (
        scene(),
        scene(
            "b",
            (40, 80),
            labels=None,
            boxes=Boxes([[5, 9, 30, 33]], ["car"]),
            metadata={"track": "town", "weather": "rainy"},
        ),
    )
    slower = other.replace(image=other.image // 2, signals=Signals(speed=6.0))
    tile = Tile(np.full((30, 60, 3), 200, np.uint8), "a title that is too long to fit", "note")
    ids = frame.labels
    assert ids is not None
    drawn_as_kept(
        KEPT / "sheets.json",
        {
            "tiles": contact_sheet(
                [tile, Tile(frame.image), tile], 2, title="Title", note="a note", footer=frame.image[:9]
            ),
            "one tile": contact_sheet([Tile(frame.image)], 3),
            "frames": frame_sheet([frame, other], 2, overlays="labels,depth,boxes", scale=1.0, title="t"),
            "pairs": pair_sheet(
                [Pair("night", other, slower), Pair("nothing", frame, frame)], scale=1.0, note="n"
            ),
            "strip": transform_strip([frame, other], variants(kind_of("rotation"), 3), title="rotation"),
            "without amount": transform_strip(
                [other], variants(kind_of("mirror"), 2), words=["turned"], seed=3
            ),
            "random": transform_strip(
                [other], [kind_of("rain").at(0.6)] * 2, seed=1, overlays="boxes", scale=2.0
            ),
            "signals": prediction_sheet(
                [frame, other], [Signals(speed=9.0, steering=-3.04), Signals(steering=1.0)]
            ),
            "scores": prediction_sheet(
                [frame], [ClassScores(("x", "y", "z", "w"), np.array([0.1, 0.4, 0.3, 0.2]))], tile_width=200
            ),
            "boxes": prediction_sheet(
                [frame.replace(boxes=None)], [Boxes([[-9, 5, 40, 30]], ["car"])], title="x"
            ),
            "boxes and truth": prediction_sheet([frame] * 3, [Boxes([], [])] * 3, tile_width=150, note="x"),
            "labels": prediction_sheet([frame], [LabelMap(ids.ids[::-1].copy())], tile_width=150),
            "labels alone": prediction_sheet([frame.replace(labels=None)], [ids], tile_width=150),
            "depth": prediction_sheet(
                [frame],
                [InverseDepth(np.linspace(0, 1, 7200, dtype=np.float32).reshape(60, 120))],
                tile_width=150,
            ),
            "metric depth": prediction_sheet(
                [frame.replace(depth=None)],
                [InverseDepth(np.full((60, 120), 0.1, np.float32), metric=True)],
                tile_width=150,
            ),
            "findings": finding_sheet(
                [
                    ShownFinding(
                        frame,
                        frame.replace(image=frame.image // 2, signals=Signals(speed=6.0)),
                        "error",
                        "fog",
                    )
                ],
                title="f",
                note="n",
            ),
        },
    )


def test_figures_of_specifications_are_drawn_as_kept() -> None:
    refuted = CheckFinding("exclusionary", ("stop", "go"), ProofStatus.REFUTED, WITNESS)
    proved = CheckFinding("exclusionary", ("stop", "go"), ProofStatus.PROVED)
    beside = Box(Interval(120, 290), Interval(60, 160))
    names = Witness(
        (
            FunctionValue("a", (), CAR),
            FunctionValue("b", (), beside),
            FunctionValue("lane", (), Interval(5, 30)),
        ),
        400,
        300,
        (),
    )
    rows = [
        TestRow("000007", ("stop",), ("go",), False, -2.5, 0.7, (10, 20, 30, 40), (11, 20, 30, 44)),
        TestRow("000008", ("go",), ("go",), True, float("inf"), None, (70, 2, 99, 40), None),
        TestRow("000009", ("go",), ("go",), True, 4.0, 0.9, (0, 0, 80, 45), (2, 0, 80, 44)),
    ]
    spec = parse(
        "exfunction v(): bb endexfunction case stop PROJ_y(v()) ~ [0, 100] endcase "
        "case a_case_with_a_name_that_is_too_long_to_be_written_beside PROJ_x(v()) > [7, 100] endcase"
    )
    coverage = SpecCoverage(spec, grid=(2, 3), near=4.0)
    for place, box in (
        ((5, 300), [0, 0, 10, 300]),
        ((600, 20), [580, 0, 700, 90]),
        ((610, 20), [580, 100, 700, 190]),
    ):
        coverage.add({"v": box}, moving=["v"], height=375, width=1242, place=place)
    images = {"000007": np.zeros((50, 100, 3), np.uint8), "000009": np.zeros((60, 90, 3), np.uint8)}
    zones = {"near": ("y", [275, 375]), "lane": ("x", [20, 60])}
    checked = draw_check(spec, spec.check())
    assert checked is not None
    as_kept(
        KEPT / "specifications.txt",
        "\n".join(
            described(figure)
            for figure in (
                draw_findings([refuted], axes_of={"near": "y"}),
                draw_findings([replace(refuted, witness=names)], axes_of={"lane": "x"}),
                draw_findings([replace(refuted, witness=names)], axes_of={"lane": "z"}),
                draw_findings([refuted, proved, refuted, refuted], axes_of={"near": "x"}),
                draw_findings([refuted] * 3, columns=4),
                draw_cells(
                    compare(rows, expectations=("stop", "go")).cells[0.6],
                    images.get,
                    (120, 60),
                    zones=zones,
                    title="cells",
                ),
                draw_cells(compare(rows[1:], expectations=("go",)).cells[0.6][:3], images.get, (120, 60)),
                draw_coverage(coverage, (1242, 375), zones=zones),
                draw_labelled(
                    images["000009"],
                    (1, 1),
                    [([1, 2, 3, 5], "stop"), ([9, 9, 20, 30], "(none)")],
                    labels=("stop", "go"),
                    zones=zones,
                    title="a",
                ),
                draw_labelled(None, (100, 50), [], labels=("stop",)),
                checked,
            )
        ),
    )


def test_twelve_findings_are_drawn_at_most() -> None:
    bare = CheckFinding("exclusionary", ("stop", "go"), ProofStatus.REFUTED, Witness((), 9, 9, ()))
    figure = draw_findings([bare] * 13, columns=13)
    assert len(figure.axes) == 12
    assert figure.get_size_inches().tolist() == pytest.approx([6.2 * 12, 3.1])


def test_figures_of_drives_and_measures_are_drawn_as_kept() -> None:
    lost = Drive(
        "log", [0.0, 0.1, 5.0, 5.1], {"lane_offset": [0.1, 0.2, 0.3, 0.1]}, gap=1.0, ended="collision"
    )
    far = a_drive(
        signals={**a_drive().signals, "x": np.geomspace(1, 90, 40), "y": np.geomspace(1, 20, 40)}, ended="lap"
    )
    changes = np.linspace(0.01, 0.79, 60)
    held = Held("dave2", changes, np.cos(changes), 0.97)
    few = Held("epoch", changes[:14], changes[:14] * 0.5, 0.4)
    growth = CoverageGrowth([0.2, 0.3, 0.35], [0, 0, 1])
    as_kept(
        KEPT / "figures.txt",
        "\n".join(
            described(figure)
            for figure in (
                drive_figure(a_drive(), "LP", alarms=("b", "c")),
                drive_figure(far, "Max(LP)"),
                drive_figure(lost),
                growth_figure(
                    [
                        (10, {"neuron": 0.4, "top-k": 0.1, "strong": 0.3}),
                        (20, {"neuron": 0.5, "top-k": 0.2, "strong": 0.3}),
                    ],
                    title="dave2",
                ),
                growth_figure([(5, {"neuron": 0.123})], title="one"),
                draw_growth({"algorithm-1": growth, "random": growth}, criterion="top-k"),
                draw_growth({"algorithm-1": growth}),
                held_figure(
                    {"fog": [held, few], **{f"rain {n}": [few] for n in range(4)}},
                    {"fog": 0.8, **{f"rain {n}": 0.5 for n in range(4)}},
                    "accuracy",
                ),
            )
        ),
    )


def test_charts_are_drawn_as_kept() -> None:
    chart = Chart((-0.5, 4), (0, 12.5), title="<t>", x_label="x", y_label="y & z", counted=True)
    chart.bars([(0, 1, 3), (1, 1.01, 0.001), (2, 3, 0), (3, 4, 14)], "bad")
    chart.band(-3, 2, "tolerated", "people tolerate")
    chart.line([(0, 1), (2, 8.25), (9, 9)], "series")
    chart.dots([(0, 1), (4, 12.5)], "dot")
    chart.whisker(1, 2, 8, "whisker")
    chart.upright(0, "border")
    chart.level(5, "accepted")
    shares = Chart((0, 0.2), (0, 1), title="shares", x_label="Δv", y_percent=True)
    shares.band(0.1, 0.3, "plain")
    rate_bar = getattr(environment().get_template("macros.html.jinja").module, "rate_bar")  # noqa: B009
    bars = [
        rate_bar(0, None, None, "none"),
        rate_bar(0.001, (0.0, 0.3), 0.05, "few"),
        rate_bar(1, (0.9, 1), 1, "all"),
    ]
    flat = Chart((1, 1), (2, 2), title="flat", x_label="x").svg()
    parts = "\n".join(str(one) for one in (chart.svg(), shares.svg(), flat, *bars))
    as_kept(KEPT / "charts.svg", parts.replace("><", ">\n<") + "\n")


@pytest.mark.parametrize("steps", [0, 1])
def test_a_strip_has_at_least_two_steps(steps: int) -> None:
    with pytest.raises(Exception, match=f"steps of a strip must be 2 or more, got {steps}"):
        variants(kind_of("rotation"), steps)


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("report"))
