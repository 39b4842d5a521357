"""``roadworthy models``: trying, training, evaluating and exporting models, a file for each command."""

from __future__ import annotations

from roadworthy.cli.models import evaluate, export, train, trying
from roadworthy.cli.models._group import app

__all__ = ["app", "evaluate", "export", "train", "trying"]
