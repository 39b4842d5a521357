"""Commands and groups: their help does not call a switch a <bool>, and a shell can complete names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]

_NAMED: Mapping[str, str] = {
    "DATA": "datasets",
    "MODEL": "models",
    "TRANSFORM": "transforms",
    "SIMULATOR": "simulators",
}
"""What stands for the name of something registered, in the help of a parameter: of which kind it is."""


class Command(TyperCommand):
    """A command."""

    def __init__(self, *given: Any, help: str | None = None, **others: Any) -> None:
        super().__init__(*given, help=_flowing(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, and the names of known things can be completed."""
        return _improved(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def __init__(self, *given: Any, help: str | None = None, **others: Any) -> None:
        super().__init__(*given, help=_flowing(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, and the names of known things can be completed."""
        return _improved(super().get_params(ctx))


def _flowing(text: str | None) -> str | None:
    """Return a help text whose paragraphs break where the terminal does, not where the source does."""
    return text and re.sub(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s*-])", " ", text)


def _improved(params: list[Any]) -> list[Any]:
    for one in params:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
        if one.metavar in _NAMED:
            one._custom_shell_complete = _names_for
    return params


def _names_for(_context: Any, parameter: Any, begun: str) -> list[str]:
    """Return the registered names that go on as what was typed."""
    from roadworthy.registry import all_registries

    kind = _NAMED[parameter.metavar]
    found = next(one for one in all_registries() if one.kind == kind)
    return [name for name in found.names() if name.startswith(begun)]
