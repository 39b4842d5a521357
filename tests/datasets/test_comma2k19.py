"""comma2k19, in its published layout: arrays of numpy without an ending, and a bare stream of HEVC."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.datasets.test_video import BARE, number_in

from roadworthy.datasets import load
from roadworthy.datasets.folder import Comma2k19Dataset
from roadworthy.errors import InputError

ROUTE = "b0c9d2329ad1606b|2018-07-27--06-03-57"


def saved(path: Path, values: ArrayLike) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.save(file, np.asarray(values))


def segment(folder: Path, number: int, frames: int = 40) -> Path:
    """Write a segment of 40 frames at 20 Hz, with speed and steering at 100 Hz that rise by 1 in a second."""
    one = folder / ROUTE / str(number)
    start = 1000.0 + 60 * number
    times = start + np.arange(300) / 100
    saved(one / "global_pose/frame_times", start + 0.5 + np.arange(frames) / 20)
    saved(one / "processed_log/CAN/speed/t", times)
    saved(one / "processed_log/CAN/speed/value", 20 + (times - start)[:, None])
    saved(one / "processed_log/CAN/steering_angle/t", times)
    saved(one / "processed_log/CAN/steering_angle/value", 30 * (times - start))
    shutil.copy(BARE, one / "video.hevc")
    return one


def opened(path: Path, **options: object) -> Comma2k19Dataset:
    data = load(f"comma2k19:{path}", **options)
    assert isinstance(data, Comma2k19Dataset)
    return data


def test_segments_of_a_route(tmp_path: Path) -> None:
    for number in (10, 9):
        segment(tmp_path / "Chunk_1", number)
    data = opened(tmp_path, step=5, steering_ratio=15)
    assert len(data) == 16
    assert data.ids[7:9] == (f"{ROUTE}/9-000035", f"{ROUTE}/10-000000")
    assert set(data.clusters) == {ROUTE}
    frame = data[10]
    assert number_in(frame.image) == 10
    assert frame.signals.timestamp == pytest.approx(1600 + 0.5 + 0.5)
    assert frame.signals.speed == pytest.approx(21)
    assert frame.signals.steering == pytest.approx(-30 / 15), "positive is to the left in the file"
    assert opened(tmp_path / "Chunk_1" / ROUTE / "9").ids[1] == f"{ROUTE}/9-000001"


def test_segments_that_are_not_whole(tmp_path: Path) -> None:
    one = segment(tmp_path, 3, frames=100)
    with pytest.raises(InputError, match=r"video\.hevc ends in the middle: 40 frames, and 100 in its log"):
        opened(tmp_path)
    assert len(opened(tmp_path, on_error="skip")) == 40
    shutil.rmtree(one / "processed_log/CAN/speed")
    saved(one / "processed_log/CAN/car_speed/t", [1180.0, 1181.0])
    saved(one / "processed_log/CAN/car_speed/value", [5.0, 6.0])
    assert opened(tmp_path, on_error="skip").signals(0).speed == pytest.approx(5.5)
    saved(one / "processed_log/CAN/car_speed/value", [5.0])
    with pytest.raises(InputError, match="car_speed has 2 times and 1 values"):
        opened(tmp_path, on_error="skip")
    (one / "global_pose/frame_times").write_bytes(b"no array")
    with pytest.raises(InputError, match=r"frame_times cannot be read: .*; it must be an array of numpy"):
        opened(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty has no segment with video\.hevc"):
        opened(tmp_path / "empty")
