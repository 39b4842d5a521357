"""comma2k19: minutes of real commutes, as films with the car's own signals.

::

    Chunk_1/b0c9d2329ad1606b|2018-07-27--06-03-57/3/video.hevc
                                                    processed_log/CAN/speed/t, value
                                                    processed_log/CAN/steering_angle/t, value
                                                    global_pose/frame_times
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file
from roadworthy.datasets._base import OnError, SignalTracks, Track, existing_folder, natural_order, track_of
from roadworthy.datasets.folder import Clip, Film, VideoDataset
from roadworthy.errors import InputError
from roadworthy.frames import SignalUnits
from roadworthy.registry import datasets

_FILM = "video.hevc"
_LOGS = {"speed": ("speed", "car_speed"), "steering": ("steering_angle",)}


@datasets.register("comma2k19", summary="comma2k19: films of commutes with speed and steering")
class Comma2k19Dataset(VideoDataset):
    """Frames of segments of a minute; those of one route are one drive. Times are those of the device.

    The steering is that of the wheel in degrees, positive to the left.

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
        self, path: str, *, step: int = 1, steering_ratio: float = 15.3, on_error: OnError = "raise"
    ) -> None:
        """List the frames; none is decoded but the first of each segment."""
        self.units = SignalUnits(steering="deg", steering_positive="left", steering_ratio=steering_ratio)
        folder = existing_folder(path, "the comma2k19 data set")
        found = sorted((file.parent for file in folder.rglob(_FILM)), key=lambda one: natural_order(str(one)))
        if not found or step < 1:
            raise InputError(
                f"{folder} has no segment with {_FILM}"
                if not found
                else f"step must be 1 or more, got {step}"
            )
        clips = []
        for segment in found:
            film, times = Film(segment / _FILM), _array(segment / "global_pose" / "frame_times")
            if on_error == "raise" and len(film) + 20 < len(times):
                raise InputError(
                    f"{film.path} ends in the middle: {len(film):,} frames, and {len(times):,} in its log; "
                    "on_error=skip takes those that there are"
                )
            name = "/".join(segment.resolve().parts[-2:])
            numbers = range(0, len(film), step)
            clips.append(Clip(name, film, numbers, times, SignalTracks(_logged(segment), self.units)))
        self._begin(f"comma2k19:{path}", clips, on_error)

    def cluster(self, number: int) -> str:
        """Return the route of a frame."""
        return super().cluster(number).rpartition("/")[0]


def _logged(segment: Path) -> dict[str, Track]:
    tracks = {}
    for signal, names in _LOGS.items():
        folders = [segment / "processed_log" / "CAN" / name for name in names]
        folder = next((one for one in folders if is_file(one / "t")), None)
        if folder is not None:
            times, values = _array(folder / "t"), _array(folder / "value")
            if len(times) != len(values):
                raise InputError(f"{folder} has {len(times)} times and {len(values)} values")
            tracks[signal] = track_of(times, values.tolist())
    return tracks


def _array(path: Path) -> NDArray[np.float64]:
    """Return the numbers of a file of numpy, one after the other."""
    try:
        return np.asarray(np.load(path, allow_pickle=False), np.float64).reshape(-1)
    except (OSError, ValueError, EOFError, TypeError, MemoryError) as error:
        raise InputError(f"{path} must be an array of numpy: {str(error).splitlines()[0]}") from error
