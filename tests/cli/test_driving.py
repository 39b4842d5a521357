"""``roadworthy driving``: drives that are recorded, measured, drawn and filmed."""

from __future__ import annotations

import csv
import json
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import read_drive, write_drive
from roadworthy.driving.simulators import Controls, Situation, WorldSimulator
from roadworthy.errors import SimulatorError
from roadworthy.images import read_image
from roadworthy.report.driving import Film

FAILS = """
from roadworthy.frames import Signals

def bad(frames):
    return [Signals(steering=6.0, speed=9.0) for _ in frames]

def hang(frames):
    import time
    if frames[0].id.endswith("3"):
        time.sleep(600)
    return [Signals(steering=0.0, speed=9.0) for _ in frames]

def die(frames):
    import os
    if frames[0].id.endswith("3"):
        os._exit(7)
    return [Signals(steering=0.0, speed=9.0) for _ in frames]

def nan(frames):
    return [Signals(steering=float("nan")) for _ in frames]
"""


DRIVE = ("driving", "drive", "--model", "truth", "-o", "traffic=0", "--out", "lap")


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drivers.py").write_text(FAILS)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_drive_is_recorded_measured_and_drawn(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    command = [
        "driving",
        "drive",
        "--model",
        "truth",
        "-s",
        "world:town",
        "-o",
        "traffic=0",
        "--seconds",
        "1",
        "--out",
        "lap",
    ]
    result = roadworthy(*command)
    assert result.exit_code == 0, result.output
    assert "truth in world:town: time over, " in result.stdout
    assert "failing sectors  none" in result.stdout
    assert "town-01" in result.stdout
    driven = read_drive(str(tmp_path / "lap"))
    assert (driven.name, len(driven), driven.ended) == ("truth", 16, "time over")
    assert read_image(tmp_path / "lap/drive.png").shape[0] > 500
    rows = read_csv(tmp_path / "lap/metrics.csv")
    assert [row["sector"] for row in rows] == ["town-01"]
    assert float(rows[0]["Max(LP)"]) == pytest.approx(np.abs(driven.signals["lane_offset"]).max())
    document = json.loads((tmp_path / "lap/drive.json").read_text())
    assert (document["rows"], document["video"], document["events"]["crash"]) == (16, None, 0)
    assert not list((tmp_path / "lap").glob("*.mp4"))


