"""``roadworthy bbsl``: specifications in BBSL, and detectors tested by them.

Options:
    classes (LIST): Which objects are tested, such as car,van,truck.
    size (WIDTHxHEIGHT): The size of the images, for labels without images.
    spec (SPEC): A file with a specification in BBSL.
    bind (FILE): A YAML file that binds external functions; see docs/bbsl.md.
    value (--set NAME=VALUE): An external function's value: near=275,375; repeatable.
    object_name (--object NAME): The external function that stands for the object under test.
    truth (--truth DATA): The ground truth: a data set, such as kitti:path.
    invalid (WHAT): What to do with detections whose corners are swapped: error or skip.
    matching (HOW): How detections are matched: best, greedy or optimal.
    outside (WHAT): What an undetected object is: fail, as in the paper, or apart.
    allow (SHARE): The share of test cases that may fail, such as 5%.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy._files import naming
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, tracked
from roadworthy.cli._road import RunOptions, answered, data_document
from roadworthy.cli.options import accepted, image_size, numbers, share, two_numbers, words
from roadworthy.errors import InputError, check_number, suggest
from roadworthy.models.load import model_name, short_name
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.bbsl.comparing import SuiteSpecification
    from roadworthy.bbsl.method import SpecificationMethod
    from roadworthy.datasets import ChosenFrames
    from roadworthy.frames import Frame
    from roadworthy.runs.suites import SuiteResult


app = typer.Typer(cls=Group, no_args_is_help=True)


@dataclass(frozen=True)
class LabelOptions:
    """Which objects of the ground truth are tested, and how it is read."""

    classes: str = "vehicle"
    option: list[str] | None = None
    clusters: str = ""
    size: str = ""

    def data(self, truth: str) -> dict[str, Any]:
        """Return the ground truth as a suite has it."""
        if self.size:
            image_size(self.size)
        return data_document(truth, self.option, labels=self.size or None, clusters=self.clusters or None)

    def opened(self, truth: str) -> ChosenFrames:
        """Open the ground truth; with a size, labels are read without images."""
        from roadworthy.runs.suites.forms import DataForm
        from roadworthy.runs.suites.opening import open_data

        return open_data(truth, DataForm(**self.data(truth)), Path()).frames


@dataclass(frozen=True)
class BoundOptions(LabelOptions):
    """What gives external functions their values as well."""

    bind: Path | None = None
    value: list[str] | None = None
    object_name: str = ""

    def entry(self, spec: Path) -> dict[str, Any]:
        """Return the specification with its values as a suite has it."""
        from roadworthy.bbsl.bindings import read_value

        values: dict[str, Any] = {}
        for name, text in parse_options(self.value or (), "--set near=275,375").items():
            with naming(f"--set {name}"):
                values[name] = read_value(str(text))
        return {
            "bbsl": str(spec),
            "bindings": None if self.bind is None else str(self.bind),
            "object": self.object_name or None,
            "values": values,
            "classes": words(self.classes),
        }

    def method(self, spec: Path) -> SpecificationMethod:
        """Return the specification with what it is tried with."""
        from roadworthy.runs.suites.kinds import KINDS, Context
        from roadworthy.runs.suites.kinds.bbsl import BbslForm

        (part,) = KINDS["bbsl"].parts(BbslForm(**self.entry(spec)), Context(Path()))
        method: SpecificationMethod = part.inside
        return method


@dataclass(frozen=True)
class JudgingOptions:
    """How detections are read, matched and judged."""

    invalid: Literal["error", "skip"] = "error"
    matching: str = "best"
    outside: str = "fail"
    allow: str = "0"
    decide: str = "bound"
    early: bool = False

    def entry(self) -> dict[str, Any]:
        """Return it as an entry of a suite says it."""
        accept = accepted(self.allow, self.decide, early=self.early)
        return {"matching": self.matching, "outside": self.outside, "accept": accept}

    def recorded(self, detections: Path | str, annotations: Path | None = None) -> dict[str, Any]:
        """Return recorded detections as a suite has them."""
        files = {} if annotations is None else {"annotations": str(annotations)}
        return {"model": f"recorded:{detections}", "options": {"on_invalid": self.invalid, **files}}


@command(app)
def check(
    spec: list[Path], boxes: int = 3, seconds: float = 10.0, image: str = "", draw: Path | None = None
) -> Answer:
    """Prove that specifications are exhaustive, exclusionary and non-redundant, or show where they are not.

    Exhaustive: every input is in a case. Exclusionary: none is in two. Non-redundant: every case can hold. A
    proof over sets of boxes is for any number of boxes, or says up to how many. The exit code is 1 if a
    specification has a fault or a question stays open, else 0.

    Options:
        spec (SPEC...): Files with specifications in BBSL.
        boxes (N): How many boxes to try in a set when no number is proven to be enough.
        seconds (S): Time limit for each question.
        image (WxH): The size of IMG; any size by default.
        draw (FOLDER): Draw the witnesses into this folder.

    Examples:
        roadworthy bbsl check stop.bbsl
        roadworthy bbsl check examples/bbsl/*.bbsl
        roadworthy bbsl check cut_in.bbsl --boxes 5 --seconds 60 --draw witnesses
    """
    from roadworthy.report.specifications import CheckedSpecifications

    size = image_size(image) if image else None
    checked = CheckedSpecifications.of(
        spec, boxes=boxes, seconds=seconds, image=size, progress=lambda paths: tracked(paths, "Checking")
    )
    pictures = {} if draw is None else checked.draw(make_folder(draw))
    shown = [*checked.lines(), *(f"Wrote {picture}" for picture in pictures.values())]
    return Answer(checked.document(pictures), shown, exit_code=PASSED if checked.ok else VIOLATED)


@command(app)
def cover(
    spec: Path,
    truth: str,
    given: BoundOptions,
    near: float = 5.0,
    grid: str = "12x5",
    boundary: int = 0,
    least: str = "0",
    out: Path | None = None,
) -> Answer:
    """Measure which cases, conditions, borders and positions in the image the ground truth tries.

    With --boundary, it shows the smallest move of a box that leads to another case: new ground truth to test
    with, and the detection error that would flip the verdict. The exit code is 1 if fewer conditions are
    covered than --least asks for.

    Options:
        near (PX): How close to a border counts as near it, in pixels.
        grid (CxR): Columns and rows of the grid over the image.
        boundary (N): Move the N objects nearest to each case's border onto it.
        least (SHARE): The share of conditions that must be covered.
        out (FOLDER): Draw the coverage into this folder.

    Examples:
        roadworthy bbsl cover stop.bbsl --truth kitti:training --set stoppingDistance=275,375
        roadworthy bbsl cover stop.bbsl --truth kitti:training --bind near.yaml --boundary 3 --out covered
    """
    from roadworthy.report.plots import save
    from roadworthy.report.specifications import SpecificationCoverage

    check_number("--boundary", boundary, least=0)
    wanted = share("--least", least)
    columns, rows = two_numbers(grid, "--grid is written COLUMNSxROWS, such as 12x5")
    found = SpecificationCoverage(
        given.method(spec),
        given.opened(truth),
        near=near,
        grid=(rows, columns),
        boundary=boundary,
        progress=lambda numbers: tracked(numbers, "Reading frames"),
    )
    picture = "" if out is None else str(make_folder(out) / "coverage.png")
    if picture:
        save(found.figure(), Path(picture))
    return Answer(
        {"specification": str(spec), **found.document(), "picture": picture},
        [*found.lines(), *([f"Wrote {picture}"] if picture else [])],
        exit_code=PASSED if found.coverage.condition_share >= wanted else VIOLATED,
    )


@command(app)
def draw(
    spec: Path, given: BoundOptions, out: Path = Path("specification.png"), truth: str = "", frame: str = ""
) -> Answer:
    """Draw an example of every case, y upward; or the objects of a frame with the cases that they lead to.

    Options:
        out (FILE): The picture, PNG or SVG.
        truth (DATA): Draw a frame of this data set instead.
        frame (ID): Which frame; the first if left out.

    Examples:
        roadworthy bbsl draw stop.bbsl --out stop.png
        roadworthy bbsl draw stop.bbsl --truth kitti:training --frame 000007 --set near=275,375
    """
    from roadworthy.bbsl import load
    from roadworthy.report.plots import save
    from roadworthy.report.specifications import draw_cases, draw_objects

    if truth:
        chosen = _frame(given.opened(truth), frame)
        figure, objects = draw_objects(given.method(spec), chosen, blank=bool(given.size))
        shown: dict[str, Any] = {"frame": chosen.id, "objects": objects}
    elif frame or given != BoundOptions(classes=given.classes):
        raise InputError(
            "--frame, --bind, --set, --object, -o and --size are about a frame: add --truth DATA"
        )
    else:
        figure, cases = draw_cases(load(spec))
        shown = {"cases": cases}
    make_folder(out.parent)
    save(figure, out)
    return Answer({"picture": str(out), **shown}, [f"Wrote {out}"])


def _frame(data: ChosenFrames, id: str) -> Frame:
    """Return the frame that the command line asks for; the first where it asks for none."""
    ids = list(data.ids)
    if id and id not in ids:
        raise InputError(f"{data.name} has no frame {id!r}: {suggest(id, ids[:1000])}")
    return data[ids.index(id) if id else 0]


@command(app)
def fmt(files: list[str], ascii: bool = False, check: bool = False, as_json: bool = False) -> Answer:
    """Rewrite specifications in their canonical form; comments are kept. Types are not checked.

    Options:
        files (SPEC): Specifications; - for standard input.
        ascii: Spell symbols in ASCII: ~ for ≈, in for ∈, …
        check: Change nothing; exit with 1 if a file would change.

    Examples:
        roadworthy bbsl fmt stop.bbsl
        roadworthy bbsl fmt --check examples/bbsl/*.bbsl
        roadworthy bbsl fmt --ascii - < stop.bbsl
    """
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


@command(app, name="test")
def try_detections(
    how: RunOptions,
    spec: Path,
    truth: str,
    given: BoundOptions,
    judging: JudgingOptions,
    detections: Path | None = None,
    model: str = "",
    annotations: Path | None = None,
    iou: str = "0.6,0.8",
) -> Answer:
    """Test detections by a specification: they must lead to the case that the ground truth leads to.

    Where an external function stands for an object, every object of the ground truth is a test case, judged
    by the detection matched to it, with IoU beside it. Where all functions are bound, every frame is a test
    case.

    Options:
        detections (PATH): Recorded detections: a folder of KITTI results, or a file of COCO results.
        model (MODEL): A detector to run instead.
        annotations (FILE): The COCO annotations that go with COCO results.
        iou (LIST): IoU thresholds to compare with, such as 0.6,0.8.

    Examples:
        roadworthy bbsl test stop.bbsl --truth kitti:training --detections results --bind near.yaml
        roadworthy bbsl test stop.bbsl --truth kitti:training --detections results --set \
            stoppingDistance=275,375 --classes car,van,truck --size 1242x375 --out tested
        roadworthy bbsl test stop.bbsl --truth world:town --model detector --set near=130,160
    """
    thresholds = numbers("--iou", iou)
    if any(not 0 < threshold <= 1 for threshold in thresholds):
        raise InputError(f"--iou must list thresholds above 0 and up to 1, such as 0.6,0.8, got {iou!r}")
    if (detections is None) == (not model):
        raise InputError("give either --detections PATH or --model MODEL")
    document = {
        "suite": "bbsl test",
        "models": {model_name(model): model}
        if detections is None
        else {detections.name: judging.recorded(detections, annotations)},
        "data": {short_name(truth): given.data(truth)},
        "requirements": {spec.stem: {**given.entry(spec), **judging.entry()}},
    }
    lines: list[str] = []

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.specifications import SpecificationReport

        ((id, system),) = result.outcomes
        report = SpecificationReport(result, id, system, thresholds)
        pictures = report.write_pictures()
        lines.extend([*report.lines(), *(f"Wrote {one}" for one in pictures)])
        return report.tables(), {**report.document(), "pictures": pictures}

    return answered(document, how, Path("bbsl-out"), made_of, lines=lines)


@command(app)
def suite(
    how: RunOptions,
    file: Path,
    labels: LabelOptions,
    judging: JudgingOptions,
    data: list[str] | None = None,
    system: list[str] | None = None,
) -> Answer:
    """Run tests as the paper's Table 2 lists them: specifications with values, on data, with systems.

    The file names data and systems; --data and --system say which they are. The result is an ordinary suite,
    kept in the folder as suite.yaml.

    Options:
        file (FILE): A YAML file of tests.
        data (NAME=DATA): What a name of data stands for; repeatable.
        system (NAME=PATH): Recorded detections that a name stands for; repeatable.

    Examples:
        roadworthy bbsl suite examples/bbsl/table2.yaml --data Td1=kitti:a --data Td2=kitti:b --system \
            SUT1=results-1 --system SUT2=results-2 --classes car,van,truck
    """
    from roadworthy.bbsl.comparing import load_suite

    tests = load_suite(file)
    frames = _named("--data", data, tests, "data")
    systems = _named("--system", system, tests, "system")
    shared = {"classes": words(labels.classes), **judging.entry()}
    document = {
        "suite": "bbsl suite",
        "models": {name: judging.recorded(path) for name, path in systems.items()},
        "data": {name: labels.data(truth) for name, truth in frames.items()},
        "requirements": {test.id: {**test.entry(), **shared} for test in tests},
    }

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.specifications import paper_suite

        return paper_suite(result, tests)

    return answered(document, how, Path("bbsl-out"), made_of)


def _named(
    option: str, given: Sequence[str] | None, tests: Sequence[SuiteSpecification], kind: str
) -> dict[str, str]:
    """Return what every name that the tests use stands for."""
    known = parse_options(given or (), f"{option} NAME=VALUE")
    used = dict.fromkeys(getattr(test, kind) for test in tests)
    if missing := [name for name in used if name not in known]:
        raise InputError(
            f"the suite uses {', '.join(missing)}: say what it is with {option} {missing[0]}=..."
        )
    return {name: str(known[name]) for name in used}
