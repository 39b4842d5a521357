"""``roadworthy bbsl test``: do detections lead to the case that the ground truth leads to?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, plain_table, print_json
from roadworthy.cli.bbsl._group import Bind, SpecFile, app
from roadworthy.cli.bbsl._inputs import (
    Annotations,
    Classes,
    Detections,
    Invalid,
    Model,
    ObjectName,
    Set,
    Size,
    Subject,
    Truth,
    detector_form,
    detector_of,
    subject_of,
    truth_form,
    truth_of,
    zones_of,
)
from roadworthy.cli.bbsl._trial import Trial
from roadworthy.cli.options import AsJson, Options, share
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.bbsl.testing import Comparison, TestRow
    from roadworthy.cases import Dataset, Outcome


Match = Annotated[
    str,
    typer.Option("--matching", metavar="HOW", help="How detections are matched: best, greedy or optimal."),
]
Outside = Annotated[
    str,
    typer.Option(
        "--outside", metavar="WHAT", help="An object that is not detected: fail, as in the paper, or apart."
    ),
]
Thresholds = Annotated[
    str, typer.Option("--iou", metavar="LIST", help="IoU thresholds to compare with, such as 0.6,0.8.")
]
Allow = Annotated[
    str, typer.Option(metavar="SHARE", help="The share of test cases that may fail, such as 5%.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where rows and pictures are written; must be new."),
]


@app.command(
    "test",
    cls=Command,
    epilog=examples(
        "roadworthy bbsl test stop.bbsl --truth kitti:training --detections results --bind near.yaml",
        "roadworthy bbsl test stop.bbsl --truth kitti:training --detections results "
        "--set stoppingDistance=275,375 --classes car,van,truck --size 1242x375 --out tested",
        "roadworthy bbsl test stop.bbsl --truth world:town --model detector --set near=130,160",
    ),
)
def try_detections(
    spec: SpecFile,
    truth: Truth,
    detections: Detections = None,
    model: Model = "",
    bind: Bind = None,
    value: Set = None,
    object_name: ObjectName = "",
    classes: Classes = "vehicle",
    option: Options = None,
    size: Size = "",
    annotations: Annotations = None,
    invalid: Invalid = "error",
    matching: Match = "best",
    outside: Outside = "fail",
    iou: Thresholds = "0.6,0.8",
    allow: Allow = "0",
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Test detections by a specification: they must lead to the case that the ground truth leads to.

    Where an external function stands for an object, every object of the ground truth is a test case, judged
    by the detection that is matched with it, and IoU is shown beside. Where all functions are bound, every
    frame is one. The exit code is 1 if more test cases fail than are allowed, 0 if not.
    """
    thresholds = _thresholds(iou)
    subject = subject_of(spec, bind, value, object_name, classes)
    data, system = truth_of(truth, option, size), detector_of(detections, model, annotations, invalid)
    trial = Trial(
        subject,
        data,
        system,
        share("--allow", allow),
        truth_form(truth, option, size),
        detector_form(detections, model, annotations, invalid),
        matching=matching,
        outside=outside,
    )
    outcome, rows = trial.run(out)
    table = _compared(rows, thresholds, subject)
    pictures = _draw(table, subject, data, out) if out is not None else []
    if as_json:
        print_json(_document(trial, outcome, table, rows, pictures))
    else:
        _print(trial, outcome, table, rows)
        for picture in pictures:
            console().print(f"Wrote {picture}", soft_wrap=True)
    raise typer.Exit(int(outcome.status.value == "violated"))


def _thresholds(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [-1.0]
    if any(not 0 < one <= 1 for one in found):
        raise InputError(f"--iou must list thresholds above 0 and up to 1, such as 0.6,0.8, got {text!r}")
    return found


def _compared(rows: Sequence[TestRow], thresholds: Sequence[float], subject: Subject) -> Comparison:
    from roadworthy.bbsl.testing import compare

    return compare(rows, thresholds=thresholds, expectations=subject.spec.labels)


def _draw(table: Comparison, subject: Subject, data: Dataset, out: Path) -> list[Path]:
    """Draw an example for every cell, a picture for each threshold."""
    from roadworthy.bbsl.testing import LabelledFrames
    from roadworthy.report.bbsl import draw_cells
    from roadworthy.report.plots import save

    pictures = []
    first = data[0]
    numbers = {id: index for index, id in enumerate(getattr(data, "ids", ()))}
    blank = isinstance(data, LabelledFrames)
    for threshold, cells in table.cells.items():
        if not any(len(cell) for cell in cells):
            continue
        figure = draw_cells(
            cells,
            lambda id: None if blank or id not in numbers else data[numbers[id]].image,
            (first.width, first.height),
            zones=zones_of(subject, first.height),
            title=f"An example of every cell, IoU at {threshold:g}",
        )
        path = make_folder(out / "pictures") / f"cells-iou-{threshold:g}.png"
        save(figure, path)
        pictures.append(path)
    return pictures


def _document(
    trial: Trial, outcome: Outcome, table: Comparison, rows: Sequence[TestRow], pictures: Sequence[Path]
) -> dict[str, Any]:
    return {
        "specification": trial.name,
        "data": trial.data.name,
        "system": trial.system.name,
        "status": outcome.status.value,
        "summary": outcome.summary,
        "counts": {status.value: count for status, count in outcome.counts.items()},
        "table": table.as_dict(),
        "margins": _margins(rows),
        "pictures": [str(path) for path in pictures],
    }


def _print(trial: Trial, outcome: Outcome, table: Comparison, rows_of: Sequence[TestRow]) -> None:
    out = console()
    out.print(f"{trial.name} on {trial.data.name} by {trial.system.name}", markup=False, soft_wrap=True)
    rows = plain_table("test", "T/(T+F)")
    for threshold, count in table.iou.items():
        rows.add_row(f"IoU {threshold:g}", str(count))
    rows.add_row("specification", str(table.specification))
    out.print(rows)
    for threshold, cells in table.cells.items():
        out.print()
        head = [f"IoU {iou}, spec {judged}" for judged in "TF" for iou in "TF"]
        grid = plain_table(f"IoU at {threshold:g}", *head)
        for name in dict.fromkeys(cell.expectation for cell in cells):
            counts = [str(len(cell)) for cell in cells if cell.expectation == name]
            grid.add_row(name, *counts)
        out.print(grid)
    out.print()
    margins = _margins(rows_of)
    if margins:
        shown = ", ".join(f"{margin:.1f} px for {share}" for share, margin in margins.items())
        out.print(f"Edges may be off by so much before a passed test case can flip: {shown}", soft_wrap=True)
    for reason, number in table.apart.items():
        out.print(f"{number} apart: {reason}", markup=False, soft_wrap=True)
    broken = {status.value: count for status, count in outcome.counts.items()}.get("error", 0)
    if broken:
        out.print(
            f"{broken} test cases are errors, in no table above but failed below: their detections cannot be "
            "used; --invalid skip leaves such detections out",
            soft_wrap=True,
        )
    out.print(f"{outcome.status.value}: {outcome.summary}", markup=False, soft_wrap=True)


def _margins(rows: Sequence[TestRow]) -> dict[str, float]:
    """Return how exact a detector must be: the margins of passed test cases, at some shares of them."""
    passed = sorted(row.margin for row in rows if row.passed and row.margin < float("inf"))
    if not passed:
        return {}
    return {f"{share}%": passed[share * (len(passed) - 1) // 100] for share in (1, 10, 50)}
