"""Where a thing is put: on ground that suits it, where nothing stands yet, as large as it is seen there.

A place at the roadside follows Formula 3 of the RMT paper: its foot begins where the label map changes from
road to something else. The paper looks at one pixel; here the whole foot must stand on a class that is
allowed for the element, the thing must cover no other, and its size follows from the row in which it stands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.transforms.objects.gallery import BrokenCutOut, CutOut, Facing
from roadworthy.transforms.objects.request import Draws, EditPlan, Request, plan_of
from roadworthy.transforms.objects.surroundings import (
    GroundSurroundings,
    StandingObject,
    Window,
    surroundings,
)
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.wording import Numbers, added_things

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Side = Literal["left", "right", "ahead"]
Views = tuple[CutOut, ...]  # of one thing
Things = tuple[Views, ...]

_N = Numbers("places")
_SMALLEST = {True: 12, False: 20}  # pixels, in the built-in world and elsewhere
_SMALLEST_SHARE = {True: 0.05, False: 0.1}  # of the image's height: smaller things would hardly be seen
_VISIBLE = {True: 0.7, False: 0.85}  # share of a thing that must not be hidden
_TRIES = 12  # places that are looked at for what hides them


@dataclass(frozen=True, slots=True)
class CutOutPlace:
    """Where a cut-out goes.

    Attributes:
        cut_out: What is shown.
        mirrored: Whether left and right are exchanged.
        window: Left, top, right and bottom edge of the cut-out in pixels; it may reach out of the image.
        foot: First and one past the last column of what stands on the ground.
        distance: Metres from the camera.
        side: Of our path: "left", "right" or "ahead".
        company: "group" where others that are added so stand close to it.
    """

    cut_out: CutOut
    mirrored: bool
    window: Window
    foot: tuple[int, int]
    distance: float
    side: Side
    company: str = "any"


@dataclass(frozen=True, slots=True)
class GroundSpot:
    """A thing on the ground, for one camera.

    Attributes:
        place: Where it was put in a frame.
        across: Metres to the right of the camera's axis there.
        ahead: Metres ahead.
        view: How the camera sees the ground.
        width: Of the image, in pixels.
    """

    place: CutOutPlace
    across: float
    ahead: float
    view: Perspective
    width: int

    @classmethod
    def of(cls, frame: Frame, place: CutOutPlace, view: Perspective) -> GroundSpot:
        """Return where the thing at a place of a frame stands."""
        ahead = view.distance(place.window[3])
        middle = (place.foot[0] + place.foot[1]) / 2
        return cls(place, (middle - frame.width / 2) * ahead / view.focal, ahead, view, frame.width)

    def at(self, across: float, ahead: float) -> CutOutPlace:
        """Return the thing as it is seen elsewhere on the ground."""
        middle = round(self.width / 2 + self.view.focal * across / ahead)
        return standing(self.place, self.view, middle, round(self.view.row(ahead)), ahead)


def standing(place: CutOutPlace, view: Perspective, middle: int, bottom: int, far: float) -> CutOutPlace:
    """Return the place as large as its thing is at a distance, with its foot in a column above a row."""
    one = place.cut_out
    height = max(1, round(one.height * view.focal / far))
    width = max(1, round(height * one.shape[1] / one.shape[0]))
    begins, ends = one.foot_span(place.mirrored)
    before = min(round(begins * width), width - 1)
    foot = max(1, round(ends * width) - before)
    low = middle - foot // 2
    window = (low - before, bottom - height, low - before + width, bottom)
    return dataclasses.replace(place, window=window, foot=(low, low + foot), distance=far)


def stands(frame: Frame, place: CutOutPlace, ground: Sequence[str]) -> bool:
    """Return whether most of the foot of a thing is on ground of some classes, or a few pixels beside it."""
    site, (low, high), bottom = surroundings(frame), place.foot, place.window[3]
    near = max(1, frame.height // 100)
    rows = slice(max(0, bottom - 1 - near), max(0, bottom + near))
    columns = slice(max(0, low - near), max(0, high + near))
    found = site.is_any(ground)[site.labels.ids[rows, columns]].any(axis=0)
    return bool(found.size) and float(found.mean()) >= _N.stands


def visible_share(frame: Frame, place: CutOutPlace) -> float:
    """Return which share of a thing nothing in a frame hides."""
    return _visible_share(surroundings(frame), place)


def find_place(site: GroundSurroundings, things: Things, request: Request, draws: Draws) -> CutOutPlace:
    """Return which thing goes where.

    Args:
        site: The frame's surroundings.
        things: Those to choose from, each as its cut-outs, one for each direction it can be seen in.
        request: What is asked for.
        draws: What is left to chance.

    Raises:
        NotApplicable: There is no such place in the frame.
    """
    if not len(site.rows) or not site.road.any():
        raise NotApplicable(f"no road to place a {request.element} at")
    sharp = _sharp(things, site.frame.height)
    first = int(draws.thing * len(sharp))
    return _PlacementSearch(site, (*sharp[first:], *sharp[:first]), request, draws).place()


def usual_smallest(frame: Frame) -> float:
    """Return how many pixels a thing is high in a frame, at least, unless a request says so."""
    return max(_SMALLEST[frame.drawn], _SMALLEST_SHARE[frame.drawn] * frame.height)


@lru_cache(maxsize=64)
def _sharp(things: Things, height: int) -> Things:
    """Return the things that have enough pixels for an image of this height, or those that have most.

    One whose file is broken stays among them: it is refused in the frames that it is drawn for, not in all.
    """
    pixels = [_pixels(views[0]) for views in things]
    known = [size for size in pixels if size is not None]
    enough = min(_N.enough * height, float(np.percentile(known or [0], 50)))
    return tuple(one for one, size in zip(things, pixels, strict=True) if size is None or size >= enough)


def _pixels(cut_out: CutOut) -> int | None:
    """Return how high a cut-out is in pixels; None where its file is broken."""
    try:
        return cut_out.shape[0]
    except BrokenCutOut:
        return None


class _Shapes(NamedTuple):
    """How large a thing is in each of the rows, in pixels."""

    height: Ints
    width: Ints
    foot: Ints
    before: Ints  # from the left edge of the thing to that of its foot


class _Spots(NamedTuple):
    """Places that may do: in which of the rows, and the first column of the foot."""

    row: NDArray[np.intp]
    low: NDArray[np.intp]

    def only(self, chosen: Mask) -> _Spots:
        return _Spots(self.row[chosen], self.low[chosen])


_Candidate = tuple[Side, Sequence[CutOut]]
_Spot = tuple[float, int, int]  # distance, row and middle column


class _PlacementSearch:
    """Looks at all places in the rows of a frame at once."""

    def __init__(self, site: GroundSurroundings, things: Things, request: Request, draws: Draws) -> None:
        self.site, self.things, self.request, self.draws = site, things, request, draws
        self.plan: EditPlan = plan_of(request)
        self.habit = request.habit
        self._parks = self.plan.zone == "roadside" and self.habit.parks
        # What is parked would hide people beside the road, for whom one drives slowly.
        self._covers = self.habit.covers and not self._parks
        self.standing = self._reference()
        self._mates = np.array(list(self._group()), np.float64).reshape(-1, 2)
        self._least_visible = _N.peeking if self.plan.relation == "behind" else _VISIBLE[site.frame.drawn]
        self._smallest = request.smallest or usual_smallest(site.frame)

    def _reference(self) -> StandingObject | None:
        """Return the thing that the place depends on: the largest of its kind."""
        if self.plan.reference is None:
            return None
        found = self.site.standing(self.plan.reference)
        if not found:
            raise NotApplicable(f"every {self.plan.reference} in the frame is too small")
        return found[0]

    def _group(self) -> Iterator[tuple[float, float]]:
        """Yield metres aside and ahead of those whom a thing in a group stands with."""
        for note in added_things(self.site.frame) if self.request.company == "group" else ():
            if note.get("company") == "group" and note["element"] == self.request.element and "foot" in note:
                metres, middle = float(note["distance"]), sum(note["foot"]) / 2
                yield (middle - self.site.frame.width / 2) / self.site.view.focal * metres, metres

    def place(self) -> CutOutPlace:
        """Return the place, on the preferred side or else on the other."""
        reasons: list[str] = []
        for side in self._sides():
            found = self._on_side(side)
            if isinstance(found, CutOutPlace):
                return found
            reasons.append(found)
        # Of several reasons, the one that came nearest to a place says most.
        raise NotApplicable(max(reasons, key=_REASONS.index).format(self.request.words))

    def _sides(self) -> tuple[Side, ...]:
        asked = self.request.side
        if self.plan.oncoming and asked == "either":
            asked = "left" if self.site.traffic != "left" else "right"
        if self.plan.zone == "lane" and asked == "either" and self.plan.relation != "beside":
            return ("ahead",)
        if asked != "either":
            return ("left",) if asked == "left" else ("right",)
        first = self.draws.side < 0.5
        if self._parks and self.site.traffic:
            # What stops on its way does so on its own side of the road, pointing as we do.
            first = self.site.traffic == "left"
        return ("left", "right") if first else ("right", "left")

    def _on_side(self, side: Side) -> CutOutPlace | str:
        """Return the place on a side, or why there is none."""
        oncoming = self.plan.oncoming or (side != "ahead" and self.site.traffic not in ("", side))
        views = self._views("toward" if oncoming else "away")
        # Until a place is found, things beside our path are taken to be seen as 18 m away.
        view, mirrored = self._seen(views, math.degrees(math.atan2(_lanes(side), 18.0)), side)
        shapes = self._shapes(view, mirrored)
        sized = self._sized(view, shapes)
        spots = self._spots(side, shapes, sized)
        if not len(spots.row):
            return _SIZE if len(self._spots(side, shapes, ~sized).row) else _NO_GROUND
        free = self._free(spots, shapes, shapes.height)
        if not free.any() and self._covers:
            # Only the ground it needs must be free: what stands farther away may be hidden.
            free = self._free(spots, shapes, np.minimum(shapes.height, self._rows_behind(self.habit.clear)))
        spots = spots.only(free)
        if not len(spots.row):
            return _OCCUPIED
        spots = self._best_of_rows(spots, self._cost(side, spots, shapes))
        return self._chosen(side, views, spots, spots.low + shapes.foot[spots.row] // 2)

    def _seen(self, views: Sequence[CutOut], angle: float, side: Side) -> tuple[CutOut, bool]:
        """Return the view from an angle, in degrees to the right of behind it, and whether it is mirrored."""

        def apart(one: CutOut) -> float:
            # What is not mirrored must have been seen from that very side.
            return abs(one.bearing - angle) if one.readable else abs(abs(one.bearing) - abs(angle))

        best = min(views, key=apart)
        if best.bearing and abs(angle) > 1:
            return best, not best.readable and (best.bearing > 0) != (angle > 0)
        if self.request.faces_road:
            return best, side == "right"  # from the side, cut-outs face right
        return best, not best.readable and self.draws.mirror < 0.5

    def _views(self, wanted: Facing) -> Sequence[CutOut]:
        """Return the views, of the first thing that has them, from the right end as far as that is known."""
        for fitting in ((wanted,), (wanted, "")):
            for views in self.things:
                if found := [one for one in views if one.facing in fitting]:
                    return found
                if all(one.facing == "" for one in views) and self.request.element != "vehicle":
                    return views
        return self.things[0]

    def _shapes(self, view: CutOut, mirrored: bool) -> _Shapes:
        height = np.rint(view.height * self.site.scale)
        width = np.maximum(1, np.rint(height * (view.shape[1] / view.shape[0])))
        begins, ends = view.foot_span(mirrored)
        before = np.minimum(np.rint(begins * width), width - 1)
        foot = np.maximum(1, np.rint(ends * width) - before)
        return _Shapes(*(one.astype(np.int32) for one in (height, width, foot, before)))

    def _spots(self, side: Side, shapes: _Shapes, asked: Mask) -> _Spots:
        """Return where, in the rows asked for, a thing stands on allowed ground as the request wants it.

        The whole foot must be on allowed ground, and the ground just behind it as well.
        """
        site, ground = self.site, self.plan.ground
        width = site.frame.width
        behind = np.maximum(1, self._rows_behind(self.habit.deep))
        counts = site.counted(ground), site.counted(ground, behind)
        step = max(1, width // 480)
        rows, columns = [], []
        for row in np.flatnonzero(asked).tolist():
            foot = int(shapes.foot[row])
            first = int(shapes.before[row])
            last = width - int(shapes.width[row]) + first
            if last < first:
                continue
            needed = foot - int(_N.slack * foot)
            start, stop = slice(first, last + 1, step), slice(first + foot, last + 1 + foot, step)
            stands = counts[0][row, stop] - counts[0][row, start] >= needed
            stands &= counts[1][row, stop] - counts[1][row, start] >= needed
            found = np.flatnonzero(stands)
            if len(found):
                rows.append(np.full(len(found), row))
                columns.append(found * step + first)
        if not rows:
            return _Spots(np.empty(0, np.intp), np.empty(0, np.intp))
        spots = _Spots(np.concatenate(rows), np.concatenate(columns))
        return spots.only(self._in_zone(side, spots, shapes) & self._with_mates(spots, shapes))

    def _rows_behind(self, metres: float) -> Ints:
        """Return how many rows lie between the foot of a thing and the ground so many metres behind it."""
        view = self.site.view
        below = self.site.rows + 1 - view.horizon
        rows = below - 1 / (1 / below + metres / (view.focal * view.camera_height))
        return np.rint(rows).astype(np.int32)

    def _in_zone(self, side: Side, spots: _Spots, shapes: _Shapes) -> Mask:
        """Return which places are where the request wants the thing."""
        site = self.site
        scale = site.scale[spots.row]
        beyond = spots.low + shapes.foot[spots.row] / 2 - site.path[spots.row]
        grouped = self.request.company == "group"
        ours = beyond >= 0 if side == "right" else beyond <= 0
        match self.plan.zone:
            case "lane":
                return np.abs(beyond - _lanes(side) * scale) <= (0.6 + 0.6 * grouped) * scale
            case "area":
                inside = ours if self.request.side != "either" else np.ones_like(ours)
                return inside & self._among(spots, shapes) if self.plan.among else inside
            case "around":
                return self._around(side, spots, shapes)
        gap = self._gap(side, spots, shapes) / scale
        least, most = self.habit.gap
        most += _N.wider * grouped
        if not site.frame.drawn and not self.habit.edge:
            least = max(least, _N.aside)
        return np.asarray(ours & (gap >= 0) & (gap >= least - 0.5 / scale) & (gap <= most))

    def _with_mates(self, spots: _Spots, shapes: _Shapes) -> Mask:
        """Return which places are close to one of the group, as far as there is one."""
        if not len(self._mates):
            return np.ones(len(spots.row), np.bool_)
        middle = spots.low + shapes.foot[spots.row] // 2
        away = self.site.metres_away(spots.row, middle)
        aside = (middle - self.site.frame.width / 2) / self.site.view.focal * away
        reach = _N.close * self.habit.clear
        close = np.abs(aside - self._mates[:, :1]) <= min(reach, _N.lane)
        close &= np.abs(away - self._mates[:, 1:]) <= np.maximum(reach, _N.row * self._mates[:, 1:])
        return np.asarray(close.any(axis=0))

    def _among(self, spots: _Spots, shapes: _Shapes) -> Mask:
        """Return which feet have stripes close by on both sides, or under them."""
        stripes = self.site.counted((self.plan.among,))
        reach = np.rint(_N.stripe * self.site.scale[spots.row]).astype(np.intp)
        last = self.site.frame.width
        low, high = spots.low, spots.low + shapes.foot[spots.row]
        middle = stripes[spots.row, (low + high) // 2]
        before = middle - stripes[spots.row, np.clip(low - reach, 0, last)]
        after = stripes[spots.row, np.clip(high + reach, 0, last)] - middle
        return np.asarray((before > 0) & (after > 0))

    def _gap(self, side: Side, spots: _Spots, shapes: _Shapes) -> Floats:
        """Return the pixels between a foot and the road's edge: outside it, or inside for what rides."""
        inside = self.habit.edge
        if (side == "right") == inside:
            high = spots.low + shapes.foot[spots.row]
            return (self.site.next_column(spots.row, high, road=not inside) - high).astype(np.float64)
        last = spots.low - 1
        return (last - self.site.last_column(spots.row, last, road=not inside)).astype(np.float64)

    def _around(self, side: Side, spots: _Spots, shapes: _Shapes) -> Mask:
        """Return which places are in front of, behind or beside the reference."""
        assert self.standing is not None
        left, _, right, _ = self.standing.box
        metres = self.standing.distance
        middle = spots.low + shapes.foot[spots.row] / 2
        away = self.site.view.focal / self.site.scale[spots.row]
        if self.plan.relation == "in front of":
            between = (middle >= left) & (middle < right)
            return np.asarray(between & (away <= metres - 0.8) & (away > 0.5 * metres))
        if self.plan.relation == "behind":
            margin = 0.5 * (right - left)
            near = (middle >= left - margin) & (middle < right + margin)
            return np.asarray(near & (away >= metres + 2.0) & (away < metres + 15.0))
        reach = 3.0 * self.site.scale[spots.row]
        beside = (middle < left) & (middle > left - reach)
        if side != "left":
            beside = (middle >= right) & (middle < right + reach)
        return np.asarray(beside & (away > metres / _N.alongside) & (away < metres * _N.alongside))

    def _sized(self, view: CutOut, shapes: _Shapes) -> Mask:
        """Return in which rows a thing is neither too small nor too large, nor too near."""
        site = self.site
        largest = min(_N.largest * site.frame.height, _N.enlarged * view.shape[0])
        fits = (shapes.height >= self._smallest) & (shapes.height <= largest)
        fits &= site.view.focal / site.scale >= self.habit.nearest
        if self.habit.whole:
            fits &= site.rows + 1 >= shapes.height
        return fits

    def _free(self, spots: _Spots, shapes: _Shapes, height: Ints) -> Mask:
        """Return where a thing covers none of those that are there, apart from the one it is to stand by."""
        frame = self.site.frame
        total = self.site.occupied(self.standing if self.plan.zone == "around" else None)
        row = spots.row
        left = spots.low - shapes.before[row]
        bottom = self.site.rows[row] + 1
        top = np.clip(bottom - height[row], 0, frame.height)
        low = np.clip(left - 1, 0, frame.width)
        high = np.clip(left + shapes.width[row] + 1, 0, frame.width)
        covered = total[bottom, high] - total[top, high] - total[bottom, low] + total[top, low]
        return np.asarray(covered == 0)

    def _cost(self, side: Side, spots: _Spots, shapes: _Shapes) -> Floats:
        """Return how far each place is from the best one in its row."""
        site = self.site
        scale = site.scale[spots.row]
        middle = spots.low + shapes.foot[spots.row] / 2
        match self.plan.zone:
            case "lane":
                return np.abs(middle - site.path[spots.row] - _lanes(side) * scale)
            case "roadside":
                least, most = self.habit.gap
                wanted = least + self.draws.across * min(most - least, 0.8)
                return np.abs(self._gap(side, spots, shapes) - wanted * scale)
            case "area":
                return np.abs(middle - self.draws.across * site.frame.width)
        assert self.standing is not None
        left, _, right, _ = self.standing.box
        if self.plan.relation == "in front of":
            return np.abs(middle - (left + right) / 2)
        return np.abs(middle - (left if side == "left" else right))

    def _best_of_rows(self, spots: _Spots, cost: Floats) -> _Spots:
        """Return the best place of each row that has one."""
        order = np.lexsort((cost, spots.row))
        _, first = np.unique(spots.row[order], return_index=True)
        return _Spots(spots.row[order][first], spots.low[order][first])

    def _chosen(
        self, side: Side, views: Sequence[CutOut], spots: _Spots, middle: NDArray[np.intp]
    ) -> CutOutPlace | str:
        """Return the best of the places, one for each row, as far away as is asked for."""
        distances = self.site.metres_away(spots.row, middle)
        # From near to far, each with what a place depends on.
        found = list(zip(distances.tolist(), spots.row.tolist(), middle.tolist(), strict=True))
        nearest = partial(self._nearest, (side, views), found)
        asked, compare = self.request.distance, self.plan.compare
        if asked and not compare:
            place = nearest(asked, 1 - _N.tolerance, 1 + _N.tolerance)
            small = views[0].height * self.site.view.focal / asked < self._smallest
            return _SIZE if place == _DISTANCE and small else place
        base: float = asked
        if self.standing is not None and compare:
            base = self.standing.distance
        elif not asked:
            near = float(distances.min())
            most = self.request.within or math.inf
            far = max(near, min(float(distances.max()), self.habit.farthest, most))
            # The nearest quarter is left free, so that there is room for coming closer.
            goal = near * (far / near) ** (0.25 + 0.75 * self.draws.distance)
            place = nearest(goal, most=most / goal)
            if not compare or isinstance(place, str):
                return place
            base = place.distance
        if compare == "closer":
            return nearest(base * _N.nearer, most=0.85 / _N.nearer)
        return nearest(base * _N.farther, least=1 / 0.85 / _N.farther)

    def _nearest(
        self, at: _Candidate, found: list[_Spot], goal: float, least: float = 0.0, most: float = math.inf
    ) -> CutOutPlace | str:
        """Return the place nearest to a distance, between multiples of it, of which enough can be seen."""
        allowed = [one for one in found if least * goal <= one[0] <= most * goal]
        allowed.sort(key=lambda one: abs(math.log(one[0] / goal)))
        reason = _HIDDEN if allowed else _DISTANCE
        for distance, row, middle in allowed[:_TRIES]:
            place = self._at(*at, row, middle, distance)
            if not self._holds(place):
                reason = _OCCUPIED
            elif _visible_share(self.site, place) >= self._least_visible:
                return place
            else:
                reason = _HIDDEN
        return reason

    def _at(self, side: Side, views: Sequence[CutOut], row: int, middle: int, distance: float) -> CutOutPlace:
        """Return the place with the view, and the size, that a thing has there."""
        site = self.site
        centre, focal = site.frame.width / 2, site.view.focal
        # Beside our path a thing is seen from its side. Where the path bends, it has turned twice as far as
        # it is off the axis, so that it is seen from the other side.
        angle = math.atan2(middle - centre, focal) - 2 * math.atan2(site.path[row] - centre, focal)
        view, mirrored = self._seen(views, math.degrees(angle), side)
        if side != "ahead":
            side = "right" if middle >= site.path[row] else "left"
        nowhere = CutOutPlace(view, mirrored, (0, 0, 0, 0), (0, 0), distance, side, self.request.company)
        return standing(nowhere, site.view, middle, int(site.rows[row]) + 1, distance)

    def _holds(self, place: CutOutPlace) -> bool:
        """Return whether a place still does with the very view and size that a thing has there."""
        frame = self.site.frame
        left, top, right, bottom = place.window
        low, high = place.foot
        if low < 0 or high > frame.width or left < 0 or right > frame.width:
            return False
        ground = self.site.is_any(self.plan.ground)[self.site.labels.ids[bottom - 1, low:high]]
        if np.count_nonzero(ground) < high - low - int(_N.slack * (high - low)):
            return False
        if self._covers:
            return True
        total = self.site.occupied(self.standing if self.plan.zone == "around" else None)
        top = max(0, top)
        return bool(total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left] == 0)


