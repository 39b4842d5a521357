"""What becomes of a mutant, and its files: a folder that every command opens as a model, a table of all."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable, naming, read_json, sha256_of, write_json, write_text
from roadworthy._tables import csv_text
from roadworthy.driving.drives import FATAL_EVENTS, Drive
from roadworthy.driving.drives.readers import write_drive
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.driving.simulators import DriveLimits, WorldSimulator
from roadworthy.driving.simulators import drive as closed_loop
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.models import load_model
from roadworthy.models.network import Network
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.models.zoo import Variant, load_module, located_weights, read_variant
from roadworthy.models.zoo.saved import metadata_of
from roadworthy.result_tables import ResultTable
from roadworthy.training import export, with_history, write_description
from roadworthy.training.mutants.operators import Mutant, Mutation, example_of, mutate
from roadworthy.training.samples import in_processes

if TYPE_CHECKING:
    import torch


Fate = Literal["equivalent", "crashing", "alive"]
"""An equivalent mutant answers as the original does. One that crashes, crosses a line or answers NaN is
trivial to find out. Those that are alive are what oracles are for."""

TOLERANCE = 1e-5
"""Answers nearer than this, or than this share of the largest, are alike."""
_TRACKS = "world:meadow,town,mountain"
_SEED = 7
_DRIVE = 12  # frames that follow each other, for networks that see earlier ones


@dataclass(frozen=True)
class JudgedMutant:
    """What became of a mutant.

    Attributes:
        fate: Equivalent, crashing or alive; None where it was not driven and may be either of the last two.
        reason: How that is known.
        difference: The largest difference from the answers of the original, over the probe images, in degrees
            and m/s; NaN where an answer was none.
        drive: How it drove, where it did.
        share: How much of the lap it drove.
    """

    fate: Fate | None
    reason: str
    difference: float = math.nan
    drive: Drive | None = None
    share: float = math.nan

    @property
    def lap(self) -> dict[str, Any] | None:
        """How it drove, in a few words and numbers; None where it did not."""
        if self.drive is None:
            return None
        offset = abs(self.drive.signals["lane_offset"])
        return {
            "ended": self.drive.ended,
            "share": round(self.share, 4),
            "seconds": round(self.drive.duration, 3),
            "largest_offset": round(float(offset.max()), 4),
            "mean_offset": round(float(offset.mean()), 4),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """What the description of the mutant says of it."""
        difference = None if math.isnan(self.difference) else self.difference
        return {"fate": self.fate, "reason": self.reason, "difference": difference, "lap": self.lap}


def probe_images(variant: Variant, count: int = 48) -> torch.Tensor:
    """Return images of the built-in tracks as a network of the zoo takes them, to compare networks on.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> tuple(probe_images(architecture("dave2").variant(), count=12).shape)
        (12, 3, 66, 200)
    """
    import torch

    from roadworthy.datasets import load

    taken = variant.spec.input
    drives = -(-count // (_DRIVE - taken.history))
    data = load(_TRACKS, count=drives * _DRIVE, sequence=_DRIVE, seed=_SEED, jitter=1.0, time="all")
    views = [taken.view(frame) for frame in with_history(data, taken.history)]
    return torch.from_numpy(taken.tensor(views[:count]))


def same(original: torch.nn.Module, other: torch.nn.Module, images: torch.Tensor) -> tuple[bool, float]:
    """Return whether two networks answer alike within what single precision can tell.

    With the largest difference between their answers; NaN where an answer of the other is no number.

    Example:
        >>> from torch import nn, ones
        >>> same(nn.Identity(), nn.ReLU(), ones(2, 3)), same(nn.Identity(), nn.ReLU(), -ones(2, 3))
        ((True, 0.0), (False, 1.0))
    """
    import torch

    with torch.inference_mode():
        right, answers = original.eval()(images), other.eval()(images)
    if not bool(torch.isfinite(answers).all()):
        return False, math.nan
    difference, largest = float((right - answers).abs().max()), float(right.abs().max())
    return difference <= TOLERANCE * max(1.0, largest), difference


def judge_drive(
    system: SystemUnderTest,
    track: str,
    difference: float = math.nan,
    *,
    traffic: float = 0.0,
    minutes: float = 10.0,
) -> JudgedMutant:
    """Let a mutant drive a lap of a built-in track, record it, and say whether it crashes or crosses a line.

    Args:
        system: The mutant.
        track: The track.
        difference: What is known of how much it differs from the original.
        traffic: How much traffic, from 0 to 5.
        minutes: The longest drive, in the world.

    Raises:
        InputError: There is no such track.

    Example:
        >>> from roadworthy.models import Truth
        >>> judged = judge_drive(Truth(), "meadow", minutes=0.05)
        >>> judged.fate, judged.drive.ended
        ('alive', 'time over')
    """
    place = WorldSimulator(track, traffic=traffic)
    try:
        drive = closed_loop(system, place, limits=DriveLimits(seconds=60 * minutes, events=FATAL_EVENTS))
    except SystemUnderTestError as error:
        return JudgedMutant("crashing", str(error), difference)
    finally:
        place.close()
    share = 1.0 if drive.ended == "lap complete" else drive.signals["distance"][-1] / place.track.length
    fate: Fate = "crashing" if drive.ended in FATAL_EVENTS else "alive"
    return JudgedMutant(fate, drive.ended, difference, drive, float(min(1.0, share)))


def drive_mutants(
    folders: Sequence[Path], track: str, traffic: float, minutes: float, workers: int
) -> Iterator[tuple[Path, JudgedMutant]]:
    """Let mutants drive a lap each, so many at a time, and tell of each as it arrives; see `judge_drive`."""
    drive = partial(_driven, track=track, traffic=traffic, minutes=minutes)
    return in_processes(drive, folders, workers, ordered=False)


def _driven(folder: Path, track: str, traffic: float, minutes: float) -> tuple[Path, JudgedMutant]:
    return folder, judge_drive(load_model(folder, threads=1), track, traffic=traffic, minutes=minutes)


def unchanged(original: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, JudgedMutant]]:
    """Tell which trained mutants answer as the trained original does: their fault changed nothing.

    Args:
        original: The folder of the original.
        folders: Those of the mutants.

    Raises:
        InputError: One of them is no network.
    """
    images = probe_images(read_variant(located_weights(original))).numpy()
    right = _answers(original, images)
    for folder in folders:
        difference = float(np.abs(_answers(folder, images) - right).max())
        if difference <= TOLERANCE * max(1.0, float(np.abs(right).max())):
            yield folder, JudgedMutant("equivalent", f"answers alike on {len(images)} images", difference)


def _answers(folder: Path, images: NDArray[np.float32]) -> NDArray[np.float64]:
    network = load_model(folder, threads=1)
    if not isinstance(network, Network):
        raise InputError(f"{folder} must hold a network, got {network.name}")
    (answers,) = network.runtime.run(images, ()).values()
    return np.asarray(answers, np.float64)


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
    judged = JudgedMutant("crashing" if any(one in reason for one in _RAN_AWAY) else None, reason)
    document = {**described, "failed": reason, **judged.facts}
    make_writable(folder)
    write_json(folder / DESCRIPTION, document)
    return document


def write_fate(folder: Path, judged: JudgedMutant) -> dict[str, Any]:
    """Put what became of a mutant into its ``mutant.json``, its drive beside it, and return what is in it.

    Raises:
        InputError: There is none, or it cannot be written.
    """
    path = folder / DESCRIPTION
    document = {**_description(path), **judged.facts}
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


@dataclass(frozen=True)
class MadeMutants:
    """Mutants of a network, each in a folder, and what became of them.

    Attributes:
        model: The network.
        folder: Where all were written, with a table of them.
        rows: What is in the ``mutant.json`` of each.
        track: The track that every mutant drove a lap of; None if they did not drive.
    """

    model: str
    folder: Path
    rows: list[dict[str, Any]]
    track: str | None

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {"mutants": self.rows, "table": str(self.folder / TABLE)}

    def table(self) -> ResultTable:
        """Return what became of each; where none drove, nothing is said about how they did."""
        known = ["fate", "why"] if any(row["fate"] for row in self.rows) else []
        columns = ["mutant", *known, "differs by", *(["lap"] if self.track else [])]
        cells = []
        for row in self.rows:
            apart = "" if row["difference"] is None else f"{row['difference']:.3g}"
            lap = f"{row['lap']['share']:.0%}" if row["lap"] else ""
            judged = [row["fate"] or "", row["reason"]] if known else []
            cells.append((row["name"], *judged, apart, *([lap] if self.track else [])))
        return ResultTable("", tuple(columns), tuple(cells))

    def __str__(self) -> str:
        fates = Counter(row["fate"] or "not driven" for row in self.rows)
        summary = ", ".join(f"{count} {fate}" for fate, count in fates.items())
        return f"{len(self.rows)} mutants of {self.model}: {summary}. Written to {self.folder}"


def make_mutants(
    model: str, mutations: Iterable[Mutation], folder: Path, *, track: str | None = None
) -> MadeMutants:
    """Make mutants of a network, each in a folder, and say what becomes of them.

    Args:
        model: The network, as `load_module` takes it.
        mutations: What is done to it.
        folder: Where all are written.
        track: The track that every mutant drives a lap of; none if left out.

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
    write_table(folder, rows)
    return MadeMutants(model, folder, rows, track)


