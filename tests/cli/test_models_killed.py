"""A training that is killed goes on where it was, and comes to the same network."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from typer.testing import Result

TRAIN = (
    *(
        "models",
        "train",
        "epoch",
        "-m",
        "width=64",
        "-m",
        "height=32",
        "-m",
        "channels=8,8,8",
        "-m",
        "hidden=8",
    ),
    *("--data", "world:town", "-o", "count=24", "-o", "size=64x32"),
    *("--batch", "4", "--device", "cpu", "--workers", "1", "--patience", "100000"),
)

torch.set_num_threads(1)


def test_a_training_that_is_killed_goes_on(roadworthy: Callable[..., Result], tmp_path: Path) -> None:
    # Far more epochs than it will get, so that it is killed in the midst whatever the machine.
    command = [sys.executable, "-m", "roadworthy", *TRAIN, "--out", "killed", "--epochs", "100000"]
    checkpoint = tmp_path / "killed" / "checkpoint.pt"
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}) as running:
        while not checkpoint.exists() or _epochs(checkpoint) < 2:
            assert running.poll() is None
            time.sleep(0.01)
        running.kill()
    assert not (tmp_path / "killed" / "epoch.onnx").exists()
    epochs = str(_epochs(checkpoint) + 2)
    resumed = roadworthy(*TRAIN, "--out", "killed", "--epochs", epochs, "--resume")
    assert resumed.exit_code == 0, resumed.output
    whole = roadworthy(*TRAIN, "--out", "whole", "--epochs", epochs)
    assert whole.exit_code == 0, whole.output
    found, expected = ((tmp_path / name / "epoch.onnx").read_bytes() for name in ("killed", "whole"))
    assert found == expected


def _epochs(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, weights_only=True)["epoch"])
