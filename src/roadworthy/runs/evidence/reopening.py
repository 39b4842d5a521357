"""Opening again what a run was made of: its suite, models and data, as far as they can be reached."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from roadworthy._files import read_json
from roadworthy._version import __version__
from roadworthy.cases import Dataset, Outcome, OutcomeStatus, Requirement, Status, Verdict, conclude_rate
from roadworthy.cases.methods import conclude
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.models.load import is_description, spelled
from roadworthy.runs.evidence.checking import BY_RATE, Verification, is_complete
from roadworthy.runs.evidence.documents import FOLDER
from roadworthy.runs.evidence.requirement_coverage import functional_coverage, functional_document
from roadworthy.runs.gate import OFF, STREET
from roadworthy.runs.store import StoredPair, StoredRun, read_verdicts
from roadworthy.runs.store.digests import Digest, digest_of_dataset, digest_of_model
from roadworthy.runs.store.manifest import MANIFEST, differing, is_of_before, read_manifest
from roadworthy.runs.suites.forms import as_name
from roadworthy.runs.suites.kinds import kind_of
from roadworthy.runs.suites.opening import open_data
from roadworthy.runs.suites.passes import Pass
from roadworthy.runs.suites.planning import SuitePlan, engines_of, plan_suite
from roadworthy.runs.suites.reading import SUITE_FILE as SUITE
from roadworthy.runs.suites.reading import Suite, read_suite
from roadworthy.runs.suites.running import COMMAND, INCLUDED
from roadworthy.statistics import clopper_pearson_upper

_FUNCTIONAL = "functional_coverage.json"
# Kinds of models that are data: opening one runs no code and reaches no other machine.
_HARMLESS = ("onnx", "recorded", "opencv", "darknet")


def plan_of(folder: Path, suite: Path | None = None, *, allow_commands: bool = False) -> SuitePlan:
    """Return what a run was made of, opened again with the settings that it was run with.

    Args:
        folder: The folder of the run.
        suite: The suite file where it stands. When left out it is the copy in the run, with the copies of
            the files that requirements were read from. Its relative paths to models and data lead somewhere
            only if the run lies beside them, and it is not trusted: a run may come from somebody else. Paths
            in what another command than `roadworthy run` wrote count from the folder one is in.
        allow_commands: Whether engines of the user may run programs and code.

    Raises:
        InputError: The run was not made from a suite, or something that the suite names cannot be reached,
            or the copy in the run names what could run code.
    """
    manifest = read_manifest(folder)
    path = suite or folder / SUITE
    if manifest is None or not (folder / SUITE).is_file():
        lacking = MANIFEST if manifest is None else SUITE
        raise InputError(f"{folder} does not say how models and data were opened: it has no {lacking}")
    if suite is not None and suite.read_bytes() != (folder / SUITE).read_bytes():
        raise InputError(f"{suite} is not the suite of this run: it differs from {folder / SUITE}")
    settings: dict[str, Any] = manifest.get("settings", {})
    of_command = COMMAND in settings
    read = read_suite(path, Path() if of_command else None, of_run=True)
    gate = _gate_of(settings, folder / MANIFEST)
    if suite is None:
        _check_harmless(read, gate)
    elif gate != read.form.gate and not allow_commands and not _is_harmless_gate(gate, read.folder):
        # The suite is trusted, the manifest is not.
        raise InputError(
            f"{folder / MANIFEST} names the gate {gate}, which may run code or reach another machine, and "
            f"{suite} does not: if you trust it, allow commands"
        )
    pairs = StoredRun.open(folder).pairs
    if manifest["format"] > 1:
        only = tuple(map(str, manifest.get("only", ())))
    else:
        # What was asked for was not written down.
        only = () if of_command else tuple(dict.fromkeys(pair.requirement.id for pair in pairs))
    plan = plan_suite(
        read,
        only=only,
        sample=settings.get("sample"),
        seed=manifest.get("seed"),
        gate=gate,
        allow_commands=allow_commands,
        copies=folder / INCLUDED if suite is None else None,
    )
    return _as_stored(plan, manifest, pairs) if of_command else plan


def _as_stored(plan: SuitePlan, manifest: Mapping[str, Any], pairs: Iterable[StoredPair]) -> SuitePlan:
    """Return the plan of a command's suite with the names that its run has for models, data and ids."""

    def named(names: Iterable[str]) -> dict[str, str]:
        return {as_name(one): one for one in names}

    ids = named(pair.requirement.id for pair in pairs)
    models, data = named(manifest.get("models", {})), named(manifest.get("data", {}))
    return replace(
        plan,
        trials=[
            replace(
                trial,
                requirement=replace(
                    trial.requirement, id=ids.get(trial.requirement.id, trial.requirement.id)
                ),
                data=data.get(trial.data, trial.data),
                models=tuple(models.get(one, one) for one in trial.models),
            )
            for trial in plan.trials
        ],
        models={models.get(name, name): one for name, one in plan.models.items()},
        data={data.get(name, name): one for name, one in plan.data.items()},
    )


