"""``roadworthy data``: looking at data sets, checking them and converting them.

Options:
    reference (DATA): The data: a name, or name:path; see `list datasets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import typer

from roadworthy._files import plain_name
from roadworthy.cli._answer import FAILED, PASSED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import bars, parse_options, tracked, write_picture
from roadworthy.cli.options import counted, opened, words
from roadworthy.datasets import EXPORT_FORMATS, spread
from roadworthy.datasets import export as exported
from roadworthy.datasets.summary import DatasetSummary, frame_facts, spread_frames, summarize
from roadworthy.errors import InputError, check_number, suggest
from roadworthy.labelling import misfits
from roadworthy.labelling.chain import Labelling, sources_named
from roadworthy.labelling.fit import Misfit
from roadworthy.labelling.geometry import CAMERA_HEIGHT
from roadworthy.labelling.writing import write_labels
from roadworthy.report import frame_sheet
from roadworthy.report.drawing import parse_overlays
from roadworthy.result_tables import listed

app = typer.Typer(cls=Group, no_args_is_help=True)

_TILE_WIDTH = 640  # pixels on the sheet
_MOST_FRAMES = 400  # larger pictures open in hardly any program
_MOST_NAMED = 12
_MOST_BAD = 20  # bad frames in the text for people; JSON has all


@command(app)
def show(
    reference: str,
    option: list[str] | None = None,
    sample: int = 12,
    columns: int = 3,
    overlay: str = "boxes,labels,signals",
    out: Path | None = None,
    seed: int | None = None,
) -> Answer:
    """Draw a contact sheet of a data set with what is known about its frames.

    Options:
        columns (N): Frames per row.
        overlay (NAMES): What to draw: boxes, labels, depth, instances, signals, joined by commas; or none.
        seed (N): The seed of generated data; the same as -o seed=N.
        sample (-n N): Frames, spread over the data.

    Examples:
        roadworthy data show world
        roadworthy data show world:town -o weather=rain -o level=heavy -o time=night
        roadworthy data show world -o weather=all -o time=all --sample 15
        roadworthy data show world:mountain --overlay depth --out depth.png
        roadworthy data show kitti:path/to/training --overlay boxes
    """
    overlays = parse_overlays(overlay)
    check_number("--sample", sample, least=1, most=_MOST_FRAMES)
    options = parse_options(option or [])
    if seed is not None and "seed" in options:
        raise InputError(f"the seed is given twice: --seed {seed} and -o seed={options['seed']}")
    dataset = opened(reference, [*(option or []), *([] if seed is None else [f"seed={seed}"])], count=sample)
    frames, bad = spread_frames(dataset, sample, tracked)
    number = counted(len(frames), len(dataset))
    sheet = frame_sheet(
        frames,
        columns,
        overlays=overlays,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        title=dataset.name,
        note=number,
    )
    path = write_picture(out or Path(f"{plain_name(reference)}.png"), sheet)
    held = DatasetSummary.of(frames)
    document = {
        "sheet": str(path),
        "dataset": dataset.name,
        "frames": len(dataset),
        "skipped": [{"index": index, "reason": reason} for index, reason in bad.items()],
        **held.document(),
        "shown": [frame_facts(frame) for frame in frames],
    }
    told = [f"Skipped {len(bad)} that cannot be read, the first: {why}" for why in list(bad.values())[:1]]
    told += [
        f"No frame here has {what}: -o {what}=street estimates them"
        for what in ("labels", "depth", "boxes")
        if overlay.strip() == what and all(getattr(frame, what) is None for frame in frames)
    ]
    return Answer(document, [f"{dataset.name}, {number}", held.lines(), *told, f"Wrote {path}"])


@command(app)
def check(reference: str, option: list[str] | None = None) -> Answer:
    """Read every frame of a data set, and report bad files, classes, signals, sizes and label maps.

    The exit code is 0 if every frame can be read, else 2.

    Examples:
        roadworthy data check kitti:path/to/training
        roadworthy data check coco:annotations/instances_val.json -o on_unknown=skip
        roadworthy data check yolo:data.yaml -o outside=clip --json
        roadworthy data check world:town -o count=20
    """
    dataset = opened(reference, option)
    wrong: list[Misfit] = []
    summary, bad = summarize(dataset, tracked, lambda frame: wrong.extend(misfits([frame])))
    document = {
        "dataset": dataset.name,
        "frames": len(dataset),
        "read": summary.read,
        "bad": [{"id": id, "reason": reason} for id, reason in bad.items()],
        "misfits": [{"id": one.id, "shift": one.shift, "agreement": one.agreement} for one in wrong],
        **summary.document(),
    }
    state = f"{len(bad)} cannot be read" if bad else "all can be read"
    title = f"{dataset.name}, {counted(len(dataset), len(dataset))}, {state}"
    return Answer(
        document,
        [title, summary.lines(), *_reasons(bad, _MOST_BAD), *map(str, wrong[:_MOST_BAD])],
        # A frame that cannot be read is wrong input; 1 stays for requirements.
        exit_code=FAILED if bad else PASSED,
    )


@command(app)
def label(
    reference: str,
    by: str = "street",
    out: Path | None = None,
    option: list[str] | None = None,
    depth: str = "street",
    camera_height: float = CAMERA_HEIGHT,
) -> Answer:
    """Write label maps, instances and depth for the frames of a data set, once.

    What is there already is left as it is: stop it and go on with the same command. Read the result by
    -o labels=FOLDER -o depth=FOLDER.

    Options:
        by (--with CHAIN): Who labels: street, a segmenter such as net.yaml, a folder, own; several in order.
        out (FOLDER): Where to write; named after the data if left out.
        depth (CHAIN): Who says how far away things are, likewise; none for no depth.
        camera_height (METRES): The camera above the road, by which relative depth becomes metres.

    Examples:
        roadworthy data label folder:dash --out dash-labels
        roadworthy data label folder:dash --with segmenter.yaml,street --depth none
    """
    dataset = opened(reference, option)
    chains = sources_named("labels", by), sources_named("depth", depth)
    labelling = Labelling(*chains, camera_height=camera_height)
    with bars() as shown:
        watch = shown.showing("Labelling frames")
        written = write_labels(dataset, labelling, out or Path(f"{plain_name(reference)}-labels"), watch)
    without, now = len(written.without_depth), written.frames - written.before
    lines = [
        f"{written.folder}, {counted(written.frames, written.frames)}: {labelling}",
        *([f"{counted(written.before, written.before)} were there before"] if written.before else []),
        *([f"{without} of {counted(now, now)} show too little road for depth"] if without else []),
        *_reasons(written.skipped, _MOST_NAMED),
        f"Use them with -o labels={written.folder}",
    ]
    about = {**vars(written), "folder": str(written.folder), "made_by": str(labelling)}
    return Answer(about, lines, labelling.notes)


@command(app)
def export(
    reference: str,
    folder: Path,
    format: str,
    option: list[str] | None = None,
    sample: int | None = None,
    classes: str | None = None,
) -> Answer:
    """Write the images and boxes of a data set as KITTI, COCO or YOLO.

    Options:
        folder (FOLDER): Where to write: a new or empty folder.
        classes (WORDS): The classes to write, joined by commas, in the order of their numbers; all if left
            out.
        format (-f FORMAT): kitti, coco or yolo.

    Examples:
        roadworthy data export world:town towns --format coco --sample 50
        roadworthy data export world towns/training --format kitti
        roadworthy data export kitti:training cars -f yolo --classes car,van
    """
    check_number("--sample", sample, least=1)
    if (chosen := next((one for one in EXPORT_FORMATS if one == format.lower()), None)) is None:
        raise InputError(f"there is no format {format!r}: {suggest(format, EXPORT_FORMATS)}")
    dataset = opened(reference, option, count=sample)
    some = None if sample is None or sample >= len(dataset) else spread(len(dataset), sample)
    with bars() as shown:
        watch = shown.showing("Writing frames")
        summary = exported(dataset, folder, chosen, classes=words(classes), indices=some, progress=watch)
    document = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(summary).items()
    }
    skipped = document["skipped"]
    rows = {
        "boxes": listed(document["boxes"]),
        "left out": listed(document["left_out"]),
        "not in this format": listed(document["lost"]),
        "skipped": f"{counted(len(skipped), len(skipped))} that cannot be read" if skipped else "",
    }
    return Answer(
        document,
        [
            f"{folder}, {summary.frames} frames, {sum(summary.boxes.values())} boxes",
            {title: line for title, line in rows.items() if line},
            *_reasons(skipped, _MOST_NAMED),
            f"Open it as {summary.reference}",
        ],
    )


def _reasons(bad: Mapping[str, str], most: int) -> Iterable[str]:
    """Yield why frames cannot be read, by their ids."""
    yield from (f"{id}: {reason}" for id, reason in list(bad.items())[:most])
    if len(bad) > most:
        yield f"and {len(bad) - most} more; --json lists all"
