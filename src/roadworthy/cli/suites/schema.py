"""``roadworthy suites schema``: what an editor must know to complete and check suites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples
from roadworthy.cli.suites._group import app


@app.command(
    cls=Command,
    epilog=examples("roadworthy suites schema", "roadworthy suites schema --out suite.schema.json"),
)
def schema(
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; shown if left out.")
    ] = None,
) -> None:
    """Write the JSON Schema of suites, with a description of every key.

    Editors with a YAML language server complete and check suites that begin with the line
    # yaml-language-server: $schema=suite.schema.json
    """
    from roadworthy._files import write_text
    from roadworthy.runs.suites.schema import schema_text

    if out is None:
        typer.echo(schema_text(), nl=False)
        return
    write_text(out, schema_text())
    console().print(f"Wrote {out}", markup=False, soft_wrap=True)
