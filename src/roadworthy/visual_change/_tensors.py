"""The measures of visual change on torch tensors, many images at once.

Imported only when a tensor comes in, so that nothing else needs torch.
"""

from __future__ import annotations

from functools import cached_property, partial

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d

from roadworthy.errors import FrameError
from roadworthy.visual_change import _fidelity as model
from roadworthy.visual_change._visibility import SCALES, Luminance, Masking, Viewing, lifted


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
        size = f"{images.shape[1]} × {images.shape[2]}"
        raise FrameError(f"the {name} must be at least one pixel high and wide, got {size}")
    if images.device.type == "mps":
        got = f"{images.device}: pass images.cpu()"
        raise FrameError(f"the {name} must be on a device with double precision, got {got}")
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
    red, green, blue = (weight * pixels[..., channel] for channel, weight in enumerate(model.RGB_WEIGHTS))
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


def correlated(images: Tensor, kernel: model.Doubles, step: int = 1) -> Tensor:
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


def deviations(images: Tensor) -> model.Doubles:
    """Return the deviation of the details of each image at each scale, in grey levels."""
    height, width = images.shape[1:]
    step = 2**SCALES
    low = reflected(images, 0, -height % step, 0, -width % step)
    found = []
    for scale in range(1, SCALES + 1):
        halves = [half.mT for half in lifted(low)]
        (low, *details) = (quarter for half in halves for quarter in lifted(half))
        energies = [(detail * detail).mean(dim=(1, 2), dtype=torch.float64) for detail in details]
        found.append(torch.stack(energies).sum(dim=0).sqrt() / 2**scale)
    return np.asarray(torch.stack(found, dim=1).cpu().numpy(), np.float64)


_VIEWING = Viewing()


def luminances(pixels: Tensor) -> model.Doubles:
    """Return mean and deviation of the luminance of each image on a display of 256 levels."""
    table = torch.from_numpy(_VIEWING.luminance(np.arange(256.0))).to(pixels.device)
    shown = table[pixels.clamp(0, 255).round().long()].flatten(1)
    moments = torch.stack([shown.mean(dim=1), shown.std(dim=1, correction=0)], dim=1)
    return np.asarray(moments.cpu().numpy(), np.float64)


def _window_means(values: Tensor, reach: int) -> Tensor:
    """Return the mean over the window around every block that does not lie in the margin."""
    start = model.BLOCK * model.MARGINS[reach] + model.BLOCK // 2 - reach
    height, width = values.shape[1:]
    inner, size = values[:, start : height - start, start : width - start], 2 * reach + 1
    rows = avg_pool2d(inner, (size, 1), stride=(model.BLOCK, 1))
    return avg_pool2d(rows, (1, size), stride=(1, model.BLOCK)).double()


