"""What published models answered on real data, through the adapter for recorded predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Prediction
from roadworthy.datasets import KittiDataset, UdacityCh2Dataset
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.models import load_model
from roadworthy.models.scorers import compare

BLACK = np.zeros((375, 1242, 3), np.uint8)


def steering(signals: Sequence[Prediction]) -> np.ndarray:
    return np.array([one.steering for one in signals if isinstance(one, Signals)])


@pytest.mark.parametrize(("name", "rmse"), [("komanda", 0.0541), ("rambo", 0.0568), ("autumn", 0.0522)])
def test_published_models_of_the_udacity_challenge(real_data: Path, name: str, rmse: float) -> None:
    data = UdacityCh2Dataset(str(real_data / "udacity_ch2"))
    units = {"steering": "rad", "steering_positive": "left", "steering_ratio": 14.4}
    model = load_model(
        f"recorded:{real_data / 'udacity_ch2' / 'steering.csv'}",
        output={"signals": ["steering"], "outputs": [name], "units": units},
    )
    # Recorded predictions need the ids alone; decoding 4,500 images would add nothing.
    frames = [Frame(id, BLACK, signals=data.signals(index)) for index, id in enumerate(data.ids)]
    answers = steering(model.predict(frames))
    errors = answers - steering([frame.signals for frame in frames])
    wheel = np.radians(errors * data.units.steering_ratio)
    assert np.sqrt(np.mean(wheel**2)) == pytest.approx(rmse, abs=5e-5)


def test_a_real_detector_of_cars(real_data: Path) -> None:
    folder = real_data / "kitti" / "detector"
    data = KittiDataset(str(folder))
    model = load_model(f"recorded:{folder / 'results'}", on_invalid="skip")
    frames = [
        Frame(id, BLACK, boxes=data.boxes(index).clipped(1242, 375)) for index, id in enumerate(data.ids)
    ]
    answers = model.predict(frames)
    assert sum(len(one) for one in answers if isinstance(one, Boxes)) == 1773
    measures = {one.name: one.value for one in compare(frames, answers)}
    assert measures["boxes right"] > 0.8
    assert measures["things found"] > 0.4
