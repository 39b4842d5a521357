"""The kinds of requirements that a suite may have, one file each."""

from __future__ import annotations

from typing import Any

from roadworthy.runs.suites.forms import (
    BbslForm,
    CoverageForm,
    DrivingForm,
    EntryForm,
    ReliabilityForm,
    RuleForm,
    RulesForm,
)
from roadworthy.runs.suites.kinds.base import Context, Kind, OtherTask, Part, included_name
from roadworthy.runs.suites.kinds.bbsl import BbslKind
from roadworthy.runs.suites.kinds.coverage import CoverageKind
from roadworthy.runs.suites.kinds.driving import DrivingKind
from roadworthy.runs.suites.kinds.reliability import ReliabilityKind
from roadworthy.runs.suites.kinds.rules import RulesKind

__all__ = ["KINDS", "Context", "Kind", "OtherTask", "Part", "included_name", "kind_of"]

_EVERY: tuple[Kind[Any, Any], ...] = (
    RulesKind(),
    CoverageKind(),
    ReliabilityKind(),
    BbslKind(),
    DrivingKind(),
)

KINDS: dict[str, Kind[Any, Any]] = {one.name: one for one in _EVERY}
"""All kinds, by their names."""

_OF_FORMS: dict[type[EntryForm], str] = {
    RuleForm: "rules",
    RulesForm: "rules",
    CoverageForm: "coverage",
    ReliabilityForm: "reliability",
    BbslForm: "bbsl",
    DrivingForm: "driving",
}


def kind_of(entry: EntryForm) -> Kind[Any, Any]:
    """Return the kind of an entry."""
    return KINDS[_OF_FORMS[type(entry)]]
