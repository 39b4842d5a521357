"""Tables of images by anyone, and those of Thunderhill and TORCS as they were published."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.datasets.table import TableDataset
from roadworthy.errors import FrameError, InputError
from roadworthy.images import write_image


def written(folder: Path, text: str, *images: str, name: str = "drive.csv") -> Path:
    for number, image in enumerate(images):
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        write_image(folder / image, np.full((4, 6, 3), 20 * number, np.uint8))
    (folder / name).write_text(text)
    return folder / name


def table(path: Path, **options: object) -> TableDataset:
    data = load(f"table:{path}", **options)
    assert isinstance(data, TableDataset)
    return data


def test_a_table_with_names_and_more_columns_than_are_needed(tmp_path: Path) -> None:
    text = "Image,Gear,Speed,Steering,Time,Brake\na.png,3,36,0.1,1000,0\nb.png,4,72,-0.1,1050,1\n"
    text += "c.png,4,72,,9000,1\n"
    path = written(tmp_path, text, "images/a.png", "images/b.png", "images/c.png")
    units = {"speed_unit": "km/h", "steering_unit": "rad", "steering_positive": "left", "time_unit": "ms"}
    data = table(path, **units)
    assert [frame.image[0, 0, 0] for frame in data] == [0, 20, 40]
    assert data.ids == ("a", "b", "c")
    assert data[1].signals.as_dict() == pytest.approx(
        {"speed": 20.0, "steering": math.degrees(0.1), "brake": 1.0, "timestamp": 1.05}
    )
    assert data[2].signals.steering is None, "a blank cell is unknown"
    assert data.clusters == ("drive 1", "drive 1", "drive 2")


def test_a_file_without_names_and_times_from_those_of_the_images(tmp_path: Path) -> None:
    text = "cam/f_1500.png,12,x,7\ncam/f_1550.png,13,y,8\n"
    path = written(tmp_path, text, "cam/f_1500.png", "cam/f_1550.png")
    data = table(path, columns="image,speed", time="name", time_unit="ms")
    assert [data.signals(number).timestamp for number in (0, 1)] == pytest.approx([1.5, 1.55])
    assert data[1].signals.speed == 13
    with pytest.raises(InputError, match=r"expected the columns image, missing image; got cam/f_1500.png"):
        table(path)


def test_times_from_a_rate_and_images_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, "speed,lap\n1,a\n2,a\n3,b\n", "cam/f9.png", "cam/f10.png", "cam/f11.png")
    data = table(path, images=tmp_path / "cam", rate=20, drive="lap")
    assert data.ids == ("f9", "f10", "f11")
    assert [one.signals.timestamp for one in data] == pytest.approx([0, 0.05, 0.1])
    assert data.clusters == ("a", "a", "b")
    (tmp_path / "cam/f9.png").unlink()
    with pytest.raises(InputError, match=r"drive\.csv has 3 rows and .*cam 2 images: name the column"):
        table(path, images=tmp_path / "cam", rate=20)
    with pytest.raises(InputError, match="rate must be above 0 and finite, got 0"):
        table(path, rate=0)


def test_numbers_that_stand_for_unknown(tmp_path: Path) -> None:
    text = "image,speed,steering\na.png,-1,-1\na.png,9999,9999\na.png,nan,0.5\na.png,fast,0\n"
    path = written(tmp_path, text, "a.png")
    data = table(path, unknown="9999, speed=-1")
    assert [data.signals(number).as_dict() for number in range(3)] == [
        {"steering": -1.0},
        {},
        {"steering": 0.5},
    ]
    assert data.ids[0] == "a-row0"
    with pytest.raises(FrameError, match=r"drive\.csv: line 5: speed must be a finite number, got 'fast'"):
        data.signals(3)
    with pytest.raises(InputError, match="unknown must be like 9999,speed=-1, got 'minus one'"):
        table(path, unknown="minus one")
    with pytest.raises(InputError, match="unknown: 'sped' is no signal: expected speed, steering"):
        table(path, unknown="sped=-1")
    with pytest.raises(InputError, match="expected the columns velocity, missing velocity"):
        table(path, speed="velocity")


# In the layout of the PolySync recordings; the first rows of these have this throttle and no motion.
THUNDERHILL = """\
path,heading,longitude,latitude,quarternion0,quarternion1,quarternion2,quarternion3,vel0,vel1,vel2,steering,throttle,brake
IMG/15395510-1489359352755164.jpeg,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,-3.4,-200531542013902848.000000,0.0
IMG/15395510-1489359463256420.jpeg,0.0,-2.1,0.69,0.01,-0.02,-0.6,0.8,4.3,-23.3,0.2,1.7,0.25,0.0
"""


def test_thunderhill(tmp_path: Path) -> None:
    names = [line.partition(",")[0] for line in THUNDERHILL.splitlines()[1:]]
    written(tmp_path, THUNDERHILL, *names, name="output.txt")
    data = load(f"thunderhill:{tmp_path}")
    parked, bend = (frame.signals for frame in data)
    assert (parked.speed, parked.throttle) == (0, None)
    assert bend.speed == pytest.approx(math.hypot(4.3, -23.3, 0.2))
    assert bend.steering == pytest.approx(-math.degrees(1.7) / 14.4), "positive is to the left"
    assert bend.throttle == 0.25
    assert bend.timestamp == pytest.approx(1489359463.256420)


def test_thunderhills_simulator_writes_more_columns_than_udacitys(tmp_path: Path) -> None:
    image = "IMG/center_2017_03_21_08_18_10_228.jpg"
    row = f"{image},,,0.4,1,0,30.5,-5.2:1.1:7.9,0:90:0\n"
    written(tmp_path, row, image, name="driving_log.csv")
    (frame,) = load(f"udacity-sim:{tmp_path}")
    assert frame.signals.steering == 10.0
    assert frame.signals.speed == pytest.approx(30.5 * 0.44704)


def test_torcs(tmp_path: Path) -> None:
    text = "ACCELERATION,BRAKE,STEERING,SPEED,TRACK_POSITION\n0.7,0,0.5,72,0.1\n0,1,-1,36,0.1\n"
    path = written(tmp_path, text, "images/1.png", "images/2.png")
    data = load(f"torcs:{path}", images=tmp_path / "images")
    assert data[0].signals.as_dict() == pytest.approx(
        {"throttle": 0.7, "brake": 0, "steering": -10.5, "speed": 20, "timestamp": 0}
    )
    assert data[1].signals.steering == 21
    assert data[1].signals.timestamp == pytest.approx(0.02)
    path = written(tmp_path, "image,steer,accel,speedX\n1.png,0,0,72\n", name="scr.csv")
    assert load(f"torcs:{path}")[0].signals.speed == 20


def test_images_that_stand_in_several_rows_have_ids_of_their_own(tmp_path: Path) -> None:
    path = written(tmp_path, "img,speed\na.png,1\na.png,2\nb.png,3\n", "a.png", "b.png")
    data = table(path)
    assert data.ids == ("a-row0", "a-row1", "b")
    assert data.clusters == data.ids, "without times each is for itself"
    assert [one.signals.as_dict() for one in data] == [{"speed": 1.0}, {"speed": 2.0}, {"speed": 3.0}]


def test_speed_may_be_the_length_of_several_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "img,vx,vy,steer\na.png,3,-4,1\nb.png,3,,1\n", "a.png", "b.png")
    data = table(path, speed="vx+vy", steering="angle|steer")
    assert (data.signals(0).speed, data.signals(1).speed) == (5.0, None), "all of them must be known"
    assert data.signals(0).steering == 1.0
    with pytest.raises(InputError, match="expected the columns vx, vz, missing vz; got img, vx, vy, steer"):
        table(path, speed="vx+vz")
    with pytest.raises(InputError, match="expected the columns lap, missing lap"):
        table(path, drive="lap")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, "rate must be above 0 and finite, got 0"),
        ({"rate": "inf"}, "rate must be above 0 and finite, got inf"),
        ({"unknown": "speed"}, "unknown must be like 9999,speed=-1, got 'speed'"),
        ({"unknown": "gear=3"}, "unknown: 'gear' is no signal: expected speed, steering"),
        ({"images": "nowhere"}, "must be a folder, found nothing at"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = written(tmp_path, "img_,speed\na.png,1\n", "a.png")
    with pytest.raises(InputError, match=message):
        table(path, **options)


def test_numbers_of_all_columns_and_of_one_stand_for_unknown(tmp_path: Path) -> None:
    path = written(
        tmp_path, "img,speed,brake,time\na.png,9999,-1,9999\nb.png,-1,9999,2\nc.png,1,2,3\n", "a.png"
    )
    data = table(path, unknown=" 9999 , speed=-1,speed=1,")
    assert [data.signals(number).as_dict() for number in range(3)] == [
        {"brake": -1.0},
        {"timestamp": 2.0},
        {"brake": 2.0, "timestamp": 3.0},
    ]


def test_a_table_of_names_alone_or_with_other_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"drive.csv has no rows"):
        table(written(tmp_path, "image,speed\n"))
    path = written(tmp_path, "speed\n1\n2\n", "cam/a.png")
    with pytest.raises(
        InputError, match=r"has 2 rows and .*cam 1 images: name the column of the images with image="
    ):
        table(path, images=tmp_path / "cam")


def test_images_are_those_of_the_folder_that_is_named_or_of_the_usual_ones(tmp_path: Path) -> None:
    text = "image,speed\na.png,1\nC:\\drive\\b.png,2\nsub/c.png,3\nd.png,4\n"
    names = ("IMG/a.png", "IMG/b.png", "other/a.png", "other/b.png", "sub/c.png", "d.png")
    path = written(tmp_path, text, *names)
    files = [path.parent / one for one in ("IMG/a.png", "IMG/b.png", "sub/c.png", "d.png")]
    assert table(path)._files == files
    told = table(path, images=tmp_path / "other")
    assert [one.relative_to(tmp_path).as_posix() for one in told._files] == [
        "other/a.png", "other/b.png", "sub/c.png", "d.png",
    ]  # fmt: skip
    assert [frame.image[0, 0, 0] for frame in told] == [40, 60, 80, 100]
    (tmp_path / "other/a.png").unlink()
    missing = table(path, images=tmp_path / "other")
    assert missing._files[0] == tmp_path / "other/a.png"
    with pytest.raises(InputError, match=r"other/a\.png"):
        missing[0]


def test_times_are_the_last_digits_of_names(tmp_path: Path) -> None:
    path = written(tmp_path, "image\nimages/cam2_0150.png\nimages/none.png\n", "images/cam2_0150.png")
    data = table(path, time="name", time_unit="ms")
    assert [data.signals(row).timestamp for row in (0, 1)] == [pytest.approx(0.15), None]
    long = "1" * 30
    path = written(tmp_path, f"image\nimages/{long}.png\n", "images/a.png")
    assert table(path, time="name", time_unit="ns").signals(0).timestamp == pytest.approx(1111111111.111)
    rated = written(tmp_path, "image,speed\na.png,1\nb.png,2\n", "a.png", "b.png")
    assert [table(rated, rate=4).signals(row).timestamp for row in (0, 1)] == [0.0, 0.25]
    assert table(rated).signals(1).timestamp is None
