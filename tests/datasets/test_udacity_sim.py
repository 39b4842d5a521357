from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets.udacity import UdacitySimDataset, logged_signals
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Signals
from roadworthy.images import write_image

STAMPS = ("2018_07_16_17_16_31_685", "2018_07_16_17_16_31_752", "2018_07_16_17_16_32_161")
FOLDER = "C:\\Users\\Somebody Else\\Desktop\\new_track\\IMG\\"


def line(stamp: str, steering: str, speed: str = "22.36936", folder: str = FOLDER, comma: str = ", ") -> str:
    images = [f"{folder}{camera}_{stamp}.jpg" for camera in ("center", "left", "right")]
    return comma.join([*images, steering, "0.5", "0", speed])


def written(folder: Path, *lines: str, images: bool = True) -> Path:
    if images:
        (folder / "IMG").mkdir()
        for number, stamp in enumerate(STAMPS):
            for shift, camera in enumerate(("center", "left", "right")):
                image = np.full((4, 6, 3), 10 * number + shift, np.uint8)
                write_image(folder / "IMG" / f"{camera}_{stamp}.jpg", image)
    (folder / "driving_log.csv").write_text("\n".join(lines))
    return folder


def test_the_log_as_the_simulator_writes_it(tmp_path: Path) -> None:
    written(tmp_path, *(line(stamp, turn) for stamp, turn in zip(STAMPS, ("0", "1", "-0.2"), strict=True)))
    data = load(f"udacity-sim:{tmp_path}")
    assert isinstance(data, UdacitySimDataset)
    assert data.ids == tuple(f"center_{stamp}" for stamp in STAMPS)
    straight, right, left = (frame.signals for frame in data)
    assert (straight.steering, right.steering, left.steering) == (0.0, 25.0, -5.0)
    assert straight.speed == pytest.approx(10.0, abs=1e-5)
    assert (straight.throttle, straight.brake) == (0.5, 0.0)
    assert straight.timestamp == 1531761391.685
    assert left.timestamp is not None
    assert left.timestamp - 1531761391.685 == pytest.approx(0.476)


@pytest.mark.parametrize(("camera", "shift"), [("center", 0), ("left", 1), ("right", 2)])
def test_any_of_the_three_cameras(tmp_path: Path, camera: str, shift: int) -> None:
    written(tmp_path, line(STAMPS[1], "0.1"))
    frame = load(f"udacity-sim:{tmp_path}", camera=camera)[0]
    assert frame.id == f"{camera}_{STAMPS[1]}"
    assert int(frame.image[0, 0, 0]) == 10 + shift
    assert frame.signals.steering == 2.5


@pytest.mark.parametrize("folder", ["IMG\\", "IMG/", "", "/home/somebody/IMG/", FOLDER])
def test_paths_of_any_system(tmp_path: Path, folder: str) -> None:
    written(tmp_path, line(STAMPS[0], "0", folder=folder, comma=","))
    assert load(f"udacity-sim:{tmp_path}")[0].id == f"center_{STAMPS[0]}"


