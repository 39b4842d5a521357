"""Showing how good a model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roadworthy.cli._console import console, plain_table

if TYPE_CHECKING:
    from roadworthy.models.scorers import Measure


def print_measures(measures: Sequence[Measure]) -> None:
    """Write measures for people, a line each."""
    from rich.padding import Padding
    from rich.text import Text

    from roadworthy.training import value_text

    table = plain_table("measure", "value", "frames")
    for one in measures:
        table.add_row(Text(one.name), Text(value_text(one)), Text(str(one.frames)))
    console().print(Padding(table, (0, 0, 0, 2)))
