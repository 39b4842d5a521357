"""The frame: an image with its labels, boxes, depth and signals."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict, ReadOnlyArrays, described, frozen, read_only
from roadworthy.errors import FrameError, check_choice, check_number
from roadworthy.frames.boxes import Boxes
from roadworthy.frames.labels import LabelMap, is_rgb
from roadworthy.images import read_image, write_image

Values = TypeVar("Values", float, NDArray[np.floating])

_SPEED_DIVISORS = {"m/s": 1.0, "km/h": 3.6, "mph": 1 / 0.44704}
_DEGREES = {"deg": 1.0, "rad": 180 / math.pi}


class SignalValues(TypedDict, total=False):
    """The signals of :class:`Signals` that have names of their own."""

    speed: float | None
    steering: float | None
    acceleration: float | None
    throttle: float | None
    brake: float | None
    timestamp: float | None


@dataclass(frozen=True)
class Signals:
    """What the vehicle does: what was recorded with a frame, or what a model answers. None is unknown.

    Attributes:
        speed: Metres per second; negative when reversing.
        steering: Degrees at the wheels, positive to the right.
        acceleration: Metres per second squared along the road.
        throttle: As the source has it, usually 0 to 1.
        brake: As the source has it, usually 0 to 1.
        timestamp: Seconds.
        extra: Further numbers of the source under its own names.

    Example:
        >>> Signals(speed=10.0, steering=-2.5).mirrored().steering
        2.5
    """

    speed: float | None = None
    steering: float | None = None
    acceleration: float | None = None
    throttle: float | None = None
    brake: float | None = None
    timestamp: float | None = None
    extra: Mapping[str, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and not (type(value) is float and math.isfinite(value)):
                object.__setattr__(self, name, _number(name, value))
        for name in self.extra:
            if name in _NAMES:
                raise FrameError(f"extra signal {name!r} has the name of a signal: pass {name}=... instead")
        if self.extra or type(self.extra) is not FrozenDict:
            numbers = {name: _number(name, value) for name, value in self.extra.items()}
            object.__setattr__(self, "extra", frozen(numbers))

    @classmethod
    def from_units(
        cls, units: SignalUnits, *, extra: Mapping[str, float] | None = None, **values: Unpack[SignalValues]
    ) -> Signals:
        """Make signals from values in the units of a data set or model.

        Example:
            >>> units = SignalUnits("km/h", steering="rad", steering_positive="left", steering_ratio=14.4)
            >>> signals = Signals.from_units(units, speed=36, steering=-0.1)
            >>> signals.speed, round(signals.steering, 3)
            (10.0, 0.398)
        """
        given = cls(**values, extra=extra or {})
        speed = None if given.speed is None else units.decode_speed(given.speed)
        steering = None if given.steering is None else units.decode_steering(given.steering)
        return replace(given, speed=speed, steering=steering)

    def mirrored(self) -> Signals:
        """Return the signals of the mirrored scene: steering to the other side, all else the same."""
        if self.steering is None:
            return self
        # Subtracting rather than negating, so that straight ahead stays 0.0 and does not become -0.0.
        return replace(self, steering=0.0 - self.steering)

    def as_dict(self) -> dict[str, float]:
        """Return the known signals, the extra ones included, by name.

        Example:
            >>> Signals(speed=3.0, extra={"gear": 2}).as_dict()
            {'speed': 3.0, 'gear': 2.0}
        """
        known = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        return {**known, **self.extra}


_NAMES = tuple(one.name for one in fields(Signals) if one.name != "extra")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise FrameError(f"signal {name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise FrameError(f"signal {name} must be finite, got {value}: leave an unknown signal out")
    return float(value)


@dataclass(frozen=True)
class SignalUnits:
    """The units of a data set or model, declared once; values are converted where they come in or go out.

    Attributes:
        speed: "m/s", "km/h" or "mph", or the m/s that one unit stands for.
        steering: "deg" or "rad", or the degrees that one unit stands for, such as 25 where ±1 is ±25°.
        steering_positive: The side of positive angles.
        steering_ratio: Degrees of the steering wheel for one degree at the wheels; 1 where the angle is
            already that of the wheels.

    Example:
        >>> import numpy as np
        >>> simulator = SignalUnits(speed="mph", steering=25.0)
        >>> simulator.decode_steering(np.array([-1.0, 0.5])).tolist()
        [-25.0, 12.5]
        >>> simulator.encode_steering(12.5)
        0.5
    """

    speed: str | float = "m/s"
    steering: str | float = "deg"
    steering_positive: Literal["left", "right"] = "right"
    steering_ratio: float = 1.0

    def __post_init__(self) -> None:
        for name, known in (("speed", _SPEED_DIVISORS), ("steering", _DEGREES)):
            unit = getattr(self, name)
            if isinstance(unit, str) and unit not in known:
                raise FrameError(f"{name} unit must be {', '.join(known)} or a number, got {unit!r}")
            if not isinstance(unit, str) and not 0 < unit < math.inf:
                raise FrameError(f"{name} unit must be a positive number, got {unit!r}")
        check_choice("steering_positive", self.steering_positive, ("left", "right"), FrameError)
        check_number("steering_ratio", self.steering_ratio, FrameError, above=0, below=math.inf)
        for name, factor in (("speed", self._speed_divisor), ("steering", self._degrees_right)):
            if not 1e-99 < abs(factor) < 1e99:
                raise FrameError(f"the unit of {name} must be one that is in use, got one of {factor:g}")

    def decode_speed(self, value: Values) -> Values:
        """Return m/s for a speed, or an array of speeds, in these units."""
        # What is too large becomes infinite, which is no value of a signal; no more is a NaN of any kind.
        with np.errstate(over="ignore", invalid="ignore"):
            return value / self._speed_divisor

    def encode_speed(self, value: Values) -> Values:
        """Return a speed, or an array of speeds, in m/s in these units."""
        return value * self._speed_divisor

    def decode_steering(self, value: Values) -> Values:
        """Return degrees at the wheels, positive right, for one or many angles in these units."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Adding 0.0 turns the -0.0 that a change of sign leaves into 0.0.
            return value * self._degrees_right + 0.0

    def encode_steering(self, value: Values) -> Values:
        """Return an angle, or an array of angles, at the wheels, positive right, in these units."""
        return value / self._degrees_right + 0.0

    @property
    def _speed_divisor(self) -> float:
        return _SPEED_DIVISORS[self.speed] if isinstance(self.speed, str) else 1 / self.speed

    @property
    def _degrees_right(self) -> float:
        degrees = _DEGREES[self.steering] if isinstance(self.steering, str) else self.steering
        return (1.0 if self.steering_positive == "right" else -1.0) * degrees / self.steering_ratio


