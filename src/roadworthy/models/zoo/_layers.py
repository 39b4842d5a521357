"""What the networks share: their last step, dense layers for numbers, and small things about layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import nn

__all__ = ["Adapted", "Head", "flat_size", "he_normal"]

_SCALE = 10.0
_HALVINGS = 5


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


class Adapted(nn.Module, ABC):
    """A driving network made of one for classes: its convolutions, and three dense layers for numbers.

    papers/rmt.txt (section 4) does not give the sizes of the three; those here are our choice.

    Args:
        outputs: How many numbers it answers with.
        width: Of the image.
        height: Of the image.
        hidden: Neurons of the two dense layers before the last.
        dropout: After each of them.
    """

    def __init__(
        self,
        outputs: int,
        *,
        width: int = 320,
        height: int = 160,
        hidden: tuple[int, ...] = (512, 128),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if min(width, height) < 2**_HALVINGS:
            raise RuntimeError(f"{_HALVINGS} halvings need {2**_HALVINGS} pixels each way")
        self.features = self.convolutions()
        he_normal(self.features)
        self.dense = nn.Sequential(
            nn.Linear(flat_size(self.features, 3, height, width), hidden[0]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[1], outputs),
        )
        self.head = Head(outputs)

    @abstractmethod
    def convolutions(self) -> nn.Sequential:
        """Return the layers before the classifier, which halve the image five times; the last one is flat."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the answers for a batch of images."""
        answers: torch.Tensor = self.head(self.dense(self.features(images)))
        return answers
