"""A network whose neurons are the colours of an image, so that all that studies count can be seen at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.coverage.parameter_sets import ParameterChoice, ParameterSet
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, Network, RegressionOutput, torch_model
from roadworthy.transforms import make_transform

torch.set_num_threads(1)


class Colours(torch.nn.Module):
    """Four neurons answer with the mean red, green, blue and 0; one with 10 * (red - blue), in degrees.

    A colour is activated above a fifth of the brightest. The answer, alone in its layer, never is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.colours = torch.nn.Linear(3, 4)
        self.answer = torch.nn.Linear(4, 1)
        with torch.no_grad():
            self.colours.weight.copy_(torch.eye(4, 3))
            self.colours.bias.zero_()
            self.answer.weight.copy_(torch.tensor([[10.0, 0.0, -10.0, 0.0]]))
            self.answer.bias.zero_()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.answer(self.colours(images.mean((2, 3))))  # type: ignore[no-any-return]


@pytest.fixture
def colours() -> Network[Any]:
    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput())
    return torch_model(Colours(), name="colours", spec=spec)


@pytest.fixture
def colour() -> Callable[..., Frame]:
    """Makes a frame of one colour."""

    def make(red: int, green: int, blue: int, steering: float | None = 0.0, name: str = "") -> Frame:
        image = np.full((16, 16, 3), (red, green, blue), np.uint8)
        id = name or f"{red}-{green}-{blue}"
        return Frame(id, image, signals=Signals(steering=steering))

    return make


@pytest.fixture
def sets() -> tuple[ParameterSet, ParameterSet]:
    """Two transformations: brighter by 100 and by 200, and darker by 100."""
    brighter = [ParameterChoice(bias, make_transform("brightness", bias=bias)) for bias in (100, 200)]
    darker = ParameterChoice(100, make_transform("brightness", bias=-100))
    return ParameterSet("brightness", tuple(brighter)), ParameterSet("darkness", (darker,))