def test_an_image_where_the_log_says(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_image(elsewhere / f"center_{STAMPS[0]}.jpg", np.zeros((4, 6, 3), np.uint8))
    written(tmp_path, line(STAMPS[0], "0", folder=f"{elsewhere}/"), images=False)
    assert load(f"udacity-sim:{tmp_path}")[0].size == (6, 4)


def test_a_log_with_a_header(tmp_path: Path) -> None:
    written(tmp_path, "center,left,right,steering,throttle,brake,speed", line(STAMPS[0], "0.4"))
    data = UdacitySimDataset(str(tmp_path / "driving_log.csv"))
    assert len(data) == 1
    assert data[0].signals.steering == 10.0


def test_a_header_without_a_column(tmp_path: Path) -> None:
    written(tmp_path, "center,left,right,steering,throttle,speed", "a,b,c,0,0,0")
    with pytest.raises(
        InputError, match=r"driving_log\.csv: expected the columns .*, missing brake; got center"
    ):
        UdacitySimDataset(str(tmp_path))


def test_signals_need_no_images(tmp_path: Path) -> None:
    data = UdacitySimDataset(str(written(tmp_path, line(STAMPS[0], "0.2"), images=False)), on_error="skip")
    assert data.signals(-1).steering == 5.0
    with pytest.raises(
        FrameError,
        match=rf"IMG/center_{STAMPS[0]}\.jpg: no such file \(line 1 of .*driving_log\.csv calls it C:\\Users",
    ):
        data[0]
    assert list(data) == []
    assert list(data.skipped) == [f"center_{STAMPS[0]}"]


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (line(STAMPS[1], "nan"), "line 2: steering must be a finite number, got 'nan'"),
        (line(STAMPS[1], "12.5"), "line 2: steering must be from -1 to 1, got 12.5"),
        (line(STAMPS[1], "-1.01"), "line 2: steering must be from -1 to 1, got -1.01"),
        (line(STAMPS[1], "0", speed="fast"), "line 2: speed must be a finite number, got 'fast'"),
        ("IMG\\center_x.jpg, IMG\\left_x.jpg", "line 2: expected 7 columns, got 2"),
    ],
)
def test_a_broken_line_is_an_error_of_its_frame(tmp_path: Path, broken: str, complaint: str) -> None:
    written(tmp_path, line(STAMPS[0], "0"), broken)
    data = UdacitySimDataset(str(tmp_path), on_error="skip")
    with pytest.raises(FrameError, match=rf"driving_log\.csv: {complaint}"):
        data.signals(1)
    assert [frame.id for frame in data] == [f"center_{STAMPS[0]}"]


def test_a_name_without_a_time_has_no_timestamp(tmp_path: Path) -> None:
    data = UdacitySimDataset(str(written(tmp_path, line("7", "0"), line("2018_99_99_99_99_99_000", "0"))))
    assert data.signals(0).timestamp is data.signals(1).timestamp is None


def test_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must hold driving_log\.csv or one CSV file, found none"):
        UdacitySimDataset(str(tmp_path))
    (tmp_path / "driving_log.csv").write_text("")
    with pytest.raises(InputError, match=r"driving_log\.csv is empty"):
        UdacitySimDataset(str(tmp_path))


def test_signals_of_a_log_are_read_without_images_and_rows_may_repeat(tmp_path: Path) -> None:
    rows = [
        line(STAMPS[0], "1"),
        line(STAMPS[0], "-1"),
        line(STAMPS[0], "1.01"),
        line("no_time", "0", "fast"),
    ]
    rows.append(line("2018_13_45_17_16_31_685", "0.5", "0"))
    written(tmp_path, *rows, images=False)
    first, second, third, fourth, fifth = logged_signals(str(tmp_path))
    assert isinstance(first, Signals)
    assert isinstance(second, Signals)
    assert (first.steering, second.steering, first.timestamp) == (25.0, -25.0, 1531761391.685)
    assert str(third).endswith("driving_log.csv: line 3: steering must be from -1 to 1, got 1.01")
    assert str(fourth).endswith("driving_log.csv: line 4: speed must be a finite number, got 'fast'")
    assert isinstance(fifth, Signals)
    assert (fifth.timestamp, fifth.speed, fifth.steering) == (None, 0.0, 12.5), "no month has the number 13"


def test_names_of_columns_in_any_case_and_columns_behind_them(tmp_path: Path) -> None:
    written(tmp_path, "Center,Left,Right,Steering,Throttle,Brake,Speed", line(STAMPS[0], "0.4"), images=False)
    (found,) = logged_signals(str(tmp_path))
    assert isinstance(found, Signals)
    assert found.steering == 10.0
    written(tmp_path, f"{line(STAMPS[0], '0.4')}, 1:2:3, 4", images=False)
    (found,) = logged_signals(str(tmp_path / "driving_log.csv"))
    assert isinstance(found, Signals)
    assert found.steering == 10.0
