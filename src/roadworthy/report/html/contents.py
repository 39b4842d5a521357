"""What was tested and with what, as the manifest of a run has it: flat lines, bounded in number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from roadworthy.cases import Requirement, Scalar, Status
from roadworthy.report.html.cards import (
    Box,
    FailingRows,
    Reading,
    Seen,
    Thumbnail,
    Thumbnails,
    changed_region,
    failing_rows,
    read,
    seen_by_people,
)
from roadworthy.report.html.charts import rate_bar
from roadworthy.report.html.figures import Figure, figures_of
from roadworthy.report.results import Result, Standing, Whole, percent, results_of, whole_of
from roadworthy.runs.store import notes_of

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun


MOST = 200  # lines
MOST_OF_ONE = 40  # entries of one list or mapping: a data set may name every file


@dataclass(frozen=True)
class Fact:
    """One line: what about, and what it is; a heading where there is no value."""

    name: str
    value: str | None
    depth: int

    @property
    def is_digest(self) -> bool:
        """Whether the value is a checksum, which is set in letters of one width."""
        value = (self.value or "").removeprefix("sha256:")
        return len(value) in (40, 64) and all(one in "0123456789abcdef" for one in value)


def facts_of(run: StoredRun) -> list[Fact]:
    """Return what the manifest of a run says; nothing where there is none."""
    if run.manifest is None:
        return []
    told = {name: value for name, value in run.manifest.items() if name not in ("format", "notes")}
    if isinstance(told.get("settings"), Mapping):
        told["settings"] = {
            name: "not given" if value is None else value for name, value in told["settings"].items()
        }
    facts = list(flat(told))
    if len(facts) > MOST:
        facts = [*facts[:MOST], Fact("…", f"{len(facts) - MOST} more lines are in manifest.json", 0)]
    return facts


def flat(document: Mapping[str, Any] | Sequence[Any], depth: int = 0) -> Iterator[Fact]:
    """Yield a nested document line by line.

    Example:
        >>> for fact in flat({"seed": 7, "models": [{"name": "dave2", "files": []}]}):
        ...     print("  " * fact.depth + fact.name, fact.value)
        seed 7
        models None
          dave2 None
            files none
    """
    if isinstance(document, Mapping):
        items = [(str(name), value) for name, value in document.items()]
    else:
        items = [(str(place), value) for place, value in enumerate(document, 1)]
    for name, value in items[:MOST_OF_ONE]:
        if not _is_nested(value):
            yield Fact(name, "not known" if value is None else str(value), depth)
        elif not value:
            yield Fact(name, "none", depth)
        elif not isinstance(value, Mapping) and not any(map(_is_nested, value)):
            yield Fact(name, _joined(value), depth)
        elif isinstance(value, Mapping) and "name" in value and not isinstance(document, Mapping):
            yield Fact(str(value["name"]), None, depth)
            yield from flat({key: one for key, one in value.items() if key != "name"}, depth + 1)
        else:
            yield Fact(name, None, depth)
            yield from flat(_brief(value) if isinstance(value, Mapping) else value, depth + 1)
    if len(items) > MOST_OF_ONE:
        yield Fact("…", f"{len(items) - MOST_OF_ONE} more", depth)


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _joined(values: Sequence[Any]) -> str:
    """Return a list in one line.

    Example:
        >>> _joined(["steering", "speed"]), _joined(range(100))[-14:]
        ('steering, speed', '39 and 60 more')
    """
    left = len(values) - MOST_OF_ONE
    told = ", ".join(map(str, values[:MOST_OF_ONE]))
    return f"{told} and {left} more" if left > 0 else told


def _brief(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a checksum with what it is of in one line, and without the sum of its only file once more.

    Example:
        >>> _brief({"sha256": "ab", "hashed": "the files", "count": 1, "sums": {"net.onnx": "ab"}})
        {'sha256': 'ab', 'hashed': 'the files: net.onnx'}
        >>> _brief({"sha256": "ab", "hashed": "the frames", "count": 40})
        {'sha256': 'ab', 'hashed': 'the frames (40)'}
    """
    if not {"sha256", "hashed"} <= record.keys():
        return record
    rest = {name: value for name, value in record.items() if name not in ("sha256", "hashed", "count")}
    told, sums = str(record["hashed"]), record.get("sums")
    if isinstance(sums, Mapping) and len(sums) == 1:
        told += f": {next(iter(sums))}"
        del rest["sums"]
    elif "count" in record:
        told += f" ({record['count']})"
    return {"sha256": record["sha256"] or "nothing to hash", "hashed": told, **rest}


_NOT_KEPT = "No image of this case was kept."


