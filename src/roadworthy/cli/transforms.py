"""``roadworthy transforms``: looking at changes to images, and making them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from roadworthy._files import plain_name
from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    parse_options,
    plain_table,
    print_json,
    tracked,
)
from roadworthy.cli._datasets import AsJson, Data, FewFrames, Options, Sample, counted, opened, spread_frames
from roadworthy.cli._out import Out
from roadworthy.errors import InputError, NotApplicable

if TYPE_CHECKING:
    from roadworthy.frames import Frame
    from roadworthy.transforms import Parameter, Transform


app = typer.Typer(cls=Group, no_args_is_help=True, help="Look at changes to images, and make them.")

_TILE_WIDTH = 400  # pixels on the sheet
_MOST_FRAMES = 50
_MOST_STEPS = 20

Settings = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="KEY=VALUE", help="A parameter of the transform; repeatable."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The seed of all random numbers.")]


@app.callback()
def _group() -> None:
    """Look at changes to images, and make them."""


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy transforms show rotation",
        "roadworthy transforms show rain --data world:town --sample 3 --steps 5",
        "roadworthy transforms show fog --presets",
        "roadworthy transforms show add -p element=pedestrian --data camvid:path/to/camvid",
    ),
)
def show(
    name: Annotated[
        str, typer.Argument(metavar="TRANSFORM", help="The transform, by its name or as `apply` takes it.")
    ],
    data: Data = "world:town",
    option: Options = None,
    parameter: Settings = None,
    sample: FewFrames = 2,
    steps: Annotated[int, typer.Option(metavar="N", help="How many amounts, from none to strongest.")] = 6,
    presets: Annotated[bool, typer.Option("--presets", help="Draw its presets instead of amounts.")] = False,
    overlay: Annotated[
        str, typer.Option(metavar="NAMES", help="What to draw over it: boxes, labels, depth, instances.")
    ] = "none",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the transform if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw frames under a transform, from identity to strongest, with the visual change of each."""
    from roadworthy.images import write_image
    from roadworthy.report import transform_strip

    _check("--sample", sample, 1, _MOST_FRAMES)
    _check("--steps", steps, 2, _MOST_STEPS)
    if presets:
        changes = _presets(name, parameter)
    elif re.search(r"[:(+]", name):
        changes = _spelled_out(name, parameter)
    else:
        changes = _variants(name, steps, parameter)
    path = out or Path(f"{plain_name(name.lower())}.png")
    dataset = opened(data, option, count=sample)
    frames, _ = spread_frames(dataset, sample)
    sheet = transform_strip(
        frames,
        changes,
        seed=seed,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        overlays=overlay,
        title=name,
        note=f"{counted(len(frames), len(dataset))} of {dataset.name}",
    )
    make_folder(path.parent)
    write_image(path, sheet)
    if as_json:
        print_json({"sheet": str(path), "transforms": [str(one) for one in changes]})
    else:
        console().print(f"Wrote {path}", soft_wrap=True, markup=False)


@app.command(
    cls=Command,
    epilog=examples("roadworthy transforms describe rain", "roadworthy transforms describe contrast --json"),
)
def describe(
    name: Annotated[str, typer.Argument(metavar="TRANSFORM", help="The transform.")], as_json: AsJson = False
) -> None:
    """Tell what a transform does, what its parameters and presets are, and what it keeps."""
    from roadworthy.transforms import kind_of

    kind = kind_of(name)
    if as_json:
        print_json(
            {
                "name": kind.name,
                "summary": kind.summary,
                "family": kind.family,
                "keeps": kind.keeps.value,
                "needs": list(kind.needs),
                "random": kind.random,
                "parameters": [_parameter_document(one) for one in kind.parameters()],
                "presets": {preset: dict(values) for preset, values in kind.presets.items()},
            }
        )
        return
    _print_description(kind)


@app.command(
    cls=Command,
    epilog=examples(
        'roadworthy transforms apply "rain:heavy" --data world:town --sample 20 --out rainy',
        'roadworthy transforms apply "rotation(angle=6) + brightness(bias=30)" --out turned',
        'roadworthy transforms apply "add(element=pedestrian)" --data camvid:path/to/camvid --out walkers',
    ),
)
def apply(
    transform: Annotated[
        str,
        typer.Argument(
            metavar="TRANSFORM", help="name, name:preset or name(parameter=value, …); several by +."
        ),
    ],
    data: Data = "world:town",
    option: Options = None,
    sample: Sample = None,
    seed: Seed = 0,
    out: Out = Path("changed"),
    as_json: AsJson = False,
) -> None:
    """Change the frames of a data set; write the images, and what became of every frame.

    The folder gets one image for each frame that qualifies, its label map in the colours of the ontology, and
    changes.jsonl with a line for every frame: the image, its visual change and boxes, or the reason why the
    frame does not qualify.
    """
    from roadworthy.images import write_image
    from roadworthy.seeding import rng_for
    from roadworthy.transforms import parse_transform

    if sample is not None and sample < 1:
        raise InputError(f"--sample must be 1 or more, got {sample}")
    change = parse_transform(transform)
    dataset = opened(data, option, count=sample)
    from roadworthy.datasets import spread

    indices = spread(len(dataset), len(dataset) if sample is None else sample)
    folder = make_folder(out)
    reasons: Counter[str] = Counter()
    with _written(folder / "changes.jsonl") as rows:
        for number, index in enumerate(tracked(indices, "Changing frames")):
            frame = dataset[index]
            row: dict[str, object] = {"frame": frame.id, "transform": str(change)}
            try:
                changed = change(frame, rng_for(seed, frame.id))
            except NotApplicable as error:
                reasons[error.reason] += 1
                row["reason"] = error.reason
            else:
                row["image"] = f"{number:06d}.png"
                row["visual_change"] = changed.visual_change
                write_image(folder / f"{number:06d}.png", changed.image)
                row |= _truth(changed, folder, f"labels/{number:06d}.png")
            print(json.dumps(row, ensure_ascii=False), file=rows)
    made = len(indices) - reasons.total()
    if as_json:
        print_json({"folder": str(folder), "frames": len(indices), "changed": made, "reasons": dict(reasons)})
        return
    shell = console()
    shell.print(f"Changed {counted(made, len(indices))}")
    # Reasons may hold the names of files and what programs said, with brackets that are no markup.
    for reason, times in reasons.most_common():
        shell.print(f"  {times} did not qualify: {reason}", soft_wrap=True, markup=False)
    shell.print(f"Wrote {folder}", soft_wrap=True, markup=False)


