"""DeepTest's studies on real frames, with networks that were trained on earlier ones of the same drive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.images import read_image

MODELS = "--model dave2-udacity --model epoch-udacity"


def study(real_data: Path, out: Path, words: str) -> dict[str, Any]:
    # The networks were trained on the first 3600 frames.
    command = f"coverage study {words} {MODELS} -d udacity-ch2:{real_data / 'udacity_ch2'} --frames 3600:"
    result = CliRunner().invoke(app, f"{command} --out {out} --json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_coverage_goes_with_the_direction(real_data: Path, tmp_path: Path) -> None:
    rows = study(real_data, tmp_path, "directions --sample 300")["rows"]
    dave2, epoch = (
        next(row for row in rows if row["model"] == model and row["part"] == "all")
        for model in ("dave2-udacity", "epoch-udacity")
    )
    # The two networks go opposite ways: coverage says nothing about a direction that holds for all.
    assert dave2["correlation"]["value"] < -0.15
    assert dave2["effect"] > 0.3
    assert epoch["correlation"]["value"] > 0.15
    assert epoch["effect"] < -0.5
    assert dave2["images"] == dave2["left"] + dave2["right"] == 300


def test_other_frames_cover_more_than_changes_of_one(real_data: Path, tmp_path: Path) -> None:
    document = study(real_data, tmp_path, "change --sample 14")
    for model in document["models"]:
        rows = {row["transformation"]: row for row in document["rows"] if row["model"] == model}
        assert rows["blur"]["together"] < rows["translation"]["together"]
        assert all(row["together"] >= 0 for row in rows.values())
        assert rows["other seed images"]["together"] > rows["rotation"]["together"]


def test_the_oracle_and_its_unit(real_data: Path, tmp_path: Path) -> None:
    document = study(real_data, tmp_path, "deviation --sample 16 -t rotation -t rain --check 4")
    assert document["unit"] == "rad"
    assert all("rad^2" in statement for statement in document["statements"])
    for model in document["models"]:
        rows = {row["changes"]: row for row in document["rows"] if row["model"] == model}
        assert set(rows) == {"simple, all", "simple, ε = 0.03", "rain"}
        everything, kept = rows["simple, all"], rows["simple, ε = 0.03"]
        assert everything["images"] == 160 >= kept["images"]
        assert everything["violations"] >= kept["violations"] >= kept["inherited"]
        assert everything["findings"] <= everything["violations"]
    for file in tmp_path.glob("checks-*.png"):
        assert min(read_image(file).shape[:2]) > 200


@pytest.mark.parametrize("counting", ["distinct", "deeptest"])
def test_jaccard_distances(real_data: Path, tmp_path: Path, counting: str) -> None:
    words = f"transformations --sample 4 -t rotation -t contrast --counting {counting}"
    document = study(real_data, tmp_path, words)
    for row in document["distances"]:
        first, median, third = row["quartiles"]
        assert 0 <= row["lowest"] <= first <= median <= third <= row["highest"] <= 1
    shares = [row["share"] for row in document["cumulative"] if row["model"] == "dave2-udacity"]
    assert shares[0] < shares[-1]
