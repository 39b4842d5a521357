"""MCAP files and ROS 2 bags: images of a camera, with speed and steering from other topics.

A bag is an MCAP file, an SQLite file (.db3), or the folder that ``ros2 bag record`` writes. All times are
those at which messages were recorded: one clock for every topic, with or without a header.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import is_file
from roadworthy._importing import required
from roadworthy._yaml import read_yaml
from roadworthy.datasets import _base, _recordings
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import MOST_PIXELS, Image, decode_image
from roadworthy.registry import datasets

_ENDINGS = (".mcap", ".db3")
_MAGIC = b"\x89MCAP"  # what an MCAP file begins with
_ADVICE = "`mcap recover` mends what broke off"
_IMAGES = ("sensor_msgs/Image", "sensor_msgs/CompressedImage")
_MESSAGES = Path(__file__).with_name("messages.yaml")
_FIELDS: Mapping[str, Mapping[str, str]] = read_yaml(
    Path(__file__).with_name("fields.yaml"), "file of fields", "fields of messages"
).data
_ENCODINGS = read_yaml(Path(__file__).with_name("encodings.yaml"), "file of encodings", "encodings").data
# The numbers of each pixel in an encoding, and what makes RGB of them.
_PLAIN: Mapping[str, tuple[int, str]] = {name: (size, code) for name, (size, code) in _ENCODINGS.items()}


def _library() -> Any:
    """Return what decodes messages."""
    return required("mcap_ros2.decoder", extra="logs", purpose="read ROS messages").DecoderFactory()


@dataclass(frozen=True)
class Topic:
    """What a log has under a name.

    Attributes:
        type: What its messages are, such as sensor_msgs/Image.
        count: How many there are.
        decode: Makes a message of bytes.
    """

    type: str
    count: int
    decode: Callable[[bytes], Any] | None


class _Mcap:
    """The topics and messages of an MCAP file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        factory = _library()
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise InputError(f"{path} is no MCAP file: it begins otherwise")
        with self._opened() as reader:
            summary = reader.get_summary()
            if summary is None or summary.statistics is None:
                raise InputError(f"{path} has no index, its recording broke off: `mcap recover` makes one")
            self.topics = {
                channel.topic: Topic(
                    _short(schema.name if (schema := summary.schemas.get(channel.schema_id)) else ""),
                    summary.statistics.channel_message_counts.get(number, 0),
                    factory.decoder_for(channel.message_encoding, schema),
                )
                for number, channel in summary.channels.items()
            }

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        from mcap.reader import make_reader

        with self._path.open("rb") as file:
            yield make_reader(file)

    def records(self, topic: str, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield times and messages of a topic, from a time on."""
        with self._opened() as reader:
            for _, _, message in reader.iter_messages([topic], starting_at=start):
                yield message.log_time, message.data


class _Sqlite:
    """The topics and messages of a bag that is an SQLite file."""

    def __init__(self, path: Path) -> None:
        from mcap.records import Schema

        self._path = path
        factory = _library()
        with self._opened() as base:
            known = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
            asked = "SELECT topic_type, encoded_message_definition FROM message_definitions"
            told = dict(base.execute(asked)) if "message_definitions" in known else {}
            counted = dict(base.execute("SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id"))
            self.topics = {}
            self._numbers = {}
            for number, name, type, encoding in base.execute(
                "SELECT id, name, type, serialization_format FROM topics"
            ):
                text = told.get(type) or _definition(_short(type))
                schema = None if text is None else Schema(number, text.encode(), "ros2msg", type)
                decode = factory.decoder_for(encoding, schema)
                self.topics[name] = Topic(_short(type), counted.get(number, 0), decode)
                self._numbers[name] = number

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        base = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        try:
            yield base
        finally:
            base.close()

    def records(self, topic: str, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield times and messages of a topic, from a time on."""
        asked = (
            "SELECT timestamp, data FROM messages WHERE topic_id=? AND timestamp>=? ORDER BY timestamp, id"
        )
        with self._opened() as base:
            # Whatever the column is said to hold, SQLite keeps what was written into it.
            found = base.execute(asked, (self._numbers[topic], start))
            yield from ((index(time), data) for time, data in found)


def _short(type: str) -> str:
    return type.replace("/msg/", "/")


@datasets.register("bag", summary="MCAP files and ROS 2 bags: images, speed and steering")
class BagDataset(_base.RecordedDataset):
    """The images of one topic. Ids are the times of recording in nanoseconds; a pause begins another drive.

    Args:
        path: An MCAP file, a .db3 file, or the folder of a bag.
        images: The topic of the images; needed where there are several.
        speed: The topic of the speed, and behind a dot the field where its type does not tell:
            ``/vehicle/speed.data``.
        steering: The topic of the steering, likewise. Of messages about motion (Twist, Odometry) it is worked
            out from how the vehicle turns.
        wheelbase: The metres between the axles, for that.
        speed_unit: The unit of speed.
        steering_unit: The unit of steering, or the degrees that 1 stands for.
        steering_positive: The side to which steering is positive.
        steering_ratio: Degrees of the steering wheel for one at the wheels, where it is that of the wheel.
        on_error: What iteration does with an image that cannot be decoded; see `BaseDataset`.

    Raises:
        InputError: There is no bag, it cannot be read, or has no such topic; says which it has.
        MissingExtraError: The libraries for it are not installed.
    """

    def __init__(
        self,
        path: str,
        *,
        images: str | None = None,
        speed: str | None = None,
        steering: str | None = None,
        wheelbase: float = 2.7,
        speed_unit: _recordings.SpeedUnit = "m/s",
        steering_unit: _recordings.SteeringUnit = "rad",
        steering_positive: _recordings.Side = "left",
        steering_ratio: float = 1.0,
        on_error: _base.OnError = "raise",
    ) -> None:
        """List the images and read the signals; no image is decoded yet."""
        self.units = SignalUnits(speed_unit, steering_unit, steering_positive, steering_ratio)
        self._path = Path(path).expanduser()
        self._wheelbase = wheelbase
        self._open()
        with _base.telling(self._path, _ADVICE):
            self._images = images or self._only_images()
            self._topic(self._images, _IMAGES)
            listed = [
                (place, time)
                for place, file in enumerate(self._files)
                if self._images in file.topics
                for time, _ in file.records(self._images)
            ]
            asked = {"speed": speed, "steering": steering}
            tracks = {name: self._track(name, topic) for name, topic in asked.items() if topic is not None}
        self._listed = listed
        self._tracks = _recordings.SignalTracks(tracks, self.units)
        ids = [str(time) for _, time in listed]
        twice = {id for id, next in pairwise(ids) if id == next}
        ids = [f"{id}-{number}" if id in twice else id for number, id in enumerate(ids)]
        super().__init__(f"bag:{path}", ids, on_error=on_error)
        self._drives = _base.drives_by_time([time / 1e9 for _, time in listed])

    def _open(self) -> None:
        with _base.telling(self._path, _ADVICE):
            self._files = [
                _Mcap(file) if file.suffix == ".mcap" else _Sqlite(file) for file in _parts(self._path)
            ]
        self._topics = {name: topic for file in self._files for name, topic in file.topics.items()}
        self._lock = threading.Lock()
        self._reading: Iterator[tuple[int, bytes]] = iter(())
        self._process, self._next = 0, -1

    def __getstate__(self) -> dict[str, Any]:
        made_by_opening = {"_files", "_topics", "_lock", "_reading"}
        return {name: value for name, value in self.__dict__.items() if name not in made_by_opening}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._open()

    def read(self, number: int) -> Frame:
        """Decode an image."""
        with _base.telling(self._path, _ADVICE), self._lock:
            if (self._process, self._next) != (os.getpid(), number):
                place, time = self._listed[number]
                same = self._listed.index((place, time), max(0, number - 1000))
                following = self._files[place].records(self._images, time)
                self._reading, self._process = islice(following, number - same, None), os.getpid()
            message = self._decoded(self._images, next(self._reading)[1])
            more = number + 1 < len(self._listed) and self._listed[number + 1][0] == self._listed[number][0]
            self._next = number + 1 if more else -1
        where = Path(f"{self._path}: {self._images} at {self._listed[number][1]}")
        with _base.telling(where, "it is no usual image"):
            image = _image_of(message)
        return Frame(self.all_ids[number], image, signals=self._signals(number))

    def _signals(self, number: int) -> Signals:
        return self._tracks.at(self._listed[number][1] / 1e9)

    def _only_images(self) -> str:
        found = [name for name, topic in self._topics.items() if topic.type in _IMAGES and topic.count]
        if len(found) != 1:
            count = f"{len(found)} topics with" if found else "no"
            advice = "choose one with images=" if found else "expected " + " or ".join(_IMAGES)
            raise InputError(f"{self._path} has {count} images: {advice}; its topics are {self._listing()}")
        return str(found[0])

    def _listing(self) -> str:
        told = (f"{name} ({topic.type}, {topic.count})" for name, topic in sorted(self._topics.items()))
        return ", ".join(told) or "none"

    def _topic(self, name: str, types: Collection[str] = ()) -> Topic:
        topic = self._topics.get(name)
        if topic is None or (types and topic.type not in types):
            came = "has no topic" if topic is None else f"has {topic.type} under"
            raise InputError(f"{self._path} {came} {name}: its topics are {self._listing()}")
        return topic

    def _decoded(self, name: str, data: bytes) -> Any:
        topic = self._topics[name]
        if topic.decode is None:
            raise InputError(
                f"{self._path}: {name} has {topic.type} in another encoding than ROS 2's CDR, or without a "
                "definition: it cannot be read"
            )
        return topic.decode(data)

    def _track(self, name: str, asked: str) -> _recordings.Track:
        """Return a signal at the times of its messages."""
        topic_name, _, field = asked.partition(".")
        type = self._topic(topic_name).type
        field = field or _FIELDS.get(type, {}).get(name, "")
        twist = _FIELDS.get(type, {}).get("twist") if name == "steering" and not field else None
        if not field and twist is None:
            raise InputError(
                f"{self._path}: {topic_name} has {type}, of which no field is known to be the {name}: "
                f"write {name}={topic_name}.field"
            )
        times, values = [], list[float | None]()
        for file in self._files:
            for time, data in file.records(topic_name) if topic_name in file.topics else ():
                message = self._decoded(topic_name, data)
                times.append(time / 1e9)
                if twist is None:
                    values.append(float(_field(message, field)))
                else:
                    speed, turn = (_field(message, f"{twist}{one}") for one in ("linear.x", "angular.z"))
                    angle = _recordings.turned_wheels(speed, turn, self._wheelbase)
                    values.append(None if angle is None else self.units.encode_steering(angle))
        return _recordings.track_of(times, values)


def _field(message: Any, path: str) -> Any:
    for part in path.split("."):
        message = message[int(part)] if part.isdigit() else getattr(message, part, None)
        if message is None:
            raise InputError(f"messages have no field {path!r}")
    return message


def _parts(path: Path) -> list[Path]:
    """Return the files of a bag, in order."""
    if is_file(path) and path.suffix in _ENDINGS:
        return [path]
    names = _base.file_names(path, _ENDINGS)
    if not names:
        raise InputError(
            f"expected a file {' or '.join(_ENDINGS)} or the folder of a bag with such files, got {path}: "
            "unpack what is compressed"
        )
    return [path / name for name in names]


def _image_of(message: Any) -> Image:
    """Return the image of a message as RGB."""
    import cv2

    data = np.frombuffer(bytes(message.data), np.uint8)
    if not hasattr(message, "encoding"):
        if "compressedDepth" in message.format:
            raise FrameError("it is a depth map and no image")
        return decode_image(data.tobytes())
    if message.encoding not in _PLAIN:
        raise FrameError(f"the encoding {message.encoding!r} is not read, only {', '.join(_PLAIN)}")
    channels, code = _PLAIN[message.encoding]
    size = 2 if "16" in message.encoding else 1
    width, height, step = message.width, message.height, message.step
    used = width * channels * size
    if not 0 < width * height <= MOST_PIXELS or step < used or len(data) < step * height:
        raise FrameError(
            f"{len(data)} bytes in rows of {step} cannot be {width}x{height} of {message.encoding}"
        )
    rows = data[: step * height].reshape(height, step)[:, :used]
    if size == 2:  # the more significant byte of each number is what eight bits can hold
        rows = rows[:, 0 if message.is_bigendian else 1 :: 2]
    pixels = np.ascontiguousarray(rows).reshape(height, width, channels)
    try:
        return np.asarray(cv2.cvtColor(pixels, getattr(cv2, f"COLOR_{code}")) if code else pixels, np.uint8)
    except cv2.error as error:
        raise FrameError(f"{width}x{height} cannot be {message.encoding}") from error


def _definition(type: str) -> str | None:
    """Return the definition of a usual message as bags have it: with what it is made of."""
    known = read_yaml(_MESSAGES, "file of messages", "messages by name").data
    if type not in known:
        return None
    parts = [known[type], *(f"{'=' * 80}; MSG: {name}; {fields}" for name, fields in known.items())]
    return "; ".join(parts).replace("; ", "\n")
