"""What networks leave on disk: engines that learned, checkpoints, material to train with."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.files import seed_of
from tests.fuzz.harness import Target
from tests.fuzz.mutating import mutated_bytes, mutated_json, mutated_yaml, mutated_zip

__all__ = ["TARGETS"]


def _frame() -> Any:
    from roadworthy.frames import Frame

    return Frame("a", np.full((6, 8, 3), 90, np.uint8))


def _engine(folder: Path) -> None:
    from roadworthy.transforms.learned.card import EngineCard
    from roadworthy.transforms.learned.engine import LearnedEngine
    from roadworthy.transforms.operations import ReplaceOperation

    card = EngineCard.read(folder)
    assert EngineCard.of_dict(json.loads(json.dumps(card.to_dict()))) == card, "what is written reads back"
    card.is_nearer  # noqa: B018 - worked out when it is asked for
    engine = LearnedEngine.open(folder)
    engine.transform(ReplaceOperation("time", "night"))(_frame(), 7)


def _engine_network(folder: Path) -> None:
    """Use a network that its card vouches for, whatever it is."""
    told = json.loads((folder / "card.json").read_bytes())
    told["sha256"] = sha256((folder / "engine.onnx").read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(told))
    _engine(folder)


def _checkpoint(name: str) -> Any:
    def read(folder: Path) -> None:
        from roadworthy.training.engine_networks.checkpoint import read_checkpoint

        read_checkpoint(folder / name).network()

    return read


def _answered(folder: Path) -> None:
    from roadworthy._http import UnusableAnswer
    from roadworthy.transforms.engines.backend import Fit
    from roadworthy.transforms.engines.services import Service

    service = Service("paint", "http://127.0.0.1:9", answer="data.0.b64_json")
    with suppress(UnusableAnswer):
        service._image((folder / "answer.json").read_bytes(), Fit.of((6, 8), most=None, multiple=1))


def _edited(folder: Path) -> None:
    from roadworthy.transforms.engines import read_engines
    from roadworthy.transforms.engines.files import put_engine

    read_engines(folder / "engines.yaml")
    put_engine(folder / "engines.yaml", "night", {"learned": "day-to-night"})
    assert "night" in [one.name for one in read_engines(folder / "engines.yaml")]


def _beginning(folder: Path) -> None:
    from roadworthy.models import load_model
    from roadworthy.models.description import draft_description, read_description
    from roadworthy.models.network import UndescribedError

    try:
        load_model(f"onnx:{folder / 'net.onnx'}")
    except UndescribedError as error:
        told = draft_description(f"onnx:{folder / 'net.onnx'}", error.runtime)
        (folder / "model.yaml").write_text(told)
        read_description(folder / "model.yaml")


def _configured(folder: Path) -> None:
    from roadworthy.models import load_model
    from roadworthy.models.network import UndescribedError

    with suppress(UndescribedError):
        load_model(folder)


def _training(folder: Path) -> None:
    from roadworthy.training.loop import read_checkpoint

    read_checkpoint(folder / "checkpoint.pt", {"network": "dave2", "seed": 1})


def _retraining(folder: Path) -> None:
    from roadworthy.training.retraining.material import Material

    found = Material.load(folder / "material.npz")
    found.training.take(np.arange(len(found.training)), "all")


def _mutants(folder: Path) -> None:
    from roadworthy.training.mutants.training import TrainingMaterial

    found = TrainingMaterial.load(folder / "material.npz")
    found.training.take(np.arange(len(found.training)), "all")


def _network_card(folder: Path) -> None:
    from roadworthy.training.retraining.retrain import usual_settings

    usual_settings(folder / "net.onnx")


def _vgg19(folder: Path) -> None:
    """Read weights of VGG19 with one channel for each of its layers, which else are half a gigabyte."""
    from unittest.mock import patch

    from roadworthy.training.engines import losses as features

    with patch.object(features, "_VGG19", tuple((1, count) for _, count in features._VGG19)):
        features.feature_network(folder / "vgg19.pth")


def _pipeline(folder: Path) -> None:
    """Look whether the folder of a diffusion pipeline is whole; opening it is up to diffusers."""
    from roadworthy.transforms.engines.commands import _missing_parts

    assert "unet" not in _missing_parts(folder)


_ENGINE = {"card.json": seed_of("engine-card"), "engine.onnx": seed_of("engine-network")}

TARGETS = (
    Target("engine-card", "card.json", _engine, mutated_json, _ENGINE),
    Target("engine-network", "engine.onnx", _engine_network, mutated_bytes, _ENGINE),
    Target("engine-checkpoint", "gen.pt", _checkpoint("gen.pt"), mutated_zip, examples=15),
    Target("engine-weights", "engine.onnx", _checkpoint("engine.onnx"), mutated_bytes),
    Target("engine-answer", "answer.json", _answered, mutated_json, names=""),
    Target("engines-edited", "engines.yaml", _edited, mutated_yaml, examples=15),
    Target("model-beginning", "net.onnx", _beginning, mutated_bytes),
    Target(
        "model-config", "config.json", _configured, mutated_json, {"model.onnx": seed_of("model-beginning")}
    ),
    Target("training-checkpoint", "checkpoint.pt", _training, mutated_zip),
    Target("retraining-material", "material.npz", _retraining, mutated_zip, examples=10),
    Target("mutants-material", "material.npz", _mutants, mutated_zip, examples=10),
    Target("vgg19", "vgg19.pth", _vgg19, mutated_zip, examples=10),
    Target("pipeline-index", "model_index.json", _pipeline, mutated_json, {"unet/config.json": b"{}"}),
    Target("network-card", "card.json", _network_card, mutated_json, {"net.onnx": b"any"}),
)
