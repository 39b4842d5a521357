"""What people say of cases, a true fault or a false alarm, and whether they agree."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from roadworthy._files import as_record, parse_json
from roadworthy.errors import InputError
from roadworthy.studies.statistics import krippendorff_alpha

FILE = "marks.jsonl"
"""The file in the folder of a run: a line for everything that was said, the latest counts."""

Said: TypeAlias = Literal["fault", "false alarm", "unsure", ""]
MARKS: tuple[str, ...] = tuple(one for one in get_args(Said) if one)
Key: TypeAlias = tuple[str, str, str]
"""Requirement, system and case."""

_LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Mark:
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


def add_mark(folder: Path, mark: Mark) -> Mark:
    """Store what somebody said of a case; nothing that was said before is lost.

    Raises:
        InputError: The mark or the note cannot be used, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = add_mark(Path(folder), Mark("R1", "dave2", "town-1", "fault"))
        ...     _ = add_mark(Path(folder), Mark("R1", "dave2", "town-1", "unsure", "glare?"))
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
        handle = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, line.encode("utf-8"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(f"cannot write {folder / FILE}: {error.strerror}; marks are stored there") from error
    return stamped


def read_marks(folder: Path) -> Mapping[Key, Mark]:
    """Return what was said of each case last; a line that was cut off or is no mark is left out."""
    found: dict[Key, Mark] = {}
    try:
        text = (folder / FILE).read_text("utf-8", errors="replace")
    except OSError:
        return found
    for line in text.splitlines():
        try:
            mark = as_record(Mark, parse_json(line))
        except ValueError:
            continue
        found[mark.key] = mark
        if not mark.mark and not mark.note:
            del found[mark.key]
    return found


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
    latest: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    try:
        lines = (folder / FILE).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            one = parse_json(line)
            key = (str(one["requirement"]), str(one["system"]), str(one["case"]))
            latest[key][str(one.get("rater", ""))] = str(one["mark"])
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # a line that was cut off
    units = [[MARKS.index(mark) for mark in said.values() if mark in MARKS] for said in latest.values()]
    people = {rater for said in latest.values() for rater, mark in said.items() if mark in MARKS}
    return MarkAgreement(
        krippendorff_alpha(units, "nominal"),
        sum(len(unit) > 1 for unit in units),
        len(people),
        sum(bool(unit) for unit in units),
    )
