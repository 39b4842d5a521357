"""The part of an image that an edit paints anew: the thing, its edge, and its shadow or its stray paint."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.transforms.objects.edit import parts_of
from roadworthy.transforms.objects.inpainting import base_of

Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

_EDGE = 1 / 160  # of the image's width: pixels at the edge of a thing show some of it, and label maps err
_DARK = 0.85  # of the ground's brightness: below is shadow
_BRIGHT = 1.12  # likewise: above is paint
_LEAST_AREA = 12  # pixels; what is smaller throws no shadow that can be seen
_STANDS_OUT = 14.0  # levels of grey by which an edge differs from the sky
_REACH = (1.0, 0.5)  # of a thing's height: how far its shadow goes sideways and down from it
# Of that: where to look, where its own shadow ends, and where it is its own for sure.
_FACTORS = (2.0, 1.0, 0.4)
_CLEAN = 0.15  # of a ground, that must be seen outside a window
_LEAST_GROUND = 16  # pixels; fewer do not tell what ground looks like
_GROUNDS = ("road", "sidewalk", "terrain")
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
    thing belongs to it, and what stands out against the sky along it, or, for paint on the road, paint that
    touches what is known of it.

    Args:
        frame: The frame; it has a label map.
        mask: The pixels of the thing.
        paint: Whether it is painted on the ground.
    """
    labels = frame.labels
    assert labels is not None
    edge = edge_width(frame.width)
    grey = cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    grounds = [labels.mask(name) & ~mask for name in _GROUNDS]
    if paint:
        core = mask | _stray_paint(grey, mask, grounds, edge)
        free = np.logical_or.reduce(grounds)
    else:
        core = mask | _shadow(grey, mask, grounds) | _stray_edge(grey, mask, labels.mask("sky"), edge)
        free = ~labels.mask(*_THINGS)
    # Distances come out up to 5% too small, so half a pixel is left for that.
    distance = cv2.distanceTransform((~core).view(np.uint8), cv2.DIST_L2, 3)
    opacity = np.asarray(np.clip((edge + 1 - distance) / (edge / 2 + 0.5), 0, 1), np.float32)
    opacity[~(free | core) | (distance > edge + 0.5)] = 0
    return opacity


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
    off = _off(grey, (window, near, contact), grounds, _DARK, -2)
    count, parts = cv2.connectedComponents(off.view(np.uint8), connectivity=8)
    own = np.ones(count, np.bool_)
    own[np.unique(parts[off & ~near])] = False
    own[0] = False
    return _touching(own[parts] | (off & contact), mask)


def _stray_paint(grey: Floats, mask: Mask, grounds: list[Mask], edge: int) -> Mask:
    """Return the bright ground that touches paint: label maps do not cover all of it."""
    return _touching(_off(grey, (_dilated(mask, 2 * edge + 1),), grounds, _BRIGHT, 6), mask)


def _off(grey: Floats, windows: tuple[Mask, ...], grounds: list[Mask], factor: float, more: float) -> Mask:
    """Return the pixels of the first window that are darker (or brighter) than their ground is elsewhere.

    Elsewhere is outside of the first window, or of a smaller one where that leaves too little of the ground.
    """
    found = np.zeros_like(windows[0])
    for ground in grounds:
        inside = ground & windows[0]
        if not inside.any():
            continue
        enough = max(_LEAST_GROUND, _CLEAN * np.count_nonzero(ground))
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
    return _touching(window & (np.abs(grey - base_of(grey, clean)) > _STANDS_OUT), mask)


def _touching(candidates: Mask, mask: Mask) -> Mask:
    """Return the candidates that are connected to a mask."""
    count, parts = cv2.connectedComponents((candidates | mask).view(np.uint8), connectivity=8)
    touching = np.zeros(count, np.bool_)
    touching[parts[mask]] = True
    found: Mask = touching[parts] & candidates
    return found
