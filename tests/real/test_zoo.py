"""Our own networks on real frames, and published ones, by our evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Dataset
from roadworthy.datasets import UdacityCh2Dataset
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models import load_model
from roadworthy.training import evaluate


class Undecoded(Dataset):
    """The recorded signals with black images: published predictions need the ids alone, not 4500 pictures."""

    name = "undecoded"

    def __init__(self, data: UdacityCh2Dataset) -> None:
        self._data = data
        self.units: SignalUnits = data.units

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int, /) -> Frame:
        black = np.zeros((2, 2, 3), np.uint8)
        return Frame(self._data.ids[index], black, signals=self._data.signals(index))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


@pytest.mark.parametrize(("name", "rmse"), [("komanda", 0.0541), ("rambo", 0.0568), ("autumn", 0.0522)])
def test_the_evaluator_on_the_published_predictions(real_data: Path, name: str, rmse: float) -> None:
    """The numbers are those of `steering.csv` itself: the root of the mean of (angle - prediction)²."""
    file = real_data / "udacity_ch2" / "steering.csv"
    units = {"steering": "rad", "steering_positive": "left", "steering_ratio": 14.4}
    model = load_model(
        f"recorded:{file}", output={"signals": ["steering"], "outputs": [name], "units": units}
    )
    table = np.genfromtxt(file, delimiter=",", names=True)
    truth = np.sqrt(np.mean((table["steering_angle_rad"] - table[name]) ** 2))
    measures = {one.name: one for one in evaluate(model, Undecoded(UdacityCh2Dataset(str(file.parent))))}
    found = measures["steering RMSE as recorded"]
    assert (found.unit, found.frames) == ("rad", 4500)
    assert found.value == pytest.approx(truth, rel=1e-6)
    assert found.value == pytest.approx(rmse, abs=5e-5)
    assert found.value < measures["steering RMSE of always 0 as recorded"].value


@pytest.mark.parametrize(("name", "rmse"), [("dave2-udacity", 0.168), ("epoch-udacity", 0.242)])
def test_a_network_trained_on_real_frames_beats_the_zero_predictor_on_later_ones(
    real_data: Path, name: str, rmse: float
) -> None:
    data = UdacityCh2Dataset(str(real_data / "udacity_ch2"))[3600:]
    measures = {one.name: one.value for one in evaluate(load_model(name), data)}
    assert measures["steering RMSE as recorded"] == pytest.approx(rmse, abs=2e-3)
    assert measures["steering RMSE of always 0 as recorded"] == pytest.approx(0.297, abs=1e-3)
