"""Opening again what a run was made of: its suite, models and data, as far as they can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.runs.evidence.checking import Finding, Verification
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.digests import (
    Digest,
    FileDigests,
    digest_of_dataset,
    digest_of_model,
)
from roadworthy.runs.store.manifest import read_manifest
from roadworthy.runs.suites.planning import SuitePlan, plan_suite
from roadworthy.runs.suites.reading import read_suite

__all__ = ["check_present", "data_of", "plan_of"]

SUITE = "suite.yaml"


def plan_of(folder: Path, suite: Path | None = None, *, allow_commands: bool = False) -> SuitePlan:
    """Return what a run was made of, opened again with the settings that it was run with.

    Args:
        folder: The folder of the run.
        suite: The suite file where it stands; the copy in the run when left out, whose relative paths lead
            somewhere only if the run lies beside what the suite names.
        allow_commands: Whether engines of the user may run programs and code.

    Raises:
        InputError: The run was not made from a suite, or something that the suite names cannot be reached.
    """
    manifest = read_manifest(folder)
    path = suite or folder / SUITE
    if manifest is None or not (folder / SUITE).is_file():
        raise InputError(f"{folder} was not made by `roadworthy run`: it has no manifest.json and {SUITE}")
    if suite is not None and suite.read_bytes() != (folder / SUITE).read_bytes():
        raise InputError(f"{suite} is not the suite of this run: it differs from {folder / SUITE}")
    settings: dict[str, Any] = manifest.get("settings", {})
    return plan_suite(
        read_suite(path),
        only=tuple(dict.fromkeys(pair.requirement.id for pair in StoredRun.open(folder).pairs)),
        sample=settings.get("sample"),
        seed=manifest.get("seed"),
        allow_commands=allow_commands,
    )


def data_of(run: StoredRun, suite: Path | None = None) -> dict[str, Dataset] | str:
    """Return the data sets of a run by their names, or why they cannot be opened."""
    try:
        plan = plan_of(run.folder, suite)
    except RoadworthyError as error:
        return f"because the data cannot be opened again: {_first_line(error)}"
    return {name: one.frames for name, one in plan.data.items()}


def check_present(folder: Path, found: Verification, suite: Path | None = None) -> None:
    """Compare the models, data and suite that are here now with the digests of the manifest.

    What differs is added to the findings, and what cannot be reached to the notes.

    Args:
        folder: The folder of the run.
        found: Where to add.
        suite: The suite file where it stands, if not in the run.
    """
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        found.notes.append(f"models and data were not compared: {error}")
        return
    if manifest is None:
        found.notes.append("models and data were not compared: the run has no manifest")
        return
    try:
        plan = plan_of(folder, suite)
    except RoadworthyError as error:
        found.notes.append(f"models and data were not compared: {_first_line(error)}; --suite FILE may help")
        return
    files = FileDigests()
    present: dict[str, dict[str, Digest]] = {
        "models": {name: digest_of_model(one.system, files) for name, one in plan.models.items()},
        "data": {name: digest_of_dataset(one.frames.hashed) for name, one in plan.data.items()},
    }
    for what in ("models", "data"):
        for name, record in manifest.get(what, {}).items():
            _compare(what, name, record.get("sha256"), present[what].get(name), found)


def _compare(what: str, name: str, told: str | None, here: Digest | None, found: Verification) -> None:
    title = f"{what.removesuffix('s')} {name}"
    if told is None:
        found.notes.append(f"{title} was not hashed when the run was made, so it cannot be compared")
    elif here is None or here.sha256 is None:
        found.notes.append(f"{title} cannot be reached, so it was not compared")
    elif here.sha256 != told:
        detail = f"the run was made with sha256 {told[:16]}…, here it is {here.sha256[:16]}…"
        found.findings.append(Finding("manifest", title, detail))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