def _judged(
    module: torch.nn.Module, mutant: Mutant, images: torch.Tensor, place: Path, track: str | None
) -> JudgedMutant:
    """Return what becomes of a mutant: the cheapest proof first, the drive last."""
    if mutant.equivalent:
        return JudgedMutant("equivalent", mutant.equivalent, 0.0)
    alike, difference = same(module, mutant.module, images)
    if alike:
        return JudgedMutant("equivalent", f"answers alike on {len(images)} images", difference)
    if math.isnan(difference):
        return JudgedMutant("crashing", "answers with what are no numbers", difference)
    if track is None:
        return JudgedMutant(None, "", difference)
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
    files = sorted(folder.glob(f"*/{DESCRIPTION}"))
    return [{**_description(one), "folder": one.parent.name} for one in files]


def _description(path: Path) -> dict[str, Any]:
    """Return what a ``mutant.json`` says."""
    found = read_json(path)
    kinds = {"name": str, "mutation": dict, "lap": dict | None, "difference": int | float | None}
    for key, kind in kinds.items():
        if not isinstance(found, dict) or not isinstance(found.get(key), kind):
            got = repr(found.get(key)) if isinstance(found, dict) else f"a {type(found).__name__}"
            raise InputError(f"{path} does not describe a mutant: its {key!r} is {got:.80}: make it again")
    if not isinstance(found["mutation"].get("operator"), str):
        raise InputError(
            f"{path} does not describe a mutant: its 'mutation' has no 'operator': make it again"
        )
    return dict(found)


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
        parameters = " ".join(f"{key}={value}" for key, value in rest.items())
        difference = "" if one.get("difference") is None else f"{one['difference']:.6g}"
        judged = one.get("fate") or "", one.get("reason", ""), difference
        driven = lap.get("share", ""), lap.get("largest_offset", "")
        rows.append((one["name"], one["mutation"]["operator"], parameters, *judged, *driven))
    write_text(folder / TABLE, csv_text(columns, rows))
    return folder / TABLE
