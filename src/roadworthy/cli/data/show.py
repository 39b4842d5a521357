"""``roadworthy data show``: a contact sheet of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._files import plain_name
from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    parse_options,
    print_json,
    print_rows,
)
from roadworthy.cli._datasets import FewFrames, Options, counted, opened, spread_frames
from roadworthy.cli.data._findings import Findings
from roadworthy.cli.data._group import Reference, app
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame


_TILE_WIDTH = 640  # pixels on the sheet
_MOST_FRAMES = 400  # larger pictures open in hardly any program


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy data show world",
        "roadworthy data show world:town -o weather=rain -o level=heavy -o time=night",
        "roadworthy data show world -o weather=all -o time=all --sample 15",
        "roadworthy data show world:mountain --overlay depth --out depth.png",
        "roadworthy data show kitti:path/to/training --overlay boxes",
    ),
)
def show(
    reference: Reference,
    option: Options = None,
    sample: FewFrames = 12,
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
        typer.Option(metavar="FILE", help="The picture to write; named after the data set if left out."),
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
    if not 1 <= sample <= _MOST_FRAMES:
        raise InputError(f"--sample must be between 1 and {_MOST_FRAMES}, got {sample}")
    options = parse_options(option or [])
    if seed is not None and "seed" in options:
        raise InputError(f"the seed is given twice: --seed {seed} and -o seed={options['seed']}")
    seeded = [] if seed is None else [f"seed={seed}"]
    path = out or Path(f"{plain_name(reference)}.png")
    make_folder(path.parent)
    dataset = opened(reference, [*(option or []), *seeded], count=sample)
    frames, bad = spread_frames(dataset, sample)
    sheet = frame_sheet(
        frames,
        columns,
        overlays=overlays,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        title=dataset.name,
        note=counted(len(frames), len(dataset)),
    )
    write_image(path, sheet)
    found = Findings.of(frames)
    if as_json:
        print_json({"sheet": str(path), **_document(dataset, frames, found, bad)})
    else:
        _print_summary(path, dataset, found, bad)


def _document(
    dataset: Dataset, frames: Sequence[Frame], found: Findings, bad: Mapping[int, str]
) -> dict[str, object]:
    from roadworthy.ontology import ontology

    return {
        "dataset": dataset.name,
        "frames": len(dataset),
        "skipped": [{"index": index, "reason": reason} for index, reason in bad.items()],
        **found.document(),
        "shown": [
            {
                "id": frame.id,
                "size": list(frame.size),
                "signals": frame.signals.as_dict(),
                "boxes": None
                if frame.boxes is None
                else Counter(map(ontology().word_for, frame.boxes.classes, frame.boxes.attributes)),
                "metadata": dict(frame.metadata),
            }
            for frame in frames
        ],
    }


def _print_summary(path: Path, dataset: Dataset, found: Findings, bad: Mapping[int, str]) -> None:
    from rich.text import Text

    out = console()
    out.print(Text.assemble((dataset.name, "bold"), f", {counted(found.read, len(dataset))}"))
    print_rows(found.rows())
    for reason in list(bad.values())[:1]:
        out.print(
            Text.assemble((f"Skipped {len(bad)}", "yellow"), f" that cannot be read, the first: {reason}")
        )
    out.print(Text.assemble("Wrote ", (str(path), "cyan")), soft_wrap=True)
