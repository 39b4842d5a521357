"""The look distance between images as a loss: that of `roadworthy.visual_change`, with gradients."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch.nn import functional

_SCALES = 4
_WINDOW = 9  # pixels
_UNITS = (90.0, 12.0, 16.0, 40.0)  # brightness, two axes of colour, strength of edges
_LEAST_VARIANCE = 1e-2  # levels²; below, a deviation is as good as none
_TO_XYZ = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
_WHITE = (0.950456, 1.0, 1.088754)  # D65
_DARK = 0.008856  # of the white: below, CIELAB is a straight line
_BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def look_distances(one: torch.Tensor, other: torch.Tensor, part: torch.Tensor | None = None) -> torch.Tensor:
    """Return how differently images look, one number for each pair.

    Args:
        one: RGB from -1 to 1, batch × 3 × height × width.
        other: Likewise.
        part: Where to compare them, from 0 to 1, batch × 1 × height × width; everywhere when left out.

    Example:
        >>> grey, white = torch.zeros(1, 3, 32, 32), torch.ones(1, 3, 32, 32)
        >>> bool(look_distances(grey, grey) == 0), bool(look_distances(grey, white) > 0.1)
        (True, True)
    """
    one, other = ((image.float().clamp(-1, 1) + 1) / 2 for image in (one, other))
    share = torch.ones_like(one[:, :1]) if part is None else part.float()
    total = torch.zeros(len(one), device=one.device)
    units = _constants(one.device).units
    # Windows must fit into the smallest image.
    scales = max(1, min(_SCALES, int(math.log2(min(one.shape[2:]) / _WINDOW)) + 2))
    for scale in range(scales):
        if scale:
            one, other = _half(one), _half(other)
            share = functional.adaptive_avg_pool2d(share, (one.shape[2], one.shape[3]))
        apart = sum(
            ((mine - yours).abs() / units).sum(1, keepdim=True)
            for mine, yours in zip(_local(_features(one)), _local(_features(other)), strict=True)
        )
        total = total + (apart * share).sum((1, 2, 3)) / share.sum((1, 2, 3)).clamp(min=1e-6)
    return total / scales


def _features(image: torch.Tensor) -> torch.Tensor:
    """Return brightness, two axes of colour and the strength of edges: batch × 4 × height × width."""
    linear = torch.where(image > 0.04045, ((image.clamp(min=0.04045) + 0.055) / 1.055) ** 2.4, image / 12.92)
    xyz = torch.einsum("ij,njhw->nihw", _constants(image.device).to_xyz, linear)
    curved = torch.where(xyz > _DARK, xyz.clamp(min=_DARK) ** (1 / 3), 7.787 * xyz + 16 / 116)
    x, y, z = curved.unbind(1)
    bright = 2.55 * (116 * y - 16)
    padded = functional.pad(bright[:, None], (1, 1, 1, 1), mode="reflect")
    across = padded[..., 2:] - padded[..., :-2]
    down = padded[..., 2:, :] - padded[..., :-2, :]
    across = across[..., :-2, :] + 2 * across[..., 1:-1, :] + across[..., 2:, :]
    down = down[..., :-2] + 2 * down[..., 1:-1] + down[..., 2:]
    edges = (across**2 + down**2 + _LEAST_VARIANCE).sqrt()[:, 0] / 4
    return torch.stack([bright, 500 * (x - y), 200 * (y - z), edges], 1)


def _local(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean and the deviation about each pixel."""
    reach = _WINDOW // 2
    padded = functional.pad(values, (reach,) * 4, mode="reflect")
    mean = functional.avg_pool2d(padded, _WINDOW, 1)
    square = functional.avg_pool2d(padded * padded, _WINDOW, 1)
    return mean, ((square - mean * mean).clamp(min=0) + _LEAST_VARIANCE).sqrt()


def _half(image: torch.Tensor) -> torch.Tensor:
    """Return images of half the size, as OpenCV's pyrDown makes them."""
    kernel = _constants(image.device).kernel
    return functional.conv2d(functional.pad(image, (2,) * 4, mode="reflect"), kernel, stride=2, groups=3)


class _Constants(NamedTuple):
    units: torch.Tensor
    to_xyz: torch.Tensor
    kernel: torch.Tensor


@lru_cache(maxsize=4)
def _constants(device: torch.device) -> _Constants:
    """Return numbers that are sent to a device once: to send them at each step would make a GPU wait."""
    # What is made in inference mode could not be used for gradients later.
    with torch.inference_mode(mode=False):
        units = torch.tensor(_UNITS).view(1, 4, 1, 1) * len(_UNITS)
        line = torch.tensor(_BINOMIAL)
        kernel = (line[:, None] * line).expand(3, 1, 5, 5)
        to_xyz = torch.tensor(_TO_XYZ) / torch.tensor(_WHITE)[:, None]
        return _Constants(*(one.to(device) for one in (units, to_xyz, kernel)))
