"""The networks of the zoo: their sizes as published, their input, what they answer, what is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.errors import InputError, UnknownNameError
from roadworthy.frames import Frame
from roadworthy.models import torch_model
from roadworthy.models.images import ImageInput
from roadworthy.models.twinlitenet import TwinLiteNet
from roadworthy.models.zoo import Variant, architecture
from roadworthy.models.zoo.catalogue import architectures, driving_output

DRIVING = ("dave2", "epoch", "chauffeur", "rambo", "vgg16", "resnet101")
OUTPUTS = (("steering",), ("speed",), ("steering", "speed"))
TINY: dict[str, dict[str, object]] = {
    "dave2": {},
    "epoch": {"width": 32, "height": 16, "hidden": 16},
    "chauffeur": {"width": 64, "height": 32, "history": 2, "memory": 8, "hidden": 8},
    "rambo": {"width": 64, "height": 64},
    "vgg16": {"width": 64, "height": 32, "hidden": (8, 4)},
    "resnet101": {"width": 64, "height": 32, "hidden": (8, 4)},
}


@cache
def built(name: str, outputs: tuple[str, ...]) -> torch.nn.Module:
    return architecture(name).variant(outputs, TINY[name]).build()


def parameters(module: torch.nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def part(module: torch.nn.Module, name: str) -> torch.nn.Module:
    return dict(module.named_children())[name]


def frames(count: int, previous: int) -> list[Frame]:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count + previous, 40, 80, 3), np.uint8)
    shown = [Frame(f"f{number}", image) for number, image in enumerate(images)]
    return [shown[end].replace(previous=shown[end - previous : end]) for end in range(previous, len(shown))]


TOLD = Path(__file__).with_name("architectures.txt")


def told() -> list[str]:
    """What each network takes and answers, its tensors, and what its first weights make of a wave."""
    lines = []
    for one in architectures():
        shown: Any = dataclasses.replace(one, answers=driving_output)
        lines.append(re.sub(r", answers=.*", "", repr(shown)))
        variant = one.variant(("steering", "speed") if one.name in DRIVING else None, TINY.get(one.name, {}))
        lines.append(_traced(variant.build(3), variant.spec.input))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        lines.append(_traced(TwinLiteNet(), ImageInput(width=64, height=32)))
    return lines


def _traced(module: torch.nn.Module, taken: ImageInput) -> str:
    shapes = {name: tuple(one.shape) for name, one in module.state_dict().items()}
    digest = hashlib.sha256(str(shapes).encode()).hexdigest()[:12]
    shape = taken.tensor([taken.view(one) for one in frames(1, taken.history)]).shape
    wave = torch.linspace(-1, 1, math.prod(shape)).reshape(shape).sin()
    with torch.no_grad():
        answer = module.eval()(wave)
    parts = answer if isinstance(answer, tuple) else (answer,)
    numbers = " ".join(f"{one.std(correction=0):.5g} {one.mean():.5g}" for one in parts)
    sizes = f"{len(shapes)} tensors {digest}, {parameters(module)} parameters"
    return f"    {sizes}, {tuple(parts[0].shape)}: {numbers}"


def test_every_network_is_what_it_was_before() -> None:
    """Weights that were trained fit these tensors alone, and answer by these layers alone."""
    for now, then in zip(told(), TOLD.read_text("utf-8").splitlines(), strict=True):
        told_now, told_then = (line.rpartition("): ")[0::2] for line in (now, then))
        if not now.startswith("    "):
            assert now == then
            continue
        assert told_now[0] == told_then[0]
        found, before = (list(map(float, part.split())) for part in (told_now[1], told_then[1]))
        assert found == pytest.approx(before, rel=1e-3, abs=1e-8), then


def test_dave2_has_the_250_thousand_parameters_of_its_paper() -> None:
    variant = architecture("dave2").variant(["steering"])
    assert parameters(variant.build()) == 252_219
    assert (variant.spec.input.width, variant.spec.input.height, variant.spec.input.color) == (200, 66, "yuv")


@pytest.mark.parametrize(
    ("name", "published"), [("vgg16", 14_714_688), ("resnet101", 42_500_160)]
)  # torchvision's vgg16().features and resnet101() without fc
def test_backbones_have_the_published_parameters(name: str, published: int) -> None:
    module = built(name, ("steering",))
    assert parameters(part(module, "features")) == published
    layers = [one for one in part(module, "dense").modules() if isinstance(one, torch.nn.Linear)]
    assert [one.out_features for one in layers] == [8, 4, 1]
    if name == "resnet101":
        parts: Any = part(module, "features").modules()
        blocks = [one.residual[-1] for one in parts if hasattr(one, "residual")]
        assert len(blocks) == 33
        assert not any(one.weight.any() for one in blocks), "blocks add nothing at first"


def test_the_large_networks_take_320x160() -> None:
    for name in ("epoch", "vgg16", "resnet101"):
        taken = architecture(name).variant().spec.input
        assert (taken.width, taken.height, taken.crop) == (320, 160, (0, 0))


def neurons(module: torch.nn.Module, kinds: tuple[type, ...], images: torch.Tensor) -> int:
    """Count the channels and numbers that layers of these kinds give."""
    found = []
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.register_forward_hook(lambda _module, _given, answer: found.append(answer.shape[1]))
    with torch.no_grad():
        module.eval()(images)
    return sum(found)


def test_epoch_has_deeptests_2500_neurons_of_which_1249_are_distinct() -> None:
    variant = architecture("epoch").variant(["steering"], {"width": 32, "height": 16})
    images = torch.zeros(1, 3, 16, 32)
    weighted = (torch.nn.Conv2d, torch.nn.Linear)
    assert neurons(variant.build(), weighted, images) == 1249
    assert 3 + neurons(variant.build(), (*weighted, torch.nn.Dropout), images) == 2500


def test_the_branches_of_rambo_have_deeptests_neurons() -> None:
    module = architecture("rambo").variant(["steering"]).build()
    layers = (torch.nn.Conv2d, torch.nn.Linear, torch.nn.ReLU)
    branches = part(module, "branches").children()
    # The activation after the last convolution comes after Flatten, so it counts every number.
    assert [neurons(one, layers, torch.zeros(1, 2, 192, 256)) for one in branches] == [1625, 3801, 13473]


def test_chauffeurs_lstm_has_deeptests_513_neurons() -> None:
    module = architecture("chauffeur").variant(["steering"], {"history": 2}).build()
    memory = part(module, "memory")
    assert isinstance(memory, torch.nn.LSTM)
    dense = [one.out_features for one in part(module, "dense").modules() if isinstance(one, torch.nn.Linear)]
    filters = [one.out_channels for one in part(module, "features") if isinstance(one, torch.nn.Conv2d)]  # type: ignore[attr-defined]
    assert filters == [16, 20, 40, 60, 80, 128], "those of the public code"
    assert memory.hidden_size + sum(dense) == 513
    assert architecture("chauffeur").input.history + 1 == 100
    assert memory.input_size == 128 * 3 * 10


@pytest.mark.parametrize(
    ("name", "outputs"),
    # The large ones are built once, because that takes long.
    [*product(DRIVING[:4], OUTPUTS), ("vgg16", OUTPUTS[0]), ("resnet101", OUTPUTS[0])],
)
def test_every_network_answers_with_what_is_asked_for(name: str, outputs: tuple[str, ...]) -> None:
    spec = architecture(name).variant(outputs, TINY[name]).spec
    network = torch_model(built(name, outputs), spec=spec)
    answers = network.predict(frames(2, spec.input.history))
    for answer in answers:
        assert set(answer.as_dict()) == set(outputs)


@pytest.mark.parametrize("name", ["dave2", "epoch", "chauffeur"])
def test_small_forms_are_small(name: str) -> None:
    kind = architecture(name)
    module = kind.variant(small=bool(kind.small)).build()
    assert 4 * parameters(module) < 2.7e6


def test_answers_are_in_the_units_of_the_head() -> None:
    module = architecture("dave2").variant().build().eval()
    images = torch.rand(2, 3, 66, 200)
    before = module(images)
    module.head.fit([5.0, 2.0], [0.0, 8.0])  # type: ignore[operator, union-attr]
    assert torch.allclose(module(images), before / 10 * torch.tensor([5.0, 2.0]) + torch.tensor([0.0, 8.0]))


def test_the_seed_alone_decides_the_weights() -> None:
    variant = architecture("dave2").variant()
    torch.manual_seed(5)
    first = variant.build(seed=3).state_dict()
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), drawn)
    again, other = variant.build(seed=3).state_dict(), variant.build(seed=4).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["features.0.weight"], other["features.0.weight"])


def test_options_may_be_text() -> None:
    variant = architecture("epoch").variant(
        ["speed"], {"channels": "8,16,32", "crop": "0.25,10", "hidden": "4"}
    )
    assert (variant.options["channels"], variant.options["hidden"]) == ((8, 16, 32), 4)
    assert variant.spec.input.crop == (0.25, 10)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"hiden": 3}, "'epoch' has no option 'hiden': did you mean 'hidden'? Its options are width=320"),
        ({"hidden": "many"}, "option hidden of 'epoch' must be a whole number from 1 to 65536, got 'many'"),
        ({"hidden": 2.5}, "option hidden of 'epoch' must be a whole number from 1 to 65536, got 2.5"),
        ({"hidden": 0}, "option hidden of 'epoch' must be a whole number from 1 to 65536, got 0"),
        ({"hidden": "1e30"}, "must be a whole number from 1 to 65536, got '1e30'"),
        ({"hidden": "nan"}, "must be a whole number from 1 to 65536, got 'nan'"),
        ({"channels": (1, 2)}, "option channels of 'epoch' must be 3 whole numbers from 1 to 65536"),
        ({"crop": "-1,0"}, "option crop of 'epoch' must be 2 numbers from 0 to 65536, got '-1,0'"),
        ({"dropout": "0.1,1"}, "option dropout of 'epoch' must be 2 numbers from 0 to below 1, got '0.1,1'"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        architecture("epoch").variant(options=options)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", ["dave2", "vgg16", "resnet101"])
def test_an_input_that_is_too_small(name: str) -> None:
    variant = architecture(name).variant(options={"width": 16, "height": 8})
    with pytest.raises(InputError, match=rf"'{name}' cannot be built with width=16, height=8.*too small"):
        variant.build()


def test_rambo_needs_an_earlier_frame_and_chauffeur_does_not() -> None:
    with pytest.raises(
        InputError, match=r"'rambo' cannot be built with .*history=0: without an earlier frame"
    ):
        architecture("rambo").variant(options={"history": 0}).build()
    alone = architecture("chauffeur").variant(options={**TINY["chauffeur"], "history": 0})
    assert len(torch_model(alone.build(), spec=alone.spec).predict(frames(2, 0))) == 2


@pytest.mark.parametrize(
    ("outputs", "got"), [([], "none"), (["speed", "steering", "speed"], "speed, steering, speed")]
)
@pytest.mark.parametrize("name", ["dave2", "classifier"])
def test_outputs_are_named_once(name: str, outputs: list[str], got: str) -> None:
    with pytest.raises(
        InputError, match=f"outputs of '{name}' must be at least one, each named once, got {got}"
    ):
        architecture(name).variant(outputs)


def test_names_that_are_none() -> None:
    with pytest.raises(UnknownNameError, match="the zoo has no network 'dave3': did you mean 'dave2'"):
        architecture("dave3")
    with pytest.raises(InputError, match="answers with steering, speed or both, got 'throttle'"):
        architecture("dave2").variant(["throttle"])


def test_a_variant_is_compared_by_what_it_is() -> None:
    kind = architecture("dave2")
    assert kind.variant(["speed"], {"dropout": "0.1"}) == kind.variant(["speed"])
    assert isinstance(kind.variant(), Variant)


def test_nothing_here_loads_torch_before_it_is_needed() -> None:
    code = (
        "import sys; import roadworthy.models.zoo, roadworthy.training, roadworthy.cli; "
        "from roadworthy.models.zoo import architecture; architecture('epoch').variant(); "
        "assert 'torch' not in sys.modules; assert 'onnx' not in sys.modules; sys.modules['torch'] = None\n"
        "try: architecture('dave2').variant().build()\n"
        "except Exception as error: print(error)"
    )
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("torch is needed to build dave2 but is not installed: pip install")
