"""Which layers no operator can change, and why; and on which device a training runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from roadworthy.errors import InputError
from roadworthy.models.zoo import architecture
from roadworthy.training.loop import check_losses, chosen_device, device_name, half_precision
from roadworthy.training.mutants import candidates, example_of, plan
from roadworthy.training.mutants._layers import Chain, RefusedError, _labelled
from roadworthy.training.mutants.operators import Candidate, Mutation, mutate
from roadworthy.training.train import _deterministic


class Twice(nn.Module):
    """Runs one layer twice, after another one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.again, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.again(self.again(self.first(numbers))))
        return found


def test_layers_that_run_several_times_are_refused() -> None:
    network, example = Twice(), torch.zeros(2, 3)
    for operator in ("LR", "GF", "NAI"):
        reasons = {one.layer: one.refused for one in candidates(network, example, operator)}
        assert reasons["again"] == "it runs several times, and a mutant of it would change all"
    blocked = {one.layer: one.refused for one in candidates(network, example, "NEB")}
    assert blocked["first"] == "again, which comes after it, runs several times"
    assert blocked["last"] == "no layer with weights comes after it"
    chain = Chain(network, example)
    with pytest.raises(
        InputError, match="layer 'again' runs several times, and a mutant of it would change all"
    ):
        chain.layer("again")
    with pytest.raises(InputError, match="there is no layer 'nowhere': known names are"):
        chain.layer("nowhere")
    assert chain.last == "last"


class Between(nn.Module):
    """A dense layer, something, and another dense layer."""

    def __init__(self, something: Any, into: int = 4) -> None:
        super().__init__()
        self.one, self.two, self.something = nn.Linear(3, 4), nn.Linear(into, 1), something

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.two(self.something(self.one(numbers)))
        return found


@pytest.mark.parametrize(
    ("something", "into", "columns"),
    [
        (torch.relu, 4, [0, 1, 2, 3]),
        (lambda one: torch.flatten(one, 1), 4, [0, 1, 2, 3]),
        (lambda one: one.flatten(1), 4, [0, 1, 2, 3]),
    ],
)
def test_neurons_are_followed_through_what_mixes_none(something: Any, into: int, columns: list[int]) -> None:
    chain = Chain(Between(something, into), torch.zeros(2, 3))
    found, labels = chain.follower(chain.layer("one"))
    assert (found.name, labels.tolist()) == ("two", columns)


def test_neurons_that_may_be_mixed_are_not_followed() -> None:
    for something, message in (
        (lambda one: one.roll(1, 1), "it is not known what .*, which comes after it, does to its neurons"),
        (lambda one: one + one, "what it gives goes to|it is not known"),
    ):
        chain = Chain(Between(something), torch.zeros(2, 3))
        with pytest.raises(RefusedError, match=message):
            chain.follower(chain.layer("one"))
    shuffled = Chain(Between(lambda one: one.reshape(4, 2), 2), torch.zeros(2, 3))
    with pytest.raises(
        RefusedError, match="inputs of two, which comes after it, come from several of its neurons"
    ):
        shuffled.follower(shuffled.layer("one"))
    assert _labelled((2, 3), 1).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert _labelled((2, 3), 0).tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("layer", "refused"),
    [
        ({"num_layers": 2}, True), ({"bidirectional": True}, True), ({}, False),
    ],
)  # fmt: skip
def test_recurrent_layers_of_one_way(layer: dict[str, Any], refused: bool) -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTM(3, 4, batch_first=True, **layer)
            self.out = nn.Linear(8 if layer.get("bidirectional") else 4, 1)

        def forward(self, steps: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.out(self.cell(steps)[0])
            return found

    (cell, *_) = candidates(Recurrent(), torch.zeros(2, 5, 3), "GF")
    assert cell.refused == ("it has several layers, directions or a projection inside" if refused else "")


def test_words_of_candidates_and_numbers_that_cannot_be() -> None:
    assert Candidate("GF", "a", "Linear", refused="no", equivalent="same", note="n").cells()[-1] == "no: no"
    assert Candidate("GF", "a", "Linear", equivalent="it is", note="n").cells()[-1] == "n"
    assert Candidate("GF", "a", "Linear", equivalent="it is").cells()[-1] == "same: it is"
    assert Candidate("GF", "a", "Linear").cells() == ("GF", "a", "Linear", "")
    network, example = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), torch.zeros(1, 2)
    with pytest.raises(InputError, match="there is no operator 'XX'"):
        candidates(network, example, "XX")
    with pytest.raises(InputError, match="layers must be 1 or more, got 0"):
        plan(network, example, layers=0)
    planned = plan(network, example, operators=("GF", "WS"), ratios=(0.1, 0.2), sigma=3.0, seed=4)
    assert [(one.operator, one.ratio, one.sigma, one.seed) for one in planned] == [
        ("GF", 0.1, 3.0, 4), ("GF", 0.2, 3.0, 4), ("WS", 0.1, 1.0, 4), ("WS", 0.2, 1.0, 4),
    ]  # fmt: skip
    single = nn.Sequential(nn.Linear(2, 1))
    with pytest.raises(InputError, match="WS can change no layer: there is only the last"):
        mutate(single, example, Mutation("WS", ratio=0.5))


def test_examples_have_earlier_frames_as_the_network_takes_them() -> None:
    small = {"width": 48, "height": 24, "history": 2}
    assert tuple(example_of(architecture("chauffeur").variant(None, small)).shape) == (2, 3, 3, 24, 48)
    taken = SimpleNamespace(width=48, height=24, history=2, channels=3, stacking="channels")
    stacked: Any = SimpleNamespace(spec=SimpleNamespace(input=taken))
    assert tuple(example_of(stacked).shape) == (2, 9, 24, 48)


def test_devices_and_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="device 'gpu' cannot be used: "):
        chosen_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert (chosen_device("auto").type, device_name(torch.device("cpu"))) == ("cpu", "cpu")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"H200 {device.index}")
    assert device_name(torch.device("cuda", 1)) == "H200 1"
    gpu, cpu = torch.device("cuda", 0), torch.device("cpu")
    for able, half in ((True, torch.bfloat16), (False, torch.float16)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda able=able: able)
        assert half_precision("auto", gpu) is half
    assert half_precision("auto", cpu) is None
    assert half_precision("float32", gpu) is None
    assert half_precision("bfloat16", cpu) is torch.bfloat16
    check_losses({"loss": 0.0}, "in epoch 1", 0.1, "x")
    for value in (float("nan"), float("inf")):
        with pytest.raises(
            InputError, match=f"the loss became {value} in epoch 1: the training diverged. Use a smaller"
        ):
            check_losses({"fine": 1.0, "loss": value}, "in epoch 1", 0.1, "or fewer layers")


def test_operations_on_a_gpu_are_deterministic_for_as_long_as_it_trains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[Any] = []
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(
        torch, "use_deterministic_algorithms", lambda on, warn_only: told.append((on, warn_only))
    )
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: False)
    monkeypatch.setattr(torch, "is_deterministic_algorithms_warn_only_enabled", lambda: True)
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    with _deterministic(torch.device("cpu")):
        assert (told, torch.backends.cudnn.benchmark) == ([], True)
    with _deterministic(torch.device("cuda", 0)):
        assert (told, torch.backends.cudnn.benchmark) == ([(True, True)], False)
        import os

        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    assert (told, torch.backends.cudnn.benchmark) == ([(True, True), (False, True)], True)
