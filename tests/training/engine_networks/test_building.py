"""Networks are built as their settings say, take every size they promise, and can learn."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from torch import nn

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import (
    ARCHITECTURES,
    GlobalSettings,
    NetworkInputs,
    NetworkSettings,
    UgatitSettings,
    network_for,
    seeded,
    settings_for,
    settings_of,
)
from roadworthy.training.engine_networks.ugatit import Discriminator, ResnetGenerator, clip_rho
from roadworthy.training.engine_networks.unit import MsImageDis, VAEGen, translator

torch.set_num_threads(1)

SMALL: dict[str, dict[str, Any]] = {
    "pix2pixhd-global": {"input_nc": 4, "ngf": 8, "n_downsampling": 2, "n_blocks": 2},
    "pix2pixhd-local": {"input_nc": 4, "ngf": 4, "n_downsample_global": 1, "n_blocks_global": 1},
    "cyclegan": {"ngf": 8, "n_blocks": 2},
    "unit": {"dim": 8, "n_res": 1},
    "ugatit": {"ngf": 8, "n_blocks": 1, "light": True},
    "small-synthesis": {"input_nc": 9, "context": True, "noise": 1, "width": 8, "blocks": 1},
    "small-translation": {"width": 8, "blocks": 1},
}
EACH = pytest.mark.parametrize("architecture", ARCHITECTURES)


@EACH
@settings(deadline=None, max_examples=4)
@drawn(rows=st.integers(0, 5), columns=st.integers(0, 5), count=st.integers(1, 2))
def test_every_multiple_from_the_least_on_is_taken(
    architecture: str, rows: int, columns: int, count: int
) -> None:
    """Other sizes are the business of who uses a network: see LearnedEngine, which pads."""
    network = network_for(architecture, SMALL[architecture]).eval()
    sizes = settings_of(network)
    height, width = (
        least + more * sizes.multiple for least, more in zip(sizes.least, (rows, columns), strict=True)
    )
    with torch.inference_mode():
        found = network(torch.rand(count, sizes.channels, height, width) * 2 - 1)
    assert found.shape == (count, 3, height, width)
    assert found.isfinite().all()
    assert found.abs().max() <= 1


@pytest.mark.parametrize(
    ("architecture", "given"),
    [
        ("pix2pixhd-global", {"input_nc": 2, "ngf": 2, "n_downsampling": 1, "n_blocks": 1}),
        ("pix2pixhd-local", {"input_nc": 2, "ngf": 2, "n_downsample_global": 1, "n_local_enhancers": 3}),
        ("cyclegan", {"ngf": 2, "n_downsampling": 1}),
        ("unit", {"dim": 2, "n_downsample": 1}),
        ("unit", {"dim": 2, "n_downsample": 4, "activ": "prelu", "pad_type": "zero"}),
        ("ugatit", {"ngf": 2, "img_size": 8}),
    ],
)
def test_the_least_size_is_enough_for_networks_of_any_depth(architecture: str, given: dict[str, Any]) -> None:
    network = network_for(architecture, given)
    sizes = settings_of(network)
    found = network(torch.rand(1, sizes.channels, *sizes.least))  # training needs more than using
    assert found.shape[2:] == sizes.least


def test_the_full_ugatit_takes_its_own_size_alone() -> None:
    network = network_for("ugatit", {"ngf": 4, "n_blocks": 1, "img_size": (16, 32)}).eval()
    assert settings_of(network).size == settings_of(network).least == (16, 32)
    with torch.inference_mode():
        assert network(torch.zeros(2, 3, 16, 32)).shape == (2, 3, 16, 32)
        with pytest.raises(RuntimeError):
            network(torch.zeros(2, 3, 32, 32))


@EACH
def test_weights_depend_on_the_seed_alone(architecture: str) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one, same, other = (network_for(architecture, SMALL[architecture], seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    states = [network.state_dict() for network in (one, same, other)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])


def _target(inputs: torch.Tensor, sizes: NetworkSettings) -> torch.Tensor:
    """Return images that can be made from the inputs, but are not what a fresh network gives."""
    if sizes.kind == "translation":
        return -0.5 * inputs[:, :3].roll(1, dims=1) - 0.2
    colours = torch.tensor([[0.8, -0.6, 0.1], [-0.7, 0.2, 0.9], [0.0, 0.9, -0.8], [0.5, -0.9, 0.4]])
    return torch.einsum("nkhw,kc->nchw", inputs[:, :4], colours)


def _example(sizes: NetworkSettings) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    if sizes.kind == "translation":
        rough = torch.rand(2, sizes.channels, 4, 4, generator=generator) * 2 - 1
        return nn.functional.interpolate(rough, size=(32, 32), mode="bilinear")
    classes = (
        torch.randint(0, 4, (2, 4, 4), generator=generator).repeat_interleave(8, 1).repeat_interleave(8, 2)
    )
    labels = nn.functional.one_hot(classes, 4).permute(0, 3, 1, 2).float()
    rest = torch.zeros(2, sizes.channels - 4, 32, 32)
    return torch.cat([labels, rest], dim=1)


@EACH
def test_a_network_learns_an_example_by_heart_and_every_weight_takes_part(architecture: str) -> None:
    network = network_for(architecture, SMALL[architecture])
    sizes = settings_of(network)
    inputs = _example(sizes)
    target = _target(inputs, sizes)
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    errors = []
    reached: set[str] = set()
    for _ in range(60):
        optimiser.zero_grad()
        error = (network(inputs) - target).abs().mean()
        error.backward()
        optimiser.step()
        errors.append(error.item())
        reached |= {
            name
            for name, one in network.named_parameters()
            if one.grad is not None and bool(one.grad.abs().max() > 0)
        }
    assert errors[-1] < 0.4 * errors[0], errors[::10]
    untouched = {name for name, _ in network.named_parameters()} - reached
    # The auxiliary classifiers of U-GAT-IT have a loss of their own, but weigh the channels as well.
    assert untouched == set()


@EACH
def test_16_bits_are_enough_to_train_with(architecture: str) -> None:
    network = network_for(architecture, SMALL[architecture])
    inputs = _example(settings_of(network))
    with torch.autocast("cpu", torch.bfloat16):
        error = (network(inputs).float() - _target(inputs, settings_of(network))).square().mean()
    error.backward()
    assert error.isfinite()
    for name, one in network.named_parameters():
        assert one.grad is None or one.grad.isfinite().all(), name


@EACH
def test_channels_last_gives_the_same(architecture: str) -> None:
    network = network_for(architecture, SMALL[architecture]).eval()
    inputs = torch.rand(2, settings_of(network).channels, 32, 48)
    with torch.inference_mode():
        usual = network(inputs)
        other = network.to(memory_format=torch.channels_last)(  # type: ignore[call-overload]
            inputs.to(memory_format=torch.channels_last)
        )
    torch.testing.assert_close(other, usual, atol=1e-4, rtol=0)


def test_fresh_small_networks_give_back_what_they_got() -> None:
    image = torch.rand(1, 3, 32, 32) * 2 - 1
    assert torch.equal(
        network_for("small-translation", {"noise": 2})(torch.cat([image, image[:, :2]], 1)), image
    )
    inputs = torch.cat(
        [torch.zeros(1, 5, 32, 32), image, torch.zeros(1, 3, 32, 32)], 1
    )  # mask and noise last
    network = network_for("small-synthesis", {"input_nc": 11, "context": True, "noise": 2, "width": 8})
    assert torch.equal(network(inputs), image)


@pytest.mark.parametrize("position", [True, False])
def test_a_small_network_knows_where_a_pixel_is_if_it_shall(position: bool) -> None:
    network = network_for("small-synthesis", {"input_nc": 3, "width": 8, "position": position}).eval()
    drawn = torch.Generator().manual_seed(0)
    for one in network.parameters():
        nn.init.normal_(one, std=0.2, generator=drawn)
    with torch.inference_mode():
        # Far from the border, which convolutions see: it is the same all over unless the place is known.
        found = network(torch.ones(1, 3, 512, 512))[0, :, 208:304:16, 208:304:16]
    spread = (found.amax((1, 2)) - found.amin((1, 2))).max()
    assert (spread > 1e-3) == position


def test_small_networks_fit_into_what_ships() -> None:
    """Four of them have 8 MB, with 16 bits for a weight."""
    for architecture, chosen in (
        ("small-synthesis", {"input_nc": 20, "context": True}),
        ("small-translation", {}),
    ):
        network = network_for(architecture, chosen)
        assert sum(one.numel() for one in network.parameters()) * 2 < 1.9e6


def test_discriminators_judge_at_several_sizes_and_their_features_can_be_had() -> None:
    judge = MultiscaleDiscriminator(7, ndf=4, n_layers=3, num_D=2)
    inputs = torch.rand(1, 7, 32, 64)
    found = judge(inputs)
    assert [len(one) for one in found] == [5, 5]
    # The finest size comes first, and the public code numbers it last.
    assert found[0][0].shape[2:] == (17, 33)
    assert torch.equal(found[0][0], judge.get_submodule("scale1_layer0")(inputs))
    assert [tuple(one.shape[2:]) for one in MsImageDis(dim=4)(torch.rand(1, 3, 64, 64))] == [
        (4, 4),
        (2, 2),
        (1, 1),
    ]


def test_spectral_norm_bounds_the_discriminator_of_ugatit() -> None:
    with seeded(0):
        judge = Discriminator(ndf=4, n_layers=5)
    images = torch.rand(2, 3, 32, 32)
    for _ in range(30):
        judge(images)  # each pass while training brings the estimate of the norm nearer
    layer = judge.get_submodule("model.4")
    assert isinstance(layer.weight, torch.Tensor)
    weight = layer.weight.detach().flatten(1)
    assert torch.linalg.matrix_norm(weight, 2).item() == pytest.approx(1, abs=0.02)
    score, logits, heat = judge(images)
    assert (score.shape[:2], logits.shape, heat.shape[:2]) == ((2, 1), (2, 2), (2, 1))


def test_ugatit_tells_where_it_looks_and_its_shares_are_kept_within_bounds() -> None:
    with seeded(0):
        network = ResnetGenerator(UgatitSettings(ngf=4, n_blocks=2, light=True))
    image, logits, heat = network.attended(torch.rand(2, 3, 32, 48))
    assert (image.shape, logits.shape, heat.shape) == ((2, 3, 32, 48), (2, 2), (2, 1, 8, 12))
    shares = [one for name, one in network.named_parameters() if name.endswith("rho")]
    assert len(shares) == 2 * 2 + 2
    for number, one in enumerate(shares):
        nn.init.constant_(one, -0.5 if number % 2 else 1.5)
    network.apply(clip_rho)
    assert all(bool((one == 1 - number % 2).all()) for number, one in enumerate(shares))


def test_a_translator_is_a_copy() -> None:
    first, second = (network_for("unit", SMALL["unit"], seed=seed) for seed in (1, 2))
    assert isinstance(first, VAEGen)
    assert isinstance(second, VAEGen)
    both = translator(first, second)
    for one in (*first.parameters(), *second.parameters()):
        nn.init.zeros_(one)
    assert all(one.abs().max() > 0 for name, one in both.named_parameters() if name.endswith("conv.weight"))


@pytest.mark.parametrize(
    ("architecture", "given", "said"),
    [
        ("pix2pix", {}, "no network 'pix2pix': did you mean"),
        ("unit", {"blocks": 3}, "'unit' has no setting 'blocks'"),
        ("pix2pixhd-global", {}, "needs the setting input_nc"),
        ("pix2pixhd-global", {"input_nc": 0}, "input_nc of 'pix2pixhd-global' must be a whole number from 1"),
        ("pix2pixhd-global", {"input_nc": True}, "got True"),
        ("pix2pixhd-global", {"input_nc": 4, "output_nc": 1}, "output_nc of .* must be 3, got 1"),
        ("pix2pixhd-global", {"input_nc": 4, "norm": "layer"}, "must be one of instance, batch, got 'layer'"),
        ("pix2pixhd-global", {"input_nc": 4, "ngf": 4096, "n_downsampling": 8}, "parameters .* more than"),
        ("cyclegan", {"input_nc": 4}, "input_nc of 'cyclegan' must be 3, got 4"),
        ("unit", {"n_res": 2.5}, "n_res of 'unit' must be a whole number"),
        ("ugatit", {"img_size": [30, 32]}, "each a multiple of 4"),
        ("ugatit", {"img_size": "256"}, "height and width"),
        ("ugatit", {"img_size": [256]}, "height and width"),
        ("ugatit", {"light": "yes"}, "light of 'ugatit' must be true or false, got 'yes'"),
        ("small-synthesis", {"input_nc": 4, "context": True}, "input_nc of .* from 5"),
        ("small-translation", {"noise": -1}, "noise of 'small-translation' must be"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    architecture: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        network_for(architecture, given)


def test_settings_of_another_network_are_refused() -> None:
    with pytest.raises(InputError, match="settings of 'pix2pixhd-global', not of 'unit'"):
        network_for("unit", GlobalSettings(input_nc=4))


@EACH
def test_settings_survive_a_card(architecture: str) -> None:
    import json

    found = settings_for(architecture, SMALL[architecture])
    assert settings_for(architecture, json.loads(json.dumps(found.as_dict()))) == found


def test_inputs_say_their_channels_in_order() -> None:
    inputs = NetworkInputs(labels=7, edges=True, context=True, noise=2)
    assert inputs.counts == {"labels": 7, "edges": 1, "context": 4, "noise": 2}
    assert list(inputs.counts) == ["labels", "edges", "context", "noise"]
    assert inputs.channels == 14
    assert NetworkInputs().counts == {"image": 3}
    with pytest.raises(InputError, match="edges and context go with labels"):
        NetworkInputs(context=True)
    with pytest.raises(InputError, match="labels of the inputs must be a whole number from 0"):
        NetworkInputs(labels=-1)
