"""Tensors checked, turned to grey, and filtered."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from roadworthy.errors import FrameError
from roadworthy.visual_change._grey import RGB_WEIGHTS, Doubles


def checked(images: object, name: str, *, batch: bool) -> Tensor:
    """Return the images as a batch, or raise a FrameError that says what is wrong with them."""
    if not isinstance(images, Tensor):
        raise FrameError(
            f"the {name} must be a tensor, as the other is, got a {type(images).__name__}: make both arrays, "
            "or both tensors with torch.as_tensor(…, device=…)"
        )
    shape, count = tuple(images.shape), "n, " if batch else ""
    images = images if batch else images[None]
    if not (images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)) or not (
        images.dtype == torch.uint8 or images.is_floating_point()
    ):
        raise FrameError(
            f"the {name} must have shape ({count}height, width) or ({count}height, width, 3) and dtype uint8 "
            f"or float with values from 0 to 255, got shape {shape} and dtype {images.dtype}"
        )
    if 0 in images.shape[1:3]:
        raise FrameError(
            f"the {name} must be at least one pixel high and wide, got {images.shape[1]} × {images.shape[2]}"
        )
    if images.device.type == "mps":
        raise FrameError(
            f"the {name} must be on a device with double precision, got {images.device}: pass images.cpu()"
        )
    if images.is_floating_point():
        broken = (~torch.isfinite(images)).nonzero()
        if len(broken):
            place = broken[0].tolist()
            raise FrameError(
                f"the {name} must hold finite values, got {images[tuple(place)].item()}"
                f"{f' in image {place[0]}' if batch else ''} at row {place[1]}, column {place[2]}"
            )
    return images


def grey(images: Tensor) -> Tensor:
    """Return checked images in grey: of single precision where they were `uint8`, of double elsewhere."""
    whole = images.dtype == torch.uint8
    pixels = images.to(torch.float32 if whole else torch.float64)
    if pixels.ndim == 3:
        return pixels
    red, green, blue = (weight * pixels[..., channel] for channel, weight in enumerate(RGB_WEIGHTS))
    mixed = red + green + blue
    # rgb2gray keeps the class of its input.
    return mixed.round() if whole else mixed


def reflected(images: Tensor, top: int, bottom: int, left: int, right: int) -> Tensor:
    """Continue images by reflection about their edge pixels, any number of times."""
    for axis, before, after in ((1, top, bottom), (2, left, right)):
        if before or after:
            places = np.pad(np.arange(images.shape[axis]), (before, after), mode="reflect")
            images = images.index_select(axis, torch.from_numpy(places).to(images.device))
    return images


def correlated(images: Tensor, kernel: Doubles, step: int = 1) -> Tensor:
    """Correlate with a kernel that is symmetric about its middle row, or the negative of it, at every step.

    Shifted images are added up. The convolutions of cuDNN would round their factors to ten bits (TF32)
    unless a setting of the whole process forbids it.
    """
    height, width = images.shape[1:]
    reach = len(kernel) // 2
    grown = reflected(images, reach, reach, reach, reach)
    total = images.new_zeros(len(images), -(-height // step), -(-width // step))
    sign = 1 if np.array_equal(kernel, kernel[::-1]) else -1
    for row in range(reach + 1):
        if not kernel[row].any():
            continue
        rows = grown[:, row : row + height : step]
        if row < reach:
            rows = torch.add(rows, grown[:, 2 * reach - row :][:, :height:step], alpha=sign)
        for column, weight in enumerate(kernel[row].tolist()):
            if weight:
                total.add_(rows[:, :, column : column + width : step], alpha=weight)
    return total
