"""The driving networks of the papers: DAVE-2, Epoch, Chauffeur, Rambo, VGG16 and ResNet101."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias, cast

import torch
from torch import nn

_SCALE = 10.0
_HALVINGS = 5
Sizes: TypeAlias = tuple[int, ...]
Shares: TypeAlias = tuple[float, ...]
_Convolution = tuple[int, int, int]  # channels, kernel, stride
_DAVE2: tuple[_Convolution, ...] = ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 1), (64, 3, 1))


class Head(nn.Module):
    """Turns what the last layer gives, numbers around 0, into the units of the answer.

    So the network learns normalised numbers, and whoever runs it gets degrees and m/s. Both tensors are
    buffers: they are saved with the weights and are not trained.

    Args:
        outputs: How many numbers there are.
    """

    scale: torch.Tensor
    offset: torch.Tensor

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.full((outputs,), _SCALE))
        self.register_buffer("offset", torch.zeros(outputs))

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the answers."""
        return numbers * self.scale + self.offset

    def fit(self, scale: Sequence[float], offset: Sequence[float]) -> None:
        """Set the units, usually to spread and mean of what is to be learned."""
        self.scale.copy_(torch.as_tensor(scale))
        self.offset.copy_(torch.as_tensor(offset))


def flat_size(layers: nn.Module, channels: int, height: int, width: int) -> int:
    """Return how many numbers layers give for an image of this size.

    Raises:
        RuntimeError: The image is too small for the layers.

    Example:
        >>> flat_size(nn.Conv2d(3, 8, 5, stride=2), 3, 9, 11)
        96
    """
    training = layers.training
    with torch.no_grad():
        size = layers.eval()(torch.zeros(1, channels, height, width)).numel()
    layers.train(training)
    return int(size)


def he_normal(layers: nn.Module) -> None:
    """Draw the weights of convolutions as He et al. do: without it, deep networks hardly start to learn."""
    for layer in layers.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def convolutions(before: int, layers: Sequence[_Convolution], *, padded: bool = False) -> list[nn.Module]:
    """Return convolutions one after the other, each with its ReLU."""
    made: list[nn.Module] = []
    for channels, kernel, stride in layers:
        padding = (kernel - 1) // 2 if padded else 0
        made += [nn.Conv2d(before, channels, kernel, stride, padding=padding), nn.ReLU()]
        before = channels
    return made


def dense_layers(before: int, sizes: Sequence[int], dropout: float | None = None) -> list[nn.Module]:
    """Return dense layers one after the other, each with its ReLU and its dropout, if it has one."""
    made: list[nn.Module] = []
    for neurons in sizes:
        made += [nn.Linear(before, neurons), nn.ReLU()]
        made += [] if dropout is None else [nn.Dropout(dropout)]
        before = neurons
    return made