def _blocks(values: Tensor) -> Tensor:
    """Return the blocks that lie side by side as the columns of a matrix of 9 rows, for each image."""
    height, width = (side // model.BLOCK for side in values.shape[1:])
    split = values.reshape(-1, height, model.BLOCK, width, model.BLOCK).permute(0, 2, 4, 1, 3)
    return split.double().reshape(len(values), model.BLOCK * model.BLOCK, -1)


def _block_covariances(values: Tensor) -> Tensor:
    """Return the 9 × 9 covariance of the pixels of a block, over all blocks, the overlapping ones too."""
    height, width = (side - model.BLOCK + 1 for side in values.shape[1:])
    shifted = (values[:, row:, column:] for row in range(model.BLOCK) for column in range(model.BLOCK))
    pixels = torch.stack([each[:, :height, :width].flatten(1) for each in shifted], dim=1).double()
    pixels -= pixels.mean(dim=2, keepdim=True)
    return pixels @ pixels.mT / (height * width)


def _blurred(images: Tensor, window: int) -> Tensor:
    """Blur with a Gaussian of deviation window / 5, where the window fits.

    In double precision, which no setting of the process can round.
    """
    kernel = torch.from_numpy(cv2.getGaussianKernel(window, window / 5, cv2.CV_64F)).to(images.device)
    return conv2d(conv2d(images[:, None], kernel[None, None]), kernel.mT[None, None])[:, 0]


_halved = partial(correlated, kernel=model.LOW, step=2)
_TENSORS = model.Grids(
    torch, reflected, correlated, _halved, _blurred, _window_means, _blocks, _block_covariances
)

PIXELS_AT_ONCE = 2**23
"""A larger batch is treated in parts; one of this size needs about 2 GiB."""


@torch.inference_mode()
def measured(measure: str, references: object, changes: object, *, batch: bool = True) -> model.Doubles:
    """Return a measure of each changed image; one reference serves all of them.

    Raises:
        FrameError: These are no images, or do not fit together.
    """
    noun = "images" if batch else "image"
    before = checked(references, f"reference {noun}", batch=batch)
    after = checked(changes, f"changed {noun}", batch=batch)
    if before.shape[1:] != after.shape[1:] or len(before) not in (1, len(after)):
        expected, got = (tuple(images.shape[0 if batch else 1 :]) for images in (before, after))
        raise FrameError(
            f"the changed {noun} must have the {'references' if batch else 'reference'}'"
            f"{'' if batch else 's'} shape {expected}, got {got}"
        )
    if before.device != after.device:
        devices = f"{before.device} of the reference, got {after.device}"
        raise FrameError(f"the changed {noun} must be on the device {devices}")
    height, width = after.shape[1:3]
    many = max(1, PIXELS_AT_ONCE // (height * width))
    shared = ReferenceBatch(before) if len(before) == 1 else None
    values = [np.empty(0)]
    for start in range(0, len(after), many):
        part = slice(start, start + many)
        own = shared or ReferenceBatch(before[part])
        values.append(getattr(own, measure)(grey(after[part])))
    return np.concatenate(values)


class ReferenceBatch:
    """Reference images, as many as there are changed ones, or one for all."""

    def __init__(self, images: Tensor) -> None:
        self._grey = grey(images)

    def vif(self, changed: Tensor) -> model.Doubles:
        """Return VIF of each changed image."""
        return _numbers(self._scenes.fidelity(changed))

    def vif_pixel(self, changed: Tensor) -> model.Doubles:
        """Return the pixel-domain VIF of each changed image."""
        return _numbers(model.pixel_fidelity(self._grey, changed, _TENSORS))

    def vsnr(self, changed: Tensor) -> model.Doubles:
        """Return VSNR of each changed image in decibels."""
        error = changed - self._grey
        masking = self._masking(len(changed))
        means = torch.tensor([own.mean for own in masking], dtype=error.dtype, device=error.device)
        image = np.resize(luminances(self._grey), (len(changed), 2))
        shown = luminances(error + means[:, None, None])
        values = []
        for own, found, shift, *seen in zip(
            masking, deviations(error), _means(error), image.tolist(), shown.tolist(), strict=True
        ):
            if own.hides_details(found):
                values.append(own.brightness_decibels(shift))
            else:
                values.append(own.detail_decibels(found, *(Luminance(*moments) for moments in seen)))
        return np.array(values, np.float64)

    def visual_change(self, changed: Tensor) -> model.Doubles:
        """Return Δv of each changed image."""
        error = changed - self._grey
        pairs = zip(self._masking(len(changed)), deviations(error), _means(error), strict=True)
        hidden = [own.hides_details(found) and own.hides_shift(shift) for own, found, shift in pairs]
        if all(hidden):
            return np.zeros(len(changed))
        return np.where(hidden, 0.0, np.clip(1.0 - self.vif(changed), 0.0, 1.0))

    @cached_property
    def _scenes(self) -> model.VifReference:
        return model.VifReference(self._grey, _TENSORS)

    @cached_property
    def _maskings(self) -> list[Masking]:
        pairs = zip(_means(self._grey), deviations(self._grey), strict=True)
        return [Masking(_VIEWING, mean, found) for mean, found in pairs]

    def _masking(self, count: int) -> list[Masking]:
        return self._maskings if len(self._maskings) == count else self._maskings * count


def _means(images: Tensor) -> list[float]:
    means: list[float] = images.mean(dim=(1, 2), dtype=torch.float64).tolist()
    return means


def _numbers(values: Tensor) -> model.Doubles:
    return np.asarray(values.cpu().numpy(), np.float64)
