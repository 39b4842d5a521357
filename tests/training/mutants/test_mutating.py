from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from roadworthy.errors import InputError
from roadworthy.models.zoo import architecture
from roadworthy.training.mutants import Mutation, candidates, example_of, mutate, plan
from roadworthy.training.mutants.operators import OPERATORS

SEEDS = st.integers(0, 10_000)
RATIOS = st.floats(0.01, 1.0)


def dense(*sizes: int, seed: int = 0) -> Any:
    """Dense layers with ReLU between them, and weights that are all different."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval()


def convolutions() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(2, 3, 3),
        nn.ReLU(),
        nn.Dropout2d(0.3),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(16, 5),
        nn.ReLU(),
        nn.Linear(5, 1),
    ).eval()


def mutated(network: nn.Module, example: torch.Tensor, mutation: Mutation) -> Any:
    """A mutant whose layers are reached without asking what they are."""
    return mutate(network, example, mutation)


class Remembering(nn.Module):
    """Frames, an LSTM over their features, dense layers over all that it gave: like Chauffeur."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.features = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten())
        self.memory = nn.LSTM(8, 3, batch_first=True)
        self.dense = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.features(images.reshape(-1, 1, 3, 3))
        remembered, _ = self.memory(features.reshape(-1, 4, 8))
        answers: torch.Tensor = self.dense(remembered)
        return answers


IMAGES = torch.zeros(2, 2, 8, 8)
SEQUENCE = torch.zeros(2, 4, 1, 3, 3)


def rows(weight: torch.Tensor) -> list[list[float]]:
    found: list[list[float]] = weight.detach().reshape(len(weight), -1).tolist()
    return found


def test_gaussian_fuzzing_adds_noise_of_the_layers_own_spread_and_never_clips() -> None:
    network: Any = nn.Sequential(nn.Linear(200, 100, bias=False)).eval()
    with torch.no_grad():
        network[0].weight.copy_(torch.linspace(-30, 50, 20_000).reshape(100, 200))
    mutant = mutated(network, torch.zeros(1, 200), Mutation("GF", ratio=0.25, sigma=0.5))
    noise = (mutant.module[0].weight - network[0].weight).detach().flatten()
    changed = noise[noise != 0]
    assert len(changed) == mutant.changed["0"] == 5000
    spread = float(network[0].weight.detach().std(correction=0))
    assert float(changed.std()) == pytest.approx(0.5 * spread, rel=0.05)
    assert abs(float(changed.mean())) < 0.05 * spread
    assert float(mutant.module[0].weight.detach().max()) > 50


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, ratio=RATIOS)
def test_gaussian_fuzzing_changes_exactly_the_ratio_of_all_weights(seed: int, ratio: float) -> None:
    network: Any = dense(4, 6, 5, 2)
    mutant = mutated(network, torch.zeros(1, 4), Mutation("GF", ratio=ratio, seed=seed))
    weights = [(0, 24), (2, 30), (4, 10)]
    changed = sum(int((mutant.module[n].weight != network[n].weight).sum()) for n, _ in weights)
    assert changed == max(1, round(ratio * 64)) == sum(mutant.changed.values())
    assert all(torch.equal(mutant.module[n].bias, network[n].bias) for n, _ in weights)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, ratio=RATIOS)
def test_shuffling_keeps_what_comes_into_each_neuron_and_changes_its_order(seed: int, ratio: float) -> None:
    network: Any = dense(4, 6, 5, 2)
    mutant = mutated(network, torch.zeros(1, 4), Mutation("WS", ratio=ratio, seed=seed))
    assert sum(map(len, mutant.changed.values())) == max(1, round(ratio * 11))
    for number in (0, 2, 4):
        chosen = mutant.changed.get(str(number), [])
        before, after = rows(network[number].weight), rows(mutant.module[number].weight)
        for neuron, (one, two) in enumerate(zip(before, after, strict=True)):
            assert Counter(one) == Counter(two)
            assert (one != two) == (neuron in chosen)
        assert torch.equal(network[number].bias, mutant.module[number].bias)


