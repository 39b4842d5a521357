"""``roadworthy bbsl check``, ``cover``, ``draw`` and ``fmt``: specifications themselves."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import command, flag, opt
from roadworthy.cli._console import make_folder, tracked
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
from roadworthy.cli.options import Options, image_size, share, two_numbers
from roadworthy.errors import InputError, suggest
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.cases import Dataset
    from roadworthy.cli._answer import Shown


@dataclass(frozen=True)
class Given:
    """What gives external functions their values, and how the ground truth is read."""

    bind: Bind = None
    value: Set = None
    object_name: ObjectName = ""
    classes: Classes = "vehicle"
    option: Options = None
    size: Size = ""

    def subject(self, spec: Path) -> Subject:
        """Return the specification with its bindings."""
        return subject_of(spec, self.bind, self.value, self.object_name, self.classes)


@command(
    app,
    "roadworthy bbsl check stop.bbsl",
    "roadworthy bbsl check examples/bbsl/*.bbsl",
    "roadworthy bbsl check cut_in.bbsl --boxes 5 --seconds 60 --draw witnesses",
)
def check(
    spec: Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Files with specifications in BBSL.")],
    boxes: Annotated[int, opt("N", "Boxes of a set to try, where no number is known to suffice.")] = 3,
    seconds: Annotated[float, opt("S", "The most time for one question.")] = 10.0,
    image: Annotated[str, opt("WxH", "The size of IMG; any if left out.")] = "",
    draw: Annotated[Path | None, opt("FOLDER", "Draw the witnesses into this folder.")] = None,
) -> Answer:
    """Prove that specifications are exhaustive, exclusionary and non-redundant, or show where they are not.

    Exhaustive: every input is in a case. Exclusionary: none is in two. Non-redundant: every case can hold. A
    proof over sets of boxes is for any number of boxes, or says up to how many. The exit code is 1 if
    something was found against a specification or a question was left open, 0 if not.
    """
    from roadworthy.bbsl import load
    from roadworthy.report.bbsl import draw_check
    from roadworthy.report.plots import save

    specs = {path: load(path) for path in spec}
    size = image_size(image) if image else None
    results = {
        path: specs[path].check(boxes=boxes, seconds=seconds, image=size)
        for path in tracked(list(specs), "Checking")
    }
    pictures: dict[Path, Path] = {}
    for path, result in results.items():
        if draw is not None and (figure := draw_check(specs[path], result)) is not None:
            pictures[path] = make_folder(draw) / f"{path.stem}.png"
            save(figure, pictures[path])
    document = [
        {"file": str(path), **one.as_dict(), "picture": str(pictures.get(path, ""))}
        for path, one in results.items()
    ]
    shown = [
        line for path, one in results.items() for line in (str(path), *(f"  {text}" for text in one.lines()))
    ]
    shown += [f"Wrote {picture}" for picture in pictures.values()]
    passed = all(one.ok for one in results.values())
    return Answer(document, shown, exit_code=PASSED if passed else VIOLATED)


@command(
    app,
    "roadworthy bbsl cover stop.bbsl --truth kitti:training --set stoppingDistance=275,375",
    "roadworthy bbsl cover stop.bbsl --truth kitti:training --bind near.yaml --boundary 3 --out covered",
)
def cover(
    spec: SpecFile,
    truth: Truth,
    given: Given,
    near: Annotated[float, opt("PX", "How many pixels from a border is near it.")] = 5.0,
    grid: Annotated[str, opt("CxR", "Columns and rows of the grid over the image.")] = "12x5",
    boundary: Annotated[int, opt("N", "Make boxes on the borders from each case's N nearest objects.")] = 0,
    least: Annotated[str, opt("SHARE", "The share of conditions that must be covered.")] = "0",
    out: Annotated[Path | None, opt("FOLDER", "Draw the coverage into this folder.")] = None,
) -> Answer:
    """Measure which cases, conditions, borders and positions in the image the ground truth tries.

    With --boundary, the nearest change of a box is shown that leads to another case: new ground truth to test
    with, and the error of a detector that would flip the verdict. The exit code is 1 if less of the
    conditions is covered than --least asks for.
    """
    from roadworthy.bbsl.coverage import BorderObjects, SpecCoverage
    from roadworthy.bbsl.method import inputs_of, moving_functions
    from roadworthy.report.bbsl import draw_coverage
    from roadworthy.report.plots import save

    if boundary < 0:
        raise InputError(f"--boundary must be 0 or more, got {boundary}")
    wanted = share("--least", least)
    subject = given.subject(spec)
    role = subject.role
    if boundary and role is None:
        raise InputError(
            "--boundary moves the box of the object under test, but every function is bound: leave one of "
            "type bb unbound, or name it with --object"
        )
    columns, rows = two_numbers(grid, "--grid is written COLUMNSxROWS, such as 12x5")
    coverage = SpecCoverage(subject.spec, near=near, grid=(rows, columns))
    data = truth_of(truth, given.option, given.size)
    moving = moving_functions(subject.spec, subject.bindings, role)
    nearest = BorderObjects(subject.spec, role.function, moving, boundary) if role and boundary else None
    for index in tracked(range(len(data)), "Reading frames"):
        frame = data[index]
        for number, (box, values) in enumerate(inputs_of(frame, subject.bindings, role)):
            place = None if box is None else ((box[0] + box[2]) / 2, box[3])
            coverage.add(values, moving=moving, height=frame.height, width=frame.width, place=place)
            if nearest is not None:
                nearest.add(frame, number, values)
    document = {"specification": str(spec), "data": data.name, **coverage.as_dict()}
    document["boundary"] = [] if nearest is None else nearest.changes()
    document["picture"] = ""
    if out is not None:
        frame, picture = data[0], make_folder(out) / "coverage.png"
        zones = zones_of(subject, frame.height)
        save(draw_coverage(coverage, (frame.width, frame.height), zones=zones), picture)
        document["picture"] = str(picture)
    enough = coverage.condition_share >= wanted
    return Answer(document, _covered(document), exit_code=PASSED if enough else VIOLATED)


def _covered(document: dict[str, Any]) -> list[Shown]:
    """Return what people read about the coverage of a specification."""
    from roadworthy.bbsl.testing.judging import joined

    def pixels(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f} px"

    shares = {
        "cases": "cases",
        "conditions": "conditions, true and false",
        "borders": f"borders, within {document['borders']['near']:g} px from both sides",
        "positions": "positions in the image",
    }
    cases = [
        (name, "(the case itself)", str(count), "", "", "")
        for name, count in document["cases"]["counts"].items()
    ]
    atoms = [
        (
            one["case"] or "precondition",
            one["text"],
            *(str(one[side]) for side in ("true", "false")),
            *(pixels(one[f"nearest_{side}"]) for side in ("true", "false")),
        )
        for one in document["conditions"]["atoms"]
    ]
    shown: list[Shown] = [
        f"{document['inputs']} inputs, {document['outside']} out of scope",
        {text: f"{document[name]['share']:.0%}" for name, text in shares.items()},
        ResultTable(
            "", ("case", "condition", "true", "false", "nearest true", "nearest false"), (*cases, *atoms)
        ),
    ]
    if changes := document["boundary"]:
        rows = tuple(
            (
                one["frame"],
                str(one["object"]),
                *(joined(tuple(one[end])) for end in ("before", "after")),
                pixels(one["distance"]),
                ", ".join(f"{side:.2f}" for side in one["box"]),
            )
            for one in changes
        )
        shown.append(ResultTable("", ("frame", "object", "from", "to", "moves by", "box"), rows))
    return [*shown, *([f"Wrote {document['picture']}"] if document["picture"] else [])]


@command(
    app,
    "roadworthy bbsl draw stop.bbsl --out stop.png",
    "roadworthy bbsl draw stop.bbsl --truth kitti:training --frame 000007 --set near=275,375",
)
def draw(
    spec: SpecFile,
    given: Given,
    out: Annotated[Path, opt("FILE", "The picture, PNG or SVG.")] = Path("specification.png"),
    truth: Annotated[str, opt("DATA", "Draw a frame of this data set instead.")] = "",
    frame: Annotated[str, opt("ID", "Which frame; the first if left out.")] = "",
) -> Answer:
    """Draw an example of every case, y upward; or the objects of a frame with the cases that they lead to."""
    from roadworthy.report.plots import save

    if truth:
        data = truth_of(truth, given.option, given.size)
        figure, shown = _frame_figure(given.subject(spec), data, frame)
    elif frame or given != Given(classes=given.classes):
        raise InputError(
            "--frame, --bind, --set, --object, -o and --size are about a frame: add --truth DATA"
        )
    else:
        figure, shown = _case_figure(spec)
    make_folder(out.parent)
    save(figure, out)
    return Answer({"picture": str(out), **shown}, [f"Wrote {out}"])


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


def _frame_figure(subject: Subject, data: Dataset, id: str) -> tuple[Figure, dict[str, object]]:
    """Return the picture of a frame, and what is in it."""
    from roadworthy.bbsl.method import inputs_of
    from roadworthy.bbsl.testing import LabelledFrames
    from roadworthy.bbsl.testing.judging import joined, labels_of
    from roadworthy.report.bbsl import draw_labelled

    ids = list(getattr(data, "ids", ()))
    if id and id not in ids:
        raise InputError(f"{data.name} has no frame {id!r}: {suggest(id, ids[:1000])}")
    frame = data[ids.index(id) if id else 0]
    wide, high = frame.width, frame.height
    found = [
        (box, joined(labels_of(subject.spec.evaluate(values, height=high, width=wide))))
        for box, values in inputs_of(frame, subject.bindings, subject.role)
    ]
    figure = draw_labelled(
        None if isinstance(data, LabelledFrames) else frame.image,
        (wide, high),
        [(box, case) for box, case in found if box is not None],
        labels=subject.spec.labels,
        zones=zones_of(subject, high),
        title=f"{frame.id}: {found[0][1]}" if subject.role is None else frame.id,
    )
    objects = [{"box": list(box), "case": case} if box else {"case": case} for box, case in found]
    return figure, {"frame": frame.id, "objects": objects}


@command(
    app,
    "roadworthy bbsl fmt stop.bbsl",
    "roadworthy bbsl fmt --check examples/bbsl/*.bbsl",
    "roadworthy bbsl fmt --ascii - < stop.bbsl",
)
def fmt(
    files: Annotated[list[str], typer.Argument(metavar="SPEC", help="Specifications; - for standard input.")],
    ascii: Annotated[bool, flag("--ascii", "Spell symbols in ASCII: ~ for ≈, in for ∈, …")] = False,
    check: Annotated[bool, flag("--check", "Change nothing; exit with 1 if a file would change.")] = False,
    as_json: bool = False,
) -> Answer:
    """Rewrite specifications in their canonical form; comments are kept. Types are not looked at."""
    from roadworthy.bbsl import load, parse

    if "-" in files:
        if len(files) > 1 or as_json:
            raise InputError("- reads one specification and writes it to standard output: give nothing else")
        text = sys.stdin.read()
        wanted = parse(text, path="<stdin>").format(ascii=ascii)
        if not check:
            typer.echo(wanted, nl=False)
        return Answer(None, exit_code=VIOLATED if check and wanted != text else PASSED)
    # All are read before one is written, so that a mistake in the last leaves the first as it is.
    specs = {name: load(name) for name in files}
    texts = {name: spec.format(ascii=ascii) for name, spec in specs.items()}
    changed = [name for name, spec in specs.items() if texts[name] != spec.source]
    for name in [] if check else changed:
        _write(Path(name), texts[name])
    shown = [f"{name} {'is not in canonical form' if check else 'is rewritten'}" for name in changed]
    if left := len(specs) - len(changed):
        shown.append(f"{left} {'file' if left == 1 else 'files'} in canonical form already")
    document = [{"file": name, "changed": name in changed} for name in files]
    return Answer(document, shown, exit_code=VIOLATED if check and changed else PASSED)


def _write(path: Path, text: str) -> None:
    """Replace the text of a file, or of what a link points at, in one step; its permissions stay."""
    target = path.resolve()
    beside = target.with_name(f"{target.name}.unfinished")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}") from error
