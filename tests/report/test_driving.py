"""Drives drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors
from roadworthy.driving.metrics import compute
from roadworthy.errors import InputError
from roadworthy.report.drive_tables import DriveMetrics, drive_facts, sector_rows
from roadworthy.report.driving import drive_figure
from roadworthy.report.plots import save
from roadworthy.result_tables import ResultTable


def a_drive(**changes: object) -> Drive:
    time = np.arange(40) / 10
    given: dict[str, object] = {
        "signals": {
            "x": 10 * time, "y": np.zeros(40), "lane_offset": np.sin(time), "distance": 10 * time,
            "speed": np.full(40, 10.0), "steering": np.zeros(40),
        },
        "events": {"crash": time > 3.85, "line crossing": (time > 1.25) & (time < 1.5)},
        "sectors": np.arange(40) // 10,
        "sector_names": ("a", "b", "c", "d"),
    } | changes  # fmt: skip
    return Drive("lap", time, **given)  # type: ignore[arg-type]


def test_the_sectors_that_failed() -> None:
    assert failing_sectors(a_drive()) == ("b", "d")
    assert failing_sectors(a_drive(events={})) == ()


def test_what_is_unknown_or_infinite_is_json_all_the_same() -> None:
    speed = np.where(np.arange(40) < 10, np.nan, 10.0)
    drive = a_drive(
        events={"crash": np.arange(40) >= 25}, signals={"speed": speed, "distance": np.arange(40)}
    )
    rows = sector_rows(compute(drive, ["TimeE(CR)", "Mean(SP)"]), [False, False, True, False])
    told = json.loads(json.dumps(rows, allow_nan=False))
    assert [(one["sector"], one["partial"], one["Mean(SP)"]) for one in told] == [
        ("a", False, None), ("b", False, 10), ("c", True, 10), ("d", False, 10)
    ]  # fmt: skip
    assert [one["TimeE(CR)"] for one in told] == ["inf", "inf", pytest.approx(0.5), 0]
    facts = drive_facts(drive)
    assert (facts["rows"], facts["metres"], facts["events"]) == (40, 39, {"crash": 1})


def test_the_way_is_coloured_by_the_metric_and_alarms_are_marked() -> None:
    figure = drive_figure(a_drive(), "LP", alarms=("b",))
    way, along, bar = figure.axes
    marked, coloured = way.collections
    assert len(marked.get_paths()) == 10
    values = coloured.get_array()
    assert values is not None
    np.testing.assert_allclose(np.asarray(values), np.sin(np.arange(39) / 10))
    assert bar.get_ylabel() == "lateral position, m"
    assert [text.get_text() for text in way.texts] == ["a", "b", "c", "d"]
    assert {line.get_label() for line in way.lines} >= {"crash", "line crossing"}
    assert along.get_xlabel() == "m driven"


def test_a_metric_of_sectors_is_drawn_over_each() -> None:
    figure = drive_figure(a_drive(), "Max(LP)")
    values = figure.axes[0].collections[-1].get_array()
    assert values is not None
    assert len(np.unique(values)) == 4


def test_without_a_map_only_the_metric_along_the_way_is_drawn(tmp_path: Path) -> None:
    bare = Drive("log", [0.0, 0.1, 5.0], {"lane_offset": [0.1, 0.2, 0.3]}, gap=1.0)
    figure = drive_figure(bare)
    assert len(figure.axes) == 1
    assert figure.axes[0].get_xlabel() == "s"
    save(figure, tmp_path / "log.png")


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="HP of drive lap needs the signal headway"):
        drive_figure(a_drive(), "HP")
    with pytest.raises(InputError, match="has no sector 'e': it has a, b, c, d"):
        drive_figure(a_drive(), alarms=("e",))


def test_metrics_of_a_drive_its_sectors_and_its_steps() -> None:
    drive = a_drive()
    whole = DriveMetrics.of(drive, ["Mean(SP)"])
    assert whole.rows == [{"drive": "lap", "sector": "whole", "Mean(SP)": 10.0}]
    assert whole.document["units"] == {"Mean(SP)": "m/s"}
    assert isinstance(whole.shown, ResultTable)
    assert whole.shown.rows[0][:3] == ("Mean(SP)", "10", "m/s")
    sectors = DriveMetrics.of(drive, sectors=True)
    assert [row["sector"] for row in sectors.rows] == ["a", "b", "c", "d"]
    assert sectors.conclusion.endswith("metrics lack a signal: see --list with this log.")
    steps = DriveMetrics.steps(drive, ["LP"])
    assert len(steps.rows) == 40
    assert steps.rows[5] == {"time": 0.5, "LP": pytest.approx(np.sin(0.5))}
    with pytest.raises(InputError, match=r"Mean\(HP\) of drive lap needs the signal headway"):
        DriveMetrics.of(drive, ["Mean(HP)"])


def test_the_catalogue_says_what_a_drive_allows() -> None:
    everything = DriveMetrics.catalogue()
    assert len(everything.rows) == 127
    allowed = DriveMetrics.catalogue(a_drive())
    by_name = {row["metric"]: row for row in allowed.rows}
    assert by_name["SD(LP)"]["computable"]
    assert not by_name["Mean(HP)"]["computable"]
    count = sum(row["computable"] for row in allowed.rows)
    assert allowed.conclusion == f"{count} of 127 metrics can be computed from lap."
