"""Two runs compared, for people: one HTML file, or Markdown for a pull request."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import rendered, write_text
from roadworthy.errors import InputError
from roadworthy.report.html.cards import Thumbnails
from roadworthy.report.html.page import environment
from roadworthy.report.result_files import escaped
from roadworthy.report.results import clipped, count, percent, signed
from roadworthy.runs.comparison import Comparison, ComparisonVerdict, Difference

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun


_CARDS = 24
_IMAGE_BYTES = 4_000_000
_NOT_COUNTED = (ComparisonVerdict.GONE, ComparisonVerdict.NEW, ComparisonVerdict.NOT_COMPARED)


def counted(comparison: Comparison) -> list[Difference]:
    """Return the requirements that could be compared: those in both runs, with cases that both judged."""
    return [one for one in comparison.differences if one.verdict not in _NOT_COUNTED]


def sentence(comparison: Comparison) -> str:
    """Return what a comparison comes to, in one sentence.

    Example:
        >>> sentence(Comparison((), {}, (), 0.05))
        'Nothing could be compared.'
    """
    found = counted(comparison)
    if not found:
        return "Nothing could be compared."
    broken, fixed = sum(one.broken for one in found), sum(one.fixed for one in found)
    worse, better = len(comparison.regressions), len(comparison.improvements)
    first = f"{count(worse)} regression{'s' if worse > 1 else ''}" if worse else "No regression"
    second = f"{count(better)} improvement{'s' if better > 1 else ''}" if better else "no improvement"
    return (
        f"{first} and {second} in {count(len(found))} comparison{'s' if len(found) > 1 else ''}; "
        f"{count(broken)} cases broken, {count(fixed)} fixed."
    )


def models_of(one: Difference) -> str:
    """Return the model that a comparison is of, or both where they have different names."""
    system = one.after or one.before or ""
    return system if one.before in (None, system) else f"{one.before} → {system}"


def cells_of(one: Difference) -> tuple[str, ...]:
    """Return failure rates before and after, cases broken and fixed, p, and how far margins moved."""
    return (
        percent(one.rate_before),
        percent(one.rate_after),
        count(one.broken),
        count(one.fixed),
        "–" if one.p is None else f"{one.p:.2g}",
        "–" if one.shift is None else signed(one.shift),
    )


def explained(one: Difference) -> str:
    """Return why a comparison comes to its verdict, how many cases that rests on, and what was not paired."""
    parts = [one.why] if one.why else []
    if one.paired:
        parts.append(f"{count(one.paired)} cases of {count(one.clusters)} clusters in both runs")
    if one.before and one.after and one.outcome_before != one.outcome_after:
        parts.append(f"{one.outcome_before or 'unfinished'} → {one.outcome_after or 'unfinished'}")
    for number, words in (
        (one.still_failing, "fail in both"),
        (one.new, "are new"),
        (one.gone, "are gone"),
        (one.no_longer_judged, "no longer apply"),
        (one.newly_judged, "did not apply before"),
        (one.different, "were made differently and are left out"),
    ):
        if number:
            parts.append(f"{count(number)} {words}")
    return "; ".join(parts)


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON holds it; what is not finite is text."""
    return {
        "sentence": sentence(comparison),
        "regressions": len(comparison.regressions),
        "improvements": len(comparison.improvements),
        "systems": dict(comparison.systems),
        "alpha": comparison.alpha,
        "correction": comparison.correction,
        "warnings": list(comparison.warnings),
        "comparisons": [_record(one) for one in comparison.differences],
    }


def _record(one: Difference) -> dict[str, Any]:
    record = asdict(one)
    record["requirement"] = one.requirement.id
    record["difference"] = one.difference
    return {name: _finite(value) for name, value in record.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return value


def write_comparison(comparison: Comparison, path: str | Path, first: StoredRun, second: StoredRun) -> Path:
    """Write a comparison as HTML or Markdown, as the ending of the file says.

    Args:
        comparison: The comparison.
        path: The file, which ends in .html or .md.
        first: The run before.
        second: The run after, which has the images of what broke.

    Raises:
        InputError: The file has another ending or cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() in (".html", ".htm"):
        write_text(path, _html(comparison, first, second))
    elif path.suffix.lower() == ".md":
        write_text(path, _markdown(comparison))
    else:
        raise InputError(f"{path}: expected a file that ends in .html or .md")
    return path


def _html(comparison: Comparison, first: StoredRun, second: StoredRun) -> str:
    thumbnails = Thumbnails(second, _IMAGE_BYTES)
    # Broken cases, each with its images in the second run.
    examples: list[dict[str, object]] = []
    for one in comparison.differences:
        for case in one.examples_broken[: 3 if one.verdict is ComparisonVerdict.REGRESSION else 1]:
            if len(examples) < _CARDS:
                images = thumbnails.of(case.images_after.split()) or []
                examples.append({"difference": one, "case": case, "images": images})
    return (
        environment()
        .get_template("comparison.html.jinja")
        .render(
            comparison=comparison,
            sentence=sentence(comparison),
            examples=examples,
            first=first.folder.resolve().name,
            second=second.folder.resolve().name,
            ComparisonVerdict=ComparisonVerdict,
            models_of=models_of,
            explained=explained,
        )
    )


def _markdown(comparison: Comparison) -> str:
    return rendered(
        Path(__file__).with_name("comparison.md.jinja"),
        comparison=comparison,
        sentence=sentence(comparison),
        cells_of=cells_of,
        models_of=models_of,
        clipped=clipped,
        count=count,
        escaped=escaped,
        signed=signed,
    )
