"""``roadworthy evidence``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.evidence import bundle, export, verify
from roadworthy.cli.evidence._group import app

__all__ = ["app", "bundle", "export", "verify"]
