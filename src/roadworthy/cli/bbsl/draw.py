"""``roadworthy bbsl draw``: what the cases of a specification look like, or what a frame leads to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, print_json
from roadworthy.cli.bbsl._group import Bind, SpecFile, app
from roadworthy.cli.bbsl._inputs import (
    Classes,
    ObjectName,
    Set,
    Size,
    Subject,
    subject_of,
    truth_of,
    zones_of,
)
from roadworthy.cli.options import AsJson, Options
from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.frames import Frame


Out = Annotated[Path, typer.Option(metavar="FILE", help="The picture, PNG or SVG.")]
Truth = Annotated[str, typer.Option("--truth", metavar="DATA", help="Draw a frame of this data set instead.")]
FrameId = Annotated[str, typer.Option("--frame", metavar="ID", help="Which frame; the first if left out.")]


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy bbsl draw stop.bbsl --out stop.png",
        "roadworthy bbsl draw stop.bbsl --truth kitti:training --frame 000007 --set near=275,375",
    ),
)
def draw(
    spec: SpecFile,
    out: Out = Path("specification.png"),
    truth: Truth = "",
    frame: FrameId = "",
    bind: Bind = None,
    value: Set = None,
    object_name: ObjectName = "",
    classes: Classes = "vehicle",
    option: Options = None,
    size: Size = "",
    as_json: AsJson = False,
) -> None:
    """Draw an example of every case, y upward; or the objects of a frame with the cases that they lead to."""
    from roadworthy.report.plots import save

    if truth:
        subject = subject_of(spec, bind, value, object_name, classes)
        figure, shown = _frame_figure(subject, truth, option, size, frame)
    else:
        if frame or bind or value or object_name or option or size:
            raise InputError(
                "--frame, --bind, --set, --object, -o and --size are about a frame: add --truth DATA"
            )
        figure, shown = _case_figure(spec)
    make_folder(out.parent)
    save(figure, out)
    if as_json:
        print_json({"picture": str(out), **shown})
    else:
        console().print(f"Wrote {out}", soft_wrap=True)


def _case_figure(path: Path) -> tuple[Figure, dict[str, object]]:
    """Return the picture of all cases, and what is in it."""
    from roadworthy.bbsl import load
    from roadworthy.report.bbsl import draw_findings, interval_axes

    spec = load(path)
    cases = spec.check().of("non-redundant")
    if not any(one.witness for one in cases):
        raise InputError(f"{path}: no case was found to hold for any input: see `roadworthy bbsl check`")
    shown = [label for one in cases if one.witness for label in one.labels]
    return draw_findings(cases, axes_of=interval_axes(spec)), {"cases": shown}


def _frame_figure(
    subject: Subject, truth: str, option: list[str] | None, size: str, id: str
) -> tuple[Figure, dict[str, object]]:
    """Return the picture of a frame, and what is in it."""
    from roadworthy.bbsl.testing import LabelledFrames
    from roadworthy.report.bbsl import draw_labelled

    data = truth_of(truth, option, size)
    ids = list(getattr(data, "ids", ()))
    if id and id not in ids:
        raise InputError(f"{data.name} has no frame {id!r}: {suggest(id, ids[:1000])}")
    frame = data[ids.index(id) if id else 0]
    found = _objects(subject, frame)
    title = f"{frame.id}: {found[0][1]}" if subject.role is None and found else frame.id
    figure = draw_labelled(
        None if isinstance(data, LabelledFrames) else frame.image,
        (frame.width, frame.height),
        found if subject.role is not None else [],
        labels=subject.spec.labels,
        zones=zones_of(subject, frame.height),
        title=title,
    )
    objects = [{"box": box, "case": case} if box else {"case": case} for box, case in found]
    return figure, {"frame": frame.id, "objects": objects}


def _objects(subject: Subject, frame: Frame) -> list[tuple[list[float], str]]:
    """Return the objects of a frame with the cases that they lead to; for whole frames the one case."""
    from roadworthy.bbsl import FrameView
    from roadworthy.bbsl.testing.judging import joined, labels_of, object_values

    if frame.boxes is None:
        raise InputError(f"frame {frame.id!r} has no boxes: draw one of data with ground truth")
    known = subject.bindings.values(FrameView.of(frame))
    role = subject.role

    def name_of(values: Mapping[str, Any]) -> str:
        return joined(labels_of(subject.spec.evaluate(values, height=frame.height, width=frame.width)))

    if role is None:
        return [([], name_of(known))]
    boxes = frame.boxes.select(*role.classes).xyxy.tolist()
    return [(box, name_of({**known, **object_values(role, box)})) for box in boxes]
