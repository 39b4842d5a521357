"""The pixels of a thing, cut out of its image: outline, soft border, and colours without a seam.

What a label map calls a thing is seldom exact to the pixel. So the outline is made to follow the image, is
drawn in a little, and its border gets the colours of the inside: a seam of the old background would give a
cut-out away.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.objects.whole_things import Thing

__all__ = ["board_end", "cropped", "decontaminated", "feathered", "outlined", "straightened"]

Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]


def cropped(image: Image, thing: Thing) -> tuple[Image, Mask, tuple[int, int]]:
    """Return a thing with some of its surroundings, its mask there, and where the mask's box begins."""
    left, top, right, bottom = thing.box
    margin = max(6, (bottom - top) // 8)
    x1, y1 = max(0, left - margin), max(0, top - margin)
    x2, y2 = min(image.shape[1], right + margin), min(image.shape[0], bottom + margin)
    crop = np.ascontiguousarray(image[y1:y2, x1:x2])
    mask = np.zeros(crop.shape[:2], np.bool_)
    mask[top - y1 : bottom - y1, left - x1 : right - x1] = thing.mask
    return crop, mask, (top - y1, left - x1)


def outlined(crop: Image, mask: Mask) -> Mask | None:
    """Return the mask with an outline that follows the image; None if the two disagree.

    Near the outline of the mask, colours decide what belongs to the thing (GrabCut).
    """
    reach = max(1, round(0.012 * math.sqrt(np.count_nonzero(mask))))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    given = mask.view(np.uint8)
    state = np.where(mask, cv2.GC_PR_FGD, cv2.GC_BGD).astype(np.uint8)
    state[cv2.erode(given, disc).view(np.bool_)] = cv2.GC_FGD
    state[cv2.dilate(given, disc).view(np.bool_) & ~mask] = cv2.GC_PR_BGD
    if not (state == cv2.GC_FGD).any():
        return None
    cv2.setRNGSeed(1)  # its clusters of colours begin at random
    found = cv2.grabCut(
        crop, state, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), 4, cv2.GC_INIT_WITH_MASK
    )[0]
    own = np.isin(found, (cv2.GC_FGD, cv2.GC_PR_FGD))
    count, components, stats, _ = cv2.connectedComponentsWithStats(own.view(np.uint8))
    if count < 2:
        return None
    own = components == 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())
    agreed = np.count_nonzero(own & mask) / np.count_nonzero(own | mask)
    _, _, width, height = cv2.boundingRect(own.view(np.uint8))
    _, _, wide, high = cv2.boundingRect(given)
    same_size = 0.9 < height / high < 1.1 and 0.8 < width / wide < 1.2
    return own if agreed > 0.75 and same_size else None


def feathered(own: Mask) -> NDArray[np.uint8]:
    """Return how much of each pixel belongs to a thing, from 0 to 255, drawn in by half a pixel."""
    soft = cv2.GaussianBlur(own.astype(np.float32), (0, 0), 0.8)
    # Thin parts such as poles keep the middle of their blurred profile.
    return np.asarray(np.clip(np.rint((soft - 0.3) / 0.5 * 255), 0, 255), np.uint8)


def board_end(board: Mask) -> int:
    """Return the row below the last one of a sign's board or a light's head."""
    return int(np.flatnonzero(board.any(axis=1))[-1]) + 1


def straightened(
    crop: Image, colors: Image, alpha: NDArray[np.uint8], own: Mask, start: int
) -> tuple[Image, NDArray[np.uint8]]:
    """Return colours and alpha with the pole below a row drawn as a straight one.

    A pole is a pixel or two wide; what a label map makes of it looks like a string of beads.
    """
    rows = np.flatnonzero(own[start:].any(axis=1)) + start
    if len(rows) < 4:
        return colors, alpha
    counts = np.count_nonzero(own[rows], axis=1)
    places = np.arange(own.shape[1]) + 0.5
    middles = (own[rows] * places).sum(axis=1) / counts
    spans = own.shape[1] - own[rows][:, ::-1].argmax(axis=1) - own[rows].argmax(axis=1)
    if np.median(spans) > 2 * np.median(counts):  # it stands on two
        return colors, alpha
    half = max(0.5, float(np.median(counts)) / 2 - 0.25)
    slope, offset = np.polyfit(rows, middles, 1)
    if abs(slope) > 0.04:  # poles are upright
        slope, offset = 0.0, float(np.median(middles))
    every = np.arange(start, rows[-1] + 1)
    middle = (slope * every + offset)[:, None]
    cover = np.clip(np.minimum(places + 0.5, middle + half) - np.maximum(places - 0.5, middle - half), 0, 1)
    shades = (crop[every] * cover[..., None]).sum(axis=1) / np.maximum(cover.sum(axis=1), 1e-3)[:, None]
    shades = 0.5 * cv2.blur(shades, (1, 9)) + 0.5 * np.median(shades, axis=0)
    new_colors, new_alpha = colors.copy(), alpha.copy()
    new_alpha[start:] = 0
    new_alpha[every] = np.rint(cover * 255).astype(np.uint8)
    new_colors[every] = np.rint(shades).clip(0, 255).astype(np.uint8)[:, None]
    return new_colors, new_alpha


def decontaminated(crop: Image, alpha: NDArray[np.uint8]) -> Image:
    """Return the colours with those of the border taken from the nearest pixels inside."""
    inside = cv2.erode((alpha > 250).view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
    if not inside.any():
        inside = alpha > 127
    _, nearest = cv2.distanceTransformWithLabels(
        (~inside).view(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
    )
    table = np.zeros((int(nearest.max()) + 1, 3), np.uint8)
    table[nearest[inside]] = crop[inside]
    filled = table[nearest]
    smooth = cv2.blur(filled, (3, 3))
    return np.where(inside[..., None], crop, smooth).astype(np.uint8)
