"""What is exported of a drive: what cannot be, and that nothing is written over."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.driving.drives import Drive
from roadworthy.driving.exporting import export_drive
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver
from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import callable_model

MEADOW = Scenario("world:meadow", {"traffic": 0, "fps": 5.0}, DriveLimits(laps=None, seconds=2.0))


def driven(answer: Signals) -> Drive:
    model = callable_model(lambda frames: [answer for _ in frames])
    return ScenarioDriver().drive(MEADOW, model)


def test_a_second_drive_does_not_replace_the_first(tmp_path: Path) -> None:
    drive = driven(Signals(steering=0.0, speed=5.0))
    files = export_drive(MEADOW, drive, tmp_path)
    before = [one.read_text("utf-8") for one in files]
    with pytest.raises(InputError, match=r"meadow.xosc is there already: write to another folder"):
        export_drive(MEADOW, driven(Signals(steering=1.0, speed=5.0)), tmp_path)
    assert [one.read_text("utf-8") for one in files] == before
    assert export_drive(MEADOW, drive, tmp_path / "other")[0].read_text("utf-8") == before[0]


def test_a_drive_by_pedals_is_refused(tmp_path: Path) -> None:
    drive = driven(Signals(steering=0.0, throttle=1.0))
    with pytest.raises(InputError, match="as it was, such as where a model answers pedals, or the world is"):
        export_drive(MEADOW, drive, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_drive_elsewhere_is_refused(tmp_path: Path) -> None:
    drive = Drive("a", np.array([0.0, 0.1]), {"speed": np.array([1.0, math.nan])})
    with pytest.raises(InputError, match=r"gymnasium:CarRacing-v3 does not tell its road: drives on the"):
        export_drive(Scenario("gymnasium:CarRacing-v3"), drive, tmp_path)


CRASHING = """
from roadworthy.frames import Signals

asked = []

def predict(frames):
    asked.extend(frames)
    if len(asked) % 4 == 0:
        raise ValueError("boom")
    return [Signals(steering=0.0, speed=5.0) for _ in frames]
"""


def test_where_the_model_crashed_is_a_case_that_failed(tmp_path: Path) -> None:
    """A search says how many drives ended so, and such a drive is exported up to there."""
    (tmp_path / "crashing.py").write_text(CRASHING)
    run, out = tmp_path / "run", tmp_path / "out"
    model = f"python:{tmp_path / 'crashing.py'}:predict"
    asked = ["driving", "search", "--model", model, "-s", "world:meadow", "-o", "fps=5.0", "-o", "traffic=0"]
    asked += ["--vary", "seed=0 to 3", "--change", "nothing", "--tries", "2", "--seconds", "3"]
    result = CliRunner().invoke(app, [*asked, "--executor", "serial", "--out", str(run)])
    assert result.exit_code == 1, result.output
    assert "0 failures of 0 kinds in 2 tries; 2 of 2 drives ended in an error" in result.output
    assert not (run / "failures.suite.yaml").exists()
    exported = ["driving", "export", str(run), "--suite", str(run / "suite.yaml"), "--out", str(out)]
    result = CliRunner().invoke(app, exported)
    assert result.exit_code == 0, result.output
    assert "boom" in result.output
    assert {one.name for one in out.iterdir()} == {"meadow.xosc", "meadow.xodr"}
