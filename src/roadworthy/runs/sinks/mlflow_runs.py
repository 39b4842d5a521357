"""A stored run as MLflow runs: one for all, and nested in it one for each requirement and system."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roadworthy._importing import required
from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.runs.evidence.pairs import TestedPair, pair_results
from roadworthy.runs.store import StoredRun

ARTIFACTS = (
    "report.html",
    "summary.md",
    "results.csv",
    "junit.xml",
    "manifest.json",
    "suite.yaml",
    "SHA256SUMS",
    "evidence",
)
"""What is stored with the run in MLflow, where it is there; rows and images stay in the run's folder."""

_LONGEST_PARAMETER = 6000  # MLflow's limit
_LONGEST_TAG = 5000


@dataclass(frozen=True, slots=True)
class ExportedRuns:
    """Where the runs are in MLflow.

    Attributes:
        experiment: The id of the experiment.
        parent: The id of the run of all.
        children: The ids of the runs of each requirement and system, by both.
    """

    experiment: str
    parent: str
    children: Mapping[tuple[str, str], str]


def export_mlflow(
    run: StoredRun, *, uri: str, experiment: str = "roadworthy", artifacts: bool = True
) -> ExportedRuns:
    """Write a stored run into MLflow.

    Rates, bounds and counts become metrics; requirement, system, method, severity and the method's settings
    become parameters; tags and the summary become tags. A requirement that is violated has the status FAILED.

    Args:
        run: The run.
        uri: MLflow's tracking URI: a server, ``sqlite:///mlflow.db``, or a folder if MLflow takes one.
        experiment: The experiment; made if it is not there.
        artifacts: Whether report, manifest and evidence go along.

    Raises:
        MissingExtraError: MLflow is not installed.
        InputError: MLflow cannot write there; says why.
    """
    mlflow = required("mlflow", extra="mlflow", purpose="write runs into MLflow")
    exceptions = required("mlflow.exceptions", extra="mlflow", purpose="write runs into MLflow")
    try:
        return _export(mlflow.MlflowClient(tracking_uri=uri), run, experiment, artifacts)
    except exceptions.MlflowException as error:
        raise InputError(f"MLflow cannot write to {uri}: {' '.join(str(error).split())[:600]}") from error


def _export(client: Any, run: StoredRun, experiment: str, artifacts: bool) -> ExportedRuns:
    known = client.get_experiment_by_name(experiment)
    id = client.create_experiment(experiment) if known is None else known.experiment_id
    tested = pair_results(run)
    manifest = run.manifest or {}
    about = {
        "roadworthy.digests": _digests(manifest),
        "roadworthy.version": str((manifest.get("tool") or {}).get("version", "")),
    }
    name = run.folder.resolve().name
    parent = client.create_run(id, run_name=name, tags={key: text for key, text in about.items() if text})
    parent_id = parent.info.run_id
    for status in ("passed", "violated", "inconclusive", "not tried"):
        count = sum(1 for one in tested if one.status == status)
        client.log_metric(parent_id, f"requirements_{status.replace(' ', '_')}", count)
    if "seed" in manifest:
        client.log_param(parent_id, "seed", manifest["seed"])
    children = {(one.requirement.id, one.system): _child(client, id, parent_id, one) for one in tested}
    if artifacts:
        for path in ARTIFACTS:
            place = run.folder / path
            if place.is_dir():
                client.log_artifacts(parent_id, str(place), path)
            elif place.is_file():
                client.log_artifact(parent_id, str(place))
    failed = any(one.status == "violated" for one in tested)
    client.set_terminated(parent_id, "FAILED" if failed else "FINISHED")
    return ExportedRuns(str(id), parent_id, children)


def _child(client: Any, experiment: str, parent: str, one: TestedPair) -> str:
    requirement = one.requirement
    tags = {
        "mlflow.parentRunId": parent,
        "roadworthy.text": requirement.text[:_LONGEST_TAG],
        "roadworthy.summary": one.summary[:_LONGEST_TAG],
        "roadworthy.status": one.status,
        "roadworthy.tags": ", ".join(requirement.tags)[:_LONGEST_TAG],
    }
    made = client.create_run(experiment, run_name=f"{requirement.id} on {one.system}", tags=tags)
    id: str = made.info.run_id
    parameters = {
        "requirement": requirement.id,
        "system": one.system,
        "method": requirement.method,
        "severity": str(requirement.severity),
        "accepted_rate": requirement.acceptance.max_rate,
        **{f"parameter.{_name(key)}": value for key, value in requirement.parameters.items()},
    }
    for key, value in parameters.items():
        client.log_param(id, key, str(value)[:_LONGEST_PARAMETER])
    for key, number in _metrics(one).items():
        client.log_metric(id, key, number)
    client.set_terminated(id, "FAILED" if one.status == "violated" else "FINISHED")
    return id


def _metrics(one: TestedPair) -> dict[str, float]:
    numbers: dict[str, float] = {
        f"cases_{_name(status)}": one.counts.get(status, 0)
        for status in Status
        if status is not Status.ENGINE_ERROR or one.counts.get(status)
    }
    if one.applicable:
        numbers["failure_rate"] = one.failed / one.applicable
    measures = {} if one.outcome is None else one.outcome.measures
    for key, value in measures.items():
        if isinstance(value, bool | int | float) and math.isfinite(value):
            numbers[_name(key)] = float(value)
    return numbers


def _name(text: str) -> str:
    """Return a name as MLflow takes it: letters, digits, and a few signs."""
    return re.sub(r"[^\w./ -]+", "-", str(text)).replace(" ", "_")[:250]


def _digests(manifest: Mapping[str, Any]) -> str:
    lines = [
        f"{what} {name} {entry.get('sha256')}"
        for what in ("models", "data", "suite")
        for name, entry in (manifest.get(what) or {}).items()
    ]
    return "\n".join(lines)[:_LONGEST_TAG]
