"""What trainings rest on is what it was: recipes, networks layer by layer (pix2pixhd, small, ugatit, unit),
losses, pairs, faults and operators.

``kept.txt`` is no truth of its own: it was written by the code and looked through. Who means a number to
change writes it again with ``python -m tests.training.test_kept`` and reads the difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from scripts.engines.look import look_distances
from scripts.engines.recipes import Effort

from roadworthy.training import Settings
from roadworthy.training.engine_networks.pix2pixhd import MultiscaleDiscriminator
from roadworthy.training.engine_networks.settings import network_for, seeded, settings_of
from roadworthy.training.engine_networks.ugatit import Discriminator
from roadworthy.training.engine_networks.unit import MsImageDis
from roadworthy.training.engines.losses import (
    discriminator_loss,
    feature_matching,
    feature_network,
    frechet_distance,
    generator_loss,
    kl_loss,
    perceptual_loss,
    pooled,
)
from roadworthy.training.engines.pairs import CHANGES, PairSource
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.mutants.faults import _LOSSES, _MADE, _initialise, clipped, optimizer_named
from roadworthy.training.mutants.operators import CRIMES, search_range
from roadworthy.training.recipes import RECIPES, classifier_data, detector_data

KEPT = Path(__file__).with_name("kept.txt")
NETWORKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pix2pixhd-global", {"input_nc": 4, "ngf": 8, "n_downsampling": 2, "n_blocks": 2}),
    ("pix2pixhd-global", {"input_nc": 4, "ngf": 4, "n_downsampling": 1, "n_blocks": 1, "norm": "batch"}),
    ("pix2pixhd-local", {"input_nc": 4, "ngf": 4, "n_downsample_global": 1, "n_blocks_global": 1}),
    ("cyclegan", {"ngf": 8, "n_blocks": 2}),
    ("unit", {"dim": 8, "n_res": 1}),
    ("unit", {"dim": 4, "n_res": 1, "activ": "lrelu", "pad_type": "replicate"}),
    ("ugatit", {"ngf": 8, "n_blocks": 1, "light": True}),
    ("ugatit", {"ngf": 4, "n_blocks": 1, "img_size": (16, 32)}),
    ("small-synthesis", {"input_nc": 9, "context": True, "noise": 1, "width": 8, "blocks": 1}),
    ("small-translation", {"width": 8, "blocks": 1}),
    ("small-translation", {"width": 8, "blocks": 1, "position": False, "noise": 2}),
)


def wave(*shape: int, turns: float = 7.0) -> torch.Tensor:
    count = int(torch.tensor(shape).prod())
    return torch.linspace(0, turns, count).sin().reshape(shape)


def told(value: Any) -> str:
    """Return mean and spread of all tensors, however they are nested."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double()
        return f"{numbers.mean():.5g} {numbers.std(correction=0):.5g}"
    return " ".join(told(one) for one in value)


def lines() -> Iterator[str]:
    """Yield all that is kept."""
    yield from _plain()
    with seeded(5), torch.no_grad():
        yield from _networks()
        yield from _losses()
        yield from _faults()


def _plain() -> Iterator[str]:
    yield from (f"{name}: {one}" for name, one in RECIPES.items())
    yield from map(str, (Settings(), EngineSettings(), Effort()))
    for use in ("training", "validation", "evaluation"):
        for parts in (detector_data(use), classifier_data(use)):
            first, *_, last = parts
            yield f"{use}: {len(parts)} parts, {sum(map(len, parts.values()))} frames, {first}, {last}"
    for change in CHANGES.values():
        yield f"{change} {change.supports} {change.is_edit} {change.transform()}"
        source = PairSource("town", (4, 6), 25, (16, 32))
        yield f"    {source.name} {[(len(one), one.name) for one in source.data(change)]}"
    yield from map(str, CRIMES.values())
    for name in ("TCL", "TRD", "HLR", "HNE", "RCP"):
        yield f"{name}: {search_range(name, Settings(epochs=30, patience=4, learning_rate=0.02))}"