@pytest.mark.usefixtures("models")
def test_a_failing_sector_is_filmed(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    result = roadworthy(
        "driving", "drive", "--model", "python:drivers:bad", "-s", "world:meadow", "-o", "traffic=0",
        "--out", "bad", "--json",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert document["ended"] == "crash"
    assert (document["counts"]["violated"], document["exit_code"]) == (1, 1)
    assert document["failing_sectors"] == ["meadow-01"]
    assert document["video"] == "meadow-01.mp4"
    import cv2

    film = cv2.VideoCapture(str(tmp_path / "bad/meadow-01.mp4"))
    assert int(film.get(cv2.CAP_PROP_FRAME_COUNT)) == document["rows"]
    assert film.get(cv2.CAP_PROP_FPS) == pytest.approx(15.0, abs=0.1)


def test_a_video_on_request(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    drive = [
        "driving",
        "drive",
        "--model",
        "truth",
        "-s",
        "world:meadow",
        "-o",
        "traffic=0",
        "--seconds",
        "0.5",
        "--out",
        "lap",
    ]
    assert roadworthy(*drive, "--video", "all", "--video-format", "gif").exit_code == 0
    assert (tmp_path / "lap/drive.gif").read_bytes()[:3] == b"GIF"
    told = json.loads((tmp_path / "lap/drive.json").read_text())
    assert (told["simulator"], told["model"], told["options"]) == ("world:meadow", "truth", {"traffic": "0"})
    result = roadworthy(*drive, "--video", "none")
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "lap holds a run with suite" in told
    assert "other requirements, models, data or options were given; run with the same" in told
    result = roadworthy(*drive, "--video", "meadow-07", "--out", "again")
    assert result.exit_code == 2
    assert "has no sector 'meadow-07': it has meadow-01" in result.stderr
    assert (tmp_path / "again/drive.json").is_file()


@pytest.mark.usefixtures("models")
def test_a_model_that_answers_nan_is_named(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    result = roadworthy("driving", "drive", "--model", "python:drivers:nan", "--out", "lap")
    assert result.exit_code == 1
    assert "steering must be finite, got nan" in " ".join(result.stdout.split())
    assert read_drive(str(tmp_path / "lap")).ended.startswith("the model failed: ")


def test_an_interrupted_drive_is_kept(
    roadworthy: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = WorldSimulator.step

    def interrupted(self: WorldSimulator, controls: Controls) -> Situation:
        situation = step(self, controls)
        if situation.time > 0.3:
            raise KeyboardInterrupt
        return situation

    monkeypatch.setattr(WorldSimulator, "step", interrupted)
    result = roadworthy(*DRIVE, "--metres", "10")
    assert result.exit_code == 130
    driven = read_drive(str(tmp_path / "lap/drives/drive-truth-1.parquet"))
    assert (len(driven), driven.ended) == (5, "the drive was interrupted")
    monkeypatch.setattr(WorldSimulator, "step", step)
    assert roadworthy(*DRIVE, "--metres", "10").exit_code == 0
    assert read_drive(str(tmp_path / "lap")).ended == "distance driven"


def test_what_a_simulator_drove_before_it_failed_is_kept(
    roadworthy: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = WorldSimulator.step

    def failing(self: WorldSimulator, controls: Controls) -> Situation:
        situation = step(self, controls)
        if situation.time > 0.3:
            raise SimulatorError("the engine is gone")
        return situation

    monkeypatch.setattr(WorldSimulator, "step", failing)
    result = roadworthy(*DRIVE, "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["failures"][0]["reason"] == "the engine is gone"
    driven = read_drive(str(tmp_path / "lap"))
    assert (len(driven), driven.ended) == (5, "the simulator failed: the engine is gone")
    assert document["ended"] == driven.ended


@pytest.mark.slow
@pytest.mark.parametrize("way", ["hang", "die"])
@pytest.mark.usefixtures("models")
def test_what_a_model_drove_before_it_hung_or_died_is_kept(
    roadworthy: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("ROADWORTHY_EXECUTOR")  # what a user gets who says nothing: a process for the model
    result = roadworthy(
        "driving", "drive", "--model", f"python:drivers:{way}", "-o", "traffic=0", "--seconds", "2",
        "--timeout", "4", "--out", "lap",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    assert read_drive(str(tmp_path / "lap")).ended == "the drive was cut off"


def test_an_oracle_judges_the_drive(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "oracle.json").write_text('{"thresholds": {"Max(LP)": 0.0001}}')
    drive = [*DRIVE, "--metres", "130", "-o", "fps=5", "--video", "none", "--json"]
    result = roadworthy(*drive, "--oracle", "oracle.json")
    assert result.exit_code == 1, result.output
    (judged,) = json.loads(result.stdout)["results"]
    assert "Max(LP) ≤ 0.0001, and there is no crash or line crossing" in judged["text"]
    assert roadworthy(*drive, "--out", "events").exit_code == 0


def test_a_simulator_that_is_not_there(roadworthy: Callable[..., Result]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = roadworthy(
        "driving", "drive", "--model", "truth", "-s", f"donkey:127.0.0.1:{port}", "-o", "wait=0.1"
    )
    assert result.exit_code == 2
    assert f"no simulator listens on 127.0.0.1:{port}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-s", "world:twon"], "unknown track 'twon': did you mean 'town'?"),
        (["-s", "wrold"], "there is no simulator 'wrold'; did you mean 'world'?"),
        (["-o", "trafic=1"], "'world' has no option 'trafic'"),
        (["--end-at", "crsh"], "there is no event 'crsh'"),
        (["--metric", "XX"], "no metric XX"),
        (["--seconds", "0"], "seconds: expected above 0"),
        (["--video-format", "avi"], "'avi' is not one of"),
    ],
)
def test_what_is_refused_before_the_drive(
    roadworthy: Callable[..., Result], tmp_path: Path, given: list[str], message: str
) -> None:
    result = roadworthy("driving", "drive", "--model", "truth", *given)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "drive-out").exists()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    time = np.arange(60) / 15
    drive = Drive(
        "lap",
        time,
        {"speed": 5 + time, "lane_offset": np.sin(time), "distance": 5 * time + time**2 / 2},
        {"crash": time > 3.5},
        notes=["a row was left out"],
        ended="crash",
    )
    write_drive(drive, tmp_path / "drive.parquet")
    return tmp_path


def test_the_catalogue_lists_all_metrics(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    result = roadworthy("driving", "metrics", "--list", "--csv", "all.csv")
    assert result.exit_code == 0
    rows = read_csv(tmp_path / "all.csv")
    assert len(rows) == 127
    assert sum(int(row["uses"]) for row in rows) == 810
    assert rows[3]["meaning"] == "seconds to crash"
    assert "SD(LP)" in result.stdout


def test_the_catalogue_says_what_a_log_lacks(roadworthy: Callable[..., Result], log: Path) -> None:
    result = roadworthy("driving", "metrics", "--list", "drive.parquet", "--json")
    document = json.loads(result.stdout)
    by_name = {row["metric"]: row for row in document["metrics"]}
    assert by_name["SD(LP)"]["computable"]
    assert by_name["Mean(HP)"] == by_name["Mean(HP)"] | {"computable": False, "missing": "the signal headway"}
    text = roadworthy("driving", "metrics", "--list", ".").stdout
    assert "needs the signal headway" in " ".join(text.split())
    assert "Note: a row was left out." in text
    assert f"{sum(row['computable'] for row in document['metrics'])} of 127 metrics" in text


def test_metrics_of_a_drive(roadworthy: Callable[..., Result], log: Path) -> None:
    result = roadworthy("driving", "metrics", ".", "--json")
    (row,) = json.loads(result.stdout)["values"]
    assert row["Max(SP)"] == pytest.approx(5 + 59 / 15)
    assert row["Count(CR)"] == 1
    assert row["TimeE(CR)"] == pytest.approx(53 / 15)
    text = roadworthy("driving", "metrics", ".").stdout
    assert "Mean(SP)" in text
    assert "mean of speed" in text


def test_metrics_of_sectors_and_steps(roadworthy: Callable[..., Result], log: Path) -> None:
    found = roadworthy("driving", "metrics", ".", "--cut-seconds", "1", "--per", "sector", "--csv", "s.csv")
    assert found.exit_code == 0, found.output
    rows = read_csv(log / "s.csv")
    assert [row["sector"] for row in rows] == ["1", "2", "3", "4"]  # the last is whole
    assert rows[0]["TimeE(CR)"] == "inf"
    assert "Max(LP)" in found.stdout
    metres = roadworthy("driving", "metrics", ".", "--cut-metres", "10", "--per", "sector", "--json")
    assert len(json.loads(metres.stdout)["values"]) == 3
    roadworthy("driving", "metrics", ".", "--per", "step", "--metric", "LP", "--csv", "steps.csv")
    steps = read_csv(log / "steps.csv")
    assert len(steps) == 60
    assert float(steps[15]["LP"]) == pytest.approx(np.sin(1.0))


def test_a_table_with_a_mapping(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("t,v\n0,36\n100,72\n200,36\n")
    (tmp_path / "map.yaml").write_text(
        "time: {column: t, unit: ms}\nsignals:\n  speed: {column: v, unit: km/h}\n"
    )
    result = roadworthy(
        "driving", "metrics", "table:log.csv", "-o", "mapping=map.yaml", "-o", "gap=0.5", "--json",
        "--metric", "Max(Speed)",
    )  # fmt: skip
    assert json.loads(result.stdout)["values"][0]["Max(SP)"] == 20.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "give the log of a drive, or --list"),
        (["nowhere"], "expected format:path for a drive, got 'nowhere'"),
        ([".", "--per", "hour"], "'hour' is not one of"),
        ([".", "--metric", "Mean(HP)"], "Mean(HP) of drive lap needs the signal headway"),
        ([".", "--metric", "Mean(XX)"], "no metric XX"),
        ([".", "--cut-metres", "0"], "metres of a sector must be above 0"),
        ([".", "--cut-metres", "5", "--cut-seconds", "1"], "not both"),
        ([".", "-o", "gap=1"], "options belong to a format"),
        ([".", "--settings", "absent.yaml"], "absent.yaml"),
    ],
)
def test_what_metrics_refuses(
    roadworthy: Callable[..., Result], log: Path, given: list[str], message: str
) -> None:
    result = roadworthy("driving", "metrics", *given)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_numbers_have_units_and_half_sectors_a_mark(roadworthy: Callable[..., Result], log: Path) -> None:
    found = roadworthy("driving", "metrics", ".", "--metric", "SD(SP)", "--metric", "Count(CR)")
    assert "m/s" in found.stdout
    assert "times" in found.stdout
    told = roadworthy("driving", "metrics", ".", "--cut-seconds", "1.5", "--per", "sector", "--csv", "s.csv")
    assert "rest *" in told.stdout
    assert "* The drive ended in the middle of this sector." in told.stdout
    assert [row["partial"] for row in read_csv(log / "s.csv")] == ["False"] * 2 + ["True"]
    document = json.loads(roadworthy("driving", "metrics", ".", "--per", "sector", "--json").stdout)
    assert document["units"]["Var(SP)"] == "(m/s)²"
    assert document["values"][0]["partial"] is True
    listed = roadworthy("driving", "metrics", "--list", "--json").stdout
    units = {row["metric"]: row["unit"] for row in json.loads(listed)["metrics"]}
    assert (units["Ent(ACC)"], units["Count(CR)"]) == ("bits", "times")


def test_frames_are_kept_on_request(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    drive = ["driving", "drive", "--model", "truth", "-o", "traffic=0", "--seconds", "0.5"]
    found = roadworthy(*drive, "--video", "none", "--frames", "--out", "lap")
    assert found.exit_code == 0, found.output
    assert len(Film.read(tmp_path / "lap/frames.zip")) == len(read_drive(str(tmp_path / "lap")))
    assert "frames.zip" in found.stdout
