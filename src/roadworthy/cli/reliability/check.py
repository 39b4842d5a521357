"""``roadworthy reliability check``: requirements of reliability tried on models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import print_tables, write_document
from roadworthy.cli._campaigns import data_form
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_note
from roadworthy.cli.options import AsJson, Options, Workers, frames_of, opened_models, processes_for
from roadworthy.cli.reliability._campaign import Campaign, measures_of
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import (
    Batch,
    Batches,
    Data,
    Limit,
    Measures,
    Models,
    Out,
    Sample,
    Sampled,
    Seed,
    Study,
    Transforms,
    Versions,
)
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models import SystemUnderTest
    from roadworthy.reliability import Preservation
    from roadworthy.result_tables import ResultTable


_FEW = 200  # changed images; below, a batch of the bootstrap repeats most of them


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability check --model classifier --data world-crops --transform defocus-blur",
        "roadworthy reliability check --model dave2 --data world --sample 100 --measure steering",
        'roadworthy reliability check --model detector --data world -t frost --measure "ap(iou=0.7)"',
        "roadworthy reliability check --model net.yaml --data folder:images --preserve prediction -t jpeg",
        "roadworthy reliability check --model dave2 --data world -t fog --limit 0.8",
    ),
)
def check(
    model: Models = None,
    data: Data = "world-crops",
    option: Options = None,
    transform: Transforms = None,
    preserve: Annotated[
        str, typer.Option(metavar="WHAT", help="What must be preserved: correctness, prediction or both.")
    ] = "both",
    measure: Measures = None,
    limit: Limit = None,
    study: Study = "imagenet",
    sample: Sample = None,
    versions: Versions = 4,
    batches: Batches = 200,
    batch: Batch = None,
    sampling: Sampled = "even",
    images: Annotated[
        str,
        typer.Option(
            metavar="WHICH", help="Of which cases images are stored: failures, sample, all or none."
        ),
    ] = "failures",
    seed: Seed = 0,
    out: Out = Path("reliability-out"),
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Check that a model still sees what a human still sees.

    Images are changed as long as people tolerate it. Correctness: the model must be as good on them as on the
    originals. Prediction: its answers must stay as they were, as much as under a change that is hardly one;
    no truth is needed. The reliability distance says how much is missing; a requirement is met when its upper
    bound of 95% confidence is at most 0. The folder gets the rows of every case, the images of those that
    fail, plots, tables.md and result.json. The exit code is 0 if all requirements are met with that
    confidence, else 1.
    """
    model = model or ["classifier"]
    systems = opened_models(model)
    frames = frames_of(data, option, systems, sample)
    asked = requirements_for(
        systems,
        frames,
        transform,
        preserve=preserve,
        measure=measure or [],
        limit=limit,
        study=study,
        settings={"versions": versions, "sampling": sampling},
        batches={"batches": batches, "images": batch, "seed": seed},
    )
    settings = {
        "sample": sample,
        "transforms": list(transform or []),
        "preserve": preserve,
        "measures": list(measure or []),
        "limit": limit,
        "study": study,
        "versions": versions,
        "sampling": sampling,
        "batches": batches,
        "batch": batch,
    }
    campaign = Campaign(systems, frames, asked, out, seed, settings)
    made = sum(len(frames) * one.versions for one in campaign.requirements.values())
    found = campaign.run(images=images, processes=processes_for(workers, made))  # type: ignore[arg-type]
    campaign.write_suite(model, data_form(data, option, sample=sample))
    rows = [row for _, _, row in campaign.rows(found)]
    if not any("distance" in row for row in rows):
        raise InputError(f"nothing could be checked: {rows[0]['summary']}")
    document = {
        "data": frames.name,
        "frames": len(frames),
        "seed": seed,
        "sampling": sampling,
        "results": rows,
        "plots": campaign.write_plots(found),
        "notes": campaign.noticed,
        "seconds": round(campaign.seconds, 3),
    }
    tables = _tables(rows)
    write_document(out, document, tables)
    if as_json:
        print_json({"folder": str(out), **document})
    else:
        print_tables(tables)
        for note in campaign.noticed:
            print_note(note)
        console().print(f"Wrote {out} in {campaign.seconds:.1f} s", soft_wrap=True)
        console().print(f"roadworthy report {out} makes a page of it", soft_wrap=True, markup=False)
    raise typer.Exit(0 if all(row["status"] == "passed" for row in rows) else 1)


