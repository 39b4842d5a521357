"""``roadworthy engines try``: what a learned engine makes of some frames, beside what is built in."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, listed, make_folder, print_json
from roadworthy.cli._datasets import AsJson, Data, FewFrames, Options, counted, opened, spread_frames
from roadworthy.cli.engines._group import Which, app, opened_engine
from roadworthy.errors import InputError, NotApplicable

if TYPE_CHECKING:
    from roadworthy.frames import Frame
    from roadworthy.transforms import Operation, Transform
    from roadworthy.transforms.learned import LearnedEngine


_TILE_WIDTH = 400  # pixels on the sheet
_MOST_FRAMES = 50


@app.command(
    "try",
    cls=Command,
    epilog=examples(
        "roadworthy engines try day-to-night",
        "roadworthy engines try my-engine --data camvid:path/to/camvid --sample 6 --out sheet.png",
    ),
)
def try_engine(
    which: Which,
    data: Data = "world:town",
    option: Options = None,
    sample: FewFrames = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random numbers.")] = 0,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="Where it runs: cpu or cuda.")] = "cpu",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture to write; named after the engine if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw frames as they are, as a learned engine changes them, and as the built-in transforms do.

    Tells how long the engine takes, which frames do not qualify and why, and which classes it never saw.
    """
    from roadworthy.images import write_image
    from roadworthy.report import transform_strip

    if not 1 <= sample <= _MOST_FRAMES:
        raise InputError(f"--sample must be between 1 and {_MOST_FRAMES}, got {sample}")
    engine = opened_engine(which, device=device)
    asked = {str(support): one for support in engine.supported if (one := support.asked()) is not None}
    if not asked:
        raise InputError(f"the engine {engine.name!r} does not say what it replaces things by")
    dataset = opened(data, option, count=sample)
    frames, _ = spread_frames(dataset, sample)
    changes: dict[str, Transform] = {}
    for words, operation in asked.items():
        changes[f"{words}, learned"] = engine.transform(operation)
        if (classical := _built_in(operation)) is not None:
            changes[f"{words}, built in"] = classical
    sheet = transform_strip(
        frames,
        list(changes.values()),
        seed=seed,
        scale=min(4.0, _TILE_WIDTH / max(frame.width for frame in frames)),
        words=list(changes),
        title=engine.name,
        note=f"{counted(len(frames), len(dataset))} of {dataset.name}",
    )
    path = out or Path(f"{engine.name}.png")
    make_folder(path.parent)
    write_image(path, sheet)
    document = {"sheet": str(path), "engine": engine.name, **_tried(engine, asked, frames, seed)}
    if as_json:
        print_json(document)
        return
    shell = console()
    for one in document["operations"]:
        took = f", {1000 * one['seconds']:.0f} ms a frame" if one["seconds"] is not None else ""
        shell.print(f"{one['operation']}: {counted(one['changed'], len(frames))}{took}", soft_wrap=True)
        for reason, times in one["reasons"].items():
            shell.print(f"  {times} did not qualify: {reason}", soft_wrap=True, markup=False)
    if document["unseen"]:
        shell.print(f"Classes that it never saw and sees as void, in pixels: {listed(document['unseen'])}")
    shell.print(f"Wrote {path}", soft_wrap=True, markup=False)


def _built_in(operation: Operation) -> Transform | None:
    from roadworthy.transforms import transform_for

    try:
        return transform_for(operation)
    except InputError:  # nothing built in does it, which is why there are engines
        return None


def _tried(
    engine: LearnedEngine, asked: Mapping[str, Operation], frames: Sequence[Frame], seed: int
) -> dict[str, Any]:
    from roadworthy.seeding import rng_for
    from roadworthy.transforms.learned.engine import NetworkBackend

    rows = []
    for words, operation in asked.items():
        change = engine.transform(operation)
        reasons: Counter[str] = Counter()
        spent: list[float] = []
        for frame in frames:
            start = time.perf_counter()
            try:
                change(frame, rng_for(seed, frame.id), measure=False)
                spent.append(time.perf_counter() - start)
            except NotApplicable as error:
                reasons[error.reason] += 1
        seconds = median(spent) if spent else None
        rows.append({"operation": words, "changed": len(spent), "seconds": seconds, "reasons": dict(reasons)})
    unseen: Counter[str] = Counter()
    assert isinstance(engine.backend, NetworkBackend)
    if engine.card.kind == "synthesis":
        for frame in frames:
            if frame.labels is not None:
                unseen.update(engine.backend.unseen(frame.labels))
    return {"operations": rows, "unseen": dict(unseen)}
