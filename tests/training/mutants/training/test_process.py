from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from roadworthy.models.zoo.driving_networks import Head
from roadworthy.training import Settings
from roadworthy.training.mutants.faults import FaultyTask, clipped, optimizer_named
from roadworthy.training.tasks import DrivingTask


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(2, 1)
        self.head = Head(1)
        with torch.no_grad():
            self.dense.weight.copy_(torch.tensor([[3.0, -4.0]]))
        self.head.fit([2.0], [1.0])

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.head(self.dense(numbers))
        return answers


TASK = DrivingTask(("steering",))
# In units of 2 around 1, the answers are 0.5 and 2, and the truth is 1 and 0.5.
ANSWERS, TRUTH = torch.tensor([[2.0], [5.0]]), torch.tensor([[3.0], [2.0]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (None, (0.25 + 2.25) / 2),
        ("mean_absolute_error", 1.0),
        ("mean_absolute_percentage_error", (50 + 300) / 2),
        ("mean_squared_logarithmic_error", (math.log(1.5 / 2) ** 2 + math.log(3 / 1.5) ** 2) / 2),
        ("logcosh", (math.log(math.cosh(0.5)) + math.log(math.cosh(1.5))) / 2),
        ("huber", (0.125 + 1.0) / 2),
        ("hinge", (0.5 + 0) / 2),
        ("squared_hinge", 0.25 / 2),
    ],
)
def test_losses_are_those_of_keras(name: str | None, value: float) -> None:
    assert float(FaultyTask(TASK, name=name).loss(Small(), ANSWERS, TRUTH)) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(("penalty", "value"), [("l1", 0.07), ("l2", 0.25), ("l1_l2", 0.32)])
def test_penalties_are_on_weights_and_not_on_biases(penalty: str, value: float) -> None:
    task = FaultyTask(TASK, penalty=penalty, layers=("dense",))
    with torch.no_grad():
        added = task.loss(Small(), ANSWERS, TRUTH) - TASK.loss(Small(), ANSWERS, TRUTH)
    assert float(added) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adagrad", "adadelta", "adamax", "nadam"])
def test_optimisers_have_the_learning_rate_of_the_training(name: str) -> None:
    made = optimizer_named(name)(Small().parameters(), Settings(learning_rate=0.02))
    assert type(made).__name__.lower() == name
    assert made.param_groups[0]["lr"] == 0.02


@pytest.mark.parametrize(("how", "expected"), [("norm", [0.3, 0.4]), ("value", [0.5, 0.5])])
def test_gradients_are_clipped_before_a_step(how: str, expected: list[float]) -> None:
    weight = nn.Parameter(torch.zeros(2))
    made = clipped(how)([weight], Settings())
    weight.grad = torch.tensor([3.0, 4.0])
    made.step()
    assert weight.grad.tolist() == pytest.approx(expected, abs=1e-5)
