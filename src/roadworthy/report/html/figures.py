"""Which charts a requirement gets, and the queries behind them: all of them count in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from roadworthy.cases import Requirement
from roadworthy.coverage.search.findings import growth_of
from roadworthy.driving.metrics.computing import meaning_of, unit_of
from roadworthy.errors import InputError
from roadworthy.intervals import clopper_pearson_interval
from roadworthy.report.html.cards import thresholds_of
from roadworthy.report.html.charts import Chart
from roadworthy.report.results import count, number, percent
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
_PAIR = "requirement = $1 AND system = $2"


@dataclass(frozen=True)
class Figure:
    """A chart with its title and what is to be known about it."""

    title: str
    caption: str
    chart: Markup


def figures_of(run: StoredRun, result: Result) -> list[Figure]:
    """Return the charts of one requirement on one system: those for which it has numbers."""
    pair = [result.requirement.id, result.system]
    method = result.requirement.method
    made: list[Figure | None] = []
    if method == "coverage":
        made.append(_growth(run, pair))
    if method == "driving":
        made += _thresholds(run, pair, result.requirement)
    else:
        made += [_by_change(run, pair, result.requirement), _margins(run, pair)]
    return [one for one in made if one is not None]


def _thresholds(run: StoredRun, pair: list[str], requirement: Requirement) -> Iterator[Figure]:
    """Yield, for each metric of a driving oracle, its value in every sector beside the threshold."""
    known = columns_of(run)
    for metric, (limit, sign) in islice(thresholds_of(requirement).items(), _METRICS):
        column = f'"measure.{metric}"'
        if f"measure.{metric}" not in known or '"' in metric:
            continue
        rows = run.query(
            f'SELECT {column} AS value FROM cases WHERE {_PAIR} AND {column} IS NOT NULL ORDER BY "case" '
            f"LIMIT {_POINTS}",
            pair,
        )
        values = [_real(row["value"]) for row in rows]
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
            places = [(place, one) for place, one in enumerate(values, 1) if beyond[place - 1] is far]
            chart.dots(places, name)
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


def columns_of(run: StoredRun) -> set[str]:
    """Return the names of the columns that rows of a run have."""
    return {str(row["column_name"]) for row in run.query("SELECT column_name FROM (DESCRIBE cases)")}


def _by_change(run: StoredRun, pair: list[str], requirement: Requirement) -> Figure | None:
    """Return how many cases fail by how much of the change people see."""
    (known,) = run.query(
        "SELECT count(*) AS judged, count(visual_change) AS known, max(visual_change) AS most, "
        f"count(*) FILTER ({_FAILED} AND visual_change IS NOT NULL) AS failed FROM cases "
        f"WHERE {_PAIR} AND {_JUDGED}",
        pair,
    )
    if not _whole(known["known"]):
        return None
    limit, source = _limit(run, pair, requirement)
    most, unknown = _real(known["most"]), _whole(known["judged"]) - _whole(known["known"])
    reach = limit if limit is not None and most <= limit else _above(most)
    rows = run.query(
        f"SELECT least(greatest(floor(visual_change / $3 * {_PARTS}), 0), {_PARTS - 1}) AS part, "
        f"count(*) FILTER ({_FAILED}) AS failed, count(*) AS tried FROM cases "
        f"WHERE {_PAIR} AND {_JUDGED} AND visual_change IS NOT NULL GROUP BY part ORDER BY part",
        [*pair, reach],
    )
    parts = [
        _Part(
            _real(row["part"]) * reach / _PARTS, reach / _PARTS, _whole(row["failed"]), _whole(row["tried"])
        )
        for row in rows
    ]
    if unknown and not _whole(known["failed"]):
        return None
    title = "Failing cases by visual change"
    words = "; ".join(f"from {number(one.low)}: {one.failed} of {one.tried}" for one in parts)
    wide = _above(max(reach, limit or 0.0))
    # Where Δv was measured for failures only, there is no rate by it, but there are numbers.
    chart, caption = _numbers(parts, wide, words, unknown) if unknown else _rates(parts, wide, words)
    if limit is not None:
        chart.band(0.0, limit, "tolerated", "people tolerate")
        caption += f" Shaded: what people tolerate, up to {number(limit)} ({source})."
    return Figure(title, caption, chart.svg())


class _Part(NamedTuple):
    """Cases with about as much visual change."""

    low: float
    wide: float
    failed: int
    tried: int


def _above(value: float) -> float:
    """Return a round end for an axis from 0 to at most 1."""
    return next((one for one in (0.05, 0.1, 0.2, 0.5) if value <= one), 1.0)


def _rates(parts: Sequence[_Part], wide: float, words: str) -> tuple[Chart, str]:
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
        chart.whisker(middle, *clopper_pearson_interval(one.failed, one.tried), "whisker")
        places.append((middle, one.failed / one.tried))
    if len(places) > _FEW:
        chart.line(places, "series")
    chart.dots(places, "series-dot")
    return chart, "Dots: share in each part of the range; bars: 95% Clopper-Pearson intervals."


def _numbers(parts: Sequence[_Part], wide: float, words: str, unknown: int) -> tuple[Chart, str]:
    chart = Chart(
        (0, wide),
        (0, max(one.failed for one in parts) * 1.1),
        title=f"Number of failing cases by visual change, {words}",
        x_label="visual change Δv",
        y_label="failing cases",
        counted=True,
    )
    chart.bars([(one.low, one.low + one.wide, one.failed) for one in parts], "bad")
    caption = "Counts, not shares: Δv is measured where a case fails, and is unknown for "
    return chart, f"{caption}{count(unknown)} of the cases judged."


def _limit(run: StoredRun, pair: list[str], requirement: Requirement) -> tuple[float | None, str]:
    """Return up to where people tolerate a change, and who says so; None where it is not one known change."""
    given = requirement.parameters.get("limit")
    if isinstance(given, int | float):
        return float(given), str(requirement.parameters.get("source") or "given by the requirement")
    columns = columns_of(run)
    if "param.change.1" not in columns:
        return None, ""
    rows = run.query(
        "SELECT DISTINCT split_part(\"param.change.1\", '(', 1) AS name FROM cases "
        f'WHERE {_PAIR} AND "param.change.1" IS NOT NULL LIMIT 2',
        pair,
    )
    found = known_tolerance(str(rows[0]["name"])) if len(rows) == 1 else None
    return (None, "") if found is None else (found.correctness, found.source)


def _margins(run: StoredRun, pair: list[str]) -> Figure | None:
    """Return how far the cases are from the border between pass and fail."""
    finite = f"{_PAIR} AND margin IS NOT NULL AND isfinite(margin)"
    (ends,) = run.query(
        "SELECT count(*) AS n, min(margin) AS lowest, quantile_cont(margin, 0.005) AS low, "
        f"quantile_cont(margin, 0.995) AS high, max(margin) AS highest FROM cases WHERE {finite}",
        pair,
    )
    if not _whole(ends["n"]) or ends["lowest"] == ends["highest"]:
        return None
    # Of many cases a few far out would press all others into one bar.
    inner = _whole(ends["n"]) > _MANY and ends["low"] != ends["high"]
    low, high = (_real(ends[name]) for name in (("low", "high") if inner else ("lowest", "highest")))
    low, high = min(low, 0.0), max(high, 0.0)
    # A bin ends at the border, so that no bar is half good and half bad.
    wide = (high - low) / _MARGIN_BINS
    rows = run.query(
        "SELECT least(greatest(floor(margin / $3), $4), $5) AS bin, status = 'passed' AS passed, "
        f"count(*) AS n FROM cases WHERE {finite} GROUP BY bin, passed ORDER BY bin, passed",
        [*pair, wide, _floor(low / wide), _floor(high / wide)],
    )
    (others,) = run.query(
        "SELECT count(*) FILTER (margin < 0) AS below, count(*) AS n FROM cases "
        f"WHERE {_PAIR} AND isinf(margin)",
        pair,
    )
    bars: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for row in rows:
        place = _real(row["bin"])
        # Exactly on the border either verdict may stand: a failing case is drawn left of it.
        if not row["passed"] and place >= 0:
            place = -1.0
        bars[bool(row["passed"])].append((place * wide, (place + 1) * wide, _real(row["n"])))
    most = max(value for side in bars.values() for *_, value in side)
    left = min(start for side in bars.values() for start, *_ in side)
    right = max(stop for side in bars.values() for _, stop, _ in side)
    title = "Margins"
    failed, passed = (int(sum(value for *_, value in bars[side])) for side in (False, True))
    chart = Chart(
        (min(left, 0.0), max(right, 0.0)),
        (0, most * 1.1),
        counted=True,
        title=f"Margins of {count(failed)} failing and {count(passed)} passing cases",
        x_label="margin: below 0 fails",
        y_label="cases",
    )
    chart.bars(bars[True], "good")
    chart.bars(bars[False], "bad")
    chart.upright(0.0, "border")
    lowest, highest = number(_real(ends["lowest"])), number(_real(ends["highest"]))
    caption = f"From {lowest} to {highest}" + (
        "; the outermost bars include all values beyond them." if inner else "."
    )
    if infinite := _whole(others["n"]):
        caption += f" {count(infinite)} more are infinite, {count(_whole(others['below']))} of them failing."
    return Figure(title, caption, chart.svg())


def _growth(run: StoredRun, pair: list[str]) -> Figure | None:
    """Return how the coverage of a search grew with its tries."""
    columns = columns_of(run)
    if not {"measure.coverage", "measure.gain", "param.transform"} <= columns:
        return None
    rows = run.query(
        'SELECT "param.transform", status, "measure.coverage", "measure.gain" FROM cases '
        f'WHERE {_PAIR} AND "param.transform" IS NOT NULL ORDER BY "case"',
        pair,
    )
    if not any(row["measure.coverage"] is not None for row in rows):
        return None
    growth = growth_of(rows, 0.0)
    tries = len(growth.coverage) - 1
    step = max(1, tries // _POINTS)
    places = sorted({*range(0, tries + 1, step), tries})
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


def _floor(value: float) -> float:
    return float(value // 1)


def _whole(value: object) -> int:
    assert isinstance(value, int | float)
    return int(value)


def _real(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
