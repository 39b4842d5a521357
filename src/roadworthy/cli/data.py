"""``roadworthy data``: looking at data sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    parse_options,
    plain_table,
    print_json,
    tracked,
)
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame

__all__ = ["app"]

app = typer.Typer(cls=Group, no_args_is_help=True, help="Look at data sets.")

_TILE_WIDTH = 640  # pixels on the sheet
_MOST_FRAMES = 400  # larger pictures open in hardly any program


@app.callback()
def _group() -> None:
    """Look at data sets."""


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy data show world",
        "roadworthy data show world:town -o weather=rain -o level=heavy -o time=night",
        "roadworthy data show world -o weather=all -o time=all --count 15",
        "roadworthy data show world:mountain --overlay depth --out depth.png",
    ),
)
def show(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="The data set: its name, or name:path. See `roadworthy list datasets`."
        ),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the data set; repeatable."),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", help="How many frames, spread over the data set.")
    ] = 12,
    columns: Annotated[int, typer.Option(metavar="N", help="Frames beside each other.")] = 3,
    overlay: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What to draw: boxes, labels, depth, instances, signals, joined by commas; or none.",
        ),
    ] = "boxes,labels,signals",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the data set when left out."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="The seed of data that is made; the same as -o seed=N.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Draw a contact sheet of a data set with what is known about its frames."""
    from roadworthy.images import write_image
    from roadworthy.report import frame_sheet, parse_overlays

    overlays = parse_overlays(overlay)
    if not 1 <= count <= _MOST_FRAMES:
        raise InputError(f"--count must be between 1 and {_MOST_FRAMES}, got {count}")
    options = parse_options(option or [])
    if seed is not None and options.setdefault("seed", seed) != seed:
        raise InputError(f"the seed is given twice: --seed {seed} and -o seed={options['seed']}")
    path = out or Path(re.sub(r"[^\w.-]+", "-", reference).strip("-") + ".png")
    make_folder(path.parent)
    dataset = _opened(reference, options, count)
    if not len(dataset):
        raise InputError(f"{dataset.name} has no frames to show")
    shown = min(count, len(dataset))
    chosen = [index * len(dataset) // shown for index in range(shown)]
    frames = [dataset[index] for index in tracked(chosen, "Reading frames")]
    sheet = frame_sheet(
        frames,
        columns,
        overlays=overlays,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        title=dataset.name,
        note=_counted(shown, len(dataset)),
    )
    write_image(path, sheet)
    if as_json:
        print_json({"sheet": str(path), **_document(dataset, frames)})
    else:
        _print_summary(path, dataset, frames)


def _opened(reference: str, options: dict[str, object], count: int) -> Dataset:
    from roadworthy.datasets import load, options_of
    from roadworthy.registry import datasets

    reader = datasets.get(reference.partition(":")[0])
    # Data that is made is made in the number that is shown: its conditions cycle from frame to frame, and
    # every n-th of more frames could show the same ones again and again.
    if any(one.name == "count" for one in options_of(reader)):
        options = {"count": count, **options}
    return load(reference, **options)


def _counted(shown: int, total: int) -> str:
    return f"{total} frames" if shown == total else f"{shown} of {total} frames"


def _conditions(frames: Sequence[Frame]) -> dict[str, Counter[str]]:
    """Count the values of what metadata says in words."""
    found: dict[str, Counter[str]] = {}
    for frame in frames:
        for name, value in frame.metadata.items():
            if isinstance(value, str):
                found.setdefault(name, Counter())[value] += 1
    return found


def _boxes(frames: Sequence[Frame]) -> Counter[str]:
    return Counter(name for frame in frames if frame.boxes is not None for name in frame.boxes.classes)


def _labels(frames: Sequence[Frame]) -> dict[str, float]:
    """Return the share of pixels of each class, largest first."""
    pixels: Counter[str] = Counter()
    for frame in frames:
        if frame.labels is not None:
            pixels.update(frame.labels.present())
    total = sum(pixels.values())
    return {name: number / total for name, number in pixels.most_common()}


def _document(dataset: Dataset, frames: Sequence[Frame]) -> dict[str, object]:
    return {
        "dataset": dataset.name,
        "frames": len(dataset),
        "conditions": _conditions(frames),
        "boxes": dict(_boxes(frames).most_common()),
        "labels": {name: round(share, 6) for name, share in _labels(frames).items()},
        "shown": [
            {
                "id": frame.id,
                "size": list(frame.size),
                "signals": frame.signals.as_dict(),
                "boxes": None if frame.boxes is None else dict(Counter(frame.boxes.classes)),
                "metadata": dict(frame.metadata),
            }
            for frame in frames
        ],
    }


def _print_summary(path: Path, dataset: Dataset, frames: Sequence[Frame]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    table = plain_table("", "")
    for name, values in _conditions(frames).items():
        table.add_row(Text(name, style="dim"), _listed({key: str(n) for key, n in values.most_common()}))
    if boxes := _boxes(frames):
        table.add_row(Text("boxes", style="dim"), _listed({key: str(n) for key, n in boxes.most_common()}))
    if labels := _labels(frames):
        table.add_row(
            Text("pixels", style="dim"), _listed({key: f"{share:.1%}" for key, share in labels.items()})
        )
    out.print(Text.assemble((dataset.name, "bold"), f", {_counted(len(frames), len(dataset))}"))
    if table.row_count:
        out.print(Padding(table, (0, 0, 0, 2)))
    out.print(Text.assemble("Wrote ", (str(path), "cyan")), soft_wrap=True)


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
