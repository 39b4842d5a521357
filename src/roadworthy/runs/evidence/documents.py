"""The documents of an evidence bundle: the page that opens it, and the trace from requirement to image."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from roadworthy._files import rendered, replacing, sha256_of, write_text
from roadworthy._tables import csv_text, write_csv
from roadworthy._version import __version__
from roadworthy._yaml import read_yaml
from roadworthy.cases import Scalar
from roadworthy.errors import shortened
from roadworthy.result_tables import ResultTable, markdown_text
from roadworthy.runs.evidence import conditions, requirement_coverage
from roadworthy.runs.evidence.argument import Argued, diagrams, fragment_of
from roadworthy.runs.evidence.conditions import Catalogue, Condition
from roadworthy.runs.evidence.pairs import TestedPair, folder_digests, pair_results, rows_of
from roadworthy.runs.evidence.sums import files_below
from roadworthy.runs.store import Row, StoredRun, image_path, notes_of
from roadworthy.runs.store.manifest import is_of_before

_TABLES = read_yaml(Path(__file__).with_suffix(".yaml"), "file of tables", "'trace:'").data

EPOCH = "1970-01-01T00:00:00+00:00"
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "Severity": ("minor", "major", "critical"),
    "Status": ("passed", "violated", "inconclusive", "not tried"),
}
# Names that begin with "ReqIF." are those of the ReqIF implementation guide, which tools look for.
_ATTRIBUTES: Mapping[str, str] = read_yaml(Path(__file__).with_name("reqif.yaml"), "file", "attributes").data
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_ESCAPES = {'"': "&quot;", "\t": "&#09;", "\n": "&#10;", "\r": "&#13;"}


def write_trace(run: StoredRun, path: Path, seen: Callable[[Row, int], None]) -> int:
    """Write a line for every case of a run, and return how many; memory does not grow with their number.

    Images are paths below the run, separated by spaces. Numbers are written so that reading gives them back.
    What a case counts for stands beside it: its cluster, and how many cases and clusters of its requirement
    on its system were judged, and are worth how many independent cases.

    Args:
        run: The run.
        path: The file.
        seen: Is shown every row with its number, so that rows are read once.

    Raises:
        InputError: The file cannot be written.
    """
    written = 0

    def lines() -> Iterator[tuple[str, ...]]:
        nonlocal written
        for pair in run.pairs:
            one = pair.requirement
            head = (one.id, one.method, str(one.severity), "; ".join(one.tags), pair.system)
            known = {} if pair.outcome is None else pair.outcome.measures
            judged = sum(number for status, number in pair.counts.items() if status.is_judged)
            numbers = (judged, known.get("clusters"), known.get("effective_cases"))
            for row in rows_of(pair):
                written += 1
                seen(row, written)
                yield *head, *_cells(row), str(row.get("cluster") or ""), *map(_number, numbers)

    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, _TABLES["trace"], lines())
    return written


def _cells(row: Row) -> tuple[str, ...]:
    images = [image_path(Path("images"), digest).as_posix() for digest in str(row["images"] or "").split()]
    return (
        str(row["case"]),
        str(row["status"]),
        _number(row["margin"]),
        str(row["reason"] or ""),
        _number(row["visual_change"]),
        " ".join(images),
    )


def _number(value: Scalar) -> str:
    return "" if value is None else repr(value)


_ABOUT: Mapping[str, str] = _TABLES["about"]
_MOST = 20  # lines of a table here; the files have them all


def index_text(
    run: StoredRun,
    tested: Sequence[TestedPair],
    found: Sequence[Condition],
    cases: int,
    names: Sequence[str],
    functional: Mapping[str, Any] | str,
) -> str:
    """Return the page as Markdown."""
    statuses = Counter(one.status for one in tested)
    tags = [one.tag for one in requirement_coverage.tag_coverage(tested) if not one.tried]
    notes = [f"- {markdown_text(note)}" for note in notes_of(run.manifest)]
    if isinstance(functional, Mapping):
        touched = f"{functional['covered']} of {functional['total']} cells are touched"
        domain = f"{touched} by {functional['frames']} frames; functional_coverage.json lists the others"
    else:
        domain = f"not measured, {markdown_text(functional or 'it was not asked for')}"
    values = {
        "pairs": len(tested),
        "counted": ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "none",
        "cases": cases,
        "outcomes": _outcomes(tested).markdown(),
        "conditions": _conditions(found).markdown(),
        "notes": "\n".join(["## Notes", "", *notes, "", ""]) if notes else "",
        "untried": _listed(
            [f"{one.requirement.id} on {one.system or 'no system'}" for one in tested if not one.applicable]
        ),
        "tags": _listed(tags),
        "domain": domain,
        "manifest": _ABOUT["manifest.json" if run.manifest is not None else "no manifest"],
        "files": "\n".join(f"- `{name}`: {_ABOUT.get(name, _ABOUT['diagrams'])}" for name in names),
    }
    return Path(__file__).with_suffix(".md").read_text("utf-8").format_map(values)


def _outcomes(tested: Sequence[TestedPair]) -> ResultTable:
    order = ("violated", "not tried", "inconclusive", "passed")
    rows = tuple(
        (
            one.requirement.id,
            one.system,
            str(one.requirement.severity),
            one.status,
            one.summary,
            # Older runs do not know.
            "" if (worth := one.measure("effective_cases")) is None else f"{one.applicable} ≈ {worth:.0f}",
        )
        for one in sorted(tested, key=lambda one: order.index(one.status))[:_MOST]
    )
    left = len(tested) - len(rows)
    note = f"{left} more are in requirement_coverage.csv." if left else ""
    columns = ("requirement", "system", "severity", "status", "summary", "cases ≈ independent")
    return ResultTable("What was found", columns, rows, note)


def _conditions(found: Sequence[Condition]) -> ResultTable:
    failing = [one for one in found if one.failures]
    failing.sort(
        key=lambda one: (-(one.lower or 0.0), one.requirement, one.system, one.condition, one.low or 0)
    )
    rows = tuple(
        (
            one.requirement,
            one.system,
            one.condition,
            _band(one),
            f"{one.failures} of {one.cases}",
            "-" if one.lower is None or one.upper is None else f"{one.lower:.1%} to {one.upper:.1%}",
        )
        for one in failing[:_MOST]
    )
    note: str = _TABLES["conditions"]
    if len(failing) > len(rows):
        note += f" {len(failing) - len(rows)} more are in triggering_conditions.csv."
    columns = ("requirement", "system", "condition", "amount", "failed", "failure rate")
    return ResultTable("Potential triggering conditions", columns, rows, note)


def _band(one: Condition) -> str:
    if one.low is None or one.high is None:
        return "-"
    amount = f"{one.low:g}" if one.low == one.high else f"{one.low:g} to {one.high:g}"
    return f"{one.quantity} {amount}"


def _listed(names: Sequence[str]) -> str:
    return shortened(list(map(markdown_text, names)), _MOST) or "none that was asked for"


FOLDER = "evidence"
TRACE = "trace.csv"
_NOTES = 20  # contexts of the argument


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        paths: The documents, below the folder that they were written into.
        cases: How many cases the trace has.
        tested: What was tested.
        conditions: The catalogue of triggering conditions.
    """

    paths: tuple[str, ...]
    cases: int
    tested: tuple[TestedPair, ...]
    conditions: tuple[Condition, ...]


