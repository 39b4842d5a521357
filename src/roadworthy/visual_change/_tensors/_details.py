"""What VSNR measures, for batches of tensors: see `roadworthy.visual_change._visibility`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from roadworthy.visual_change._grey import Doubles
from roadworthy.visual_change._tensors._images import reflected
from roadworthy.visual_change._visibility import HIGH_GAIN, LIFTING, LOW_GAIN, SCALES, Viewing


def deviations(images: Tensor) -> Doubles:
    """Return the deviation of the details of each image at each scale, in grey levels."""
    height, width = images.shape[1:]
    step = 2**SCALES
    low = reflected(images, 0, -height % step, 0, -width % step)
    found = []
    for scale in range(1, SCALES + 1):
        halves = [half.mT for half in _lifted(low)]
        (low, *details) = (quarter for half in halves for quarter in _lifted(half))
        energies = [(detail * detail).mean(dim=(1, 2), dtype=torch.float64) for detail in details]
        found.append(torch.stack(energies).sum(dim=0).sqrt() / 2**scale)
    return np.asarray(torch.stack(found, dim=1).cpu().numpy(), np.float64)


def luminances(pixels: Tensor, viewing: Viewing) -> Doubles:
    """Return mean and deviation of the luminance of each image on a display of 256 levels."""
    table = torch.from_numpy(viewing.luminance(np.arange(256.0))).to(pixels.device)
    shown = table[pixels.clamp(0, 255).round().long()].flatten(1)
    moments = torch.stack([shown.mean(dim=1), shown.std(dim=1, correction=0)], dim=1)
    return np.asarray(moments.cpu().numpy(), np.float64)


def _lifted(images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the low and the high half of one pass of the 9/7 transform over the rows."""
    low, high = images[:, 0::2].clone(), images[:, 1::2].clone()
    for predict, update in zip(LIFTING[0::2], LIFTING[1::2], strict=True):
        high[:, :-1].add_(low[:, :-1] + low[:, 1:], alpha=predict)
        high[:, -1].add_(low[:, -1], alpha=2 * predict)
        low[:, 1:].add_(high[:, :-1] + high[:, 1:], alpha=update)
        low[:, 0].add_(high[:, 0], alpha=2 * update)
    return low.mul_(LOW_GAIN), high.mul_(HIGH_GAIN)