@dataclass(frozen=True)
class Limits:
    """How much a page shows at most, so that its size is bounded whatever the size of the run.

    Attributes:
        lines: Lines of the table of results.
        sections: Requirements that are shown in detail.
        systems: Systems that are shown in detail for each of them.
        cards: Failing cases that are shown in all.
        cards_each: Failing cases that are shown for a requirement and system.
        image_bytes: What all images together take.
        reasons: Lines of the tables of reasons.
        notes: Notes about the run and its models.
    """

    lines: int = 300
    sections: int = 24
    systems: int = 4
    cards: int = 72
    cards_each: int = 4
    image_bytes: int = 6_000_000
    reasons: int = 20
    notes: int = 20


@dataclass(frozen=True, eq=False)
class Card:
    """One failing case.

    Attributes:
        row: Its row.
        reading: What the row says.
        seen: Whether people tolerate the change.
        images: Small copies of its images, the source first.
        region: Where the last image differs from the source, if that is one place.
        unshown: Why there are no images.
    """

    row: Mapping[str, Scalar]
    reading: Reading
    seen: Seen | None
    images: tuple[Thumbnail, ...] = ()
    region: Box | None = None
    unshown: str = ""

    @property
    def facts(self) -> list[tuple[str, Scalar]]:
        """Everything that the row has, for whoever wants to look closely."""
        left_out = ("requirement", "system", "case", "status", "images", "margin", "visual_change", "reason")
        return [
            (name, value) for name, value in self.row.items() if value is not None and name not in left_out
        ]


@dataclass(frozen=True, eq=False)
class Part:
    """One requirement on one system, in detail."""

    result: Result
    figures: Sequence[Figure]
    cards: Sequence[Card]


@dataclass(frozen=True, eq=False)
class Section:
    """One requirement in detail.

    Attributes:
        number: Its place on the page, which links name it by.
        requirement: The requirement.
        standing: What stands worst for it.
        parts: What is shown for each system.
        systems_left_out: For how many nothing is shown.
    """

    number: int
    requirement: Requirement
    standing: Standing
    parts: Sequence[Part]
    systems_left_out: int


@dataclass(frozen=True)
class Line:
    """One line of the table of results."""

    result: Result
    bar: Markup
    link: int | None


@dataclass(frozen=True)
class Group:
    """The lines of one requirement."""

    requirement: Requirement
    lines: Sequence[Line]


@dataclass(frozen=True, eq=False)
class Page:
    """Everything that the page shows."""

    title: str
    when: str
    whole: Whole
    systems: Sequence[str]
    requirements: int
    pairs: int
    groups: Sequence[Group]
    lines_left_out: int
    by_method: Sequence[tuple[str, Mapping[Standing, int]]]
    sections: Sequence[Section]
    sections_left_out: int
    failures: int
    shown: int
    images_missing: int
    failing: FailingRows
    provenance: Sequence[Fact]
    notes: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)


def contents_of(run: StoredRun, limits: Limits | None = None) -> Page:
    """Return what the page of a run shows.

    Args:
        run: The run.
        limits: How much is shown at most.
    """
    limits = limits or Limits()
    results = sorted(results_of(run), key=lambda one: (one.order, one.requirement.id, one.system))
    by_requirement: dict[str, list[Result]] = {}
    for one in results:
        by_requirement.setdefault(one.requirement.id, []).append(one)
    detailed = list(by_requirement)[: limits.sections]
    links = {id: place for place, id in enumerate(detailed, 1)}
    sections, shown, missing = _sections(run, by_requirement, detailed, limits)
    groups = list(_groups(by_requirement, links, limits.lines))
    whole = whole_of(results)
    failing = failing_rows(run, whole, limits.reasons)
    return Page(
        title=_title(run),
        when=_when(run),
        whole=whole,
        systems=sorted({one.system for one in results}),
        requirements=len(by_requirement),
        pairs=len(results),
        groups=groups,
        lines_left_out=len(results) - sum(len(one.lines) for one in groups),
        by_method=_by_method(results),
        sections=sections,
        sections_left_out=len(by_requirement) - len(sections),
        failures=whole.cases[Status.VIOLATED] + whole.cases[Status.ERROR],
        shown=shown,
        images_missing=missing,
        failing=failing,
        provenance=facts_of(run),
        notes=notes_of(run.manifest),
        limits=limits,
    )


def _title(run: StoredRun) -> str:
    """Return what the suite calls itself; the name of the folder where there is no suite."""
    settings = (run.manifest or {}).get("settings")
    title = settings.get("title") if isinstance(settings, Mapping) else None
    return str(title) if title else run.folder.resolve().name


