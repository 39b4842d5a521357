"""Trees where something else stood: their outline against the sky, and foliage to fill it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.seeding import rng_for
from roadworthy.transforms.objects.gallery import Gallery
from roadworthy.transforms.perspective import Perspective

Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]
Places = NDArray[np.intp]

_TALLEST = (8.0, 14.0)  # metres: between these the tops of trees lie
_CROWN = (0.35, 0.6)  # width of a crown, as a share of its tree's height
_RADII = (0.05, 0.035, 0.024, 0.016)  # of the image's width: clumps of leaves that are copied as a whole
_LEAST_CLUMPS = 60  # places to copy a clump from; with fewer, one would see the same again and again
_CLUMPS = 48  # different ones
_MOST_SKY = 0.03  # of the surroundings of a leaf: more, and one sees through the tree
_LEAST_COLOR = 0.2  # how much blue lacks in the mean colour of leaves, as a share of it
_CLUMPS_ACROSS = 8  # a tree of the gallery is taken for so many clumps wide
_CROWN_OF_GALLERY = 0.72  # of the height of a tree of the gallery: below is its trunk
_LEAVES = 0.1  # contrast of single leaves
_DAY, _BRIGHTEST = 120.0, 1.15  # mean of an image by day, and how much brighter leaves may become
_ROUGH = 0.9  # how much an outline frays
_TOP, _FOOT = 1.06, 0.72  # brightness at the top of a tree and at its foot


@dataclass(frozen=True, eq=False)
class Foliage:
    """Where clumps of leaves can be copied from.

    Attributes:
        image: RGB, the picture with the trees.
        centres: The middles of clumps, as rows and columns, shape (n, 2).
        radius: Of the clumps, in pixels.
    """

    image: Image
    centres: Places
    radius: int


def tree_line(region: Mask, view: Perspective, rng: np.random.Generator) -> Mask:
    """Return the part of a region that trees cover which stand side by side at its lower edge."""
    height, width = region.shape
    covered = np.zeros((height, width), np.uint8)
    columns = np.flatnonzero(region.any(axis=0))
    top = region.argmax(axis=0)
    foot = height - region[::-1].argmax(axis=0)
    x = float(columns[0])
    while x <= columns[-1]:
        at = min(max(round(x), 0), width - 1)
        if not region[:, at].any():
            x += 1
            continue
        tall = min(foot[at] - top[at], view.pixels(rng.uniform(*_TALLEST), foot[at]))
        tall = max(tall * rng.uniform(0.85, 1.0), 3.0)
        wide = max(tall * rng.uniform(*_CROWN), 3.0)
        crown = tall * rng.uniform(0.3, 0.45)
        middle = (x, foot[at] - tall + crown)
        axes = (wide * 0.75, crown)
        _ellipse(covered, middle, axes)
        # Below the crowns there is undergrowth, as high as the crowns' middles.
        left, right = int(x - wide * 0.6), int(x + wide * 0.6) + 1
        covered[round(middle[1]) : foot[at], max(left, 0) : max(right, 0)] = 1
        x += wide * rng.uniform(0.7, 1.0)
    return _frayed(covered.view(np.bool_), rng) & region


def _ellipse(mask: NDArray[np.uint8], middle: tuple[float, float], axes: tuple[float, float]) -> None:
    center = (round(middle[0] * 16), round(middle[1] * 16))
    cv2.ellipse(mask, center, (round(axes[0] * 16), round(axes[1] * 16)), 0, 0, 360, 1, -1, cv2.LINE_8, 4)


def _frayed(mask: Mask, rng: np.random.Generator) -> Mask:
    """Return a mask whose outline is as rough as leaves make it."""
    size = max(1.0, mask.shape[1] / 200)
    noise = rng.standard_normal(mask.shape, np.float32)
    rough = cv2.GaussianBlur(noise, (0, 0), size) * (2.5 * size)
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 2 * size)
    # Only the outline frays: inside, leaves leave no holes.
    frayed: Mask = (soft + 0.25 * _ROUGH * rough > 0.5) | (soft > 0.98)
    return frayed


def foliage_of(image: Image, trees: Mask, sky: Mask, view: Perspective) -> Foliage:
    """Return where to copy leaves from: the trees of the image if it has enough, else those of the gallery.

    Trees without leaves will not do: one sees the sky through them, and there is none behind other trees.
    """
    crowns = trees & ~_see_through(image, trees, sky)
    # Grass is often labelled as vegetation: leaves are looked for above the horizon.
    crowns[max(0, round(view.horizon)) :] = False
    depth = cv2.distanceTransform(
        cv2.copyMakeBorder(crowns.view(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0,)), cv2.DIST_L2, 3
    )[1:-1, 1:-1]
    for share in _RADII if _leafy(image, crowns) else ():
        radius = max(2, round(share * image.shape[1]))
        centres = np.argwhere(depth > radius + 1)
        if len(centres) >= _LEAST_CLUMPS:
            return Foliage(image, centres, radius)
    leaves = _from_gallery(max(2, round(_RADII[1] * image.shape[1])))
    # The gallery's pictures were taken by day: leaves are as bright as what is seen here allows.
    light = min(float(image.mean()) / _DAY, _BRIGHTEST)
    return replace(leaves, image=np.clip(np.rint(leaves.image * light), 0, 255).astype(np.uint8))


def _see_through(image: Image, trees: Mask, sky: Mask) -> Mask:
    """Return where the surroundings of a pixel show some sky between the twigs."""
    if not sky.any() or not trees.any():
        return np.zeros_like(trees)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    bright = float(np.median(grey[sky])) * 0.62
    light = ((grey > bright) & trees).astype(np.float32)
    size = max(3, image.shape[1] // 24 | 1)
    through: Mask = cv2.blur(light, (size, size)) > _MOST_SKY
    return through


def _leafy(image: Image, crowns: Mask) -> bool:
    """Return whether trees have leaves: green, yellow or red ones, none of which is grey or blue."""
    pixels = image[crowns]
    if not len(pixels):
        return False
    red, green, blue = pixels[:: max(1, len(pixels) // 4000)].mean(axis=0)
    return bool(max(red, green) - blue > _LEAST_COLOR * max(red, green))


@lru_cache(maxsize=2)
def _from_gallery(radius: int) -> Foliage:
    """Return leaves of the gallery's trees, which are drawn with fewer than a camera sees."""
    rng = rng_for(0, "leaves", radius)
    wide = _CLUMPS_ACROSS * radius
    pictures, centres, down = [], [], 0
    for one in Gallery.shipped().select("tree"):
        high = round(wide * one.rgba.shape[0] / one.rgba.shape[1])
        rgba = cv2.resize(one.rgba, (wide, high), interpolation=cv2.INTER_AREA)
        rgba = rgba[: round(_CROWN_OF_GALLERY * high)]
        depth = cv2.distanceTransform((rgba[..., 3] > 250).astype(np.uint8), cv2.DIST_L2, 3)
        pictures.append(rgba[..., :3])
        inside = np.argwhere(depth > min(radius, 0.7 * float(depth.max())))
        centres.append(inside + np.array([down, 0]))
        down += len(rgba)
    picture = np.vstack(pictures).astype(np.float32)
    noise = rng.standard_normal(picture.shape[:2], np.float32)
    picture *= 1 + _LEAVES * (cv2.GaussianBlur(noise, (0, 0), 1.2) * 3 + 0.5 * noise)[..., None]
    return Foliage(np.clip(np.rint(picture), 0, 255).astype(np.uint8), np.concatenate(centres), radius)