@dataclass(frozen=True, eq=False)
class Frame(ReadOnlyArrays):
    """What a camera saw at one moment and what is known about it. None is unknown.

    Frames are compared by identity. Arrays are kept as read-only views: nothing is copied, and the arrays
    given stay as writable as they were.

    Attributes:
        id: A name for the frame, unique in its data set.
        image: RGB, height × width × 3, uint8.
        labels: The class of every pixel.
        instances: Track id of the thing at every pixel, 0 where there is none; uint16 or int32,
            height × width.
        boxes: The things that are known to be in the image.
        depth: Metres along the optical axis per pixel, float32; infinite in the sky, NaN where unknown.
        signals: What the vehicle does.
        previous: The frames before this one, oldest first.
        metadata: Further facts, such as weather, level, time, season and place; for an image of one
            thing, its class.
        visual_change: Δv, how much of a change from its original a human sees in this image.
        tolerated: Whether people still answer rightly after so much of the change (t_c of a published study);
            None where nobody has measured it.
        estimator: Returns a frame with what it lacks and something needs, given the names, such as "labels";
            None where nothing is estimated.
        siblings: The data that it comes from, out of which real things for it may be cut; None where that
            is not known.

    Example:
        >>> import numpy as np
        >>> image = np.zeros((4, 6, 3), np.uint8)
        >>> frame = Frame("drive/17", image, signals=Signals(speed=8.0, steering=-2.0))
        >>> frame
        Frame('drive/17', 6x4, speed=8, steering=-2)
        >>> frame.mirrored().signals.steering
        2.0
    """

    id: str
    image: NDArray[np.uint8]
    labels: LabelMap | None = None
    instances: NDArray[np.uint16] | NDArray[np.int32] | None = None
    boxes: Boxes | None = None
    depth: NDArray[np.float32] | None = None
    signals: Signals = Signals()
    previous: Sequence[Frame] = ()
    metadata: Mapping[str, object] = field(default_factory=FrozenDict)
    visual_change: float | None = None
    tolerated: bool | None = None
    estimator: Callable[[Frame, tuple[str, ...]], Frame] | None = None
    siblings: Any = None  # a `Dataset`, which knows frames

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise FrameError(f"the id of a frame must be a non-empty word, got {self.id!r}")
        self._check_image()
        for name, kind in (("labels", LabelMap), ("boxes", Boxes)):
            if getattr(self, name) is not None:
                self._check_type(name, kind)
        self._check_type("signals", Signals)
        if self.labels is not None and self.labels.shape != self._shape:
            shape = self.labels.shape
            raise self._error(f"labels must have the shape {self._shape} of the image, got {shape}")
        self._check_map("instances", (np.uint16, np.int32))
        self._check_map("depth", (np.float32,))
        if self.boxes is not None:
            self._check_boxes(self.boxes)
        if type(self.previous) is not tuple:
            self._check_type("previous", Iterable)
            object.__setattr__(self, "previous", tuple(self.previous))
        for one in self.previous:
            if not isinstance(one, Frame):
                raise self._error(f"previous must hold frames, got {type(one).__name__}")
        if self.visual_change is not None and not np.isfinite(self.visual_change):
            raise self._error(f"visual_change must be finite, got {self.visual_change}")
        if type(self.metadata) is not FrozenDict:
            self._check_type("metadata", Mapping)
            object.__setattr__(self, "metadata", frozen(self.metadata))

    def _error(self, message: str) -> FrameError:
        return FrameError(f"frame {self.id!r}: {message}")

    def _check_type(self, name: str, kind: type) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind):
            raise self._error(f"{name} must be {kind.__name__}, got {type(value).__name__}")

    def _check_image(self) -> None:
        if not is_rgb(self.image) or not self.image.size:
            got = described(self.image)
            raise self._error(f"image must have shape (height, width, 3) and dtype uint8, got {got}")
        object.__setattr__(self, "image", read_only(self.image))

    def _check_map(self, name: str, dtypes: tuple[type, ...]) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if not isinstance(value, np.ndarray) or value.dtype not in dtypes or value.shape != self._shape:
            expected = " or ".join(np.dtype(one).name for one in dtypes)
            wanted = f"the shape {self._shape} of the image and dtype {expected}"
            raise self._error(f"{name} must have {wanted}, got {described(value)}")
        # Comparing rather than taking the minimum, which would be NaN where the depth is unknown.
        if value.dtype.kind != "u" and (negative := value < 0).any():
            row, column = np.unravel_index(int(negative.argmax()), negative.shape)
            got = f"{value[row, column]} at row {row}, column {column}"
            raise self._error(f"{name} must not be negative, got {got}")
        object.__setattr__(self, name, read_only(value))

    def _check_boxes(self, boxes: Boxes) -> None:
        limit = np.array([self.width, self.height, self.width, self.height]) + 1
        outside = np.flatnonzero(((boxes.xyxy < -1) | (boxes.xyxy > limit)).any(axis=1))
        if len(outside):
            index = int(outside[0])
            numbers = ", ".join(f"{value:g}" for value in boxes.xyxy[index])
            raise self._error(
                f"box {index} ({boxes.classes[index]}) at ({numbers}) reaches beyond the image of "
                f"{self.width}x{self.height}: clip the boxes with boxes.clipped({self.width}, {self.height})"
            )

    @property
    def _shape(self) -> tuple[int, int]:
        return self.image.shape[0], self.image.shape[1]

    @property
    def width(self) -> int:
        """Width in pixels."""
        return int(self.image.shape[1])

    @property
    def height(self) -> int:
        """Height in pixels."""
        return int(self.image.shape[0])

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.width, self.height

    @property
    def drawn(self) -> bool:
        """Whether the built-in world drew it, which alone tells its track; a camera saw all others.

        Example:
            >>> image = np.zeros((2, 2, 3), np.uint8)
            >>> Frame("a", image).drawn, Frame("b", image, metadata={"track": "town"}).drawn
            (False, True)
        """
        return "track" in self.metadata

    @property
    def label_map(self) -> LabelMap:
        """The label map of a frame that must have one.

        Raises:
            FrameError: It has none.
        """
        if self.labels is None:
            raise self._error("expected a label map, got a frame without one")
        return self.labels

    def __repr__(self) -> str:
        parts = [repr(self.id), f"{self.width}x{self.height}"]
        parts += [name for name in ("labels", "instances", "depth") if getattr(self, name) is not None]
        if self.boxes is not None:
            parts.append(f"{len(self.boxes)} boxes")
        parts += [f"{name}={value:g}" for name, value in self.signals.as_dict().items()]
        if self.previous:
            parts.append(f"{len(self.previous)} previous")
        parts += [f"{name}={value}" for name, value in self.metadata.items()]
        if self.visual_change is not None:
            parts.append(f"Δv={self.visual_change:.3f}")
        return f"Frame({', '.join(parts)})"

    def replace(self, **changes: Any) -> Frame:
        """Return a frame with some attributes changed; the others are shared.

        Example:
            >>> frame = Frame("a", np.zeros((2, 2, 3), np.uint8))
            >>> frame.replace(metadata={"weather": "rainy"}).metadata["weather"]
            'rainy'
        """
        return dataclasses.replace(self, **changes)

    def with_known(self, *names: str) -> Frame:
        """Return the frame with some of its attributes, estimated where they are not known and can be.

        Example:
            >>> def near(frame: Frame, names: tuple[str, ...]) -> Frame:
            ...     return frame.replace(depth=np.ones(frame.image.shape[:2], np.float32))
            >>> Frame("a", np.zeros((2, 2, 3), np.uint8), estimator=near).with_known("depth")
            Frame('a', 2x2, depth)
        """
        lacking = tuple(name for name in names if getattr(self, name) is None)
        return self.estimator(self, lacking) if lacking and self.estimator is not None else self

    def mirrored(self) -> Frame:
        """Return the frame with left and right exchanged, in everything that has a left and a right.

        Metadata and extra signals stay: what a left and a right would mean there is not known.
        """
        import cv2

        flipped = {
            # Not value[:, ::-1]: numpy copies pixels of three bytes one by one, thirty times slower.
            name: None if value is None else cv2.flip(value, 1)
            for name in ("image", "instances", "depth")
            for value in [getattr(self, name)]
        }
        labels = None if self.labels is None else self.labels.mirrored()
        boxes = None if self.boxes is None else self.boxes.mirrored(self.width)
        signals, previous = self.signals.mirrored(), tuple(one.mirrored() for one in self.previous)
        return self.replace(**flipped, labels=labels, boxes=boxes, signals=signals, previous=previous)

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, id: str | None = None, **known: Any) -> Frame:
        """Read an image file; the id is the name of the file without its ending unless given.

        Raises:
            FrameError: The file is no readable image.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Frame("a", np.zeros((2, 3, 3), np.uint8)).save_image(f"{folder}/000042.png")
            ...     Frame.from_file(f"{folder}/000042.png", metadata={"time": "night"})
            Frame('000042', 3x2, time=night)
        """
        return cls(Path(path).stem if id is None else id, read_image(path), **known)

    def save_image(self, path: str | PathLike[str]) -> None:
        """Write the image; the ending of the path chooses the format."""
        write_image(path, self.image)


