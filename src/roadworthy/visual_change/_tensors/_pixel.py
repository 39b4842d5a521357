"""VIF of pixels for batches of tensors: see `roadworthy.visual_change._fidelity`."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from roadworthy.visual_change._fidelity import PIXEL_FLAT as FLAT
from roadworthy.visual_change._fidelity import PIXEL_NOISE as NEURAL_NOISE
from roadworthy.visual_change._fidelity import WINDOWS
from roadworthy.visual_change._tensors._fidelity import fidelities_to_nothing
from roadworthy.visual_change._tensors._images import reflected


def pixel_fidelities(reference: Tensor, changed: Tensor) -> Tensor:
    """Return the VIF of the pixels of each changed image."""
    kept = torch.zeros(len(changed), dtype=torch.float64, device=changed.device)
    information = torch.zeros(len(reference), dtype=torch.float64, device=changed.device)
    variances = []
    for before, after, window in _scales(reference, changed):
        mean, mean_after = _blurred(before, window), _blurred(after, window)
        variance = _blurred(before * before, window) - mean * mean
        variance_after = _blurred(after * after, window) - mean_after * mean_after
        covariance = _blurred(before * after, window) - mean * mean_after
        textured = variance >= FLAT
        gain = covariance.clamp(min=0) / torch.where(textured, variance, torch.inf)
        noise = (variance_after - gain * covariance).clamp(min=0)
        variance = torch.where(textured, variance, 0)
        kept += (gain * gain * variance / (noise + NEURAL_NOISE)).log1p().sum(dim=(1, 2))
        information += (variance / NEURAL_NOISE).log1p().sum(dim=(1, 2))
        variances.append(variance_after.clamp(min=0))
    return torch.where(information == 0, fidelities_to_nothing(variances, NEURAL_NOISE), kept / information)


def _scales(reference: Tensor, changed: Tensor) -> Iterator[tuple[Tensor, Tensor, int]]:
    rows, columns = (max(WINDOWS[0] - side, 0) for side in reference.shape[1:])
    centred = (
        image.double() - image.double().mean(dim=(1, 2), keepdim=True) for image in (reference, changed)
    )
    before, after = (reflected(image, 0, rows, 0, columns) for image in centred)
    for window in WINDOWS:
        if window != WINDOWS[0]:
            if min(before.shape[1:]) < window:
                return
            before, after = (_blurred(image, window)[:, ::2, ::2] for image in (before, after))
        if min(before.shape[1:]) < window:
            return
        yield before, after, window


def _blurred(images: Tensor, window: int) -> Tensor:
    """Blur with a Gaussian of deviation window / 5, where the window fits.

    In double precision, which no setting of the process can round.
    """
    kernel = torch.from_numpy(cv2.getGaussianKernel(window, window / 5, cv2.CV_64F)).to(images.device)
    rows = conv2d(images[:, None], kernel[None, None])
    return conv2d(rows, kernel.mT[None, None])[:, 0]
