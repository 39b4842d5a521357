"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from rich.text import Text

from roadworthy.cli import app

PROGRAM = "roadworthy"
PAGE = "commands.md"
ABOUT = """Exit codes are the same everywhere: **0** everything holds, **1** a requirement is violated,
**2** something cannot be used or tried. `--json` prints the same for scripts.
`-h` after any command shows what stands here."""


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.replace("|", r"\|").split())


def section(name: str, command: Any, level: int) -> list[str]:
    """Return what is told of a command and of all below it."""
    lines = [f"{'#' * level} {name}", ""]
    if children := getattr(command, "commands", None):
        lines += [command.help or "", ""]
        for inner, one in children.items():
            lines += section(f"{name} {inner}", one, level + 1)
        return lines
    context = command.make_context(f"{PROGRAM} {name}", [], resilient_parsing=True)
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines += ["```console", usage, "```", "", command.help or "", ""]
    told = [record for one in command.params if (record := one.get_help_record(context)) is not None]
    told = [record for record in told if "--help" not in record[0]]
    if told:
        lines += ["| | |", "|---|---|"]
        lines += [f"| `{cell(what)}` | {cell(help_)} |" for what, help_ in told]
        lines.append("")
    if command.epilog:
        _, *shown = Text.from_markup(command.epilog).plain.splitlines()
        lines += ["```console", *shown, "```", ""]
    return lines


def text() -> str:
    """Return the page."""
    root: Any = typer.main.get_command(app)
    lines = ["# Commands", "", ABOUT, ""]
    names = root.list_commands(typer.Context(root, info_name=PROGRAM))
    for panel, among in groupby(names, key=lambda name: root.commands[name].rich_help_panel):
        lines += [f"## {panel}", ""]
        for name in among:
            lines += section(name, root.commands[name], 3)
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, PAGE, content=text()))
    return files
