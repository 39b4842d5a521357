"""A comparison as the page shows it: a line for each requirement and model, with links to what changed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from roadworthy.report.comparison import sentence
from roadworthy.report.html.formats import count, percent, signed
from roadworthy.runs.comparison import Changed, Comparison, ComparisonVerdict, Difference

__all__ = ["Line", "Moved", "Shown", "shown"]

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
