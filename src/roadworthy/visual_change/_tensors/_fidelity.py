"""VIF of wavelets for batches of tensors: see `roadworthy.visual_change._fidelity`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from roadworthy.visual_change._fidelity import (
    BAND,
    BLOCK,
    FIRST_LOW,
    FLAT,
    LOW,
    MARGINS,
    NEURAL_NOISE,
    REACHES,
    SINGULAR,
    levels_of,
    missing_pixels,
)
from roadworthy.visual_change._tensors._images import correlated, reflected


class Scenes:
    """What the model of VIF says about reference images alone: several, or one to compare all others with."""

    def __init__(self, grey: Tensor) -> None:
        self._subbands = [Subbands.of(bands, reach) for bands, reach in _subbands(grey)]
        self._information = torch.stack([own.information for own in self._subbands]).sum(dim=0)

    def fidelity(self, grey: Tensor) -> Tensor:
        """Return VIF of each changed image."""
        kept, variances = [], []
        empty = self._information == 0
        any_empty = bool(empty.any())
        for own, (bands, _) in zip(self._subbands, _subbands(grey), strict=True):
            covariance, variance = own.change(bands)
            gain = covariance.clamp(min=0) / own.variance
            noise = (variance - gain * covariance).clamp(min=0)
            kept.append(_information(own.polynomial, gain * gain * own.multiplier / (noise + NEURAL_NOISE)))
            if any_empty:
                variances.append(torch.where(variance < own.flat_below, 0, variance))
        fidelities = torch.stack(kept).sum(dim=0) / self._information
        if any_empty:
            return torch.where(empty, fidelities_to_nothing(variances, NEURAL_NOISE), fidelities)
        return fidelities


def fidelities_to_nothing(variances: list[Tensor], noise: float) -> Tensor:
    """Return VIF where the reference is flat, from local variances of the changed images."""
    shares = [(noise / (noise + variance)).flatten(1) for variance in variances]
    return torch.cat(shares, dim=1).mean(dim=1)


@dataclass(frozen=True, eq=False)
class Subbands:
    """The Gaussian scale mixture of one subband of every reference; fields as in `_fidelity.Subband`."""

    coefficients: Tensor
    reach: int
    flat_below: float
    mean: Tensor
    variance: Tensor
    multiplier: Tensor
    polynomial: list[Tensor]
    information: Tensor

    @classmethod
    def of(cls, coefficients: Tensor, reach: int) -> Subbands:
        """Estimate the model from the coefficients of a subband."""
        precision = torch.empty(0, dtype=coefficients.dtype).numpy().dtype
        mean = _window_means(coefficients, reach)
        variance = _window_means(coefficients * coefficients, reach) - mean * mean
        flat_below = FLAT[precision] * (REACHES[0] / reach) ** 2
        flat = variance < flat_below
        variance = variance.masked_fill(flat, torch.inf)

        eigenvalues, eigenvectors = torch.linalg.eigh(_block_covariances(coefficients))
        least = (SINGULAR[precision] * eigenvalues[:, -1:]).clamp(min=0)
        real = eigenvalues > least
        # An eigenvalue of 0 adds no information: log(1 + 0).
        eigenvalues = torch.where(real, eigenvalues, 0)
        scales = torch.where(real, eigenvalues, torch.inf).rsqrt()
        whitening = (eigenvectors * scales[:, None]).mT
        margin = BLOCK * MARGINS[reach]
        white = whitening @ _blocks(coefficients[:, margin:-margin, margin:-margin])
        multiplier = (white * white).sum(dim=1).reshape(mean.shape)
        multiplier /= real.sum(dim=1).clamp(min=1)[:, None, None]
        multiplier = multiplier.masked_fill(flat, 0)

        polynomial = _polynomial(eigenvalues)
        information = _information(polynomial, multiplier / NEURAL_NOISE)
        return cls(coefficients, reach, flat_below, mean, variance, multiplier, polynomial, information)

    def change(self, changed: Tensor) -> tuple[Tensor, Tensor]:
        """Return covariance with the reference, and variance, of the changed subbands around each block."""
        mean = _window_means(changed, self.reach)
        covariance = _window_means(self.coefficients * changed, self.reach) - self.mean * mean
        return covariance, _window_means(changed * changed, self.reach) - mean * mean


def _subbands(grey: Tensor) -> Iterator[tuple[Tensor, int]]:
    """Yield each subband, cropped to whole blocks, with the reach of its window."""
    grey = grey - grey.mean(dim=(1, 2), keepdim=True, dtype=torch.float64).to(grey.dtype)
    rows, columns = (missing_pixels(side) for side in grey.shape[1:])
    grey = reflected(grey, *rows, *columns)
    low = correlated(grey, FIRST_LOW)
    for level, reach in enumerate(levels_of(min(grey.shape[1:]))):
        if level:
            low = correlated(low, LOW, step=2)
        height, width = (side // BLOCK * BLOCK for side in low.shape[1:])
        for kernel in (BAND, BAND.T):
            yield correlated(low, kernel)[:, :height, :width], reach


def _window_means(values: Tensor, reach: int) -> Tensor:
    """Return the mean over the window around every block that does not lie in the margin."""
    start = BLOCK * MARGINS[reach] + BLOCK // 2 - reach
    height, width = values.shape[1:]
    inner, size = values[:, start : height - start, start : width - start], 2 * reach + 1
    rows = avg_pool2d(inner, (size, 1), stride=(BLOCK, 1))
    return avg_pool2d(rows, (1, size), stride=(1, BLOCK)).double()


def _blocks(values: Tensor) -> Tensor:
    """Return the blocks that lie side by side as the columns of a matrix of 9 rows, for each image."""
    height, width = (side // BLOCK for side in values.shape[1:])
    split = values.reshape(-1, height, BLOCK, width, BLOCK).permute(0, 2, 4, 1, 3)
    return split.double().reshape(len(values), BLOCK * BLOCK, -1)


def _block_covariances(values: Tensor) -> Tensor:
    """Return the 9 × 9 covariance of the pixels of a block, over all blocks, the overlapping ones too."""
    height, width = (side - BLOCK + 1 for side in values.shape[1:])
    shifted = (values[:, row:, column:] for row in range(BLOCK) for column in range(BLOCK))
    pixels = torch.stack([each[:, :height, :width].flatten(1) for each in shifted], dim=1).double()
    pixels -= pixels.mean(dim=2, keepdim=True)
    return pixels @ pixels.mT / (height * width)


def _polynomial(eigenvalues: Tensor) -> list[Tensor]:
    """Return the coefficients, highest power first, of Π (1 + x λ)."""
    polynomial = [torch.ones_like(eigenvalues[:, 0])]
    for eigenvalue in eigenvalues.unbind(dim=1):
        zero = torch.zeros_like(eigenvalue)
        pairs = zip([*polynomial, zero], [zero, *polynomial], strict=True)
        polynomial = [eigenvalue * high + low for high, low in pairs]
    return [coefficient[:, None, None] for coefficient in polynomial]


def _information(polynomial: list[Tensor], ratios: Tensor) -> Tensor:
    """Return Σ log Π (1 + ratio · λ) of each image."""
    products = polynomial[0].expand_as(ratios).clone()
    for coefficient in polynomial[1:]:
        products.mul_(ratios).add_(coefficient)
    return products.log_().sum(dim=(1, 2))
