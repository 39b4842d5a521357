"""Closed roads: a smooth centre line with elevation, coordinates along it, and the built-in tracks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.errors import SceneError, check_known, check_number
from roadworthy.world.camera import Floats, Indices

LANE_WIDTH = 3.5
LANE_CENTRE = LANE_WIDTH / 2
"""Metres from the centre line to the middle of the right-hand lane."""
ROAD_HALF_WIDTH = 3.9  # two lanes and a narrow paved margin

_STEP = 0.5
_AROUND = np.arange(-60, 61)
_ZONE_KINDS = ("urban", "suburban", "rural", "forest")
_LINE_STYLES = (("solid", "dash"), ("white", "yellow"))


def check_line_style(style: tuple[str, str]) -> None:
    """Refuse a type and colour of the centre line that cannot be painted."""
    for value, known in zip(style, _LINE_STYLES, strict=True):
        if value not in known:
            raise SceneError(f"a line is {' or '.join(known)}, got {value!r}")


@dataclass(frozen=True)
class Zone:
    """A stretch of a track with one kind of roadside and one speed limit.

    Args:
        start: Where it begins, in metres along the track; it ends where the next zone begins.
        kind: ``"urban"``, ``"suburban"``, ``"rural"`` or ``"forest"``.
        limit: The speed limit in m/s.
        centre: Type and colour of the centre line, e.g. ``("dash", "white")``.

    Example:
        >>> Zone(0, "suburban", limit=50 / 3.6).built_up
        True
    """

    start: float
    kind: str
    limit: float
    centre: tuple[str, str] = ("dash", "white")

    def __post_init__(self) -> None:
        check_known("unknown kind of zone", self.kind, _ZONE_KINDS, SceneError)
        check_number("a speed limit", self.limit, SceneError, above=0)
        check_line_style(self.centre)

    @property
    def built_up(self) -> bool:
        """Whether it has sidewalks, crossings and many people."""
        return self.kind in ("urban", "suburban")


@dataclass(frozen=True, eq=False)
class Track:
    """A closed road, sampled every half metre.

    Args:
        name: Its registered name.
        corners: Control points of the centre line in metres, driven in this order.
        corner_radius: How widely the corners are rounded, in metres.
        hills: ``(amplitude in m, cycles per lap, phase in radians)`` of each elevation wave.
        zones: Roadside zones in order of their start; the first starts at 0.
        summary: One line for listings.

    Example:
        >>> corners = [(0, 0), (200, 0), (200, 200), (0, 200)]
        >>> square = Track("square", corners, corner_radius=30, hills=(), zones=(Zone(0, "rural", 20),))
        >>> 700 < square.length < 800
        True
        >>> bool(square.curvature(0.0) < 0)  # driven counter-clockwise: the bend at the corner is to the left
        True
    """

    name: str
    corners: Sequence[tuple[float, float]]
    corner_radius: float
    hills: Sequence[tuple[float, float, float]]
    zones: tuple[Zone, ...]
    summary: str = ""
    length: float = field(init=False)
    _table: Floats = field(init=False, repr=False)
    _zone_starts: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_number("corners of a track", len(self.corners), SceneError, least=3)
        starts = [zone.start for zone in self.zones]
        if not starts or starts[0] != 0 or starts != sorted(starts):
            raise SceneError(f"zones of track {self.name!r} must start at 0, in order, got {starts}")
        xy = _rounded(np.asarray(self.corners, dtype=float), self.corner_radius)
        length = len(xy) * _STEP
        table = _sample(xy, length, self.hills)
        vars(self).update(length=length, _table=table, _zone_starts=np.array(starts))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # A built-in track is pickled by its name: smaller, and what is kept by identity stays valid.
        built_in = self.name in _tracks() and self is track(self.name)
        return (track, (self.name,)) if built_in else super().__reduce_ex__(protocol)

    def sample(self, s: float | Floats) -> Floats:
        """Return x, y, z, heading, curvature and grade of the centre line at each ``s``, shape (…, 6)."""
        position = np.mod(np.asarray(s, dtype=float), self.length) / _STEP
        index = position.astype(np.intp)
        fraction = (position - index)[..., None]
        value: Floats = self._table[index] * (1 - fraction) + self._table[index + 1] * fraction
        return value

    def heading(self, s: float | Floats) -> Floats:
        """Direction of travel in radians, counter-clockwise from east (continuous within a lap)."""
        return self.sample(s)[..., 3]

    def curvature(self, s: float | Floats) -> Floats:
        """Curvature in 1/m, positive where the road bends to the right."""
        return self.sample(s)[..., 4]

    def at(self, s: float) -> list[float]:
        """Return what `sample` gives for one ``s``, without numpy, which is slow over so little."""
        position = s % self.length / _STEP
        index = int(position)
        fraction = position - index
        pairs = zip(self._rows[index], self._rows[index + 1], strict=True)
        return [one * (1 - fraction) + other * fraction for one, other in pairs]

    @cached_property
    def _rows(self) -> list[list[float]]:
        rows: list[list[float]] = self._table.tolist()
        return rows

    def position(self, s: float | Floats, d: float | Floats = 0.0) -> Floats:
        """World coordinates (…, 3) of points on the road surface."""
        line = self.sample(s)
        offset = np.asarray(d, dtype=float)
        x = line[..., 0] + offset * np.sin(line[..., 3])
        y = line[..., 1] - offset * np.cos(line[..., 3])
        return np.stack([x, y, line[..., 2] + 0.0 * offset], axis=-1)

    def locate(self, x: float, y: float, near: float | None = None) -> tuple[float, float]:
        """Return ``(s, d)`` of a point; ``near`` restricts the search to 30 m around a known ``s``."""
        table = self._table[:-1]
        around = np.arange(len(table)) if near is None else int(near / _STEP) + _AROUND
        candidates = around % len(table)
        gaps = (table[candidates, 0] - x) ** 2 + (table[candidates, 1] - y) ** 2
        nearest = int(candidates[np.argmin(gaps)])
        s = nearest * _STEP
        to_x, to_y, _, heading, *_ = self._rows[nearest]
        along = (x - to_x) * np.cos(heading) + (y - to_y) * np.sin(heading)
        s = float((s + along) % self.length)
        to_x, to_y, _, heading, *_ = self.at(s)
        return s, float((x - to_x) * np.sin(heading) - (y - to_y) * np.cos(heading))

    def ahead(self, start: float, end: float) -> float:
        """Signed distance along the track from ``start`` to ``end``, in (-length/2, length/2]."""
        gap = (end - start) % self.length
        return gap - self.length if gap > self.length / 2 else gap

    def zone(self, s: float) -> Zone:
        """Return the roadside zone at ``s``."""
        return self.zones[int(self.zone_index(np.asarray(s)))]

    def zone_index(self, s: Floats) -> Indices:
        """Index into ``zones`` at each ``s``."""
        return np.searchsorted(self._zone_starts, np.mod(s, self.length), side="right") - 1


def _rounded(corners: Floats, radius: float) -> Floats:
    """Round a closed polygon with a Gaussian and sample it evenly every ``_STEP`` metres."""
    dense = _resampled(_closed(corners), 4096)
    frequency = np.fft.fftfreq(4096, d=_perimeter(corners) / 4096)
    smooth = np.exp(-2 * (np.pi * frequency * radius * 0.6) ** 2)
    path = np.fft.ifft(np.fft.fft(dense[:, 0] + 1j * dense[:, 1]) * smooth)
    ring = np.column_stack([path.real, path.imag])
    count = round(_perimeter(ring) / _STEP)
    even = _resampled(_closed(ring), count)
    # The last correction makes the mean chord exactly one step, so that s is true arc length.
    return even * (count * _STEP / _perimeter(even))


def _closed(points: Floats) -> Floats:
    return np.vstack([points, points[:1]])


def _perimeter(points: Floats) -> float:
    """Length of the way through all points and back to the first."""
    return float(np.linalg.norm(np.diff(_closed(points), axis=0), axis=1).sum())


def _resampled(line: Floats, count: int) -> Floats:
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0, along[-1], count, endpoint=False)
    return np.column_stack([np.interp(at, along, line[:, 0]), np.interp(at, along, line[:, 1])])


def _sample(xy: Floats, length: float, hills: Sequence[tuple[float, float, float]]) -> Floats:
    """Columns x, y, z, heading, curvature, grade; one closing row more than there are steps."""
    count = len(xy)
    chord = np.roll(xy, -1, axis=0) - np.roll(xy, 1, axis=0)
    heading = np.unwrap(np.arctan2(chord[:, 1], chord[:, 0]))
    turn = round((heading[-1] - heading[0]) / (2 * np.pi)) * 2 * np.pi
    before = np.concatenate([[heading[-1] - turn], heading[:-1]])
    curvature = -(np.concatenate([heading[1:], [heading[0] + turn]]) - before) / (2 * _STEP)
    s = np.arange(count) * _STEP
    z = np.zeros(count)
    grade = np.zeros(count)
    for amplitude, cycles, phase in hills:
        omega = 2 * np.pi * cycles / length
        z += amplitude * np.sin(omega * s + phase)
        grade += amplitude * omega * np.cos(omega * s + phase)
    table = np.column_stack([xy, z, heading, curvature, grade])
    closing = table[0].copy()
    closing[3] += turn
    return np.vstack([table, closing])


_KMH = 1 / 3.6


@cache
def _tracks() -> dict[str, Any]:
    return read_yaml(Path(__file__).with_name("tracks.yaml"), "file of tracks", "tracks by name").data


TRACK_NAMES = ("meadow", "town", "mountain")
"""Names of the built-in tracks in order of rising difficulty."""

HELD_OUT_TRACK_NAMES = ("coast", "village")
"""Names of tracks that no network which comes with the package was trained on. A data set has them only when
it is asked for them by name."""


@cache
def track(name: str) -> Track:
    """Return a built-in track by name.

    Example:
        >>> from roadworthy.world import track
        >>> track("meadow").name
        'meadow'
    """
    check_known("unknown track", name, _tracks(), SceneError)
    said = dict(_tracks()[name])
    zones = [{"centre": ("dash", "white"), **zone} for zone in said.pop("zones")]
    made = (Zone(one["start"], one["kind"], one["limit"] * _KMH, tuple(one["centre"])) for one in zones)
    return Track(name, zones=tuple(made), **said)
