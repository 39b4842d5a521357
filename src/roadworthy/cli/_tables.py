"""What commands share that end with tables: showing them, and writing them beside the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_json, write_text
from roadworthy.cli._answer import show
from roadworthy.cli._console import make_folder

if TYPE_CHECKING:
    from roadworthy.result_tables import ResultTable


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