def test_a_convolution_is_shuffled_over_channels_and_kernel() -> None:
    network: Any = convolutions()
    mutant = mutated(network, IMAGES, Mutation("WS", ratio=0.34, layer="0"))
    (channel,) = mutant.changed["0"]
    before, after = network[0].weight[channel].flatten(), mutant.module[0].weight[channel].flatten()
    assert not torch.equal(before, after)
    assert torch.equal(before.sort().values, after.sort().values)


def test_blocking_a_dense_neuron_by_hand() -> None:
    network: Any = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).eval()
    with torch.no_grad():
        network[0].weight.copy_(torch.tensor([[1.0], [2.0]]))
        network[0].bias.zero_()
        network[2].weight.copy_(torch.tensor([[10.0, 100.0]]))
        network[2].bias.fill_(0.5)
    mutant = mutated(network, torch.zeros(1, 1), Mutation("NEB", ratio=0.5, seed=1))
    (blocked,) = mutant.changed["0"]
    # For 3 the neurons give 3 and 6; without one of them, 600.5 or 30.5 are left of 630.5.
    assert mutant.module(torch.tensor([[3.0]])).tolist() == [[[600.5, 30.5][blocked]]]
    assert network(torch.tensor([[3.0]])).tolist() == [[630.5]]


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, layer=st.sampled_from(["0", "4", "8"]))
def test_the_answer_does_not_depend_on_a_blocked_neuron(seed: int, layer: str) -> None:
    network: Any = convolutions()
    mutant = mutated(network, IMAGES, Mutation("NEB", ratio=0.3, layer=layer, seed=seed)).module
    images = torch.rand(3, 2, 8, 8)
    chosen = mutated(network, IMAGES, Mutation("NEB", ratio=0.3, layer=layer, seed=seed)).changed[layer]
    before = mutant(images)
    with torch.no_grad():
        for neuron in chosen:
            mutant.get_submodule(layer).weight[neuron] += 7.0
            mutant.get_submodule(layer).bias[neuron] -= 3.0
    assert torch.equal(before, mutant(images))
    with torch.no_grad():
        mutant.get_submodule(layer).bias[next(n for n in range(3) if n not in chosen)] += 3.0
    assert not torch.equal(before, mutant(images))


def test_a_channel_is_blocked_behind_flatten_as_its_block_of_columns() -> None:
    network: Any = convolutions()
    mutant = mutated(network, IMAGES, Mutation("NEB", ratio=0.25, layer="4", seed=3))
    (channel,) = mutant.changed["4"]
    gone = (mutant.module[8].weight == 0).all(0).nonzero().flatten().tolist()
    assert gone == list(range(4 * channel, 4 * channel + 4))


def test_blocking_reaches_into_and_out_of_a_recurrent_layer() -> None:
    network: Any = Remembering().eval()
    into = mutated(network, SEQUENCE, Mutation("NEB", ratio=0.5, layer="features.0"))
    (channel,) = into.changed["features.0"]
    gone = (into.module.memory.weight_ih_l0 == 0).all(0).nonzero().flatten().tolist()
    assert gone == list(range(4 * channel, 4 * channel + 4))
    out = mutated(network, SEQUENCE, Mutation("NEB", ratio=0.34, layer="memory"))
    (neuron,) = out.changed["memory"]
    gone = (out.module.dense[1].weight == 0).all(0).nonzero().flatten().tolist()
    assert gone == [neuron, neuron + 3, neuron + 6, neuron + 9]


def test_blocking_a_channel_of_a_grouped_convolution_touches_its_group_alone() -> None:
    network: Any = nn.Sequential(nn.Conv2d(1, 4, 1), nn.ReLU(), nn.Conv2d(4, 6, 1, groups=2)).eval()
    mutant = mutated(network, torch.zeros(1, 1, 2, 2), Mutation("NEB", ratio=0.25, layer="0", seed=5))
    (channel,) = mutant.changed["0"]
    zeros = (mutant.module[2].weight == 0).flatten(1).nonzero().tolist()
    group, column = divmod(channel, 2)
    assert zeros == [[row, column] for row in range(3 * group, 3 * group + 3)]


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, ratio=RATIOS)
def test_inversion_flips_what_goes_into_the_activation(seed: int, ratio: float) -> None:
    network: Any = dense(4, 6, 2)
    mutant = mutated(network, torch.zeros(1, 4), Mutation("NAI", ratio=ratio, seed=seed))
    numbers = torch.rand(5, 4) - 0.5
    signs = torch.ones(6)
    signs[mutant.changed["0"]] = -1
    assert torch.allclose(mutant.module[0](numbers), signs * network[0](numbers))
    assert len(mutant.changed["0"]) == max(1, round(6 * ratio))
    assert "2" not in mutant.changed


