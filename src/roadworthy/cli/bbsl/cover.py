"""``roadworthy bbsl cover``: how much of a specification test data tries, and boxes on its borders."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, plain_table, print_json, tracked
from roadworthy.cli.bbsl._group import Bind, SpecFile, app
from roadworthy.cli.bbsl._inputs import (
    Classes,
    ObjectName,
    Set,
    Size,
    Subject,
    Truth,
    subject_of,
    truth_of,
    zones_of,
)
from roadworthy.cli.options import AsJson, Options, two_numbers
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.bbsl.coverage import BorderChange, SpecCoverage
    from roadworthy.cases import Dataset
    from roadworthy.frames import Boxes, Frame


Near = Annotated[float, typer.Option(metavar="PX", help="How many pixels from a border is near it.")]
Grid = Annotated[str, typer.Option(metavar="CxR", help="Columns and rows of the grid over the image.")]
Boundary = Annotated[
    int,
    typer.Option(
        "--boundary", metavar="N", help="Make boxes on the borders from the N nearest objects of each case."
    ),
]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the coverage into this folder.")]
Least = Annotated[
    str, typer.Option("--least", metavar="SHARE", help="The share of conditions that must be covered.")
]


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy bbsl cover stop.bbsl --truth kitti:training --set stoppingDistance=275,375",
        "roadworthy bbsl cover stop.bbsl --truth kitti:training --bind near.yaml --boundary 3 --out covered",
    ),
)
def cover(
    spec: SpecFile,
    truth: Truth,
    bind: Bind = None,
    value: Set = None,
    object_name: ObjectName = "",
    classes: Classes = "vehicle",
    option: Options = None,
    size: Size = "",
    near: Near = 5.0,
    grid: Grid = "12x5",
    boundary: Boundary = 0,
    least: Least = "0",
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Measure which cases, conditions, borders and positions in the image the ground truth tries.

    With --boundary, the nearest change of a box is shown that leads to another case: new ground truth to test
    with, and the error of a detector that would flip the verdict. The exit code is 1 if less of the
    conditions is covered than --least asks for.
    """
    from roadworthy.bbsl.coverage import SpecCoverage
    from roadworthy.cli.options import share

    if boundary < 0:
        raise InputError(f"--boundary must be 0 or more, got {boundary}")
    wanted = share("--least", least)
    subject = subject_of(spec, bind, value, object_name, classes)
    if boundary and subject.role is None:
        raise InputError(
            "--boundary moves the box of the object under test, but every function is bound: leave one of "
            "type bb unbound, or name it with --object"
        )
    columns, rows = two_numbers(grid, "--grid is written COLUMNSxROWS, such as 12x5")
    coverage = SpecCoverage(subject.spec, near=near, grid=(rows, columns))
    data = truth_of(truth, option, size)
    nearest = _Nearest(subject, boundary)
    for index in tracked(range(len(data)), "Reading frames"):
        _take(coverage, nearest, subject, data[index])
    changes = [(one, change) for one in nearest.chosen for change in nearest.changes(one)]
    picture = None if out is None else _draw(coverage, subject, data, out)
    if as_json:
        document: dict[str, Any] = {"specification": str(spec), "data": data.name, **coverage.as_dict()}
        document["boundary"] = [_boundary(one, change) for one, change in changes]
        document["picture"] = str(picture or "")
        print_json(document)
    else:
        _print(coverage, changes)
        if picture is not None:
            console().print(f"Wrote {picture}", soft_wrap=True)
    raise typer.Exit(int(coverage.condition_share < wanted))


@dataclass(frozen=True)
class _Chosen:
    """An object near a border."""

    frame: str
    number: int
    labels: tuple[str, ...]
    margin: float
    values: dict[str, Any]
    height: float
    width: float


