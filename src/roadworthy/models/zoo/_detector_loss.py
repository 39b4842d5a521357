"""The loss of the detector: are the middles of things where they are said to be, and do the boxes fit?"""

from __future__ import annotations

import math

import torch

from roadworthy.models.zoo.detector import STRIDE

__all__ = ["detector_loss", "generalized_iou"]

_SPREAD = 0.54 / 6  # standard deviation of a thing's bell, in sizes of the thing, as TTFNet has it
_LEAST_SPREAD = 0.4  # cells
_LEAST_SHARE = 0.1  # of a bell's height, where a cell still learns the box
_BOX_WEIGHT = 2.0
_TINY = 1e-6


def detector_loss(answers: torch.Tensor, targets: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return how wrong the boxes and scores of `Detector` are.

    Scores have CenterNet's focal loss: 1 is wanted in the cell of a thing's middle, 0 elsewhere, and that the
    less strictly the nearer, by a bell as wide as the thing (Zhou et al., 2019, equation 1). Nothing is asked
    inside a thing that is ignored. Boxes have 1 - GIoU (Rezatofighi et al., 2019) in the cells under the
    bell, weighted by it (Liu et al., 2020); each thing counts the same.

    Args:
        answers: What the network gave: batch × (4 + classes) × cells.
        targets: What is true, as `DetectionTask.target` has it: batch × things × 6.
        size: Width and height of the images, in pixels.
    """
    # Rows that hold nothing come last; most images have few things, and every row costs a map of cells.
    targets = targets[:, : max(1, int((targets[..., 4] >= 0).sum(1).max()))]
    corners, numbers, counts = targets[..., :4], targets[..., 4], targets[..., 5] > 0
    things = counts.sum().clamp(min=1)
    columns = math.ceil(size[0] / STRIDE)
    grid = (columns, answers.shape[2] // columns)
    bells = _bells(corners, grid) * counts[..., None]
    wanted = torch.stack(
        [(bells * (numbers == one)[..., None]).amax(1) for one in range(answers.shape[1] - 4)], dim=1
    )
    score = answers[:, 4:].clamp(_TINY, 1 - _TINY)
    middle = wanted == 1
    missed = -((1 - score) ** 2) * score.log() * middle
    invented = -((1 - wanted) ** 4) * score**2 * (1 - score).log() * ~middle
    ignored = (_inside(corners, grid) & (~counts & (numbers >= 0))[..., None]).any(1)
    scores = (missed + invented * ~ignored[:, None]).sum()
    return (scores + _BOX_WEIGHT * _misfit(answers[:, :4], corners, bells, size)) / things


def _bells(corners: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """Return how near each cell is to the middle of each thing, 1 in its own: batch × things × cells."""
    sides = []
    for axis, cells in enumerate(grid):
        low, high = corners[..., axis, None] / STRIDE, corners[..., axis + 2, None] / STRIDE
        # A middle on the right or lower edge belongs to the last cell.
        own = ((low + high) / 2).floor().clamp(0, cells - 1)
        spread = ((high - low) * _SPREAD).clamp(min=_LEAST_SPREAD)
        away = (torch.arange(cells, device=corners.device) - own) / spread
        sides.append((-away.square() / 2).exp())
    return (sides[1][..., None] * sides[0][..., None, :]).flatten(2)


def _inside(corners: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """Return which cells touch which things: batch × things × cells."""
    sides = []
    for axis, cells in enumerate(grid):
        low, high = corners[..., axis, None] / STRIDE, corners[..., axis + 2, None] / STRIDE
        place = torch.arange(cells, device=corners.device)
        sides.append((place + 1 > low) & (place < high))
    return (sides[1][..., None] & sides[0][..., None, :]).flatten(2)


def _misfit(
    boxes: torch.Tensor, corners: torch.Tensor, bells: torch.Tensor, size: tuple[int, int]
) -> torch.Tensor:
    """Return the sum over things of how badly boxes fit, each the mean over the cells under its bell."""
    share, owner = bells.max(1)
    share = share * (share > _LEAST_SHARE)
    own = owner[:, None] == torch.arange(corners.shape[1], device=owner.device)[:, None]
    total = (own * share[:, None]).sum(2)
    weight = share / total.take_along_dim(owner, 1).clamp(min=_TINY)
    middle, extent = (boxes.movedim(1, -1) * boxes.new_tensor(size * 2)).tensor_split(2, dim=-1)
    given = torch.cat([middle - extent / 2, middle + extent / 2], dim=-1)
    true = corners.take_along_dim(owner[..., None], 1)
    return (weight * (1 - generalized_iou(given, true))).sum()


def generalized_iou(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the generalized intersection over union of boxes, x1, y1, x2, y2 along the last axis.

    Example:
        >>> box, beside = torch.tensor([0.0, 0, 2, 2]), torch.tensor([2.0, 0, 4, 2])
        >>> generalized_iou(box, box).item(), generalized_iou(box, beside).item()
        (1.0, 0.0)
    """
    low, high = torch.maximum(one[..., :2], other[..., :2]), torch.minimum(one[..., 2:], other[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area, other_area = ((box[..., 2:] - box[..., :2]).prod(-1) for box in (one, other))
    union = area + other_area - shared
    lowest = torch.minimum(one[..., :2], other[..., :2])
    highest = torch.maximum(one[..., 2:], other[..., 2:])
    around = (highest - lowest).prod(-1)
    iou: torch.Tensor = shared / union.clamp(min=_TINY)
    return iou - (around - union) / around.clamp(min=_TINY)
