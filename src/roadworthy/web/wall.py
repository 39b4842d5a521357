"""A wall of cases, filtered and sorted in the store, and what people say of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from roadworthy._files import as_record, parse_json
from roadworthy.errors import InputError
from roadworthy.runs.gate import REFUSED
from roadworthy.runs.store import MEASURE, Row, StoredRun
from roadworthy.studies.statistics import krippendorff_alpha
from roadworthy.web.showing import shown

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
        note: Why, in words.
        rater: Who says so; empty where nobody gave a name.
        time: When, in UTC.
    """

    requirement: str
    system: str
    case: str
    mark: Said
    note: str = ""
    rater: str = ""
    time: str = ""

    @property
    def key(self) -> Key:
        """What it is said of."""
        return self.requirement, self.system, self.case


def add_mark(folder: Path, mark: CaseMark) -> CaseMark:
    """Store what somebody said of a case; nothing that was said before is lost.

    Raises:
        InputError: The mark or the note cannot be used, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = add_mark(Path(folder), CaseMark("R1", "dave2", "town-1", "fault"))
        ...     _ = add_mark(Path(folder), CaseMark("R1", "dave2", "town-1", "unsure", "glare?"))
        ...     [(one.mark, one.note) for one in read_marks(Path(folder)).values()]
        [('unsure', 'glare?')]
    """
    if mark.mark not in get_args(Said):
        raise InputError(f"a mark is {', '.join(MARKS)} or empty, got {mark.mark!r}")
    if len(mark.note) > _LONGEST_NOTE:
        raise InputError(f"a note may have {_LONGEST_NOTE} characters at most, got {len(mark.note)}")
    stamped = replace(mark, time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    line = json.dumps(asdict(stamped), ensure_ascii=False) + "\n"
    try:
        # One write to the end of the file: two browsers at once do not mix their lines.
        # Not through a link: a run that somebody else made could lead it anywhere.
        handle = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o666)
        try:
            os.write(handle, line.encode("utf-8"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(f"cannot write {folder / FILE}: {error.strerror}; marks are stored there") from error
    return stamped


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
    """Return what was said of each case last."""
    found = {mark.key: mark for mark in _said(folder)}
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


DEVIATION, DISTANCE = "deviation", "measure.distance.1"
"""The names, in addresses, of by how much the answer changed, and of how far away what was added stands."""


@dataclass(frozen=True)
class QuantityRange:
    """Something that cases can be chosen by, in one run.

    Attributes:
        name: What addresses call it.
        words: What it is.
        least: The smallest of the run.
        most: The largest.
    """

    name: str
    words: str
    least: float
    most: float


class CaseMeasure(NamedTuple):
    """Something that cases can be measured or sorted by: in words, and what the database computes it by."""

    words: str
    expression: str


def quantities_of(columns: Collection[str]) -> Mapping[str, CaseMeasure]:
    """Return what cases can be measured by, in a run with some columns.

    Example:
        >>> list(quantities_of({"visual_change", "margin", "measure.after", "measure.before"}))
        ['visual_change', 'deviation', 'margin']
    """
    plain = {
        "visual_change": "Δv of the change",
        "measure.strength": "strength of the change",
        DISTANCE: "distance, in m",
        DEVIATION: "deviation of the answer",
        "margin": "margin",
    }
    computed = {name: _column(name) for name in plain if name in columns}
    if expression := _deviation(columns):
        computed[DEVIATION] = expression
    return {name: CaseMeasure(words, computed[name]) for name, words in plain.items() if name in computed}


def orders_of(columns: Collection[str]) -> Mapping[str, CaseMeasure]:
    """Return how the cases of a run with some columns can be sorted.

    Example:
        >>> list(orders_of({"visual_change", "margin", "measure.error"}))
        ['believable', 'margin', 'best', 'deviating', 'steady', 'unseen', 'seen', 'case']
    """
    known = quantities_of(columns)
    # A margin that is infinite measures nothing, and a change of which little is left is no street.
    odd = f"CASE WHEN isinf(margin) THEN 2 WHEN visual_change > {_HARDLY_A_STREET} THEN 1 ELSE 0 END"
    # Among what is not applicable, what the gate refused has pictures.
    refused = f'"{MEASURE}{REFUSED}" IS NULL, ' if f"{MEASURE}{REFUSED}" in columns else ""
    found = {
        "believable": CaseMeasure("what a driver would meet first", f"{refused}{odd}, visual_change"),
        "margin": CaseMeasure("margin, worst first", "margin"),
        "best": CaseMeasure("margin, best first", "margin DESC"),
    }
    if DEVIATION in known:
        by = known[DEVIATION].expression
        found["deviating"] = CaseMeasure("deviation, largest first", f"{by} DESC")
        found["steady"] = CaseMeasure("deviation, smallest first", by)
    found["unseen"] = CaseMeasure("change, least seen first", "visual_change")
    found["seen"] = CaseMeasure("change, best seen first", "visual_change DESC")
    if DISTANCE in known:
        by = known[DISTANCE].expression
        found["near"] = CaseMeasure("distance, nearest first", by)
        found["far"] = CaseMeasure("distance, farthest first", f"{by} DESC")
    return {
        name: CaseMeasure(one.words, f"{one.expression} NULLS LAST, margin NULLS LAST")
        for name, one in found.items()
    } | {"case": CaseMeasure("frame", '"case"')}


def _deviation(columns: Collection[str]) -> str:
    """Return by how much the answer changed that decided; of several relations the one with the least margin.

    A search holds an answer against what is true, so there it is the error.
    """
    numbers = sorted(
        int(one[1]) for name in columns if (one := re.fullmatch(r"measure\.margin\.(\d+)", name))
    )
    parts = []
    if numbers:
        least = f"least({', '.join(_column(f'measure.margin.{number}') for number in numbers)})"
        whens = " ".join(
            f"WHEN {_column(f'measure.margin.{number}')} = {least} THEN {_apart(f'.{number}')}"
            for number in numbers
        )
        parts.append(f"CASE {whens} END")
    if "measure.error" in columns:
        parts.append(f"abs({_column('measure.error')})")
    if {"measure.before", "measure.after"} <= set(columns):
        parts.append(_apart(""))
    return f"coalesce({', '.join(parts)})" if parts else ""


def _apart(suffix: str) -> str:
    return f"abs({_column(f'measure.after{suffix}')} - {_column(f'measure.before{suffix}')})"


def _column(name: str) -> str:
    # Other requirements of a run may keep something else under the name.
    return f'TRY_CAST("{name}" AS DOUBLE)'


_STATUSES = {
    "failures": "status IN ('violated', 'error')",
    "violated": "status = 'violated'",
    "error": "status = 'error'",
    "passed": "status = 'passed'",
    "not applicable": "status IN ('not applicable', 'engine error')",
    "all": "true",
}
# Columns that say what was changed, the first that a run has.
_CHANGES = ("param.change.1", "param.transform", "param.transformation", "param.change")
# Δv above which little is left of an image; what was measured to be recognised lies below.
_HARDLY_A_STREET = 0.9
_FIELD, _RECORD = "\x1f", "\x1e"


Word = Annotated[str, Field(max_length=500)]
Limit = Annotated[float | None, Field(allow_inf_nan=False)]


class Selection(BaseModel):
    """Which cases a wall shows, and in which order, as the address of a page says it.

    Attributes:
        requirement: The id of the requirement; of all when empty.
        system: The name of the system; of all when empty.
        status: Failures (violations and errors), one status, or all.
        change: What was changed; anything when empty.
        tag: A tag of the requirement; any when empty.
        amount: What least and most are about: one of the wall's amounts.
        least: The smallest amount.
        most: The largest amount.
        mark: What people said of it; "none" for what nobody has marked; anything when empty.
        order: One of the wall's orders.
    """

    model_config = ConfigDict(frozen=True)
    requirement: Word = ""
    system: Word = ""
    status: Word = "failures"
    change: Word = ""
    tag: Word = ""
    amount: Word = "visual_change"
    least: Limit = None
    most: Limit = None
    mark: Word = ""
    order: Word = "believable"


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
        change = next((one for one in _CHANGES if one in self._columns), None)
        self._facets = {"requirement": "requirement", "system": "system", "change": change}
        # What is chosen is looked up here, and never put into a question as it is.
        self._quantities = quantities_of(self._columns)
        self._orders = orders_of(self._columns)

    def _ask(self, sql: str, parameters: tuple[str | float, ...] = ()) -> list[Row]:
        with self._lock:
            return self._run.query(sql, parameters)

    @property
    def texts(self) -> Mapping[str, str]:
        """What the requirements say, by their ids."""
        return {pair.requirement.id: pair.requirement.text for pair in self._run.pairs}

    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """Return what can be chosen, each with the number of its failures; tags are those of requirements."""
        failing = _STATUSES["failures"]
        found = {
            name: []
            if column is None
            else [
                (str(row["name"]), int(str(row["number"])))
                for row in self._ask(
                    f'SELECT "{column}" AS name, count(*) FILTER ({failing}) AS number FROM cases '
                    f'WHERE "{column}" IS NOT NULL GROUP BY ALL ORDER BY number DESC, name LIMIT 500'
                )
            ]
            for name, column in self._facets.items()
        }
        failures = dict(found["requirement"])
        tagged = {tag: sum(failures.get(one, 0) for one in ids) for tag, ids in self._tagged().items()}
        return {**found, "tag": sorted(tagged.items(), key=lambda one: (-one[1], one[0]))}

    def _tagged(self) -> Mapping[str, set[str]]:
        """Return the ids of the requirements with each tag."""
        found: dict[str, set[str]] = {}
        for pair in self._run.pairs:
            for tag in pair.requirement.tags:
                found.setdefault(tag, set()).add(pair.requirement.id)
        return found

    def amounts(self) -> list[QuantityRange]:
        """Return what cases can be chosen by the size of, with the smallest and the largest of this run."""
        ends = ", ".join(
            f"{end}({one.expression}) FILTER (isfinite({one.expression})) AS {end}_{number}"
            for number, one in enumerate(self._quantities.values())
            for end in ("min", "max")
        )
        (row,) = self._ask(f"SELECT {ends} FROM cases")
        return [
            QuantityRange(name, one.words, float(str(row[f"min_{number}"])), float(str(row[f"max_{number}"])))
            for number, (name, one) in enumerate(self._quantities.items())
            if row[f"min_{number}"] is not None
        ]

    def orders(self) -> dict[str, str]:
        """Return how cases can be sorted, with what the page says of it."""
        return {name: one.words for name, one in self._orders.items()}

    def window(self, selection: Selection, offset: int, limit: int) -> dict[str, Any]:
        """Return some of the chosen cases, and how many there are."""
        marks = read_marks(self.folder)
        where, order, values = self._chosen(selection, marks)
        counted = self._ask(f"SELECT count(*) AS number FROM cases WHERE {where}", values)
        rows = self._ask(
            f"SELECT * FROM cases WHERE {where} ORDER BY {order} "
            f"LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}",
            (*values, limit, offset),
        )
        return {
            "total": int(str(counted[0]["number"])),
            "offset": offset,
            "cases": [shown(row, marks.get(_key(row))) for row in rows],
        }

    def place(self, selection: Selection, requirement: str, system: str, case: str) -> int | None:
        """Return the place of a case among the chosen ones; None if it is not among them."""
        where, order, values = self._chosen(selection, read_marks(self.folder))
        rows = self._ask(
            f'SELECT place FROM (SELECT requirement, system, "case", row_number() OVER (ORDER BY {order}) '
            f"- 1 AS place FROM cases WHERE {where}) WHERE requirement = ${len(values) + 1} "
            f'AND system = ${len(values) + 2} AND "case" = ${len(values) + 3}',
            (*values, requirement, system, case),
        )
        return int(str(rows[0]["place"])) if rows else None

    def case(self, requirement: str, system: str, case: str) -> dict[str, Any]:
        """Return one case.

        Raises:
            InputError: There is none of that name.
        """
        rows = self._ask(
            'SELECT * FROM cases WHERE requirement = $1 AND system = $2 AND "case" = $3 LIMIT 1',
            (requirement, system, case),
        )
        if not rows:
            raise InputError(f"this run has no case {case!r} of {requirement!r} on {system!r}")
        return shown(rows[0], read_marks(self.folder).get(_key(rows[0])))

    def _chosen(
        self, selection: Selection, marks: Mapping[Key, CaseMark]
    ) -> tuple[str, str, tuple[str | float, ...]]:
        """Return which cases are chosen, in which order, and the values that the former speaks of."""
        if selection.order not in self._orders or selection.status not in _STATUSES:
            raise InputError(
                f"cases are not sorted by {selection.order!r} or chosen by {selection.status!r} here"
            )
        if selection.amount not in self._quantities:
            known = ", ".join(self._quantities)
            raise InputError(f"cases are not chosen by {selection.amount!r} here: known are {known}")
        conditions, values = [_STATUSES[selection.status]], list[str | float]()
        for name, column in self._facets.items():
            if column is not None and (value := getattr(selection, name)):
                values.append(value)
                conditions.append(f'"{column}" = ${len(values)}')
        if selection.tag:
            values.append(_RECORD.join(self._tagged().get(selection.tag, ())))
            conditions.append(f"requirement IN (SELECT unnest(string_split(${len(values)}, chr(30))))")
        for limit, sign in ((selection.least, ">="), (selection.most, "<=")):
            if limit is not None:
                values.append(limit)
                conditions.append(f"{self._quantities[selection.amount].expression} {sign} ${len(values)}")
        if selection.mark:
            marked = [one.key for one in marks.values() if selection.mark in ("none", one.mark)]
            values.append(_RECORD.join(map(_FIELD.join, marked)))
            named = 'requirement || chr(31) || system || chr(31) || "case"'
            among = f"({named}) IN (SELECT unnest(string_split(${len(values)}, chr(30))))"
            conditions.append(f"NOT {among}" if selection.mark == "none" else among)
        order = f'{self._orders[selection.order].expression}, requirement, system, "case"'
        return " AND ".join(conditions), order, tuple(values)


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


def _key(row: Row) -> Key:
    return str(row["requirement"]), str(row["system"]), str(row["case"])
