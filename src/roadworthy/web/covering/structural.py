"""How coverage of networks grew: from the rows of searches, and from what `coverage measure` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from roadworthy._files import read_json
from roadworthy.coverage.search.findings import Growth, growth_of
from roadworthy.errors import InputError
from roadworthy.report.html.charts import Chart
from roadworthy.runs.store import StoredRun

__all__ = ["Layer", "Measured", "Search", "measured_of", "searches_of"]

_POINTS = 400
_SERIES = 6


@dataclass(frozen=True)
class Search:
    """A search that was run.

    Attributes:
        requirement: The id of its requirement.
        text: What that says.
        system: The network.
        summary: What came out of it.
        tries: How many images it tried.
        before: The coverage of the originals.
        after: The coverage at the end.
        failures: How many tries failed.
        coverage: How coverage grew.
        failing: How failures grew.
    """

    requirement: str
    text: str
    system: str
    summary: str
    tries: int
    before: float
    after: float
    failures: int
    coverage: Markup
    failing: Markup


@dataclass(frozen=True)
class Layer:
    """What a criterion says of one layer."""

    name: str
    covered: int
    total: int


@dataclass(frozen=True)
class Measured:
    """Coverage of a network that was measured.

    Attributes:
        model: The network.
        images: How many images it saw.
        criteria: For each criterion its name, how much is covered of how much, and its layers.
        growth: How coverage grew with the images; None where it was not followed.
        lines: The names of the lines.
    """

    model: str
    images: int
    criteria: tuple[tuple[str, int, int, tuple[Layer, ...]], ...]
    growth: Markup | None
    lines: tuple[str, ...]


def searches_of(folder: Path) -> list[Search]:
    """Return the searches of a run.

    Raises:
        InputError: The run cannot be read.
    """
    run = StoredRun.open(folder)
    found = []
    for pair in run.pairs:
        if pair.requirement.method != "coverage":
            continue
        rows = run.rows(requirement=pair.requirement.id, system=pair.system)
        growth = growth_of(rows, _reached(pair.outcome.measures if pair.outcome else {}))
        found.append(
            Search(
                pair.requirement.id,
                pair.requirement.text,
                pair.system,
                pair.outcome.summary if pair.outcome else "The search has not concluded.",
                len(growth.coverage) - 1,
                growth.coverage[0],
                growth.coverage[-1],
                growth.failures[-1],
                _coverage_chart(growth),
                _failures_chart(growth),
            )
        )
    return found


def measured_of(folder: Path) -> Measured | None:
    """Return what `coverage measure` wrote to a folder; None where it did not.

    Raises:
        InputError: The file is broken.
    """
    path = folder / "coverage.json"
    if not path.is_file():
        return None
    document: Any = read_json(path)
    try:
        criteria = tuple(
            (
                str(one["criterion"]),
                int(one["covered"]),
                int(one["total"]),
                tuple(
                    Layer(str(row["layer"]), int(row["covered"]), int(row["total"])) for row in one["layers"]
                ),
            )
            for one in document["criteria"]
        )
        names = tuple(name for name, *_ in criteria)[:_SERIES]
        growth = [
            (float(one["images"]), {name: float(one[name]) for name in names if name in one})
            for one in document["growth"]
        ]
        return Measured(
            str(document["model"] or ""),
            int(document["images"]),
            criteria,
            _measured_chart(growth, names) if len(growth) > 1 else None,
            names,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} must be what `coverage measure` writes: {error!r}") from error


def _reached(measures: Mapping[str, Any]) -> float:
    value = measures.get("coverage", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _coverage_chart(growth: Growth) -> Markup:
    low, high = min(growth.coverage), max(growth.coverage)
    room = (high - low) * 0.08 or 0.01
    chart = Chart(
        (0, max(len(growth.coverage) - 1, 1)),
        (max(0.0, low - room), min(1.0, high + room)),
        title="Coverage after each try, from that of the originals",
        x_label="tries",
        y_label="coverage",
        y_percent=True,
    )
    chart.line(_thinned(growth.coverage), "line-1")
    return chart.svg()


def _failures_chart(growth: Growth) -> Markup:
    chart = Chart(
        (0, max(len(growth.failures) - 1, 1)),
        (0, max(growth.failures[-1], 1)),
        title="Failures after each try",
        x_label="tries",
        y_label="failures",
        counted=True,
    )
    chart.line(_thinned(growth.failures), "line-2")
    return chart.svg()


def _measured_chart(growth: Sequence[tuple[float, Mapping[str, float]]], names: Sequence[str]) -> Markup:
    chart = Chart(
        (0, growth[-1][0]), (0, 1), title="Coverage after so many images", x_label="images", y_percent=True
    )
    for place, name in enumerate(names, 1):
        chart.line([(images, values[name]) for images, values in growth if name in values], f"line-{place}")
    return chart.svg()


def _thinned(values: Sequence[float]) -> list[tuple[float, float]]:
    step = max(1, len(values) // _POINTS)
    places = [*range(0, len(values), step), len(values) - 1]
    return [(float(place), float(values[place])) for place in dict.fromkeys(places)]
