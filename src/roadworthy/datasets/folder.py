"""Images and films: a folder of them, one film, or the segments of comma2k19.

A film is read by OpenCV. Its packets are listed when it is opened, which takes no decoding: so every frame
has its own number and time, whatever the container claims about rate and length, and what the decoder gives
after a jump is checked against them.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder
from roadworthy._tables import TimeUnit
from roadworthy.datasets import _base, _recordings
from roadworthy.errors import FrameError, InputError, check_number, told_as
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import MOST_PIXELS, Image
from roadworthy.registry import datasets

Rotation = Literal["auto", 0, 90, 180, 270]
# The numbers of cv2.ROTATE_90_CLOCKWISE and its neighbours.
_TURNS: dict[int | str, int] = {90: 0, 180: 1, 270: 2}
# Frames ahead that are sooner reached by decoding than by a jump.
_NEAR = 48
_PLACE = re.compile(r"(\d+(?:\.\d+)?) ?(s|frames?)?")


@contextmanager
def _capture(path: Path, *options: int) -> Iterator[Any]:
    """Open a film and keep the libraries below from writing to the terminal."""
    import cv2

    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # ffmpeg reads it when it opens its first film
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        # An absolute path: what looks like rtsp: or concat: is a file's name here, and no address.
        yield cv2.VideoCapture(str(path.absolute()), cv2.CAP_FFMPEG, list(options))
    finally:
        cv2.utils.logging.setLogLevel(level)


class FilmReader:
    """The frames of one film by their numbers.

    A decoder stays open where it is, one for each process, so that frames in order cost no jump. A copy for
    another process opens its own.

    Args:
        path: The file.
        rotation: Degrees to the right by which frames are turned; "auto" as the film says.

    Attributes:
        times: Seconds from the beginning of the film to each frame; None where the film has no times, as a
            bare stream of HEVC.
        claimed: The seconds that the film says it lasts; 0 where it does not.

    Raises:
        InputError: It is no film, has no frames, or its codec is unknown to OpenCV.
    """

    def __init__(self, path: Path, rotation: Rotation = "auto") -> None:
        import cv2

        self.path = path
        self._rotation = rotation
        self._forget()
        self._check()
        packets = []
        with _capture(path, cv2.CAP_PROP_FORMAT, -1) as capture:
            while capture.grab():
                packets.append(
                    (capture.get(cv2.CAP_PROP_POS_MSEC), capture.get(cv2.CAP_PROP_LRF_HAS_KEY_FRAME))
                )
        self._open(packets=len(packets))
        first = self._capture.get(cv2.CAP_PROP_POS_MSEC)
        rate, count = (self._capture.get(one) for one in (cv2.CAP_PROP_FPS, cv2.CAP_PROP_FRAME_COUNT))
        # What was cut away at the beginning without encoding the film again is still in the file.
        shown = sorted(one for one in packets if one[0] >= first)
        stamps = np.array([time for time, _ in shown])
        timed = len(shown) == 1 or bool((np.diff(stamps) > 0).all())
        self._stamps = stamps if timed else None
        # The first frame can be decoded, whether a damaged film calls it a key frame or not.
        self._keys = np.union1d([0], np.flatnonzero([key for _, key in shown]) if timed else [])
        self._length = len(shown) if timed else len(packets)
        self.times = (stamps - first) / 1000 if timed else None
        self.claimed = count / rate if timed and rate > 0 and count > 0 else 0.0

    def __len__(self) -> int:
        return self._length

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_capture": None, "_lock": None, "_process": 0, "_at": -1}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._forget()

    def read(self, number: int) -> Image:
        """Return a frame.

        Raises:
            FrameError: It cannot be decoded.
        """
        import cv2

        with self._lock:
            if self._process != os.getpid():
                self._open()
            # A damaged film may have a frame without a picture.
            image = self._capture.retrieve()[1] if self._reach(number) else None
        if image is None or not image.size:
            raise FrameError(
                f"{self.path}: frame {number} of {len(self):,} cannot be decoded, the film is damaged: "
                "on_error=skip leaves such frames out"
            )
        if (turn := _TURNS.get(self._rotation)) is not None:
            image = cv2.rotate(image, turn)
        return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB, dst=image), np.uint8)

    def _check(self) -> None:
        with told_as(InputError, f"cannot read {self.path}", OSError), self.path.open("rb") as file:
            beginning = file.read(4096)
        # A playlist is text, and names other files and addresses to read.
        if b"\0" not in beginning:
            raise InputError(f"{self.path} is no film: it is {'text' if beginning else 'empty'}")

    def _forget(self) -> None:
        self._capture: Any = None
        self._lock = threading.Lock()
        self._process, self._at = 0, -1  # the frame that was decoded last

    def _open(self, packets: int = 1) -> None:
        """Open the decoder at the first frame."""
        import cv2

        with _capture(self.path) as capture:
            width, height = (
                capture.get(one) for one in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
            )
            if width * height > MOST_PIXELS:
                raise InputError(
                    f"{self.path} has frames of {width:.0f}x{height:.0f}, more than {MOST_PIXELS:,} pixels"
                )
            if not (packets and capture.isOpened() and capture.grab()):
                raise InputError(
                    f"{self.path} cannot be decoded by OpenCV: its codec is unknown, or its recording broke "
                    "off before the index was written; convert it (ffmpeg -i film -c:v libx264 new.mp4) or "
                    "repair it (untrunc)"
                )
        if self._rotation != "auto":
            capture.set(cv2.CAP_PROP_ORIENTATION_AUTO, 0)
        self._capture, self._process, self._at = capture, os.getpid(), 0

    def _reach(self, number: int) -> bool:
        """Decode up to a frame; return whether it is there."""
        if self._at <= number <= self._at + _NEAR:
            return self._forward(number)
        key = int(self._keys[np.searchsorted(self._keys, number, "right") - 1])
        if not self._at <= number or key > self._at:
            self._jump(key)
        return self._forward(number)

    def _jump(self, key: int) -> None:
        """Go to a key frame or before it, from where all later frames can be decoded."""
        import cv2

        if key and self._stamps is not None:
            self._capture.set(cv2.CAP_PROP_POS_MSEC, self._stamps[key] - self._stamps[0])
            if self._capture.grab() and (at := self._number()) is not None and at <= key:
                self._at = at
                return
        self._open()

    def _forward(self, number: int) -> bool:
        failed = 0
        while self._at < number:
            at = None
            if self._capture.grab():
                at = self._at + 1 if self._stamps is None else self._number()
            if at is not None:
                self._at = at
            elif self._stamps is None or (failed := failed + 1) > number - self._at:
                self._process = 0  # nothing more comes from this decoder
                return False
        return self._at == number

    def _number(self) -> int | None:
        """Return the number of the frame that was decoded last, by its time."""
        import cv2

        assert self._stamps is not None
        stamp = self._capture.get(cv2.CAP_PROP_POS_MSEC)
        near = int(np.searchsorted(self._stamps, stamp))
        return near if near < len(self._stamps) and self._stamps[near] == stamp else None


@dataclass(frozen=True, eq=False)
class FilmPart:
    """What is taken of a film: numbers of frames, with the times of all, and what was recorded beside it."""

    name: str
    film: FilmReader
    numbers: range
    times: NDArray[np.float64] | None
    tracks: _recordings.SignalTracks

    def signals(self, number: int) -> Signals:
        """Return the time of a frame and the signals at it."""
        times = () if self.times is None else self.times
        known = number < len(times) and np.isfinite(times[number])
        return self.tracks.at(float(times[number]) if known else None)


@datasets.register(
    "video", summary="a film, or a folder of films: MP4, AVI, MKV, HEVC and what else OpenCV decodes"
)
class VideoDataset(_base.BaseDataset):
    """The frames of films. All frames of a film belong to one drive, and have their time in it.

    Ids are the name of the film and the number of the frame in it, whichever are chosen.

    Args:
        path: A film, or a folder of them.
        step: Every how many frames one is taken.
        start: Where to begin in each film: seconds, such as 12.5, or "300 frames".
        end: Where to stop, before this frame.
        rotation: By how many degrees to the right frames are turned; "auto" is what the film says.
        rate: Frames in a second, where the film has no times or wrong ones.
        recursive: Whether the folders below the folder count too.
        signals: A CSV file with the columns time, and speed, steering or the like; for a folder of films a
            folder in which each has one of its name.
        time_unit: The unit of its times.
        offset: What its clock showed when the film began, in seconds.
        speed_unit: The unit of its speeds.
        steering_unit: The unit of its steering, or the degrees that 1 stands for.
        steering_positive: The side to which its steering is positive.
        steering_ratio: Degrees of the steering wheel for one at the wheels, where it is that of the wheel.
        on_error: What iteration does with a frame that cannot be decoded; see `BaseDataset`. With "skip", a
            film that ends before it says it does is taken as it is.

    Raises:
        InputError: There is no film, it cannot be decoded, or nothing of it is left.
    """

    def __init__(
        self,
        path: str,
        *,
        step: int = 1,
        start: float | str | None = None,
        end: float | str | None = None,
        rotation: Rotation = "auto",
        rate: float | None = None,
        recursive: bool = False,
        signals: Path | None = None,
        time_unit: TimeUnit = "s",
        offset: float = 0.0,
        speed_unit: _recordings.SpeedUnit = "m/s",
        steering_unit: _recordings.SteeringUnit = "deg",
        steering_positive: _recordings.Side = "right",
        steering_ratio: float = 1.0,
        on_error: _base.OnError = "raise",
    ) -> None:
        """List the frames; none is decoded but the first of each film."""
        check_number("step", step, least=1)
        check_number("rate", rate, above=0, below=math.inf)
        self.units = SignalUnits(speed_unit, steering_unit, steering_positive, steering_ratio)
        given = Path(path).expanduser()
        files = _film_files(given, recursive)
        names = ids_of([file.name if file == given else file.relative_to(given).as_posix() for file in files])
        clips = []
        for name, file in zip(names, files, strict=True):
            film = FilmReader(file, rotation)
            if on_error == "raise":
                _check_whole(film)
            times = np.arange(len(film)) / rate if rate else film.times
            chosen = _chosen(film, times, start, end, step)
            clips.append(
                FilmPart(name, film, chosen, times, _tracks(signals, file, self.units, time_unit, offset))
            )
        self._begin(f"video:{path}", clips, on_error)

    def _begin(self, name: str, clips: Sequence[FilmPart], on_error: _base.OnError) -> None:
        self._clips = clips
        self._starts = np.cumsum([0, *(len(clip.numbers) for clip in clips)])
        ids = [f"{clip.name}-{number:06d}" for clip in clips for number in clip.numbers]
        _base.BaseDataset.__init__(self, name, ids, on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the film of a frame."""
        return self._place(number)[0].name

    def read(self, number: int) -> Frame:
        """Decode a frame."""
        clip, within = self._place(number)
        return Frame(self.all_ids[number], clip.film.read(within), signals=clip.signals(within))

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the time of a frame and what was recorded at it, without decoding it."""
        clip, within = self._place(self.number(index))
        return clip.signals(within)

    def _place(self, number: int) -> tuple[FilmPart, int]:
        """Return what a frame is of, and its number in the film."""
        place = int(np.searchsorted(self._starts, number, "right")) - 1
        clip = self._clips[place]
        return clip, clip.numbers[number - int(self._starts[place])]


def _film_files(given: Path, recursive: bool) -> list[Path]:
    if not is_folder(given):
        if not is_file(given):
            raise InputError(f"expected a film or a folder of films, found nothing at {given}")
        return [given]
    files = [given / name for name in _base.file_names(given, _base.FILM_ENDINGS, recursive=recursive)]
    if not files:
        hint = "" if recursive else "; recursive=true looks into the folders below it too"
        raise InputError(f"{given} has no films: expected {', '.join(_base.FILM_ENDINGS)}{hint}")
    return files


def _check_whole(film: FilmReader) -> None:
    """Refuse a film that ends long before it says it does."""
    if film.times is not None and film.claimed - film.times[-1] > 1 + 2 * film.claimed / len(film):
        raise InputError(
            f"{film.path} ends in the middle: it should last {film.claimed:.1f} s, and its last frame is at "
            f"{film.times[-1]:.1f} s; -o on_error=skip takes the {len(film):,} frames that there are"
        )


def _chosen(
    film: FilmReader,
    times: NDArray[np.float64] | None,
    start: float | str | None,
    end: float | str | None,
    step: int,
) -> range:
    """Return the numbers of the frames that are taken."""
    first, last = (_frame_at(film, times, name, given) for name, given in (("start", start), ("end", end)))
    numbers = range(len(film))[slice(first, last, step)]
    if not numbers:
        seconds = "" if times is None else f" and {times[-1]:.1f} s"
        raise InputError(
            f"{film.path} has {len(film):,} frames{seconds}: nothing is left from {start} to {end}"
        )
    return numbers


def _frame_at(
    film: FilmReader, times: NDArray[np.float64] | None, name: str, given: float | str | None
) -> int | None:
    if given is None:
        return None
    if (place := _PLACE.fullmatch(str(given))) is None:
        raise InputError(
            f"{name} must be seconds, such as 12.5, or frames, such as '300 frames', got {given!r}"
        )
    if (place[2] or "s") != "s":
        return int(float(place[1]))
    if times is None:
        raise InputError(f"{film.path} has no times: give its rate, or {name} in frames")
    return int(np.searchsorted(times, float(place[1])))


def _tracks(
    given: Path | None, film: Path, units: SignalUnits, time_unit: TimeUnit, offset: float
) -> _recordings.SignalTracks:
    if given is None:
        return _recordings.SignalTracks({}, units)
    file = given / f"{film.stem}.csv" if is_folder(given) else given
    return _recordings.SignalTracks.read(file, units, time_unit, offset)


def ids_of(names: Sequence[str]) -> list[str]:
    """Return names of files without their endings, unless two differ in nothing else.

    Example:
        >>> ids_of(["a.png", "b.png", "b.jpg"])
        ['a', 'b.png', 'b.jpg']
    """
    stems = [name.rpartition(".")[0] for name in names]
    times = Counter(stems)
    return [name if times[stem] > 1 else stem for name, stem in zip(names, stems, strict=True)]


_FILM = "video.hevc"
_LOGS = {"speed": ("speed", "car_speed"), "steering": ("steering_angle",)}


@datasets.register("comma2k19", summary="comma2k19: films of commutes with speed and steering")
class Comma2k19Dataset(VideoDataset):
    """Frames of segments of a minute; those of one route are one drive. Times are those of the device.

    A segment has ``video.hevc``, ``processed_log/CAN`` and ``global_pose/frame_times``. The steering is that
    of the wheel in degrees, positive to the left.

    Args:
        path: A segment, or a folder above segments, such as a route or a chunk.
        step: Every how many frames one is taken.
        steering_ratio: Degrees of the steering wheel for one at the wheels; 15.3 is that of the Civic, the
            car of chunks 3 to 10.
        on_error: What iteration does with a frame that cannot be decoded; see `BaseDataset`. With "skip", a
            film that ends before its log is taken as it is.

    Raises:
        InputError: There is no segment, or its film or logs cannot be read.
    """

    def __init__(
        self, path: str, *, step: int = 1, steering_ratio: float = 15.3, on_error: _base.OnError = "raise"
    ) -> None:
        """List the frames; none is decoded but the first of each segment."""
        self.units = SignalUnits(steering="deg", steering_positive="left", steering_ratio=steering_ratio)
        folder = _base.existing_folder(path, "the comma2k19 data set")
        found = sorted(
            (file.parent for file in folder.rglob(_FILM)), key=lambda one: _base.natural_order(str(one))
        )
        if not found:
            raise InputError(f"{folder} has no segment with {_FILM}")
        check_number("step", step, least=1)
        clips = []
        for segment in found:
            film, times = FilmReader(segment / _FILM), _array(segment / "global_pose" / "frame_times")
            if on_error == "raise" and len(film) + 20 < len(times):
                raise InputError(
                    f"{film.path} ends in the middle: {len(film):,} frames, and {len(times):,} in its log; "
                    "on_error=skip takes those that there are"
                )
            name = "/".join(segment.resolve().parts[-2:])
            numbers = range(0, len(film), step)
            clips.append(
                FilmPart(name, film, numbers, times, _recordings.SignalTracks(_logged(segment), self.units))
            )
        self._begin(f"comma2k19:{path}", clips, on_error)

    def cluster(self, number: int) -> str:
        """Return the route of a frame."""
        return super().cluster(number).rpartition("/")[0]


def _logged(segment: Path) -> dict[str, _recordings.Track]:
    tracks = {}
    for signal, names in _LOGS.items():
        folders = [segment / "processed_log" / "CAN" / name for name in names]
        if (folder := next((one for one in folders if is_file(one / "t")), None)) is not None:
            times, values = _array(folder / "t"), _array(folder / "value")
            if len(times) != len(values):
                raise InputError(f"{folder} has {len(times)} times and {len(values)} values")
            tracks[signal] = _recordings.track_of(times, values.tolist())
    return tracks


def _array(path: Path) -> NDArray[np.float64]:
    """Return the numbers of a file of numpy, one after the other."""
    with _base.telling(path, "it must be an array of numpy"):
        return np.asarray(np.load(path, allow_pickle=False), np.float64).reshape(-1)


@datasets.register("folder", summary="a folder of images (PNG, JPEG, BMP), or of films")
class FolderDataset(_base.BaseDataset):
    """The images of a folder, in the order in which people number them: 9 comes before 10.

    The id of a frame is the path of its file below the folder, without the ending unless two files differ
    in nothing else. Where there are films and no images, it has the frames of these, as `VideoDataset` does.

    Args:
        path: The folder.
        recursive: Whether the folders below it count too.
        classes: Whether the folder in which an image lies is named for what it shows; the folders below count
            then, and the class is in the metadata, as ``class``.
        on_error: What iteration does with a file that cannot be read; see `BaseDataset`.

    Raises:
        InputError: There is no such folder, or neither image nor film in it.
    """

    def __init__(
        self, path: str, *, recursive: bool = False, classes: bool = False, on_error: _base.OnError = "raise"
    ) -> None:
        """List the files; nothing is read yet."""
        if _base.is_film(Path(path).expanduser()):
            raise InputError(f"{path} is a film and no folder: write video:{path}")
        self._folder = _base.existing_folder(path, "a data set of images")
        self._classes = classes
        recursive = recursive or classes
        self._names = _base.file_names(self._folder, recursive=recursive)
        self._films: VideoDataset | None = None
        if (
            not self._names
            and not classes
            and _base.file_names(self._folder, _base.FILM_ENDINGS, recursive=recursive)
        ):
            self._films = VideoDataset(path, recursive=recursive, on_error=on_error)
        elif not self._names:
            hint = "" if recursive else "; recursive=true looks into the folders below it too"
            raise InputError(
                f"{self._folder} has no images: expected {', '.join(_base.IMAGE_ENDINGS)}, "
                f"or films: {', '.join(_base.FILM_ENDINGS)}{hint}"
            )
        ids = ids_of(self._names) if self._films is None else self._films.all_ids
        super().__init__(f"folder:{path}", ids, on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the film of a frame; an image is one of its own."""
        return super().cluster(number) if self._films is None else self._films.cluster(number)

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the time of a frame of a film; nothing is known of images."""
        return Signals() if self._films is None else self._films.signals(self.number(index))

    def read(self, number: int) -> Frame:
        """Read an image, or a frame of a film."""
        if self._films is not None:
            return self._films.read(number)
        path = self._folder / self._names[number]
        known = {"class": path.resolve().parent.name} if self._classes else {}
        return Frame.from_file(path, id=self.all_ids[number], metadata=known)
