"""``roadworthy bbsl fmt``: specifications in their canonical form."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli.bbsl._group import app
from roadworthy.cli.options import AsJson
from roadworthy.errors import InputError

Files = Annotated[
    list[str], typer.Argument(metavar="SPEC", help="Files of specifications; - for standard input.")
]
Ascii = Annotated[bool, typer.Option("--ascii", help="Spell symbols in ASCII: ~ for ≈, in for ∈, …")]
Check = Annotated[
    bool, typer.Option("--check", help="Change nothing; end with 1 when a file is not in canonical form.")
]


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy bbsl fmt stop.bbsl",
        "roadworthy bbsl fmt --check examples/bbsl/*.bbsl",
        "roadworthy bbsl fmt --ascii - < stop.bbsl",
    ),
)
def fmt(files: Files, ascii: Ascii = False, check: Check = False, as_json: AsJson = False) -> None:
    """Rewrite specifications in their canonical form; comments are kept. Types are not looked at."""
    from roadworthy.bbsl import load, parse

    if "-" in files:
        if len(files) > 1 or as_json:
            raise InputError("- reads one specification and writes it to standard output: give nothing else")
        text = sys.stdin.read()
        wanted = parse(text, path="<stdin>").format(ascii=ascii)
        if not check:
            typer.echo(wanted, nl=False)
        raise typer.Exit(int(check and wanted != text))
    # All are read before one is written, so that a mistake in the last leaves the first as it is.
    specs = [load(name) for name in files]
    changes = {name: spec.format(ascii=ascii) for name, spec in zip(files, specs, strict=True)}
    changed = {name: changes[name] != spec.source for name, spec in zip(files, specs, strict=True)}
    if not check:
        for name in files:
            if changed[name]:
                _write(Path(name), changes[name])
    if as_json:
        print_json([{"file": name, "changed": changed[name]} for name in files])
    else:
        _tell(changed, check)
    raise typer.Exit(int(check and any(changed.values())))


def _write(path: Path, text: str) -> None:
    """Replace the text of a file, or of what a link points at, in one step; its permissions stay."""
    target = path.resolve()
    beside = target.with_name(f"{target.name}.unfinished")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _tell(changed: dict[str, bool], check: bool) -> None:
    out = console()
    for name, differs in changed.items():
        if differs:
            verb = "is not in canonical form" if check else "is rewritten"
            out.print(f"{name} {verb}", markup=False, soft_wrap=True)
    left = sum(not differs for differs in changed.values())
    if left:
        out.print(f"{left} {'file' if left == 1 else 'files'} in canonical form already", soft_wrap=True)
