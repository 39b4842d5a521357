"""``roadworthy data export``: writing a data set in the format of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import bars, console, examples, listed, print_json, print_rows
from roadworthy.cli._datasets import Options, Sample, counted, opened
from roadworthy.cli.data._group import Reference, app
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.datasets import ExportSummary


_MOST_NAMED = 12


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy data export world:town towns --format coco --sample 50",
        "roadworthy data export world towns/training --format kitti",
        "roadworthy data export kitti:training cars -f yolo --classes car,van",
    ),
)
def export(
    reference: Reference,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write: a new or empty folder.")],
    format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="kitti, coco or yolo.", show_default=False)
    ],
    option: Options = None,
    sample: Sample = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="The classes to write, joined by commas, in the order of their numbers; all if left out.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Write the images and boxes of a data set as KITTI, COCO or YOLO."""
    if sample is not None and sample < 1:
        raise InputError(f"--sample must be 1 or more, got {sample}")
    words = None if classes is None else [word.strip() for word in classes.split(",") if word.strip()]
    summary = _written(reference, folder, format, option, sample, words)
    if as_json:
        print_json(_document(summary))
    else:
        _print_summary(summary)


def _written(
    reference: str,
    folder: Path,
    format: str,
    option: list[str] | None,
    sample: int | None,
    classes: list[str] | None,
) -> ExportSummary:
    from roadworthy.datasets import EXPORT_FORMATS, export, spread
    from roadworthy.errors import suggest

    chosen = next((one for one in EXPORT_FORMATS if one == format.lower()), None)
    if chosen is None:
        raise InputError(f"there is no format {format!r}: {suggest(format, EXPORT_FORMATS)}")
    dataset = opened(reference, option, count=sample)
    total = len(dataset)
    some = None if sample is None or sample >= total else spread(total, sample)
    with bars() as shown:
        watch = shown.showing("Writing frames")
        return export(dataset, folder, chosen, classes=classes, indices=some, progress=watch)


def _document(summary: ExportSummary) -> dict[str, object]:
    return {
        "folder": str(summary.folder),
        "format": summary.format,
        "reference": summary.reference,
        "frames": summary.frames,
        "boxes": dict(summary.boxes),
        "left_out": dict(summary.left_out),
        "lost": dict(summary.lost),
        "skipped": dict(summary.skipped),
    }


def _print_summary(summary: ExportSummary) -> None:
    from rich.text import Text

    out = console()
    total = sum(summary.boxes.values())
    out.print(
        Text.assemble((str(summary.folder), "bold cyan"), f", {summary.frames} frames, {total} boxes"),
        soft_wrap=True,
    )
    rows = {
        "boxes": listed(summary.boxes),
        "left out": listed(summary.left_out),
        "not in this format": listed(summary.lost),
        "skipped": f"{counted(len(summary.skipped), len(summary.skipped))} that cannot be read"
        if summary.skipped
        else "",
    }
    print_rows({title: line for title, line in rows.items() if line})
    for id, reason in list(summary.skipped.items())[:_MOST_NAMED]:
        out.print(Text.assemble((id, "red"), f": {reason}"), soft_wrap=True)
    if len(summary.skipped) > _MOST_NAMED:
        out.print(f"and {len(summary.skipped) - _MOST_NAMED} more; --json names all")
    out.print(Text.assemble("Open it as ", (summary.reference, "cyan")), soft_wrap=True)
