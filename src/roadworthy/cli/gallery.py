"""``roadworthy gallery``: galleries of cut-out things, from which the transform `add` takes what it adds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._files import plain_name
from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import console, examples, listed, make_folder, print_json, print_rows, tracked
from roadworthy.cli._datasets import AsJson, Options, Sample, counted, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame
    from roadworthy.transforms.objects import CutOut, Gallery, Harvest


app = typer.Typer(cls=Group, no_args_is_help=True, help="Make and look at galleries of cut-out things.")

_MOST_SHOWN = 400
_TILE = 150  # pixels

Reference = Annotated[
    str,
    typer.Argument(
        metavar="[GALLERY]", help="shipped, or the folder of a gallery; several joined by commas."
    ),
]


@app.callback()
def _group() -> None:
    """Make and look at galleries of cut-out things."""


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy gallery harvest camvid:path/to/camvid --out people --element pedestrian",
        "roadworthy gallery harvest world:town -n 50 --out things -e vehicle -e pedestrian",
        "roadworthy gallery harvest a2d2:path/to/a2d2 --out cars -e car --smallest 80 --most 40",
    ),
)
def harvest(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The labelled data set: its name, or name:path.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where to write the gallery.", show_default=False)
    ],
    element: Annotated[
        list[str] | None,
        typer.Option(
            "--element",
            "-e",
            metavar="WORD",
            help="What to cut out, such as pedestrian; repeatable; all that can be if left out.",
        ),
    ] = None,
    option: Options = None,
    sample: Sample = None,
    smallest: Annotated[int, typer.Option(metavar="PIXELS", help="The least height of a cut-out.")] = 40,
    most: Annotated[
        int | None, typer.Option(metavar="N", help="How many of each element are enough; the largest stay.")
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add to the gallery that is in the folder; nothing in it is lost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Cut things out of labelled frames: those that are seen whole, alone and clearly."""
    from roadworthy.transforms.objects import Gallery
    from roadworthy.transforms.objects import harvest as harvested
    from roadworthy.transforms.objects.cutting import HARVESTED
    from roadworthy.transforms.objects.gallery import INDEX

    for name, value in (("--sample", sample), ("--smallest", smallest), ("--most", most)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be 1 or more, got {value}")
    earlier = Gallery.load(out) if add and (out / INDEX).is_file() else None
    if earlier is None and (out / INDEX).exists():
        raise InputError(
            f"there is a gallery in {str(out)!r} already: add to it with --add, or choose another"
        )
    for one in earlier or ():
        _ = one.rgba  # a broken one is found before the work and not after it
    dataset = opened(data, option, count=sample)
    from roadworthy.datasets import spread

    numbers = spread(len(dataset), len(dataset) if sample is None else sample)
    result = harvested(
        _frames(dataset, numbers),
        element or tuple(HARVESTED),
        smallest=smallest,
        most=most,
        source=dataset.name,
    )
    known = 0
    if result.cut_outs:
        make_folder(out)
        gallery = (earlier or Gallery([])).grown(result.cut_outs)
        known = len(earlier or ()) + len(result.cut_outs) - len(gallery)
        gallery.save(out)
    if as_json:
        written = str(out) if result.cut_outs else None
        print_json({"gallery": written, **_document(result), "already_there": known})
    else:
        _print_harvest(result, dataset, out, known)
    if not result.cut_outs:
        raise InputError(f"nothing in {dataset.name} could be cut out, so no gallery was written")


def _frames(dataset: Dataset, numbers: list[int]) -> Iterable[Frame]:
    for number in tracked(numbers, "Cutting out"):
        yield dataset[number]


def _document(result: Harvest) -> dict[str, object]:
    taken = {name: sum(one.element == name for one in result.cut_outs) for name in result.refused}
    refused = {name: dict(reasons.most_common()) for name, reasons in result.refused.items()}
    return {"frames": result.frames, "taken": taken, "refused": refused}


def _print_harvest(result: Harvest, dataset: Dataset, out: Path, known: int) -> None:
    from rich.text import Text

    console().print(f"{counted(result.frames, len(dataset))} of {dataset.name}")
    rows = {}
    for name, reasons in result.refused.items():
        taken = sum(one.element == name for one in result.cut_outs)
        left = f"; refused: {listed(dict(reasons.most_common()))}" if reasons else ""
        rows[name] = f"{taken} taken{left}"
    print_rows(rows)
    if known:
        console().print(f"{known} of them {'was' if known == 1 else 'were'} there already")
    if result.cut_outs:
        console().print(Text.assemble("Wrote ", (str(out), "cyan")), soft_wrap=True)


@app.command(
    "list",
    cls=Command,
    epilog=examples(
        "roadworthy gallery list", "roadworthy gallery list people", "roadworthy gallery list --json"
    ),
)
def list_(gallery: Reference = "shipped", as_json: AsJson = False) -> None:
    """Tell what a gallery has."""
    found = _opened(gallery)
    if as_json:
        print_json({"gallery": gallery, "cut_outs": [_facts(one) for one in found]})
        return
    rows = {}
    for element, kinds in found.counts().items():
        named = {words or "any": count for words, count in kinds.items()}
        rows[element] = str(kinds.total()) if list(named) == ["any"] else f"{kinds.total()}: {listed(named)}"
    console().print(f"{len(found)} cut-outs in {found.name}, things by element")
    print_rows(rows)


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy gallery show", "roadworthy gallery show people -e pedestrian --out people.png"
    ),
)
def show(
    gallery: Reference = "shipped",
    element: Annotated[
        str, typer.Option("--element", "-e", metavar="WORDS", help="Only these, such as red car.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the gallery if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a sheet of what a gallery has, each cut-out with its height in metres."""
    from roadworthy.images import write_image
    from roadworthy.report import Tile, contact_sheet

    found = _opened(gallery)
    if not len(found):
        raise InputError(f"the gallery {found.name!r} is empty: there is nothing to draw")
    shown = list(found.select(element) if element else found)[:_MOST_SHOWN]
    path = out or Path(f"gallery-{plain_name(gallery)}.png")
    tiles = [Tile(_drawn(one), one.name, f"{one.height:.2f} m") for one in shown]
    sheet = contact_sheet(tiles, columns=8, title=found.name, note=f"{len(shown)} cut-outs")
    make_folder(path.parent)
    write_image(path, sheet)
    if as_json:
        print_json({"sheet": str(path), "cut_outs": [_facts(one) for one in shown]})
    else:
        left = f" of {len(found)}" if len(shown) < len(found) else ""
        console().print(f"Wrote {path} with {len(shown)}{left} cut-outs", soft_wrap=True, markup=False)


def _drawn(one: CutOut) -> NDArray[np.uint8]:
    """Return a cut-out on grey, as large as fits into a square."""
    import cv2
    import numpy as np

    height, width = one.shape
    factor = _TILE / max(height, width)
    high, wide = max(1, round(height * factor)), max(1, round(width * factor))
    thing = one.scaled(high, wide).astype(np.float32)
    tile = np.full((_TILE, _TILE, 3), 148.0, np.float32)
    top, left = (_TILE - high) // 2, (_TILE - wide) // 2
    window = tile[top : top + high, left : left + wide]
    window *= 1 - thing[..., 3:] / 255
    window += thing[..., :3]
    return np.asarray(cv2.convertScaleAbs(tile), np.uint8)


def _opened(reference: str) -> Gallery:
    from roadworthy.transforms.objects import Gallery

    return Gallery.opened(reference)


def _facts(one: CutOut) -> dict[str, object]:
    return {
        "name": one.name,
        "element": one.element,
        "properties": dict(one.properties),
        "height": one.height,
        "thing": one.thing,
        "facing": one.facing,
        "source": one.source,
    }
