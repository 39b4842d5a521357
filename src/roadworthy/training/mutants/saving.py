"""Mutants in files: each in a folder that every command opens as a model, and all of them in one table."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import naming, read_json, sha256_of, write_json, write_text
from roadworthy._tables import csv_text
from roadworthy.driving.drives.readers import write_drive
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.errors import InputError
from roadworthy.models import load_model
from roadworthy.models.zoo import Variant, load_module, located_weights, read_variant
from roadworthy.models.zoo.saved import metadata_of
from roadworthy.training import export, write_description
from roadworthy.training.mutants.fate import Judged, judge_drive, probe_images, same
from roadworthy.training.mutants.mutating import Mutant, Mutation, example_of, mutate

if TYPE_CHECKING:
    import torch


DESCRIPTION = "mutant.json"
TABLE = "mutants.csv"
_KEY = "roadworthy.mutant"
# What trainings and exports say where numbers ran away.
_RAN_AWAY = ("diverged", "no numbers")


def save_mutant(mutant: Mutant, variant: Variant, folder: Path, *, original: str | Path) -> dict[str, Any]:
    """Write a mutant as ONNX, with a ``model.yaml`` that opens it and a ``mutant.json`` to make it again.

    Args:
        mutant: The mutant.
        variant: Which network it was made of.
        folder: Where to write.
        original: Where the original is, as `load_module` takes it.

    Returns:
        What is in ``mutant.json``. One that answers with what are no numbers "failed" and has no ONNX file.

    Raises:
        InputError: It cannot be written.
    """
    described = {
        "name": mutant.mutation.name,
        "kind": "post-training",
        "original": str(original),
        "original_sha256": sha256_of(located_weights(original)),
        "network": variant.name,
        "mutation": mutant.mutation.to_dict(),
        "changed": dict(mutant.changed),
        "equivalent": mutant.equivalent,
        "note": mutant.note,
    }
    try:
        return save_module(mutant.module, variant, folder, described, rebuildable=mutant.rebuildable)
    except InputError as error:
        if not any(one in str(error) for one in _RAN_AWAY):
            raise
        return save_failure(folder, described, str(error))


def save_module(
    module: torch.nn.Module,
    variant: Variant,
    folder: Path,
    described: Mapping[str, Any],
    *,
    rebuildable: bool,
) -> dict[str, Any]:
    """Write a network that was made of one of the zoo, with what is known about it.

    Args:
        module: The network.
        variant: What it was made of.
        folder: Where to write.
        described: What is known, with its name.
        rebuildable: Whether it has the layers of the variant, so that `load_module` can build it.

    Raises:
        InputError: It cannot be written, or answers with what are no numbers.
    """
    file = folder / f"{variant.name}.onnx"
    notes = {_KEY: json.dumps(described["mutation"])} | (metadata_of(variant) if rebuildable else {})
    export(module, variant, file, notes=notes)
    name = f"{variant.name}~{described['name']}"
    write_description(folder / "model.yaml", variant, f"onnx:{file.name}", name=name)
    document = {**described, "model_sha256": sha256_of(file)}
    write_json(folder / DESCRIPTION, document)
    return document


def save_failure(folder: Path, described: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Write what is known about a mutant that could not be made; one whose numbers ran away is crashing.

    Raises:
        InputError: It cannot be written.
    """
    ran_away = any(one in reason for one in _RAN_AWAY)
    document = {
        **described,
        "failed": reason,
        "fate": "crashing" if ran_away else None,
        "reason": reason,
        "difference": None,
        "lap": None,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; choose another") from error
    write_json(folder / DESCRIPTION, document)
    return document


def write_fate(folder: Path, judged: Judged) -> dict[str, Any]:
    """Put what became of a mutant into its ``mutant.json``, its drive beside it, and return what is in it.

    Raises:
        InputError: There is none, or it cannot be written.
    """
    path = folder / DESCRIPTION
    document = {
        **_description(path),
        "fate": judged.fate,
        "reason": judged.reason,
        "difference": None if math.isnan(judged.difference) else judged.difference,
        "lap": judged.lap,
    }
    if judged.drive is not None:
        write_drive(dataclasses.replace(judged.drive, name=folder.name), folder / DRIVE_FILE)
    write_json(path, document)
    return document


def read_mutation(path: Path) -> tuple[str, Mutation]:
    """Return the network and the mutation of a mutant that was made before, from its ``mutant.json``.

    Raises:
        InputError: It is none.
    """
    document = read_json(path)
    with naming(path):
        if not isinstance(document, dict) or document.get("kind") != "post-training":
            raise InputError("expected the mutant.json of a mutant that driving mutate made")
        return str(document["original"]), Mutation.from_dict(document["mutation"])


def make_mutants(
    model: str, mutations: Iterable[Mutation], folder: Path, *, track: str | None = None
) -> list[dict[str, Any]]:
    """Make mutants of a network, each in a folder, and say what becomes of them.

    Args:
        model: The network, as `load_module` takes it.
        mutations: What is done to it.
        folder: Where all are written.
        track: The track that every mutant drives a lap of; none if left out.

    Returns:
        What is in the ``mutant.json`` of each.

    Raises:
        InputError: A mutant cannot be made or written.
    """
    module, variant = load_module(model), read_variant(located_weights(model))
    example, images = example_of(variant), probe_images(variant)
    rows = []
    for mutation in mutations:
        mutant, place = mutate(module, example, mutation), folder / mutation.name
        document = save_mutant(mutant, variant, place, original=model)
        if "failed" not in document:
            document = write_fate(place, _judged(module, mutant, images, place, track))
        rows.append(document)
    return rows


def _judged(
    module: torch.nn.Module, mutant: Mutant, images: torch.Tensor, place: Path, track: str | None
) -> Judged:
    """Return what becomes of a mutant: the cheapest proof first, the drive last."""
    if mutant.equivalent:
        return Judged("equivalent", mutant.equivalent, 0.0)
    alike, difference = same(module, mutant.module, images)
    if alike:
        return Judged("equivalent", f"answers alike on {len(images)} images", difference)
    if math.isnan(difference):
        return Judged("crashing", "answers with what are no numbers", difference)
    if track is None:
        return Judged(None, "", difference)
    return judge_drive(load_model(place, threads=1), track, difference)


def read_mutants(folder: Path) -> list[dict[str, Any]]:
    """Return what is known about the mutants in a folder, by name.

    Raises:
        InputError: There is no such folder, or a description is broken.
    """
    if not folder.is_dir():
        raise InputError(
            f"expected a folder of mutants, got {folder}: make them with roadworthy driving mutate"
        )
    return [
        {**_description(one), "folder": one.parent.name} for one in sorted(folder.glob(f"*/{DESCRIPTION}"))
    ]


def _description(path: Path) -> dict[str, Any]:
    """Return what a ``mutant.json`` says."""
    found = read_json(path)
    kinds = {"name": str, "mutation": dict, "lap": dict | None, "difference": int | float | None}
    for key, kind in kinds.items():
        if not isinstance(found, dict) or not isinstance(found.get(key), kind):
            got = repr(found.get(key)) if isinstance(found, dict) else f"a {type(found).__name__}"
            raise InputError(f"{path} describes no mutant, for its {key!r} is {got:.80}: make it again")
    if not isinstance(found["mutation"].get("operator"), str):
        raise InputError(f"{path} describes no mutant, for its 'mutation' has no 'operator': make it again")
    described: dict[str, Any] = found
    return described


def write_table(folder: Path, mutants: Sequence[Mapping[str, Any]]) -> Path:
    """Write a row for each mutant, with its fate, as CSV.

    Raises:
        InputError: It cannot be written.
    """
    columns = ("name", "operator", "parameters", "fate", "reason", "difference", "share", "largest_offset")
    rows = []
    for one in mutants:
        lap = one.get("lap") or {}
        rest = {key: value for key, value in one["mutation"].items() if key != "operator"}
        told = " ".join(f"{key}={value}" for key, value in rest.items())
        rows.append(
            (
                one["name"],
                one["mutation"]["operator"],
                told,
                one.get("fate") or "",
                one.get("reason", ""),
                "" if one.get("difference") is None else f"{one['difference']:.6g}",
                lap.get("share", ""),
                lap.get("largest_offset", ""),
            )
        )
    write_text(folder / TABLE, csv_text(columns, rows))
    return folder / TABLE
