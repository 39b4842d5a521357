"""The page Coverage: how structural coverage grew, and which parts of the operating domain nobody tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from roadworthy._files import as_record, read_json
from roadworthy.coverage import FunctionalCoverage
from roadworthy.coverage.search.findings import CoverageGrowth, growth_of
from roadworthy.errors import InputError, told_as
from roadworthy.runs.store import StoredPair, StoredRun
from roadworthy.web.compare import systems_of
from roadworthy.web.services import Here, RunFolder

# Files, where in them functional coverage stands, and what its parts are called there.
_FILES = (
    ("evidence/functional_coverage.json", None, "covered", "total", "never_touched", "rows"),
    ("search.json", "functional", "tried", "bins", "never_tried", None),
    ("coverage.json", "functional", "covered", "total", "holes", "dimensions"),
)
_POINTS = 400


@dataclass(frozen=True)
class DimensionCoverage:
    """A dimension or cross of the operating domain: how many bins were tried, and how many there are."""

    name: str
    covered: int
    total: int


@dataclass(frozen=True)
class Functional:
    """Functional coverage.

    Attributes:
        file: Where it stands.
        covered: How many bins were tried.
        total: How many there are.
        rows: For each dimension or cross, how many bins were tried.
        never: What was never tried, after the name of its dimension or cross.
        note: What its frames are, if the file says so.
    """

    file: str
    covered: int
    total: int
    rows: tuple[DimensionCoverage, ...]
    never: tuple[str, ...]
    note: str = ""

    @property
    def holes(self) -> Mapping[str, list[str]]:
        """For each dimension or cross, what was never tried."""
        groups: dict[str, list[str]] = {}
        for hole in self.never:
            name, _, words = hole.partition(": ")
            groups.setdefault(name, []).append(words or name)
        return groups


@dataclass(frozen=True)
class LayerCoverage:
    """What a criterion says of one layer."""

    layer: str
    covered: int
    total: int


@dataclass(frozen=True)
class MeasuredCriterion:
    """How much of a network a criterion says is covered."""

    criterion: str
    covered: int
    total: int
    layers: tuple[LayerCoverage, ...]


@dataclass(frozen=True)
class MeasuredCoverage:
    """Coverage of a network, as `coverage measure` wrote it.

    Attributes:
        images: How many images were shown.
        criteria: What each criterion says.
        growth: The share that each criterion had covered after so many images.
        model: The network.
    """

    images: int
    criteria: tuple[MeasuredCriterion, ...]
    growth: tuple[dict[str, float], ...]
    model: str | None = None


def has_coverage(folder: Path) -> bool:
    """Return whether a folder has a file about coverage."""
    return any((folder / file).is_file() for file, *_ in _FILES)


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
        {'weather': ['fog is never tried']}
    """
    found = []
    for file, part, covered, total, never, rows in _FILES:
        if not (folder / file).is_file():
            continue
        document: Any = read_json(folder / file)
        try:
            given = document if part is None else document.get(part)
            if given is None:
                continue
            named = {"file": file, "covered": given[covered], "total": given[total], "never": given[never]}
            rest = {"rows": given[rows] if rows else (), "note": given.get("note", "")}
            found.append(as_record(Functional, named | rest))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{folder / file} must be what a command of ours writes: {error!r}") from error
    return found


def measured_of(folder: Path) -> MeasuredCoverage | None:
    """Return what `coverage measure` wrote to a folder; None where it did not.

    Raises:
        InputError: The file is broken.
    """
    path = folder / "coverage.json"
    if not path.is_file():
        return None
    with told_as(InputError, f"{path} must be what `coverage measure` writes", ValueError):
        return as_record(MeasuredCoverage, read_json(path))


def searches_of(folder: Path) -> list[tuple[StoredPair, CoverageGrowth]]:
    """Return the searches of a run, and how each of them went.

    Raises:
        InputError: The run cannot be read.
    """
    run = StoredRun.open(folder)
    found = []
    for pair in run.pairs:
        if pair.requirement.method == "coverage":
            reached = pair.outcome.measures.get("coverage") if pair.outcome else None
            rows = run.rows(requirement=pair.requirement.id, system=pair.system)
            found.append((pair, growth_of(rows, reached if isinstance(reached, int | float) else 0.0)))
    return found


def drawn_growth(growth: CoverageGrowth) -> list[list[float]]:
    """Return tries, coverage and failures as they are drawn: some hundred points of a long search."""
    last = len(growth.coverage) - 1
    places = list(dict.fromkeys([*range(0, last, max(1, last // _POINTS)), last]))
    return [places, *([line[place] for place in places] for line in (growth.coverage, growth.failures))]


def domain_bins() -> dict[str, list[tuple[str, Sequence[str]]]]:
    """Return the bins of each dimension and cross of the operating domain that is measured by default."""
    groups = FunctionalCoverage().domain.groups()
    return {
        " × ".join(one.name for one in group): [(one.name, one.names) for one in group] for group in groups
    }


router = APIRouter(prefix="/coverage")


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return the list of folders that say something about coverage."""
    folders = {name: services.folders.folder(name) for name in services.folders.names}
    found = {
        name: _shares(one)
        for name, one in folders.items()
        if has_coverage(one) or systems_of(one, "coverage")
    }
    return services.pages.page(request, "coverage_runs.html", found=found)


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
    found |= {"name": name, "problems": problems, "growth_of": drawn_growth, "bins": domain_bins()}
    return services.pages.page(request, "coverage.html", **found)


def _shares(folder: Path) -> list[Functional]:
    """Return what of the operating domain is covered; what is broken is told on its own page."""
    try:
        return functional_of(folder)
    except InputError:
        return []
