"""Drives from data sets that know signals: comma2k19, MCAP files and nuScenes, in their published layouts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets import test_bag, test_comma2k19, test_nuscenes
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.driving.drives.readers import logs, read_drive, read_typed
from roadworthy.driving.metrics import compute
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Signals
from roadworthy.runs.store import StoredRun


def routes(folder: Path) -> Path:
    """Write two routes: one of two segments with a minute in between, one of a single segment."""
    if folder.exists() and any(folder.iterdir()):
        return folder
    for number in (0, 1):
        test_comma2k19.segment(folder / "one", number)
    test_comma2k19.segment(folder / "two", 3)
    other = folder / "two" / test_comma2k19.ROUTE
    other.rename(other.with_name("other-route"))
    return folder


def test_routes_of_comma2k19(tmp_path: Path) -> None:
    drive = read_drive(f"comma2k19:{routes(tmp_path)}")
    assert drive.sector_names == (test_comma2k19.ROUTE, "other-route")
    assert len(drive) == 120
    # 20 m/s at the beginning of a segment, 1 m/s more in each second; its frames begin after half a second.
    np.testing.assert_allclose(drive.signals["speed"][:40], 20.5 + np.arange(40) / 20)
    # 30 degrees to the left at the wheel in each second, by 15.3 at the wheels.
    np.testing.assert_allclose(drive.signals["steering"][:40], -30 / 15.3 * (0.5 + np.arange(40) / 20))
    assert np.count_nonzero(drive.gaps) == 2  # between segments, and between routes
    table = compute(drive, ["D", "Mean(SP)", "T"])
    length = 39 / 20
    assert table["D"].tolist() == pytest.approx([2 * length * 21.475, length * 21.475])
    assert table["T"].tolist() == pytest.approx([2 * length, length])
    assert any("1 gap of more than 1 s" in note for note in drive.notes)
    alone = read_drive(f"comma2k19:{tmp_path}", drive="other-route")
    assert (alone.name, len(alone), alone.time[0]) == ("other-route", 40, 0)
    with pytest.raises(InputError, match="has no drive 'other': did you mean 'other-route'"):
        read_drive(f"comma2k19:{tmp_path}", drive="other")


def test_an_mcap_file_with_speed_and_steering(tmp_path: Path) -> None:
    file = test_bag.mcap(tmp_path / "drive.mcap", test_bag.drive())
    options = {"speed": "/motion", "steering": "/motion"}
    drive = read_drive(f"mcap:{file}", **options)
    np.testing.assert_allclose(drive.signals["speed"][:9], 10 + np.arange(9) / 2)
    assert math.isnan(drive.signals["speed"][9])  # after the last message nothing is known
    assert drive.signals["steering"][0] == pytest.approx(math.degrees(math.atan(2.7 * 0.2 / 10)))
    assert drive.signals["distance"][-2] == pytest.approx(0.8 * 12)
    again = read_drive(f"bag:{file}", **options)
    np.testing.assert_array_equal(drive.signals["speed"], again.signals["speed"])
    with pytest.raises(InputError, match=r"neither speed nor steering .* where 'mcap' has options for"):
        read_drive(f"mcap:{file}")


def test_a_scene_of_nuscenes_has_places(tmp_path: Path) -> None:
    drive = read_drive(f"nuscenes:{test_nuscenes.written(tmp_path)}", sweeps=True)
    assert len(drive) == 13
    np.testing.assert_allclose(drive.signals["speed"], 10, rtol=0.01)
    turned = 0.2 * np.arange(13) / 12
    np.testing.assert_allclose(drive.signals["x"], 50 * np.sin(turned), atol=1e-9)
    np.testing.assert_allclose(drive.signals["y"], -50 + 50 * np.cos(turned), atol=1e-9)
    assert drive.signals["distance"][-1] == pytest.approx(10, rel=0.01)
    assert drive.signals["steering"][6] == pytest.approx(math.degrees(math.atan(2.588 / 50)), rel=0.01)


def test_pieces_and_what_is_left(tmp_path: Path) -> None:
    source = f"comma2k19:{routes(tmp_path)}"
    cut = read_typed(source, {"drive": "other-route", "cut_metres": "20", "gap": "2"})
    assert (cut.sector_names, cut.gap) == (("1", "2", "rest"), 2.0)
    assert read_typed(source, {"cut_seconds": 1.5}).sector_names[-2:] == ("other-route 1", "other-route rest")
    for wrong, told in (
        ({"cut_seconds": 1, "cut_metres": 2}, "not both"),
        ({"cut_metres": "far"}, "'cut_metres' .* a number"),
        ({"stap": "1"}, "no option 'stap': did you mean 'step'"),
    ):
        with pytest.raises(InputError, match=told):
            read_typed(source, wrong)


def test_what_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="comma2k19 data set must be a folder, found nothing"):
        read_drive(f"comma2k19:{tmp_path}/nowhere")
    with pytest.raises(InputError, match="expected format:path for a drive, got 'coma2k19:x'"):
        read_drive("coma2k19:x")
    with pytest.raises(InputError, match=r"options belong to a format: .* got 'lap'"):
        read_typed("lap", {"a": "b"})


def test_metrics_of_a_log(tmp_path: Path) -> None:
    routes(tmp_path)
    words = [
        "driving",
        "metrics",
        f"comma2k19:{tmp_path}",
        "--per",
        "sector",
        "--metric",
        "Mean(SP)",
        "--json",
    ]
    document = json.loads(CliRunner().invoke(app, words).stdout)
    assert [row["sector"] for row in document["values"]] == [test_comma2k19.ROUTE, "other-route"]
    result = CliRunner().invoke(app, [*words, "-o", "step=2"])
    assert json.loads(result.stdout)["rows"] == 60


def judged(tmp_path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    routes(tmp_path / "data")
    result = CliRunner().invoke(
        app,
        ["driving", "check", "comma2k19:data", *words, "--executor", "serial", "--out", "checked", "--json"],
    )
    return result.exit_code, json.loads(result.stdout or "{}") | {"told": " ".join(result.stderr.split())}


def test_a_log_is_judged_like_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The wheels are turned by up to 4.8 degrees.
    code, document = judged(tmp_path, "--limit", "Mean(SP)=21", "--limit", "Max(SA)=4.5")
    (result,) = document["results"]
    assert (code, result["model"], result["counts"]["violated"]) == (1, "truth", 2)


def test_pieces_of_a_log_are_cases_and_its_drives_are_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = judged(tmp_path, "--limit", "Min(SP)=21", "--cut-seconds", "0.5")
    rows = {str(row["case"]).rpartition("/")[2]: row for row in StoredRun.open(tmp_path / "checked").rows()}
    route = test_comma2k19.ROUTE
    assert {str(row["cluster"]).rpartition("/")[2] for row in rows.values()} == {route, "other-route"}
    status = {name: row["status"] for name, row in rows.items() if name.startswith("other-route")}
    # Two seconds at 20 Hz are four pieces, and nothing is left.
    assert list(status) == [f"other-route {number}" for number in (1, 2, 3, 4)]
    assert list(status.values()) == ["violated", *3 * ["passed"]]
    assert code == 1
    # What was judged is kept with the run, and can be measured as a drive.
    (kept,) = (tmp_path / "checked/drives").iterdir()
    assert read_drive(str(kept)).sector_names[-1] == "other-route 4"


def test_what_cannot_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "either --oracle or --limit" in judged(tmp_path)[1]["told"]
    assert (
        "no drive is as long as a piece"
        in judged(tmp_path, "--limit", "Mean(SP)=1", "--cut-metres", "9e3")[1]["told"]
    )
    code, document = judged(tmp_path, "--limit", "SD(LP)=0.2")
    assert code == 3
    assert any("SD(LP) needs the signal lane_offset" in note for note in document["notes"])
    suite = tmp_path / "suites" / "log.yaml"
    suite.parent.mkdir()
    suite.write_text(
        "models: {dave2: dave2}\n"
        "requirements: {L1: {driving: {Mean(SP): 20}, simulator: 'log:comma2k19:../data'}}\n"
    )
    result = CliRunner().invoke(app, ["run", str(suite), "--executor", "serial"])
    assert "dave2 did not drive log:comma2k19:" in result.output
    suite.write_text(suite.read_text().replace("dave2", "truth").replace("{Mean(SP): 20}", "{}"))
    result = CliRunner().invoke(app, ["run", str(suite), "--executor", "serial"])
    assert "needs a threshold of a metric" in result.output


class Recorded:
    """Two drives; of b no row can be read, and in a nobody knows the speed in the middle."""

    clusters = ("a", "a", "a", "b", "b")

    def __len__(self) -> int:
        return 5

    def signals(self, number: int) -> Signals:
        if number > 2:
            raise FrameError(f"row {number} is cut short")
        return Signals(timestamp=number / 2, speed=None if number == 1 else 10.0)


def test_a_drive_that_cannot_be_read_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "load", lambda *_, **__: Recorded())
    with pytest.raises(InputError, match="no row of b can be read: row 3 is cut short"):
        read_drive("nuscenes:there")


def test_metres_are_driven_where_the_speed_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "load", lambda *_, **__: Recorded())
    monkeypatch.setattr(Recorded, "clusters", ("a",) * 3)
    monkeypatch.setattr(Recorded, "__len__", lambda _: 3)
    assert read_drive("nuscenes:there").signals["distance"][-1] == pytest.approx(10)