def _gate_of(settings: Mapping[str, Any], manifest: Path) -> str:
    """Return the name of the gate that a run had; runs of before there was a gate had none."""
    gate = settings.get("gate", OFF)
    if not isinstance(gate, str) or not gate:
        raise InputError(f"{manifest} must name the gate in its settings as text, got {gate!r}")
    return gate


def _check_harmless(suite: Suite, gate: str) -> None:
    """Refuse a run whose suite or gate could run code or reach another machine."""
    named = [form.model for form in suite.form.models.values() if not _is_harmless(form.model, suite.folder)]
    if not _is_harmless_gate(gate, suite.folder):
        raise InputError(_distrusted(MANIFEST, gate))
    _check_labellers(suite)
    for entry in suite.form.requirements.values():
        named += [one for one in getattr(entry, "simulator", ()) if one.partition(":")[0] != "world"]
    if named:
        raise InputError(_distrusted(suite.path.name, named[0]))


def _check_labellers(suite: Suite) -> None:
    """Refuse data that lies elsewhere, or whose labels, depth or boxes come from what could run code."""
    for form in suite.form.data.values():
        for place in (form.data, *map(str, form.options.values())):
            if "://" in place:
                raise InputError(_distrusted(suite.path.name, place))
        for what in ("labels", "depth", "boxes"):
            for source in str(form.options.get(what, "own")).split(","):
                name = source.strip()
                known = name in ("", "none", "own", "street") or name.startswith("folder:")
                if not known and not _is_harmless(name, suite.folder):
                    raise InputError(_distrusted(suite.path.name, f"{what}={name}"))


def _distrusted(file: str, name: str) -> str:
    return (
        f"{file} came with the run and names {name}, which may run code or reach another machine: if you "
        "trust it, name the suite yourself, as in --suite night.suite.yaml, after unpacking a zip file"
    )


def _is_harmless_gate(name: str, folder: Path) -> bool:
    return name in (STREET, OFF) or _is_harmless(name, folder)


def _is_harmless(reference: str, folder: Path) -> bool:
    # A description may name a model of any kind, and its own name may look like anything, "onnx:a.YAML" too.
    if is_description(reference, folder):
        return False
    # A file alone is of the kind that its ending tells, and a name is of what its user has installed.
    kind, colon, _ = spelled(reference, folder).partition(":")
    return not colon or kind in _HARMLESS