class _Nearest:
    """Keeps, for every case, the objects that are nearest to a border."""

    def __init__(self, subject: Subject, count: int) -> None:
        from roadworthy.bbsl.method import moving_functions

        self._subject = subject
        self._count = count
        self._moving = moving_functions(subject.spec, subject.bindings, subject.role)
        self._heaps: dict[tuple[str, ...], list[tuple[float, int, _Chosen]]] = {}
        self._seen = 0

    def add(self, frame: Frame, number: int, values: dict[str, Any]) -> None:
        """Take an object into account."""
        from roadworthy.bbsl.testing import judge

        if not self._count:
            return
        found = judge(
            self._subject.spec,
            values,
            values,
            height=frame.height,
            width=frame.width,
            moving=self._moving,
        )
        if found.passed is None or not math.isfinite(found.margin):
            return
        self._seen += 1
        one = _Chosen(frame.id, number, found.expected, found.margin, values, frame.height, frame.width)
        heap = self._heaps.setdefault(found.expected, [])
        heapq.heappush(heap, (-found.margin, self._seen, one))
        if len(heap) > self._count:
            heapq.heappop(heap)

    @property
    def chosen(self) -> list[_Chosen]:
        """The objects, case by case, the nearest first."""
        return [one for heap in self._heaps.values() for _, _, one in sorted(heap, reverse=True)]

    def changes(self, one: _Chosen) -> list[BorderChange]:
        """Return the nearest boxes that lead to other cases."""
        from roadworthy.bbsl.coverage import nearest_changes

        role = self._subject.role
        assert role is not None
        return nearest_changes(
            self._subject.spec, one.values, role.function, height=one.height, width=one.width
        )


def _take(coverage: SpecCoverage, nearest: _Nearest, subject: Subject, frame: Frame) -> None:
    from roadworthy.bbsl import FrameView
    from roadworthy.bbsl.method import corners_of, moving_functions
    from roadworthy.bbsl.testing.judging import object_values

    if frame.boxes is None:
        raise InputError(f"frame {frame.id!r} has no boxes: measure coverage on data with ground truth")
    known = subject.bindings.values(FrameView.of(frame))
    role, high, wide = subject.role, frame.height, frame.width
    moving = moving_functions(subject.spec, subject.bindings, role)
    if role is None:
        coverage.add(known, moving=moving, height=high, width=wide)
        return
    objects: Boxes = frame.boxes.select(*role.classes)
    for number in range(len(objects)):
        box = corners_of(objects, number)
        values = {**known, **object_values(role, box)}
        place = ((box[0] + box[2]) / 2, box[3])
        coverage.add(values, moving=moving, height=high, width=wide, place=place)
        nearest.add(frame, number, values)


def _draw(coverage: SpecCoverage, subject: Subject, data: Dataset, out: Path) -> Path:
    from roadworthy.report.bbsl import draw_coverage
    from roadworthy.report.plots import save

    first = data[0]
    figure = draw_coverage(coverage, (first.width, first.height), zones=zones_of(subject, first.height))
    path = make_folder(out) / "coverage.png"
    save(figure, path)
    return path


def _boundary(one: _Chosen, change: BorderChange) -> dict[str, Any]:
    return {
        "frame": one.frame,
        "object": one.number,
        "before": list(change.before),
        "after": list(change.after),
        "box": list(change.box),
        "distance": change.distance,
    }


def _print(coverage: SpecCoverage, changes: Sequence[tuple[_Chosen, BorderChange]]) -> None:
    from roadworthy.bbsl.testing.judging import joined

    out = console()
    out.print(f"{coverage.inputs} inputs, {coverage.outside} out of scope", soft_wrap=True)
    for name, share in (
        ("cases", coverage.case_share),
        ("conditions, true and false", coverage.condition_share),
        (f"borders, within {coverage.near:g} px from both sides", coverage.border_share),
        ("positions in the image", coverage.position_share),
    ):
        out.print(f"  {share:4.0%}  {name}", soft_wrap=True)
    out.print()
    table = plain_table("case", "condition", "true", "false", "nearest true", "nearest false")
    for label, count in coverage.cases.items():
        table.add_row(label, "(the case itself)", str(count), "", "", "")
    for one in coverage.atoms:
        sides = [
            f"{side:.2f} px" if math.isfinite(side) else "-" for side in (one.nearest_true, one.nearest_false)
        ]
        table.add_row(one.case or "precondition", one.text, str(one.true), str(one.false), *sides)
    out.print(table)
    if changes:
        out.print()
        grid = plain_table("frame", "object", "from", "to", "moves by", "box")
        for chosen, change in changes:
            box = ", ".join(f"{side:.2f}" for side in change.box)
            names = map(joined, (change.before, change.after))
            grid.add_row(chosen.frame, str(chosen.number), *names, f"{change.distance:.2f} px", box)
        out.print(grid)
