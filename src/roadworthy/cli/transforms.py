"""``roadworthy transforms`` and ``roadworthy gallery``: changes to images, and the objects that they add.

Options:
    gallery ([GALLERY]): shipped, or folders of galleries, joined by commas.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from roadworthy._files import plain_name
from roadworthy.cli._answer import FAILED, Answer, Shown
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, tracked, write_picture
from roadworthy.cli.options import Out, counted, opened
from roadworthy.datasets import spread
from roadworthy.datasets.summary import spread_frames
from roadworthy.errors import InputError, check_number
from roadworthy.report import Tile, contact_sheet, transform_strip, variants
from roadworthy.result_tables import ResultTable, listed
from roadworthy.transforms import Transform, kind_of, make_transform, parse_transform, spelled
from roadworthy.transforms.making import write_changed
from roadworthy.transforms.objects import Gallery
from roadworthy.transforms.objects import harvest as harvested
from roadworthy.transforms.objects.cutting import HARVESTED

app = typer.Typer(cls=Group, no_args_is_help=True)
gallery = typer.Typer(cls=Group, no_args_is_help=True)

_TILE_WIDTH = 400  # pixels on the sheet of a transform
_CUT_OUT_TILE = 150  # pixels on the sheet of a gallery
_MOST_FRAMES = 50
_MOST_STEPS = 20
_MOST_CUT_OUTS = 400


@command(app)
def show(
    name: str,
    data: str = "world:town",
    option: list[str] | None = None,
    parameter: list[str] | None = None,
    sample: int = 2,
    steps: int = 6,
    presets: bool = False,
    overlay: str = "none",
    seed: int = 0,
    out: Path | None = None,
) -> Answer:
    """Draw frames under a transform, from identity to strongest, with the visual change of each.

    Options:
        name (TRANSFORM): The transform, by its name or as `apply` takes it.
        steps (N): How many amounts, from none to strongest.
        presets: Draw its presets instead of amounts.
        overlay (NAMES): What to draw over it: boxes, labels, depth, instances.
        parameter (-p KEY=VALUE): A parameter of the transform; repeatable.
        sample (-n N): Frames, spread over the data.

    Examples:
        roadworthy transforms show rotation
        roadworthy transforms show rain --data world:town --sample 3 --steps 5
        roadworthy transforms show fog --presets
        roadworthy transforms show add -p element=pedestrian --data camvid:path/to/camvid
    """
    check_number("--sample", sample, least=1, most=_MOST_FRAMES)
    check_number("--steps", steps, least=2, most=_MOST_STEPS)
    changes = _changes(name, parameter, steps, presets)
    dataset = opened(data, option, count=sample)
    frames, _ = spread_frames(dataset, sample, tracked)
    sheet = transform_strip(
        frames,
        changes,
        seed=seed,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        overlays=overlay,
        title=name,
        note=f"{counted(len(frames), len(dataset))} of {dataset.name}",
    )
    path = write_picture(out or Path(f"{plain_name(name.lower())}.png"), sheet)
    return Answer({"sheet": str(path), "transforms": [str(one) for one in changes]}, [f"Wrote {path}"])


def _changes(name: str, given: list[str] | None, steps: int, presets: bool) -> tuple[Transform, ...]:
    """Return what is drawn: presets, a transform as `apply` takes it, or one in several amounts."""
    fixed = parse_options(given or [], "-p amount=0.5")
    if presets:
        kind = kind_of(name)
        if not kind.presets:
            raise InputError(f"{name} has no presets; leave out --presets to draw its amounts")
        return tuple(make_transform(f"{name}:{preset}", **fixed) for preset in kind.presets)
    if re.search(r"[:(+]", name):
        if given:
            raise InputError(f"write the parameters inside {name!r}, or its name alone with --parameter")
        change = parse_transform(name)
        return (type(change).at(0), change) if change.has_amount() else (change,)
    # Made once with text converted, so that a wrong parameter is refused before anything is drawn.
    checked = make_transform(name, **fixed).settings if fixed else {}
    if "amount" in fixed and kind_of(name).has_amount():
        raise InputError(f"a strip of {name} runs over its amounts: leave out the parameter amount")
    return variants(kind_of(name), steps, **{key: checked[key] for key in fixed})


@command(app)
def describe(name: str) -> Answer:
    """Describe a transform: its parameters, presets, and what it preserves.

    Options:
        name (TRANSFORM): The transform.

    Examples:
        roadworthy transforms describe rain
        roadworthy transforms describe contrast --json
    """
    kind = kind_of(name)
    document = {
        "name": kind.name,
        "summary": kind.summary,
        "family": kind.family,
        "keeps": kind.keeps.value,
        "needs": list(kind.needs),
        "random": kind.random,
        "parameters": [one.document() for one in kind.parameters()],
        "presets": {preset: dict(values) for preset, values in kind.presets.items()},
    }
    needs = f"; it needs {' and '.join(kind.needs)}" if kind.needs else ""
    parameters = tuple(
        (f"{one.name}={spelled(one.default)}", f"{one.description}\n{one.domain}")
        for one in kind.parameters()
    )
    settings = tuple(
        (preset, ", ".join(f"{key}={spelled(value)}" for key, value in values.items()))
        for preset, values in kind.presets.items()
    )
    tables = [
        ResultTable("", (title, ""), rows)
        for title, rows in (("parameter", parameters), ("preset", settings))
        if rows
    ]
    about = f"{kind.name}: {kind.summary}\n{kind.family}; {kind.keeps.value}{needs}"
    return Answer(document, [about, *tables])


@command(app)
def apply(
    transform: str,
    data: str = "world:town",
    option: list[str] | None = None,
    sample: int | None = None,
    seed: int = 0,
    out: Out = Path("changed"),
) -> Answer:
    """Change the frames of a data set; write the images, and what became of every frame.

    The folder gets one image for each frame that qualifies, its label map in the colours of the ontology, and
    changes.jsonl with a line for every frame: the image, its visual change and boxes, or the reason why the
    frame does not qualify.

    Options:
        transform (TRANSFORM): name, name:preset or name(parameter=value, …); several by +.

    Examples:
        roadworthy transforms apply "rain:heavy" --data world:town --sample 20 --out rainy
        roadworthy transforms apply "rotation(angle=6) + brightness(bias=30)" --out turned
        roadworthy transforms apply "add(element=pedestrian)" --data camvid:path/to/camvid --out walkers
    """
    check_number("--sample", sample, least=1)
    change = parse_transform(transform)
    dataset = opened(data, option, count=sample)
    indices = spread(len(dataset), len(dataset) if sample is None else sample)
    frames = (dataset[index] for index in tracked(indices, "Changing frames"))
    folder = make_folder(out)
    reasons = write_changed(change, frames, folder, seed)
    made = len(indices) - reasons.total()
    return Answer(
        {"folder": str(folder), "frames": len(indices), "changed": made, "reasons": dict(reasons)},
        [
            f"Changed {counted(made, len(indices))}",
            *(f"  {times} did not qualify: {reason}" for reason, times in reasons.most_common()),
            f"Wrote {folder}",
        ],
    )


@command(gallery)
def harvest(
    data: str,
    out: Path,
    element: list[str] | None = None,
    option: list[str] | None = None,
    sample: int | None = None,
    smallest: int = 40,
    most: int | None = None,
    add: bool = False,
) -> Answer:
    """Cut objects out of labelled frames: those that are seen whole, alone and clearly.

    Options:
        data (DATA): The labelled data set: its name, or name:path.
        smallest (PIXELS): The least height of a cut-out.
        most (N): How many of each element are enough; the largest stay.
        add: Add to the gallery that is in the folder; nothing in it is lost.
        out (--out FOLDER): Where to write the gallery.
        element (-e WORD): What to cut out, such as pedestrian; repeatable; all that can be if left out.

    Examples:
        roadworthy gallery harvest camvid:path/to/camvid --out people --element pedestrian
        roadworthy gallery harvest world:town -n 50 --out things -e vehicle -e pedestrian
        roadworthy gallery harvest a2d2:path/to/a2d2 --out cars -e car --smallest 80 --most 40
    """
    for name, value in (("--sample", sample), ("--smallest", smallest), ("--most", most)):
        check_number(name, value, least=1)
    earlier = Gallery.to_grow(out, add=add)
    dataset = opened(data, option, count=sample)
    indices = spread(len(dataset), len(dataset) if sample is None else sample)
    result = harvested(
        (dataset[index] for index in tracked(indices, "Cutting out")),
        element or tuple(HARVESTED),
        smallest=smallest,
        most=most,
        source=dataset.name,
    )
    known = result.save(make_folder(out), earlier) if result.cut_outs else 0
    shown: list[Shown] = [f"{counted(result.frames, len(dataset))} of {dataset.name}", result.lines()]
    document = {"gallery": str(out), **result.document(), "already_there": known}
    if not result.cut_outs:
        failed = f"nothing in {dataset.name} could be cut out, so no gallery was written"
        return Answer({**document, "gallery": None}, shown, errors=[failed], exit_code=FAILED)
    again = [f"{known} of them {'was' if known == 1 else 'were'} there already"] if known else []
    return Answer(document, [*shown, *again, f"Wrote {out}"])


@command(gallery, name="list")
def list_gallery(gallery: str = "shipped") -> Answer:
    """List the cut-outs of a gallery.

    Examples:
        roadworthy gallery list
        roadworthy gallery list people
        roadworthy gallery list --json
    """
    found = Gallery.opened(gallery)
    rows = {}
    for element, kinds in found.counts().items():
        named: dict[str, Any] = {words or "any": count for words, count in kinds.items()}
        rows[element] = str(kinds.total()) if list(named) == ["any"] else f"{kinds.total()}: {listed(named)}"
    return Answer(
        {"gallery": gallery, "cut_outs": [one.facts() for one in found]},
        [f"{len(found)} cut-outs in {found.name}, by element", rows],
    )


@command(gallery, name="show")
def show_gallery(gallery: str = "shipped", element: str = "", out: Path | None = None) -> Answer:
    """Draw a sheet of what a gallery has, each cut-out with its height in metres.

    Options:
        element (-e WORDS): Only these, such as red car.

    Examples:
        roadworthy gallery show
        roadworthy gallery show people -e pedestrian --out people.png
    """
    found = Gallery.opened(gallery)
    if not len(found):
        raise InputError(f"the gallery {found.name!r} is empty: there is nothing to draw")
    shown = list(found.select(element) if element else found)[:_MOST_CUT_OUTS]
    tiles = [Tile(one.tile(_CUT_OUT_TILE), one.name, f"{one.height:.2f} m") for one in shown]
    sheet = contact_sheet(tiles, columns=8, title=found.name, note=f"{len(shown)} cut-outs")
    path = write_picture(out or Path(f"gallery-{plain_name(gallery)}.png"), sheet)
    left = f" of {len(found)}" if len(shown) < len(found) else ""
    return Answer(
        {"sheet": str(path), "cut_outs": [one.facts() for one in shown]},
        [f"Wrote {path} with {len(shown)}{left} cut-outs"],
    )