def _networks() -> Iterator[str]:
    for name, given in NETWORKS:
        network = network_for(name, given, seed=2).eval()
        sizes = settings_of(network)
        shapes = {key: tuple(one.shape) for key, one in network.state_dict().items()}
        digest = hashlib.sha256(str(shapes).encode()).hexdigest()[:12]
        yield f"{sizes} {sizes.multiple} {sizes.least} {sizes.size} {sizes.channels}"
        height, width = sizes.size or (2 * sizes.least[0], 3 * sizes.least[1])
        answer = network(wave(2, sizes.channels, height, width))
        yield f"    {len(shapes)} tensors {digest} = {told(answer)}"
    for judge in (MultiscaleDiscriminator(4, 4), MsImageDis(4), Discriminator(3, 4)):
        channels = 4 if isinstance(judge, MultiscaleDiscriminator) else 3
        shapes = {key: tuple(one.shape) for key, one in judge.state_dict().items()}
        digest = hashlib.sha256(str(shapes).encode()).hexdigest()[:12]
        answer = judge.eval()(wave(1, channels, 64, 64))
        yield f"{type(judge).__name__} {len(shapes)} tensors {digest} = {told(answer)}"


def _losses() -> Iterator[str]:
    one, other = wave(2, 3, 40, 48), wave(2, 3, 40, 48, turns=31)
    part = torch.zeros(2, 1, 40, 48)
    part[..., 10:20, 5:30] = 1
    network = feature_network()
    scores = [wave(2, 1, 5, 6), wave(2, 1, 3, 3, turns=3)]
    layers = [[wave(2, 4, 10, 12, turns=turn), wave(2, 1, 5, 6)] for turn in (2, 3)]
    others = [[wave(2, 4, 10, 12, turns=turn), wave(2, 1, 5, 6)] for turn in (5, 9)]
    yield f"look = {told(look_distances(one, other))} {told(look_distances(one, other, part))}"
    yield f"small look = {told(look_distances(one[..., :10, :12], other[..., :10, :12]))}"
    yield f"perceptual {network.name} = {told(perceptual_loss(network, one, other))}"
    features = [pooled(network, torch.cat([image, image.flip(3), image * 0.3])) for image in (one, other)]
    yield f"frechet = {frechet_distance(*(part[:, :5] for part in features)):.4g}"
    for kind in ("lsgan", "hinge"):
        values = [
            function
            for masks in (None, part)
            for function in (
                discriminator_loss(kind, scores, [-score / 2 for score in scores], masks),
                generator_loss(kind, scores, masks),
            )
        ]
        yield f"{kind} = {told(values)}"
    yield f"matching = {told([feature_matching(layers, others), feature_matching(layers, others, part)])}"
    yield f"kl = {told(kl_loss(one))}"


def _faults() -> Iterator[str]:
    answers, truth = wave(4, 2, turns=3) * 2, wave(4, 2, turns=5)
    for name, loss in _LOSSES.items():
        yield f"{name} = {told(loss(answers, truth))}"
    for name, made in _MADE.items():
        yield f"{name} = {told(made(1)(wave(2, 3, 4) * 3))}"
    for name in CRIMES["WCI"].choices:
        for layer in (torch.nn.Linear(6, 40), torch.nn.Conv2d(3, 20, 5)):
            _initialise(layer, name, 7)
            yield f"{name} = {told(layer.weight)} {layer.weight.abs().max():.4g}"
    settings = Settings(learning_rate=0.02, weight_decay=0.01)
    makers = {name: optimizer_named(name) for name in CRIMES["OCH"].choices}
    makers |= {how: clipped(how) for how in ("norm", "value")}
    for name, maker in makers.items():
        weights = [torch.nn.Parameter(wave(3, 2)), torch.nn.Parameter(wave(2))]
        optimizer = maker(weights, settings)
        for step in range(3):
            for weight in weights:
                weight.grad = weight.detach() * (3.0 - step)
            optimizer.step()
        yield f"{name} {type(optimizer).__name__} = {told(weights)}"


def test_what_trainings_rest_on_is_what_it_was() -> None:
    kept = KEPT.read_text("utf-8").splitlines()
    found = list(lines())
    assert len(found) == len(kept)
    for now, then in zip(found, kept, strict=True):
        (what, _, numbers), (before, _, known) = (line.partition(" = ") for line in (now, then))
        assert what == before
        expected = list(map(float, known.split()))
        assert list(map(float, numbers.split())) == pytest.approx(expected, rel=2e-3, abs=1e-5), then


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n", "utf-8")
