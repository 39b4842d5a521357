"""What the public functions ask for, by name, for batches of tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from roadworthy.errors import FrameError
from roadworthy.visual_change._grey import Doubles
from roadworthy.visual_change._tensors._details import deviations, luminances
from roadworthy.visual_change._tensors._fidelity import Scenes
from roadworthy.visual_change._tensors._images import checked, grey
from roadworthy.visual_change._tensors._pixel import pixel_fidelities
from roadworthy.visual_change._visibility import Luminance, Masking, Viewing

PIXELS_AT_ONCE = 2**23
"""A larger batch is treated in parts; one of this size needs about 2 GiB."""


@torch.inference_mode()
def measured(
    measure: str, references: object, changes: object, viewing: Viewing, *, batch: bool = True
) -> Doubles:
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
        raise FrameError(
            f"the changed {noun} must be on the device {before.device} of the reference, got {after.device}"
        )
    height, width = after.shape[1:3]
    many = max(1, PIXELS_AT_ONCE // (height * width))
    shared = ReferenceBatch(before, viewing) if len(before) == 1 else None
    values = [np.empty(0)]
    for start in range(0, len(after), many):
        part = slice(start, start + many)
        own = shared or ReferenceBatch(before[part], viewing)
        values.append(MEASURES[measure](own, grey(after[part])))
    return np.concatenate(values)


class ReferenceBatch:
    """Reference images, as many as there are changed ones, or one for all."""

    def __init__(self, images: Tensor, viewing: Viewing) -> None:
        self._grey = grey(images)
        self._viewing = viewing
        self._kept_scenes: Scenes | None = None
        self._kept_masking: list[Masking] | None = None

    def vif(self, changed: Tensor) -> Doubles:
        """Return VIF of each changed image."""
        if self._kept_scenes is None:
            self._kept_scenes = Scenes(self._grey)
        return _numbers(self._kept_scenes.fidelity(changed))

    def vif_pixel(self, changed: Tensor) -> Doubles:
        """Return the pixel-domain VIF of each changed image."""
        return _numbers(pixel_fidelities(self._grey, changed))

    def vsnr(self, changed: Tensor) -> Doubles:
        """Return VSNR of each changed image in decibels."""
        error = changed - self._grey
        masking = self._masking(len(changed))
        means = torch.tensor([own.mean for own in masking], dtype=error.dtype, device=error.device)
        image = np.resize(luminances(self._grey, self._viewing), (len(changed), 2))
        shown = luminances(error + means[:, None, None], self._viewing)
        values = []
        for own, found, shift, *seen in zip(
            masking, deviations(error), _means(error), image.tolist(), shown.tolist(), strict=True
        ):
            if own.hides_details(found):
                values.append(own.brightness_decibels(shift))
            else:
                values.append(own.detail_decibels(found, *(Luminance(*moments) for moments in seen)))
        return np.array(values, np.float64)

    def visual_change(self, changed: Tensor) -> Doubles:
        """Return Δv of each changed image."""
        error = changed - self._grey
        pairs = zip(self._masking(len(changed)), deviations(error), _means(error), strict=True)
        hidden = [own.hides_details(found) and own.hides_shift(shift) for own, found, shift in pairs]
        if all(hidden):
            return np.zeros(len(changed))
        return np.where(hidden, 0.0, np.clip(1.0 - self.vif(changed), 0.0, 1.0))

    def _masking(self, count: int) -> list[Masking]:
        if self._kept_masking is None:
            pairs = zip(_means(self._grey), deviations(self._grey), strict=True)
            self._kept_masking = [Masking(self._viewing, mean, found) for mean, found in pairs]
        return self._kept_masking if len(self._kept_masking) == count else self._kept_masking * count


MEASURES: dict[str, Callable[[ReferenceBatch, Tensor], Doubles]] = {
    "vif": ReferenceBatch.vif,
    "vif_pixel": ReferenceBatch.vif_pixel,
    "vsnr": ReferenceBatch.vsnr,
    "visual_change": ReferenceBatch.visual_change,
}


def _means(images: Tensor) -> list[float]:
    means: list[float] = images.mean(dim=(1, 2), dtype=torch.float64).tolist()
    return means


def _numbers(values: Tensor) -> Doubles:
    return np.asarray(values.cpu().numpy(), np.float64)
