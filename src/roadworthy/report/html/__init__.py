"""The report of a run as one HTML file that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

from roadworthy.report.html.contents import Limits
from roadworthy.report.html.page import render, write_report

__all__ = ["Limits", "render", "write_report"]
