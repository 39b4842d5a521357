from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from roadworthy.errors import InputError
from roadworthy.training.mutants.faults import change_network, layers_for
from roadworthy.training.mutants.operators import TrainingMutation

NUMBERS = torch.linspace(-3, 3, 24).reshape(6, 4)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 5),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(5, 3, bias=False),
        nn.Sigmoid(),
        nn.Linear(3, 2),
    )


def changed(operator: str, layer: str, choice: str | None = None) -> Any:
    module = network()
    change_network(module, NUMBERS, TrainingMutation(operator, choice=choice, layer=layer))
    return module.eval()


def test_operators_know_their_layers() -> None:
    found = {
        name: layers_for(name, network(), NUMBERS)
        for name in ("ACH", "AAL", "RCD", "WCI", "WAB", "WRB", "RAW")
    }
    assert found == {
        "ACH": ["1", "4"],
        "AAL": ["5"],  # the only one that no activation follows at once: between 0 and 1 nothing fits
        "RCD": ["2"],
        "WCI": ["0", "3", "5"],
        "WAB": ["3"],
        "WRB": ["0", "5"],
        "RAW": ["0", "3", "5"],
    }


@pytest.mark.parametrize(
    ("choice", "values"),
    [
        ("tanh", [-0.7615942, 0.0, 0.9640276]),
        ("hard_sigmoid", [0.3, 0.5, 0.9]),
        ("exponential", [0.3678794, 1.0, 7.3890561]),
        ("softsign", [-0.5, 0.0, 2 / 3]),
        ("elu", [-0.6321206, 0.0, 2.0]),
        ("selu", [-1.1113307, 0.0, 2.1014020]),
        ("softplus", [0.3132617, 0.6931472, 2.1269280]),
        ("sigmoid", [0.2689414, 0.5, 0.8807971]),
        ("softmax", [0.0420101, 0.1141952, 0.8437947]),
    ],
)
def test_activations_are_those_of_keras(choice: str, values: list[float]) -> None:
    module = changed("ACH", "1", choice)
    assert module[1](torch.tensor([[-1.0, 0.0, 2.0]]))[0].tolist() == pytest.approx(values, abs=1e-6)


def test_softmax_in_a_convolution_is_over_channels() -> None:
    module = nn.Sequential(nn.Conv2d(1, 4, 1), nn.ReLU())
    maps = torch.rand(2, 1, 3, 3)
    change_network(module, maps, TrainingMutation("ACH", choice="softmax", layer="1"))
    assert torch.allclose(module(maps).sum(1), torch.ones(2, 3, 3))


def test_activations_are_removed_and_added() -> None:
    module = changed("ARM", "1")
    assert torch.equal(module[1](NUMBERS), NUMBERS)
    module = changed("AAL", "5", "tanh")
    plain = network().eval()
    assert torch.equal(module(NUMBERS), plain(NUMBERS).tanh())


def test_dropout_biases_and_their_refusal() -> None:
    assert changed("RCD", "2", "0.75")[2].p == 0.75
    assert changed("WRB", "0")[0].bias is None
    assert changed("WAB", "3")[3].bias.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="0 has a bias already"):
        changed("WAB", "0")
    with pytest.raises(InputError, match="3 has no bias"):
        changed("WRB", "3")
    with pytest.raises(InputError, match="Linear is not an activation"):
        changed("ACH", "0", "tanh")
    with pytest.raises(InputError, match="0 has an activation already"):
        changed("AAL", "0", "tanh")


@pytest.mark.parametrize(
    ("choice", "spread", "largest"),
    [
        ("zeros", 0.0, 0.0),
        ("random_normal", 0.05, None),
        ("random_uniform", 0.05 / 3**0.5, 0.05),
        ("truncated_normal", 0.044, 0.1),
        ("he_normal", (2 / 300) ** 0.5, None),
        ("lecun_uniform", (1 / 300) ** 0.5, (3 / 300) ** 0.5),
        ("glorot_normal", (2 / 500) ** 0.5, None),
        ("orthogonal", (1 / 300) ** 0.5, None),
    ],
)
def test_first_weights_have_the_spread_of_their_name(
    choice: str, spread: float, largest: float | None
) -> None:
    module: Any = nn.Sequential(nn.Linear(300, 200))
    change_network(module, torch.zeros(1, 300), TrainingMutation("WCI", choice=choice, layer="0"))
    weight = module[0].weight.detach()
    assert float(weight.std()) == pytest.approx(spread, rel=0.03)
    if largest is not None:
        assert float(weight.abs().max()) <= largest
