"""``roadworthy driving mutate``: put faults into a trained network and see which of them drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, plain_table, print_json, tracked
from roadworthy.cli.driving._group import app
from roadworthy.cli.options import AsJson
from roadworthy.errors import InputError

if TYPE_CHECKING:
    import torch

    from roadworthy.models.zoo import Variant
    from roadworthy.training.mutants import Judged, Mutant, Mutation


_ALL = "GF,WS,NEB,NAI,NS,LR,LA,LD"


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving mutate --model dave2 --out mutants",
        "roadworthy driving mutate --model dave2 --drive meadow --out mutants",
        "roadworthy driving mutate --model chauffeur --operators NEB,NS --ratios 0.03 --seed 4 --out more",
        "roadworthy driving mutate --model dave2 --operators LD --list",
        "roadworthy driving mutate --again mutants/GF-0.03/mutant.json --out again",
        "roadworthy driving drive --model mutants/GF-0.03",
    ),
)
def mutate(
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The network: a name that comes with the package, or a file or folder that training left.",
        ),
    ] = "dave2",
    operators: Annotated[
        str, typer.Option(metavar="NAMES", help="What is done to it, joined by commas.")
    ] = _ALL,
    ratios: Annotated[
        str, typer.Option(metavar="SHARES", help="Of the weights (GF) or neurons (WS, NEB, NAI, NS).")
    ] = "0.01,0.03,0.05",
    layers: Annotated[
        int, typer.Option(metavar="N", help="How many layers LR, LA and LD change, each in a mutant.")
    ] = 3,
    sigma: Annotated[
        float, typer.Option(metavar="SHARE", help="The noise of GF, as a share of the layer's own spread.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses layers, weights, neurons and noise.")] = 0,
    again: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make the mutant of this mutant.json again.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the layers that each operator can change, or why not.")
    ] = False,
    drive: Annotated[
        str | None, typer.Option(metavar="TRACK", help="Let every mutant drive a lap of this track.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where everything is written.")] = Path(
        "mutants"
    ),
    as_json: AsJson = False,
) -> None:
    """Make mutants of a trained network, as DeepMutation++ does: faults to try an oracle on.

    Every mutant becomes a folder that all commands open as a model, with a mutant.json to make it again.
    mutants.csv says what became of each: equivalent to the original on all probe images, crashing, or alive.
    """
    from roadworthy.models.zoo import load_module, located_weights, read_variant
    from roadworthy.training.mutants import example_of, plan

    if drive is not None:
        from roadworthy.world import track

        track(drive)
    names = [one.strip() for one in operators.split(",") if one.strip()]
    if again is not None:
        model, wanted = _remembered(again)
    variant = read_variant(located_weights(model))
    module, example = load_module(model), example_of(variant)
    if listed:
        _list(module, example, names, as_json)
        return
    if again is None:
        wanted = plan(
            module,
            example,
            operators=names,
            ratios=_shares(ratios),
            layers=layers,
            seed=seed,
            sigma=sigma,
        )
    _make(module, example, variant, model, wanted, drive, make_folder(out), as_json)


def _remembered(path: Path) -> tuple[str, list[Mutation]]:
    """Return the network and the mutation of a mutant that was made before."""
    from roadworthy._files import naming, read_json
    from roadworthy.training.mutants import Mutation

    document = read_json(path)
    with naming(path):
        if not isinstance(document, dict) or document.get("kind") != "post-training":
            raise InputError("expected the mutant.json of a mutant that driving mutate made")
        return str(document["original"]), [Mutation.from_dict(document["mutation"])]


def _shares(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",") if one.strip()]
    except ValueError:
        raise InputError(f"--ratios are numbers joined by commas, such as 0.01,0.05, got {text!r}") from None


def _list(module: torch.nn.Module, example: torch.Tensor, names: Sequence[str], as_json: bool) -> None:
    from roadworthy.training.mutants import candidates

    found = [one for name in names for one in candidates(module, example, name)]
    if as_json:
        print_json([vars(one) for one in found])
        return
    table = plain_table("operator", "layer", "kind", "")
    for one in found:
        told = f"no: {one.refused}" if one.refused else one.note
        table.add_row(
            one.operator, one.layer, one.kind, told or (one.equivalent and f"same: {one.equivalent}")
        )
    console().print(table)


def _make(
    module: torch.nn.Module,
    example: torch.Tensor,
    variant: Variant,
    model: str,
    wanted: Sequence[Mutation],
    track: str | None,
    folder: Path,
    as_json: bool,
) -> None:
    from roadworthy.training.mutants import mutate as made
    from roadworthy.training.mutants import probe_images, save_mutant, write_fate, write_table

    images = probe_images(variant)
    rows: list[dict[str, Any]] = []
    for mutation in tracked(wanted, "Making mutants"):
        mutant = made(module, example, mutation)
        place = folder / mutation.name
        document = save_mutant(mutant, variant, place, original=model)
        if "failed" not in document:
            document = write_fate(place, _judged(module, mutant, images, place, track))
        rows.append(document)
    table = write_table(folder, rows)
    if as_json:
        print_json({"mutants": rows, "table": str(table)})
        return
    _print(rows, driven=track is not None)
    counts: dict[str, int] = {}
    for row in rows:
        fate = row["fate"] or "not driven"
        counts[fate] = counts.get(fate, 0) + 1
    told = ", ".join(f"{count} {fate}" for fate, count in counts.items())
    console().print(f"{len(rows)} mutants of {model}: {told}. Written to {folder}", soft_wrap=True)


def _judged(
    module: torch.nn.Module, mutant: Mutant, images: torch.Tensor, place: Path, track: str | None
) -> Judged:
    """Return what becomes of a mutant: the cheapest proof first, the drive last."""
    from roadworthy.models import load_model
    from roadworthy.training.mutants import Judged, judge_drive, same

    if mutant.equivalent:
        return Judged("equivalent", mutant.equivalent, 0.0)
    alike, difference = same(module, mutant.module, images)
    if alike:
        return Judged("equivalent", f"answers alike on {len(images)} images", difference)
    if difference != difference:
        return Judged("crashing", "answers with what are no numbers", difference)
    if track is None:
        return Judged(None, "", difference)
    return judge_drive(load_model(place, threads=1), track, difference)


def _print(rows: Sequence[dict[str, Any]], *, driven: bool) -> None:
    """Show what became of the mutants; where none drove, nothing is said about how they did."""
    told = any(row["fate"] for row in rows)
    columns = {"mutant": True, "fate": told, "why": told, "differs by": True, "lap": driven}
    table = plain_table(*(name for name, shown in columns.items() if shown))
    for row in rows:
        lap = row["lap"] or {}
        cells = {
            "mutant": row["name"],
            "fate": row["fate"] or "",
            "why": row["reason"],
            "differs by": "" if row["difference"] is None else f"{row['difference']:.3g}",
            "lap": f"{lap['share']:.0%}" if lap else "",
        }
        table.add_row(*(cells[name] for name, shown in columns.items() if shown))
    console().print(table)
    if not driven:
        console().print("Which of them crash is known after a drive: give --drive meadow, or another track.")
