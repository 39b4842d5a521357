"""The report of a run as one HTML file that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

from roadworthy.report.html.page import write_report

__all__ = ["write_report"]