_NO_GROUND = "no ground for a {}"
_SIZE = "a {} would be too small or too large"
_OCCUPIED = "every place for a {} is occupied"
_DISTANCE = "no place for a {} at that distance"
_HIDDEN = "a {} would be hidden by what stands before it"
_REASONS = (_NO_GROUND, _SIZE, _OCCUPIED, _DISTANCE, _HIDDEN)


def _lanes(side: Side) -> float:
    """Return how many metres to the right of our path a lane is."""
    return {"ahead": 0.0, "left": -_N.lane, "right": _N.lane}[side]


def _visible_share(site: GroundSurroundings, place: CutOutPlace) -> float:
    """Return which share of what is in the image of a thing nothing hides; none where it is outside."""
    left, top, right, bottom = place.window
    most = 2 * site.frame.size
    x, y, end, low = (min(max(0, one), limit) for one, limit in zip(place.window, most, strict=True))
    hidden = site.in_front((x, y, end, low), place.distance, bottom)
    solid = place.cut_out.scaled(bottom - top, right - left, place.mirrored)[..., 3] > 127
    solid = solid[y - top : low - top, x - left : end - left]
    feet = slice(-max(1, len(solid) // 6), None)
    if not site.frame.drawn and 2 * np.sum(solid[feet] & hidden[feet]) > np.sum(solid[feet]):
        return 0.0  # it would seem to stand on what hides its feet
    return int(np.count_nonzero(solid & ~hidden)) / max(1, int(np.count_nonzero(solid)))
