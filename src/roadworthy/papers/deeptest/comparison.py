"""Searches beside each other: RQ3 of DeepTest (Table 6), and differences over many seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from roadworthy._files import file_name
from roadworthy.cases import Requirement, Scalar
from roadworthy.coverage.criteria import Criterion, parse_mixture
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.observed import Observed, observable
from roadworthy.coverage.oracle import cluster
from roadworthy.coverage.parameter_sets import ParameterSet
from roadworthy.coverage.search.findings import CoverageGrowth, failures_of, growth_of
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.errors import NotApplicable, check_number
from roadworthy.frames import Frame
from roadworthy.models import SystemUnderTest
from roadworthy.papers.deeptest.seeds import Seeds
from roadworthy.result_tables import ResultTable
from roadworthy.runs import read_rows, run
from roadworthy.seeding import rng_for

Row = Mapping[str, Scalar]

BASELINE = "seed images"
CUMULATIVE = "all transformations"


def add_every_change(
    system: Observed[Any],
    frames: Iterable[Frame],
    sets: Sequence[ParameterSet],
    criterion: Criterion,
    *,
    seed: int = 0,
) -> int:
    """Add to a criterion what every transformation of every frame, with every parameter, covers.

    Args:
        system: The network.
        frames: The seed images, read once.
        sets: The transformations with their parameters.
        criterion: What is added to.
        seed: Of what is random in the transformations.

    Returns:
        How many images that was; a transformation that does not apply to a frame makes none.
    """
    count = 0
    for place, frame in enumerate(frames):
        for one in sets:
            changed = []
            for number, choice in enumerate(one):
                rng = rng_for(seed, "every", place, one.name, number)
                try:
                    changed.append(choice.transform(frame, rng, measure=False))
                except NotApplicable:
                    continue
            if changed:
                criterion.update(system.observe(changed)[1])
                count += len(changed)
    return count


@dataclass(frozen=True)
class Reached:
    """How much a way of making images covered.

    Attributes:
        model: Of which network.
        way: Seed images, all transformations, or the name of a search.
        images: How many images were tried.
        kept: How many of them raised coverage; None where that was not counted.
        covered: How many neurons, or other cells, were covered, those of the seed images included.
        total: How many there are.
        failures: How many tries violate Equation 2; None where they were not judged.
        findings: How many distinct findings these are.
    """

    model: str
    way: str
    images: int
    covered: int
    total: int
    kept: int | None = None
    failures: int | None = None
    findings: int | None = None


@dataclass(frozen=True)
class GuidedStudy:
    """What RQ3 asks: can coverage be increased further by combining transformations? The shape of Table 6.

    Attributes:
        rows: Each model's, the seed images first.
        note: What a reader should know.
        tries: How many tries each search had.
    """

    rows: tuple[Reached, ...]
    note: str = ""
    tries: int = 0

    def increase(self, row: Reached, than: str) -> float | None:
        """Return by which share a way covers more than another of the same model; None if there is none."""
        for other in self.rows:
            if (other.model, other.way) == (row.model, than) and other.covered:
                return row.covered / other.covered - 1
        return None

    def table(self) -> ResultTable:
        """Return the table; increases over the seed images and over all transformations."""
        title = "Coverage of seed images, of all their transformations, and of guided searches"
        return ResultTable.of(title, map(self._cells, self.rows), self.note, name="guided")

    def _cells(self, row: Reached) -> dict[str, str]:
        def shown(number: int | None) -> str:
            return "-" if number is None else str(number)

        def more(than: str) -> str:
            found = None if row.way in (BASELINE, than) else self.increase(row, than)
            return "-" if found is None else f"{found:+.1%}"

        return {
            "model": row.model,
            "images made by": row.way,
            "tried": shown(row.images),
            "kept": shown(row.kept),
            "covered": shown(row.covered),
            "share": f"{row.covered / row.total:.1%}",
            "over seeds": more(BASELINE),
            "over all": more(CUMULATIVE),
            "failures": shown(row.failures),
            "findings": shown(row.findings),
        }


_SEARCHES = ("random", "algorithm-1", "curious")


def study_guided(
    systems: Sequence[SystemUnderTest],
    seeds: Seeds,
    settings: SearchSettings,
    *,
    tries: int = 0,
    counting: str = "distinct",
    threshold: float = 0.2,
    out: Path,
    seed: int = 0,
    progress: Callable[[str, int], AbstractContextManager[Callable[[int], None]]],
) -> tuple[GuidedStudy, dict[str, dict[str, CoverageGrowth]]]:
    """Cover neurons with seed images, with all their transformations, and with searches.

    Args:
        systems: The networks.
        seeds: The seed images.
        settings: What all searches share.
        tries: Of each search; as many as all transformations make images if 0.
        counting: What counts as a neuron.
        threshold: Above which it is activated.
        out: Where the searches are written; those that are there go on.
        seed: Of all that is random.
        progress: Shows how far a part is.

    Returns:
        The study, and how coverage grew in each search of each network.

    Raises:
        InputError: A system does not show its layers.
    """
    check_number("--tries", tries, least=0)
    settings = replace(settings, criterion=f"neuron(threshold={threshold})")
    tries = tries or len(seeds) * sum(len(one) for one in settings.space().sets)
    note = (
        f"{len(seeds)} seed images; neurons are counted {counting!r}, activated above {threshold:g}; the "
        f"coverage of searches includes the seed images; kept are images that raised coverage; failures "
        f"violate Equation 2 with λ = {settings.lam:g} and the {settings.reference.upper()} of the seed "
        "images, and all findings of a model are counted together."
    )
    rows: list[Reached] = []
    growths: dict[str, dict[str, CoverageGrowth]] = {}
    for system in systems:
        watched = observable(system, counting)
        with progress(f"{watched.name}: {CUMULATIVE}", len(seeds)):
            rows += _unguided(watched, seeds, settings, seed)
        folders = {name: out / f"{file_name(system.name)}-{name}" for name in _SEARCHES}
        searched: list[Reached] = []
        growths[system.name] = {}
        for name, folder in folders.items():
            chosen = replace(settings, search=name, tries=tries)
            with progress(f"{watched.name}: {name}", tries + len(seeds)) as told:
                reached, growth = _searched(watched, seeds, chosen, folder, seed, told)
            searched.append(reached)
            growths[system.name][name] = growth
        found = distinct_failures({name: read_rows(folder) for name, folder in folders.items()})
        rows += [replace(row, findings=found[row.way]) for row in searched]
    return GuidedStudy(tuple(rows), note, tries), growths


def _unguided(watched: Observed[Any], seeds: Seeds, settings: SearchSettings, seed: int) -> list[Reached]:
    """Return what the seed images cover, and what all their transformations cover."""
    made: Any = None
    for frame in seeds:
        _, seen = watched.observe([frame])
        made = made or parse_mixture(settings.criterion).make(seen.layers)
        made.update(seen)
    baseline = Reached(watched.name, BASELINE, len(seeds), made.covered, made.total)
    # The seed images are not among the transformed ones in the paper either.
    fresh = parse_mixture(settings.criterion).make(made.layers)
    count = add_every_change(watched, seeds, settings.space().sets, fresh, seed=seed)
    return [baseline, Reached(watched.name, CUMULATIVE, count, fresh.covered, fresh.total)]


def _searched(
    watched: Observed[Any],
    seeds: Seeds,
    settings: SearchSettings,
    folder: Path,
    seed: int,
    told: Callable[[int], None],
) -> tuple[Reached, CoverageGrowth]:
    method = CoverageMethod()
    requirement = Requirement(settings.search, "RQ3", method.name, settings.parameters())
    # The paper judges every image that it makes.
    how: dict[str, Any] = {"out": folder, "seed": seed, "images": "none", "gate": "off"}
    how["resume"] = folder.exists()
    run(method, requirement, seeds, watched, **how, progress=lambda counts: told(sum(counts.values())))
    criterion = method.originals.criterion
    growth = growth_of(read_rows(folder), criterion.value)
    kept = sum(after > before for before, after in pairwise(growth.coverage))
    tried, failures = len(growth.coverage) - 1, growth.failures[-1]
    covered = criterion.covered, criterion.total
    reached = Reached(watched.name, settings.search, tried, *covered, kept, failures)
    return reached, growth


def distinct_failures(searches: Mapping[str, Iterable[Row]], *, radius: float = 1.0) -> dict[str, int]:
    """Return how many distinct findings each of several searches has, counted by one measure for all.

    Clustered alone, a search whose failures are spread wide would be measured by a longer yardstick. So the
    failures of all searches are clustered together, and a search has the findings that it has a failure in.

    Args:
        searches: The stored rows of each search, on the same network and originals.
        radius: Of a finding.

    Example:
        >>> row = {"case": "try 000001", "status": "violated", "margin": -2.0, "measure.error": 1.5}
        >>> distinct_failures({"a": [row, {**row, "measure.error": -1.5}], "b": [row]})
        {'a': 2, 'b': 1}
    """
    failures = [(name, one) for name, rows in searches.items() for _, one in failures_of(rows)]
    groups = cluster([one for _, one in failures], radius=radius)
    owners = Counter(name for group in groups for name in {failures[place][0] for place in group.members})
    return {name: owners[name] for name in searches}
