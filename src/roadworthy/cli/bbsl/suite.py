"""``roadworthy bbsl suite``: several tests in one go, with the paper's Table 3 as their result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, tracked
from roadworthy.cli.bbsl._group import app
from roadworthy.cli.bbsl._inputs import (
    Classes,
    Invalid,
    Size,
    bound_subject,
    detector_form,
    detector_of,
    truth_form,
    truth_of,
)
from roadworthy.cli.bbsl._trial import Trial
from roadworthy.cli.bbsl.trying import Allow, Match, Outside
from roadworthy.cli.options import AsJson, Options, share
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.bbsl.testing import Comparison
    from roadworthy.bbsl.testing.suites import SuiteTest
    from roadworthy.cases import Outcome


File = Annotated[Path, typer.Argument(metavar="SUITE", help="A YAML file of tests.")]
Data = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME=DATA", help="What a name of data stands for; repeatable."),
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system", metavar="NAME=PATH", help="Recorded detections that a name stands for; repeatable."
    ),
]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where rows are written; must be new.")]


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy bbsl suite examples/bbsl/table2.yaml --data Td1=kitti:a --data Td2=kitti:b "
        "--system SUT1=results-1 --system SUT2=results-2 --classes car,van,truck",
    ),
)
def suite(
    file: File,
    data: Data = None,
    system: Systems = None,
    classes: Classes = "vehicle",
    option: Options = None,
    size: Size = "",
    invalid: Invalid = "error",
    matching: Match = "best",
    outside: Outside = "fail",
    allow: Allow = "0",
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Run the tests of a suite: specifications with values of their functions, on data, with systems.

    The exit code is 1 if a test fails more test cases than are allowed, 0 if none does.
    """
    from roadworthy.bbsl.testing import compare
    from roadworthy.bbsl.testing.suites import load_suite

    tests = load_suite(file)
    opened, recorded = _named("--data", data, tests, "data"), _named("--system", system, tests, "system")
    frames = {name: truth_of(one, option, size) for name, one in opened.items()}
    systems = {name: detector_of(Path(one), "", None, invalid) for name, one in recorded.items()}
    trials = {
        test.id: Trial(
            bound_subject(test.spec, dict(test.values), "", classes),
            frames[test.data],
            systems[test.system],
            share("--allow", allow),
            truth_form(opened[test.data], option, size),
            detector_form(Path(recorded[test.system]), "", None, invalid),
            matching=matching,
            outside=outside,
        )
        for test in tests
    }
    results: list[tuple[SuiteTest, Outcome, Comparison]] = []
    for test in tracked(tests, "Testing"):
        outcome, rows = trials[test.id].run(None if out is None else out / test.id)
        results.append((test, outcome, compare(rows, expectations=trials[test.id].subject.spec.labels)))
    if as_json:
        print_json([_document(*one) for one in results])
    else:
        _print(results)
    raise typer.Exit(int(any(outcome.status.value == "violated" for _, outcome, _ in results)))


def _named(option: str, given: Sequence[str] | None, tests: Sequence[SuiteTest], kind: str) -> dict[str, str]:
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


def _document(test: SuiteTest, outcome: Outcome, table: Comparison) -> dict[str, Any]:
    return {
        "id": test.id,
        "specification": test.spec.stem,
        "values": dict(test.values),
        "data": test.data,
        "system": test.system,
        "status": outcome.status.value,
        "table": table.as_dict(),
    }


def _print(results: Sequence[tuple[SuiteTest, Outcome, Comparison]]) -> None:
    thresholds = list(dict.fromkeys(one for _, _, table in results for one in table.iou))
    grid = plain_table("test", "data", "system", *(f"IoU {one:g}" for one in thresholds), "specification")
    for test, _, table in results:
        counts = [str(table.iou[one]) if one in table.iou else "" for one in thresholds]
        grid.add_row(test.id, test.data, test.system, *counts, str(table.specification))
    console().print(grid)
