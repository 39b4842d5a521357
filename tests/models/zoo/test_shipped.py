"""The networks that come with the package, and how they are opened without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from roadworthy._files import read_json
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.models import Network
from roadworthy.models.description import sections
from roadworthy.models.zoo import SHIPPED, architecture, load_module
from roadworthy.models.zoo import saved as shipped
from roadworthy.models.zoo.saved import open_shipped, weights_folder
from roadworthy.training import export

PRESENT = sorted(name for name in SHIPPED if (weights_folder() / f"{name}.onnx").is_file())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of weights with an untrained network in it."""
    import json

    variant = architecture("dave2").variant()
    export(variant.build(), variant, tmp_path / "dave2.onnx")
    (tmp_path / "dave2.json").write_text(json.dumps(sections(variant.spec)))
    monkeypatch.setattr(shipped, "weights_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_shipped_network_knows_its_input_and_units() -> None:
    network = open_shipped("dave2", threads=1)
    assert network.spec.input.crop == (0.3375, 0)
    assert network.name == "dave2"
    answers = network.predict(list(load("world:town", count=3)))
    assert all(set(one.as_dict()) == {"steering", "speed"} for one in answers)


@pytest.mark.usefixtures("folder")
def test_missing_weights_say_how_to_make_them() -> None:
    with pytest.raises(InputError, match=r"'epoch' are not in this installation .*make_weights"):
        open_shipped("epoch")


@pytest.mark.parametrize("name", PRESENT)
def test_shipped_networks_agree_with_torch(name: str) -> None:
    network = open_shipped(name)
    assert isinstance(network, Network)
    frames = list(load("world", count=5, history=network.input.history))
    images = network.input.tensor([network.input.view(frame) for frame in frames])
    with torch.inference_mode():
        expected = load_module(name)(torch.from_numpy(images)).numpy()
    (found,) = network.runtime.run(images, frames).values()
    assert np.abs(np.asarray(found) - expected).max() < 1e-4


def test_every_shipped_file_has_a_name_and_a_card() -> None:
    for file in weights_folder().glob("*.onnx"):
        assert file.stem in SHIPPED
        assert file.with_suffix(".json").is_file()


@pytest.mark.parametrize("name", PRESENT[:1])
def test_shipped_networks_run_without_torch(name: str) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['onnx'] = None\n"
        "from roadworthy.models.zoo.saved import open_shipped; from roadworthy.datasets import load\n"
        f"network = open_shipped({name!r})\n"
        "print(len(network.predict(list(load('world', count=2, history=network.input.history)))))"
    )
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "2\n"


def test_all_of_them_are_there_and_small() -> None:
    sizes = {name: (weights_folder() / f"{name}.onnx").stat().st_size for name in PRESENT}
    assert set(SHIPPED) == set(PRESENT)
    assert sum(sizes.values()) <= 17e6
    assert sum(size for name, size in sizes.items() if not name.endswith("-speed")) <= 13.5e6


@pytest.mark.parametrize("name", PRESENT)
def test_every_card_says_how_good_the_network_is_on_what_it_has_not_seen(name: str) -> None:
    card = read_json(weights_folder() / f"{name}.json")
    roles = {one["role"]: one["name"] for one in card["data"]}
    measures = {one["name"]: one["value"] for one in card["measures"]}
    if name.endswith("speed"):
        assert "coast" not in str([one for one in card["data"] if one["role"] == "training"])
        assert measures["speed RMSE"] < 0.3 * measures["speed RMSE of always 0"]
        assert "between 20.1 and 23.3 m/s" in card["limits"]
        return
    if name == "path":
        world = {one["name"]: one["value"] for one in card["held_out"][1]["measures"]}
        assert world["average displacement"] < 0.7 * world["average displacement of the mean path"]
        return
    assert set(roles) == {"training", "validation", "evaluation"}
    if name.endswith("udacity"):
        assert measures["steering RMSE"] < measures["steering RMSE of always 0"]
        return
    assert "coast,village" in roles["evaluation"]
    assert "coast" not in roles["training"] + roles["validation"]
    if card["laps"]:
        assert measures["steering RMSE"] < 0.2 * measures["steering RMSE of always 0"]
        assert all(lap["share"] >= 1 for lap in card["laps"])
    else:
        assert max(measures.get("mAP@0.5", 0), measures.get("accuracy", 0)) > 0.8
