"""The page Compare: two runs case by case, with the numbers of ``roadworthy compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from roadworthy.errors import InputError
from roadworthy.report.comparison import sentence
from roadworthy.report.html.formats import count, percent, signed
from roadworthy.runs.comparison import Changed, Comparison, ComparisonVerdict, Difference, compare
from roadworthy.runs.store import StoredRun
from roadworthy.web.jobs.states import Job
from roadworthy.web.runs import folder_of
from roadworthy.web.services import Services, services_of
from roadworthy.web.working import Progress, stamp_of

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
    given = (Known(name, name, services.folders.folder(name)) for name in services.folders.names)
    started = (
        Known(job.id, _title(job, services.declared.names(job.ask.models)), job.run)
        for job in services.queue.jobs()
    )
    return tuple(one for one in (*given, *started) if _has_rows(one.folder))


def systems_of(folder: Path, method: str = "") -> tuple[str, ...]:
    """Return the names of the models that a run tested, by one method if it is named; none if unreadable."""
    try:
        pairs = StoredRun.open(folder).pairs
        return tuple(sorted({one.system for one in pairs if method in ("", one.requirement.method)}))
    except InputError:
        return ()


def _has_rows(folder: Path) -> bool:
    return (folder / "runs").is_dir() or (folder / "requirements.jsonl").is_file()


def _title(job: Job, models: Sequence[str]) -> str:
    text = job.ask.text if job.ask.kind == "rules" else "a specification in BBSL"
    named = f"{job.ask.name}: {text}" if job.ask.name else text
    short = named if len(named) <= _LONGEST else f"{named[: _LONGEST - 1]}…"
    return f"{short} ({', '.join(models)}, {job.id})"


_MOST = 300
_CHIPS = {
    ComparisonVerdict.REGRESSION: "violated",
    ComparisonVerdict.GONE: "interrupted",
    ComparisonVerdict.NEW: "running",
    ComparisonVerdict.NOT_COMPARED: "quiet",
    ComparisonVerdict.SAME: "quiet",
    ComparisonVerdict.IMPROVEMENT: "passed",
}
_APART = (ComparisonVerdict.GONE, ComparisonVerdict.NEW, ComparisonVerdict.NOT_COMPARED)
"""Verdicts on what is in one run only, or was judged in one only."""


@dataclass(frozen=True)
class Moved:
    """A case that broke or was fixed.

    Attributes:
        case: Its name.
        margins: Before and after, in words.
        reason: Why, where the store says so.
        pictures: Digests of its images, and of which run they are.
        run: The name of that run.
        url: Where Look shows it.
    """

    case: str
    margins: str
    reason: str
    pictures: tuple[str, ...]
    run: str
    url: str


@dataclass(frozen=True)
class Line:
    """What became of one requirement on one model, in words.

    Attributes:
        requirement: Its id.
        text: What it says.
        model: The model, or both where they have different names.
        verdict: What it comes to.
        chip: The colour of that.
        why: The reason.
        remark: How many cases this rests on, and what could not be paired.
        before: The failure rate before.
        after: The failure rate after.
        difference: In points of percent.
        interval: For the difference.
        broken: How many cases broke.
        fixed: How many were fixed.
        p: After the correction.
        shift: By how much margins went up.
        moved_broken: The worst that broke.
        moved_fixed: The worst that were fixed.
    """

    requirement: str
    text: str
    model: str
    verdict: str
    chip: str
    why: str
    remark: str
    before: str
    after: str
    difference: str
    interval: str
    broken: int
    fixed: int
    p: str
    shift: str
    moved_broken: tuple[Moved, ...]
    moved_fixed: tuple[Moved, ...]


@dataclass(frozen=True)
class Shown:
    """A comparison as the page shows it.

    Attributes:
        sentence: What it comes to.
        worse: Whether something got worse.
        compared: Whether anything could be compared at all.
        lines: The worst first.
        left_out: How many lines are not shown.
        warnings: What should be known first.
        confidence: Of the intervals, in percent.
        alpha: The level of significance, in percent.
    """

    sentence: str
    worse: bool
    compared: bool
    lines: tuple[Line, ...]
    left_out: int
    warnings: tuple[str, ...]
    confidence: str
    alpha: str


def shown(comparison: Comparison, first: str, second: str) -> Shown:
    """Return a comparison as the page shows it.

    Args:
        comparison: The comparison; its numbers are those of ``roadworthy compare``.
        first: The name that addresses use for the run before.
        second: That of the run after.

    Example:
        >>> shown(Comparison((), {}, (), 0.05, 0.95), "a", "b").sentence
        'Nothing could be compared.'
    """
    found = comparison.differences
    return Shown(
        sentence(comparison),
        bool(comparison.regressions),
        any(one.verdict not in _APART for one in found),
        tuple(_line(one, first, second) for one in found[:_MOST]),
        max(0, len(found) - _MOST),
        comparison.warnings,
        f"{100 * comparison.confidence:g}",
        f"{100 * comparison.alpha:g}",
    )


def _line(one: Difference, first: str, second: str) -> Line:
    system = one.after or one.before or ""
    around = ""
    if one.interval is not None:
        low, high = one.interval
        around = f"{signed(100 * low)} to {signed(100 * high)}"
    return Line(
        one.requirement.id,
        one.requirement.text,
        system if one.before in (None, system) else f"{one.before} → {system}",
        str(one.verdict),
        _CHIPS[one.verdict],
        one.why,
        _remark(one),
        percent(one.rate_before),
        percent(one.rate_after),
        "–" if one.difference is None else signed(100 * one.difference),
        around,
        one.broken,
        one.fixed,
        "–" if one.p_adjusted is None else f"{one.p_adjusted:.2g}",
        "–" if one.shift is None else signed(one.shift),
        tuple(_moved(one, case, second, one.after, case.images_after) for case in one.examples_broken),
        tuple(_moved(one, case, first, one.before, case.images_before) for case in one.examples_fixed),
    )


def _remark(one: Difference) -> str:
    told = [f"{count(one.paired)} cases of {count(one.frames)} frames in both runs"] if one.paired else []
    if one.before and one.after and one.outcome_before != one.outcome_after:
        told.append(f"{one.outcome_before or 'unfinished'} → {one.outcome_after or 'unfinished'}")
    for number, words in (
        (one.still_failing, "fail in both"),
        (one.new, "are new"),
        (one.gone, "are gone"),
        (one.no_longer_judged, "are not applicable any more"),
        (one.newly_judged, "were not applicable before"),
        (one.different, "were made differently and are left out"),
    ):
        if number:
            told.append(f"{count(number)} {words}")
    return "; ".join(told)


def _moved(one: Difference, case: Changed, run: str, system: str | None, images: str) -> Moved:
    """Return a case with the pictures of the run in which it fails, where they are kept."""
    values = ((case.before, case.status_before), (case.after, case.status_after))
    margins = " → ".join(status if margin is None else signed(margin) for margin, status in values)
    chosen = {"requirement": one.requirement.id, "system": system or "", "status": "failures"}
    url = f"/look/{run}?{urlencode({**chosen, 'case': case.case})}"
    return Moved(case.case, margins, case.reason, tuple(images.split()[:2]), run, url)


router = APIRouter(prefix="/compare")

_PATIENCE = 1.0  # seconds after which the page is shown without the comparison
Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(
    request: Request,
    first: Short = "",
    second: Short = "",
    old: Short = "",
    new: Short = "",
    anyway: bool = False,
) -> Response:
    """Return the page: the choice of runs, and what became of each requirement."""
    services = services_of(request)
    found: Shown | None = None
    problem = work = ""
    if first and second:
        try:
            work = _asked(services, first, second, old, new, anyway)
            found = services.bench.get(work).result(_PATIENCE)
        except InputError as error:
            problem = str(error)
    return services.pages.page(
        request,
        "compare.html",
        runs=known_runs(services),
        first=first,
        second=second,
        old=old,
        new=new,
        anyway=anyway,
        old_systems=systems_of(folder_of(services, first)) if first else (),
        new_systems=systems_of(folder_of(services, second)) if second else (),
        found=found,
        problem=problem,
        work="" if found or problem else work,
    )


def _asked(services: Services, first: str, second: str, old: str, new: str, anyway: bool) -> str:
    """Return the id of the comparison, which goes on when nobody waits for it."""
    if bool(old) != bool(new):
        raise InputError("choose a model of both runs, or of neither: then those of one name are compared")
    folders = folder_of(services, first), folder_of(services, second)

    def compared(progress: Progress) -> Shown:
        progress("Reading both runs.", None)
        before, after = map(StoredRun.open, folders)
        cases = sum(sum(pair.counts.values()) for run in (before, after) for pair in run.pairs)
        progress(f"Putting {count(cases)} cases side by side.", None)
        systems = {old: new} if old else None
        found = compare(before, after, systems=systems, anyway=anyway, stoppable=progress.interrupted_by)
        return shown(found, first, second)

    key = ("compare", first, second, old, new, anyway, *map(stamp_of, folders))
    return services.bench.ask(key, compared)
