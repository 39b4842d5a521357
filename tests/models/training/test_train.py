"""From data to files, and the files to answers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.models import Network, load_model
from roadworthy.models.description import described
from roadworthy.models.training import Settings, Trained, export, sections, train
from roadworthy.models.zoo import Variant, architecture, architectures, load_module

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
    with pytest.raises(InputError, match="are not those of Dave2"):
        train(architecture("dave2").variant(), data, settings=QUICK, start=folder)


def test_data_without_validation_data_is_divided_in_time(variant: Variant) -> None:
    data = load("world:meadow", count=20, size="64x32", sequence=20)
    card = train(variant, data, settings=dataclasses.replace(QUICK, epochs=1)).card
    assert [one.name for one in card.data] == ["world:meadow[:16]", "world:meadow[16:]"]


def test_resuming_needs_the_same_data(trained: Trained, folder: Path, variant: Variant) -> None:
    assert trained
    with pytest.raises(InputError, match=r"is of another training: training data was '[0-9a-f]{64}' and is"):
        train(variant, load("world", count=16, size="64x32"), settings=QUICK, folder=folder, resume=True)
    with pytest.raises(InputError, match="resume needs the folder of the training to go on with"):
        train(variant, load("world", count=16, size="64x32"), settings=QUICK, resume=True)


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
    module = variant.build(seed=3)
    file = tmp_path / ("net.onnx" if format == "onnx" else "net.pt")
    frames = list(load("world:town", count=2, history=variant.spec.input.history))
    assert export(module, variant, file, format=format, frames=frames) < 1e-4  # type: ignore[arg-type]
    network = load_model(f"{format}:{file}", spec=variant.spec)
    assert isinstance(network, Network)
    assert network.batch is None
    one, both = network.predict(frames[:1]), network.predict(frames)
    assert both[0].speed == pytest.approx(one[0].speed, abs=1e-4)
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
    with pytest.raises(InputError, match="format must be onnx or torchscript, got 'keras'"):
        export(variant.build(), variant, tmp_path / "net.h5", format="keras")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", architectures(), ids=lambda kind: kind.name)
def test_what_a_card_says_of_input_and_output_is_read_back(kind: object) -> None:
    from roadworthy.models.zoo import Architecture

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
