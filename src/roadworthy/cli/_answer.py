"""What commands answer: one result for scripts and for people, printed here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import console, make_folder, print_error
from roadworthy.places import shown
from roadworthy.result_tables import RESULT_FILE, TABLES_FILE, ResultTable

if TYPE_CHECKING:
    from rich.text import Text


Shown: TypeAlias = "str | Text | ResultTable | Mapping[str, str]"
"""What people read: a line, a table, or titles with a line each."""

PASSED, VIOLATED, FAILED, INCONCLUSIVE = 0, 1, 2, 3
"""The exit codes of every command: all passed; something is violated; wrong use, wrong input or a failure of
the tool; nothing is violated, but something is inconclusive."""

# How words in the cells of tables stand out.
_STYLES = {
    **dict.fromkeys(("violated", "regression", "missed", "false alarm", "failed"), "bold red"),
    **dict.fromkeys(("passed", "improvement", "found"), "green"),
    **dict.fromkeys(("inconclusive", "gone", "not applicable"), "yellow"),
}


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

    def failed(self, problem: str, conclusion: str) -> Answer:
        """Return it with what failed beside it: a message on stderr, and the exit code of a failure."""
        document = {**self.document, "exit_code": FAILED}
        conclusion = f"{conclusion} (exit code {FAILED})"
        return replace(
            self, document=document, exit_code=FAILED, conclusion=conclusion, errors=[*self.errors, problem]
        )

    def give(self, *, as_json: bool) -> None:
        """Print it: one JSON document, or lines and tables for people."""
        if as_json:
            typer.echo(shown(json.dumps(self.document, indent=2, ensure_ascii=False, default=str)))
        else:
            self._give_people()
        for error in self.errors:
            print_error(error)

    def _give_people(self) -> None:
        from rich.text import Text

        lines = [Text.assemble(("Note: ", "yellow"), note) for note in self.notes]
        if self.report is not None:
            # Terminals that can, open it on a click.
            page = Text(str(self.report), style=f"cyan link {self.report.resolve().as_uri()}")
            lines.append(Text.assemble("Report: ", page))
        for each in (*self.shown, *lines, *([self.conclusion] if self.conclusion else [])):
            _show(each)


def _show(shown: Shown) -> None:
    """Print a line, a table or titled lines for people."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    out = console()
    if isinstance(shown, str | Text):
        out.print(shown, markup=False, soft_wrap=True)
        return
    table, rows = shown, list[tuple[Text, ...]]()
    if isinstance(table, Mapping):
        if not table:
            return
        rows = [(Text(title, style="dim"), Text(line)) for title, line in table.items()]
        table = ResultTable("", ("", ""), ())
    rows += [tuple(Text(cell, style=_STYLES.get(cell, "")) for cell in row) for row in table.rows]
    # Without lines, it reads well at 80 columns and in a pipe.
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(table.columns))
    for name in table.columns:
        drawn.add_column(name, header_style="dim", overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    if table.title:
        out.print(Text(table.title, style="bold"))
    out.print(Padding(drawn, (0, 0, 0, 2)))
    if table.note:
        out.print(Padding(Text(table.note, style="dim"), (0, 0, 0, 2)))
    if table.title:
        out.print()


def write_document(out: Path, document: Mapping[str, object], tables: Sequence[ResultTable]) -> None:
    """Write what was found beside the rows: for scripts, and for people."""
    make_folder(out)
    write_json(out / RESULT_FILE, document)
    write_text(out / TABLES_FILE, "\n".join(table.markdown() for table in tables))
