"""Small networks of separable convolutions: a classifier, a planner of paths, a detector with its loss."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from roadworthy.models.zoo.driving_networks import Convolutional, Head, Sizes, dense_layers, flat_size


def plain(before: int, after: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a convolution with batch norm and ReLU."""
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())


def separable(before: int, after: int, *, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a depthwise-separable convolution, as MobileNet has it (Howard et al., 2017)."""
    each = nn.Conv2d(before, before, kernel, stride, kernel // 2, groups=before, bias=False)
    return nn.Sequential(each, nn.BatchNorm2d(before), nn.ReLU(), *plain(before, after, kernel=1))


class Residual(nn.Module):
    """Adds what a separable convolution finds to what came in.

    Args:
        channels: Of what comes in and goes out.
        kernel: Of the convolution over space.
    """

    def __init__(self, channels: int, kernel: int = 3) -> None:
        super().__init__()
        self.layers = separable(channels, channels, kernel=kernel)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the sum."""
        return cast(torch.Tensor, images + self.layers(images))


def stage(before: int, after: int, blocks: int, kernel: int = 3) -> nn.Sequential:
    """Return layers that halve width and height and then look again so many times."""
    first = separable(before, after, kernel=kernel, stride=2)
    return nn.Sequential(first, *(Residual(after, kernel) for _ in range(blocks)))


def stages(channels: tuple[int, ...], blocks: tuple[int, ...], near: int = 2) -> list[nn.Sequential]:
    """Return the stages after a first layer; all but so many have a wider look, which costs little there."""
    sizes = zip(channels, channels[1:], blocks, strict=False)
    return [stage(*size, kernel=3 if number < near else 5) for number, size in enumerate(sizes)]


class SmallClassifier(nn.Module):
    """Stages of separable convolutions, the mean over the picture, one dense layer. Answers with logits.

    Args:
        outputs: How many classes it tells apart.
        channels: Of the first layer and of the stages.
        blocks: How often each stage looks again.
        dropout: Before the dense layer.
        _size: Width and height of the image: any, because of the mean.
    """

    def __init__(self, outputs: int, *, channels: Sizes, blocks: Sizes, dropout: float, **_size: int) -> None:
        super().__init__()
        first = plain(3, channels[0], stride=2)
        self.features = nn.Sequential(first, *stages(channels, blocks, near=len(blocks)))
        self.dense = nn.Sequential(nn.Dropout(dropout), nn.Linear(channels[-1], outputs))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return a logit per class for a batch of images."""
        # Adaptive pooling has no deterministic gradient on a GPU, a mean has.
        return cast(torch.Tensor, self.dense(self.features(images).mean((2, 3))))


class SmallPlanner(Convolutional):
    """Stages of separable convolutions, dense layers over all places of the image, and a head for metres.

    Args:
        outputs: How many points its path has; it answers with two numbers for each.
        width: Of the image.
        height: Of the image.
        channels: Of the first layer and of the stages.
        blocks: How often each stage looks again.
        hidden: Neurons of the dense layer.
        dropout: Before it.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int,
        height: int,
        channels: tuple[int, ...],
        blocks: tuple[int, ...],
        hidden: int,
        dropout: float,
    ) -> None:
        super().__init__()
        first, inner = plain(3, channels[0], stride=2), stages(channels, blocks)
        # Where something is matters here: no mean is taken, and few channels keep what follows small.
        self.features = nn.Sequential(first, *inner, plain(channels[-1], 32, kernel=1), nn.Flatten())
        size = flat_size(self.features, 3, height, width)
        dense = dense_layers(size, (hidden,))
        self.dense = nn.Sequential(nn.Dropout(dropout), *dense, nn.Linear(hidden, 2 * outputs))
        self.head = Head(2 * outputs)


STRIDE = 4
"""Pixels from one cell of the grid to the next."""

_RARE = 0.01  # share of cells that a fresh network takes for the middle of something
_UNIT = 8.0  # pixels from the middle to an edge that a fresh network answers with
_FARTHEST = math.log(400.0 / _UNIT)  # 400 pixels at most


