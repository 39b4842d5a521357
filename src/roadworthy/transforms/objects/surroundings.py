"""What a frame offers to a thing that is to be placed in it: ground, road, our path, what stands there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.ontology import Ontology, ontology
from roadworthy.transforms.objects.selection import SelectedObject, select, things_of
from roadworthy.transforms.perspective import GROUND, ROAD, Perspective
from roadworthy.transforms.wording import ElementDescription

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Window = tuple[int, int, int, int]

OCCUPYING = ("dynamic object", "traffic sign", "traffic light", "ego-vehicle", "dog", "traffic cone")
"""The classes of things that nothing may be put over: a place where one of them is seen is occupied."""

_MOST_ROWS = 48
_NEAREST, _FARTHEST = 3.0, 80.0  # metres


@dataclass(frozen=True, slots=True)
class StandingObject:
    """A thing that is in the frame already: its box down to its foot, its distance, and its pixels."""

    box: Window
    distance: float
    thing: SelectedObject


class GroundSurroundings:
    """What is known about the ground of a frame, on the rows in which a thing may stand, from near to far.

    A thing that stands in row r has its lowest pixel there.
    """

    def __init__(self, frame: Frame, horizon: float | None = None) -> None:
        """Take a frame with a label map, and its horizon if it is known better than from the frame."""
        assert frame.labels is not None
        self.frame = frame
        self.labels: LabelMap = frame.labels
        self.view = Perspective.of(frame)
        if horizon is not None:
            self.view = replace(self.view, horizon=horizon)
        self.rows = self._rows()
        self._ids = self.labels.ids[self.rows]

    def _rows(self) -> Rows:
        """Return the rows, so that neighbours differ by about the same factor in distance."""
        first = max(0, math.ceil(self.view.row(_FARTHEST)) - 1)
        last = min(self.frame.height - 2, math.floor(self.view.row(_NEAREST)))
        if last < first:
            return np.empty(0, np.intp)
        if last - first < _MOST_ROWS:
            return np.arange(last, first - 1, -1)
        below = np.geomspace(last + 1 - self.view.horizon, first + 1 - self.view.horizon, _MOST_ROWS)
        return np.unique(np.rint(below + self.view.horizon).astype(np.intp) - 1)[::-1]

    @cached_property
    def scale(self) -> Floats:
        """Pixels for each metre, across and upright, in each of the rows."""
        return np.asarray((self.rows + 1 - self.view.horizon) / self.view.camera_height, np.float64)

    def counted(self, names: tuple[str, ...], shift: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return how many pixels left of each edge between two are of any of the classes.

        Args:
            names: The classes.
            shift: By how many rows to look farther up than each of the rows.
        """
        ids = self._ids if shift is None else self.labels.ids[np.maximum(self.rows - shift, 0)]
        total = np.zeros((len(ids), ids.shape[1] + 1), np.int32)
        np.cumsum(self.is_any(names)[ids], axis=1, out=total[:, 1:])
        return total

    def is_any(self, names: Sequence[str]) -> Mask:
        """Return for each label id whether its class is any of these or below one of them."""
        return _table(self.labels.classes, tuple(names), ontology())

    @cached_property
    def road(self) -> Mask:
        """Where the rows show road."""
        return self.is_any(ROAD)[self._ids]

    def occupied(self, apart_from: StandingObject | None = None) -> NDArray[np.int32]:
        """Return the integral image of the pixels that show things which nothing may be put over."""
        if apart_from is None:
            return self._all_occupied
        things = self.is_any(OCCUPYING)[self.labels.ids]
        things[apart_from.thing.window][apart_from.thing.pixels] = False
        return np.asarray(cv2.integral(things.view(np.uint8)))

    @cached_property
    def _all_occupied(self) -> NDArray[np.int32]:
        return np.asarray(cv2.integral(self.is_any(OCCUPYING)[self.labels.ids].view(np.uint8)))

    def metres_away(self, index: NDArray[np.intp], column: NDArray[np.intp]) -> Floats:
        """Return how far away the ground is at columns of rows, given by their indices."""
        rows = self.rows[index]
        plane = self.view.focal / self.scale[index]
        if self.frame.depth is None:
            return plane
        # Depth is that of the middle of a pixel; a thing stands on the lower edge of its lowest one.
        with np.errstate(divide="ignore", invalid="ignore"):
            below = 0.5 / self.frame.depth[rows, column] + 0.5 / self.frame.depth[rows + 1, column]
            known = np.isfinite(below) & (below > 0)
            return np.where(known, 1 / below, plane)

    def _columns(self, otherwise: int) -> list[NDArray[np.int32]]:
        """Return the column of each pixel of the rows that shows no road, and likewise for road."""
        columns = np.arange(self.frame.width, dtype=np.int32)
        return [np.where(self.road == road, columns, np.int32(otherwise)) for road in (False, True)]

    @cached_property
    def _last(self) -> list[NDArray[np.int32]]:
        """For each pixel of the rows the last column up to it, without and with road."""
        return [np.maximum.accumulate(one, axis=1) for one in self._columns(-4 * self.frame.width)]

    @cached_property
    def _next(self) -> list[NDArray[np.int32]]:
        """For each pixel of the rows the next column from it on, without and with road."""
        mirrored = (one[:, ::-1] for one in self._columns(5 * self.frame.width))
        return [np.minimum.accumulate(one, axis=1)[:, ::-1] for one in mirrored]

    def next_column(self, index: Rows, column: Rows, *, road: bool) -> NDArray[np.int32]:
        """Return the next column from here on with or without road; far outside where there is none."""
        return self._next[road][index, np.clip(column, 0, self.frame.width - 1)]

    def last_column(self, index: Rows, column: Rows, *, road: bool) -> NDArray[np.int32]:
        """Return the last column up to here with or without road; far outside where there is none."""
        return self._last[road][index, np.clip(column, 0, self.frame.width - 1)]

    @cached_property
    def _course(self) -> tuple[Floats, float]:
        """The column of our path in each of the rows, and where it lies between the edges of the road."""
        width = self.frame.width
        before, after = self._last[False], self._next[False]

        def edges(index: int, column: int) -> tuple[int, int] | None:
            left, right = int(before[index, column]) + 1, int(after[index, column])
            return (left, right) if self.road[index, column] and left > 0 and right < width else None

        whole = ((k, found) for k in range(len(self.rows)) if (found := edges(k, width // 2)))
        near = list(islice(whole, 6))
        if not near:
            return np.full(len(self.rows), width / 2), 0.5
        share = float(np.median([(width / 2 - left) / (right - left) for _, (left, right) in near]))
        wide = float(np.median([(right - left) / self.scale[k] for k, (left, right) in near]))
        path = np.empty(len(self.rows))
        column = width / 2
        for index in range(len(self.rows)):
            found = edges(index, min(max(int(column), 0), width - 1))
            # A road that is much wider than before is a junction, a narrower one is hidden by something.
            if found and 0.7 < (found[1] - found[0]) / self.scale[index] / wide < 1.4:
                column = found[0] + share * (found[1] - found[0])
            path[index] = column
        return path, share

    @property
    def path(self) -> Floats:
        """The column in which our way leads through each of the rows."""
        return self._course[0]

    @property
    def traffic(self) -> Literal["left", "right", ""]:
        """On which side of the road one drives here; empty where that cannot be seen."""
        share = self._course[1]
        return "right" if share > 0.55 else "left" if share < 0.45 else ""

    def standing(self, asked: ElementDescription) -> list[StandingObject]:
        """Return the things of a description that are in the frame, the largest first.

        Raises:
            NotApplicable: There are none, or they cannot be told from others.
        """
        found = things_of(self.frame, select(self.frame, asked, 0.0))
        things = [self._standing(thing) for thing in found if min(thing.pixels.shape) >= 2]
        return sorted(things, key=lambda one: -one.thing.pixels.size)

    def _standing(self, thing: SelectedObject) -> StandingObject:
        rows, columns = thing.window
        distance = self.view.distance(thing.foot)
        if self.frame.depth is not None:
            depth = self.frame.depth[thing.window][thing.pixels]
            depth = depth[np.isfinite(depth)]
            if len(depth):
                distance = float(np.percentile(depth, 5))
        return StandingObject((columns.start, rows.start, columns.stop, thing.foot), distance, thing)

    def ground_color(self, window: Window, metres: float) -> tuple[float, float, float]:
        """Return the mean colour of the road beside the foot of a thing, or of whatever ground there is.

        Args:
            window: The box of the thing: left, top, right and bottom edge.
            metres: How high it is.
        """
        left, top, right, bottom = window
        deep = max(2, round(0.25 * (bottom - top)))
        reach = max(4, round(3.0 * (bottom - top) / metres))
        rows = slice(max(0, bottom - deep), min(self.frame.height, bottom + deep))
        columns = slice(max(0, left - reach), min(self.frame.width, right + reach))
        ids, colors = self.labels.ids[rows, columns], self.frame.image[rows, columns]
        for names in (("road",), ROAD, GROUND):
            ground = self.is_any(names)[ids]
            if np.count_nonzero(ground) >= 12:
                red, green, blue, _ = cv2.mean(colors, ground.view(np.uint8))
                return red, green, blue
        red, green, blue, _ = cv2.mean(colors)
        return red, green, blue

    def in_front(self, window: Window, distance: float, foot: int) -> Mask:
        """Return which pixels of a window (left, top, right, bottom) show what is nearer than a thing there.

        Without depth, what is upright and reaches farther down than the foot of the thing stands before it.

        Args:
            window: Left, top, right and bottom edge, inside the image.
            distance: That of the thing, in metres.
            foot: The row below its lowest pixel.
        """
        left, top, right, bottom = window
        if self.frame.depth is not None:
            with np.errstate(invalid="ignore"):
                return self.frame.depth[top:bottom, left:right] < distance * 0.97 - 0.1
        last = max(bottom, min(foot + 1, self.frame.height))
        upright = ~self.is_any((*GROUND, "sky"))[self.labels.ids[top:last, left:right]]
        if foot - top < len(upright):
            above = upright[: foot - top + 1]
            above[:] = np.logical_and.accumulate(above[::-1], axis=0)[::-1]
        return upright[: bottom - top]


@lru_cache(maxsize=4)
def surroundings(frame: Frame, horizon: float | None = None) -> GroundSurroundings:
    """Return the surroundings that a frame offers; they are kept for the next thing in the same frame."""
    return GroundSurroundings(frame, horizon)


@lru_cache(maxsize=64)
def _table(classes: tuple[str, ...], names: tuple[str, ...], known: Ontology) -> Mask:
    found = [name in known and any(known.is_a(name, one) for one in names) for name in classes]
    table = np.array(found, np.bool_)
    table.setflags(write=False)
    return table