class Convolutional(nn.Module):
    """Convolutions, dense layers on all that they give, and a head: the way of most driving networks."""

    features: nn.Sequential
    dense: nn.Sequential
    head: Head

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of images."""
        return cast(torch.Tensor, self.head(self.dense(self.features(images))))


class Adapted(Convolutional, ABC):
    """A driving network made of one for classes: its convolutions, and three dense layers for numbers.

    papers/rmt.txt (section 4) does not give the sizes of the three; those here are our choice.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        hidden: Neurons of the two dense layers before the last.
        dropout: After each of them.
    """

    def __init__(self, outputs: int, *, width: int, height: int, hidden: Sizes, dropout: float) -> None:
        super().__init__()
        if min(width, height) < 2**_HALVINGS:
            raise RuntimeError(f"{_HALVINGS} halvings need {2**_HALVINGS} pixels each way")
        self.features = self.convolutions()
        he_normal(self.features)
        size = flat_size(self.features, 3, height, width)
        self.dense = nn.Sequential(*dense_layers(size, hidden, dropout), nn.Linear(hidden[-1], outputs))
        self.head = Head(outputs)

    @abstractmethod
    def convolutions(self) -> nn.Sequential:
        """Return the layers before the classifier, which halve the image five times; the last one is flat."""


class Dave2(Convolutional):
    """The network of Bojarski et al., "End to End Learning for Self-Driving Cars" (2016), with dropout.

    Three convolutions of 5×5 with stride 2, two of 3×3, then dense layers of 100, 50 and 10. For one output
    and 66×200 pixels it has 252,219 parameters, the "250 thousand" of the paper.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        dropout: After the first two dense layers; not in NVIDIA's paper, but in papers/driving-quality.txt.
    """

    def __init__(self, outputs: int, *, width: int, height: int, dropout: float) -> None:
        super().__init__()
        self.features = nn.Sequential(*convolutions(3, _DAVE2), nn.Flatten())
        size = flat_size(self.features, 3, height, width)
        # The last hidden layer has so few neurons that it drops none.
        first = dense_layers(size, (100, 50), dropout)
        self.dense = nn.Sequential(*first, *dense_layers(50, (10,)), nn.Linear(10, outputs))
        self.head = Head(outputs)


class Epoch(Convolutional):
    """Convolutions of 32, 64 and 128 channels, each with pooling and dropout, then a dense layer of 1024.

    With one output it has 1249 neurons, a channel counting as one; DeepTest's 2500 counts the three channels
    of the input and every dropout layer as well.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        channels: Of the three convolutions.
        hidden: Neurons of the dense layer.
        dropout: After the first two poolings, and after the last one and the dense layer.
    """

    def __init__(
        self, outputs: int, *, width: int, height: int, channels: Sizes, hidden: int, dropout: Shares
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, rate in zip((3, *channels), channels, (dropout[0], *dropout), strict=False):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(rate)]
        self.features = nn.Sequential(*layers, nn.Flatten())
        size = flat_size(self.features, 3, height, width)
        self.dense = nn.Sequential(*dense_layers(size, (hidden,), dropout[1]), nn.Linear(hidden, outputs))
        self.head = Head(outputs)


_KERNELS = (5, 5, 3, 3, 2, 2)


class Chauffeur(nn.Module):
    """Features of every frame, an LSTM over them, and dense layers over all that the LSTM gave.

    The public code trains the convolutions by themselves first; here all is trained together. The LSTM and
    the dense layers after it have DeepTest's 513 neurons for one output: 256, 256 and 1.

    Args:
        outputs: How many numbers it answers with.
        width: Of an image.
        height: Of an image.
        history: Earlier frames that it sees.
        channels: Of the six convolutions.
        memory: Neurons of the LSTM.
        hidden: Neurons of the dense layer.
        dropout: After each convolution, of whole channels; and on the features, where it is five times that.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int,
        height: int,
        history: int,
        channels: tuple[int, ...],
        memory: int,
        hidden: int,
        dropout: float,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, (before, after) in enumerate(zip((3, *channels), channels, strict=False)):
            kernel = _KERNELS[number]
            # Keras pads an even kernel at the right and the bottom only.
            left, right = (kernel - 1) // 2, kernel // 2
            layers += [nn.ZeroPad2d((left, right, left, right)), nn.Conv2d(before, after, kernel), nn.ReLU()]
            if number < len(_KERNELS) - 1:
                layers += [nn.Dropout2d(dropout), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers, nn.Flatten())
        he_normal(self.features)
        size = flat_size(self.features, 3, height, width)
        self.shape = (3, height, width)
        self.steps = (history + 1, size)
        self.dropout = nn.Dropout(min(0.5, 5 * dropout))
        self.memory = nn.LSTM(size, memory, batch_first=True)
        first = nn.Linear((history + 1) * memory, hidden)
        self.dense = nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(hidden, outputs))
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of sequences: batch, time, channels, height, width."""
        features = self.dropout(self.features(images.reshape(-1, *self.shape)))
        remembered, _ = self.memory(features.reshape(-1, *self.steps))
        return cast(torch.Tensor, self.head(self.dense(remembered)))


_NVIDIA: tuple[_Convolution, ...] = ((24, 5, 2), (36, 5, 2), (48, 5, 2), (64, 3, 2), (64, 3, 2))
_COMMA: tuple[_Convolution, ...] = ((16, 8, 4), (32, 5, 2), (64, 5, 2))


class Rambo(nn.Module):
    """Three branches on the differences of three consecutive grey images, merged by a last layer.

    The branches are DeepTest's S1 and S2, after NVIDIA's network with one more and with the same number of
    convolutions, and S3, after comma.ai's.

    Args:
        outputs: How many numbers it answers with.
        width: Of an image.
        height: Of an image.
        history: Earlier frames that it sees, at least one; there is a difference between each and the next.
    """

    def __init__(self, outputs: int, *, width: int, height: int, history: int) -> None:
        super().__init__()
        if history < 1:
            raise ValueError("without an earlier frame there is no difference to see")
        size = (history, height, width)
        dense = (100, 50, 10)
        branches = ((*_NVIDIA, (64, 3, 2)), dense), (_NVIDIA, dense), (_COMMA, (512,))
        self.branches = nn.ModuleList(_branch(layers, last, outputs, size) for layers, last in branches)
        self.merger = nn.Sequential(nn.ReLU(), nn.Linear(3 * outputs, outputs))
        self.head = Head(outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of sequences with their images as channels, oldest first."""
        # The public code squeezes differences from -255 … 255 into 0 … 255, which halves them.
        moved = (images[:, 1:] - images[:, :-1]) / 2
        merged = torch.cat([branch(moved) for branch in self.branches], dim=1)
        return cast(torch.Tensor, self.head(self.merger(merged)))


