"""The page Compare: runs case by case, with the numbers of ``roadworthy compare``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from roadworthy.errors import InputError
from roadworthy.report.comparison import counted, explained, models_of, sentence
from roadworthy.report.results import clipped, count, signed
from roadworthy.runs.comparison import Comparison, ComparisonVerdict, Difference, compare
from roadworthy.runs.store import StoredRun
from roadworthy.web.jobs.queue import Job
from roadworthy.web.services import Here, Services, folder_of
from roadworthy.web.working import Progress, stamp_of_run

_LONGEST = 90


@dataclass(frozen=True)
class Known:
    """A folder that a page can speak of.

    Attributes:
        name: What addresses call it.
        title: What people call it.
        folder: Where it is.
    """

    name: str
    title: str
    folder: Path


def known_runs(services: Services) -> tuple[Known, ...]:
    """Return the runs with rows, those that were given first."""
    given = (
        Known(name, " · ".join(dict.fromkeys((services.title_of(name), name))), services.folders.folder(name))
        for name in services.folders.names
    )
    started = (
        Known(job.id, _title(job, services.declared.names(job.ask.models)), job.run)
        for job in services.queue.jobs()
    )
    with_rows = ("runs", "requirements.jsonl")
    return tuple(run for run in (*given, *started) if any((run.folder / one).exists() for one in with_rows))


def systems_of(folder: Path, method: str = "") -> tuple[str, ...]:
    """Return the names of the models that a run tested, by one method if it is named; none if unreadable."""
    try:
        pairs = StoredRun.open(folder).pairs
        return tuple(sorted({one.system for one in pairs if method in ("", one.requirement.method)}))
    except InputError:
        return ()


def _title(job: Job, models: Sequence[str]) -> str:
    named = f"{job.ask.name}: {job.ask.title}" if job.ask.name else job.ask.title
    return f"{clipped(named, _LONGEST)} ({', '.join(models)}, {job.id})"


_MOST = 300
_EXAMPLES = 100  # broken and fixed cases of each line that are shown
_RUNS = 4  # that are compared with the first at a time
_ALPHA = 0.05
# What is said of options of the command, as the page has them.
_WORDS = (
    (r"or compare them anyway with --anyway", "or tick the box above"),
    (r"say which belong together, such as --systems .*", "choose below which belong together"),
    (r": give both the same --sample", ""),
)

router = APIRouter(prefix="/compare")

Short = Annotated[str, Field(max_length=500)]


@router.get("")
def page(
    request: Request,
    services: Here,
    first: Annotated[Short, Query()] = "",
    second: Annotated[tuple[Short, ...], Query(max_length=_RUNS + 1)] = (),
    old: Annotated[Short, Query()] = "",
    new: Annotated[Short, Query()] = "",
    anyway: bool = False,
) -> Response:
    """Return the page: the choice of runs, and what became of each requirement."""
    after = tuple(dict.fromkeys(filter(None, second)))[:_RUNS]
    folder, *folders = [folder_of(services, name) if name else None for name in (first, *after)]
    awaited: dict[str, Any] = {"found": None, "problem": "", "work": ""}
    if bool(old) != bool(new):
        awaited["problem"] = "choose a model for both runs, or for neither to compare models of the same name"
    elif folder is not None and folders:
        runs = [one for one in (folder, *folders) if one is not None]
        key = ("compare", first, after, old, new, anyway, *map(stamp_of_run, runs))
        awaited = services.awaited(key, partial(_compared, runs, {old: new} if old else None, anyway))
    for option, words in _WORDS:
        awaited["problem"] = re.sub(option, words, awaited["problem"])
    known, found = known_runs(services), list(zip(after, awaited.pop("found") or (), strict=False))
    ends = [end for _, one in found for line in one.differences for end in line.interval or ()]
    awaited |= {"first": first, "after": after, "old": old, "new": new, "anyway": anyway, "found": found}
    awaited |= {"most": _MOST, "lots": _RUNS, "sentence": sentence, "counted": counted}
    return services.pages.page(
        request,
        "compare.html",
        runs=known,
        titles={one.name: one.title for one in known},
        systems=[() if one is None else systems_of(one) for one in (folder, *folders[:1], None)][:2],
        changed=[lot for name, one in found for lot in _changed(first, name, one)],
        widest=max(map(abs, ends), default=1.0) or 1.0,
        models_of=models_of,
        # The sentence says why.
        explained=lambda one: explained(replace(one, why="") if told(one) else one),
        told=told,
        **awaited,
    )


def told(one: Difference, alpha: float = _ALPHA) -> str:
    """Return what became of the failures of a requirement, in one sentence; empty where nobody can say.

    Example:
        >>> from roadworthy.cases import Requirement
        >>> requirement = Requirement("R1", "…", "rules")
        >>> told(Difference(requirement, "a", "a", None, None, paired=60, broken=9, fixed=1, still_failing=3,
        ...                 rate_before=4 / 60, rate_after=12 / 60, interval=(0.03, 0.24), p=0.01,
        ...                 verdict=ComparisonVerdict.REGRESSION))
        '12 of 60 cases fail instead of 4: +13 points (+3 to +24, p 0.01), more than chance.'
    """
    if one.difference is None or one.interval is None or one.p is None:
        return ""
    failing, before = one.still_failing + one.broken, one.still_failing + one.fixed
    points, low, high = (signed(float(f"{100 * share:.2g}")) for share in (one.difference, *one.interval))
    clear = one.p <= alpha and one.verdict in (ComparisonVerdict.REGRESSION, ComparisonVerdict.IMPROVEMENT)
    return (
        f"{count(failing)} of {count(one.paired)} cases fail instead of {count(before)}: {points} points "
        f"({low} to {high}, p {one.p:.2g}), {'more than chance' if clear else 'which may be chance'}."
    )


def _changed(first: str, second: str, found: Comparison) -> Iterator[dict[str, Any]]:
    """Yield the cases of each line that broke and that were fixed, with where their pictures are."""
    for one in found.differences[:_MOST]:
        about: dict[str, Any] = {"requirement": one.requirement.id, "text": one.requirement.text}
        about |= {"runs": [first, second], "systems": [one.before, one.after]}
        for kind, number, examples in (
            ("broken", one.broken, one.examples_broken),
            ("fixed", one.fixed, one.examples_fixed),
        ):
            if examples:
                yield {"kind": kind, "count": number, "cases": [case.case for case in examples], **about}


def _compared(
    runs: Sequence[Path], systems: Mapping[str, str] | None, anyway: bool, progress: Progress
) -> list[Comparison]:
    progress("Reading the runs.", None)
    before, *after = [StoredRun.open(one) for one in runs]
    cases = sum(sum(pair.counts.values()) for run in (before, *after) for pair in run.pairs)
    # All comparisons of the page hold together.
    how: dict[str, Any] = {"systems": systems, "alpha": _ALPHA / len(after), "anyway": anyway}
    found = []
    for number_of, one in enumerate(after):
        progress(f"Putting {count(cases)} cases side by side.", number_of / len(after) if number_of else None)
        found.append(compare(before, one, examples=_EXAMPLES, stoppable=progress.interrupted_by, **how))
    return found