def test_inversion_of_a_recurrent_neuron_flips_what_it_proposes() -> None:
    network: Any = Remembering().eval()
    mutant = mutated(network, SEQUENCE, Mutation("NAI", ratio=0.34, layer="memory"))
    (neuron,) = mutant.changed["memory"]
    before, after = network.memory, mutant.module.memory
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        one, two = getattr(before, name).clone(), getattr(after, name)
        one[2 * 3 + neuron] *= -1  # the third of the gates i, f, g and o
        assert torch.equal(one, two)
    # After one step from nothing, the neuron gives the opposite, and the others what they gave.
    step = torch.rand(1, 1, 8)
    expected = before(step)[0].flatten()
    expected[neuron] *= -1
    assert torch.allclose(after(step)[0].flatten(), expected)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_every_kind_of_recurrent_neuron_gives_the_opposite_when_it_is_inverted(kind: Any) -> None:
    class Memory(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory, self.out = kind(4, 3, batch_first=True), nn.Linear(3, 1)

        def forward(self, numbers: torch.Tensor) -> torch.Tensor:
            answers: torch.Tensor = self.out(self.memory(numbers)[0])
            return answers

    network: Any = Memory().eval()
    step = torch.rand(1, 1, 4)
    mutant = mutated(network, step, Mutation("NAI", ratio=0.3, layer="memory"))
    (neuron,) = mutant.changed["memory"]
    expected = network.memory(step)[0].flatten()
    expected[neuron] *= -1
    assert torch.allclose(mutant.module.memory(step)[0].flatten(), expected)


def test_a_neuron_that_is_drawn_alone_gets_one_partner() -> None:
    network: Any = dense(4, 6, 5, 2)
    for seed in range(10):
        mutant = mutated(network, torch.zeros(1, 4), Mutation("NS", ratio=0.01, seed=seed))
        assert sorted(map(len, mutant.changed.values())) == [2]


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, ratio=RATIOS)
def test_switched_neurons_are_all_elsewhere_with_weights_and_bias(seed: int, ratio: float) -> None:
    network: Any = dense(4, 6, 5, 2)
    mutant = mutated(network, torch.zeros(1, 4), Mutation("NS", ratio=ratio, seed=seed))
    for number in (0, 2, 4):
        chosen = mutant.changed.get(str(number), [])
        assert len(chosen) != 1
        before, after = (
            [(*row, bias) for row, bias in zip(rows(one.weight), one.bias.tolist(), strict=True)]
            for one in (network[number], mutant.module[number])
        )
        assert Counter(before) == Counter(after)
        for neuron, (one, two) in enumerate(zip(before, after, strict=True)):
            assert (one != two) == (neuron in chosen)


def test_switched_recurrent_neurons_take_all_their_gates_along() -> None:
    network: Any = Remembering().eval()
    mutant = mutated(network, SEQUENCE, Mutation("NS", ratio=0.6, layer="memory"))
    one, other = mutant.changed["memory"]
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        before, after = getattr(network.memory, name), getattr(mutant.module.memory, name)
        for gate in range(4):
            assert torch.equal(after[3 * gate + one], before[3 * gate + other])
            assert torch.equal(after[3 * gate + other], before[3 * gate + one])


def test_a_removed_activation_lets_everything_through() -> None:
    network: Any = dense(3, 4, 1)
    mutant = mutated(network, torch.zeros(1, 3), Mutation("LR", layer="1")).module
    numbers = torch.rand(5, 3) - 0.5
    assert torch.equal(mutant(numbers), network[2](network[0](numbers)))


@pytest.mark.parametrize("added", ["tanh", "softsign", "sigmoid", "softplus", "relu", "layer"])
def test_a_layer_added_at_the_end_does_something(added: str) -> None:
    network: Any = dense(3, 4, 2)
    numbers = torch.linspace(-5, 5, 60).reshape(20, 3)
    mutant = mutated(network, torch.zeros(1, 3), Mutation("LA", layer="2", added=added)).module
    assert mutant(numbers).shape == network(numbers).shape
    assert not torch.allclose(mutant(numbers), network(numbers))
    if added == "tanh":
        assert torch.equal(mutant(numbers), network(numbers).tanh())


