"""Tables of results: for people, for spreadsheets and for documents."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roadworthy._tables import csv_text

__all__ = ["RESULT_FILE", "TABLES_FILE", "ResultTable", "listed", "markdown_text"]

RESULT_FILE, TABLES_FILE = "result.json", "tables.md"
"""What a command adds to the folder of a run, for scripts and for people."""
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
        lines = [self.columns, *self.rows]
        title, *shown = markdown_text(self.title), *map(_line, lines)
        shown.insert(1, _line(["---"] * len(self.columns)))
        note = ["", markdown_text(self.note)] if self.note else []
        return "\n".join([f"## {title}", "", *shown, *note, ""])


def markdown_text(text: str) -> str:
    r"""Return text as Markdown shows it: nothing in it is taken for a table, a link, a mention or HTML.

    Example:
        >>> markdown_text("<b>|[x](y) max_rate _is_")
        '&lt;b&gt;\\|\\[x\\](y) max_rate \\_is\\_'
    """
    line = " ".join(text.split()).replace("&", "&amp;").replace(">", "&gt;")
    line = re.sub(r"<(?! )", "&lt;", line)
    # A space of no width after @ and #, so that nobody is called and no issue linked.
    line = re.sub(r"([@#])(?=\w)", "\\1\u200b", line)
    # Underscores inside of words, and what would be a list or a heading inside of a line, mean nothing.
    return re.sub(r"([\\`*{}\[\]|~!]|(?<!\w)_|_(?!\w)|^#+(?=\s)|^[-+](?=\s))", r"\\\1", line)


def _is_number(cell: str) -> bool:
    return not cell.strip("+-<≤0123456789.,%e ") or cell == "-"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"


def listed(values: Mapping[str, object]) -> str:
    """Return names with their values in one line.

    Example:
        >>> listed({"car": 31, "pedestrian": 16})
        'car 31, pedestrian 16'
    """
    return ", ".join(f"{name} {value}" for name, value in values.items())
