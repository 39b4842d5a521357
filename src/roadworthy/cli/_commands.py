"""Commands and groups whose help pages do not call a switch a <bool>."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, so none is shown."""
        return _without_values(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; switches take no value, so none is shown."""
        return _without_values(super().get_params(ctx))


def _without_values(params: list[Any]) -> list[Any]:
    for one in params:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
    return params
