"""``roadworthy reliability change``: how much of the change between two images a human sees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, print_rows
from roadworthy.cli.options import AsJson
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import Study


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability change before.png after.png",
        "roadworthy reliability change before.png after.png --transform contrast",
        "roadworthy reliability change before.png after.jpg --transform jpeg --study cifar10 --json",
    ),
)
def change(
    reference: Annotated[Path, typer.Argument(metavar="A", help="The original image.", show_default=False)],
    changed: Annotated[Path, typer.Argument(metavar="B", help="The changed image.", show_default=False)],
    transform: Annotated[
        str, typer.Option("--transform", "-t", metavar="NAME", help="What changed it, if that is known.")
    ] = "",
    study: Study = "imagenet",
    as_json: AsJson = False,
) -> None:
    """Say how much of the change between two images a human sees, and whether people tolerate as much.

    Δv is 0 where nobody sees the change or it improves the image, and 1 where nothing is left. How much
    people tolerate depends on what changed the image; with --transform the exit code is 1 if it is too much
    for them.
    """
    from roadworthy.images import read_image
    from roadworthy.visual_change import ReferenceImage
    from roadworthy.visual_change.tolerance import human_study, tolerance_of

    before = ReferenceImage(read_image(reference))
    after = read_image(changed)
    delta, vsnr = before.visual_change(after), before.vsnr(after)
    visible = not (math.isinf(vsnr) and vsnr > 0)
    measures = {"visual_change": delta, "vif": before.vif(after), "vif_pixel": before.vif_pixel(after)}
    known = [tolerance_of(transform, study=study)] if transform else human_study(study).tolerances.values()
    ranges = {
        one.transformation: {
            kind: {"limit": limit, "tolerated": delta <= limit}
            for kind, limit in (("correctness", one.correctness), ("prediction", one.prediction))
        }
        for one in known
    }
    if as_json:
        strength = vsnr if math.isfinite(vsnr) else str(vsnr)
        print_json({**measures, "vsnr": strength, "visible": visible, "study": study, "tolerated": ranges})
    else:
        print_rows(
            {
                "visual change Δv": f"{delta:.4f}",
                "VIF": f"{measures['vif']:.4f}   (of pixels: {measures['vif_pixel']:.4f})",
                "VSNR": "∞" if vsnr == math.inf else f"{vsnr:.1f} dB",
                "visible": "yes" if visible else "no: below the threshold of detection",
            }
        )
        table = plain_table("if it is", "correctness up to", "tolerated", "prediction up to", "tolerated")
        for name, limits in ranges.items():
            cells = [
                cell
                for kind in ("correctness", "prediction")
                for cell in (f"{limits[kind]['limit']:g}", "yes" if limits[kind]["tolerated"] else "no")
            ]
            table.add_row(name, *cells)
        console().print()
        console().print(table)
    if transform and not all(limits["tolerated"] for one in ranges.values() for limits in one.values()):
        raise typer.Exit(1)
