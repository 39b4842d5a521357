"""``roadworthy bbsl check``: is a specification exhaustive, exclusionary and non-redundant?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, print_json, tracked
from roadworthy.cli.bbsl._group import app
from roadworthy.cli.options import AsJson, image_size

if TYPE_CHECKING:
    from roadworthy.bbsl import Spec
    from roadworthy.bbsl.checking import CheckResult


Files = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Files with specifications in BBSL.")]
Boxes = Annotated[
    int,
    typer.Option(metavar="N", help="Boxes of a set to try, where no number is known to be enough for all."),
]
Seconds = Annotated[float, typer.Option(metavar="S", help="The most time for one question.")]
Size = Annotated[str, typer.Option("--image", metavar="WxH", help="The size of IMG; any if left out.")]
Draw = Annotated[
    Path | None, typer.Option("--draw", metavar="FOLDER", help="Draw the witnesses into this folder.")
]


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy bbsl check stop.bbsl",
        "roadworthy bbsl check examples/bbsl/*.bbsl",
        "roadworthy bbsl check cut_in.bbsl --boxes 5 --seconds 60 --draw witnesses",
    ),
)
def check(
    spec: Files,
    boxes: Boxes = 3,
    seconds: Seconds = 10.0,
    image: Size = "",
    draw: Draw = None,
    as_json: AsJson = False,
) -> None:
    """Prove that specifications are exhaustive, exclusionary and non-redundant, or show where they are not.

    Exhaustive: every input is in a case. Exclusionary: none is in two. Non-redundant: every case can hold. A
    proof over sets of boxes is for any number of boxes, or says up to how many. The exit code is 1 if
    something was found against a specification or a question was left open, 0 if not.
    """
    from roadworthy.bbsl import load

    specs = {path: load(path) for path in spec}
    size = image_size(image) if image else None
    results: dict[Path, CheckResult] = {}
    for path in tracked(list(specs), "Checking"):
        results[path] = specs[path].check(boxes=boxes, seconds=seconds, image=size)
    pictures = {path: _draw(path, specs[path], one, draw) for path, one in results.items()} if draw else {}
    if as_json:
        print_json(
            [
                {"file": str(path), **one.as_dict(), "picture": str(pictures.get(path) or "")}
                for path, one in results.items()
            ]
        )
    else:
        for path, one in results.items():
            _print(path, one)
        for picture in pictures.values():
            if picture is not None:
                console().print(f"Wrote {picture}", soft_wrap=True)
    raise typer.Exit(int(not all(one.ok for one in results.values())))


def _draw(path: Path, spec: Spec, result: CheckResult, folder: Path) -> Path | None:
    """Draw what speaks against a specification; where nothing does, an example of every case."""
    from roadworthy.report.bbsl import draw_findings, interval_axes
    from roadworthy.report.plots import save

    against = [one for one in result.problems if one.witness is not None]
    shown = against or [one for one in result.findings if one.witness is not None]
    if not shown:
        return None
    picture = make_folder(folder) / f"{path.stem}.png"
    save(draw_findings(shown, axes_of=interval_axes(spec)), picture)
    return picture


def _print(path: Path, result: CheckResult) -> None:
    from roadworthy.bbsl.checking import PROPERTIES, ProofStatus

    out = console()
    out.print(f"[bold]{path}[/bold]", soft_wrap=True)
    if result.vacuous:
        out.print("  the precondition can never hold, so the cases say nothing", soft_wrap=True)
        return
    for name in PROPERTIES:
        status = result.status(name)
        bounds = [one.up_to for one in result.of(name) if one.up_to is not None]
        bounded = status is ProofStatus.BOUNDED
        answer = f"none up to {min(bounds)} boxes in each set" if bounded else status.value
        out.print(f"  {name}: {answer}", soft_wrap=True)
    for finding in result.problems:
        out.print(f"  - {finding}", markup=False, soft_wrap=True)
        if finding.witness is not None:
            out.print(f"      {finding.witness}", markup=False, soft_wrap=True)