def test_an_added_layer_keeps_the_shape_of_maps() -> None:
    network: Any = convolutions()
    mutant = mutated(network, IMAGES, Mutation("LA", layer="1", added="layer")).module
    assert isinstance(mutant[1][1], nn.Conv2d)
    assert mutant(IMAGES).shape == network(IMAGES).shape


def test_a_duplicate_has_weights_of_its_own() -> None:
    network: Any = dense(3, 3, 1)
    mutant = mutated(network, torch.zeros(1, 3), Mutation("LD", layer="0")).module
    first, copied = mutant[0]
    numbers = torch.rand(5, 3)
    assert torch.equal(first.weight, copied.weight)
    assert torch.equal(mutant[0](numbers), network[0](network[0](numbers)))
    with torch.no_grad():
        copied.weight.fill_(0.0)
    assert torch.equal(first.weight, network[0].weight)
    assert first.weight.data_ptr() != copied.weight.data_ptr() != network[0].weight.data_ptr()


@pytest.mark.parametrize("kernel", [1, 2, 3, (3, 2)])
@pytest.mark.parametrize("mode", ["zeros", "replicate"])
def test_the_duplicate_of_a_convolution_is_padded_to_keep_the_shape(
    kernel: int | tuple[int, int], mode: Literal["zeros", "replicate"]
) -> None:
    network: Any = nn.Sequential(nn.Conv2d(2, 2, kernel, dilation=2, padding_mode=mode), nn.ReLU()).eval()
    maps = torch.rand(1, 2, 9, 9)
    mutant = mutated(network, maps, Mutation("LD", layer="0"))
    assert mutant.module(maps).shape == network(maps).shape
    assert torch.equal(mutant.module[0][0](maps), network[0](maps))
    assert bool(mutant.note) == (kernel != 1)


def test_the_duplicate_of_a_pooling_takes_the_largest_of_neighbours() -> None:
    network: Any = nn.Sequential(nn.MaxPool2d(2)).eval()
    maps = torch.tensor([[1.0, 0, 5, 0], [0, 0, 0, 0], [-1, -2, -7, -8], [-3, -4, -9, -9]]).reshape(
        1, 1, 4, 4
    )
    mutant = mutated(network, maps, Mutation("LD", layer="0")).module
    assert network(maps).flatten().tolist() == [1, 5, -1, -7]
    assert mutant(maps).flatten().tolist() == [5, 5, -1, -7]


def test_the_original_is_left_alone_and_the_same_mutation_gives_the_same_mutant() -> None:
    network: Any = convolutions()
    before = {name: one.clone() for name, one in network.state_dict().items()}
    for mutation in plan(network, IMAGES, layers=2):
        one, two = (mutated(network, IMAGES, mutation) for _ in range(2))
        assert one.changed == two.changed
        states = one.module.state_dict(), two.module.state_dict()
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert all(torch.equal(one, before[name]) for name, one in network.state_dict().items())


def test_the_plan_of_the_paper_has_24_mutants_of_different_layers() -> None:
    network: Any = convolutions()
    found = plan(network, IMAGES)
    assert len({one.name for one in found}) == 24
    assert Counter(one.operator for one in found) == dict.fromkeys(OPERATORS, 3)
    assert [one.ratio for one in found if one.operator == "NS"] == [0.01, 0.03, 0.05]
    removed = [one.layer for one in found if one.operator == "LR"]
    assert set(removed) == {"1", "5", "9"}  # and no dropout, while there are others
    assert found == plan(network, IMAGES)
    # The layers, not only the seed that each mutation names.
    layers = [[one.layer for one in plan(network, IMAGES, seed=seed)] for seed in range(4)]
    assert any(other != layers[0] for other in layers[1:])


