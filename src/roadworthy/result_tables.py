"""Tables of results: for people, for spreadsheets and for documents."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roadworthy._tables import csv_text

__all__ = ["ResultTable"]

_WIDTH = 100


@dataclass(frozen=True)
class ResultTable:
    """A table with words in its cells.

    Attributes:
        title: What it shows.
        columns: The headings.
        rows: A cell for each column.
        note: What a reader should know; may be empty.
        name: What its file is called, without an ending; may be empty where none is written.

    Example:
        >>> table = ResultTable("Images", ("model", "images"), (("epoch", "1000"), ("dave2", "7")))
        >>> print(table)
        Images
        model  images
        epoch    1000
        dave2       7
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    name: str = ""

    @classmethod
    def of(cls, title: str, rows: Iterable[Mapping[str, str]], note: str = "", name: str = "") -> ResultTable:
        """Return a table of at least one row, whose cells are given by their headings.

        Example:
            >>> ResultTable.of("Images", [{"model": "epoch", "images": "1000"}]).rows
            (('epoch', '1000'),)
        """
        first, *rest = rows
        cells = tuple(tuple(row[heading] for heading in first) for row in (first, *rest))
        return cls(title, tuple(first), cells, note, name)

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
        return csv_text(self.columns, self.rows)

    def markdown(self) -> str:
        """Return the table as a section of a Markdown document."""
        lines = [f"## {self.title}", "", *map(_line, (self.columns, ["---"] * len(self.columns), *self.rows))]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])


def _is_number(cell: str) -> bool:
    return not cell.strip("+-<≤0123456789.,%e ") or cell == "-"


def _line(cells: Sequence[str]) -> str:
    inside = " | ".join(cell.replace("|", r"\|") for cell in cells)
    return f"| {inside} |"
