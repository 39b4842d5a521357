from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from roadworthy.cli.driving import app
from roadworthy.driving.drives.readers import read_drive
from roadworthy.errors import InputError


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def run(*args: str) -> Result:
    return CliRunner().invoke(app, ["mutate", *args])


def test_mutants_are_made_written_and_told_apart(tmp_path: Path) -> None:
    result = run("--operators", "GF,LD", "--ratios", "0.01", "--layers", "2", "--out", "made")
    assert result.exit_code == 0, result.output
    assert "3 mutants of dave2: 2 not driven, 1 equivalent" in result.output
    assert "give --drive meadow" in result.output
    assert "lap" not in result.output.split()
    names = sorted(one.parent.name for one in (tmp_path / "made").glob("*/model.yaml"))
    assert names[0] == "GF-0.01"
    assert "LD-features.8" in names
    assert (tmp_path / "made" / "mutants.csv").read_text().count("\n") == 4


def test_one_that_crosses_a_line_is_crashing_and_its_drive_is_kept() -> None:
    result = run("--operators", "LD", "--layers", "1", "--drive", "meadow", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["mutants"]
    assert (row["name"], row["fate"], row["reason"]) == ("LD-features.8", "crashing", "line crossing")
    assert 0 < row["lap"]["share"] < 0.1
    driven = read_drive("mutants/LD-features.8")
    assert (driven.name, driven.ended) == ("LD-features.8", "line crossing")


def test_a_mutant_can_be_made_again(tmp_path: Path) -> None:
    assert run("--operators", "NS", "--ratios", "0.03", "--seed", "5", "--out", "made").exit_code == 0
    first = tmp_path / "made" / "NS-0.03-seed5" / "mutant.json"
    result = run("--again", str(first), "--out", "again", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["mutants"]
    assert row["model_sha256"] == json.loads(first.read_text())["model_sha256"]


def test_every_layer_is_listed_with_the_reason() -> None:
    result = run("--operators", "LD", "--list", "--json")
    found = {one["layer"]: one for one in json.loads(result.stdout)}
    assert found["features.0"]["refused"] == "it turns 3 channels into 24"
    assert "padded" in found["features.8"]["note"]
    assert "no: it turns 3 channels into 24" in run("--operators", "LD", "--list").output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--operators", "GFX"), "no operator 'GFX'"),
        (("--ratios", "much"), "--ratios are numbers"),
        (("--ratios", "3"), "at most 1, got 3"),
        (("--layers", "0", "--operators", "LR"), "layers must be 1 or more"),
        (("--model", "dave9"), "there are no weights 'dave9'"),
        (("--drive", "moon"), "moon"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], problem: str) -> None:
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    assert problem in str(error)


def test_another_json_is_no_mutant(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    error = run("--again", "other.json").exception
    assert isinstance(error, InputError)
    assert "expected the mutant.json" in str(error)
