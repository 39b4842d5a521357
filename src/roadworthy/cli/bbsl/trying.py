"""``roadworthy bbsl test`` and ``bbsl suite``: do detections lead to the case of the ground truth?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._road import RunOptions, answered, data_document
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
    Truth,
    detector_document,
    values_of,
)
from roadworthy.cli.options import Options, share
from roadworthy.errors import InputError
from roadworthy.models.load import short_name
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.bbsl.testing.tables import SuiteSpecification
    from roadworthy.runs.suites import SuiteResult

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


@command(
    app,
    "roadworthy bbsl test stop.bbsl --truth kitti:training --detections results --bind near.yaml",
    "roadworthy bbsl test stop.bbsl --truth kitti:training --detections results "
    "--set stoppingDistance=275,375 --classes car,van,truck --size 1242x375 --out tested",
    "roadworthy bbsl test stop.bbsl --truth world:town --model detector --set near=130,160",
    name="test",
)
def try_detections(
    how: RunOptions,
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
) -> Answer:
    """Test detections by a specification: they must lead to the case that the ground truth leads to.

    Where an external function stands for an object, every object of the ground truth is a test case, judged
    by the detection that is matched with it, and IoU is shown beside. Where all functions are bound, every
    frame is one.
    """
    thresholds = _thresholds(iou)
    models = detector_document(detections, model, annotations, invalid)
    entry = {
        "bbsl": str(spec),
        "bindings": None if bind is None else str(bind),
        "object": object_name or None,
        **_entry(values_of(value), classes, matching, outside, allow),
    }
    document = {
        "suite": "bbsl test",
        "models": models,
        "data": {short_name(truth): data_document(truth, option, labels=size or None)},
        "requirements": {spec.stem: entry},
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


def _entry(
    values: Mapping[str, Any], classes: str, matching: str, outside: str, allow: str
) -> dict[str, Any]:
    return {
        "values": dict(values),
        "classes": [word.strip() for word in classes.split(",") if word.strip()],
        "matching": matching,
        "outside": outside,
        "accept": share("--allow", allow) or None,
    }


def _thresholds(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [-1.0]
    if any(not 0 < one <= 1 for one in found):
        raise InputError(f"--iou must list thresholds above 0 and up to 1, such as 0.6,0.8, got {text!r}")
    return found


@command(
    app,
    "roadworthy bbsl suite examples/bbsl/table2.yaml --data Td1=kitti:a --data Td2=kitti:b "
    "--system SUT1=results-1 --system SUT2=results-2 --classes car,van,truck",
)
def suite(
    how: RunOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A YAML file of tests.")],
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="NAME=DATA", help="What a name of data stands for; repeatable."),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", metavar="NAME=PATH", help="Recorded detections that a name stands for; repeatable."
        ),
    ] = None,
    classes: Classes = "vehicle",
    option: Options = None,
    size: Size = "",
    invalid: Invalid = "error",
    matching: Match = "best",
    outside: Outside = "fail",
    allow: Allow = "0",
) -> Answer:
    """Run tests as the paper's Table 2 lists them: specifications with values, on data, with systems.

    The file names data and systems; --data and --system say which they are. What it comes to is an ordinary
    suite, which the folder keeps as suite.yaml.
    """
    from roadworthy.bbsl.testing.tables import load_suite

    tests = {one.id: one for one in load_suite(file)}
    frames = _named("--data", data, list(tests.values()), "data")
    systems = _named("--system", system, list(tests.values()), "system")
    models: dict[str, Any] = {}
    for name, path in systems.items():
        (models[name],) = detector_document(Path(path), "", None, invalid).values()
    document = {
        "suite": "bbsl suite",
        "models": models,
        "data": {name: data_document(one, option, labels=size or None) for name, one in frames.items()},
        "requirements": {
            test.id: {
                "bbsl": str(test.spec),
                "data": test.data,
                "models": [test.system],
                **_entry(test.values, classes, matching, outside, allow),
            }
            for test in tests.values()
        },
    }

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.bbsl.testing.tables import THRESHOLDS
        from roadworthy.report.specifications import SpecificationReport

        reports = [SpecificationReport(result, id, model, THRESHOLDS) for id, model in result.outcomes]
        listed = list(dict.fromkeys(one for report in reports for one in report.comparison.iou))
        rows = tuple(
            (
                report.trial.requirement.id,
                report.trial.data,
                report.system,
                *(str(report.comparison.iou.get(one, "")) for one in listed),
                str(report.comparison.specification),
            )
            for report in reports
        )
        columns = ("test", "data", "system", *(f"IoU {one:g}" for one in listed), "specification")
        documents = []
        for report in reports:
            test = tests[report.trial.requirement.id]
            documents.append(
                {
                    **report.document(),
                    "id": test.id,
                    "specification": test.spec.stem,
                    "values": dict(test.values),
                }
            )
        return [ResultTable("", columns, rows)], {"tests": documents}

    return answered(document, how, Path("bbsl-out"), made_of)


def _named(
    option: str, given: Sequence[str] | None, tests: Sequence[SuiteSpecification], kind: str
) -> dict[str, str]:
    """Return what every name that the tests use stands for."""
    known: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} is written NAME=VALUE, got {text!r}")
        known[name.strip()] = value.strip()
    used = dict.fromkeys(getattr(test, kind) for test in tests)
    missing = [name for name in used if name not in known]
    if missing:
        raise InputError(
            f"the suite uses {', '.join(missing)}: say what it is with {option} {missing[0]}=..."
        )
    return {name: known[name] for name in used}
