"""``roadworthy engines list`` and ``engines show``: which engines there are, and what is known about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, print_rows
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.engines._group import FILE, Which, app, opened_engine

if TYPE_CHECKING:
    from roadworthy.transforms import UserEngine
    from roadworthy.transforms.learned import EngineCard, EngineMetric


_NEARER = {True: "yes", False: "no", None: "not measured"}


@app.command(
    "list",
    cls=Command,
    epilog=examples("roadworthy engines list", "roadworthy engines list --file mine/engines.yaml --json"),
)
def list_engines(
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"An engines file to list as well; {FILE} if left out, if it is there."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the learned engines that come with Roadworthy, and those of an engines file, in its order.

    Nothing in the file is run. `--engines shipped` takes those that come with Roadworthy and were measured to
    be nearer to the world's truth than what is built in.
    """
    from roadworthy.transforms import read_engines
    from roadworthy.transforms.engines import SHIPPED
    from roadworthy.transforms.learned import shipped_engines

    found: list[tuple[str, UserEngine]] = [(SHIPPED, one) for one in shipped_engines()]
    path = FILE if file is None and FILE.is_file() else file
    if path is not None:
        found += [(str(path), one) for one in read_engines(path)]
    rows = [_row(source, engine) for source, engine in found]
    if as_json:
        print_json({"engines": rows})
        return
    if not rows:
        console().print(
            "This installation comes with no learned engines, and there is no engines file here: train or "
            "import one (roadworthy engines train, engines import), or give a file by --file.",
            soft_wrap=True,
        )
        return
    table = plain_table("engine", "from", "what it does", "how", "nearer than built in")
    for row in rows:
        nearer = _NEARER[row["is_nearer"]] if "is_nearer" in row else ""
        table.add_row(row["name"], row["from"], ", ".join(row["supports"]), row["how"], nearer)
    console().print(table)


def _row(source: str, engine: UserEngine) -> dict[str, Any]:
    from roadworthy.transforms.learned import LearnedEngine

    row: dict[str, Any] = {
        "name": engine.name,
        "from": source,
        "supports": [str(one) for one in engine.supported],
        "how": engine.backend.does or "learned",
        "needs_permission": bool(engine.backend.does),
    }
    if isinstance(engine, LearnedEngine):
        card = engine.card
        row["how"] = f"learned: {card.architecture}" + (f", for {card.domain}" if card.domain else "")
        row |= {"card": card.name, "kind": card.kind, "domain": card.domain, "sha256": card.sha256}
        row["is_nearer"] = card.is_nearer
    return row


@app.command(
    cls=Command,
    epilog=examples("roadworthy engines show day-to-night", "roadworthy engines show my-engine --json"),
)
def show(which: Which, as_json: AsJson = False) -> None:
    """Tell what is known about a learned engine: what it does and takes, how it was made, how good it is."""
    engine = opened_engine(which)
    card = engine.card
    if as_json:
        print_json(card.to_dict())
        return
    out = console()
    out.print(f"{card.name}: {', '.join(map(str, engine.supported))}", style="bold", soft_wrap=True)
    print_rows(dict(_facts(card, engine)))
    if card.metrics:
        table = plain_table("measured", "learned", "built in", "frames")
        for one in card.metrics:
            table.add_row(
                one.name,
                _number(one, one.value, one.low, one.high),
                ""
                if one.classical is None
                else _number(one, one.classical, one.classical_low, one.classical_high),
                str(one.frames),
            )
        out.print()
        out.print(table)
    for note in card.notes:
        out.print(f"Note: {note}", soft_wrap=True, markup=False)


def _facts(card: EngineCard, engine: UserEngine) -> Iterator[tuple[str, str]]:
    _, network = engine.backend.files
    yield "network", f"{card.architecture}, {card.kind}, {network.stat().st_size / 2**20:.1f} MiB"
    yield "takes", ", ".join(f"{name} ({channels})" for name, channels in card.inputs.items())
    if card.classes:
        yield "knows", ", ".join(card.classes)
    sizes = [f"trained at {_size(card.trained_at)}"] if card.trained_at else []
    if card.least == card.most:
        sizes.append(f"stretched to {_size(card.least)}")
    else:
        sizes.append(f"from {_size(card.least)} up")
        if card.most:
            sizes.append(f"made smaller above {_size(card.most)}")
    yield "sizes", ", ".join(sizes)
    for title, value in (("for", card.domain), ("license", card.license), ("source", card.source)):
        if value:
            yield title, value
    for role in dict.fromkeys(one.role for one in card.data):
        data = [one for one in card.data if one.role == role]
        yield role, "; ".join(f"{one.name}, {one.frames} frames" for one in data)
    if card.training.method:
        facts = card.training
        told = [facts.method, f"{facts.steps} steps" if facts.steps else "", facts.device, facts.date]
        yield "trained", ", ".join(word for word in told if word)
        if facts.command:
            yield "made by", facts.command
    yield "sha256", card.sha256


def _size(size: tuple[int, int] | None) -> str:
    return "any size" if size is None else f"{size[1]}x{size[0]}"


def _number(metric: EngineMetric, value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "not known"
    text = f"{value:.4g}{' ' + metric.unit if metric.unit else ''}"
    return text if low is None or high is None else f"{text} ({low:.4g} to {high:.4g})"
