"""Drives drawn: the way on a map, a metric along the way, and films of what the camera saw."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming, read_record, replacing
from roadworthy.driving.drives import FATAL_EVENTS, Drive
from roadworthy.driving.metrics import MetricSettings, compute, parse_metric, per_step, primitives
from roadworthy.driving.simulators import DriveLimits, DrivingSimulator, open_simulator
from roadworthy.driving.simulators import drive as closed_loop
from roadworthy.driving.simulators.scenarios import CameraFrames
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import callable_model
from roadworthy.report.drawing import LIGHT, draw_signals
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ALARM = LIGHT["bad"]
_MARKS = {"crash": ("X", PALETTE[6]), "line crossing": ("v", PALETTE[3])}
LEAST_EXTENT = 30.0  # metres; a map of less would show a step as a journey


def drive_figure(
    drive: Drive, metric: str = "LP", *, alarms: Collection[str] = (), settings: MetricSettings | None = None
) -> Figure:
    """Draw the way that was driven, coloured by a metric, and the metric along the way.

    Args:
        drive: The drive; without x and y, only the lower plot is drawn.
        metric: A metric of steps, such as LP or DevT(SP), or of sectors, such as SD(LP).
        alarms: The sectors to mark.
        settings: Of the metrics.

    Raises:
        InputError: The drive lacks what the metric needs, or there is no such sector.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1], {"lane_offset": [0.1, 0.2], "x": [0.0, 1.0], "y": [0.0, 1.0]})
        >>> len(drive_figure(drive).axes)
        3
    """
    for name in alarms:
        if name not in drive.sector_names:
            known = ", ".join(drive.sector_names)
            raise InputError(f"drive {drive.name} has no sector {name!r}: it has {known}")
    values = values_along(drive, metric, settings)
    label = metric_label(metric)
    alarmed = alarmed_steps(drive, alarms)
    mapped = all(name in drive.signals for name in ("x", "y"))
    figure, axes = new_figure(2 if mapped else 1, 1, size=(7.2, 7.4 if mapped else 3.0))
    if mapped:
        axes[0, 0].get_gridspec().set_height_ratios((2.4, 1.0))
        _draw_map(figure, axes[0, 0], drive, values, alarmed, label)
    _draw_along(axes[-1, 0], drive, values, alarmed, label)
    axes[0, 0].set_title(f"{drive.name}: {drive.ended}" if drive.ended else drive.name)
    return figure


def values_along(drive: Drive, metric: str, settings: MetricSettings | None = None) -> NDArray[np.float64]:
    """Return the value of each step; that of its sector where a metric is one number for many steps.

    Raises:
        InputError: There is no such metric, or the drive lacks what it needs.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"lane_offset": [0.1, 0.3, 0.2]}, sectors=[0, 0, 1])
        >>> values_along(drive, "Max(LP)").tolist()
        [0.3, 0.3, 0.2]
    """
    parsed = parse_metric(metric)
    if parsed.operators in ((), ("DevT",)) and parsed.primitive not in ("TO", "SARR", "BD"):
        return per_step(drive, [parsed], settings=settings)[str(parsed)]
    return compute(drive, [parsed], settings=settings)[str(parsed)][drive.sectors]


def metric_label(metric: str) -> str:
    """Return what stands beside the values of a metric.

    Example:
        >>> metric_label("SP"), metric_label("SD(LP)")
        ('speed, m/s', 'SD(LP) (lateral position)')
    """
    parsed = parse_metric(metric)
    one = primitives()[parsed.primitive]
    if parsed.operators:
        return f"{parsed} ({one.title})"
    return f"{one.title}, {one.unit}" if one.unit else one.title


def _draw_map(
    figure: Figure,
    axis: Axes,
    drive: Drive,
    values: NDArray[np.float64],
    alarmed: NDArray[np.bool_],
    label: str,
) -> None:
    from matplotlib.collections import LineCollection

    way = np.column_stack([drive.signals["x"], drive.signals["y"]])
    pieces = np.stack([way[:-1], way[1:]], axis=1)
    # Under the colours, so that the marked sectors stand out as a border.
    axis.add_collection(LineCollection(list(pieces[alarmed[:-1]]), colors=_ALARM, linewidths=11, alpha=0.45))
    joined = ~drive.gaps
    coloured = LineCollection(list(pieces[joined]), cmap="viridis", linewidths=4)
    coloured.set_array(values[:-1][joined])
    axis.add_collection(coloured)
    figure.colorbar(coloured, ax=axis, label=label, shrink=0.8)
    for number, first in enumerate(np.searchsorted(drive.sectors, np.arange(len(drive.sector_names)))):
        axis.plot(*way[first], marker="o", markersize=3, color="#555555")
        axis.annotate(
            drive.sector_names[number],
            way[first],
            textcoords="offset points",
            xytext=(5, 5),
            fontsize=7,
            color=_ALARM if alarmed[first] else "#555555",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
            zorder=4,
        )
    _mark_events(axis, drive, way)
    middle = (np.nanmin(way, axis=0) + np.nanmax(way, axis=0)) / 2
    reach = max(LEAST_EXTENT, float((np.nanmax(way, axis=0) - np.nanmin(way, axis=0)).max())) / 2 * 1.12
    axis.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
    axis.set(aspect="equal", xlabel="m east", ylabel="m north")


def _mark_events(axis: Axes, drive: Drive, way: NDArray[np.float64]) -> None:
    for name, (marker, color) in _MARKS.items():
        happening = drive.events.get(name)
        if happening is None or not happening.any():
            continue
        begins = happening & ~np.concatenate([[False], happening[:-1]])
        axis.plot(
            *way[begins].T, linestyle="", marker=marker, color=color, markersize=9, label=name, zorder=5
        )
        axis.legend(loc="upper right", frameon=False)


def _draw_along(
    axis: Axes, drive: Drive, values: NDArray[np.float64], alarmed: NDArray[np.bool_], label: str
) -> None:
    driven = drive.signals.get("distance")
    across, unit = (driven, "m driven") if driven is not None else (drive.time, "s")
    for start, end in stretches(alarmed):
        axis.axvspan(across[start], across[end - 1], color=_ALARM, alpha=0.25, linewidth=0)
    shown = values.copy()
    shown[:-1][drive.gaps] = np.nan
    axis.plot(across, shown, color=PALETTE[0], linewidth=1.2)
    for name, (marker, color) in _MARKS.items():
        if (happening := drive.events.get(name)) is not None and happening.any():
            axis.plot(
                across[happening], values[happening], linestyle="", marker=marker, color=color, markersize=3
            )
    for first in np.flatnonzero(np.diff(drive.sectors)) + 1:
        axis.axvline(across[first], color="#bbbbbb", linewidth=0.7)
    axis.set(xlabel=unit, ylabel=label)


def alarmed_steps(drive: Drive, alarms: Collection[str]) -> NDArray[np.bool_]:
    """Return which steps of a drive lie in some sectors."""
    return np.isin(np.array(drive.sector_names)[drive.sectors], list(alarms))


def stretches(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield where each stretch of true flags begins and ends."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    yield from zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)


FILM_ENDINGS = (".mp4", ".webm", ".gif")
"""What a film may end in. Players open all of them; of the first two, browsers show only WebM."""
FRAMES_FILE = "frames.zip"
"""What the frames of a drive are called in its folder, where they were kept."""

_CAPTIONED = ("collision", *FATAL_EVENTS)
_GIF_RATE, _GIF_WIDTH = 8.0, 360
_CODES = {".mp4": "mp4v", ".webm": "VP80"}
_ABOUT = "drive.json"
_ANSWERED = ("answered_steering", "answered_speed")
_WAY = ("x", "y", "speed")


class Film(CameraFrames):
    """Writes some of the frames of a drive as a film.

    Example:
        >>> film = Film()
        >>> film.add(Frame("a", np.zeros((16, 32, 3), np.uint8)), time=0.0)
        >>> len(film)
        1
    """

    def write(
        self,
        path: str | PathLike[str],
        drive: Drive,
        *,
        sector: str | None = None,
        lead: float = 3.0,
        width: int = 480,
    ) -> int:
        """Write a film of a drive or of one of its sectors, with speed, steering and events below each frame.

        Args:
            path: The file, .mp4, .webm or .gif.
            drive: The drive that the frames are of.
            sector: Its name; all of the drive if left out.
            lead: Seconds before the sector that are shown as well.
            width: Of the film in pixels.

        Returns:
            The number of frames written.

        Raises:
            InputError: There is no such sector, no frame of it was kept, or the file cannot be written.
        """
        target = _film_path(path)
        if sector is not None and sector not in drive.sector_names:
            known = ", ".join(drive.sector_names)
            raise InputError(f"drive {drive.name} has no sector {sector!r}: it has {known}")
        rows = self._rows(drive, sector, lead)
        if not rows:
            raise InputError(f"no frame of drive {drive.name} was kept, so there is nothing to show")
        return self._written(target, rows, width, lambda image, row: _captioned(image, drive, row))

    def write_plain(self, path: str | PathLike[str], first: float, last: float, *, width: int = 480) -> int:
        """Write what the camera saw from one moment to another, without a word about it.

        Args:
            path: The file, .mp4, .webm or .gif.
            first: When it begins, in seconds of the drive.
            last: When it ends.
            width: Of the film in pixels.

        Returns:
            The number of frames written.

        Raises:
            InputError: No frame was kept of that time, or the file cannot be written.
        """
        target = _film_path(path)
        rows = [row for row, time in enumerate(self._times) if first <= time <= last]
        if not rows:
            raise InputError(
                f"{self._where}no frame was kept between {first:g} and {last:g} s: there is nothing to show"
            )
        return self._written(target, rows, width, lambda image, _: image)

    def _written(
        self,
        target: Path,
        rows: list[int],
        width: int,
        finish: Callable[[NDArray[np.uint8], int], NDArray[np.uint8]],
    ) -> int:
        lasting = self._times[rows[-1]] - self._times[rows[0]] if len(rows) > 1 else 1.0
        # Encoders take no rate that is much lower or higher.
        rate = min(max((max(len(rows), 2) - 1) / lasting, 1e-3), 1e3)
        ending = target.suffix.lower()
        if ending == ".gif":
            # Every frame of a GIF is a whole picture.
            every = math.ceil(rate / _GIF_RATE)
            rows, rate, width = rows[::every], rate / every, min(width, _GIF_WIDTH)
        whole = (finish(_scaled(self._image(row), width), row) for row in rows)
        # Of even sizes, as encoders want them.
        pictures = [one[: one.shape[0] // 2 * 2, : one.shape[1] // 2 * 2] for one in whole]
        if len(sizes := {picture.shape for picture in pictures}) > 1:
            raise InputError(f"{self._where}all frames of a film must have one shape, got {len(sizes)}")
        with replacing(target) as unfinished:
            if ending == ".gif":
                done = _write_gif(unfinished, pictures, rate)
            else:
                done = _write_video(unfinished, pictures, rate, _CODES[ending])
            if not done:
                raise InputError(f"{target}: the film cannot be written: OpenCV has no encoder for it here")
        return len(rows)

    def _rows(self, drive: Drive, sector: str | None, lead: float) -> list[int]:
        shown = np.ones(len(drive), np.bool_)
        if sector is not None:
            inside = np.flatnonzero(drive.sectors == drive.sector_names.index(sector))
            first, last = drive.time[inside[0]] - lead, drive.time[inside[-1]]
            shown = (drive.time >= first) & (drive.time <= last)
        return [row for row in np.flatnonzero(shown).tolist() if row < len(self)]


@dataclass(frozen=True)
class _About:
    """What says where a drive was driven."""

    simulator: str = ""
    options: dict[str, Any] | None = None


def film_of(drive: Drive, folder: Path) -> Film:
    """Return what the camera saw in a drive that was recorded, from its folder.

    Where no frames were kept, a drive in the built-in world is driven once more by what the model answered,
    which gives the same frames; other simulators would not.

    Args:
        drive: The drive.
        folder: Where it lies, as ``driving drive`` writes it.

    Raises:
        InputError: No frames were kept and the drive cannot be driven again as it was.
    """
    if (folder / FRAMES_FILE).is_file():
        film = Film.read(folder / FRAMES_FILE)
        if len(film) != len(drive):
            raise InputError(
                f"{folder / FRAMES_FILE}: expected a frame for each of {len(drive)} rows, got {len(film)}"
            )
        return film
    again = f"record the drive again with `driving drive --frames --out {folder}`"
    if not (folder / _ABOUT).is_file():
        raise InputError(f"{folder}: no frames were kept, and no {_ABOUT} says where it was driven: {again}")
    about = read_record(_About, folder / _ABOUT)
    place = about.simulator
    if place.partition(":")[0] != "world" or not drive.signals.keys() >= {*_ANSWERED, *_WAY}:
        raise InputError(
            f"{folder}: no frames were kept, and {place or 'it'} cannot be driven again: {again}"
        )
    film = Film()
    with naming(folder / _ABOUT):
        simulator = open_simulator(place, **(about.options or {}))
    with naming(folder):
        driven = _driven_again(drive, simulator, film)
    same = len(driven) == len(drive) and all(
        np.allclose(driven.signals[name], drive.signals[name], atol=1e-6) for name in _WAY
    )
    if not same:
        raise InputError(
            f"{folder}: driven again by what the model answered, it takes another way (another version of "
            f"the package may have recorded it): {again}"
        )
    return film


def _driven_again(drive: Drive, simulator: DrivingSimulator, film: Film) -> Drive:
    rows = zip(*(drive.signals[name].tolist() for name in _ANSWERED), strict=True)

    def answer(frames: Sequence[Frame]) -> list[Signals]:
        return [Signals(steering=steering, speed=speed) for steering, speed in (next(rows) for _ in frames)]

    limits = DriveLimits(laps=None, seconds=max(float(drive.time[-1]), 1e-9), standing=math.inf, events=())
    try:
        return closed_loop(
            callable_model(answer, name=drive.name),
            simulator,
            limits=limits,
            watch=lambda situation: film.add(situation.frame, situation.time),
        )
    finally:
        simulator.close()


def _film_path(path: str | PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix.lower() not in FILM_ENDINGS:
        raise InputError(f"{target}: expected a film that ends in {' or '.join(FILM_ENDINGS)}")
    return target


def _scaled(image: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    import cv2

    height = max(2, round(image.shape[0] * width / image.shape[1]))
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def _captioned(image: NDArray[np.uint8], drive: Drive, row: int) -> NDArray[np.uint8]:
    """Return an image with what the vehicle does below it."""
    told = {
        name: float(drive.signals[name][row])
        for name in ("speed", "steering")
        if name in drive.signals and np.isfinite(drive.signals[name][row])
    }
    events = [name for name, happening in drive.events.items() if happening[row] and name in _CAPTIONED]
    label = ", ".join([drive.sector_names[int(drive.sectors[row])], f"{drive.time[row]:.1f} s", *events])
    strip = draw_signals(Signals(**told), image.shape[1], label)  # type: ignore[arg-type]
    return np.vstack([image, strip])


def _write_video(path: Path, pictures: Sequence[NDArray[np.uint8]], rate: float, code: str) -> bool:
    import cv2

    height, width = pictures[0].shape[:2]
    with _quietly():
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), rate, (width, height))
    if not writer.isOpened():
        return False
    for picture in pictures:
        writer.write(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    writer.release()
    return path.is_file() and path.stat().st_size > 0


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep OpenCV from writing to the terminal, past Python, that it knows WebM by another tag."""
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _write_gif(path: Path, pictures: Sequence[NDArray[np.uint8]], rate: float) -> bool:
    import cv2

    film: Any = cv2.Animation()
    film.frames = [cv2.cvtColor(picture, cv2.COLOR_RGB2BGR) for picture in pictures]
    film.durations = [round(1000 / rate)] * len(pictures)
    return bool(cv2.imwriteanimation(str(path), film)) and path.is_file()
