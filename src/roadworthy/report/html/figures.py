"""Which charts a requirement gets, and the queries behind them: all of them count in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from roadworthy.coverage.search.findings import growth_of
from roadworthy.driving.metrics.computing import meaning_of, unit_of
from roadworthy.errors import InputError
from roadworthy.report.html.cards import thresholds_of
from roadworthy.report.html.charts import Chart
from roadworthy.report.results import SEARCHES, count, number, percent
from roadworthy.statistics import ClusteredRate
from roadworthy.visual_change.tolerance import known_tolerance

if TYPE_CHECKING:
    from roadworthy.report.results import Result
    from roadworthy.runs.store import StoredRun


_PARTS = 10
_FEW = 2  # points make no line
_MARGIN_BINS = 24
_POINTS = 240  # of a line; more cannot be seen
_MANY = 2000  # cases
_METRICS = 4  # of an oracle that are drawn
_FAILED = "status IN ('violated', 'error')"
_JUDGED = "status IN ('passed', 'violated', 'error')"


@dataclass(frozen=True)
class Figure:
    """A chart with its title and what is to be known about it."""

    title: str
    caption: str
    chart: Markup


class _Cases:
    """The stored cases of one requirement on one system."""

    def __init__(self, run: StoredRun, result: Result) -> None:
        self.requirement = result.requirement
        # Searches of before told a rate, with its bound.
        self.searched = result.requirement.method in SEARCHES and result.rate is None
        self._run = run
        self._pair = [result.requirement.id, result.system]

    @cached_property
    def columns(self) -> set[str]:
        """The names of their columns."""
        rows = self._run.query("SELECT column_name FROM (DESCRIBE cases)")
        return {str(row["column_name"]) for row in rows}

    def select(self, what: str, where: str, rest: str = "", values: Sequence[float] = ()) -> list[Any]:
        """Return what the database says; values are $3 and so on."""
        sql = f"SELECT {what} FROM cases WHERE requirement = $1 AND system = $2 AND {where} {rest}"
        return self._run.query(sql, [*self._pair, *values])


def figures_of(run: StoredRun, result: Result) -> list[Figure]:
    """Return the charts of one requirement on one system: those for which it has numbers."""
    cases = _Cases(run, result)
    made: list[Figure | None] = []
    if result.requirement.method == "coverage":
        made.append(_growth(cases))
    if result.requirement.method == "driving":
        made += _thresholds(cases)
    else:
        made += [_by_change(cases), _margins(cases)]
    return [one for one in made if one is not None]


def _thresholds(cases: _Cases) -> Iterator[Figure]:
    """Yield, for each metric of a driving oracle, its value in every sector beside the threshold."""
    for metric, (limit, sign) in islice(thresholds_of(cases.requirement).items(), _METRICS):
        column = f'"measure.{metric}"'
        if f"measure.{metric}" not in cases.columns or '"' in metric:
            continue
        rows = cases.select(f"{column} AS value", f"{column} IS NOT NULL", f'ORDER BY "case" LIMIT {_POINTS}')
        values = [float(row["value"]) for row in rows]
        if not values:
            continue
        beyond = [value > limit if sign == "≤" else value < limit for value in values]
        lowest, highest = min(0.0, limit, *values), max(0.0, limit, *values)
        chart = Chart(
            (0, len(values) + 1),
            (lowest * 1.1, highest * 1.1 or 1.0),
            title=f"{metric} in {len(values)} sectors: {sum(beyond)} beyond the threshold of {number(limit)}",
            x_label="sectors, by name",
            y_label=metric,
        )
        chart.level(limit, "accepted")
        for far, name in ((False, "good"), (True, "bad")):
            chart.dots([one for one in enumerate(values, 1) if beyond[one[0] - 1] is far], name)
        caption = (
            f"Line: the threshold, {sign} {number(limit)}. Red: {sum(beyond)} of {len(values)} beyond it."
        )
        yield Figure(f"{metric} against its threshold", f"{_meaning(metric)}{caption}", chart.svg())


def _meaning(metric: str) -> str:
    """Return a metric in words, with its unit; nothing where this version does not know it."""
    try:
        words, unit = meaning_of(metric), unit_of(metric)
    except InputError:
        return ""
    return f"{words[:1].upper()}{words[1:]}{f', in {unit}' if unit else ''}. "


def _by_change(cases: _Cases) -> Figure | None:
    """Return how many cases fail by how much of the change people see."""
    (known,) = cases.select(
        "count(*) AS judged, count(visual_change) AS known, max(visual_change) AS most, "
        f"count(*) FILTER ({_FAILED} AND visual_change IS NOT NULL) AS failed",
        _JUDGED,
    )
    unknown = known["judged"] - known["known"]
    if not known["known"] or (unknown and not known["failed"]):
        return None
    limit, source = _limit(cases)
    reach = limit if limit is not None and known["most"] <= limit else _above(known["most"])
    rows = cases.select(
        f"least(greatest(floor(visual_change / $3 * {_PARTS}), 0), {_PARTS - 1}) AS part, "
        f'coalesce(cluster, "case") AS cluster, count(*) FILTER ({_FAILED}) AS failed, count(*) AS tried',
        f"{_JUDGED} AND visual_change IS NOT NULL",
        "GROUP BY ALL ORDER BY part",
        [reach],
    )
    wide = reach / _PARTS
    parts = [
        _ChangeBin(part * wide, wide, ClusteredRate.of(*zip(*inside, strict=True)))
        for part, inside in (
            (part, [(row["tried"], row["failed"]) for row in group])
            for part, group in groupby(rows, lambda row: row["part"])
        )
    ]
    words = "; ".join(f"from {number(one.low)}: {one.found.failures} of {one.found.cases}" for one in parts)
    end = _above(max(reach, limit or 0.0))
    # Where Δv was measured for failures only, or a search chose what to try, there are numbers, but no rates.
    by_number = unknown or (cases.searched and known["failed"])
    chart, caption = _numbers(parts, end, words, unknown) if by_number else _rates(parts, end, words)
    if limit is not None:
        chart.band(0.0, limit, "tolerated", "people tolerate")
        caption += f" Shaded: what people tolerate, up to {number(limit)} ({source})."
    return Figure("Failing cases by visual change", caption, chart.svg())


class _ChangeBin(NamedTuple):
    """Cases with about as much visual change."""

    low: float
    wide: float
    found: ClusteredRate


def _above(value: float) -> float:
    """Return a round end for an axis from 0 to at most 1."""
    return next((one for one in (0.05, 0.1, 0.2, 0.5) if value <= one), 1.0)


def _rates(parts: Sequence[_ChangeBin], wide: float, words: str) -> tuple[Chart, str]:
    chart = Chart(
        (0, wide),
        (0, 1),
        title=f"Share of failing cases by visual change, {words}",
        x_label="visual change Δv",
        y_label="cases that fail",
        y_percent=True,
    )
    places = []
    for one in parts:
        middle = one.low + one.wide / 2
        chart.whisker(middle, *one.found.interval(), "whisker")
        places.append((middle, one.found.rate))
    if len(places) > _FEW:
        chart.line(places, "series")
    chart.dots(places, "series-dot")
    return chart, "Dots: share in each part of the range; bars: 95% intervals over clusters."


def _numbers(parts: Sequence[_ChangeBin], wide: float, words: str, unknown: int) -> tuple[Chart, str]:
    chart = Chart(
        (0, wide),
        (0, max(one.found.failures for one in parts) * 1.1),
        title=f"Number of failing cases by visual change, {words}",
        x_label="visual change Δv",
        y_label="failing cases",
        counted=True,
    )
    chart.bars([(one.low, one.low + one.wide, one.found.failures) for one in parts], "bad")
    if not unknown:
        return chart, "Counts, not shares: a search tries what fails more often."
    caption = "Counts, not shares: Δv is measured where a case fails, and is unknown for "
    return chart, f"{caption}{count(unknown)} of the cases judged."


def _limit(cases: _Cases) -> tuple[float | None, str]:
    """Return up to where people tolerate a change, and who says so; None where it is not one known change."""
    parameters = cases.requirement.parameters
    given = parameters.get("limit")
    if isinstance(given, int | float):
        return float(given), str(parameters.get("source") or "given by the requirement")
    if "param.change.1" not in cases.columns:
        return None, ""
    rows = cases.select(
        "DISTINCT split_part(\"param.change.1\", '(', 1) AS name", '"param.change.1" IS NOT NULL', "LIMIT 2"
    )
    found = known_tolerance(str(rows[0]["name"])) if len(rows) == 1 else None
    return (None, "") if found is None else (found.correctness, found.source)


def _margins(cases: _Cases) -> Figure | None:
    """Return how far the cases are from the border between pass and fail."""
    finite = "margin IS NOT NULL AND isfinite(margin)"
    (ends,) = cases.select(
        "count(*) AS n, min(margin) AS lowest, quantile_cont(margin, 0.005) AS low, "
        "quantile_cont(margin, 0.995) AS high, max(margin) AS highest",
        finite,
    )
    if not ends["n"] or ends["lowest"] == ends["highest"]:
        return None
    # Of many cases a few far out would press all others into one bar.
    inner = ends["n"] > _MANY and ends["low"] != ends["high"]
    low, high = (ends[name] for name in (("low", "high") if inner else ("lowest", "highest")))
    low, high = min(low, 0.0), max(high, 0.0)
    # A bin ends at the border, so that no bar is half good and half bad.
    wide = (high - low) / _MARGIN_BINS
    rows = cases.select(
        "least(greatest(floor(margin / $3), $4), $5) AS bin, status = 'passed' AS passed, count(*) AS n",
        finite,
        "GROUP BY bin, passed ORDER BY bin, passed",
        [wide, low / wide // 1, high / wide // 1],
    )
    (others,) = cases.select("count(*) FILTER (margin < 0) AS below, count(*) AS n", "isinf(margin)")
    bars: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for row in rows:
        # Exactly on the border either verdict may stand: a failing case is drawn left of it.
        place = row["bin"] if row["passed"] else min(row["bin"], -1.0)
        bars[bool(row["passed"])].append((place * wide, (place + 1) * wide, row["n"]))
    drawn = [*bars[True], *bars[False]]
    failed, passed = (sum(value for *_, value in bars[side]) for side in (False, True))
    chart = Chart(
        (min(0.0, *(start for start, *_ in drawn)), max(0.0, *(stop for _, stop, _ in drawn))),
        (0, max(value for *_, value in drawn) * 1.1),
        counted=True,
        title=f"Margins of {count(int(failed))} failing and {count(int(passed))} passing cases",
        x_label="margin: below 0 fails",
        y_label="cases",
    )
    chart.bars(bars[True], "good")
    chart.bars(bars[False], "bad")
    chart.upright(0.0, "border")
    caption = f"From {number(ends['lowest'])} to {number(ends['highest'])}" + (
        "; the outermost bars include all values beyond them." if inner else "."
    )
    if others["n"]:
        caption += f" {count(others['n'])} more are infinite, {count(others['below'])} of them failing."
    return Figure("Margins", caption, chart.svg())


def _growth(cases: _Cases) -> Figure | None:
    """Return how the coverage of a search grew with its tries."""
    if not {"measure.coverage", "measure.gain", "param.transform"} <= cases.columns:
        return None
    rows = cases.select(
        '"param.transform", status, "measure.coverage", "measure.gain"',
        '"param.transform" IS NOT NULL',
        'ORDER BY "case"',
    )
    if not any(row["measure.coverage"] is not None for row in rows):
        return None
    growth = growth_of(rows, 0.0)
    tries = len(growth.coverage) - 1
    places = sorted({*range(0, tries + 1, max(1, tries // _POINTS)), tries})
    first, last, failures = growth.coverage[0], growth.coverage[-1], growth.failures[-1]
    chart = Chart(
        (0, max(tries, 1)),
        (0, min(1.0, max(last, failures / max(tries, 1)) * 1.15)),
        title=f"Coverage from {percent(first)} to {percent(last)}; {failures} of {tries} tries failed",
        x_label="tries",
        y_percent=True,
    )
    chart.line([(place, growth.failures[place] / max(tries, 1)) for place in places], "bad-line")
    chart.line([(place, growth.coverage[place]) for place in places], "series")
    return Figure(
        "Coverage and failures of the search",
        f"Blue: coverage, from {percent(first)} (originals) to {percent(last)}. Red: tries that failed, as a "
        f"share of all {count(tries)}.",
        chart.svg(),
    )
