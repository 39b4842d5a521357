"""Losses against numbers by hand, against numpy, and against closed forms."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from scripts.engines.look import look_distances

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engines.losses import (
    discriminator_loss,
    feature_matching,
    feature_network,
    frechet_distance,
    generator_loss,
    kl_loss,
    masked_mean,
    perceptual_loss,
)
from roadworthy.transforms import make_transform
from roadworthy.visual_change import look_distance


def tensor(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> torch.Tensor:
    return torch.tensor(image).permute(2, 0, 1)[None].float() / 127.5 - 1


@pytest.mark.parametrize("change", ["night", "rain", "fog"])
def test_the_look_loss_is_the_look_distance(change: str) -> None:
    frame = load("world:town", count=3)[2]
    changed = make_transform(change)(frame, 1, measure=False).image
    assert frame.labels is not None
    part = frame.labels.mask("road")
    ours = look_distances(tensor(frame.image), tensor(changed), torch.tensor(part)[None, None])
    assert float(ours) == pytest.approx(look_distance(frame.image, changed, part), rel=0.02)
    whole = look_distances(tensor(frame.image), tensor(changed))
    assert float(whole) == pytest.approx(look_distance(frame.image, changed), rel=0.02)


def test_the_look_loss_has_gradients_where_images_are_flat_and_equal() -> None:
    image = torch.zeros(1, 3, 32, 32, requires_grad=True)
    look_distances(image, torch.zeros(1, 3, 32, 32)).sum().backward()  # type: ignore[no-untyped-call]
    assert image.grad is not None
    assert torch.isfinite(image.grad).all()


def test_least_squares_and_hinge() -> None:
    real, fake = [torch.tensor([[[[0.5]]]]), torch.tensor([[[[2.0]]]])], [torch.tensor([[[[0.25]]]])] * 2
    # The squares of 0.5, 0.25, 1 and 0.25.
    assert float(discriminator_loss("lsgan", real, fake)) == pytest.approx(1.375)
    # 0.5 and 1.25 below their margins, then 0 and 1.25.
    assert float(discriminator_loss("hinge", real, fake)) == pytest.approx(3.0)
    assert float(generator_loss("lsgan", fake)) == pytest.approx(2 * 0.75**2)
    assert float(generator_loss("hinge", fake)) == pytest.approx(-0.5)


def test_feature_matching_leaves_out_the_score_and_real_features_get_no_gradient() -> None:
    real = [[torch.full((1, 1, 2, 2), 3.0, requires_grad=True), torch.ones(1, 1, 1, 1)]]
    fake = [[torch.full((1, 1, 2, 2), 1.0, requires_grad=True), torch.zeros(1, 1, 1, 1)]]
    loss = feature_matching(real, fake)
    assert float(loss.detach()) == pytest.approx(2.0 * 4 / 1)
    loss.backward()  # type: ignore[no-untyped-call]
    assert real[0][0].grad is None
    assert fake[0][0].grad is not None


def test_feature_matching_weighs_layers_and_scales_as_the_public_code_does() -> None:
    """There each of the layers of the public discriminator, 3 + 1 of them, counts 4 / (3 + 1), each of two
    scales one half."""
    judge = MultiscaleDiscriminator(3, ndf=2, n_layers=3, num_D=2).requires_grad_(requires_grad=False)
    real, fake = (judge(torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(n))) for n in (0, 1))
    expected = sum(
        0.5 * 4 / (3 + 1) * float((fake[scale][layer] - real[scale][layer]).abs().mean())
        for scale in range(2)
        for layer in range(3 + 1)
    )
    assert float(feature_matching(real, fake).detach()) == pytest.approx(expected, rel=1e-5)


def test_only_the_part_that_was_made_is_judged() -> None:
    """Elsewhere real and made are the same: what is asked about that drowns what is asked about the hole."""
    part = torch.zeros(1, 1, 8, 16)
    part[:, :, 2:4, 4:6] = 1  # one of 4 × 8 cells of two pixels
    score = torch.full((1, 1, 4, 8), 0.5)
    sure, unsure = score.clone(), score.clone()
    sure[0, 0, 1, 2], unsure[0, 0, 1, 2] = 1.0, 0.0
    assert float(discriminator_loss("lsgan", [sure], [unsure], part)) == 0
    assert float(discriminator_loss("lsgan", [sure], [unsure])) == pytest.approx(31 / 32 * 0.5)
    assert float(discriminator_loss("hinge", [2 * sure], [unsure - 1], part)) == 0
    assert float(generator_loss("lsgan", [unsure], part)) == 1
    assert float(generator_loss("hinge", [sure], part)) == -1
    features = [[torch.ones(1, 3, 4, 8), torch.ones(1, 1, 4, 8)]]
    others = [[torch.ones(1, 3, 4, 8), torch.ones(1, 1, 4, 8)]]
    others[0][0][0, :, 1, 2] = 3.0
    assert float(feature_matching(features, others, part)) == pytest.approx(4 * 2.0)
    assert float(feature_matching(features, others)) == pytest.approx(4 * 2.0 / 32)
    # A part that is smaller than a cell still counts.
    speck = torch.zeros(1, 1, 8, 16)
    speck[0, 0, 3, 5] = 1
    assert float(generator_loss("lsgan", [unsure], speck)) == 1


def test_means() -> None:
    assert float(kl_loss(torch.tensor([1.0, -2.0, 0.0]))) == pytest.approx(5 / 3)
    values = torch.tensor([[[[1.0, 9.0]], [[3.0, 9.0]]]])
    assert float(masked_mean(values, torch.tensor([[[[1.0, 0.0]]]]))) == pytest.approx(2.0)
    assert float(masked_mean(values, torch.zeros(1, 1, 1, 2))) == 0


def test_the_frechet_distance_of_normal_features() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(4000, 2)) * [1.0, 3.0]
    other = rng.normal(size=(4000, 2)) * [2.0, 1.0] + [1.0, 0.0]
    # Diagonal covariances: the squared differences of means and of deviations.
    assert frechet_distance(one, other) == pytest.approx(1 + (2 - 1) ** 2 + (3 - 1) ** 2, rel=0.1)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-9)


def test_perceptual_loss_of_the_shipped_detector() -> None:
    network = feature_network()
    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    changed = image.clone().requires_grad_()
    assert float(perceptual_loss(network, image, image)) == 0
    loss = perceptual_loss(network, changed * 0.5, image)
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) > 0
    assert changed.grad is not None
    assert not any(one.requires_grad for one in network.parameters())
    assert not network.train().training


def test_vgg19_of_torchvision(tmp_path: Path) -> None:
    # The layers of torchvision's vgg19().features that have weights, and their channels.
    places = (0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34)
    widths = (3, 64, 64, 128, 128, *[256] * 4, *[512] * 8)
    state = {"classifier.6.bias": torch.zeros(1000)}
    for place, (before, after) in zip(places, pairwise(widths), strict=True):
        state[f"features.{place}.weight"] = torch.zeros(after, before, 3, 3, dtype=torch.float16)
        state[f"features.{place}.bias"] = torch.full((after,), float(place), dtype=torch.float16)
    path = tmp_path / "vgg19.pth"
    torch.save(state, path)
    seen = feature_network(path)(torch.zeros(1, 3, 32, 32))
    # With weights of 0 a layer answers with its bias: the first one of each block.
    assert [float(one.mean()) for one in seen] == [0, 5, 10, 19, 28]
    assert [one.shape[1] for one in seen] == [64, 128, 256, 512, 512]
    torch.save({"features.0.weight": torch.zeros(64, 3, 3, 3)}, path)
    with pytest.raises(InputError, match="does not have the weights of VGG19"):
        feature_network(path)
    with pytest.raises(InputError, match="no file"):
        feature_network(tmp_path / "other.pth")
