"""``roadworthy data check``: reading everything and saying what is wrong with it.

A frame that cannot be read is an input error, so the exit code is 2; 1 stays for requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_rows, tracked
from roadworthy.cli._datasets import Options, counted, opened
from roadworthy.cli.data._findings import Findings
from roadworthy.cli.data._group import Reference, app
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset


BAD_FILES = 2
_MOST_SHOWN = 20  # bad frames in the text for people; JSON has all


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy data check kitti:path/to/training",
        "roadworthy data check coco:annotations/instances_val.json -o on_unknown=skip",
        "roadworthy data check yolo:data.yaml -o outside=clip --json",
        "roadworthy data check world:town -o count=20",
    ),
)
def check(
    reference: Reference,
    option: Options = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Read every frame of a data set, and report bad files, classes, signals and sizes.

    Ends with 0 when every frame can be read and with 2 when one cannot.
    """
    dataset = opened(reference, option)
    if not len(dataset):
        raise InputError(f"{dataset.name} has no frames to check")
    found, bad = _read(dataset)
    if as_json:
        print_json(_document(dataset, found, bad))
    else:
        _print_findings(dataset, found, bad)
    if bad:
        raise typer.Exit(BAD_FILES)


def _read(dataset: Dataset) -> tuple[Findings, dict[str, str]]:
    """Return what there is in the frames, and why some of them cannot be read, by their ids."""
    found, bad = Findings(), {}
    ids: Sequence[str] = getattr(dataset, "ids", ())
    for index in tracked(range(len(dataset)), "Reading frames"):
        try:
            found.add(dataset[index])
        except InputError as error:
            bad[ids[index] if index < len(ids) else str(index)] = str(error)
    return found, bad


def _document(dataset: Dataset, found: Findings, bad: Mapping[str, str]) -> dict[str, object]:
    return {
        "dataset": dataset.name,
        "frames": len(dataset),
        "read": found.read,
        "bad": [{"id": id, "reason": reason} for id, reason in bad.items()],
        **found.document(),
    }


def _print_findings(dataset: Dataset, found: Findings, bad: Mapping[str, str]) -> None:
    from rich.text import Text

    out = console()
    state = ("all can be read", "green") if not bad else (f"{len(bad)} cannot be read", "bold red")
    number = counted(len(dataset), len(dataset))
    out.print(Text.assemble((dataset.name, "bold"), f", {number}, ", state), soft_wrap=True)
    print_rows(found.rows())
    for id, reason in list(bad.items())[:_MOST_SHOWN]:
        out.print(Text.assemble((id, "red"), f": {reason}"), soft_wrap=True)
    if len(bad) > _MOST_SHOWN:
        out.print(f"and {len(bad) - _MOST_SHOWN} more; --json lists all")
