"""Oracles from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers.recorded import write_drive

Run = Callable[..., Result]


def _recorded(folder: Path, name: str, wobble: float, *, crash: bool = False) -> Path:
    rng = np.random.default_rng(len(name) + int(wobble * 1000))
    time = np.arange(600) / 15
    offset = wobble * np.sin(2 * time) + rng.normal(0, 0.01, 600)
    signals = {"speed": 10 + 0.1 * np.sin(time), "lane_offset": offset, "steering": 10 * offset}
    events = {"crash": (time > 30) if crash else np.zeros(600)}
    place = folder / name
    place.mkdir(parents=True)
    write_drive(Drive(name, time, signals, events).cut_by_time(8), place / "drive.parquet")
    return place


@pytest.fixture
def drives(tmp_path: Path) -> Path:
    for model, wobble in (("dave2", 0.1), ("chauffeur", 0.12)):
        _recorded(tmp_path / "nominal", model, wobble)
        for number in range(3):
            _recorded(tmp_path / f"{model}-mutants", f"{model}-{number}", wobble + 0.1 * number)
    _recorded(tmp_path / "dave2-mutants", "dave2-crashes", 0.9, crash=True)
    return tmp_path


def _json(roadworthy: Run, *words: Any) -> Any:
    done = roadworthy("driving", "oracle", *map(str, words), "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_thresholds_kill_the_mutants_that_swing_wider(roadworthy: Run, drives: Path, tmp_path: Path) -> None:
    problem = tmp_path / "problem.smt2"
    found = _json(
        roadworthy,
        *("--nominal", drives / "nominal" / "dave2", "--mutants", drives / "dave2-mutants"),
        *("--metric", "SD(LP)", "--metric", "Max(SA)", "--smtlib", problem),
    )
    assert found["optimal"]
    assert set(found["killed"]) >= {"dave2-1", "dave2-2"}
    assert found["left_out"] == {"dave2-crashes": "crash"}
    assert found["sectors"] == 15
    assert problem.read_text().count("assert-soft") == 15


def test_oracles_of_all_sizes_are_tried_on_another_model(roadworthy: Run, drives: Path) -> None:
    words = [
        *("--nominal", drives / "nominal" / "dave2", "--mutants", drives / "dave2-mutants"),
        *("--test-nominal", drives / "nominal" / "chauffeur", "--test-mutants", drives / "chauffeur-mutants"),
        *("--size", 2, "--give-up", 1),
    ]
    found = _json(roadworthy, *words)
    assert [(row["size"], row["give_up"]) for row in found["rows"]] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert len(found["ranking"]) == 2
    shown = roadworthy("driving", "oracle", *map(str, words))
    assert shown.exit_code == 0
    assert "Left out, 1: dave2-crashes (crash)" in shown.output
    assert found["left_out"] == {"dave2-crashes": "crash"}


def test_directions_are_those_that_are_said_and_never_without_effect(roadworthy: Run, drives: Path) -> None:
    words = ["--nominal", drives / "nominal" / "dave2", "--mutants", drives / "dave2-mutants"]
    metrics = ["--metric", "Mean(SP)", "--metric", "Max(LP)"]
    found = _json(roadworthy, *words, *metrics)
    assert found["directions"] == {"Mean(SP)": "down", "Max(LP)": "up"}
    found = _json(roadworthy, *words, *metrics, "--up", "Mean(Speed)", "--down", "Max(LP)")
    assert found["directions"] == {"Mean(SP)": "up", "Max(LP)": "down"}
    for more, message in (
        (["--down", "Min(ACC)"], "has a direction but is none of the metrics"),
        (["--up", "Max(LP)", "--down", "Max(LP)"], "upwards or downwards, not both"),
        (["--down", "Max(XY)"], "no metric XY"),
        (["--seconds", "nan"], "seconds of the search must be 0 or more"),
        (["--give-up", "99"], "expected to give up 0 to 4"),
    ):
        done = roadworthy("driving", "oracle", *map(str, [*words, *metrics, *more]))
        assert (done.exit_code, message in " ".join(done.output.split())) == (2, True), done.output


def test_what_is_not_as_one_would_expect_is_told(roadworthy: Run, drives: Path) -> None:
    _recorded(drives / "nominal", "unlucky", 0.1, crash=True)
    words = ["--nominal", drives / "nominal", "--mutants", drives / "dave2-mutants"]
    found = _json(roadworthy, *words)
    assert found["bad_nominal"] == {"unlucky": "crash"}
    assert {"Mean(TPP)", "SD(BPP)"} <= set(found["not_known"])
    shown = " ".join(roadworthy("driving", "oracle", *map(str, words)).output.split())
    assert "Nominal, but not driven well, 1: unlucky (crash)" in shown
    assert "Not known in every sector, so not looked at:" in shown


def test_what_is_missing_is_said(roadworthy: Run, drives: Path, tmp_path: Path) -> None:
    done = roadworthy("driving", "oracle", "--nominal", str(drives / "nominal"))
    assert (done.exit_code, "--mutants" in done.output) == (2, True)
    (tmp_path / "empty").mkdir()
    done = roadworthy("driving", "oracle", "--nominal", str(tmp_path / "empty"), "--mutants", str(drives))
    assert (done.exit_code, "found no drive" in done.output) == (2, True)


def test_what_to_expect_of_a_new_good_lap_is_told(roadworthy: Run, drives: Path) -> None:
    laps = drives / "laps"
    for number in range(9):
        _recorded(laps / str(number), "dave2", 0.1 + 0.003 * number)
    words = ["--nominal", laps, "--mutants", drives / "dave2-mutants", "--metric", "SD(LP)"]
    tight = _json(roadworthy, *words)
    assert tight["false_alarm_bound"] == {
        **{"unit": "lap", "units": 9, "alarms": 1, "left_out": 1, "probability": 0.1},
        "words": "A new good lap, by these drivers on these tracks, raises an alarm with probability at most "
        "10.0% (1 in 10). Left out of the fit one at a time, 1 of 9 laps raise one.",
    }
    shown = " ".join(roadworthy("driving", "oracle", *map(str, words)).output.split())
    assert tight["false_alarm_bound"]["words"] in shown
    wide = _json(roadworthy, *words, "--metric", "Max(SA)", "--thresholds", "conformal", "--alarms", "10%")
    assert wide["conformal"]
    assert wide["false_alarm_bound"]["probability"] == 0.1
    for more, message in (
        (["--thresholds", "conformal"], "at most 5% of new good laps take 19 laps to learn from, got 9"),
        (["--thresholds", "conformal", "--alarms", "0"], "between 0 and 1, both excluded, got 0"),
        (["--thresholds", "conformal", "--alarms", "100%"], "between 0 and 1, both excluded, got 1"),
        (["--thresholds", "conformal", "--alarms", "some"], "--alarms must be a share such as 10%"),
        (["--thresholds", "conformal", "--give-up", "1"], "--give-up, --seconds and --smtlib are for"),
        (["--alarms", "5%"], "--alarms is for --thresholds conformal"),
        (["--thresholds", "loose"], "'loose' is not one of"),
        (["--unit", "track"], "nobody recorded which track dave2 drove"),
        (["--unit", "year"], "'year' is not one of"),
    ):
        done = roadworthy("driving", "oracle", *map(str, [*words, *more]))
        assert (done.exit_code, message in " ".join(done.output.split())) == (2, True), done.output
