"""``roadworthy engines use``: a learned engine put into an engines file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.engines._group import FILE, File, Which, app, opened_engine
from roadworthy.cli.engines._supports import Supports, parse_supports

if TYPE_CHECKING:
    from pathlib import Path

    from roadworthy.transforms import UserEngine


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy engines use day-to-night",
        "roadworthy engines use runs/my-rain --as rain --file engines.yaml",
        'roadworthy engines use colours --supports "remove line"',
    ),
)
def use(
    which: Which,
    file: File = FILE,
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="What to call it; as its card says if left out."),
    ] = None,
    supports: Supports = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="Where it runs: cpu or cuda.")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Put a learned engine into an engines file, before all others: rules that are run with it use it.

    A file that does not exist is made. In one that does, an engine of the same name is replaced, and all else
    stays as it is, comments among it.
    """
    from roadworthy.transforms import read_engines
    from roadworthy.transforms.engines.files import put_engine
    from roadworthy.transforms.learned.card import WORLD

    engine = opened_engine(which, device=device)
    called = name or engine.name
    entry: dict[str, Any] = {"learned": _reference(which, file)}
    if device != "cpu":
        entry["device"] = device
    if supports:
        entry["supports"] = list(parse_supports(supports))
    make_folder(file.parent)
    replaced = put_engine(file, called, entry)
    found = read_engines(file)
    (mine,) = (one for one in found if one.name == called)
    notes = _hidden(mine, found)
    if engine.card.domain == WORLD:
        notes.append(
            f"{called} learned from the built-in world alone; on other frames, look at what it makes"
        )
    if as_json:
        does = [str(one) for one in mine.supported]
        print_json(
            {"file": str(file), "engine": called, "supports": does, "replaced": replaced, "notes": notes}
        )
        return
    out = console()
    done = "replaced in" if replaced else "added to"
    out.print(
        f"{called} is {done} {file}: {', '.join(map(str, mine.supported))}", soft_wrap=True, markup=False
    )
    for note in notes:
        out.print(f"Note: {note}", soft_wrap=True, markup=False)
    out.print(f"Use it by: roadworthy rules run --engines {file} …", soft_wrap=True, markup=False)


def _reference(which: str, file: Path) -> str:
    """Return how the file names the engine: a folder relative to it, or the name of one that is shipped."""
    from pathlib import Path

    from roadworthy.transforms.learned.engine import engine_folder, shipped_folder

    folder = engine_folder(which).resolve()
    if folder.parent == shipped_folder().resolve():
        return folder.name
    try:
        return Path(os.path.relpath(folder, file.parent.resolve())).as_posix()
    except ValueError:  # on another drive
        return str(folder)


def _hidden(mine: UserEngine, found: tuple[UserEngine, ...]) -> list[str]:
    """Return which of what an engine does another of the file does before it."""
    notes = []
    for support in mine.supported:
        operation = support.asked()
        first = next((one for one in found if operation is not None and one.supports(operation)), mine)
        if first.name != mine.name:
            notes.append(f"{first.name} stands before {mine.name} in the file and does {support}")
    return notes