def test_candidates_say_why_not() -> None:
    found = {one.layer: one for one in candidates(convolutions(), IMAGES, "LD")}
    assert found["0"].refused == "it turns 2 channels into 3"
    assert found["1"].equivalent == "ReLU twice is ReLU once"
    assert not found["3"].refused
    assert "padded" in found["3"].note
    found = {one.layer: one for one in candidates(convolutions(), IMAGES, "NEB")}
    assert found["10"].refused == "no layer with weights comes after it"
    assert found["1"].refused == "it has no neurons with weights"


def test_layers_that_are_refused_are_named_with_the_reason() -> None:
    network: Any = dense(2, 3, 1)
    example = torch.zeros(1, 2)
    with pytest.raises(InputError, match="LR cannot change '0': it turns 2 into 3"):
        mutated(network, example, Mutation("LR", layer="0"))
    with pytest.raises(InputError, match="no layer '7': known names are 0, 1, 2"):
        mutated(network, example, Mutation("LR", layer="7"))
    with pytest.raises(InputError, match="NS cannot change '2': it has a single neuron"):
        mutated(network, example, Mutation("NS", ratio=0.5, layer="2"))
    normalised: Any = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)).eval()
    with pytest.raises(InputError, match="batch normalisation"):
        mutated(normalised, example, Mutation("NAI", ratio=0.5, layer="0"))
    equal: Any = nn.Sequential(nn.Linear(2, 2))
    nn.init.ones_(equal[0].weight)
    with pytest.raises(InputError, match="all equal"):
        mutated(equal, example, Mutation("GF", ratio=0.5))


def test_what_cannot_take_its_own_answer_is_not_duplicated() -> None:
    striding = nn.Sequential(nn.Conv2d(2, 2, 3, stride=2), nn.ReLU(), nn.Conv2d(2, 2, 3, stride=(1, 2)))
    found = candidates(striding, torch.zeros(1, 2, 16, 16), "LD")
    assert [one.refused for one in found] == [
        "its stride makes what comes out smaller",
        "",
        "its stride makes what comes out smaller",
    ]


def test_neurons_that_a_pooling_mixes_are_not_blocked() -> None:
    network = nn.Sequential(
        nn.Linear(4, 6), nn.Unflatten(1, (2, 3)), nn.MaxPool1d(3), nn.Flatten(), nn.Linear(2, 1)
    )
    found = {one.layer: one.refused for one in candidates(network, torch.zeros(1, 4), "NEB")}
    assert found["0"] == "2 mixes neurons"


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.shared = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        first = self.one(numbers)
        answers: torch.Tensor = self.shared(self.shared(first + self.two(first)))
        return answers


def test_what_is_no_chain_is_refused_and_not_guessed() -> None:
    found = {one.layer: one.refused for one in candidates(Branching(), torch.zeros(1, 2), "NEB")}
    assert found["one"] == "what it gives goes to 2 places"
    assert "it is not known what add" in found["two"]
    assert "several times" in found["shared"]


def test_layers_that_share_weights_are_refused() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    network[2].weight = network[0].weight
    assert all("shares weights" in one.refused for one in candidates(network, torch.zeros(1, 2), "GF")[::2])


class Deciding(nn.Module):
    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers if numbers.sum() > 0 else -numbers


def test_a_network_that_decides_by_its_numbers_cannot_be_followed() -> None:
    with pytest.raises(InputError, match="Deciding cannot be mutated: its layers cannot be followed"):
        candidates(Deciding(), torch.zeros(1, 2), "GF")


@pytest.mark.parametrize("name", ["dave2", "epoch", "chauffeur"])
def test_the_networks_of_the_zoo_can_be_followed_from_end_to_end(name: str) -> None:
    kind = architecture(name)
    small = {"width": 96, "height": 66} if name == "dave2" else {"width": 64, "height": 64}
    options = small | ({"history": 1, "memory": 4, "hidden": 4} if name == "chauffeur" else {})
    variant = kind.variant(None, options)
    module, example = variant.build().eval(), example_of(variant)
    blocked = [one for one in candidates(module, example, "NEB") if not one.refused]
    weighted = [one for one in candidates(module, example, "GF") if not one.refused]
    assert len(blocked) == len(weighted) - 1  # all but the answers
    mutations = plan(module, example)
    assert len(mutations) == 24
    for mutation in mutations[::4]:
        assert mutated(module, example, mutation).module(example).shape == (2, 2)
