"""MCAP files and ROS 2 bags, written by MCAP's own writer and as rosbag2 lays out its SQLite files."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from mcap.writer import Writer as PlainWriter
from mcap_ros2._dynamic import serialize_dynamic
from mcap_ros2.writer import Writer

from roadworthy.datasets import load
from roadworthy.datasets.bag import BagDataset, _definition
from roadworthy.errors import FrameError, InputError
from roadworthy.images import Image

SECOND = 10**9
HEADER = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "camera"}
Message = tuple[int, str, str, Mapping[str, Any]]


def colours(height: int = 6, width: int = 8) -> Image:
    """Return an image of which no two channels, rows or columns are alike."""
    rows, columns = np.mgrid[0:height, 0:width]
    return np.stack([rows * 30, columns * 25, 255 - rows * 10], -1).astype(np.uint8)


def raw(pixels: np.ndarray[Any, Any], encoding: str, spare: int = 0, **more: Any) -> dict[str, Any]:
    """Return sensor_msgs/Image, its rows longer than they need to be by some bytes."""
    rows = pixels.reshape(len(pixels), -1).view(np.uint8)
    rows = np.pad(rows, ((0, 0), (0, spare)), constant_values=7)
    told = {"height": len(pixels), "width": pixels.shape[1], "encoding": encoding, "step": rows.shape[1]}
    return {"header": HEADER, "is_bigendian": 0, "data": rows.tobytes(), **told, **more}


def twist(speed: float, turn: float) -> dict[str, Any]:
    still = {"x": 0.0, "y": 0.0, "z": 0.0}
    return {"linear": {**still, "x": speed}, "angular": {**still, "z": turn}}


def drive(image: str = "sensor_msgs/msg/Image") -> list[Message]:
    """Return a second of images at 10 Hz, and a twist at 5 Hz: 10 m/s, then 11 and so on, turning right."""
    made: list[Message] = []
    for number in range(10):
        pixels = np.full((6, 8, 3), 20 * number, np.uint8)
        message = raw(pixels, "bgr8")
        if "Compressed" in image:
            data = cv2.imencode(".png", pixels)[1].tobytes()
            message = {"header": HEADER, "format": "bgr8; png compressed bgr8", "data": data}
        made.append((SECOND + number * SECOND // 10, "/camera", image, message))
        if number % 2 == 0:
            told = {"header": HEADER, "twist": twist(10.0 + number / 2, -0.2)}
            made.append((SECOND + number * SECOND // 10, "/motion", "geometry_msgs/msg/TwistStamped", told))
    return made


def mcap(path: Path, messages: Sequence[Message]) -> Path:
    with path.open("wb") as file, Writer(file) as writer:
        schemas = {}
        for time, topic, type, message in messages:
            if type not in schemas:
                schemas[type] = writer.register_msgdef(type, _definition(type.replace("/msg/", "/")) or "")
            writer.write_message(topic, schemas[type], message, log_time=time)
    return path


def sqlite(path: Path, messages: Sequence[Message]) -> Path:
    """Write a bag as Humble does: no definitions in it."""
    base = sqlite3.connect(path)
    base.execute(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)"
    )
    base.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
    )
    numbers: dict[str, int] = {}
    for time, topic, type, message in messages:
        if topic not in numbers:
            numbers[topic] = len(numbers) + 1
            base.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", (numbers[topic], topic, type))
        write = serialize_dynamic(type, _definition(type.replace("/msg/", "/")) or "")[type]
        base.execute(
            "INSERT INTO messages VALUES (NULL, ?, ?, ?)", (numbers[topic], time, bytes(write(message)))
        )
    base.commit()
    base.close()
    return path


def bag(path: Path, **options: object) -> BagDataset:
    data = load(f"bag:{path}", **options)
    assert isinstance(data, BagDataset)
    return data


@pytest.mark.parametrize("image", ["sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"])
@pytest.mark.parametrize("write", [mcap, sqlite])
def test_images_with_speed_and_steering(tmp_path: Path, write: Any, image: str) -> None:
    path = write(tmp_path / f"monday.{'mcap' if write is mcap else 'db3'}", drive(image))
    data = bag(path, speed="/motion", steering="/motion", wheelbase=2.0)
    assert data.ids[:2] == ("1000000000", "1100000000")
    assert [frame.image[0, 0, 0] for frame in data] == list(range(0, 200, 20))
    assert [data[number].image[0, 0, 0] for number in (7, 2, 3, 9)] == [140, 40, 60, 180]
    assert data[3].signals.speed == pytest.approx(11.5), "between two messages"
    assert data[2].signals.steering == pytest.approx(np.degrees(np.arctan(2.0 * 0.2 / 11))), "to the right"
    assert data.signals(9).speed is None, "after the last message"
    assert data.signals(4).timestamp == pytest.approx(1.4)
    assert set(data.clusters) == {"drive 1"}
    again = pickle.loads(pickle.dumps(data[3:]))
    assert [frame.image[0, 0, 0] for frame in again] == list(range(60, 200, 20))


def test_the_folder_of_a_bag_in_pieces(tmp_path: Path) -> None:
    messages = drive()
    mcap(tmp_path / "bag_10.mcap", [(time + 20 * SECOND, *rest) for time, *rest in messages])  # type: ignore[misc]
    mcap(tmp_path / "bag_9.mcap", messages)
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  version: 9\n")
    data = bag(tmp_path, speed="/motion.twist.linear.x")
    assert len(data) == 20
    assert data.clusters[9:11] == ("drive 1", "drive 2"), "20 s lie between them"
    assert [data[number].image[0, 0, 0] for number in (19, 0, 10, 9, 10)] == [180, 0, 0, 180, 0]
    assert data[12].signals.speed == pytest.approx(11)


def test_speed_and_steering_of_usual_messages(tmp_path: Path) -> None:
    ackermann = {
        "steering_angle": 0.1,
        "steering_angle_velocity": 0.0,
        "speed": 7.0,
        "acceleration": 0.0,
        "jerk": 0.0,
    }
    pose = {
        "position": {"x": 0.0, "y": 0.0, "z": 0.0},
        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    }
    odometry = {
        "header": HEADER,
        "child_frame_id": "base",
        "pose": {"pose": pose, "covariance": [0.0] * 36},
        "twist": {"twist": twist(8.0, 0.1), "covariance": [0.0] * 36},
    }
    messages = [
        (SECOND, "/camera", "sensor_msgs/msg/Image", raw(colours(), "rgb8")),
        (SECOND, "/cmd", "ackermann_msgs/msg/AckermannDriveStamped", {"header": HEADER, "drive": ackermann}),
        (SECOND, "/odom", "nav_msgs/msg/Odometry", odometry),
        (SECOND, "/cmd_vel", "geometry_msgs/msg/Twist", twist(9.0, 0.0)),
        (SECOND, "/vehicle/speed", "std_msgs/msg/Float64", {"data": 36.0}),
    ]
    path = mcap(tmp_path / "a.mcap", messages)
    ours = bag(path, speed="/cmd", steering="/cmd")[0].signals
    assert [ours.speed, ours.steering] == pytest.approx([7, -np.degrees(0.1)])
    assert bag(path, speed="/odom")[0].signals.speed == 8.0
    assert bag(path, steering="/odom")[0].signals.steering == pytest.approx(
        -np.degrees(np.arctan(2.7 * 0.1 / 8))
    )
    assert bag(path, speed="/cmd_vel")[0].signals.speed == 9.0
    assert bag(path, speed="/vehicle/speed.data", speed_unit="km/h")[0].signals.speed == pytest.approx(10)
    with pytest.raises(
        InputError, match=r"/camera has sensor_msgs/Image, of which no field is known to be the speed"
    ):
        bag(path, speed="/camera")
    with pytest.raises(InputError, match=r"messages have no field 'twist\.linear\.q'"):
        bag(path, speed="/odom.twist.linear.q")
    with pytest.raises(
        InputError, match=r"has no topic /speed: its topics are /camera \(sensor_msgs/Image, 1\), /cmd "
    ):
        bag(path, speed="/speed")


def bayer(image: Image, pattern: str) -> np.ndarray[Any, Any]:
    """Return what a sensor with a colour before each pixel would give."""
    places = {"r": 0, "g": 1, "b": 2}
    flat = np.zeros(image.shape[:2], np.uint8)
    for place, colour in enumerate(pattern):
        flat[place // 2 :: 2, place % 2 :: 2] = image[place // 2 :: 2, place % 2 :: 2, places[colour]]
    return flat


FLAT = np.full((6, 8, 3), (200, 120, 40), np.uint8)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (raw(colours(), "rgb8", spare=5), colours()),
        (raw(colours()[..., ::-1].copy(), "bgr8"), colours()),
        (raw(np.dstack([colours(), np.zeros((6, 8), np.uint8)]), "rgba8"), colours()),
        (raw(np.dstack([colours()[..., ::-1], np.zeros((6, 8), np.uint8)]), "bgra8"), colours()),
        (raw(colours()[..., 1].copy(), "mono8", spare=3), np.repeat(colours()[..., 1:2], 3, 2)),
        (raw(colours()[..., 1].astype("<u2") * 256, "mono16"), np.repeat(colours()[..., 1:2], 3, 2)),
        (
            raw((colours()[..., 1].astype("<u2") * 256).astype(">u2"), "16UC1", is_bigendian=1),
            np.repeat(colours()[..., 1:2], 3, 2),
        ),
        *(
            (raw(bayer(FLAT, pattern), f"bayer_{pattern}8"), FLAT)
            for pattern in ("rggb", "bggr", "gbrg", "grbg")
        ),
        # (200, 120, 40) is 132, 81, 169 by the formula of BT.601 for video
        (raw(np.tile(np.array([[81, 132], [169, 132]], np.uint8), (6, 4, 1)), "yuv422"), FLAT),
        (raw(np.tile(np.array([[132, 81], [132, 169]], np.uint8), (6, 4, 1)), "yuv422_yuy2"), FLAT),
    ],
    ids=lambda one: one["encoding"] if isinstance(one, dict) else "",
)
def test_encodings(tmp_path: Path, message: dict[str, Any], expected: Image) -> None:
    path = mcap(tmp_path / "a.mcap", [(SECOND, "/camera", "sensor_msgs/msg/Image", message)])
    np.testing.assert_allclose(
        bag(path)[0].image.astype(int), expected, atol=3 if "yuv" in message["encoding"] else 0
    )


def test_topics_are_listed_where_one_must_be_named(tmp_path: Path) -> None:
    messages = drive()
    path = mcap(tmp_path / "a.mcap", [*messages, (SECOND, "/rear", *messages[0][2:])])
    listed = r"/camera \(sensor_msgs/Image, 10\), /motion \(geometry_msgs/TwistStamped, 5\), /rear \("
    with pytest.raises(
        InputError, match=f"has 2 topics with images: choose one with images=; its topics are {listed}"
    ):
        bag(path)
    assert len(bag(path, images="/camera")) == 10
    with pytest.raises(InputError, match="has geometry_msgs/TwistStamped under /motion: its topics are"):
        bag(path, images="/motion")
    with pytest.raises(
        InputError, match=r"has no images: expected sensor_msgs/Image or .*its topics are /motion"
    ):
        bag(mcap(tmp_path / "b.mcap", [one for one in messages if one[1] == "/motion"]))


def test_images_that_are_none(tmp_path: Path) -> None:
    short = raw(colours(), "rgb8") | {"height": 600}
    odd = raw(colours(), "hsv8")
    depth = {"header": HEADER, "format": "16UC1; compressedDepth png", "data": b"123"}
    kinds = ["sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"]
    messages = [
        (SECOND, "/a", kinds[0], short),
        (2 * SECOND, "/a", kinds[0], odd),
        (SECOND, "/b", kinds[1], depth),
    ]
    path = mcap(tmp_path / "a.mcap", messages)
    with pytest.raises(
        FrameError, match=r"a\.mcap: /a at 1000000000: 144 bytes in rows of 24 cannot be 8x600 of rgb8"
    ):
        bag(path, images="/a")[0]
    with pytest.raises(FrameError, match=r"the encoding 'hsv8' is not read, only rgb8, bgr8"):
        bag(path, images="/a")[1]
    with pytest.raises(FrameError, match=r"/b at 1000000000: it is a depth map and no image"):
        bag(path, images="/b")[0]
    data = bag(path, images="/a", on_error="skip")
    assert (list(data), len(data.skipped)) == ([], 2)


def test_bags_that_cannot_be_read(tmp_path: Path) -> None:
    content = mcap(tmp_path / "a.mcap", drive()).read_bytes()
    (tmp_path / "cut.mcap").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"cut\.mcap .*`mcap recover`"):
        bag(tmp_path / "cut.mcap")
    (tmp_path / "none.db3").write_bytes(b"no base of data at all" * 100)
    with pytest.raises(InputError, match=r"none\.db3 cannot be read: DatabaseError: file is not a database"):
        bag(tmp_path / "none.db3")
    with pytest.raises(InputError, match=r"expected a file \.mcap or \.db3 or the folder of a bag"):
        bag(tmp_path / "gone.mcap")
    with (tmp_path / "json.mcap").open("wb") as file:
        writer = PlainWriter(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/Image", "jsonschema", b"{}")
        channel = writer.register_channel("/camera", "json", schema)
        writer.add_message(channel, log_time=1, data=b"{}", publish_time=1)
        writer.finish()  # type: ignore[no-untyped-call]
    with pytest.raises(
        InputError, match="/camera has sensor_msgs/Image in another encoding than ROS 2's CDR"
    ):
        bag(tmp_path / "json.mcap")[0]
    (tmp_path / "text.mcap").write_text("no")
    with pytest.raises(InputError, match=r"text\.mcap is no MCAP file"):
        load(str(tmp_path / "text.mcap"))


def test_a_bag_opens_by_its_path_alone(tmp_path: Path) -> None:
    path = mcap(tmp_path / "a.mcap", drive())
    assert load(str(path)).name == f"bag:{path}"


def test_two_images_of_one_time(tmp_path: Path) -> None:
    made = [
        (SECOND, "/a", "sensor_msgs/msg/Image", raw(np.full((6, 8, 3), 50 * n, np.uint8), "rgb8"))
        for n in range(4)
    ]
    data = bag(mcap(tmp_path / "a.mcap", made))
    assert data.ids == ("1000000000-0", "1000000000-1", "1000000000-2", "1000000000-3")
    assert [data[number].image[0, 0, 0] for number in (2, 1, 3, 0)] == [100, 50, 150, 0]
