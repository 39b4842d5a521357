"""A guided search on real frames with the network that was trained on earlier ones of the same drive."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.datasets import UdacityCh2Dataset
from roadworthy.models import load_model
from roadworthy.runs.store import StoredRun


def test_a_search_on_the_real_drive_judges_in_the_unit_of_the_recording(
    real_data: Path, tmp_path: Path
) -> None:
    drive = real_data / "udacity_ch2"
    result = CliRunner().invoke(
        app,
        f"coverage search --model dave2-udacity --data udacity-ch2:{drive} --frames 3600: --sample 12 "
        f"--tries 80 --lambda 5 --out {tmp_path / 'out'} --json",
    )
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert document["unit"] == "rad"
    assert document["coverage"]["reached"] > document["coverage"]["originals"]
    assert 0 < len(document["findings"]) <= document["failing_tries"] <= 80

    rows = list(StoredRun.open(tmp_path / "out").rows())
    data = UdacityCh2Dataset(str(drive))
    table = {name: data[data.ids.index(name)] for name in {str(row["param.frame"]) for row in rows}}
    predicted = load_model("dave2-udacity").predict(list(table.values()))
    degrees = np.array([one.steering for one in predicted])  # type: ignore[union-attr]
    labels = np.array([frame.signals.steering for frame in table.values()])
    # The recording is in radians at the steering wheel, 14.4 times what the wheels turn.
    mse = np.mean((np.deg2rad(degrees - labels) * 14.4) ** 2)
    assert document["mse"] == pytest.approx(mse, rel=1e-3)
    assert document["bound"] == pytest.approx(5 * mse, rel=1e-3)
