"""The command line: a module for each command, a package for each group of them."""

from __future__ import annotations

from roadworthy.cli._app import app, main

__all__ = ["app", "main"]