def grown(region: Mask, foliage: Foliage, rng: np.random.Generator) -> Floats:
    """Return an image of the region's size, RGB, that is full of leaves wherever the region is.

    Clumps are laid over each other from the back, which is at the top, to the front.
    """
    height, width = region.shape
    radius = foliage.radius
    mean = foliage.image[foliage.centres[:, 0], foliage.centres[:, 1]].mean(axis=0).astype(np.float32)
    margin = 2 * radius + 1
    canvas = np.broadcast_to(mean, (height + 2 * margin, width + 2 * margin, 3)).copy()
    clumps = [_clump(foliage, mean, rng) for _ in range(_CLUMPS)]
    places = _places(region, radius, rng)
    for (row, column), number in zip(places.tolist(), rng.integers(_CLUMPS, size=len(places)), strict=True):
        leaves, through = clumps[number]
        top, left = row - radius + margin, column - radius + margin
        window = canvas[top : top + margin, left : left + margin]
        window *= through
        window += leaves
    return canvas[margin:-margin, margin:-margin] * _shade(region)[..., None]


def _clump(foliage: Foliage, mean: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return some clump of leaves, times its opacity, and the share of light that comes through it."""
    radius = foliage.radius
    row, column = foliage.centres[rng.integers(len(foliage.centres))].tolist()
    size = 2 * radius + 1
    height, width = foliage.image.shape[:2]
    rows = np.clip(np.arange(row - radius, row - radius + size), 0, height - 1)
    columns = np.clip(np.arange(column - radius, column - radius + size), 0, width - 1)
    patch = foliage.image[np.ix_(rows, columns)].astype(np.float32)
    # Clumps from the sunny and from the dark side of a tree stand side by side otherwise.
    patch += 0.5 * (mean - patch.mean(axis=(0, 1)))
    opacity = _stamp(radius, rng)[..., None]
    return patch * opacity, 1 - opacity


def _stamp(radius: int, rng: np.random.Generator) -> Floats:
    """Return the opacity of a clump, 0 at its rough edge."""
    size = 2 * radius + 1
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(np.float32)
    noise = cv2.GaussianBlur(rng.standard_normal((size, size), np.float32), (0, 0), max(0.8, radius / 5))
    rough = noise / max(float(np.abs(noise).max()), 1e-6)
    inside = 1 - np.hypot(rows, columns) / (radius + 0.5) + 0.25 * rough
    stamp = np.asarray(np.clip((inside - 0.05) / 0.15, 0, 1), np.float32)
    stamp[[0, -1]] = 0
    stamp[:, [0, -1]] = 0
    return stamp


def _places(region: Mask, radius: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return where clumps go, from top to bottom, so close that they cover the region, shape (n, 2)."""
    step = max(1, round(0.7 * radius))
    near = cv2.dilate(region.view(np.uint8), np.ones((2 * step + 1, 2 * step + 1), np.uint8))
    height, width = region.shape
    grid = np.stack(
        np.meshgrid(np.arange(0, height + step, step), np.arange(0, width + step, step), indexing="ij")
    )
    places = grid.reshape(2, -1).T + rng.integers(-(step // 2), step // 2 + 1, (grid[0].size, 2))
    # Farther out a clump would cover nothing, and leave the canvas that it is painted on.
    places = np.minimum(places, np.array([height, width]) + radius)
    inside = near[np.clip(places[:, 0], 0, height - 1), np.clip(places[:, 1], 0, width - 1)] > 0
    return np.asarray(places[inside], np.intp)


def _shade(region: Mask) -> Floats:
    """Return how bright each pixel is: less towards the foot of the trees."""
    height = region.shape[0]
    rows = np.arange(height, dtype=np.float32)[:, None]
    top = region.argmax(axis=0).astype(np.float32)
    foot = (height - region[::-1].argmax(axis=0)).astype(np.float32)
    top, foot = (cv2.blur(one[None], (15, 1))[0] for one in (top, foot))
    down = np.clip((rows - top) / np.maximum(foot - top, 1), 0, 1)
    return np.asarray(_TOP + (_FOOT - _TOP) * down**1.5, np.float32)