def requirements_for(
    systems: Sequence[SystemUnderTest],
    data: Dataset,
    transforms: Sequence[str] | None,
    *,
    preserve: str,
    measure: Sequence[str],
    limit: float | None,
    study: str,
    settings: dict[str, Any],
    batches: dict[str, Any],
) -> dict[str, list[Preservation]]:
    """Return what is required of each model, by its name.

    Raises:
        InputError: Something that was given cannot be used, or there are fewer images than a batch shall
            have.
    """
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, Bootstrap
    from roadworthy.reliability.requirements import PRESERVED, requirements_of

    if preserve not in PRESERVED:
        raise InputError(f"--preserve must be correctness, prediction or both, got {preserve!r}")
    bootstrap = Bootstrap(**batches)
    bootstrap.batch_of(len(data))
    names = list(transforms or _measured_in(study, PAPER_TRANSFORMATIONS))
    return {
        system.name: requirements_of(
            measures_of(system, data, measure),
            names,
            preserve,
            study=study,
            limit=limit,
            bootstrap=bootstrap,
            **settings,
        )
        for system in systems
    }


def _measured_in(study: str, names: Sequence[str]) -> list[str]:
    """Return those of the transformations that a study has limits for."""
    from roadworthy.visual_change.tolerance import known_tolerance

    return [name for name in names if known_tolerance(name, study=study) is not None]


def _tables(rows: Sequence[dict[str, Any]]) -> list[ResultTable]:
    """Return a table for each model and measure."""
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault((row["model"], row["measure"]), []).append(row)
    return [_table(f"{model}: {measure}", part) for (model, measure), part in parts.items()]


def _table(title: str, rows: Sequence[dict[str, Any]]) -> ResultTable:
    from roadworthy.result_tables import ResultTable

    columns = ("change", "preserves", "Δv ≤", "needs", "has", "distance", "bound", "verdict")
    cells = []
    notes = ["The bound is that of 95% confidence."]
    for row in rows:
        numbers = ["-"] * 4
        if "distance" in row:
            numbers = [f"{float(row[name]):.3f}" for name in ("required", "reached", "distance", "bound")]
        notes += _notes(row)
        verdict = {"passed": "met", "violated": "not met", "inconclusive": "not shown"}[row["status"]]
        cells.append((row["transformation"], row["preserve"], f"{row['limit']:g}", *numbers, verdict))
    return ResultTable(title, columns, tuple(cells), " ".join(dict.fromkeys(notes)))


def _notes(row: dict[str, Any]) -> list[str]:
    """Return what a reader of the table should know about a row."""
    about = f"{row['transformation']}, {row['preserve']}"
    if "distance" not in row:
        return [f"{about}: {row['summary']}."]
    notes = []
    judged = sum(row["counts"].get(status, 0) for status in ("passed", "violated"))
    if judged < _FEW:
        notes.append(f"Only {judged} changed images: a verdict over so few means little; use more frames.")
    if row["vacuous"]:
        notes.append(f"{about}: the model is right on no original image, so it has nothing to lose.")
    if not row["converged"]:
        notes.append(f"{about}: two seeds differ, use more batches or images.")
    if errors := row["counts"]["error"]:
        notes.append(f"{about}: {errors} cases have no answer.")
    share = row.get("share_reaching")
    if share is not None and share < 0.5:
        notes.append(
            f"{row['transformation']} reaches Δv = {row['limit']:g} on {share:.1%} of the images; the "
            f"largest is {row['reach']:.3f}."
        )
    return notes
