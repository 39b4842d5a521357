"""``roadworthy data check``: reading everything and saying what is wrong with it.

A frame that cannot be read is an input error, so the exit code is 2; 1 stays for requirements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, tracked
from roadworthy.cli.data._group import Options, Reference, app, listed, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame

__all__ = ["check"]

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
    found = _read(dataset)
    if as_json:
        print_json(_document(dataset, found))
    else:
        _print_findings(dataset, found)
    if found.bad:
        raise typer.Exit(BAD_FILES)


@dataclass
class _Range:
    """The values of a signal."""

    count: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    total: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.total += value


@dataclass
class _Findings:
    """What was found in the frames; memory does not grow with their number."""

    read: int = 0
    bad: dict[str, str] = field(default_factory=dict)
    sizes: Counter[str] = field(default_factory=Counter)
    has: Counter[str] = field(default_factory=Counter)
    boxes: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    pixels: Counter[str] = field(default_factory=Counter)
    signals: dict[str, _Range] = field(default_factory=dict)
    conditions: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, frame: Frame) -> None:
        from roadworthy.ontology import ontology

        self.read += 1
        self.sizes[f"{frame.width}x{frame.height}"] += 1
        for name in ("boxes", "labels", "instances", "depth"):
            self.has[name] += getattr(frame, name) is not None
        if frame.boxes is not None:
            self.boxes.update(map(ontology().word_for, frame.boxes.classes, frame.boxes.attributes))
        if frame.labels is not None:
            self.pixels.update(frame.labels.present())
        for name, value in frame.signals.as_dict().items():
            self.signals.setdefault(name, _Range()).add(value)
        for name, fact in frame.metadata.items():
            if isinstance(fact, str):
                self.conditions.setdefault(name, Counter())[fact] += 1
        clipped = frame.metadata.get("clipped_boxes")
        self.clipped += clipped if isinstance(clipped, int) else 0


def _read(dataset: Dataset) -> _Findings:
    found = _Findings()
    ids: Sequence[str] = getattr(dataset, "ids", ())
    for index in tracked(range(len(dataset)), "Reading frames"):
        try:
            found.add(dataset[index])
        except InputError as error:
            found.bad[ids[index] if index < len(ids) else str(index)] = str(error)
    return found


def _document(dataset: Dataset, found: _Findings) -> dict[str, object]:
    total = found.pixels.total()
    return {
        "dataset": dataset.name,
        "frames": len(dataset),
        "read": found.read,
        "bad": [{"id": id, "reason": reason} for id, reason in found.bad.items()],
        "sizes": dict(found.sizes.most_common()),
        "frames_with": {name: number for name, number in found.has.items() if number},
        "conditions": {name: dict(values.most_common()) for name, values in found.conditions.items()},
        "boxes": dict(found.boxes.most_common()),
        "clipped_boxes": found.clipped,
        "labels": {name: round(number / total, 6) for name, number in found.pixels.most_common()},
        "signals": {
            name: {"frames": one.count, "min": one.low, "mean": one.total / one.count, "max": one.high}
            for name, one in found.signals.items()
        },
    }


def _print_findings(dataset: Dataset, found: _Findings) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    state = (
        ("all can be read", "green") if not found.bad else (f"{len(found.bad)} cannot be read", "bold red")
    )
    out.print(Text.assemble((dataset.name, "bold"), f", {len(dataset)} frames, ", state), soft_wrap=True)
    table = plain_table("", "")

    def row(title: str, values: dict[str, str]) -> None:
        if values:
            table.add_row(Text(title, style="dim"), listed(values))

    row("sizes", _numbers(found.sizes))
    # What few frames have stands out from what all or none have.
    row("frames with", {name: str(number) for name, number in found.has.items() if number})
    for name, counted in found.conditions.items():
        row(name, _numbers(counted))
    row("boxes", _numbers(found.boxes))
    row("clipped", {"boxes": str(found.clipped)} if found.clipped else {})
    total = found.pixels.total()
    row("pixels", {name: f"{number / total:.1%}" for name, number in found.pixels.most_common()})
    row("signals", {name: _range(one, found.read) for name, one in found.signals.items()})
    if table.row_count:
        out.print(Padding(table, (0, 0, 0, 2)))
    _print_bad(out, found)


def _print_bad(out: Console, found: _Findings) -> None:
    from rich.text import Text

    for id, reason in list(found.bad.items())[:_MOST_SHOWN]:
        out.print(Text.assemble((id, "red"), f": {reason}"), soft_wrap=True)
    if len(found.bad) > _MOST_SHOWN:
        out.print(f"and {len(found.bad) - _MOST_SHOWN} more; --json lists all")


def _numbers(counted: Counter[str], most: int = 12) -> dict[str, str]:
    shown = {name: str(number) for name, number in counted.most_common(most)}
    if len(counted) > most:
        shown["and"] = f"{len(counted) - most} more"
    return shown


def _range(one: _Range, frames: int) -> str:
    values = f"{one.low:.3g}" if one.low == one.high else f"{one.low:.3g} to {one.high:.3g}"
    return values if one.count == frames else f"{values} in {one.count} frames"
