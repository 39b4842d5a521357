"""The report of a run as a page: what it shows, within limits, and the file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from roadworthy._files import write_text
from roadworthy._version import __version__
from roadworthy._yaml import read_yaml
from roadworthy.cases import Severity, Status
from roadworthy.errors import InputError
from roadworthy.report import results as reported
from roadworthy.report.html.cards import FailureCard, Thumbnails, card_of, cards_of, failing_rows
from roadworthy.report.html.figures import Figure, figures_of
from roadworthy.report.kinds import told_kinds
from roadworthy.report.results import Result, Standing, by_requirement, clipped, ranked, whole_of
from roadworthy.runs.store import notes_of, shown_images
from roadworthy.runs.store.manifest import is_of_before
from roadworthy.runs.suites.reading import SUITE_FILE

if TYPE_CHECKING:
    from jinja2 import Environment

    from roadworthy.runs.store import StoredRun


_STATIC = Path(__file__).with_name("static")
_AMOUNTS = ("sample", "places", "seeds", "seconds", "repeats", "tries", "versions")
_MOST_FACTS = 200  # lines
_MOST_OF_ONE = 40  # entries of one list or mapping: a data set may name every file


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
    """Return what a run's manifest says, and how much its suite asks for; nothing where there is none."""
    if run.manifest is None:
        return []
    told = {name: value for name, value in run.manifest.items() if name not in ("format", "notes")}
    if isinstance(told.get("settings"), Mapping):
        told["settings"] = {name: value for name, value in told["settings"].items() if value is not None}
    if not is_of_before(run.manifest) and (asked := _asked(run.folder / SUITE_FILE)):
        told["asked for"] = asked
    facts = list(flat(told))
    if len(facts) > _MOST_FACTS:
        facts = [*facts[:_MOST_FACTS], Fact("…", f"{len(facts) - _MOST_FACTS} more in manifest.json", 0)]
    return facts


def _asked(suite: Path) -> Mapping[str, Any]:
    """Return how much a suite asks for of each of its data and requirements, where it says so."""
    try:
        document = read_yaml(suite, "suite", "keys").data
    except InputError:
        return {}
    found: dict[str, Any] = {}
    for section in ("data", "requirements"):
        entries = document.get(section)
        for name, one in entries.items() if isinstance(entries, Mapping) else ():
            said = {key: one[key] for key in _AMOUNTS if isinstance(one, Mapping) and key in one}
            if said:
                found.setdefault(section, {})[name] = said
    return found


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
    for name, value in items[:_MOST_OF_ONE]:
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
    if len(items) > _MOST_OF_ONE:
        yield Fact("…", f"{len(items) - _MOST_OF_ONE} more", depth)


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _joined(values: Sequence[Any]) -> str:
    """Return a list in one line.

    Example:
        >>> _joined(["steering", "speed"]), _joined(range(100))[-14:]
        ('steering, speed', '39 and 60 more')
    """
    left = len(values) - _MOST_OF_ONE
    told = ", ".join(map(str, values[:_MOST_OF_ONE]))
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


@dataclass(frozen=True)
class ReportLimits:
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
class ResultDetails:
    """One requirement on one system, in detail."""

    result: Result
    figures: Sequence[Figure]
    cards: Sequence[FailureCard]


def write_report(
    run: StoredRun, path: str | Path, limits: ReportLimits | None = None, *, linked: bool | None = None
) -> Path:
    """Write the report of a run.

    Args:
        run: The run; it may still be going on, and the page says so.
        path: The file.
        limits: How much is shown at most.
        linked: Whether it links to the run's images; where it lies in the folder of the run if left out.

    Raises:
        InputError: The file cannot be written.
    """
    path = Path(path)
    if linked is None:
        linked = path.resolve().parent == run.folder.resolve()
    contents = _contents(run, limits or ReportLimits())
    write_text(path, environment().get_template("report.html.jinja").render(linked=linked, **contents))
    return path


def _contents(run: StoredRun, limits: ReportLimits) -> dict[str, Any]:
    """Return what the page of a run shows."""
    results = ranked(run)
    grouped, whole = by_requirement(results), whole_of(results)
    thumbnails = Thumbnails(run, limits.image_bytes)
    requirements = {one.requirement.id: one.requirement for one in results}
    kinds = [
        (
            one,
            card_of(
                requirements[str(one.worst["requirement"])], one.worst, shown_images(one.worst), thumbnails
            ),
        )
        for one in told_kinds(run)
    ]
    sections = _sections(run, list(grouped.values())[: limits.sections], limits, thumbnails)
    by_method = {one.requirement.method: Counter[Standing]() for one in results}
    for one in results:
        by_method[one.requirement.method][one.standing] += 1
    return {
        "title": _title(run),
        "when": _when(run),
        "whole": whole,
        "systems": sorted({one.system for one in results}),
        "grouped": grouped,
        "groups": by_requirement(results[: limits.lines]),
        "pairs": len(results),
        "by_method": sorted(by_method.items()),
        "sections": sections,
        "kinds": kinds,
        "shown": sum(len(part.cards) for section in sections for part in section),
        "images_missing": thumbnails.missing,
        "failing": failing_rows(run, limits.reasons),
        "provenance": facts_of(run),
        "notes": notes_of(run.manifest),
        "limits": limits,
    }


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


def _sections(
    run: StoredRun, requirements: Sequence[Sequence[Result]], limits: ReportLimits, thumbnails: Thumbnails
) -> list[list[ResultDetails]]:
    """Return the details of requirements: for each of them, those of its systems."""
    pairs = sum(min(len(results), limits.systems) for results in requirements)
    each = max(1, min(limits.cards_each, limits.cards // max(pairs, 1)))
    left = limits.cards
    sections = []
    for results in requirements:
        parts = []
        for result in results[: limits.systems]:
            # Of its own folder alone: a query of all would read every file of a large run, each time.
            own = type(run).open(run.folder / result.folder)
            cards = cards_of(own, result, min(each, left), thumbnails) if result.failures else []
            left -= len(cards)
            parts.append(ResultDetails(result, figures_of(own, result), cards))
        sections.append(parts)
    return sections


@cache
def style() -> Markup:
    """Return the style sheet of every page."""
    return Markup("\n").join(
        Markup((_STATIC / name).read_text("utf-8")) for name in ("tokens.css", "report.css")
    )


@cache
def policy() -> str:
    """Return what a page may load: its own style sheet, by its checksum, and images that are data URIs."""
    digest = base64.b64encode(hashlib.sha256(f"\n{style()}\n".encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> Environment:
    """Return the templates, which escape everything that is not marked as safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("roadworthy.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "clip": clipped,
        "count": reported.count,
        "number": reported.number,
        "percent": reported.percent,
        "signed": reported.signed,
        "plain": lambda value: reported.number(value) if isinstance(value, float) else str(value),
    }
    made.filters |= filters
    made.globals |= {
        "policy": policy,
        "style": style,
        "version": __version__,
        "Standing": Standing,
        "Status": Status,
        "Severity": Severity,
    }
    return made
