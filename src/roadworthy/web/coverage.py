"""The page Coverage: how structural coverage grew, and which parts of the operating domain nobody tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from roadworthy._files import read_json
from roadworthy.coverage.search.findings import Growth, growth_of
from roadworthy.errors import InputError
from roadworthy.report.html.charts import Chart
from roadworthy.runs.store import StoredRun
from roadworthy.web.services import Here, RunFolder

_FILES = (
    ("evidence/functional_coverage.json", None, "covered", "total", "never_touched", "rows"),
    ("search.json", "functional", "tried", "bins", "never_tried", None),
    ("coverage.json", "functional", "covered", "total", "holes", "dimensions"),
)
"""Files, where in them it stands, and what its parts are called there."""


@dataclass(frozen=True)
class Functional:
    """Functional coverage.

    Attributes:
        file: Where it stands.
        covered: How many bins were tried.
        total: How many there are.
        rows: For each dimension or cross: its name, how many bins were tried, and how many there are.
        holes: For each dimension or cross, what was never tried.
        note: What its frames are, if the file says so.
    """

    file: str
    covered: int
    total: int
    rows: tuple[tuple[str, int, int], ...]
    holes: Mapping[str, tuple[str, ...]]
    note: str = ""


def functional_of(folder: Path) -> list[Functional]:
    """Return the functional coverage that stands in a folder, from whichever command.

    Raises:
        InputError: A file is broken.

    Example:
        >>> import json, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     told = {"functional": {"tried": 1, "bins": 2, "never_tried": ["weather: fog is never tried"]}}
        ...     _ = Path(folder, "search.json").write_text(json.dumps(told))
        ...     functional_of(Path(folder))[0].holes
        {'weather': ('fog is never tried',)}
    """
    found = []
    for file, part, covered, total, holes, rows in _FILES:
        if not (folder / file).is_file():
            continue
        document: Any = read_json(folder / file)
        try:
            told = document if part is None else document.get(part)
            if told is None:
                continue
            found.append(
                Functional(
                    file,
                    int(told[covered]),
                    int(told[total]),
                    tuple(
                        (str(row["name"]), int(row["covered"]), int(row["total"]))
                        for row in (told[rows] if rows else ())
                    ),
                    _grouped([str(one) for one in told[holes]]),
                    str(told.get("note", "")),
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{folder / file} must be what a command of ours writes: {error!r}") from error
    return found


def _grouped(holes: list[str]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for hole in holes:
        name, _, words = hole.partition(": ")
        groups.setdefault(name, []).append(words or name)
    return {name: tuple(some) for name, some in groups.items()}


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


router = APIRouter(prefix="/coverage")

_COVERAGE_FILES = ("coverage.json", "search.json", "evidence/functional_coverage.json")


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return the list of folders that say something about coverage."""
    names = [
        name
        for name in services.folders.names
        if any((services.folders.folder(name) / file).is_file() for file in _COVERAGE_FILES)
        or _searches(services.folders.folder(name))
    ]
    return services.pages.page(request, "coverage_runs.html", names=names)


@router.get("/{name}")
def coverage(request: Request, services: Here, folder: RunFolder, name: str) -> Response:
    """Return what one folder says."""
    problems: list[str] = []
    found: dict[str, Any] = {"searches": [], "measured": None, "functional": []}
    for part, reader in (("measured", measured_of), ("functional", functional_of), ("searches", searches_of)):
        try:
            found[part] = reader(folder)
        except InputError as error:
            # A folder of `coverage measure` is no run, and says so only where there is nothing else.
            if part != "searches" or not (found["measured"] or found["functional"]):
                problems.append(str(error))
    return services.pages.page(request, "coverage.html", name=name, problems=problems, **found)


def _searches(folder: Path) -> bool:
    """Return whether a search of a network is in a run."""
    try:
        return any(pair.requirement.method == "coverage" for pair in StoredRun.open(folder).pairs)
    except InputError:
        return False
