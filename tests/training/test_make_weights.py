"""The script that makes the shipped weights, from start to end on next to nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.make_weights import main

from roadworthy.models import load_model
from roadworthy.models.zoo import SHIPPED, load_module
from roadworthy.training.recipes import RECIPES


def test_a_quick_run_leaves_network_card_and_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "chauffeur", "--out", str(tmp_path)]) == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "chauffeur.json",
        "chauffeur.log",
        "chauffeur.onnx",
    ]
    card = json.loads((tmp_path / "chauffeur.json").read_text())
    assert card["architecture"] == "chauffeur"
    assert [one["role"] for one in card["data"]] == ["training", "validation", "evaluation"]
    assert card["data"][0]["name"].startswith("world:meadow,town,mountain weather=all")
    assert card["data"][2]["name"].startswith("world:coast,village weather=all")
    assert len(card["data"][0]["sha256"]) == 64
    assert {"steering MAE", "speed RMSE"} <= {one["name"] for one in card["measures"]}
    assert [(one["track"], one["traffic"]) for one in card["laps"]] == [("meadow", 0), ("meadow", 1)]
    log = (tmp_path / "chauffeur.log").read_text()
    assert "epoch 1: loss" in log
    assert "answers differ by" in log
    assert capsys.readouterr().out == log
    network = load_model(f"onnx:{tmp_path / 'chauffeur.onnx'}", input=card["input"], output=card["output"])
    assert network.input.history == 4  # type: ignore[attr-defined]
    assert sum(one.numel() for one in load_module(tmp_path).parameters()) == card["parameters"]


def test_every_shipped_network_has_a_recipe() -> None:
    # Those that know real frames with speed, and the planner: scripts/street/speed.py.
    assert set(RECIPES) == {name for name in SHIPPED if not name.endswith("-speed") and name != "path"}
    for recipe in RECIPES.values():
        assert recipe.variant.outputs


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--only", "dave3"], "there is no recipe 'dave3': did you mean 'dave2'"),
        (["--only", "dave2-udacity"], "need the folder of Udacity's challenge 2: --udacity FOLDER"),
    ],
)
def test_what_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(["--quick", "--out", str(tmp_path), *arguments]) == 2
    assert complaint in capsys.readouterr().err
