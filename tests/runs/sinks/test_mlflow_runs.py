from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import Status
from roadworthy.errors import InputError, MissingExtraError
from roadworthy.runs.sinks.mlflow_runs import _digests, _metrics, _name, export_mlflow
from roadworthy.runs.store import StoredRun


def test_without_mlflow_the_extra_is_named(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'roadworthy\[mlflow\]'"):
        export_mlflow(stored, uri="sqlite:///mlflow.db")


@pytest.fixture
def mlflow_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder for MLflow, which takes one only where it is told to; nothing leaves the machine."""
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    return (tmp_path / "mlruns").as_uri()


@pytest.mark.filterwarnings("ignore")
def test_requirements_are_runs_inside_the_run(stored: StoredRun, mlflow_folder: str) -> None:
    from mlflow import MlflowClient  # type: ignore[import-not-found,unused-ignore]

    (stored.folder / "evidence").mkdir()
    (stored.folder / "evidence" / "README.md").write_text("# Evidence")
    (stored.folder / "summary.md").write_text("# Summary")
    found = export_mlflow(stored, uri=mlflow_folder, experiment="nightly")
    client = MlflowClient(tracking_uri=mlflow_folder)
    parent = client.get_run(found.parent)
    assert parent.info.run_name == "night run"
    assert parent.info.status == "FAILED"
    # 3 of 9 cases fail and 10% may: their lower bound is 9.8%.
    assert parent.data.metrics["requirements_violated"] == 1
    assert parent.data.metrics["requirements_inconclusive"] == 1
    inside = client.search_runs([found.experiment], f"tags.mlflow.parentRunId = '{found.parent}'")
    assert {run.info.run_id for run in inside} == set(found.children.values())
    child = client.get_run(found.children["R1", "dave2"])
    assert child.data.params["severity"] == "critical"
    assert child.data.params["parameter.same"] == "{'speed': '10%'}"
    assert child.data.metrics["failure_rate"] == pytest.approx(1 / 3)
    assert child.data.metrics["cases_violated"] == 3
    assert child.data.metrics["upper_bound"] > 1 / 3 > child.data.metrics["lower_bound"] > 0.09
    assert (child.data.metrics["clusters"], child.data.metrics["effective_cases"]) == (9, 9)
    assert child.data.tags["roadworthy.tags"] == "rain, ISO 21448:2022 7.3"
    assert "worst_margin" not in client.get_run(found.children["S1", "detector"]).data.metrics
    names = {item.path for item in client.list_artifacts(found.parent)}
    assert names == {"evidence", "summary.md"}


@pytest.mark.filterwarnings("ignore")
def test_an_experiment_is_gone_on_with(stored: StoredRun, mlflow_folder: str) -> None:
    first, second = (export_mlflow(stored, uri=mlflow_folder, artifacts=False) for _ in range(2))
    assert first.experiment == second.experiment
    assert first.parent != second.parent


@pytest.mark.filterwarnings("ignore")
def test_where_mlflow_does_not_write_the_reason_is_told(stored: StoredRun, mlflow_folder: str) -> None:
    with pytest.raises(InputError, match="MLflow cannot write to nosuch://place"):
        export_mlflow(stored, uri="nosuch://place")


def test_numbers_and_names_are_as_mlflow_takes_them() -> None:
    counts = {Status.PASSED: 3, Status.VIOLATED: 1, Status.ENGINE_ERROR: 0}
    bare: Any = SimpleNamespace(counts=counts, applicable=4, failed=1, outcome=None)
    usual = {"cases_passed": 3, "cases_violated": 1, "cases_not_applicable": 0, "cases_error": 0}
    assert _metrics(bare) == {**usual, "failure_rate": 0.25}
    measures = {"bound": 0.5, "ok": True, "words": "x", "worst": -math.inf, "odd name": 2}
    concluded: Any = SimpleNamespace(
        counts={**counts, Status.ENGINE_ERROR: 2},
        applicable=0,
        failed=0,
        outcome=SimpleNamespace(measures=measures),
    )
    assert _metrics(concluded) == {**usual, "cases_engine_error": 2, "bound": 0.5, "ok": 1.0, "odd_name": 2.0}
    assert _name("a b/c:d*") == "a_b/c-d-"
    assert len(_name("x" * 300)) == 250
    manifest = {"models": {"net": {"sha256": "a"}}, "data": {"town": {}}, "suite": None, "engines": {"x": {}}}
    assert _digests(manifest) == "models net a\ndata town None"
    assert len(_digests({"models": {"x" * 9000: {}}})) == 5000
