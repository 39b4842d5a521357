"""The page of the benchmarks, written from the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._measured import Bar, Growth, Measured
from benchmarks._results import Area, Results

__all__ = ["AREAS", "GROWTH", "PAGE", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
GROWTH = "growth"
AREAS = {
    "world": "The built-in world",
    "datasets": "Reading data",
    "transforms": "Changes to images, beside peers",
    "adding": "Adding things to images",
    "engines": "Learned engines",
    "zoo": "Reference networks",
    "rules": "Rules",
    "coverage": "Coverage",
    "vif": "Visual change",
    "bbsl": "BBSL",
    "driving": "Driving quality",
    "runs": "Runs and their store",
    "wall": "The web page",
}
_INTRODUCTION = """\
# Benchmarks

`make bench` measures all of this and writes this page. It installs the peers into an environment of its
own, and nothing of the project comes to need them. Ours stands beside a peer or the obvious version of
the same work where there is one, measured in the same run, taking turns where the work is short. Ratios
travel from machine to machine better than times do. The best of several rounds counts; where other work
on the machine would disturb, processor time is taken rather than that of the clock. Bars are what the
project set itself, and a bar that is not reached is shown as such.
"""
_GATE = """\
## Has something become slower?

`make bench-gate` answers in two minutes. It measures small versions of these comparisons, all beside
obvious versions that come with the benchmarks, so it needs no peers. It compares the ratios with those
recorded in `benchmarks/ratios.json` and exits with 1 if one has fallen, to 60% of what it was or, beside
work that cannot be avoided, to 75%, three times in a row. `make bench-record` records them anew.

One part alone: `python -m benchmarks world`, or several names; with `--page` it goes into this page, too.
What the benchmarks measure besides speed is on other pages: `realism` in
[transforms](transforms.md#measured-against-the-truth), `coverage_search` in [the
search](coverage-search.md), learned engines in [engines](engines.md).

**Next:** [known limitations](limitations.md#speed-and-size).
"""


def page(results: Results | None) -> str:
    """Return the page in Markdown; results are None before anything was measured."""
    parts = [_INTRODUCTION]
    if results is None:
        parts.append("Nothing has been measured yet.\n")
    else:
        parts += [_machine(results), _summary(results)]
        parts += [_area(title, results.areas.get(name)) for name, title in AREAS.items()]
        parts.append(_growth(results.areas.get(GROWTH)))
    return "\n".join([*parts, _GATE])


def _machine(results: Results) -> str:
    told = ", ".join(f"{name} {one}" for name, one in results.versions.items())
    return "\n".join([*_table(("machine", ""), list(results.machine.items())), "", f"Versions: {told}.", ""])


def _summary(results: Results) -> str:
    """Say how many bars are reached, and name those that are not."""
    rows = [
        (title, row) for name, title in AREAS.items() for row in _rows(results, name) if row.bar is not None
    ]
    reached, missed, unknown = ([one for one in rows if one[1].met is told] for told in (True, False, None))
    lines = [f"{len(rows)} bars: {len(reached)} reached, {len(missed)} not, {len(unknown)} not measured."]
    for label, some in (("Not reached", missed), ("Not measured", unknown)):
        lines += ["", f"{label}:", "", *(f"- {title}: {row.name}" for title, row in some)] if some else []
    areas = {**AREAS, GROWTH: "How time and memory grow"}
    without = [title for name, title in areas.items() if _unfinished(results.areas.get(name))]
    lines += (
        ["", f"Whole parts without figures, whose bars are not counted: {', '.join(without)}."]
        if without
        else []
    )
    return "\n".join([*lines, ""])


def _unfinished(area: Area | None) -> bool:
    return area is None or bool(area.error)


def _rows(results: Results, name: str) -> Sequence[Measured]:
    area = results.areas.get(name)
    return () if area is None else area.rows


def _area(title: str, area: Area | None) -> str:
    lines = [f"## {title}", "", _when(area), ""]
    if area is not None and area.rows:
        heads = ("", "ours", "beside", "theirs", "times as fast", "bar", "reached")
        lines += [*_table(heads, [_cells(row) for row in area.rows], numbers=(1, 3, 4)), ""]
    return "\n".join(lines)


def _when(area: Area | None) -> str:
    if area is None:
        return "Not measured yet."
    told = f"{area.when}, {area.seconds:.0f} s; load of the machine at the beginning: {area.load:.1f}."
    return f"{told} It broke off: {area.error}" if area.error else told


def _cells(row: Measured) -> tuple[str, ...]:
    ours = f"not measured: {row.note}" if row.value is None else f"{_number(row.value)} {row.unit}"
    beside = ("", "", "")
    if row.beside is not None:
        theirs = f"{_number(row.beside.value)} {row.unit}"
        beside = (row.beside.name, theirs, _number(row.beside.times))
    elif row.value is not None and row.note:
        beside = (row.note, "", "")
    reached = {True: "yes", False: "**no**", None: "not measured"}[row.met] if row.bar is not None else ""
    return (row.name, ours, *beside, _bar(row.bar, row.unit), reached)


def _bar(bar: Bar | None, unit: str) -> str:
    if bar is None:
        return ""
    return f"{bar.sign} {_number(bar.limit)} {unit if bar.of == 'value' else 'times as fast'}"


def _growth(area: Area | None) -> str:
    lines = [
        "## How time and memory grow",
        "",
        "Processor time of the fastest of several rounds, and the most memory that a process held which did",
        "nothing else; what is loaded before the job begins is part of it. Time grows as the size to the",
        "power in the last column.",
        "",
        _when(area),
        "",
    ]
    if area is not None and area.growth:
        heads = ("", "size", "time", "memory", "power")
        lines += [
            *_table(heads, [cells for row in area.growth for cells in _grown(row)], numbers=(1, 2, 3, 4)),
            "",
        ]
    return "\n".join(lines)


def _grown(row: Growth) -> Iterator[tuple[str, ...]]:
    for place, (size, seconds, mib) in enumerate(zip(row.sizes, row.seconds, row.mib, strict=True)):
        ends = (row.name, f"{row.exponent:.2f}") if place == 0 else ("", "")
        yield ends[0], f"{size:,} {row.unit}", f"{_number(seconds * 1000)} ms", f"{mib:.0f} MiB", ends[1]


def _number(value: float) -> str:
    """Return three figures, with commas in thousands."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.2g}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> list[str]:
    rule = ["--:" if place in numbers else "---" for place in range(len(heads))]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]
