"""New pixels for a label map that was edited: each class continues as it looks elsewhere in the image.

A pixel is the sum of a base, the slow change of light and colour over the pixels of a class, carried on into
the gap, and of detail: the fine texture, copied from pixels of the same class. Detail of the ground is copied
from the same row, sideways, by a distance that is the same on the ground and so grows with the rows below the
horizon: texture keeps its size. Detail of what stands is copied as a whole piece from where it fits best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image, Mask
from roadworthy.labelling import is_estimated
from roadworthy.ontology import VOID
from roadworthy.transforms.objects.request import parts_of
from roadworthy.transforms.perspective import GROUND, Perspective
from roadworthy.transforms.wording import Numbers

_N = Numbers("inpainting")

Ids = NDArray[np.uint8 | np.uint16]
Floats = NDArray[np.float32]
Places = NDArray[np.intp]

# Cells of the base across and down the image. The look of the ground changes faster with distance than
# sideways; of what stands, only the light is taken for base, so that windows and branches stay detail.
_FLAT, _TALL = (80, 160), (10, 10)
_METRES = (0.35, 0.5, 0.75, 1.1, 1.6, 2.4, 3.5, 5.0, 7.0)  # on the ground, sideways
_SHARES = (0.02, 0.035, 0.06, 0.09, 0.13, 0.18, 0.25, 0.33, 0.42, 0.55, 0.7, 0.85)  # of the image's width
_RISES = (0.0, -0.03, 0.03, -0.07, 0.07, -0.13, 0.13, -0.22, 0.22, -0.35)  # of its height
_LEAST_SOURCE = 30  # pixels that show what ground looks like
_PIECES = 12  # so many of the largest parts of a gap are fitted; the others are hardly seen
_RING = 4  # pixels round a piece that must fit


@dataclass(frozen=True, eq=False)
class Gap:
    """What is to be painted anew.

    Attributes:
        opacity: How much of each pixel is new, 0 to 1, float32: 1 where the thing was, less at the edge.
        ids: The label ids as they are to be.
        view: The perspective of the image.
    """

    opacity: Floats
    ids: Ids
    view: Perspective


def filled(
    image: Image, before: Ids, classes: Sequence[str], gap: Gap, rng: Generator
) -> tuple[Image, Places]:
    """Return the image with the gap painted, and from which pixel each new one was copied, -1 for none.

    Sky is not copied. What little is to be of a class that nothing in the image shows is left as it was.

    Args:
        image: The image as it was.
        before: Its label ids; what is in the gap is not looked at.
        classes: The names of the classes.
        gap: What to paint.
        rng: For what cannot be copied.

    Raises:
        NotApplicable: Nothing in the image shows what most of the gap is to look like.
    """
    height, width = before.shape
    result, origin = image.copy(), np.full(before.shape, -1, np.intp)
    rows = np.flatnonzero(gap.opacity.any(axis=1))
    if not len(rows):
        return result, origin
    margin = round(_N.margin * height) + 2
    span = slice(max(0, int(rows[0]) - margin), min(height, int(rows[-1]) + margin + 1))
    pixels = image[span].reshape(-1, 3)
    opacity, ids, old = gap.opacity[span], gap.ids[span], before[span]
    floats = image[span].astype(np.float32)
    wanted = opacity > 0
    left = np.count_nonzero(wanted)
    most_left = _N.most_left * left
    for label, target, source in _tasks(wanted, ids, old, classes, gap.view.horizon - span.start):
        places = np.flatnonzero(target)
        left -= len(places)
        standing = classes[label] not in (*GROUND, "sky")
        base = base_of(floats, source, _TALL if standing else _FLAT).reshape(-1, 3)
        if classes[label] == "sky":
            _paint_sky(result[span], floats, base, source, places, opacity, rng)
            continue
        if standing:
            chosen = _pieces(image[span], source, target)[places]
        else:
            below = np.maximum(np.arange(span.start, span.stop) + 0.5 - gap.view.horizon, 0.0)
            chosen = _beside(source, places, below / gap.view.camera_height, rng)
        missing = chosen < 0
        chosen[missing] = _anywhere(source, places[missing], rng)
        detail = pixels[chosen] - base[chosen]
        if not standing:
            spread = 1.4826 * np.median(np.abs(detail)) + 0.4
            np.clip(detail, -_N.spikes * spread, _N.spikes * spread, out=detail)
        share = opacity.ravel()[places, None]
        new = pixels[places] + share * (base[places] + detail - pixels[places])
        result[span].reshape(-1, 3)[places] = np.clip(np.rint(new), 0, 255)
        origin[span].ravel()[places] = chosen + span.start * width
    if left > most_left:
        raise NotApplicable("nothing in the frame shows what would be seen there instead")
    return result, origin


def _tasks(
    wanted: Mask, ids: Ids, old: Ids, classes: Sequence[str], horizon: float
) -> Iterator[tuple[int, Mask, Mask]]:
    """Yield each class that is wanted, where, and the pixels that show what it looks like.

    Ground below the horizon and hills above it are two things, as far as there are pixels of both.
    """
    low = np.arange(len(ids))[:, None] + 0.5 >= horizon
    for label in np.unique(ids[wanted]).tolist():
        target = wanted & (ids == label)
        source = _inner(~wanted & (old == label))
        if not source.any():
            continue
        near = source & low
        if classes[label] != "terrain" or np.count_nonzero(near) < _LEAST_SOURCE:
            yield label, target, source
            continue
        far = source & ~low
        for part, shown in ((target & low, near), (target & ~low, far if far.any() else source)):
            if part.any():
                yield label, part, shown


def _paint_sky(
    result: Image, image: Floats, base: Floats, source: Mask, places: Places, opacity: Floats, rng: Generator
) -> None:
    """Paint sky: it has no texture but the camera's noise; wires and twigs are not worth copying."""
    some = np.flatnonzero(source)
    some = some[:: max(1, len(some) // 4000)]
    pixels = image.reshape(-1, 3)
    spread = 1.4826 * np.median(np.abs(pixels[some] - base[some]), axis=0).astype(np.float32)
    noise = rng.standard_normal((len(places), 3), np.float32) * np.minimum(spread, 4.0)
    share = opacity.ravel()[places, None]
    new = pixels[places] + share * (base[places] + noise - pixels[places])
    result.reshape(-1, 3)[places] = np.clip(np.rint(new), 0, 255)


def _inner(source: Mask) -> Mask:
    """Return the pixels that lie well inside their class, where there are enough: edges are mixed."""
    eroded = cv2.erode(source.view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
    return eroded if np.count_nonzero(eroded) > 0.2 * np.count_nonzero(source) else source


def base_of(image: Floats, source: Mask, cells: tuple[int, int] = _FLAT) -> Floats:
    """Return the slow change of colour over the source pixels, carried on everywhere.

    Args:
        image: Height × width, with or without channels.
        source: Where it is known.
        cells: How many cells across and down it is averaged in.
    """
    height, width = source.shape
    # Cells of whole pixels are averaged many times faster; what is added at the edges is not known.
    across, down = -(-width // cells[0]), -(-height // cells[1])
    size = (-(-width // across), -(-height // down))
    more = (0, size[1] * down - height, 0, size[0] * across - width)
    weight = source.astype(np.float32)
    known = image * (weight[..., None] if image.ndim == 3 else weight)
    padded = (cv2.copyMakeBorder(one, *more, cv2.BORDER_CONSTANT) for one in (known, weight))
    total, amount = (_resized(np.asarray(one, np.float32), size, cv2.INTER_AREA) for one in padded)
    whole = _resized(_spread(total, amount), (size[0] * across, size[1] * down), cv2.INTER_LINEAR)
    return whole[:height, :width]


def _resized(image: Floats, size: tuple[int, int], how: int) -> Floats:
    return np.asarray(cv2.resize(image, size, interpolation=how), np.float32)


def _spread(total: Floats, amount: Floats) -> Floats:
    """Return mean colours; cells without any take those of larger cells around them (pull and push)."""
    weight = amount[..., None] if total.ndim == 3 else amount
    mean = np.asarray(total / np.maximum(weight, 1e-6), np.float32)
    if max(amount.shape) <= 1 or float(amount.min()) > _N.enough:
        return mean
    shape = ((amount.shape[1] + 1) // 2, (amount.shape[0] + 1) // 2)
    coarse = _spread(*(np.asarray(cv2.pyrDown(one, dstsize=shape), np.float32) for one in (total, amount)))
    wide = _resized(coarse, (amount.shape[1], amount.shape[0]), cv2.INTER_LINEAR)
    trust = np.minimum(weight / _N.enough, 1.0)
    return np.asarray(trust * mean + (1 - trust) * wide, np.float32)


def _beside(source: Mask, places: Places, metre: NDArray[np.float64], rng: Generator) -> Places:
    """Return for each place a source pixel in the same row, at the same few distances on the ground.

    `metre` is how many pixels a metre on the ground has in each row.
    """
    height, width = source.shape
    rows, columns = np.divmod(places, width)
    chosen = np.full(len(places), -1, np.intp)
    first = 1 if rng.random() < 0.5 else -1
    stretch = rng.uniform(0.9, 1.15)
    left = np.arange(len(places))
    flat = source.ravel()

    def take(across: Places | int, down: int) -> None:
        nonlocal left
        x, y = columns[left] + across, rows[left] + down
        where = np.where((x >= 0) & (x < width) & (y >= 0) & (y < height), y * width + x, places[left])
        good = flat[where]  # no target is a source
        chosen[left[good]] = where[good]
        left = left[~good]

    for metres in _METRES:
        across = np.rint(metres * stretch * metre).astype(np.intp)
        for side in (first, -first) if len(left) else ():
            take(side * across[rows[left]], 0)
    for rise in _RISES:
        for share in (0.0, *_SHARES) if rise else _SHARES:
            for side in (first, -first):
                if not len(left):
                    return chosen
                take(side * round(share * width), round(rise * height))
    return chosen


def _pieces(image: Image, source: Mask, target: Mask) -> Places:
    """Return for each pixel a source pixel, so that whole pieces come from where their edges fit best."""
    height, width = source.shape
    origin = np.full(source.size, -1, np.intp)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.int16)
    shifts = _shifts(height, width)
    parts = list(parts_of(target, int(_N.least_piece * source.size)))
    parts.sort(key=lambda one: -np.count_nonzero(one[1]))
    for (rows, columns), pixels in parts[:_PIECES]:
        top, left = max(0, rows.start - _RING), max(0, columns.start - _RING)
        window = (slice(top, rows.stop + _RING), slice(left, columns.stop + _RING))
        around = np.zeros(source[window].shape, np.uint8)
        around[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left] = pixels
        ring = cv2.dilate(around, np.ones((2 * _RING - 1, 2 * _RING - 1), np.uint8)).view(np.bool_)
        inside, edge = _points(pixels, (rows, columns)), _points(ring & source[window], window)
        _copy_pieces(origin, source, inside, shifts[_ranked(grey, source, inside, edge, shifts)])
    rest = np.flatnonzero(target.ravel() & (origin < 0))
    if len(rest):
        _copy_pieces(origin, source, np.stack(np.divmod(rest, width)), shifts)
    return origin


def _points(mask: Mask, window: tuple[slice, slice]) -> Places:
    rows, columns = np.nonzero(mask)
    return np.stack([rows + window[0].start, columns + window[1].start])


def _shifts(height: int, width: int) -> Places:
    """Return rows and columns to look away from a piece, nearest first, shape (n, 2)."""
    shifts = [
        (round(rise * height), side * round(share * width))
        for rise in _RISES
        for share in (0.0, *_SHARES)
        for side in (1, -1)
        if (share or rise) and (share or side > 0)
    ]
    return np.array(sorted(shifts, key=lambda one: abs(one[0]) * 2 + abs(one[1])), np.intp)


def _look_up(source: Mask, points: Places, shifts: Places) -> tuple[Places, Mask]:
    """Return where all shifts of all points lie, and which of them are source pixels; shape (n, m)."""
    height, width = source.shape
    y, x = points[0] + shifts[:, :1], points[1] + shifts[:, 1:]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    where = np.where(inside, y * width + x, 0)
    return where, inside & source.ravel()[where]


def _ranked(grey: NDArray[np.int16], source: Mask, inside: Places, edge: Places, shifts: Places) -> Places:
    """Return the order of the shifts: those first that cover most of a piece and fit to what is around it."""
    some = inside[:, :: max(1, inside.shape[1] // 150)]
    few = edge[:, :: max(1, edge.shape[1] // 100)]
    covered = _look_up(source, some, shifts)[1].mean(axis=1)
    fit = np.full(len(shifts), 60.0)
    if few.size:
        where, good = _look_up(source, few, shifts)
        differs = np.abs(grey.ravel()[where] - grey[few[0], few[1]]) * good
        np.divide(differs.sum(axis=1), good.sum(axis=1), out=fit, where=good.any(axis=1))
    far = np.abs(shifts / source.shape).sum(axis=1)
    cost = np.where(covered > 0, fit + 80 * (1 - covered) + 25 * far, np.inf)
    order = np.argsort(cost, kind="stable")
    return order[np.isfinite(cost[order])]


def _copy_pieces(origin: Places, source: Mask, points: Places, shifts: Places) -> None:
    """Give each point the first shift that leads to a source pixel."""
    width = source.shape[1]
    for shift in shifts:
        where, good = (one[0] for one in _look_up(source, points, shift[None]))
        origin[points[0, good] * width + points[1, good]] = where[good]
        points = points[:, ~good]
        if not points.size:
            return


def _anywhere(source: Mask, places: Places, rng: Generator) -> Places:
    """Return for each place some source pixel of a row near it."""
    known = np.flatnonzero(source)
    spread = 2 * source.shape[1]
    near = np.searchsorted(known, places) + rng.integers(-spread, spread, len(places))
    return np.asarray(known[np.clip(near, 0, len(known) - 1)], np.intp)


_EDGE = 1 / 160  # of the image's width: pixels at the edge of a thing show some of it, and label maps err
_PAINT = (1.25, 12.0)  # likewise, and grey levels more: surely paint
_LEAST_AREA = 12  # pixels; what is smaller throws no shadow that can be seen
_REACH = (1.0, 0.5)  # of a thing's height: how far its shadow goes sideways and down from it
# Of that: where to look, where its own shadow ends, and where it is its own for sure.
_FACTORS = (2.0, 1.0, 0.4)
_LEAST_GROUND = 16  # pixels; fewer do not tell what ground looks like
_GROUNDS = ("road", "sidewalk", "terrain")
# Pixels from which a reflection is told, how well it must correlate with the thing, and how much of the
# thing's contrast it must have. On dry roads of CamVid 4 of 142 vehicles reach that.
_LEAST_MIRRORED, _ALIKE, _MIRRORED = 100, 0.5, 0.08
_THINGS = ("dynamic object", "traffic infrastructure", "ego-vehicle")


def edge_width(width: int) -> int:
    """Return how many pixels round a thing are painted anew, for an image of this width.

    Example:
        >>> edge_width(480), edge_width(64)
        (3, 1)
    """
    return max(1, round(_EDGE * width))


def region_of(frame: Frame, mask: Mask, *, paint: bool) -> Floats:
    """Return how much of each pixel is to be painted anew: 1 where a thing is, falling to 0 beyond its edge.

    Round the thing this reaches `edge_width` pixels, never onto other things. Beyond, shadow that touches the
    thing belongs to it, its reflection in a wet road, and what stands out against the sky along it, or, for
    paint on the road, paint that touches what is known of it.

    Args:
        frame: The frame; it has a label map.
        mask: The pixels of the thing.
        paint: Whether it is painted on the ground.
    """
    labels = frame.label_map
    edge = edge_width(frame.width)
    grey = cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    grounds = [labels.mask(name) & ~mask for name in _GROUNDS]
    if paint:
        if is_estimated(frame):
            # At the edge of a road, where a line is, a network is not sure what it sees.
            grounds.append(labels.mask(VOID) & ~mask)
        near = (_dilated(mask, 2 * edge + 1),)
        # Yellow paint may be as bright as the road, and white paint as blue as one in the shade.
        seen = [grey] if frame.drawn else list(np.moveaxis(frame.image.astype(np.float32), 2, 0))
        bright = np.logical_or.reduce([_off(one, near, grounds, _N.bright, 6) for one in seen])
        core = mask | _touching(bright, mask)
        free = np.logical_or.reduce(grounds)
    else:
        ground = np.logical_or.reduce(grounds)
        core = mask | _shadow(grey, mask, grounds) | _reflection(frame.image, mask, ground)
        core |= _stray_edge(grey, mask, labels.mask("sky"), edge)
        free = ~labels.mask(*_THINGS)
    # Distances come out up to 5% too small, so half a pixel is left for that.
    distance = cv2.distanceTransform((~core).view(np.uint8), cv2.DIST_L2, 3)
    opacity = np.asarray(np.clip((edge + 1 - distance) / (edge / 2 + 0.5), 0, 1), np.float32)
    opacity[~(free | core) | (distance > edge + 0.5)] = 0
    return opacity


def is_pattern(paint: Mask, road: Mask) -> bool:
    """Return whether paint covers much of the road, itself included, or cuts it to pieces."""
    least = int(_N.least_part * paint.size)
    pieces = [sum(1 for _ in parts_of(one, least)) for one in (road & ~paint, road)]
    much = np.count_nonzero(paint) > _N.most_paint * np.count_nonzero(road)
    return bool(much or pieces[0] - pieces[1] > _N.most_pieces)


def painted_share(image: Image, lines: Mask, road: Mask) -> float:
    """Return the share of what is labelled as lines that is brighter than the road, in any colour."""
    clean = road & ~_dilated(lines, 3 * edge_width(image.shape[1]))
    seen = np.zeros_like(lines)
    for channel in np.moveaxis(image.astype(np.float32), 2, 0):
        seen |= channel > _PAINT[0] * base_of(channel, clean) + _PAINT[1]
    return float(seen[lines].mean()) if clean.any() else 1.0


def _dilated(mask: Mask, reach: int) -> Mask:
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    return cv2.dilate(mask.view(np.uint8), kernel).view(np.bool_)


def _shadow_windows(mask: Mask) -> list[Mask]:
    """Return where the shadows of things may lie, round their lower parts: far, usually, and close by."""
    height, width = mask.shape
    windows = [np.zeros_like(mask) for _ in _FACTORS]
    for (rows, columns), _ in parts_of(mask, _LEAST_AREA):
        wide, high = columns.stop - columns.start, rows.stop - rows.start
        for factor, window in zip(_FACTORS, windows, strict=True):
            size = min(high, 1.5 * wide) * factor
            across, down = max(2, int(_REACH[0] * size)), max(2, int(_REACH[1] * size))
            left, right = max(0, columns.start - across), min(width, columns.stop + across)
            top = max(rows.start + high // 2, rows.stop - round(0.75 * wide))
            window[top : min(height, rows.stop + down), left:right] = True
    return windows


def _shadow(grey: Floats, mask: Mask, grounds: list[Mask]) -> Mask:
    """Return the dark ground that touches a thing and ends near it.

    Shade that goes on farther away is thrown by something else, and taking away a part of it would show; only
    what lies close to the thing is taken away then.
    """
    window, near, contact = _shadow_windows(mask)
    off = _off(grey, (window, near, contact), grounds, _N.dark, -2)
    count, parts = cv2.connectedComponents(off.view(np.uint8), connectivity=8)
    own = np.ones(count, np.bool_)
    own[np.unique(parts[off & ~near])] = False
    own[0] = False
    return _touching(own[parts] | (off & contact), mask)


def _reflection(image: Image, mask: Mask, ground: Mask) -> Mask:
    """Return the ground below things that shows them again, upside down, as wet roads do."""
    found = np.zeros_like(mask)
    for (rows, columns), pixels in parts_of(mask, _LEAST_MIRRORED):
        high, width = min(len(pixels), len(mask) - rows.stop), pixels.shape[1]
        above, below = (slice(start, start + high) for start in (rows.stop - high, rows.stop))
        seen = pixels[::-1][:high] & ground[below, columns]
        sure = seen.copy()
        sure[: max(1, high // 6)] = False  # the shadow below it is no reflection
        around = slice(max(0, columns.start - 2 * width), columns.stop + 2 * width)
        inside = slice(columns.start - around.start, columns.stop - around.start)
        clean = ground[below, around].copy()
        clean[:, max(0, inside.start - width // 4) : inside.stop + width // 4] = False
        if min(np.count_nonzero(sure), np.count_nonzero(clean)) < _LEAST_MIRRORED:
            continue
        dry = base_of(image[below, around].astype(np.float32), clean)[:, inside]
        # Roads mirror as waves do: lengthwise all is smeared.
        looks = (image[above, columns][::-1], image[below, columns])
        thing, road = (cv2.blur(one, (3, max(3, high // 6 | 1)))[sure] - dry[sure] for one in looks)
        thing, road = (one - one.mean() for one in (thing, road))
        common = float((thing * road).sum())
        alike = common / (np.linalg.norm(thing) * np.linalg.norm(road) + 1e-6)
        if alike > _ALIKE and common > _MIRRORED * float((thing**2).sum()):
            found[below, columns] |= seen
    return found


def _off(grey: Floats, windows: tuple[Mask, ...], grounds: list[Mask], factor: float, more: float) -> Mask:
    """Return the pixels of the first window that are darker (or brighter) than their ground is elsewhere.

    Elsewhere is outside of the first window, or of a smaller one where that leaves too little of the ground.
    """
    found = np.zeros_like(windows[0])
    for ground in grounds:
        inside = ground & windows[0]
        if not inside.any():
            continue
        enough = max(_LEAST_GROUND, _N.clean * np.count_nonzero(ground))
        clean = next((one for w in windows if np.count_nonzero(one := ground & ~w) >= enough), None)
        if clean is not None:
            expected = factor * base_of(grey, clean) + more
            found |= inside & (grey < expected if factor < 1 else grey > expected)
    return found


def _stray_edge(grey: Floats, mask: Mask, sky: Mask, edge: int) -> Mask:
    """Return what stands out against the sky along a thing: label maps cut edges short."""
    window = _dilated(mask, 3 * edge) & sky
    clean = sky & ~window
    if not window.any() or np.count_nonzero(clean) < _LEAST_GROUND:
        return np.zeros_like(mask)
    return _touching(window & (np.abs(grey - base_of(grey, clean)) > _N.stands_out), mask)


def _touching(candidates: Mask, mask: Mask) -> Mask:
    """Return the candidates that are connected to a mask."""
    count, parts = cv2.connectedComponents((candidates | mask).view(np.uint8), connectivity=8)
    touching = np.zeros(count, np.bool_)
    touching[parts[mask]] = True
    found: Mask = touching[parts] & candidates
    return found
