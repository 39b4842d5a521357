"""Whether people who mark the same failures call them the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from roadworthy._files import parse_json
from roadworthy.rules.study import krippendorff_alpha
from roadworthy.web.looking.marks import FILE, MARKS

__all__ = ["MarkAgreement", "mark_agreement"]


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
