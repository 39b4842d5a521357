"""What the networks share: their last step, and small things about layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

__all__ = ["Head", "flat_size", "he_normal", "three_layers"]

_SCALE = 10.0


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


def three_layers(inputs: int, hidden: tuple[int, ...], dropout: float, outputs: int) -> nn.Sequential:
    """Return the three dense layers that make a driving network of one for classes.

    papers/rmt.txt (section 4) does not give their sizes; those that the networks here have are our choice.
    """
    return nn.Sequential(
        nn.Linear(inputs, hidden[0]),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden[0], hidden[1]),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden[1], outputs),
    )


def he_normal(layers: nn.Module) -> None:
    """Draw the weights of convolutions as He et al. do: without it, deep networks hardly start to learn."""
    for layer in layers.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
