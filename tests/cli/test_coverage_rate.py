"""How often a model fails in the operating domain of a search."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import Result

from roadworthy.runs import read_rows
from roadworthy.runs.store import StoredRun

Run = Callable[..., Result]
FEW = ("--data", "world:town", "-o", "size=160x80", "--sample", "6", "--tries", "20", "--out", "found")


@pytest.fixture
def found(roadworthy: Run) -> None:
    result = roadworthy("coverage", "search", *FEW, "-t", "rotation", "-t", "brightness", "-t", "blur")
    assert result.exit_code in (0, 1), result.output


@pytest.mark.usefixtures("found")
def test_it_is_estimated_from_what_the_search_found(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("coverage", "rate", "found", "--tries", "36", "--allow", "95%", "--out", "rate")
    assert result.exit_code in (0, 1, 3), result.output
    assert "of the operating domain fails" in " ".join(result.output.split())
    assert "36 tries on 6 clusters" in " ".join(result.output.split())
    (entry,) = yaml.safe_load((tmp_path / "rate" / "suite.yaml").read_text())["requirements"].values()
    assert (entry["search"], entry["tries"], entry["accept"]) == ("sampled", 36, {"rate": 0.95})
    # Half alike, half as often as the search found failures with them.
    (search,) = StoredRun.open(tmp_path / "found").pairs
    failing = [str(row["param.transform"]) for row in read_rows(search.folder) if row["status"] == "violated"]
    times = np.array(
        [sum(f"{one}(" in each for each in failing) for one in ("rotation", "brightness", "blur")]
    )
    assert times.any()
    assert entry["shares"] == pytest.approx((times / times.sum() + 1 / 3) / 2, abs=1e-5)
    (sample,) = StoredRun.open(tmp_path / "rate").pairs
    rows = [row for row in read_rows(sample.folder) if row.get("param.transform")]
    losses = [float(str(row["measure.weight"])) * (row["status"] == "violated") for row in rows]
    assert sample.outcome is not None
    assert sample.outcome.rate == pytest.approx(min(1.0, np.mean(losses)))
    assert roadworthy("evidence", "verify", "rate").exit_code == 0


@pytest.mark.usefixtures("found")
def test_another_seed_draws_others_and_the_same_the_same(roadworthy: Run, tmp_path: Path) -> None:
    drawn = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        roadworthy("coverage", "rate", "found", "--tries", "12", "--seed", seed, "--out", name)
        (pair,) = StoredRun.open(tmp_path / name).pairs
        drawn[name] = [row.get("param.transform") for row in read_rows(pair.folder)]
    assert drawn["a"] == drawn["b"] != drawn["c"]


def test_a_run_without_a_search_is_refused(roadworthy: Run) -> None:
    rule = "If it rains, the steering angle should stay the same."
    data = ("--data", "world:town", "--sample", "2", "--out", "ruled")
    assert roadworthy("rules", "run", "--rule", rule, "--model", "dave2", *data).exit_code in (0, 1)
    result = roadworthy("coverage", "rate", "ruled")
    assert result.exit_code == 2
    assert "ruled has no search: give the folder of coverage search" in " ".join(result.output.split())
    missing = roadworthy("coverage", "rate", "nowhere")
    assert missing.exit_code == 2
    assert "nowhere" in missing.output


@pytest.mark.usefixtures("found")
def test_it_is_refused_elsewhere(roadworthy: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    suite = """\
models: dave2
data: {town: {data: world:town, sample: 2, options: {size: 160x80}}}
requirements:
  C1: {coverage: neuron, tries: 2, transforms: rotation}
"""
    Path("elsewhere/s.suite.yaml").write_text(suite)
    assert roadworthy("run", "elsewhere/s.suite.yaml", "--out", "of suite").exit_code in (0, 1)
    result = roadworthy("coverage", "rate", "of suite")
    assert result.exit_code == 2
    assert "run this there" in " ".join(result.output.split())


def test_models_and_data_of_a_search_are_kept(
    roadworthy: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = """\
models: [dave2, epoch]
data:
  town: {data: world:town, sample: 2, options: {size: 160x80}}
  coast: {data: world:coast, sample: 2, options: {size: 160x80}}
defaults: {accept: 20%}
requirements:
  C1: {coverage: neuron, tries: 3, transforms: rotation, models: dave2, data: coast}
  C2: {coverage: neuron, tries: 3, transforms: rotation, models: epoch, data: [town, coast]}
"""
    Path("s.suite.yaml").write_text(suite)
    assert roadworthy("run", "s.suite.yaml", "--out", "searched").exit_code in (0, 1)
    monkeypatch.chdir("searched")
    result = roadworthy("coverage", "rate", ".", "--tries", "2", "--json", "--out", "../rate")
    assert result.exit_code in (0, 1, 3), result.output
    tested = {
        (pair.requirement.id, pair.system, pair.about["data"])
        for pair in StoredRun.open(tmp_path / "rate").pairs
    }
    assert tested == {
        ("C1", "dave2", "coast"), ("C2-town", "epoch", "town"), ("C2-coast", "epoch", "coast"),
    }  # fmt: skip
    assert json.loads(result.stdout)["search"] == "."
