"""The ways to train: what their losses are made of, and that they learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scripts.engines.paired import PairedMethod
from scripts.engines.recipes import PairedWeights

from roadworthy.errors import InputError
from roadworthy.training.engine_networks.settings import (
    NetworkInputs,
    UgatitSettings,
    UnitSettings,
    network_for,
    seeded,
)
from roadworthy.training.engines.feed import Batch, DomainFeed, PictureFeed
from roadworthy.training.engines.losses import FeatureNetwork, feature_network, perceptual_loss
from roadworthy.training.engines.pictures import Pictures
from roadworthy.training.engines.published import Synthesis, Ugatit, Unit
from roadworthy.training.engines.settings import EngineSettings

CPU = torch.device("cpu")
SETTINGS = EngineSettings(steps=50, batch=4, learning_rate=2e-3, device="cpu")


@pytest.fixture(scope="module")
def features() -> FeatureNetwork:
    return feature_network()


def scenes(count: int = 8) -> Pictures:
    """Sky above ground; the ground's colour tells its class, and a thing stands on it."""
    rng = np.random.default_rng(0)
    labels = np.zeros((count, 32, 64), np.uint8)
    labels[:, 16:] = 1
    for number in range(count):
        left = int(rng.integers(4, 44))
        labels[number, 10:24, left : left + 14] = 2
    colours = np.array([[120, 170, 230], [90, 90, 90], [200, 40, 40]], np.uint8)
    image = colours[labels]
    truth = colours[np.where(labels == 2, 1, labels)]
    thing = labels == 2
    return Pictures(
        "scenes",
        {
            "image": image,
            "truth": truth,
            "labels": np.where(thing, 1, labels).astype(np.uint8),
            "opacity": thing.astype(np.uint8) * 255,
            "differs": thing,
            "filled": np.where(thing[..., None], 128, image).astype(np.uint8),
        },
    )


