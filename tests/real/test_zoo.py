"""Our own networks on real frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.datasets import UdacityCh2Dataset
from roadworthy.models import load_model
from roadworthy.models.training import evaluate


def test_a_network_trained_on_real_frames_beats_the_zero_predictor_on_later_ones(real_data: Path) -> None:
    data = UdacityCh2Dataset(str(real_data / "udacity_ch2"))[3600:]
    measures = {one.name: one.value for one in evaluate(load_model("dave2-udacity"), data)}
    assert measures["steering RMSE as recorded"] == pytest.approx(0.168, abs=2e-3)
    assert measures["steering RMSE of always 0 as recorded"] == pytest.approx(0.297, abs=1e-3)
