"""``roadworthy reliability check`` and ``reliability rank``: requirements of reliability tried on models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._road import RunOptions, answered, data_document, planned, suite_document
from roadworthy.cli.options import Data, Options, Sample
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import (
    Batch,
    Batches,
    Limit,
    Measures,
    Models,
    Sampled,
    Seed,
    Study,
    Transforms,
    Versions,
)
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.result_tables import ResultTable
    from roadworthy.runs.suites import SuitePlan, SuiteResult

FAILED = 2


@command(
    app,
    "roadworthy reliability check --model classifier --data world-crops --transform defocus-blur",
    "roadworthy reliability check --model dave2 --data world --sample 100 --measure steering",
    'roadworthy reliability check --model detector --data world -t frost --measure "ap(iou=0.7)"',
    "roadworthy reliability check --model net.yaml --data folder:images --preserve prediction -t jpeg",
    "roadworthy reliability check --model dave2 --data world -t fog --limit 0.8",
)
def check(
    how: RunOptions,
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
    seed: Seed = 0,
) -> Answer:
    """Check that a model still sees what a human still sees.

    Images are changed as long as people tolerate it. Correctness: the model must be as good on them as on the
    originals. Prediction: its answers must stay as they were, as much as under a change that is hardly one;
    no truth is needed. The reliability distance says how much is missing; a requirement is met when its upper
    bound of 95% confidence is at most 0. The folder gets the rows of every case, the images of those that
    fail, plots, report.html, junit.xml, evidence, tables.md, result.json and suite.yaml.
    """
    _check_settings(preserve, versions, batches, limit)
    entries = _entries(
        transform,
        study,
        preserve=preserve,
        measure=measure,
        limit=limit,
        versions=versions,
        sampling=sampling,
        batches=batches,
        batch=batch,
    )
    document = suite_document(
        "reliability check",
        entries,
        models=model or ["classifier"],
        data=data_document(data, option, sample),
        seed=seed,
    )

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.reliability import ReliabilityReport

        report = ReliabilityReport(result)
        return report.tables(), {**report.document(), "sampling": sampling}

    return answered(document, how, Path("reliability-out"), made_of)


@command(
    app,
    "roadworthy reliability rank --model dave2 --model epoch --data world --sample 99 --measure steering",
    "roadworthy reliability rank --model mine --model classifier --data world-crops -t frost -t jpeg",
)
def rank(
    how: RunOptions,
    model: Models = None,
    data: Data = "world-crops",
    option: Options = None,
    transform: Transforms = None,
    measure: Measures = None,
    limit: Limit = None,
    study: Study = "imagenet",
    sample: Sample = None,
    versions: Versions = 4,
    batches: Batches = 200,
    batch: Batch = None,
    seed: Seed = 0,
) -> Answer:
    """Rank models by their reliability distance, beside a plain benchmark (Table 2 of Hu et al.).

    The benchmark is the performance on the five levels of ImageNet-C, or on the original images where it has
    no such change. A model that is further down by its reliability distance has a gap that the benchmark does
    not show; it is marked by an arrow. All models see the same images. The exit code is 0 whatever the
    places: a ranking judges nobody.
    """
    from roadworthy.reliability import transformation_named

    if model is None or len(model) < 2:
        raise InputError(f"a ranking needs two models or more, got {len(model or ())}: repeat --model")
    _check_settings("both", versions, batches, limit)
    shared = {"measure": measure, "batches": batches, "batch": batch}
    entries = _entries(transform, study, preserve="both", limit=limit, versions=versions, **shared)
    levels = {
        f"{name} levels": {
            "reliability": entry["reliability"],
            "preserve": "correctness",
            "sampling": "levels",
            "limit": 1.0,
            "versions": 5,
            **shared,
        }
        for name, entry in entries.items()
        if transformation_named(name).levels
    }
    frames = data_document(data, option, sample)
    document = suite_document("reliability rank", {**entries, **levels}, models=model, data=frames, seed=seed)

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.papers.reliability import ranking_of
        from roadworthy.report.reliability import ReliabilityReport

        report = ReliabilityReport(result)
        tables, rows = ranking_of(report)
        return tables, {**report.document(), "ranking": rows}

    how, usual = replace(how, images="none"), Path("reliability-rank")
    plan = planned(document, how, usual)
    _check_same_task(plan)
    answer = answered(plan, how, usual, made_of)
    return answer if answer.exit_code == FAILED else replace(answer, exit_code=0, conclusion="")


def _check_settings(preserve: str, versions: int, batches: int, limit: float | None) -> None:
    if preserve not in ("correctness", "prediction", "both"):
        raise InputError(f"--preserve must be correctness, prediction or both, got {preserve!r}")
    if versions < 1:
        raise InputError(f"--versions of each image must be 1 or more, got {versions}")
    if batches < 2:
        raise InputError(f"--batches must be 2 or more, got {batches}")
    if limit is not None and not 0 < limit <= 1:
        raise InputError(f"--limit must be above 0 and at most 1, got {limit:g}")


def _entries(transforms: Sequence[str] | None, study: str, **settings: Any) -> dict[str, dict[str, Any]]:
    """Return an entry for each transformation: those given, or the paper's that a study has limits for."""
    from roadworthy.reliability import PAPER_TRANSFORMATIONS
    from roadworthy.visual_change.tolerance import known_tolerance

    names = transforms or [
        name for name in PAPER_TRANSFORMATIONS if known_tolerance(name, study=study) is not None
    ]
    return {name: {"reliability": [name], "study": study, **settings} for name in names}


def _check_same_task(plan: SuitePlan) -> None:
    tasks = {model: trial.part.inside.made.measure.task for trial, model in plan.pairs}
    if len(set(tasks.values())) > 1 or len(tasks) < len(plan.suite.form.models):
        each = ", ".join(f"{name} ({task})" for name, task in tasks.items())
        raise InputError(f"models must have the same task to be ranked, got {each}")
