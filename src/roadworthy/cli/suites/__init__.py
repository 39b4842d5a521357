"""Commands about the files of suites."""

from __future__ import annotations

from roadworthy.cli.suites import check, schema
from roadworthy.cli.suites._group import app

__all__ = ["app", "check", "schema"]
