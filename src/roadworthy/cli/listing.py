"""``roadworthy list``: everything that has a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._console import console, examples, plain_table, print_json
from roadworthy.errors import InputError, UnknownNameError, suggest

if TYPE_CHECKING:
    from roadworthy.registry import Entry, PluginFailure, Registry


_MANY = 50  # of one kind, that are listed only when it is asked for

EXAMPLES = examples("roadworthy list", "roadworthy list datasets", "roadworthy list --json")


def list_all(
    kind: Annotated[
        str | None,
        typer.Argument(help="Only this kind: datasets, transforms, models, metrics or simulators."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """List the data sets, transforms, models, metrics and simulators, plug-ins included."""
    from roadworthy.registry import all_registries

    registries = [one for one in all_registries() if kind in (None, one.kind)]
    if kind == "engines":
        raise UnknownNameError("engines are listed by: roadworthy engines list")
    if not registries:
        raise UnknownNameError(
            f"there is no kind {kind!r} of things to list; "
            f"{suggest(str(kind), [one.kind for one in all_registries()])}"
        )
    if as_json:
        print_json(_document(registries))
        return
    for registry in registries:
        _print_kind(registry, in_short=kind is None)


def _options(entry: Entry[Any]) -> dict[str, str]:
    """Return the options of a data set, transform or model and their defaults; others have none yet."""
    if entry.kind not in ("datasets", "models", "transforms"):
        return {}
    from roadworthy._options import options_of

    try:
        options = options_of(entry.object)
    except InputError:
        return {}
    # A spec is Python; on the command line its parts are written as input.… and output.…
    return {one.name: "" if one.required else str(one.default) for one in options if one.name != "spec"}


def _document(registries: Sequence[Registry[Any]]) -> dict[str, object]:
    document: dict[str, object] = {
        registry.kind: [
            {
                "name": entry.name,
                "aliases": list(entry.aliases),
                "summary": entry.summary,
                "source": entry.source,
                "options": _options(entry),
            }
            for entry in registry.entries()
        ]
        for registry in registries
    }
    document["failures"] = [
        {"kind": failure.kind, "name": failure.name, "source": failure.source, "error": failure.error}
        for registry in registries
        for failure in registry.failures()
    ]
    return document


def _print_kind(registry: Registry[Any], *, in_short: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from roadworthy.registry import BUILT_IN

    out = console()
    entries, failures = registry.entries(), registry.failures()
    out.print(Text(registry.kind, style="bold"), Text("" if entries or failures else "none yet", style="dim"))
    table = plain_table("", "", "")
    ours = [entry for entry in entries if entry.source == BUILT_IN]
    if in_short and len(ours) > _MANY:
        entries = [entry for entry in entries if entry.source != BUILT_IN]
        names = ", ".join(entry.name for entry in ours[:: len(ours) // 6])
        table.add_row(Text(str(len(ours)), style="cyan"), f"such as {names}: roadworthy list {registry.kind}")
    for entry in entries:
        _add_entry(table, entry)
    for failure in failures:
        _add_failure(table, failure)
    if table.row_count:
        out.print(Padding(table, (0, 0, 0, 2)))
    out.print()


def _add_entry(table: Any, entry: Entry[Any]) -> None:
    from rich.text import Text

    about = Text(entry.summary)
    if entry.aliases:
        about.append(f"\nalso called {', '.join(entry.aliases)}", style="dim")
    if options := _options(entry):
        about.append("\n" + " ".join(f"{name}={default}" for name, default in options.items()), style="dim")
    table.add_row(Text(entry.name, style="cyan"), about, Text(entry.source, style="dim"))


def _add_failure(table: Any, failure: PluginFailure) -> None:
    from rich.text import Text

    about = Text(f"could not be loaded: {failure.error}", style="red")
    table.add_row(Text(failure.name or "?", style="red"), about, Text(failure.source, style="dim"))
