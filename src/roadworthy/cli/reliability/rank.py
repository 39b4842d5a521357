"""``roadworthy reliability rank``: models ranked by their reliability distance, beside a benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cli._answer import print_tables, write_document
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_note
from roadworthy.cli.options import AsJson, Options, Workers, frames_of, opened_models, processes_for
from roadworthy.cli.reliability._campaign import Campaign
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
    Seed,
    Study,
    Transforms,
    Versions,
)
from roadworthy.cli.reliability.check import requirements_for
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Outcome
    from roadworthy.papers.reliability import Standing
    from roadworthy.reliability import Preservation
    from roadworthy.result_tables import ResultTable
    from roadworthy.runs import SeveralResults


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability rank --model dave2 --model epoch --data world --sample 99 --measure steering",
        "roadworthy reliability rank --model mine --model classifier --data world-crops -t frost -t jpeg",
    ),
)
def rank(
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
    out: Out = Path("reliability-rank"),
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Rank models by their reliability distance, beside a plain benchmark (Table 2 of Hu et al.).

    The benchmark is the performance on the five levels of ImageNet-C, or on the original images where it has
    no such change. A model that is further down by its reliability distance has a gap that the benchmark does
    not show; it is marked by an arrow. All models see the same images.
    """
    if model is None or len(model) < 2:
        raise InputError(f"a ranking needs two models or more, got {len(model or ())}: repeat --model")
    systems = opened_models(model)
    frames = frames_of(data, option, systems, sample)
    asked = requirements_for(
        systems,
        frames,
        transform,
        preserve="both",
        measure=measure or [],
        limit=limit,
        study=study,
        settings={"versions": versions},
        batches={"batches": batches, "images": batch, "seed": seed},
    )
    _check_same(asked)
    compared = {name: _with_levels(every) for name, every in asked.items()}
    settings = {
        "sample": sample,
        "transforms": list(transform or []),
        "measures": list(measure or []),
        "limit": limit,
        "study": study,
        "versions": versions,
        "batches": batches,
        "batch": batch,
    }
    campaign = Campaign(systems, frames, compared, out, seed, settings, "reliability rank")
    made = sum(len(frames) * one.versions for one in campaign.requirements.values())
    found = campaign.run(images="none", processes=processes_for(workers, made))
    tables, standings = _tables(campaign, found)
    document = {
        "data": frames.name,
        "frames": len(frames),
        "seed": seed,
        "ranking": standings,
        "results": [row for _, _, row in campaign.rows(found)],
        "plots": campaign.write_plots(found),
        "notes": campaign.noticed,
        "seconds": round(campaign.seconds, 3),
    }
    write_document(out, document, tables)
    if as_json:
        print_json({"folder": str(out), **document})
    else:
        print_tables(tables)
        for note in campaign.noticed:
            print_note(note)
        console().print(f"Wrote {out} in {campaign.seconds:.1f} s", soft_wrap=True)


def _check_same(asked: Mapping[str, Sequence[Preservation]]) -> None:
    tasks = {name: every[0].measure.task for name, every in asked.items()}
    if len(set(tasks.values())) > 1:
        each = ", ".join(f"{name} ({task})" for name, task in tasks.items())
        raise InputError(f"models must have the same task to be ranked, got {each}")


def _with_levels(asked: Sequence[Preservation]) -> list[Preservation]:
    """Return the requirements, and with them the benchmark that they are compared with."""
    levels = [
        dataclasses.replace(one, sampling="levels", limit=1.0, source="ImageNet-C", versions=5)
        for one in asked
        if one.preserve == "correctness" and one.transformation.levels
    ]
    return [*asked, *levels]


def _tables(campaign: Campaign, found: SeveralResults) -> tuple[list[ResultTable], list[dict[str, Any]]]:
    from roadworthy.papers.reliability import benchmark_value, ranked
    from roadworthy.reliability.method import collected
    from roadworthy.runs import read_verdicts

    outcomes: dict[tuple[str, str], dict[tuple[str, str], Outcome]] = {}
    benchmarks: dict[tuple[str, str], dict[str, float]] = {}
    for (id, model), result in found.results.items():
        one = campaign.requirements[id]
        key = one.transformation.name, one.measure.name
        if one.sampling != "levels":
            outcomes.setdefault(key, {})[one.preserve, model] = result.outcome
        if one.sampling != "levels" and (one.preserve != "correctness" or one.transformation.levels):
            continue
        assert result.folder is not None
        verdicts = [verdict for verdict in read_verdicts(result.folder) if verdict.margin is not None]
        value = benchmark_value(collected(verdicts), one.measure, changed=one.sampling == "levels")
        if value is not None:
            benchmarks.setdefault(key, {})[model] = value
    tables, rows = [], []
    for (name, measure), every in outcomes.items():
        standings = ranked(campaign.models, benchmarks.get((name, measure), {}), every)
        levels = [
            one.transformation.name for one in campaign.requirements.values() if one.sampling == "levels"
        ]
        about = "ImageNet-C's five levels" if name in levels else "the original images"
        tables.append(_table(f"{name}: {measure}", about, standings))
        rows += [_row(name, measure, about, one) for one in standings]
    return tables, rows


def _table(title: str, benchmark: str, standings: Sequence[Standing]) -> ResultTable:
    from roadworthy.result_tables import ResultTable

    columns = ("model", "benchmark", "m0", "m_t", "(rank) distance", "s0", "s_t", "(rank) distance")
    rows = []
    for one in standings:
        cells = [one.model, "-" if one.benchmark is None else f"{one.benchmark:.4f}"]
        for kind in ("correctness", "prediction"):
            measures = one.outcomes[kind].measures
            if kind not in one.places:
                cells += ["-", "-", "-"]
                continue
            gap = " ↓" if kind in one.gaps else ""
            names = ("required", "reached", "distance")
            required, reached, distance = (float(str(measures[name])) for name in names)
            cells += [f"{required:.4f}", f"{reached:.4f}", f"({one.places[kind]}{gap}) {distance:.4f}"]
        rows.append(tuple(cells))
    note = f"The benchmark is the performance on {benchmark}. ↓: less reliable than the benchmark says."
    return ResultTable(title, columns, tuple(rows), note)


def _row(transformation: str, measure: str, benchmark: str, one: Standing) -> dict[str, Any]:
    return {
        "transformation": transformation,
        "measure": measure,
        "model": one.model,
        "benchmark": one.benchmark,
        "benchmark_on": benchmark,
        "benchmark_place": one.place,
        "places": dict(one.places),
        "gaps": list(one.gaps),
        "distances": {kind: outcome.measures.get("distance") for kind, outcome in one.outcomes.items()},
        "bounds": {kind: outcome.measures.get("bound") for kind, outcome in one.outcomes.items()},
    }