class SmallDetector(nn.Module):
    """A detector without anchors, after CenterNet (Zhou et al., 2019) and TTFNet (Liu et al., 2020).

    Four stages of separable convolutions look at 1/4 to 1/32 of the image's size. On the way back, each is
    enlarged and added to the one before (Lin et al., 2017), so that the finest grid, one cell for 4×4 pixels,
    knows of small and of large things. Two short towers answer there: a score per class, and the distances
    from the cell's middle to the four edges of the box.

    The answer is a table per image, (4 + classes) × cells: middle, width and height of the box as shares of
    the image's, then a score from 0 to 1 per class. `DetectionOutput` calls this head "yolov8", normalized.

    Args:
        outputs: How many classes it tells apart.
        width: Of the image.
        height: Of the image.
        channels: Of the first layer and of the four stages.
        blocks: How often each stage looks again.
        neck: Channels of the way back.
    """

    cells: torch.Tensor
    size: torch.Tensor

    def __init__(
        self, outputs: int, *, width: int, height: int, channels: Sizes, blocks: Sizes, neck: int
    ) -> None:
        super().__init__()
        self.stem = plain(3, channels[0], stride=2)
        self.stages = nn.ModuleList(stages(channels, blocks))
        self.sides = nn.ModuleList(nn.Conv2d(count, neck, 1) for count in channels[1:])
        self.joints = nn.ModuleList(separable(neck, neck) for _ in channels[2:])
        self.scores = nn.Sequential(separable(neck, neck), separable(neck, neck), nn.Conv2d(neck, outputs, 1))
        self.edges = nn.Sequential(separable(neck, neck), separable(neck, neck), nn.Conv2d(neck, 4, 1))
        for tower, bias in ((self.scores, -math.log(1 / _RARE - 1)), (self.edges, 0.0)):
            last = tower[-1]
            assert isinstance(last, nn.Conv2d)
            nn.init.normal_(last.weight, std=0.01)
            nn.init.constant_(last.bias, bias)  # type: ignore[arg-type]
        self.register_buffer("cells", _middles(width, height), persistent=False)
        self.register_buffer("size", torch.tensor([[width], [height]] * 2), persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return boxes and scores for a batch of images: batch × (4 + classes) × cells."""
        seen = self.stem(images)
        levels = []
        for layers, side in zip(self.stages, self.sides, strict=True):
            seen = layers(seen)
            levels.append(side(seen))
        found = levels.pop()
        for joint in self.joints:
            finer = levels.pop()
            # An input whose sides are no multiples of 32 leaves a level of uneven size.
            found = joint(finer + functional.interpolate(found, size=finer.shape[2:]))
        # 16 bits are too coarse for the middles of cells and for scores near 1.
        scores = self.scores(found).float().flatten(2).sigmoid()
        edges = self.edges(found).float().flatten(2).clamp(max=_FARTHEST).exp() * _UNIT
        before, after = edges[:, :2], edges[:, 2:]
        boxes = torch.cat([self.cells + (after - before) / 2, before + after], dim=1)
        return torch.cat([boxes / self.size, scores], dim=1)


def _middles(width: int, height: int) -> torch.Tensor:
    """Return x and y of the middle of each cell, in pixels: 2 × cells, row by row."""
    columns, rows = (torch.arange(math.ceil(size / STRIDE)) for size in (width, height))
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return (torch.stack([x.flatten(), y.flatten()]) + 0.5) * STRIDE


_SPREAD = 0.54 / 6  # standard deviation of a thing's bell, in sizes of the thing, as TTFNet has it
_LEAST_SPREAD = 0.4  # cells
_LEAST_SHARE = 0.1  # of a bell's height, where a cell still learns the box
_BOX_WEIGHT = 2.0
_TINY = 1e-6


def detector_loss(answers: torch.Tensor, targets: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return how wrong the boxes and scores of `SmallDetector` are.

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
    classes = range(answers.shape[1] - 4)
    wanted = torch.stack([(bells * (numbers == one)[..., None]).amax(1) for one in classes], dim=1)
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
    weight = share / (own * share[:, None]).sum(2).take_along_dim(owner, 1).clamp(min=_TINY)
    middle, extent = (boxes.movedim(1, -1) * boxes.new_tensor(size * 2)).tensor_split(2, dim=-1)
    given = torch.cat([middle - extent / 2, middle + extent / 2], dim=-1)
    return (weight * (1 - generalized_iou(given, corners.take_along_dim(owner[..., None], 1)))).sum()


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
    around = (torch.maximum(one[..., 2:], other[..., 2:]) - lowest).prod(-1)
    iou: torch.Tensor = shared / union.clamp(min=_TINY)
    return iou - (around - union) / around.clamp(min=_TINY)
