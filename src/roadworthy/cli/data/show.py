"""``roadworthy data show``: a contact sheet of a data set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    parse_options,
    plain_table,
    print_json,
    tracked,
)
from roadworthy.cli.data._group import Options, Reference, app, listed, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame

__all__ = ["show"]

_TILE_WIDTH = 640  # pixels on the sheet
_MOST_FRAMES = 400  # larger pictures open in hardly any program


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy data show world",
        "roadworthy data show world:town -o weather=rain -o level=heavy -o time=night",
        "roadworthy data show world -o weather=all -o time=all --count 15",
        "roadworthy data show world:mountain --overlay depth --out depth.png",
        "roadworthy data show kitti:path/to/training --overlay boxes",
    ),
)
def show(
    reference: Reference,
    option: Options = None,
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
    seeded = {} if seed is None else {"seed": seed}
    if seeded and "seed" in (options := parse_options(option or [])):
        raise InputError(f"the seed is given twice: --seed {seed} and -o seed={options['seed']}")
    path = out or Path(re.sub(r"[^\w.-]+", "-", reference).strip("-") + ".png")
    make_folder(path.parent)
    dataset = opened(reference, option, count, **seeded)
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
        table.add_row(Text(name, style="dim"), listed({key: str(n) for key, n in values.most_common()}))
    if boxes := _boxes(frames):
        table.add_row(Text("boxes", style="dim"), listed({key: str(n) for key, n in boxes.most_common()}))
    if labels := _labels(frames):
        table.add_row(
            Text("pixels", style="dim"), listed({key: f"{share:.1%}" for key, share in labels.items()})
        )
    out.print(Text.assemble((dataset.name, "bold"), f", {_counted(len(frames), len(dataset))}"))
    if table.row_count:
        out.print(Padding(table, (0, 0, 0, 2)))
    out.print(Text.assemble("Wrote ", (str(path), "cyan")), soft_wrap=True)
