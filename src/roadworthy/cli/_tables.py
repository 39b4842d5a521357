"""What commands share that end with tables: showing them, and writing them beside the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import console, make_folder, plain_table

if TYPE_CHECKING:
    from roadworthy.result_tables import ResultTable


RESULT_FILE = "result.json"


def print_tables(tables: Sequence[ResultTable]) -> None:
    """Write tables for people."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    for table in tables:
        out.print(Text(table.title, style="bold"))
        drawn = plain_table(*table.columns)
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        out.print(Padding(drawn, (0, 0, 0, 2)))
        if table.note:
            out.print(Padding(Text(table.note, style="dim"), (0, 0, 0, 2)))
        out.print()


def write_document(out: Path, document: Mapping[str, object], tables: Sequence[ResultTable]) -> None:
    """Write what was found beside the rows: for scripts, and for people."""
    make_folder(out)
    write_json(out / RESULT_FILE, document)
    write_text(out / "tables.md", "\n".join(one.markdown() for one in tables))