def learn(method: Any, feed: Any, steps: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the losses of the first and of the last step."""
    losses = []
    for step in range(steps):
        torch.manual_seed(step)
        found = method.step(feed.batch(step, 4))
        assert all(torch.isfinite(one) for one in found.values())
        losses.append({name: float(one) for name, one in found.items()})
    return losses[0], losses[-1]


@pytest.mark.parametrize("prefilled", [True, False])
def test_painting_learns_the_truth_inside_the_hole_and_keeps_what_is_outside(prefilled: bool) -> None:
    inputs = NetworkInputs(labels=4, context=True)
    sizes = {"input_nc": inputs.channels, "context": True, "width": 8}
    method = PairedMethod(
        SETTINGS, network_for("small-synthesis", sizes, seed=1), inputs=inputs, prefilled=prefilled
    )
    feed = PictureFeed([scenes()], CPU)
    batch = feed.part(0, 4)
    before = method.made(batch)
    if prefilled:
        # A fresh network gives what the classical transform made.
        assert torch.allclose(
            before, torch.where(batch["differs"], batch["filled"], batch["image"]), atol=1e-6
        )
    first, last = learn(method, feed, 20)
    assert last["plain"] < 0.5 * first["plain"]
    outside = ~batch["differs"].expand(-1, 3, -1, -1)
    assert torch.equal(method.made(batch)[outside], batch["image"][outside])
    method.networks["generator"].eval()
    with torch.inference_mode():
        measures = method.measures([batch])
        assert [name for name, _ in method.sheet(batch)] == ["frame", "classical", "learned", "truth"]
    assert measures["look"] < measures["look, unchanged"]


def test_a_student_comes_near_its_teacher() -> None:
    class Darker(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images * 0.5 - 0.5

    weights = PairedWeights(look=0.0, plain=0.0, teacher=1.0)
    network = network_for("small-translation", {"width": 8}, seed=1)
    method = PairedMethod(SETTINGS, network, inputs=NetworkInputs(), weights=weights, teacher=Darker())
    first, last = learn(method, PictureFeed([scenes()], CPU), 16)
    assert last["teacher"] < 0.7 * first["teacher"]
    with pytest.raises(InputError, match="give one"):
        PairedMethod(SETTINGS, network, inputs=NetworkInputs(), weights=weights)
    with pytest.raises(InputError, match="sees the surroundings"):
        PairedMethod(SETTINGS, network, inputs=NetworkInputs(), prefilled=True)


@pytest.mark.parametrize(("context", "edges"), [(True, False), (False, True)])
def test_pix2pixhd(features: FeatureNetwork, context: bool, edges: bool) -> None:
    inputs = NetworkInputs(labels=4, context=context, edges=edges)
    sizes = {"input_nc": inputs.channels, "ngf": 8, "n_downsampling": 2, "n_blocks": 1}
    pictures = scenes()
    pictures = Pictures("s", {**pictures.arrays, "edges": pictures.arrays["differs"].astype(np.uint8)})
    with seeded(1):
        generator = network_for("pix2pixhd-global", sizes, seed=1)
        method = Synthesis(SETTINGS, generator, inputs=inputs, features=features, ndf=8)
    feed = PictureFeed([pictures], CPU)
    first, last = learn(method, feed, 12)
    names = {"adversarial", "matching", "perceptual", "discriminator"} | ({"plain"} if context else set())
    assert set(first) == names
    assert last["perceptual"] < first["perceptual"]
    generator.eval()
    with torch.inference_mode():
        measures = method.measures([feed.part(0, 4), feed.part(4, 4)])
        assert measures == method.measures([feed.part(0, 4), feed.part(4, 4)])
        columns = [name for name, _ in method.sheet(feed.part(0, 2))]
    assert set(measures) == {"L1 inside, grey levels", "Fréchet distance in the shipped detector"}
    assert columns == (["seen", "learned", "frame"] if context else ["learned", "frame"])


def domains() -> DomainFeed:
    dark = scenes()
    dark = Pictures("dark", {"image": (dark.arrays["image"] // 4).astype(np.uint8)})
    return DomainFeed(PictureFeed([scenes()], CPU, seed=1), PictureFeed([dark], CPU, seed=2))


def test_unit(features: FeatureNetwork) -> None:
    with seeded(1):
        method = Unit(SETTINGS, UnitSettings(dim=4, n_res=1), features=features, dim=4, scales=1)
    feed = domains()
    first, last = learn(method, feed, 12)
    assert set(first) == {"adversarial", "cycle", "cycle kl", "discriminator", "kl", "reconstruction"}
    assert last["reconstruction"] < 0.8 * first["reconstruction"]
    check_translation(method, feed.part(0, 4))


def test_ugatit(features: FeatureNetwork) -> None:
    network = UgatitSettings(ngf=4, n_blocks=1, img_size=(32, 64), light=True)
    settings = EngineSettings(steps=50, batch=2, learning_rate=1e-3, device="cpu", loss="hinge")
    with seeded(1):
        method = Ugatit(settings, network, features=features, ndf=4, layers=(3, 4))
    feed = domains()
    first, last = learn(method, feed, 6)
    assert set(first) == {"adversarial", "attention", "cycle", "discriminator", "identity"}
    assert last["identity"] < first["identity"]
    named = method.networks["b"].named_parameters()
    shares = [one.detach() for name, one in named if name.endswith("rho")]
    assert shares
    assert all(float(one.min()) >= 0 and float(one.max()) <= 1 for one in shares)
    check_translation(method, feed.part(0, 2))


def check_translation(method: Unit | Ugatit, batch: Batch) -> None:
    for name in method.generators:
        method.networks[name].eval()
    with torch.inference_mode():
        # What is exported is what was trained.
        assert torch.allclose(
            method.engine().eval()(batch["a"]), method.translated(batch["a"], "b"), atol=1e-5
        )
        measures = method.measures([batch])
        columns = [name for name, _ in method.sheet(batch)]
    assert columns == ["frame", "learned", "back", "other"]
    assert measures["cycle error, grey levels"] > 0
    assert "Fréchet distance in the shipped detector, unchanged" in measures


def test_discriminators_learn_nothing_from_what_the_generator_wants(features: FeatureNetwork) -> None:
    inputs = NetworkInputs(labels=4)
    sizes = {"input_nc": 4, "ngf": 4, "n_downsampling": 1, "n_blocks": 1}
    method = Synthesis(
        EngineSettings(device="cpu", learning_rate=1e-3, discriminator_rate=1e-12),
        network_for("pix2pixhd-global", sizes),
        inputs=inputs,
        features=features,
        ndf=4,
    )
    before = [one.detach().clone() for one in method.networks["discriminator"].parameters()]
    method.step(PictureFeed([scenes()], CPU).batch(0, 2))
    after = list(method.networks["discriminator"].parameters())
    assert all(torch.allclose(one, other, atol=1e-9) for one, other in zip(before, after, strict=True))
    assert all(one.requires_grad for one in after)


@pytest.mark.parametrize("way", ["paired", "adversarial", "synthesis", "unit", "ugatit"])
def test_all_ways_learn_in_mixed_precision(way: str, features: FeatureNetwork) -> None:
    settings = EngineSettings(steps=2, batch=2, device="cpu", precision="bfloat16", clip=1.0)
    single = PictureFeed([scenes(4)], CPU)
    double: PictureFeed | DomainFeed = DomainFeed(single, PictureFeed([scenes(4)], CPU, seed=1))
    inputs = NetworkInputs(labels=4, context=True)
    sizes = {"input_nc": inputs.channels, "context": True, "width": 8}
    method: Any
    if way in ("paired", "adversarial"):
        weights = PairedWeights(adversarial=0.1, matching=1.0) if way == "adversarial" else None
        network = network_for("small-synthesis", sizes)
        method = PairedMethod(settings, network, inputs=inputs, weights=weights, discriminator=4)
    elif way == "synthesis":
        network = network_for("small-synthesis", sizes)
        method = Synthesis(settings, network, inputs=inputs, features=features, ndf=4)
    elif way == "unit":
        method = Unit(settings, UnitSettings(dim=4, n_res=1), features=features, dim=4, scales=1)
    else:
        network_settings = UgatitSettings(ngf=4, n_blocks=1, light=True, img_size=(32, 64))
        method = Ugatit(settings, network_settings, features=features, ndf=4, layers=(4, 4))
    feed = double if way in ("unit", "ugatit") else single
    before = {
        name: [one.detach().clone() for one in network.parameters()]
        for name, network in method.networks.items()
    }
    learn(method, feed, 2)
    for name, network in method.networks.items():
        # The weights stay in full precision, are numbers, and all networks learn.
        assert all(one.dtype == torch.float32 and one.isfinite().all() for one in network.parameters())
        assert any(not torch.equal(*pair) for pair in zip(before[name], network.parameters(), strict=True))
    with torch.inference_mode():
        assert all(np.isfinite(value) for value in method.measures([feed.part(0, 2)]).values())


def test_the_perceptual_loss_weighs_stages_as_pix2pixhd_does() -> None:
    stages = [torch.nn.Identity() for _ in range(5)]
    one, other = torch.zeros(1, 3, 4, 4), torch.full((1, 3, 4, 4), 0.5)
    wanted = 0.5 * (1 / 32 + 1 / 16 + 1 / 8 + 1 / 4 + 1)
    assert float(perceptual_loss(FeatureNetwork(stages, "plain"), one, other)) == pytest.approx(wanted)


def test_pix2pixhd_keeps_what_is_outside_the_hole(features: FeatureNetwork) -> None:
    inputs = NetworkInputs(labels=4, context=True)
    sizes = {"input_nc": inputs.channels, "ngf": 4, "n_downsampling": 2, "n_blocks": 1}
    method = Synthesis(
        SETTINGS, network_for("pix2pixhd-global", sizes), inputs=inputs, features=features, ndf=4
    )
    batch = PictureFeed([scenes(2)], CPU).part(0, 2)
    hole = torch.zeros(2, 1, 32, 64)
    hole[..., 8:16, 8:16] = 1
    with torch.no_grad():
        made = method.made(batch, hole)
    same = (made == batch["image"]).all(1, keepdim=True)
    assert torch.equal(same, hole == 0)


def two_images_each() -> Batch:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.rand(2, 3, 32, 64, generator=generator) - 0.5 for name in ("a", "b")}


def test_the_ways_of_unit_lead_back(features: FeatureNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shift:
        """Its images are its codes, shifted: what was made of them leads back exactly."""

        def __init__(self, by: float) -> None:
            self.by = by

        def encode(self, images: torch.Tensor) -> torch.Tensor:
            return images - self.by

        def decode(self, codes: torch.Tensor) -> torch.Tensor:
            return codes + self.by

    method = Unit(SETTINGS, UnitSettings(dim=4, n_res=1), features=features, dim=4, scales=1)
    monkeypatch.setattr(method, "_network", lambda name: Shift({"a": 0.1, "b": 0.3}[name]))
    monkeypatch.setattr(method, "learn", lambda *_: None)
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)
    losses = method.step(two_images_each())
    assert float(losses["reconstruction"]) == pytest.approx(0, abs=1e-6)
    assert float(losses["cycle"]) == pytest.approx(0, abs=1e-6)


def test_what_the_losses_of_ugatit_compare(features: FeatureNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    network = UgatitSettings(ngf=4, n_blocks=1, light=True, img_size=(32, 64))
    method = Ugatit(SETTINGS, network, features=features, ndf=4, layers=(4, 4))
    batch = two_images_each()

    def attended(into: str, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # The attention knows images of its own domain, which need no change.
        sure = -20.0 if images is batch[into] else 20.0
        return images + {"a": 0.1, "b": 0.3}[into], torch.full((2, 2), sure)

    monkeypatch.setattr(method, "_attended", attended)
    monkeypatch.setattr(method, "learn", lambda *_: None)
    losses = method.step(batch)
    assert float(losses["cycle"]) == pytest.approx(0.4 + 0.4, abs=1e-5)
    assert float(losses["identity"]) == pytest.approx(0.1 + 0.3, abs=1e-5)
    assert float(losses["attention"]) == pytest.approx(0, abs=1e-5)
