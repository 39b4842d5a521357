"""Fast arithmetic on whole images: bytes where bytes do, few new arrays, and floats only for small fields."""

from __future__ import annotations

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Colour, Image, Map, Mask, resized

__all__ = ["blended", "covered", "greyed", "lit", "spread", "veiled"]


def spread(mask: Mask) -> Image:
    """Return a mask as an image with three equal channels."""
    return np.asarray(cv2.cvtColor(mask, cv2.COLOR_GRAY2RGB), np.uint8)


def veiled(image: Image, seen: Mask, colour: Colour) -> Image:
    """Return the image behind a veil of one colour: as much of it as `seen` says, the rest is the veil."""
    result = spread(seen)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    return np.asarray(cv2.add(result, _veil(seen, colour), dst=result), np.uint8)


def _veil(seen: Mask, colour: Colour) -> Image:
    planes = [cv2.convertScaleAbs(seen, alpha=-channel / 255, beta=channel) for channel in colour]
    return np.asarray(cv2.merge(planes), np.uint8)


def blended(one: Image, other: Image, share: Mask) -> Image:
    """Return one image or mask with a share of another one in each pixel."""
    there = share if one.ndim == 2 else spread(share)
    result = cv2.multiply(other, there, scale=1 / 255)
    rest = cv2.bitwise_not(there)
    cv2.multiply(one, rest, scale=1 / 255, dst=rest)
    return np.asarray(cv2.add(result, rest, dst=result), np.uint8)


def covered(
    image: Image, cover: Image, share: Mask, *, darker: Mask | None = None, seen: Mask | None, air: Colour
) -> Image:
    """Return the image with a share of another one, in haze: first `blended` and then `veiled`, but faster.

    Args:
        image: RGB.
        cover: Another image, of any size.
        share: How much of it is seen in each pixel.
        darker: What is left of the brightness of the image itself; all of it when left out.
        seen: How much of both comes through the haze; None is all of it.
        air: The colour of the haze.
    """
    height, width = image.shape[:2]
    kept = np.asarray(cv2.bitwise_not(share), np.uint8)
    for factor in (darker, seen):
        if factor is not None:
            cv2.multiply(kept, factor, scale=1 / 255, dst=kept)
    result = spread(kept)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    there = spread(share if seen is None else np.asarray(cv2.multiply(share, seen, scale=1 / 255), np.uint8))
    cv2.multiply(resized(cover, width, height), there, scale=1 / 255, dst=there)
    cv2.add(result, there, dst=result)
    return result if seen is None else np.asarray(cv2.add(result, _veil(seen, air), dst=result), np.uint8)


def greyed(image: Image, amount: float) -> Image:
    """Return the image with less colour: at amount 1 it is grey."""
    if amount <= 0:
        return image
    grey = spread(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8))
    return np.asarray(cv2.addWeighted(image, 1 - amount, grey, amount, 0, dst=grey), np.uint8)


def lit(image: Image, light: Map) -> Image:
    """Return the image multiplied by light: a smooth field with three channels, of any size."""
    height, width = image.shape[:2]
    return np.asarray(cv2.multiply(image, resized(light, width, height), dtype=cv2.CV_8U), np.uint8)