def _truth(frame: Frame, folder: Path, name: str) -> dict[str, object]:
    """Write what is known about a changed frame, as far as it still holds; return the row's part of it."""
    from roadworthy.images import write_image
    from roadworthy.ontology import ontology

    known: dict[str, object] = {}
    if frame.labels is not None:
        make_folder(folder / "labels")
        write_image(folder / name, frame.labels.to_rgb())
        known["labels"] = name
    if frame.boxes is not None:
        boxes = frame.boxes
        words = map(ontology().word_for, boxes.classes, boxes.attributes)
        known["boxes"] = [
            {"class": word, "box": corners} for word, corners in zip(words, boxes.xyxy.tolist(), strict=True)
        ]
    return known


def _written(path: Path) -> TextIO:
    if path.is_file():
        raise InputError(f"{path} exists, from an earlier run: remove {path.parent} or choose another --out")
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another folder") from error


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"{name} must be between {low} and {high}, got {value}")


def _variants(name: str, steps: int, given: list[str] | None) -> tuple[Transform, ...]:
    from roadworthy.report import variants
    from roadworthy.transforms import kind_of, make_transform

    fixed = parse_options(given or [], "-p amount=0.5")
    # Made once with text converted, so that a wrong parameter is refused before anything is drawn.
    checked = make_transform(name, **fixed).settings if fixed else {}
    if "amount" in fixed and "amount" not in checked:
        raise InputError(f"a strip of {name} runs over its amounts: leave out the parameter amount")
    return variants(kind_of(name), steps, **{key: checked[key] for key in fixed})


def _spelled_out(text: str, given: list[str] | None) -> tuple[Transform, ...]:
    """Return a transform as `apply` takes it, after its identity where it has one."""
    from roadworthy.transforms import parse_transform

    if given:
        raise InputError(f"write the parameters inside {text!r}, or its name alone with --parameter")
    change = parse_transform(text)
    return (type(change).at(0), change) if change.has_amount() else (change,)


def _presets(name: str, given: list[str] | None) -> tuple[Transform, ...]:
    from roadworthy.transforms import kind_of, make_transform

    kind = kind_of(name)
    if not kind.presets:
        raise InputError(f"{name} has no presets; leave out --presets to draw its amounts")
    return tuple(
        make_transform(f"{name}:{preset}", **parse_options(given or [], "-p amount=0.5"))
        for preset in kind.presets
    )


def _parameter_document(parameter: Parameter) -> dict[str, object]:
    document: dict[str, object] = {
        "name": parameter.name,
        "kind": parameter.kind,
        "description": parameter.description,
        "default": parameter.default,
    }
    if parameter.kind in ("number", "integer"):
        document |= {
            "unit": parameter.unit,
            "low": parameter.low,
            "high": parameter.high,
            "identity": parameter.identity,
            "strongest": parameter.strongest,
        }
    elif parameter.kind == "choice":
        document["choices"] = list(parameter.choices)
    return document


def _print_description(kind: type[Transform]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from roadworthy.transforms import spelled

    out = console()
    out.print(Text.assemble((kind.name, "bold"), f": {kind.summary}"), soft_wrap=True)
    needs = f"; it needs {' and '.join(kind.needs)}" if kind.needs else ""
    out.print(Text(f"{kind.family}; {kind.keeps.value}{needs}", style="dim"), soft_wrap=True)
    table = plain_table("parameter", "")
    for one in kind.parameters():
        about = Text(one.description).append(f"\n{one.domain}", style="dim")
        table.add_row(Text(f"{one.name}={spelled(one.default)}", style="cyan"), about)
    if table.row_count:
        out.print(Padding(table, (1, 0, 0, 2)))
    if kind.presets:
        presets = plain_table("preset", "")
        for preset, values in kind.presets.items():
            settings = ", ".join(f"{key}={spelled(value)}" for key, value in values.items())
            presets.add_row(Text(preset, style="cyan"), settings)
        out.print(Padding(presets, (1, 0, 0, 2)))
