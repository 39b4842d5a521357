"""``roadworthy coverage study``: a file for each study."""

from __future__ import annotations

from roadworthy.cli.coverage.study import deviation, directions, guided, transformations
from roadworthy.cli.coverage.study._group import app

__all__ = ["app", "deviation", "directions", "guided", "transformations"]
