"""The documents of an evidence bundle, written from a stored run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy._files import replacing, write_text
from roadworthy.cases import Scalar
from roadworthy.runs.evidence import conditions, requirement_coverage
from roadworthy.runs.evidence.conditions import Catalogue, Condition
from roadworthy.runs.evidence.gsn import Argued, fragment_of
from roadworthy.runs.evidence.index import index_text
from roadworthy.runs.evidence.mermaid import diagrams
from roadworthy.runs.evidence.pairs import PairResult, folder_digests, pair_results
from roadworthy.runs.evidence.reqif import write_reqif
from roadworthy.runs.evidence.trace import write_trace
from roadworthy.runs.store import Row, StoredRun, notes_of

__all__ = ["FOLDER", "TRACE", "Written", "write_documents"]

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
    tested: tuple[PairResult, ...]
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
    catalogue = Catalogue({one.requirement.id: one.accepted for one in tested if one.accepted is not None})
    seen: list[Callable[[Row], None]] = [catalogue.add]
    if progress is not None:
        seen.append(_counting(progress))
    cases = write_trace(run, folder / TRACE, seen=seen)
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
        write_reqif(argued, place / "requirements.reqif", created=_created(run.manifest))
        names.append("requirements.reqif")
    text = index_text(run, tested, found, cases, names, functional)
    write_text(place / "README.md", text)
    return Written((TRACE, *(f"{FOLDER}/{name}" for name in names)), cases, tuple(tested), tuple(found))


def _write_conditions(place: Path, found: Sequence[Condition]) -> list[str]:
    records = [one.record() for one in found]
    _write_csv(place / "triggering_conditions.csv", conditions.COLUMNS, records)
    _write_json(
        place / "triggering_conditions.json",
        {
            "about": _plain(conditions.__doc__),
            "interval": "Clopper-Pearson, two-sided",
            "conditions": records,
        },
    )
    return ["triggering_conditions.csv", "triggering_conditions.json"]


def _write_requirements(place: Path, tested: Sequence[PairResult]) -> list[str]:
    records = requirement_coverage.coverage_records(tested)
    tags = requirement_coverage.tag_coverage(tested)
    _write_csv(place / "requirement_coverage.csv", requirement_coverage.COLUMNS, records)
    _write_json(
        place / "requirement_coverage.json",
        {
            "requirements": records,
            "never_tried": [
                f"{one['requirement']} on {one['system']}" for one in records if one["tried"] == "no"
            ],
            "tags": [one.record() for one in tags],
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


def _created(manifest: Mapping[str, Any] | None) -> str:
    told = str((manifest or {}).get("started") or "")
    return told or "1970-01-01T00:00:00+00:00"


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _counting(progress: Callable[[int], None]) -> Callable[[Row], None]:
    done = 0

    def count(_: Row) -> None:
        nonlocal done
        done += 1
        if done % 1000 == 0:
            progress(done)

    return count


def _write_csv(path: Path, columns: Sequence[str], records: Iterable[Mapping[str, Scalar]]) -> None:
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, columns, lineterminator="\n")
        lines.writeheader()
        lines.writerows(records)


def _write_json(path: Path, document: object) -> None:
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")
