"""The program itself: global options, how errors end it, and which commands there are.

Exit codes: 0 everything passed; 1 something is violated; 2 wrong use, wrong input, or the tool failed; 3
nothing is violated, but something is inconclusive; 130 interrupted.
"""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from roadworthy._starting import spare_torch
from roadworthy._version import __version__
from roadworthy.cli import (
    bbsl,
    comparing,
    coverage,
    data,
    demo,
    driving,
    engines,
    evidence,
    gallery,
    listing,
    models,
    reliability,
    reporting,
    rules,
    running,
    selftesting,
    serving,
    suites,
    transforms,
)
from roadworthy.cli._commands import Command, Group, command
from roadworthy.cli._console import examples, print_error
from roadworthy.cli._road import road_command
from roadworthy.errors import RoadworthyError

FAILED = 2
_START, _TEST, _RUN, _LOOK = _PANELS = "Start here", "Test models", "Run suites", "Look around"


class _Program(Group):
    """Turns exceptions into one clean message and an exit code, whichever command they come from."""

    def list_commands(self, ctx: Any) -> list[str]:
        # Panel by panel: commands and groups of commands are registered in two lists.
        def place(name: str) -> int:
            return _PANELS.index(getattr(self.commands[name], "rich_help_panel", _LOOK))

        return sorted(super().list_commands(ctx), key=place)

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


command(app, *demo.EXAMPLES, panel=_START)(demo.demo)
app.command("serve", cls=Command, rich_help_panel=_START, epilog=serving.EXAMPLES)(serving.serve)
road_command(app, *running.EXAMPLES, panel=_RUN)(running.run)
app.add_typer(suites.app, name="suites", rich_help_panel=_RUN)
app.command("report", cls=Command, rich_help_panel=_RUN, epilog=reporting.EXAMPLES)(reporting.write_reports)
app.command("compare", cls=Command, rich_help_panel=_RUN, epilog=comparing.EXAMPLES)(comparing.compare_runs)
app.add_typer(evidence.app, name="evidence", rich_help_panel=_RUN)
app.command("list", cls=Command, rich_help_panel=_LOOK, epilog=listing.EXAMPLES)(listing.list_all)
app.command("selftest", cls=Command, rich_help_panel=_LOOK, epilog=selftesting.EXAMPLES)(
    selftesting.self_test
)
app.add_typer(rules.app, name="rules", rich_help_panel=_TEST)
app.add_typer(coverage.app, name="coverage", rich_help_panel=_TEST)
app.add_typer(reliability.app, name="reliability", rich_help_panel=_TEST)
app.add_typer(bbsl.app, name="bbsl", rich_help_panel=_TEST)
app.add_typer(driving.app, name="driving", rich_help_panel=_TEST)
app.add_typer(data.app, name="data", rich_help_panel=_LOOK)
app.add_typer(models.app, name="models", rich_help_panel=_LOOK)
app.add_typer(transforms.app, name="transforms", rich_help_panel=_LOOK)
app.add_typer(gallery.app, name="gallery", rich_help_panel=_LOOK)
app.add_typer(engines.app, name="engines", rich_help_panel=_LOOK)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # A sign or file name that the output cannot show must not cost the results.
        sys.stdout.reconfigure(errors="backslashreplace")
    spare_torch()
    app(prog_name="roadworthy")
