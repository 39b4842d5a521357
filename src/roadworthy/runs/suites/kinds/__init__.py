"""The kinds of requirements that a suite may have: a file each, with its form, and a line here."""

from __future__ import annotations

from typing import Any

from roadworthy.runs.suites.forms import EntryForm
from roadworthy.runs.suites.kinds.base import Context, Kind, Part
from roadworthy.runs.suites.kinds.bbsl import BbslKind
from roadworthy.runs.suites.kinds.coverage import CoverageKind
from roadworthy.runs.suites.kinds.driving import DrivingForm, DrivingKind, DrivingSearchKind
from roadworthy.runs.suites.kinds.reliability import ReliabilityKind
from roadworthy.runs.suites.kinds.rules import DrivenRulesKind, RulesKind

__all__ = ["FORMS", "KINDS", "Context", "Kind", "Part", "kind_of"]

_EVERY: tuple[Kind[Any, Any], ...] = (
    RulesKind(),
    DrivenRulesKind(),
    CoverageKind(),
    ReliabilityKind(),
    BbslKind(),
    DrivingKind(),
    DrivingSearchKind(),
)

KINDS: dict[str, Kind[Any, Any]] = {one.name: one for one in _EVERY}
"""All kinds, by their names."""

FORMS: dict[str, type[EntryForm]] = {form.key: form for one in _EVERY for form in one.forms}
"""What entries may say, by the key that says of which kind they are."""

_OF_FORMS = {form: one for one in _EVERY for form in one.forms}


def kind_of(entry: EntryForm) -> Kind[Any, Any]:
    """Return the kind of an entry; rules that drive and searches for drives are of another one."""
    if isinstance(entry, DrivingForm) and entry.search:
        return KINDS[DrivingSearchKind.name]
    return KINDS[DrivenRulesKind.name] if getattr(entry, "drive", None) else _OF_FORMS[type(entry)]
