from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import nn

from roadworthy.frames import Frame, Signals
from roadworthy.models import Truth
from roadworthy.models.zoo import architecture
from roadworthy.training.mutants.saving import judge_drive, probe_images, same


class Steering:
    """Always steers alike."""

    def __init__(self, steering: float) -> None:
        self.name, self._steering = f"steers {steering}", steering

    def predict(self, frames: Sequence[Frame]) -> list[Signals]:
        return [Signals(steering=self._steering, speed=10.0) for _ in frames]


class Broken:
    name = "broken"

    def predict(self, frames: Sequence[Frame]) -> list[Signals]:
        raise ValueError("no numbers")


def test_networks_that_answer_alike_are_the_same() -> None:
    numbers = torch.rand(4, 3) + 1
    assert same(nn.Identity(), nn.ReLU(), numbers) == (True, 0.0)
    assert not same(nn.Identity(), nn.ReLU(), -numbers)[0]


class Shifted(nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers + self.by


def test_rounding_is_no_difference_and_a_thousandth_is_one() -> None:
    # Single precision tells 100 and 100.00002 apart, and no driver does.
    assert same(nn.Identity(), Shifted(2e-5), torch.full((2, 2), 100.0))[0]
    assert not same(nn.Identity(), Shifted(2e-3), torch.full((2, 2), 100.0))[0]
    assert not same(nn.Identity(), Shifted(2e-5), torch.full((2, 2), 0.1))[0]


def test_what_is_no_number_is_never_the_same() -> None:
    alike, difference = same(nn.Identity(), Shifted(math.nan), torch.zeros(1, 2))
    assert not alike
    assert math.isnan(difference)
    assert math.isnan(same(nn.Identity(), Shifted(math.inf), torch.zeros(1, 2))[1])


def test_probe_images_have_the_history_that_the_network_sees() -> None:
    variant = architecture("chauffeur").variant(None, {"width": 48, "height": 24, "history": 2})
    assert tuple(probe_images(variant, count=11).shape) == (11, 3, 3, 24, 48)


def test_one_that_crosses_a_line_crashes_and_the_careful_driver_lives() -> None:
    crashed = judge_drive(Steering(20.0), "meadow")
    assert crashed.fate == "crashing"
    assert crashed.drive is not None
    assert crashed.lap is not None
    assert 0 < crashed.share < 0.1
    assert crashed.reason == crashed.lap["ended"] == crashed.drive.ended == "line crossing"
    assert crashed.drive.events["line crossing"].tolist().index(True) == len(crashed.drive) - 1
    assert judge_drive(Truth(), "meadow", minutes=0.02).fate == "alive"


@pytest.mark.parametrize("system", [Steering(math.nan), Broken()])
def test_one_that_fails_crashes(system: Steering | Broken) -> None:
    judged = judge_drive(system, "meadow", minutes=0.02)
    assert judged.fate == "crashing"
    assert judged.lap is None
    assert judged.reason
