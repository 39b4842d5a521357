"""``roadworthy reliability``: a file for each command."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.reliability import change, check, retrain, study, subsets, thresholds
from roadworthy.cli.reliability._group import app

__all__ = ["app", "change", "check", "retrain", "study", "subsets", "thresholds"]

app.add_typer(studies.glances)
