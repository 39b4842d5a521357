"""From data to files, and the files to answers."""

from __future__ import annotations

import dataclasses
import json
import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from roadworthy.datasets import BaseDataset, load
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import Network, load_model, torch_model
from roadworthy.models.description import described, sections
from roadworthy.models.zoo import Variant, architecture, load_module
from roadworthy.models.zoo.catalogue import architectures
from roadworthy.training import Settings, export, train
from roadworthy.training.train import Trained

SMALL = {"width": 32, "height": 16, "channels": (4, 4, 4), "hidden": 8}
QUICK = Settings(epochs=2, batch=8, learning_rate=1e-3, device="cpu")


@pytest.fixture(scope="module")
def variant() -> Variant:
    return architecture("epoch").variant(options=SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trained") / "epoch"


@pytest.fixture(scope="module")
def trained(variant: Variant, folder: Path) -> Trained:
    data, validation = (load("world", count=count, size="64x32", seed=count) for count in (24, 9))
    return train(variant, data, validation=validation, settings=QUICK, folder=folder)


def test_the_folder_is_a_model(trained: Trained, folder: Path) -> None:
    network = load_model(folder)
    assert isinstance(network, Network)
    assert network.spec.output == trained.variant.spec.output
    assert (network.name, network.input.width) == ("epoch", 32)
    frames = list(load("world:town", count=4))
    expected = trained.model.predict(frames)
    for found, one in zip(network.predict(frames), expected, strict=True):
        assert (found.speed, found.steering) == pytest.approx((one.speed, one.steering), abs=1e-4)
    assert sorted(one.name for one in folder.iterdir()) == [
        "card.json", "card.md", "checkpoint.pt", "epoch.onnx", "model.yaml",
    ]  # fmt: skip


def test_the_card_tells_how_it_came_about(trained: Trained, folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text("utf-8"))
    assert card["architecture"] == "epoch"
    assert card["outputs"] == ["steering", "speed"]
    assert card["parameters"] == sum(one.numel() for one in trained.module.parameters())
    assert [(one["role"], one["frames"]) for one in card["data"]] == [("training", 24), ("validation", 9)]
    assert all(len(one["sha256"]) == 64 for one in card["data"])
    assert [one["epoch"] for one in card["curve"]] == [1, 2]
    assert card["settings"]["learning_rate"] == 1e-3
    assert (
        card["versions"]["torch"] == torch.__version__.partition("+")[0] or "+" in card["versions"]["torch"]
    )
    units = {one["name"]: one["unit"] for one in card["measures"]}
    assert units["steering MAE"] == "°"
    assert units["speed MSE"] == "(m/s)²"
    assert card["measures"][0]["value"] == card["curve"][card["best_epoch"] - 1]["measures"]["steering MAE"]
    page = (folder / "card.md").read_text("utf-8")
    assert page.startswith("# epoch\n")
    for words in ("| parameters | ", "| steering RMSE | ", "| learning_rate | 0.001 |", "| 2 | "):
        assert words in page


def test_a_trained_network_can_be_trained_on(trained: Trained, folder: Path, variant: Variant) -> None:
    data = load("world", count=16, size="64x32")
    again = train(
        variant, data, settings=dataclasses.replace(QUICK, epochs=1, learning_rate=1e-9), start=folder
    )
    for name, one in again.module.state_dict().items():
        assert torch.allclose(one, trained.module.state_dict()[name], atol=1e-5)
    digest = sha256((folder / "epoch.onnx").read_bytes()).hexdigest()
    assert again.card.start == f"{folder} (SHA-256 {digest})"
    assert f"| started from | {folder} (SHA-256 {digest}) |" in again.card.to_markdown()
    assert trained.card.start == ""
    assert "| started from | fresh weights |" in trained.card.to_markdown()
    with pytest.raises(InputError, match="are those of epoch for steering, speed, not of dave2"):
        train(architecture("dave2").variant(), data, settings=QUICK, start=folder)


def test_data_without_validation_data_is_divided_in_time(variant: Variant) -> None:
    data = load("world:meadow", count=20, size="64x32", sequence=20)
    card = train(variant, data, settings=dataclasses.replace(QUICK, epochs=1)).card
    assert [one.name for one in card.data] == ["world:meadow[:16]", "world:meadow[16:]"]
    named = train(variant, data, settings=dataclasses.replace(QUICK, epochs=1), names=("mine", "")).card
    assert [one.name for one in named.data] == ["mine[:16]", "mine[16:]"]


def test_resuming_needs_the_same_data(trained: Trained, folder: Path, variant: Variant) -> None:
    assert trained
    complaint = (
        r"belongs to another training: training data was [0-9a-f]{12}… and is [0-9a-f]{12}…; validation"
    )
    with pytest.raises(InputError, match=complaint):
        train(variant, load("world", count=16, size="64x32"), settings=QUICK, folder=folder, resume=True)
    other = architecture("epoch").variant(options={**SMALL, "hidden": 9})
    with pytest.raises(InputError, match=r"option hidden was '8' and is '9'; training data"):
        train(other, load("world", count=16, size="64x32"), settings=QUICK, folder=folder, resume=True)
    with pytest.raises(InputError, match="resume needs the folder of the training"):
        train(variant, load("world", count=16, size="64x32"), settings=QUICK, resume=True)


def test_a_falling_rate_is_resumed_with_the_same_number_of_epochs_only(
    tmp_path: Path, variant: Variant
) -> None:
    """It is 0 at the end of the last epoch, so what each epoch does depends on how many there are."""
    data = load("world", count=16, size="64x32")
    for decay in ("none", "cosine"):
        settings = dataclasses.replace(QUICK, epochs=1, decay=decay)
        train(variant, data, settings=settings, folder=tmp_path / decay)
        longer = dataclasses.replace(settings, epochs=2)
        if decay == "none":
            again = train(variant, data, settings=longer, folder=tmp_path / decay, resume=True)
            assert len(again.card.curve) == 2
        else:
            with pytest.raises(InputError, match="belongs to another training: epochs was 1 and is 2"):
                train(variant, data, settings=longer, folder=tmp_path / decay, resume=True)


class Untouchable(BaseDataset):
    """Fails a test that reads from it."""

    def __init__(self) -> None:
        super().__init__("untouchable", ["a", "b", "c"])

    def read(self, number: int) -> Frame:
        raise AssertionError(f"frame {number} was read")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"settings": dataclasses.replace(QUICK, device="gpu")}, "device 'gpu' cannot be used"),
        ({"folder": Path("file")}, "cannot write file: File exists; choose another place"),
        ({"folder": Path("new"), "resume": True}, "there is no training to resume"),
        ({"start": "none.onnx"}, r"none\.onnx: there is no such file"),
    ],
)
def test_what_can_go_wrong_at_once_is_told_before_a_frame_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: Variant, options: dict[str, Any], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(InputError, match=complaint):
        train(variant, Untouchable(), **{"settings": QUICK, **options})


