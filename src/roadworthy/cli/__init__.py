"""The command line: a file for each group of commands, imported when it is used."""

from __future__ import annotations

from roadworthy.cli._app import app, main

__all__ = ["app", "main"]
