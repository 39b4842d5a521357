"""The tables of a study: for people, and for spreadsheets."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from roadworthy.coverage.oracle_tables import Counts

__all__ = ["StudyTable", "from_counts", "percent"]

_WIDTH = 100


@dataclass(frozen=True)
class StudyTable:
    """A table with words in its cells.

    Attributes:
        name: What its file is called, without an ending.
        title: What it shows.
        columns: The headings.
        rows: A cell for each column.
        note: What a reader should know; may be empty.

    Example:
        >>> table = StudyTable("t", "Images", ("model", "images"), (("epoch", "1000"), ("dave2", "7")))
        >>> print(table)
        Images
        model  images
        epoch    1000
        dave2       7
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right = [all(_is_number(row[place]) for row in self.rows) for place in range(len(self.columns))]
        shown = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *shown, *textwrap.wrap(self.note, _WIDTH)])

    def csv(self) -> str:
        """Return the table as a CSV file."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(self.columns)
        rows.writerows(self.rows)
        return text.getvalue()

    def markdown(self) -> str:
        """Return the table as Markdown, without its title."""
        return "\n".join(map(_line, (self.columns, ["---"] * len(self.columns), *self.rows)))


def from_counts(name: str, counts: Counts) -> StudyTable:
    """Return a table of erroneous behaviours as a table of a study."""
    rows = tuple(
        (label, *("-" if cell is None else str(cell) for cell in cells)) for label, cells in counts.rows
    )
    return StudyTable(
        name,
        counts.title,
        (counts.corner, *counts.columns),
        rows,
        "- means that no images were left to count, unlike 0.",
    )


def percent(share: float | None) -> str:
    """Return a share in percent.

    Example:
        >>> percent(0.1234), percent(None)
        ('12.3%', '-')
    """
    return "-" if share is None else f"{share:.1%}"


def _is_number(cell: str) -> bool:
    return not cell.strip("+-<≤0123456789.,%e ") or cell == "-"


def _line(cells: Sequence[str]) -> str:
    inside = " | ".join(cell.replace("|", r"\|") for cell in cells)
    return f"| {inside} |"