def write_documents(
    run: StoredRun,
    folder: Path,
    digests: Mapping[str, str],
    *,
    reqif: bool = False,
    functional: Mapping[str, Any] | str = "",
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write ``trace.csv`` and the folder ``evidence``.

    Args:
        run: The run.
        folder: Where to write.
        digests: What the files of the run hash to, by their paths.
        reqif: Whether to write the requirements as ReqIF as well.
        functional: The functional coverage as a document, or why there is none.
        progress: Called with the number of cases read so far, now and then.

    Raises:
        InputError: A file cannot be written.
    """
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    tested = pair_results(run)
    catalogue = Catalogue(
        {one.requirement.id: one.accepted for one in tested if one.accepted is not None},
        # Searches of before told a rate.
        set() if is_of_before(run.manifest) else {one.requirement.id for one in tested if one.searched},
    )

    def seen(row: Row, number: int) -> None:
        catalogue.add(row)
        if progress is not None and number % 1000 == 0:
            progress(number)

    cases = write_trace(run, folder / TRACE, seen)
    found = catalogue.conditions()
    places = folder_digests(digests)
    argued = [one.argued(places) for one in tested]
    names = ["README.md"]
    names += _write_conditions(place, found)
    names += _write_requirements(place, tested)
    names += _write_argument(place, argued, run.manifest)
    if isinstance(functional, Mapping):
        _write_json(place / "functional_coverage.json", functional)
        names.append("functional_coverage.json")
    if reqif:
        created = str((run.manifest or {}).get("started") or EPOCH)
        write_reqif(argued, place / "requirements.reqif", created=created)
        names.append("requirements.reqif")
    write_text(place / "README.md", index_text(run, tested, found, cases, names, functional))
    return Written((TRACE, *(f"{FOLDER}/{name}" for name in names)), cases, tuple(tested), tuple(found))


def export_reqif(run: StoredRun, path: Path) -> int:
    """Write the requirements of a run with their outcomes as ReqIF, and return how many there are."""
    places = folder_digests({name: sha256_of(run.folder / name) for name in files_below(run.folder)})
    argued = [one.argued(places) for one in pair_results(run)]
    write_reqif(argued, path)
    return len(argued)


def _write_conditions(place: Path, found: Sequence[Condition]) -> list[str]:
    records = [one.record() for one in found]
    _write_csv(place / "triggering_conditions.csv", conditions.COLUMNS, records)
    about = " ".join(str(conditions.__doc__).split())
    document = {"about": about, "interval": "two-sided, over clusters", "conditions": records}
    _write_json(place / "triggering_conditions.json", document)
    return ["triggering_conditions.csv", "triggering_conditions.json"]


def _write_requirements(place: Path, tested: Sequence[TestedPair]) -> list[str]:
    records = [requirement_coverage.coverage_record(one) for one in tested]
    tags = requirement_coverage.tag_coverage(tested)
    _write_csv(place / "requirement_coverage.csv", requirement_coverage.COLUMNS, records)
    _write_json(
        place / "requirement_coverage.json",
        {
            "requirements": records,
            "never_tried": [
                f"{one['requirement']} on {one['system']}" for one in records if one["tried"] == "no"
            ],
            "tags": [asdict(one) for one in tags],
            "tags_never_tried": [one.tag for one in tags if not one.tried],
        },
    )
    return ["requirement_coverage.csv", "requirement_coverage.json"]


def _write_argument(place: Path, argued: Sequence[Argued], manifest: Mapping[str, Any] | None) -> list[str]:
    fragment = fragment_of(argued, contexts=_contexts(manifest))
    _write_json(place / "gsn.json", fragment.document())
    names = ["gsn.json"]
    for name, text in diagrams(fragment):
        write_text(place / name, text)
        names.append(name)
    return names


def _contexts(manifest: Mapping[str, Any] | None) -> list[str]:
    if manifest is None:
        return ["The run has no manifest: which model and data were tested is known by name only"]
    found = []
    for what, title in (("models", "Model"), ("data", "Data"), ("engines", "Engine"), ("suite", "Suite")):
        for name, entry in (manifest.get(what) or {}).items():
            digest = entry.get("sha256")
            known = f"sha256 {digest[:16]}…" if digest else f"not hashed, {entry.get('hashed', '')}"
            found.append(f"{title}: {name} ({known})")
    return [*found, *(f"Note: {note}" for note in notes_of(manifest)[:_NOTES])]


def _write_csv(path: Path, columns: Sequence[str], records: Iterable[Mapping[str, Scalar]]) -> None:
    write_text(path, csv_text(columns, ([record[name] for name in columns] for record in records)))


def _write_json(path: Path, document: object) -> None:
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def write_reqif(argued: Sequence[Argued], path: Path, *, created: str = EPOCH) -> None:
    """Write requirements with their outcomes as ReqIF 1.2, which requirement management tools exchange.

    One specification holds one object per requirement and system. Tools that already know the requirement
    match it by the attribute ``ReqIF.ForeignID``, which holds the requirement's id.

    Args:
        argued: What was tested, one item per requirement and system.
        path: The file; ``.reqif`` is what tools expect.
        created: When the run was made, in the form of XML Schema; the file says it of itself, so that the
            same run gives the same bytes.
    """
    write_text(path, reqif_text(argued, created=created))


def reqif_text(argued: Sequence[Argued], *, created: str = EPOCH) -> str:
    """Return the text of a ReqIF file.

    Example:
        >>> found = Argued("R1", "Slow down at night", "rules", "dave2", "passed", "0 of 90 failed")
        >>> "<SPEC-OBJECT " in reqif_text([found])
        True
    """
    known = {"choices": _CHOICES, "attributes": _ATTRIBUTES, "version": __version__}
    return rendered(
        Path(__file__).with_name("reqif.xml"),
        argued=argued,
        created=created,
        id=_reqif_id,
        values_of=_reqif_values,
        attribute=_attribute,
        **known,
    )


def _attribute(text: str) -> str:
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), _ESCAPES)


def _reqif_values(one: Argued) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a requirement with their values."""
    proof = " ".join(f"{item.id} sha256:{item.sha256} {item.path}" for item in one.evidence)
    told = {**asdict(one), "tags": ", ".join(one.tags), "evidence": proof}
    return ((name, told[field]) for name, field in _ATTRIBUTES.items())


def _reqif_id(*parts: str) -> str:
    """Return an identifier as xsd:ID wants it, the same for the same thing in every export.

    Example:
        >>> _reqif_id("requirement", "R1", "dave2")
        'rw-2dfe318ae47ad8e1f73c'
    """
    return "rw-" + sha256("\x1f".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:20]