def data_of(run: StoredRun, suite: Path | None = None) -> dict[str, Dataset] | str:
    """Return the data sets that were tried by their names, or why they cannot be opened; opens no model."""
    if run.manifest is None or not (run.folder / SUITE).is_file():
        return "because the run was not made from a suite"
    try:
        settings = run.manifest.get("settings", {})
        of_command = COMMAND in settings
        read = read_suite(suite or run.folder / SUITE, Path() if of_command else None, of_run=True)
        if suite is None:
            _check_labellers(read)
        entries = read.form.requirements.values()
        learned = {name for entry in entries for name in kind_of(entry).learns_from(entry)}
        learned -= {str(pair.about.get("data")) for pair in run.pairs}
        return {
            name: open_data(name, form, read.folder, sample=settings.get("sample")).frames
            for name in run.manifest.get("data", {})
            if (form := read.form.data.get(as_name(name) if of_command else name)) is not None
            and name not in learned
        }
    except RoadworthyError as error:
        return f"because the data cannot be opened again: {_first_line(error)}"


def functional_of(
    run: StoredRun, suite: Path | None = None, *, domain: Path | None = None
) -> dict[str, Any] | str:
    """Return what part of an operating domain a run's data touches, as a document, or why that is not known.

    Args:
        run: The run.
        suite: The suite file where it stands, if not in the run.
        domain: The file that declares the domain; that of Roadworthy when left out.
    """
    data = data_of(run, suite)
    if isinstance(data, str):
        return data
    if not data:
        return "because the run used no data"
    return functional_document(functional_coverage(data.values(), domain=domain), data)


def check_present(folder: Path, found: Verification, suite: Path | None = None) -> None:
    """Compare the models and data that are here now with the digests of the manifest; conclude again.

    What differs is added to the findings, and what cannot be reached to the notes.

    Args:
        folder: The folder of the run.
        found: Where to add.
        suite: The suite file where it stands, if not in the run.
    """
    try:
        plan = plan_of(folder, suite)
    except RoadworthyError as error:
        hint = "" if "--suite" in str(error) or suite is not None else "; --suite FILE may help"
        found.notes.append(f"models and data were not compared: {_first_line(error)}{hint}")
        return
    stored = StoredRun.open(folder)
    manifest = stored.manifest or {}
    present: dict[str, dict[str, Digest]] = {
        "models": {name: digest_of_model(one.system) for name, one in plan.models.items()},
        "data": {name: digest_of_dataset(one.frames.hashed) for name, one in plan.data.items()},
        "engines": engines_of(plan),
    }
    for what in ("models", "data", "engines"):
        for name, record in manifest.get(what, {}).items():
            _compare(f"{what.removesuffix('s')} {name}", record, present[what].get(name), found)
    if is_complete(manifest):
        _compare_pairs(stored, plan, found)
    conclude_again(stored, plan, found)
    _compare_functional(stored, suite, found)


def _compare_functional(run: StoredRun, suite: Path | None, found: Verification) -> None:
    """See that the data touches as much of the operating domain as the run says."""
    path = run.folder / FOLDER / _FUNCTIONAL
    if not path.is_file():
        return
    name, there, given = f"{FOLDER}/{_FUNCTIONAL}", read_json(path), functional_of(run, suite)
    if isinstance(given, str):
        found.notes.append(f"{name} was only hashed, {given}")
    elif not isinstance(there, Mapping) or there.get("domain") == given["domain"]:
        if there != json.loads(json.dumps(given)):
            told = "it does not say what the data gives"
            if (run.manifest or {}).get("tool") == {"name": "roadworthy", "version": __version__}:
                found.add("document", name, told)
            else:
                found.notes.append(f"{name}: {told}, by this version")
    else:
        found.notes.append(f"{name} was only hashed: it is of a domain of yours, {there.get('domain')}")


def _compare_pairs(run: StoredRun, plan: SuitePlan, found: Verification) -> None:
    """See that all that the suite comes to was tried, and is in the run what it is in the suite."""
    stored = {(pair.requirement.id, pair.system): pair for pair in run.pairs}
    for trial, model in plan.pairs:
        where = f"{trial.requirement.id} on {model}"
        if (pair := stored.get((trial.requirement.id, model))) is None:
            found.add("requirement", where, f"{SUITE} asks for it, and there are no rows of it")
        elif pair.requirement.text != trial.requirement.text and not _ruled_otherwise(run, pair):
            detail = f"{SUITE} says {trial.requirement.text!r}, the run says {pair.requirement.text!r}"
            found.add("requirement", where, detail)