_LONGEST_STEP = 1.0  # seconds between frames of one drive; recordings have 10 to 30 per second


def with_history(frames: Iterable[Frame], history: int) -> Iterator[Frame]:
    """Yield those frames that have so many earlier ones.

    A frame that comes without them gets the frames that were yielded before it, if these belong to the same
    drive: they have the same ``sequence`` in their metadata, and their time stamps follow each other within a
    second. The first frames of a drive are left out.

    Args:
        frames: Frames in the order in which they were recorded.
        history: How many earlier frames a frame must have.

    Example:
        >>> import numpy as np
        >>> from roadworthy.frames import Frame, Signals
        >>> image = np.zeros((2, 2, 3), np.uint8)
        >>> drive = [Frame(f"f{n}", image, signals=Signals(timestamp=n / 20)) for n in range(4)]
        >>> [(one.id, one.previous[0].id) for one in with_history(drive, 2)]
        [('f2', 'f0'), ('f3', 'f1')]
    """
    earlier: deque[Frame] = deque(maxlen=history)
    for frame in frames:
        if len(frame.previous) >= history:
            yield frame
            continue
        if earlier and not _follows(earlier[-1], frame):
            earlier.clear()
        if len(earlier) == history:
            yield frame.replace(previous=tuple(earlier))
        earlier.append(frame)


def _follows(before: Frame, after: Frame) -> bool:
    if before.metadata.get("sequence") != after.metadata.get("sequence"):
        return False
    first, second = before.signals.timestamp, after.signals.timestamp
    return first is not None and second is not None and 0 < second - first <= _LONGEST_STEP
