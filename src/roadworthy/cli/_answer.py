"""What commands answer: one result for scripts and for people, printed here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import (
    console,
    make_folder,
    plain_table,
    print_error,
    print_json,
    print_note,
    print_report,
    print_rows,
)
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from rich.text import Text


Shown: TypeAlias = "str | Text | ResultTable | Mapping[str, str]"
"""What people read: a line, a table, or titles with a line each."""

PASSED, VIOLATED, FAILED, INCONCLUSIVE = 0, 1, 2, 3
"""The exit codes of every command: all passed; something is violated; wrong use, wrong input or a failure of
the tool; nothing is violated, but something is inconclusive."""

_STYLES = {
    **dict.fromkeys(("violated", "regression", "missed", "false alarm", "failed"), "bold red"),
    **dict.fromkeys(("passed", "improvement", "found"), "green"),
    **dict.fromkeys(("inconclusive", "gone", "not applicable"), "yellow"),
}
"""How words in the cells of tables stand out."""


@dataclass(frozen=True)
class Answer:
    """The result of a command.

    Attributes:
        document: Everything, for scripts; what JSON can hold.
        shown: What people read, in this order.
        notes: What a reader should know before relying on it, a sentence each.
        report: The page to open; None where there is none.
        exit_code: 0 all passed, 1 something is violated, 2 wrong use or a failure, 3 something is
            inconclusive.
        conclusion: The last line: what the exit code is and why; may be empty where it is 0.
        errors: What is wrong, a message each, on stderr.

    Example:
        >>> Answer({"frames": 3}, ["3 frames, all can be read"]).exit_code
        0
    """

    document: Any
    shown: Sequence[Shown] = ()
    notes: Sequence[str] = ()
    report: Path | None = None
    exit_code: int = 0
    conclusion: str = ""
    errors: Sequence[str] = ()

    def give(self, *, as_json: bool) -> None:
        """Print it: one JSON document, or lines and tables for people."""
        if as_json:
            print_json(self.document)
        else:
            self._give_people()
        for error in self.errors:
            print_error(error)

    def _give_people(self) -> None:
        for one in self.shown:
            show(one)
        for note in self.notes:
            print_note(note)
        if self.report is not None:
            print_report(self.report)
        if self.conclusion:
            console().print(self.conclusion, markup=False, soft_wrap=True)


def show(one: Shown) -> None:
    """Print a line, a table or titled lines for people."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    if isinstance(one, ResultTable):
        if one.title:
            out.print(Text(one.title, style="bold"))
        drawn = plain_table(*one.columns)
        for row in one.rows:
            drawn.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        out.print(Padding(drawn, (0, 0, 0, 2)))
        if one.note:
            out.print(Padding(Text(one.note, style="dim"), (0, 0, 0, 2)))
        if one.title:
            out.print()
    elif isinstance(one, Mapping):
        print_rows(one)
    else:
        out.print(one, markup=False, soft_wrap=True)


RESULT_FILE = "result.json"


def print_tables(tables: Sequence[ResultTable]) -> None:
    """Write tables for people."""
    for table in tables:
        show(table)


def write_document(out: Path, document: Mapping[str, object], tables: Sequence[ResultTable]) -> None:
    """Write what was found beside the rows: for scripts, and for people."""
    make_folder(out)
    write_json(out / RESULT_FILE, document)
    write_text(out / "tables.md", "\n".join(one.markdown() for one in tables))