def conclude_again(run: StoredRun, plan: SuitePlan, found: Verification) -> None:
    """See whether each outcome is what the suite's requirement makes of the rows."""
    trials = {trial.requirement.id: trial for trial in plan.trials}
    for pair in run.pairs:
        trial, told = trials.get(pair.requirement.id), pair.outcome
        if trial is None or told is None or told.unanswered:
            continue
        # By the rule of then it was concluded again from its rows, without the suite.
        if _ruled_otherwise(run, pair):
            continue
        of_before = is_of_before(run.manifest) and pair.requirement.method in BY_RATE
        method = Pass(plan, (trial,), frozenset([(trial.requirement.id, pair.system)])).method()
        try:
            if of_before:
                again = _as_before(pair.requirement, read_verdicts(pair.folder))
            else:
                again = conclude(method, trial.requirement, read_verdicts(pair.folder))
        except InputError:
            continue  # a row contradicts itself, which is among the findings
        if of_before:
            # A search may fail for want of coverage, and methods added to the sentence.
            searched = pair.requirement.method == "coverage" and told.status is OutcomeStatus.VIOLATED
            status, counts, numbers = _said(again)
            same = (status == told.status or searched) and counts == told.counts
            same = same and Counter(numbers) <= Counter(_said(told)[2])
        else:
            same = _said(again) == _said(told)
        if not same:
            detail = (
                f"the run says {told.status} ({told.summary}), its rows say {again.status} ({again.summary})"
            )
            found.add("outcome", f"{pair.requirement.id} on {pair.system}", detail)


def _ruled_otherwise(run: StoredRun, pair: StoredPair) -> bool:
    """Return whether another rule decided a requirement of a run than would today."""
    return is_of_before(run.manifest) and pair.requirement.method == "reliability"


def _as_before(requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
    """Conclude as runs of before did: by the rate seen and the upper bound of it, from cases alone."""
    found = conclude_rate(requirement, verdicts)
    if found.rate is None:
        return found
    judged = sum(number for status, number in found.counts.items() if status.is_judged)
    failed, confidence = judged - found.counts[Status.PASSED], requirement.acceptance.confidence
    bound = clopper_pearson_upper(failed, judged, confidence)
    summary = (
        f"{failed} of {judged} applicable cases failed ({found.rate:.1%}, at most {bound:.1%} with "
        f"{100 * confidence:.12g}% confidence)"
    )
    return replace(found, summary=summary)


def _said(outcome: Outcome) -> tuple[OutcomeStatus, Mapping[Status, int], list[str]]:
    """Return what an outcome comes to, whatever words a version of Roadworthy has for it."""
    return outcome.status, outcome.counts, sorted(re.findall(r"\d+(?:\.\d+)?", outcome.summary))


def _compare(title: str, record: Mapping[str, Any], here: Digest | None, found: Verification) -> None:
    if (told := record.get("sha256")) is None:
        found.notes.append(f"{title} was not hashed when the run was made, so it cannot be compared")
    elif here is None or here.sha256 is None:
        found.notes.append(f"{title} cannot be reached, so it was not compared")
    elif here.sha256 != told:
        detail = f"the run was made with sha256 {told[:16]}…, here it is {here.sha256[:16]}…"
        found.add("manifest", title, detail)
    elif record.get("settings", {}) != here.settings:
        part, before, now = differing(f"{title} settings", record.get("settings", {}), here.settings)
        detail = f"the run was made with {before!r}, here it is {now!r}"
        found.add("manifest", part, detail)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
