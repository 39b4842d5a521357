"""``roadworthy run --dry-run``: what would run, how long and how large."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from roadworthy.cli._console import console, plain_table, print_json

if TYPE_CHECKING:
    from roadworthy.runs.suites import Estimate, SuitePlan


def dry_run_of(plan: SuitePlan, images: Any, executor: str, workers: int | None, *, as_json: bool) -> None:
    """Say what would run: how many cases, how long, how large."""
    from roadworthy.runs.store.estimate import readable_size
    from roadworthy.runs.suites import estimate_passes, passes_of

    err = console(stderr=True)
    with err.status("Trying a few cases") if err.is_terminal else nullcontext():
        found = list(estimate_passes(passes_of(plan), images))
    count = 1 if executor == "serial" else workers or os.cpu_count() or 1
    seconds = sum(one.seconds or 0.0 for one in found)
    likely, most = sum(one.image_bytes for one in found), sum(one.most_bytes for one in found)
    if as_json:
        print_json(
            {
                **_as_document(plan, found),
                "seconds_one_process": seconds,
                "seconds_estimated": seconds / count,
                "workers": count,
                "image_bytes": likely,
                "most_image_bytes": most,
                "notes": plan.notes,
            }
        )
        return
    _print_estimates(found)
    shell = console()
    for note in plan.notes:
        shell.print(note, style="dim", markup=False, soft_wrap=True)
    total = sum(one.cases for one in found)
    shell.print(
        f"About {total} cases in about {_duration(seconds / count)} with {count} "
        f"{'process' if count == 1 else 'processes'}; images will take about {readable_size(likely)}, at "
        f"most {readable_size(most)}. These are estimates from {sum(one.probed for one in found)} cases that "
        "were tried just now; starting workers, hashing the data, report and evidence come on top.",
        soft_wrap=True,
        markup=False,
    )


def _as_document(plan: SuitePlan, found: Sequence[Estimate]) -> dict[str, object]:
    """Return what would run, requirement by requirement and pass by pass."""
    return {
        "suite": plan.suite.name,
        "requirements": [
            {
                "id": trial.requirement.id,
                "kind": trial.kind.name,
                "data": trial.data,
                "models": list(trial.models),
                "cases_per_model": plan.cases(trial),
            }
            for trial in plan.trials
        ],
        "passes": [
            {
                "name": one.name,
                "requirements": one.requirements,
                "models": one.models,
                "cases": one.cases,
                "seconds": one.seconds,
                "probed_cases": one.probed,
                "image_bytes": one.image_bytes,
                "most_image_bytes": one.most_bytes,
                "problem": one.problem,
            }
            for one in found
        ],
        "cases": sum(one.cases for one in found),
    }


def _print_estimates(found: Sequence[Estimate]) -> None:
    from rich.text import Text

    from roadworthy.runs.store.estimate import readable_size

    table = plain_table("what", "models", "cases", "one process", "images")
    for one in found:
        took = "?" if one.seconds is None else _duration(one.seconds)
        table.add_row(Text(one.name), str(one.models), str(one.cases), took, readable_size(one.image_bytes))
    console().print(table)
    for one in found:
        if one.problem:
            told = f"{one.name} could not be tried, so how long it takes is not known: {one.problem}"
            console().print(Text(told, style="red"), soft_wrap=True)


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> _duration(0.4), _duration(75), _duration(9000)
        ('1 s', '75 s', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