def _when(run: StoredRun) -> str:
    """Return when and with what the run was made, in one line, as far as its manifest tells."""
    manifest = run.manifest or {}
    started, ended, tool = (manifest.get(name) for name in ("started", "ended", "tool"))
    parts = []
    if isinstance(started, str):
        parts.append(f"begun {_minute(started)}")
        parts.append(f"ended {_minute(ended)}" if isinstance(ended, str) else "not ended")
    if "seed" in manifest:
        parts.append(f"seed {manifest['seed']}")
    if isinstance(tool, Mapping) and "version" in tool:
        parts.append(f"tested by Roadworthy {tool['version']}")
    return " · ".join(parts)


def _minute(time: str) -> str:
    """Return a time of a manifest as people read it.

    Example:
        >>> _minute("2026-11-15T21:35:33+00:00")
        '2026-11-15 21:35 UTC'
    """
    return f"{time[:10]} {time[11:16]} UTC" if time.endswith("+00:00") else time


def _groups(results: Mapping[str, Sequence[Result]], links: Mapping[str, int], most: int) -> Iterator[Group]:
    left = most
    for id, found in results.items():
        kept = found[: max(left, 0)]
        left -= len(kept)
        if kept:
            lines = [Line(one, _bar(one), links.get(id)) for one in kept]
            yield Group(found[0].requirement, lines)


def _bar(result: Result) -> Markup:
    if result.rate is None:
        return Markup("")
    words = f"{percent(result.rate)} fail"
    if result.bound is not None:
        words += f", at most {percent(result.bound)}"
    if result.accepted is not None:
        words += f", {percent(result.accepted)} accepted"
    return rate_bar(result.rate, result.bound, result.accepted, words)


def _by_method(results: Sequence[Result]) -> list[tuple[str, Mapping[Standing, int]]]:
    ordered = sorted(results, key=lambda one: one.requirement.method)
    counted: list[tuple[str, Mapping[Standing, int]]] = []
    for method, group in groupby(ordered, key=lambda one: one.requirement.method):
        numbers = dict.fromkeys(Standing, 0)
        for one in group:
            numbers[one.standing] += 1
        counted.append((method, numbers))
    return counted


def _sections(
    run: StoredRun, results: Mapping[str, Sequence[Result]], detailed: Sequence[str], limits: Limits
) -> tuple[list[Section], int, int]:
    thumbnails = Thumbnails(run, limits.image_bytes)
    pairs = sum(min(len(results[id]), limits.systems) for id in detailed)
    each = max(1, min(limits.cards_each, limits.cards // max(pairs, 1)))
    left = limits.cards
    sections = []
    for place, id in enumerate(detailed, 1):
        parts = []
        for result in results[id][: limits.systems]:
            # Of its own folder alone: a query of all would read every file of a large run, each time.
            own = type(run).open(run.folder / result.folder)
            cards = _cards(own, result, min(each, left), thumbnails) if result.failures else []
            left -= len(cards)
            parts.append(Part(result, figures_of(own, result), cards))
        requirement = results[id][0].requirement
        others = len(results[id]) - len(parts)
        sections.append(Section(place, requirement, parts[0].result.standing, parts, others))
    return sections, limits.cards - left, thumbnails.missing


def _cards(run: StoredRun, result: Result, most: int, thumbnails: Thumbnails) -> list[Card]:
    if most < 1:
        return []
    cards = []
    for row in run.worst(result.requirement.id, result.system, most):
        digests = str(row.get("images") or "").split()
        if len(digests) == 1 and row.get("param.place") is not None:
            digests = [*_source(run, row), *digests]
        cards.append(_card(result.requirement, row, digests, thumbnails))
    return cards


def _source(run: StoredRun, row: Mapping[str, Scalar]) -> list[str]:
    """Return the image that a search began with, where the run has kept it: a case of its own there."""
    found = run.query(
        'SELECT images FROM cases WHERE requirement = $1 AND system = $2 AND "param.place" = $3 '
        "AND coalesce(\"param.transform\", '') = '' AND images <> '' LIMIT 1",
        [row["requirement"], row["system"], row["param.place"]],
    )
    return str(found[0]["images"]).split()[:1] if found else []


def _card(
    requirement: Requirement, row: Mapping[str, Scalar], digests: list[str], thumbnails: Thumbnails
) -> Card:
    reading, seen = read(requirement, row), seen_by_people(requirement, row)
    if not digests:
        what = "A drive, of which no image is kept." if requirement.method == "driving" else _NOT_KEPT
        return Card(row, reading, seen, unshown=what)
    images = thumbnails.of(digests)
    if images is None:
        return Card(row, reading, seen, unshown="The page has no room for more images; they are in the run.")
    if not images:
        return Card(row, reading, seen, unshown="The image of this case is no longer in the run's folder.")
    corners = changed_region(images[0].image, images[-1].image) if len(images) > 1 else None
    region = None if corners is None else Box("change", corners)
    return Card(row, reading, seen, tuple(images), region)
