from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import UdacityCh2Dataset, load
from roadworthy.errors import FrameError, InputError, UnknownNameError
from roadworthy.images import write_image

IDS = ("1479425441182877835", "1479425441232704425", "1479425441282730750")
HEADER = "frame_id,steering_angle_rad,public_split,komanda,rambo"
LINES = (f"{IDS[0]},0.5,1,0.4,0.6", f"{IDS[1]},-0.25,0,-0.2,-0.25", f"{IDS[2]},0.0,1,0.0,0.1")


def written(folder: Path, lines: Sequence[str] = LINES, header: str = HEADER) -> Path:
    (folder / "frames").mkdir()
    for number, id in enumerate(IDS):
        write_image(folder / "frames" / f"{id}.jpg", np.full((4, 6, 3), number, np.uint8))
    (folder / "steering.csv").write_text("\n".join([header, *lines]) + "\n")
    return folder


def test_radians_to_the_left_become_degrees_to_the_right(tmp_path: Path) -> None:
    data = load(f"udacity-ch2:{written(tmp_path)}")
    assert isinstance(data, UdacityCh2Dataset)
    assert data.ids == IDS
    left, right, straight = (frame.signals for frame in data)
    assert left.steering == pytest.approx(-math.degrees(0.5) / 14.4)
    assert right.steering == pytest.approx(math.degrees(0.25) / 14.4)
    assert straight.steering == 0.0
    assert left.extra == {"steering_angle_rad": 0.5}
    assert left.timestamp == pytest.approx(1479425441.182877835, abs=1e-6)
    assert left.speed is None
    assert [frame.metadata["split"] for frame in data] == ["public", "private", "public"]


def test_the_units_of_the_file_are_declared(tmp_path: Path) -> None:
    data = UdacityCh2Dataset(str(written(tmp_path)), steering_ratio=16.0)
    assert data.units.steering_positive == "left"
    steering = data.signals(0).steering
    assert steering == pytest.approx(-math.degrees(0.5) / 16)
    assert steering is not None
    assert data.units.encode_steering(steering) == pytest.approx(0.5)
    with pytest.raises(InputError, match="steering_ratio must be above 0 and finite, got 0"):
        UdacityCh2Dataset(str(tmp_path), steering_ratio=0)


def test_predictions_are_in_the_units_of_the_file(tmp_path: Path) -> None:
    data = UdacityCh2Dataset(str(written(tmp_path)))
    assert data.predictors == ("komanda", "rambo")
    assert data.recorded_steering().tolist() == [0.5, -0.25, 0.0]
    assert data.predictions("rambo").tolist() == [0.6, -0.25, 0.1]
    assert data[1:].predictions("komanda").tolist() == [-0.2, 0.0]
    with pytest.raises(UnknownNameError, match="has no predictions of 'rambi'; did you mean 'rambo'"):
        data.predictions("rambi")


def test_the_file_itself_can_be_named(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "other.csv").write_text("frame_id,steering_angle\n1479425441182877835,0.1\n")
    with pytest.raises(InputError, match=r"or one CSV file, found other\.csv, steering\.csv: name the file"):
        UdacityCh2Dataset(str(tmp_path))
    data = UdacityCh2Dataset(str(tmp_path / "other.csv"))
    assert len(data) == 1
    assert data[0].signals.extra == {"steering_angle": 0.1}
    assert data[0].metadata == {}


def test_the_table_extracted_from_the_recordings(tmp_path: Path) -> None:
    for camera in ("left", "center"):
        (tmp_path / camera).mkdir()
        write_image(tmp_path / camera / f"{IDS[0]}.png", np.zeros((4, 6, 3), np.uint8))
    (tmp_path / "interpolated.csv").write_text(
        "index,timestamp,width,height,frame_id,filename,angle,torque,speed,lat,long,alt\n"
        f"a,{IDS[0]},640,480,left_camera,left/{IDS[0]}.png,0.1,0.2,20.0,37.4,-122.1,5\n"
        f"b,{IDS[0]},640,480,center_camera,center/{IDS[0]}.png,0.1,0.2,20.0,37.4,-122.1,5\n"
    )
    data = UdacityCh2Dataset(str(tmp_path))
    assert (data.ids, data.predictors) == ((IDS[0],), ())
    signals = data[0].signals
    assert (signals.speed, signals.extra["torque"]) == (20.0, 0.2)
    assert len(UdacityCh2Dataset(str(tmp_path), camera="left")) == 1
    with pytest.raises(InputError, match="no frames of the right camera, only of center_camera, left_camera"):
        UdacityCh2Dataset(str(tmp_path), camera="right")


@pytest.mark.parametrize("value", ["nan", "", "inf", "left"])
def test_a_label_that_is_no_number_names_its_line(tmp_path: Path, value: str) -> None:
    written(tmp_path, [LINES[0], f"{IDS[1]},{value},0,0,0", LINES[2]])
    data = UdacityCh2Dataset(str(tmp_path), on_error="skip")
    with pytest.raises(
        FrameError, match=rf"steering\.csv: line 3: steering_angle_rad must be a finite number, got '{value}'"
    ):
        data[1]
    assert [frame.id for frame in data] == [IDS[0], IDS[2]]
    assert list(data.skipped) == [IDS[1]]


def test_a_short_line_is_an_error_of_its_frame(tmp_path: Path) -> None:
    written(tmp_path, [LINES[0], IDS[1], LINES[2]])
    data = UdacityCh2Dataset(str(tmp_path))
    assert data[2].id == IDS[2]
    with pytest.raises(FrameError, match=r"steering\.csv: line 3: expected 5 columns, got 1"):
        data[1]


@pytest.mark.parametrize(
    ("header", "missing"), [("id,steering_angle_rad", "frame_id"), ("frame_id,speed", "steering_angle")]
)
def test_missing_columns_are_named(tmp_path: Path, header: str, missing: str) -> None:
    written(tmp_path, [f"{IDS[0]},0.1"], header)
    with pytest.raises(InputError, match=rf"steering\.csv: .*missing {missing}; got {header.split(',')[0]}"):
        UdacityCh2Dataset(str(tmp_path))


def test_a_missing_image_is_named(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "frames" / f"{IDS[1]}.jpg").unlink()
    data = UdacityCh2Dataset(str(tmp_path), on_error="skip")
    with pytest.raises(FrameError, match=f"cannot read the image .*frames/{IDS[1]}.jpg: No such file"):
        data[1]
    assert data.signals(1).steering == pytest.approx(math.degrees(0.25) / 14.4)
    assert len(list(data)) == 2


def test_an_image_that_lies_elsewhere_is_missed_by_the_file_that_names_it(tmp_path: Path) -> None:
    text = "frame_id,filename,angle\ncenter_camera,/nowhere/1.png,0.1\n"
    (tmp_path / "interpolated.csv").write_text(text)
    with pytest.raises(FrameError, match=r"interpolated\.csv: cannot read the image /nowhere/1\.png"):
        UdacityCh2Dataset(str(tmp_path))[0]


def test_an_empty_file_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found nothing at .*absent"):
        UdacityCh2Dataset(str(tmp_path / "absent"))
    (tmp_path / "a.csv").write_text("\n\n")
    with pytest.raises(InputError, match=r"a\.csv is empty"):
        UdacityCh2Dataset(str(tmp_path))


def test_a_slice_travels_to_another_process(tmp_path: Path) -> None:
    part = pickle.loads(pickle.dumps(UdacityCh2Dataset(str(written(tmp_path)))[1:]))
    assert [frame.id for frame in part] == list(IDS[1:])