def _branch(
    layers: Sequence[_Convolution], dense: Sequence[int], outputs: int, size: tuple[int, int, int]
) -> nn.Sequential:
    *features, last = convolutions(size[0], layers, padded=True)
    # Flattened before the last activation function, as comma.ai's network is: DeepTest counts each number.
    features += [nn.Flatten(), last]
    hidden = dense_layers(flat_size(nn.Sequential(*features), *size), dense)
    return nn.Sequential(*features, *hidden, nn.Linear(dense[-1], outputs))


_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, convolutions before a pooling


def vgg_layers(blocks: Sequence[tuple[int, int]]) -> nn.Sequential:
    """Return the convolutions of VGG, given as channels and how many of them come before each pooling."""
    layers: list[nn.Module] = []
    before = 3
    for channels, count in blocks:
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
            before = channels
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


class Vgg16(Adapted):
    """The 14,714,688 parameters of Simonyan and Zisserman's configuration D, and three dense layers."""

    def convolutions(self) -> nn.Sequential:
        """Return the five blocks."""
        return nn.Sequential(*vgg_layers(_BLOCKS), nn.Flatten())


_STAGES = ((64, 3, 1), (128, 4, 2), (256, 23, 2), (512, 3, 2))  # channels inside a block, blocks, stride
_GROWTH = 4  # channels that a block gives for one inside


class _Block(nn.Module):
    """Three convolutions beside a way round them."""

    def __init__(self, before: int, inside: int, stride: int) -> None:
        super().__init__()
        after = inside * _GROWTH
        self.residual = nn.Sequential(
            nn.Conv2d(before, inside, 1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, inside, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        # Blocks that add nothing at first keep a network of 33 of them from overflowing before it learns.
        nn.init.zeros_(self.residual[-1].weight)  # type: ignore[arg-type]
        same = before == after and stride == 1
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        )

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.residual(maps) + self.shortcut(maps))


class _Mean(nn.Module):
    """The mean of each channel: its gradient on a GPU is deterministic, and adaptive pooling's is not."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return maps.mean((2, 3))


class ResNet101(Adapted):
    """The 42,500,160 parameters of He et al.'s network before its classifier, and three dense layers."""

    def convolutions(self) -> nn.Sequential:
        """Return the stem and the four stages."""
        before = 64
        first = nn.Conv2d(3, before, 7, stride=2, padding=3, bias=False)
        layers: list[nn.Module] = [first, nn.BatchNorm2d(before), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
        for inside, blocks, stride in _STAGES:
            for number in range(blocks):
                layers.append(_Block(before, inside, stride if number == 0 else 1))
                before = inside * _GROWTH
        return nn.Sequential(*layers, _Mean())