def test_a_card_is_json_that_every_program_reads(trained: Trained, folder: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    json.loads((folder / "card.json").read_text("utf-8"), parse_constant=refuse)
    broken = dataclasses.replace(trained.card, seconds=math.nan)
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()


def lively(module: torch.nn.Module) -> torch.nn.Module:
    """Draw larger weights: fresh ones answer nearly the same to whatever they see."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for layer in module.modules():
            if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
                torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return module


TINY: dict[str, dict[str, object]] = {
    "dave2": {},
    "epoch": SMALL,
    "chauffeur": {"width": 64, "height": 32, "history": 2, "memory": 8, "hidden": 8},
    "rambo": {"width": 64, "height": 64},
}


@pytest.mark.parametrize("format", ["onnx", "torchscript"])
@pytest.mark.parametrize("name", sorted(TINY))
def test_exported_networks_answer_like_the_original(tmp_path: Path, name: str, format: str) -> None:
    variant = architecture(name).variant(options=TINY[name])
    module = lively(variant.build(seed=3))
    file = tmp_path / ("net.onnx" if format == "onnx" else "net.pt")
    frames = list(load("world:town", count=2, history=variant.spec.input.history))
    assert export(module, variant, file, format=format, frames=frames) < 1e-4  # type: ignore[arg-type]
    network = load_model(f"{format}:{file}", spec=variant.spec)
    assert isinstance(network, Network)
    assert network.batch is None
    one, both = network.predict(frames[:1]), network.predict(frames)
    assert both[0].speed == pytest.approx(one[0].speed, abs=1e-4)
    assert abs(both[0].speed - both[1].speed) > 0.01, "what it sees matters"
    for answer, expected in zip(both, torch_model(module, spec=variant.spec).predict(frames), strict=True):
        assert answer.speed == pytest.approx(expected.speed, abs=1e-4)
        assert answer.steering == pytest.approx(expected.steering, abs=1e-4)
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


class Moody(torch.nn.Module):
    """Answers differently every time."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self.calls = 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        answers: torch.Tensor = self.module(images) + self.calls
        return answers


def test_an_export_that_answers_differently_is_not_written(tmp_path: Path, variant: Variant) -> None:
    with pytest.raises(InputError, match="was not written: exported as onnx, epoch answers differently by"):
        export(Moody(variant.build()), variant, tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []
    broken = variant.build()
    with torch.no_grad():
        next(broken.parameters()).fill_(math.nan)
    with pytest.raises(InputError, match=r"was not written: .* answers with what are no numbers"):
        export(broken, variant, tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="format must be one of onnx, torchscript, got 'keras'"):
        export(variant.build(), variant, tmp_path / "net.h5", format="keras")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["onnx", "torchscript"])
def test_an_export_that_cannot_be_written(tmp_path: Path, variant: Variant, format: Any) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "file").touch()
    for place, complaint in (("net", "Is a directory"), ("file/net", "(File exists|Not a directory)")):
        with pytest.raises(InputError, match=f"cannot write .*: {complaint}; choose another place"):
            export(variant.build(), variant, tmp_path / place, format=format)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "net"]


@pytest.mark.parametrize("kind", architectures(), ids=lambda kind: kind.name)
def test_what_a_card_says_of_input_and_output_is_read_back(kind: object) -> None:
    from roadworthy.models.zoo.catalogue import Architecture

    assert isinstance(kind, Architecture)
    spec = kind.variant().spec
    assert described({}, sections(spec)).spec == spec


def test_weights_read_back_answer_like_onnx(trained: Trained, folder: Path) -> None:
    network = load_model(folder)
    assert isinstance(network, Network)
    images = np.random.default_rng(0).random((3, 3, 16, 32), np.float32)
    with torch.inference_mode():
        expected = load_module(folder)(torch.from_numpy(images)).numpy()
    (found,) = network.runtime.run(images, ()).values()
    assert np.abs(np.asarray(found) - expected).max() < 1e-4
    assert trained.variant.name == "epoch"
