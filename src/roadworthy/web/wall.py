"""A wall of cases, filtered and sorted in the store, and what people say of them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from roadworthy._files import as_record, parse_json
from roadworthy.errors import InputError
from roadworthy.report.quantities import CHANGES, quantities_of
from roadworthy.runs.gate import REFUSED
from roadworthy.runs.store import MEASURE, Row, StoredRun
from roadworthy.studies.statistics import krippendorff_alpha
from roadworthy.web.showing import shown

if TYPE_CHECKING:
    import pyarrow

FILE = "marks.jsonl"
"""The file in the folder of a run: a line for everything that was said, the latest counts."""

Said: TypeAlias = Literal["fault", "false alarm", "unsure", ""]
MARKS: tuple[str, ...] = tuple(one for one in get_args(Said) if one)
Key: TypeAlias = tuple[str, str, str]
"""Requirement, system and case."""

_LONGEST_NOTE = 2000
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such thing


@dataclass(frozen=True)
class CaseMark:
    """What somebody said of a case.

    Attributes:
        requirement: The id of the requirement.
        system: The name of the system.
        case: The id of the case.
        mark: What it is; empty where a mark was taken back.
        note: Why, in words; None leaves what was said before.
        rater: Who says so; empty where nobody gave a name.
        time: When, in UTC.
    """

    requirement: str
    system: str
    case: str
    mark: Said
    note: str | None = ""
    rater: str = ""
    time: str = ""

    @property
    def key(self) -> Key:
        """What it is said of."""
        return self.requirement, self.system, self.case


def add_marks(folder: Path, marks: Sequence[CaseMark]) -> None:
    """Store what somebody said of some cases; nothing that was said before is lost.

    Raises:
        InputError: The mark or the note cannot be used, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     add_marks(Path(folder), [CaseMark("R1", "dave2", "town-1", "fault")])
        ...     add_marks(Path(folder), [CaseMark("R1", "dave2", "town-1", "unsure", "glare?")])
        ...     [(one.mark, one.note) for one in read_marks(Path(folder)).values()]
        [('unsure', 'glare?')]
    """
    for mark in marks:
        if mark.mark not in get_args(Said):
            raise InputError(f"a mark is {', '.join(MARKS)} or empty, got {mark.mark!r}")
        if (long := len(mark.note or "")) > _LONGEST_NOTE:
            raise InputError(f"a note may have {_LONGEST_NOTE} characters at most, got {long}")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lines = "".join(json.dumps(asdict(replace(one, time=now)), ensure_ascii=False) + "\n" for one in marks)
    try:
        # One write to the end of the file: two browsers at once do not mix their lines.
        # Not through a link: a run that somebody else made could lead it anywhere.
        handle = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o666)
        try:
            os.write(handle, lines.encode("utf-8"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(f"cannot write {folder / FILE}: {error.strerror}; marks are stored there") from error


def _said(folder: Path) -> Iterator[CaseMark]:
    """Yield everything that was said, in its order; a line that was cut off or is no mark is left out."""
    try:
        lines = (folder / FILE).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):
            yield as_record(CaseMark, parse_json(line))


def read_marks(folder: Path) -> Mapping[Key, CaseMark]:
    """Return what was said of each case last; who said nothing in words left the note as it was."""
    found: dict[Key, CaseMark] = {}
    for mark in _said(folder):
        before = found.get(mark.key)
        note = mark.note if mark.note is not None else before.note if before else ""
        found[mark.key] = replace(mark, note=note)
    return {key: mark for key, mark in found.items() if mark.mark or mark.note}


@dataclass(frozen=True)
class MarkAgreement:
    """How far the marks of several people agree.

    Attributes:
        alpha: Krippendorff's nominal alpha; None where no case was marked by two people, or all marks are
            equal.
        cases: How many cases were marked by two people or more.
        people: How many people marked anything.
        marked: How many cases were marked at all.
    """

    alpha: float | None
    cases: int
    people: int
    marked: int


def mark_agreement(folder: Path) -> MarkAgreement:
    """Return how far the marks in the folder of a run agree; of each person the latest mark of a case counts.

    Example:
        >>> import json, tempfile
        >>> said = [(case, rater, mark) for case, mark in (("a", "fault"), ("b", "unsure"))
        ...         for rater in ("ann", "bob")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lines = [{"requirement": "R1", "system": "dave2", "case": case, "mark": mark, "rater": rater}
        ...              for case, rater, mark in said]
        ...     _ = Path(folder, FILE).write_text("".join(json.dumps(one) + chr(10) for one in lines))
        ...     mark_agreement(Path(folder))
        MarkAgreement(alpha=1.0, cases=2, people=2, marked=2)
    """
    latest: dict[Key, dict[str, str]] = defaultdict(dict)
    for one in _said(folder):
        latest[one.key][one.rater] = one.mark
    units = [[MARKS.index(mark) for mark in said.values() if mark in MARKS] for said in latest.values()]
    return MarkAgreement(
        krippendorff_alpha(units, "nominal"),
        sum(len(unit) > 1 for unit in units),
        len({rater for said in latest.values() for rater, mark in said.items() if mark in MARKS}),
        sum(bool(unit) for unit in units),
    )


_TEXTS = "requirement", "system", "case", "status", "cluster"
_AT_MOST = 500_000
"""Cases that a page holds: failures and the worst first, where a run has more."""

Word = Annotated[str, Field(max_length=500)]
Name = Annotated[str, Field(max_length=2000)]


class CaseName(BaseModel):
    """Which case is meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    requirement: Word
    system: Word
    case: Name

    @property
    def key(self) -> Key:
        """The case, as marks are kept by it."""
        return self.requirement, self.system, self.case


class Wall:
    """The cases of one run.

    Args:
        folder: The folder of the run.

    Raises:
        InputError: There is no run in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run = StoredRun.open(folder)
        self._lock = Lock()  # a database is for one thread at a time
        self._columns = {str(row["name"]) for row in self._ask(_COLUMNS)}

    def _ask(self, sql: str, parameters: tuple[str, ...] = ()) -> list[Row]:
        with self._lock:
            return self._run.query(sql, parameters)

    def table(self) -> dict[str, Any]:
        """Return all cases as columns: each name once, and numbers as a browser holds them.

        The worst of each requirement come first, then the second worst: their margins have different units.
        An infinite margin measures nothing, and comes last of its requirement.
        """
        texts = {name: f'"{name}"' for name in _TEXTS if name in self._columns}
        if changes := [f'"{one}"' for one in CHANGES if one in self._columns]:
            texts["change"] = f"coalesce({', '.join(changes)}, NULL)"
        numbers = quantities_of(self._columns)
        columns = texts | {name: f"CAST({expression} AS DOUBLE)" for name, expression in numbers.items()}
        chosen = ", ".join(f'{expression} AS "{name}"' for name, expression in columns.items())
        failing = "status IN ('violated', 'error')"
        # What the gate refused has pictures, so of what is not applicable it is looked at first.
        refused = f'"{MEASURE}{REFUSED}" IS NULL, ' if f"{MEASURE}{REFUSED}" in self._columns else ""
        with self._lock:
            found = self._run.table(
                f"SELECT {chosen} FROM cases ORDER BY {failing} DESC, row_number() OVER "
                f"(PARTITION BY requirement, {failing} ORDER BY {refused}isinf(margin) NULLS LAST, margin, "
                f'system, "case"), requirement LIMIT {_AT_MOST}'
            )
        return {
            "rows": found.num_rows,
            "total": sum(sum(pair.counts.values()) for pair in self._run.pairs),
            "requirements": self._requirements(),
            "categories": {name: _codes(found.column(name)) for name in texts},
            "numbers": {name: _binary(found.column(name), np.float32, np.nan) for name in numbers},
            "marks": [asdict(one) for one in read_marks(self.folder).values()],
        }

    def _requirements(self) -> dict[str, dict[str, Any]]:
        """Return of each requirement, as asked for, its text, tags, and in what its margins are measured."""
        samples = self._ask(
            "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY requirement ORDER BY margin NULLS LAST)"
            " AS place FROM cases) WHERE place = 1"
        )
        units = {str(row["requirement"]): shown(row)["unit"] for row in samples}
        known = {pair.requirement.id: pair.requirement for pair in self._run.pairs}
        return {
            id: {"text": known[id].text, "tags": known[id].tags, "unit": units.get(id, "")}
            for id in dict.fromkeys([*self._run.asked, *known])
            if id in known
        }

    def cases(self, named: Sequence[CaseName]) -> list[dict[str, Any]]:
        """Return some cases, in the order in which they are named; one that is not there is left out."""
        wanted = _RECORD.join(_FIELD.join(one.key) for one in named)
        rows = self._ask(
            'SELECT * FROM cases WHERE "case" IN (SELECT unnest(string_split($2, chr(30)))) AND '
            'requirement || chr(31) || system || chr(31) || "case" '
            "IN (SELECT unnest(string_split($1, chr(30))))",
            (wanted, _RECORD.join({one.case for one in named})),
        )
        marks = read_marks(self.folder)
        found = {_key(row): shown(row, marks.get(_key(row))) for row in rows}
        return [found[one.key] for one in named if one.key in found]

    def case(self, named: CaseName) -> dict[str, Any]:
        """Return one case.

        Raises:
            InputError: There is none of that name.
        """
        for found in self.cases([named]):
            return found
        raise InputError(f"this run has no case {named.case!r} of {named.requirement!r} on {named.system!r}")


def _codes(column: pyarrow.ChunkedArray) -> dict[str, Any]:
    """Return the different texts of a column, and for each row which it is; -1 where there is none."""
    whole = column.cast("string").combine_chunks().dictionary_encode()
    return {"names": whole.dictionary.to_pylist(), "codes": _binary(whole.indices, np.int32, -1)}


def _binary(column: pyarrow.Array, kind: type[np.generic], missing: float) -> str:
    with np.errstate(over="ignore"):
        return b64encode(column.fill_null(missing).to_numpy().astype(kind).tobytes()).decode()


class Walls:
    """The walls of the runs that were looked at last.

    A run may still be going on: a wall is made anew when a page is opened, and stays as it is while it is
    scrolled.
    """

    def __init__(self, at_most: int = 8) -> None:
        self._at_most = at_most
        self._kept: dict[Path, Wall] = {}
        self._lock = Lock()

    def fresh(self, folder: Path) -> Wall:
        """Return the wall of a run as it stands now.

        Raises:
            InputError: There is no run in the folder.
        """
        wall = Wall(folder)
        with self._lock:
            self._kept.pop(folder, None)
            self._kept[folder] = wall
            while len(self._kept) > self._at_most:
                del self._kept[next(iter(self._kept))]
        return wall

    def kept(self, folder: Path) -> Wall:
        """Return the wall of a run as it was when its page was opened."""
        with self._lock:
            wall = self._kept.get(folder)
        return wall or self.fresh(folder)


_COLUMNS = "SELECT column_name AS name FROM (DESCRIBE cases)"
_FIELD, _RECORD = "\x1f", "\x1e"


def _key(row: Row) -> Key:
    return str(row["requirement"]), str(row["system"]), str(row["case"])
