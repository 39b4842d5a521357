"""The program itself: global options, how errors end it, and which commands there are.

Exit codes: 0 everything passed; 1 something is violated; 2 wrong use, wrong input, or the tool failed; 3
nothing is violated, but something is inconclusive; 130 interrupted.

A command or group of commands is imported when it is used, so its module may import what it needs.
"""

from __future__ import annotations

import io
import json
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_group

from roadworthy._starting import load_before_memory_is_short, spare_torch, watched
from roadworthy._version import __version__
from roadworthy.cli._answer import FAILED
from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import examples, print_error
from roadworthy.errors import RoadworthyError, memory_advice


@dataclass(frozen=True)
class _Entry:
    """A command or a group of commands.

    Attributes:
        panel: Where it stands on the help page.
        made_by: Its module below `roadworthy.cli`, and there the app that has the command or is the group.
        summary: Its line on the help page; for a group, all of its help.
    """

    panel: str
    made_by: str
    summary: str


_ENTRIES = {
    name: _Entry(panel, *told)
    for panel, commands in json.loads(Path(__file__).with_name("commands.json").read_text("utf-8")).items()
    for name, told in commands.items()
}


@cache
def _loaded(name: str) -> Any:
    """Return the command or group of a name; its module is imported here."""
    entry = _ENTRIES[name]
    module_name, _, attribute = entry.made_by.partition(":")
    group = get_group(getattr(import_module(f"roadworthy.cli.{module_name}"), attribute))
    made: Any = group.commands.get(name, group)
    made.name, made.rich_help_panel = name, entry.panel
    if isinstance(made, Group):
        made.help = entry.summary
    return made


class _Commands(Mapping[str, Any]):
    """All commands and groups by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)


class _Program(Group):
    """Turns exceptions into one clean message and an exit code, whichever command they come from."""

    def __init__(self, *given: Any, **others: Any) -> None:
        super().__init__(*given, **others)
        self.commands: Any = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_ENTRIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return what a help page and a shell need to know of a command; `resolve_command` loads it."""
        entry = _ENTRIES.get(cmd_name)
        return entry and Command(cmd_name, help=entry.summary, rich_help_panel=entry.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, _loaded(name) if name else None, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SystemExit as ending:
            if isinstance(ending.__context__, BrokenPipeError):
                # rich ends so where nobody reads on, as in `--help | head`: that needs no word.
                sys.exit(FAILED)
            # No command ends like that: code of the user does, and it may say 0.
            raise RoadworthyError(
                f"sys.exit({ending.code!r}) was called by a model, data set or engine: take it out, and let "
                "the code raise an exception where it cannot go on"
            ) from ending

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        # Accepted anywhere: whoever is told to run again with --debug adds it at the end.
        given.sort(key=lambda word: word != "--debug")
        debug = "--debug" in given
        try:
            return super().main(given, *others, **extra)
        except Exception as error:
            if debug:
                traceback.print_exc()
            elif isinstance(error, RoadworthyError):
                print_error(str(error))
            elif advice := memory_advice(error):
                print_error(advice)
            elif isinstance(error, OSError) and error.strerror:
                # A name too long, a full disk, a folder that may not be read: no fault of the program.
                place = "go on" if error.filename is None else f"use {error.filename}"
                print_error(f"cannot {place}: {error.strerror}")
            else:
                print_error(
                    f"{type(error).__name__}: {error}\n"
                    "This should not happen. Run again with --debug to see where it comes from."
                )
            sys.exit(FAILED)


app = typer.Typer(
    name="roadworthy",
    cls=_Program,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "roadworthy demo",
        "roadworthy run suite.yaml",
        "roadworthy serve",
        "roadworthy data show world:town -o weather=rain -o time=night",
        "roadworthy list datasets",
    ),
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"roadworthy {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Test driving models: say what must hold, get the failing images and evidence you can trust."""
    # Both options are acted on elsewhere: --version by its callback, --debug by _Program.


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A sign or file name that the output cannot show must not cost the results.
        sys.stdout.reconfigure(errors="backslashreplace")
    last_word = watched(print_error)
    try:
        spare_torch()
        load_before_memory_is_short()
        app(prog_name="roadworthy")
    except SystemExit as ending:
        # Click gives numbers; text, of which Python makes 1, comes of nothing here.
        last_word(ending.code if isinstance(ending.code, int) else int(ending.code is not None))
        raise
