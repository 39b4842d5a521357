"""The readers on the data sets that they were written for."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from roadworthy.datasets import KittiDataset, UdacityCh2Dataset, load
from roadworthy.datasets._base import known_classes
from roadworthy.datasets.a2d2 import A2D2Dataset
from roadworthy.datasets.camvid import CamVidDataset
from roadworthy.datasets.folder import FolderDataset
from roadworthy.datasets.udacity import UdacitySimDataset
from roadworthy.errors import FrameError
from roadworthy.images import read_image


@pytest.fixture(scope="module")
def drive(real_data: Path) -> UdacityCh2Dataset:
    data = load(f"udacity-ch2:{real_data / 'udacity_ch2'}")
    assert isinstance(data, UdacityCh2Dataset)
    return data


def scene_moves(drive: UdacityCh2Dataset, id: str) -> float:
    """Return by how many pixels what is far away moves to the right within a tenth of a second."""
    index = drive.ids.index(id)
    now, then = (
        cv2.cvtColor(drive[number].image[:120], cv2.COLOR_RGB2GRAY).astype(np.float32)
        for number in (index, index + 2)
    )
    window = cv2.createHanningWindow((320, 120), cv2.CV_32F)
    return cv2.phaseCorrelate(now, then, window)[0][0]


def test_a_left_and_a_right_bend_of_a_real_drive(drive: UdacityCh2Dataset) -> None:
    # A warning sign with an arrow to the left stands before the car.
    left = drive[drive.ids.index("1479425653519654699")]
    assert left.signals.steering == pytest.approx(-3.685, abs=0.001)
    assert left.signals.extra["steering_angle_rad"] == pytest.approx(0.926, abs=0.001)
    # The yellow line in the middle of the road leads to the right edge of the image.
    right = drive[drive.ids.index("1479425533798750681")]
    assert right.signals.steering == pytest.approx(2.986, abs=0.001)
    # Who turns left sees the world move to the right.
    assert scene_moves(drive, left.id) > 10
    assert scene_moves(drive, right.id) < -10


def test_the_sign_of_steering_holds_for_the_whole_drive(drive: UdacityCh2Dataset) -> None:
    numbers = range(0, 4490, 90)
    steering = [drive.signals(number).steering or 0.0 for number in numbers]
    moves = [scene_moves(drive, drive.ids[number]) for number in numbers]
    assert np.corrcoef(steering, moves)[0, 1] < -0.9


def test_published_predictions_are_in_the_units_of_the_file(drive: UdacityCh2Dataset) -> None:
    assert len(drive) == 4500
    assert drive.predictors == ("komanda", "rambo", "autumn")
    for name in drive.predictors:
        error = drive.predictions(name) - drive.recorded_steering()
        # komanda's error is 0.048 and 0.051 rad on the two halves of all 5614 frames.
        assert 0.04 < np.sqrt(np.mean(error**2)) < 0.06
    assert drive[0].size == (320, 240)
    assert drive[0].metadata["split"] == "private"


def test_the_frames_of_the_drive_as_a_folder(real_data: Path, drive: UdacityCh2Dataset) -> None:
    folder = FolderDataset(str(real_data / "udacity_ch2" / "frames"))
    assert folder.ids == drive.ids
    np.testing.assert_array_equal(folder[17].image, drive[17].image)


def test_camvid(real_data: Path) -> None:
    data = CamVidDataset(str(real_data / "camvid"))
    with (real_data / "camvid" / "class_dict.csv").open() as file:
        assert {row["name"] for row in csv.DictReader(file)} == set(known_classes("camvid"))
    assert len(data) == 367
    pixels: dict[str, int] = {}
    for frame in data[::10]:
        assert frame.labels is not None
        for name, count in frame.labels.present().items():
            pixels[name] = pixels.get(name, 0) + count
        # Brighter than the road around it, or it is no line.
        road, line = frame.image[frame.labels.mask("road")], frame.image[frame.labels.mask("line")]
        assert line.mean() > road.mean()
    shares = {name: count / sum(pixels.values()) for name, count in pixels.items()}
    assert shares["void"] < 0.12
    assert shares["road"] > 0.2
    assert shares["line"] > 0.01


def test_a2d2(real_data: Path) -> None:
    names = json.loads((real_data / "a2d2" / "class_list.json").read_text())
    assert set(names.values()) == set(known_classes("a2d2"))
    whole = A2D2Dataset(str(real_data / "a2d2"))
    small = A2D2Dataset(str(real_data / "a2d2"), prepare="paper")
    assert len(whole) == 4
    for large, prepared in zip(whole, small, strict=True):
        assert large.size == (1920, 1208)
        assert prepared.size == (320, 160)
        assert large.labels is not None
        assert prepared.labels is not None
        assert large.labels.present()["void"] / large.labels.ids.size < 0.03
        # The middle of each block of 6 by 6 pixels below the top 248 rows.
        np.testing.assert_array_equal(prepared.labels.ids, large.labels.ids[251::6, 3::6])
        assert large.signals.as_dict() == {}


def test_kitti_frames(real_data: Path) -> None:
    data = KittiDataset(str(real_data / "kitti" / "frames"))
    walker, street, yard = data
    assert walker.boxes is not None
    assert walker.boxes.classes == ("pedestrian",)
    assert street.boxes is not None
    assert street.boxes.classes == ("vehicle", "vehicle", "bicyclist")
    assert np.array(street.metadata["dont_care"]).shape == (4, 4)
    assert np.array(yard.metadata["P2"]).shape == (3, 4)
    matrices = data.calibration(1)
    assert set(matrices) == {"P0", "P1", "P2", "P3", "R0_rect", "Tr_velo_to_cam", "Tr_imu_to_velo"}
    # The truck of frame 1 stands at (0.47, 1.49, 69.44) metres; its foot is where P2 says.
    x, y, z = matrices["P2"] @ (0.47, 1.49, 69.44, 1.0)
    left, _, right, bottom = street.boxes.xyxy[0]
    assert left < x / z < right
    assert y / z == pytest.approx(bottom, abs=3)


def test_a_detector_evaluated_without_images(real_data: Path) -> None:
    folder = real_data / "kitti" / "detector"
    data = KittiDataset(str(folder), results=folder / "results", on_invalid="skip")
    assert len(data) == 481
    assert sum(len(data.detections(index)) for index in range(481)) == 1773
    boxes = [data.boxes(index) for index in range(481)]
    assert sum(len(one.select("car", "van", "truck")) for one in boxes) == 2191
    with pytest.raises(FrameError, match="image_2 has none"):
        data[0]


def test_a_log_of_the_udacity_simulator_without_its_images(real_data: Path) -> None:
    data = UdacitySimDataset(str(real_data / "logs" / "udacity"))
    assert len(data) == 7495
    signals = [data.signals(index) for index in range(len(data))]
    steering = [one.steering for one in signals if one.steering is not None]
    assert (min(steering), max(steering)) == (-25.0, 25.0)
    times = [one.timestamp for one in signals if one.timestamp is not None]
    assert np.median(np.diff(times)) == pytest.approx(0.075, abs=0.01)
    assert max(one.speed or 0.0 for one in signals) == pytest.approx(13.7, abs=0.1)
    with pytest.raises(
        FrameError, match=r"IMG/center_2018_07_16_17_16_32_161\.jpg: no such file .*C:\\Users"
    ):
        data[-1]


def test_the_published_interpolated_csv_has_speed(real_data: Path) -> None:
    data = load(f"udacity-ch2:{real_data / 'udacity_hmb1'}")
    assert isinstance(data, UdacityCh2Dataset)
    assert len(data) == 1000
    first = data[0].signals
    assert first.speed == pytest.approx(23.0044313542)
    assert first.steering == pytest.approx(-np.degrees(0.00103893906341) / 14.4)
    speeds = [data.signals(number).speed or 0.0 for number in range(1000)]
    assert 0 <= min(speeds) <= max(speeds) < 35
    assert set(data.clusters) == {"drive 1"}


def test_a_film_of_a_real_drive(real_data: Path, tmp_path: Path) -> None:
    files = sorted((real_data / "udacity_ch2" / "frames").glob("*.jpg"))[:150]
    writer = cv2.VideoWriter(str(tmp_path / "dash.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 20, (320, 240))
    for file in files:
        writer.write(read_image(file)[..., ::-1])
    writer.release()
    data = load(f"video:{tmp_path / 'dash.mp4'}")
    plain = cv2.VideoCapture(str(tmp_path / "dash.mp4"))
    shown = []
    while plain.grab():
        shown.append(plain.retrieve()[1][..., ::-1])
    assert len(shown) == len(data) == 150
    for number in (149, 0, 90, 89, 30, 119, 120, 121):
        assert np.array_equal(data[number].image, shown[number]), number
        assert data[number].signals.timestamp == pytest.approx(number / 20)
        original = read_image(files[number])
        assert np.abs(data[number].image.astype(int) - original).mean() < 12, "the film shows this frame"
