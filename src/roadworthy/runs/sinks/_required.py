"""Importing what an extra brings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from roadworthy.errors import MissingExtraError


def required(module: str, *, extra: str, purpose: str) -> Any:
    """Return a module of an optional package.

    Raises:
        MissingExtraError: The package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra=extra, purpose=purpose) from error
