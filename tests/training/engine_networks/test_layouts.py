"""Weights of the public code: the layouts are written down here from that code, not made by our modules.

For each layout there is a table of names and shapes, and the computation in plain functions on such a table,
both after the public code (NVIDIA/pix2pixHD, NVlabs/MUNIT and mingyuliutw/UNIT, znxlwm/UGATIT-pytorch,
junyanz/pytorch-CycleGAN-and-pix2pix).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - as everyone calls it

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.checkpoint import architecture_of, read_checkpoint
from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import NetworkSettings, network_for, shapes_of
from roadworthy.training.engine_networks.ugatit import Discriminator
from roadworthy.training.engine_networks.unit import MsImageDis

torch.set_num_threads(1)

Table = dict[str, tuple[int, ...]]
State = dict[str, Tensor]


def conv(name: str, after: int, before: int, kernel: int, *, bias: bool = True) -> Table:
    return {f"{name}.weight": (after, before, kernel, kernel), **({f"{name}.bias": (after,)} if bias else {})}


def transposed(name: str, before: int, after: int) -> Table:
    return {f"{name}.weight": (before, after, 3, 3), f"{name}.bias": (after,)}


def resnet_blocks(prefix: str, start: int, count: int, dim: int, *, bias: bool = True) -> Table:
    found: Table = {}
    for place in range(start, start + count):
        for inner in (1, 5):
            found |= conv(f"{prefix}.{place}.conv_block.{inner}", dim, dim, 3, bias=bias)
    return found


def global_table(inputs: int, ngf: int, halvings: int, blocks: int, *, last: bool = True) -> Table:
    found, place, dim = conv("model.1", ngf, inputs, 7), 4, ngf
    for _ in range(halvings):
        found |= conv(f"model.{place}", 2 * dim, dim, 3)
        place, dim = place + 3, 2 * dim
    found |= resnet_blocks("model", place, blocks, dim)
    place += blocks
    for _ in range(halvings):
        found |= transposed(f"model.{place}", dim, dim // 2)
        place, dim = place + 3, dim // 2
    return found | (conv(f"model.{place + 1}", 3, ngf, 7) if last else {})


def local_table(inputs: int, ngf: int, halvings: int, blocks: int, enhancers: int, local: int) -> Table:
    found = global_table(inputs, ngf * 2**enhancers, halvings, blocks, last=False)
    for number in range(1, enhancers + 1):
        dim = ngf * 2 ** (enhancers - number)
        found |= conv(f"model{number}_1.1", dim, inputs, 7) | conv(f"model{number}_1.4", 2 * dim, dim, 3)
        found |= resnet_blocks(f"model{number}_2", 0, local, 2 * dim)
        found |= transposed(f"model{number}_2.{local}", 2 * dim, dim)
    return found | conv(f"model{enhancers}_2.{local + 4}", 3, ngf, 7)


def unit_table(dim: int, halvings: int, blocks: int) -> Table:
    found = conv("enc.model.0.conv", dim, 3, 7)
    for number in range(1, halvings + 1):
        found |= conv(f"enc.model.{number}.conv", 2 * dim, dim, 4)
        dim *= 2
    for half in (f"enc.model.{halvings + 1}", "dec.model.0"):
        for number in range(blocks):
            for inner in (0, 1):
                found |= conv(f"{half}.model.{number}.model.{inner}.conv", dim, dim, 3)
    for number in range(halvings):
        place = f"dec.model.{2 + 2 * number}"  # an enlargement, which has no weights, stands before each
        found |= conv(f"{place}.conv", dim // 2, dim, 5)
        found |= {f"{place}.norm.gamma": (dim // 2,), f"{place}.norm.beta": (dim // 2,)}
        dim //= 2
    return found | conv(f"dec.model.{1 + 2 * halvings}.conv", 3, dim, 7)


def ugatit_table(ngf: int, blocks: int, cells: int) -> Table:
    dim = 4 * ngf
    found = {"gap_fc.weight": (1, dim), "gmp_fc.weight": (1, dim)} | conv("conv1x1", dim, 2 * dim, 1)
    found |= {"gamma.weight": (dim, dim), "beta.weight": (dim, dim)}
    found |= {"FC.0.weight": (dim, cells * dim), "FC.2.weight": (dim, dim)}
    found |= conv("DownBlock.1", ngf, 3, 7, bias=False)
    found |= conv("DownBlock.5", 2 * ngf, ngf, 3, bias=False) | conv(
        "DownBlock.9", dim, 2 * ngf, 3, bias=False
    )
    found |= resnet_blocks("DownBlock", 12, blocks, dim, bias=False)
    for number in range(1, blocks + 1):
        for inner in (1, 2):
            found |= conv(f"UpBlock1_{number}.conv{inner}", dim, dim, 3, bias=False)
            found |= {f"UpBlock1_{number}.norm{inner}.rho": (1, dim, 1, 1)}
    for place, width in ((2, 2 * ngf), (7, ngf)):
        found |= conv(f"UpBlock2.{place}", width, 2 * width, 3, bias=False)
        found |= {f"UpBlock2.{place + 1}.{name}": (1, width, 1, 1) for name in ("rho", "gamma", "beta")}
    return found | conv("UpBlock2.11", 3, ngf, 7, bias=False)


def filled(table: Table) -> State:
    """Return weights of these shapes, none of them symmetric or zero."""
    generator = torch.Generator().manual_seed(5)
    found = {}
    for name, shape in table.items():
        values = torch.randn(shape, generator=generator)
        fan = max(1, prod(shape[1:]))
        found[name] = values.sigmoid() if name.endswith(("rho", "gamma")) else values / fan**0.5
    return found


def shaped(table: Table) -> dict[str, Any]:
    return {name: SimpleNamespace(shape=shape) for name, shape in table.items()}


# The computation of the public code, in functions on a table of weights.


def padded(images: Tensor, state: State, name: str, *, stride: int = 1, pad: int | None = None) -> Tensor:
    weight = state[f"{name}.weight"]
    around = weight.shape[-1] // 2 if pad is None else pad
    mirrored = F.pad(images, (around,) * 4, mode="reflect")
    return F.conv2d(mirrored, weight, state.get(f"{name}.bias"), stride=stride)


def zero_padded(images: Tensor, state: State, name: str) -> Tensor:
    return F.conv2d(images, state[f"{name}.weight"], state[f"{name}.bias"], stride=2, padding=1)


def enlarged(images: Tensor, state: State, name: str) -> Tensor:
    weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
    return F.conv_transpose2d(images, weight, bias, stride=2, padding=1, output_padding=1)


def instance(images: Tensor) -> Tensor:
    mean = images.mean((2, 3), keepdim=True)
    return (images - mean) / (images.var((2, 3), correction=0, keepdim=True) + 1e-5).sqrt()


def block(images: Tensor, state: State, name: str) -> Tensor:
    found = instance(padded(images, state, f"{name}.conv_block.1")).relu()
    return images + instance(padded(found, state, f"{name}.conv_block.5"))


def global_features(images: Tensor, state: State, halvings: int, blocks: int) -> tuple[Tensor, int]:
    found, place = instance(padded(images, state, "model.1")).relu(), 4
    for _ in range(halvings):
        found, place = instance(zero_padded(found, state, f"model.{place}")).relu(), place + 3
    for _ in range(blocks):
        found, place = block(found, state, f"model.{place}"), place + 1
    for _ in range(halvings):
        found, place = instance(enlarged(found, state, f"model.{place}")).relu(), place + 3
    return found, place


def global_answer(images: Tensor, state: State) -> Tensor:
    found, place = global_features(images, state, halvings=2, blocks=2)
    return padded(found, state, f"model.{place + 1}").tanh()


def local_answer(images: Tensor, state: State) -> Tensor:
    halves = F.avg_pool2d(images, 3, stride=2, padding=1, count_include_pad=False)
    quarters = F.avg_pool2d(halves, 3, stride=2, padding=1, count_include_pad=False)
    found, _ = global_features(quarters, state, halvings=1, blocks=1)
    for number, seen in ((1, halves), (2, images)):
        near = instance(padded(seen, state, f"model{number}_1.1")).relu()
        found = found + instance(zero_padded(near, state, f"model{number}_1.4")).relu()
        for place in range(2):
            found = block(found, state, f"model{number}_2.{place}")
        found = instance(enlarged(found, state, f"model{number}_2.2")).relu()
    return padded(found, state, "model2_2.6").tanh()


def unit_answer(images: Tensor, state: State) -> Tensor:
    found = instance(padded(images, state, "enc.model.0.conv")).relu()
    for number in (1, 2):
        found = instance(padded(found, state, f"enc.model.{number}.conv", stride=2, pad=1)).relu()
    for half in ("enc.model.3", "dec.model.0"):
        for number in range(2):
            inner = instance(padded(found, state, f"{half}.model.{number}.model.0.conv")).relu()
            found = found + instance(padded(inner, state, f"{half}.model.{number}.model.1.conv"))
    for place in ("dec.model.2", "dec.model.4"):
        large = found.repeat_interleave(2, 2).repeat_interleave(2, 3)
        found = padded(large, state, f"{place}.conv")
        mean, deviation = found.mean((1, 2, 3), keepdim=True), found.std((1, 2, 3), keepdim=True)
        gamma, beta = (state[f"{place}.norm.{name}"].view(1, -1, 1, 1) for name in ("gamma", "beta"))
        found = ((found - mean) / (deviation + 1e-5) * gamma + beta).relu()
    return padded(found, state, "dec.model.5.conv").tanh()


def ugatit_answer(images: Tensor, state: State) -> Tensor:
    found = instance(padded(images, state, "DownBlock.1")).relu()
    for place in (5, 9):
        found = instance(padded(found, state, f"DownBlock.{place}", stride=2)).relu()
    for place in (12, 13):
        found = block(found, state, f"DownBlock.{place}")
    weighted = [found * state[f"{name}.weight"].view(1, -1, 1, 1) for name in ("gap_fc", "gmp_fc")]
    found = F.conv2d(torch.cat(weighted, 1), state["conv1x1.weight"], state["conv1x1.bias"]).relu()
    light = state["FC.0.weight"].shape[0] == state["FC.0.weight"].shape[1]
    code = found.mean((2, 3)) if light else found.reshape(len(found), -1)
    for place in (0, 2):
        code = (code @ state[f"FC.{place}.weight"].T).relu()
    gamma, beta = (code @ state[f"{name}.weight"].T for name in ("gamma", "beta"))

    def mixed(values: Tensor, rho: Tensor) -> Tensor:
        parts = []
        for axes in ((2, 3), (1, 2, 3)):
            spread = (values.var(axes, keepdim=True) + 1e-5).sqrt()
            parts.append((values - values.mean(axes, keepdim=True)) / spread)
        return rho * parts[0] + (1 - rho) * parts[1]

    def adapted(values: Tensor, name: str) -> Tensor:
        return mixed(values, state[f"{name}.rho"]) * gamma[..., None, None] + beta[..., None, None]

    for name in ("UpBlock1_1", "UpBlock1_2"):
        inner = adapted(padded(found, state, f"{name}.conv1"), f"{name}.norm1").relu()
        found = found + adapted(padded(inner, state, f"{name}.conv2"), f"{name}.norm2")
    for place in (2, 7):
        large = found.repeat_interleave(2, 2).repeat_interleave(2, 3)
        norm = f"UpBlock2.{place + 1}"
        found = mixed(padded(large, state, f"UpBlock2.{place}"), state[f"{norm}.rho"])
        found = (found * state[f"{norm}.gamma"] + state[f"{norm}.beta"]).relu()
    return padded(found, state, "UpBlock2.11").tanh()


CASES: dict[str, tuple[Table, Callable[[Tensor, State], Tensor], int]] = {
    "pix2pixhd-global": (global_table(5, 4, 2, 2), global_answer, 5),
    "pix2pixhd-local": (local_table(5, 2, 1, 1, 2, 2), local_answer, 5),
    "cyclegan": (global_table(3, 4, 2, 2), global_answer, 3),
    "unit": (unit_table(4, 2, 2), unit_answer, 3),
    "ugatit": (ugatit_table(3, 2, cells=4 * 4), ugatit_answer, 3),
    "ugatit light": (ugatit_table(3, 2, cells=1), ugatit_answer, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_public_weights_are_recognised_and_answer_as_in_the_public_code(name: str, tmp_path: Path) -> None:
    table, answer, channels = CASES[name]
    state = filled(table)
    torch.save(state, tmp_path / "latest_net_G.pth")
    checkpoint = read_checkpoint(tmp_path / "latest_net_G.pth")
    assert checkpoint.settings.architecture == name.split()[0]
    assert checkpoint.settings.channels == channels
    images = torch.rand(2, channels, 16, 16, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        found, expected = checkpoint.network()(images), answer(images, state)
    assert expected.std() > 0.1  # an answer that is the same everywhere would tell nothing
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("name", ["unit", "ugatit light"])
def test_norms_treat_almost_equal_values_as_the_public_code_does(name: str) -> None:
    """What keeps them from dividing by zero is added to a deviation by one, to a variance by the other."""
    table, answer, channels = CASES[name]
    state = filled(table)
    for weight in ("dec.model.2.conv.weight", "dec.model.2.conv.bias", "UpBlock2.2.weight"):
        if weight in state:
            state[weight] *= 1e-4
    network = network_for(name.split()[0], architecture_of(state)).eval()
    network.load_state_dict(state)
    images = torch.rand(1, channels, 16, 16, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        torch.testing.assert_close(network(images), answer(images, state), atol=2e-4, rtol=0)


@pytest.mark.parametrize(
    ("table", "settings", "parameters"),
    [
        # The options of the public Cityscapes checkpoints: 35 classes and the edges of things.
        (global_table(36, 64, 4, 9), {"input_nc": 36, "ngf": 64, "n_downsampling": 4, "n_blocks": 9}, None),
        (
            local_table(36, 32, 4, 9, 1, 3),
            {"input_nc": 36, "ngf": 32, "n_downsample_global": 4, "n_blocks_global": 9, "n_blocks_local": 3},
            None,
        ),
        # CycleGAN's code tells that its generator has 11.378 M parameters.
        (global_table(3, 64, 2, 9), {"ngf": 64, "n_downsampling": 2, "n_blocks": 9}, 11_378_000),
        (unit_table(64, 2, 4), {"dim": 64, "n_downsample": 2, "n_res": 4}, None),
        (
            ugatit_table(64, 4, 64 * 64),
            {"ngf": 64, "n_blocks": 4, "img_size": [256, 256], "light": False},
            None,
        ),
        (ugatit_table(64, 6, 1), {"ngf": 64, "n_blocks": 6, "light": True}, None),
    ],
)
def test_full_size_layouts_are_told_by_shapes_alone(
    table: Table, settings: dict[str, object], parameters: int | None
) -> None:
    found = architecture_of(shaped(table))
    assert found.as_dict().items() >= settings.items()
    assert shapes_of(found) == table
    if parameters:
        assert sum(map(prod, table.values())) == pytest.approx(parameters, abs=500)


@pytest.mark.parametrize("halvings", [1, 2, 3, 4])
@pytest.mark.parametrize("blocks", [1, 3, 9])
def test_any_depth_of_pix2pixhd_is_told(halvings: int, blocks: int) -> None:
    found = architecture_of(shaped(global_table(7, 8, halvings, blocks)))
    assert found.as_dict().items() >= {"n_downsampling": halvings, "n_blocks": blocks}.items()
    enhancers = 1 + blocks % 3
    found = architecture_of(shaped(local_table(7, 8, halvings, blocks, enhancers, blocks)))
    assert found.as_dict().items() >= {"n_local_enhancers": enhancers, "n_blocks_local": blocks}.items()


def test_a_network_for_other_than_squares_must_be_told_its_size() -> None:
    weights = shaped(ugatit_table(8, 2, cells=10 * 20))
    with pytest.raises(InputError, match=r"one size alone and was not trained on squares.*img_size"):
        architecture_of(weights)
    with pytest.raises(InputError, match=r"FC\.0\.weight has shape \(32, 6400\)"):
        architecture_of(weights, {"img_size": [40, 40]})
    assert architecture_of(weights, {"img_size": [40, 80]}).size == (40, 80)


def test_three_channels_of_labels_can_be_told_from_an_image() -> None:
    weights = shaped(global_table(3, 8, 3, 9))
    assert architecture_of(weights).kind == "translation"
    assert architecture_of(weights, {"architecture": "pix2pixhd-global"}).kind == "synthesis"


def discriminator_table(inputs: int, ndf: int) -> Table:
    found: Table = {}
    widths = [inputs, ndf, 2 * ndf, 4 * ndf, 8 * ndf, 1]
    for scale in range(2):
        for layer in range(5):
            found |= conv(f"scale{scale}_layer{layer}.0", widths[layer + 1], widths[layer], 4)
    return found


def unit_discriminator_table(dim: int) -> Table:
    found: Table = {}
    for scale in range(3):
        for layer, (before, after) in enumerate(
            ((3, dim), (dim, 2 * dim), (2 * dim, 4 * dim), (4 * dim, 8 * dim))
        ):
            found |= conv(f"cnns.{scale}.{layer}.conv", after, before, 4)
        found |= conv(f"cnns.{scale}.4", 1, 8 * dim, 1)
    return found


def ugatit_discriminator_table(ndf: int) -> Table:
    def normalised(name: str, shape: tuple[int, ...]) -> Table:
        rest = prod(shape[1:])
        return {f"{name}.weight_orig": shape, f"{name}.weight_u": shape[:1], f"{name}.weight_v": (rest,)}

    found: Table = {}
    widths = [3, ndf, 2 * ndf, 4 * ndf, 8 * ndf]
    for layer in range(4):
        name = f"model.{1 + 3 * layer}"
        found |= normalised(name, (widths[layer + 1], widths[layer], 4, 4)) | {
            f"{name}.bias": (widths[layer + 1],)
        }
    for name in ("gap_fc", "gmp_fc"):
        found |= normalised(name, (1, 8 * ndf))
    return found | conv("conv1x1", 8 * ndf, 16 * ndf, 1) | normalised("conv", (1, 8 * ndf, 4, 4))


@pytest.mark.parametrize(
    ("module", "table"),
    [
        (MultiscaleDiscriminator(8, ndf=4), discriminator_table(8, 4)),
        (MsImageDis(dim=4), unit_discriminator_table(4)),
        (Discriminator(ndf=4), ugatit_discriminator_table(4)),
    ],
    ids=["pix2pixhd", "unit", "ugatit"],
)
def test_discriminators_have_the_public_layout_and_are_no_generators(
    module: torch.nn.Module, table: Table
) -> None:
    assert {name: tuple(one.shape) for name, one in module.state_dict().items()} == table
    with pytest.raises(InputError, match=r"weights of a discriminator of .*generator"):
        architecture_of(shaped(table))


def test_the_discriminators_of_pix2pixhd_judge_as_in_the_public_code() -> None:
    module = MultiscaleDiscriminator(5, ndf=4, num_D=2)
    state = filled(discriminator_table(5, 4))
    module.load_state_dict(state)
    images = torch.rand(2, 5, 32, 48, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        found = module(images)
        halved = F.avg_pool2d(images, 3, stride=2, padding=1, count_include_pad=False)
        # The last scale sees the whole image, the one before it half of it.
        for features, scale, seen in zip(found, (1, 0), (images, halved), strict=True):
            for layer, stride in enumerate((2, 2, 2, 1, 1)):
                name = f"scale{scale}_layer{layer}.0"
                weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
                seen = F.conv2d(seen, weight, bias, stride=stride, padding=2)
                if layer in (1, 2, 3):
                    seen = instance(seen)
                if layer < 4:
                    seen = F.leaky_relu(seen, 0.2)
                torch.testing.assert_close(features[layer], seen, atol=1e-4, rtol=0)


def test_the_discriminators_of_unit_judge_as_in_the_public_code() -> None:
    module = MsImageDis(dim=4)
    state = filled(unit_discriminator_table(4))
    module.load_state_dict(state)
    seen = torch.rand(2, 3, 64, 96, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        for scale, score in enumerate(module(seen)):
            expected = seen
            for layer in range(4):
                name = f"cnns.{scale}.{layer}.conv"
                expected = F.leaky_relu(padded(expected, state, name, stride=2, pad=1), 0.2)
            expected = padded(expected, state, f"cnns.{scale}.4", pad=0)
            torch.testing.assert_close(score, expected, atol=1e-4, rtol=0)
            seen = F.avg_pool2d(seen, 3, stride=2, padding=1, count_include_pad=False)


def test_the_discriminators_of_ugatit_judge_as_in_the_public_code() -> None:
    module = Discriminator(ndf=4).eval()
    state = filled(ugatit_discriminator_table(4))
    module.load_state_dict(state)

    def divided(name: str) -> State:
        """The weight over its largest singular value, as far as that is known."""
        weight = state[f"{name}.weight_orig"]
        largest = state[f"{name}.weight_u"] @ weight.flatten(1) @ state[f"{name}.weight_v"]
        return {**state, f"{name}.weight": weight / largest}

    found = torch.rand(2, 3, 32, 48, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        score, logits, heat = module(found)
        for place, stride in ((1, 2), (4, 2), (7, 2), (10, 1)):
            found = F.leaky_relu(
                padded(found, divided(f"model.{place}"), f"model.{place}", stride=stride, pad=1), 0.2
            )
        pooled = {"gap_fc": found.mean((2, 3)), "gmp_fc": found.amax((2, 3))}
        expected = [one @ divided(name)[f"{name}.weight"].T for name, one in pooled.items()]
        torch.testing.assert_close(logits, torch.cat(expected, 1), atol=1e-3, rtol=1e-4)
        weighted = [found * state[f"{name}.weight_orig"].view(1, -1, 1, 1) for name in pooled]
        found = F.leaky_relu(padded(torch.cat(weighted, 1), state, "conv1x1", pad=0), 0.2)
        torch.testing.assert_close(heat, found.sum(1, keepdim=True), atol=1e-3, rtol=1e-4)
        expected_score = padded(found, divided("conv"), "conv", pad=1)
        torch.testing.assert_close(score, expected_score, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize(
    ("weight", "what"),
    [
        ("enc_content.model.0.conv.weight", "MUNIT"),
        ("encode_A.0.model.0.weight", "first version of UNIT"),
        ("model.model.0.weight", "U-Net of Pix2pix"),
        ("features.0.weight", "VGG"),
        ("model.0.weight", "discriminator"),
        ("body.stem.0.weight", "small network"),
        ("backbone.conv1.weight", "no network that is known here.*backbone.conv1.weight"),
    ],
)
def test_what_else_was_given_is_said(weight: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        architecture_of(shaped({weight: (8, 3, 3, 3)}))


def test_the_feature_encoder_is_told_from_a_generator() -> None:
    with pytest.raises(InputError, match=r"feature encoder \(netE\)"):
        architecture_of(shaped(global_table(3, 16, 4, 0)))


@pytest.mark.parametrize("name", CASES)
def test_a_changed_layout_is_refused_by_the_names_that_differ(name: str) -> None:
    table = CASES[name][0]
    *_, last = table
    smaller = {key: shape for key, shape in table.items() if key != last}
    with pytest.raises(InputError, match=rf"{last} is missing|{last.replace('.bias', '.weight')} is missing"):
        architecture_of(shaped(smaller))
    with pytest.raises(InputError, match=r"attention\.weight is unknown"):
        architecture_of(shaped({**table, "attention.weight": (3, 3)}))
    with pytest.raises(InputError, match=rf"{last} has shape|not whole|must be"):
        architecture_of(shaped({**table, last: (7,)}))


def test_batch_norm_is_told_from_what_old_instance_norms_left_behind(tmp_path: Path) -> None:
    table = CASES["pix2pixhd-global"][0]
    norms = {2: 4, 5: 8, 8: 16, 13: 8, 16: 4, "10.conv_block.2": 16, "10.conv_block.6": 16}
    norms |= {"11.conv_block.2": 16, "11.conv_block.6": 16}
    state = filled(table)

    def settings_with(names: tuple[str, ...]) -> NetworkSettings:
        extra = {
            f"model.{place}.{name}": torch.ones(count) for place, count in norms.items() for name in names
        }
        torch.save({f"module.{name}": one for name, one in (state | extra).items()}, tmp_path / "net.pth")
        checkpoint = read_checkpoint(tmp_path / "net.pth")
        images = torch.rand(1, 5, 16, 16)
        with torch.inference_mode():
            same = torch.allclose(checkpoint.network()(images), global_answer(images, state), atol=2e-5)
        assert same == (checkpoint.settings.as_dict()["norm"] == "instance")
        return checkpoint.settings

    assert settings_with(("running_mean", "running_var")).as_dict()["norm"] == "instance"
    assert settings_with(("weight", "bias", "running_mean", "running_var")).as_dict()["norm"] == "batch"
