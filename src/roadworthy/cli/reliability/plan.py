"""``roadworthy reliability plan``: an experiment with people, as files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, tracked
from roadworthy.cli.options import AsJson, Options, opened
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import Data, Out, Seed, Transforms


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability plan --data world-crops -o classes=car,truck -t frost --pairs 20",
        "roadworthy reliability plan --data folder:images --target pedestrian --raters 8 --out experiment",
        "roadworthy reliability thresholds experiment --rule careful",
    ),
)
def plan(
    data: Data = "world-crops",
    option: Options = None,
    target: Annotated[
        str, typer.Option(metavar="CLASS", help="What people look for: CLASS, or not CLASS.")
    ] = "car",
    transform: Transforms = None,
    pairs: Annotated[
        int, typer.Option(metavar="N", help="Pairs of original and changed image for each transformation.")
    ] = 300,
    batch: Annotated[int, typer.Option(metavar="N", help="Images in a batch, which one person does.")] = 20,
    raters: Annotated[int, typer.Option(metavar="N", help="People who answer for each image.")] = 5,
    checks: Annotated[
        int, typer.Option(metavar="N", help="Images in a batch that are shown for long, to see who attends.")
    ] = 2,
    practice: Annotated[int, typer.Option(metavar="N", help="Images to begin with, not counted.")] = 5,
    exposure: Annotated[int, typer.Option(metavar="MS", help="How long an image is shown.")] = 200,
    seed: Seed = 0,
    out: Out = Path("experiment"),
    as_json: AsJson = False,
) -> None:
    """Plan a forced-choice experiment with people: images, masks, batches, checks, and the key.

    An image is shown for 200 ms, then a mask of noise, then a person chooses. Changed images cover all of the
    visual change evenly. Nobody sees two versions of an image: a person stays in one track of batches. A page
    runs plan.json; keep key.json to yourself. Then put the answers into answers.csv, and ask for thresholds.
    """
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
    from roadworthy.reliability.human import Design, EvenChange, Stimuli, write_experiment
    from roadworthy.reliability.human.bins import MOST_TOO_FEW
    from roadworthy.reliability.human.experiment import spare_needed
    from roadworthy.reliability.human.stimuli import choices_for, says_whether

    changes = [EvenChange(transformation_named(one)) for one in transform or PAPER_TRANSFORMATIONS]
    design = Design(
        choices_for(target), batch=batch, raters=raters, checks=checks, practice=practice, image_ms=exposure
    )
    wanted = max(pairs, 1) * len(changes)
    frames = opened(data, option, count=wanted + spare_needed(wanted, design))
    spare = spare_needed(min(wanted, len(frames)), design)
    stimuli = Stimuli(frames, changes, says_whether(target), pairs, spare, seed)
    skipped: Counter[str] = Counter()

    def count(reason: str) -> None:
        skipped[reason] += 1

    # Each pair is an original and a changed image, and an original is made once: so many at most.
    turns = tracked(range(2 * wanted), "Making images")
    shown = (one for one, _ in zip(stimuli.shown(count), turns, strict=False))
    made = write_experiment(shown, stimuli.spare_ones(), out, design, seed=seed)
    schedule = made.schedule
    people = raters * schedule.tracks
    about = {
        "folder": str(out),
        "data": frames.name,
        "choices": {
            one: Counter(item.truth for item in schedule.items.values())[one] for one in design.choices
        },
        "images": len(schedule.items),
        "tracks": schedule.tracks,
        "batches": len(schedule.batches),
        "raters_per_batch": raters,
        "fewest_people": people,
        "answers": len(schedule.items) * raters,
        "checks": len(schedule.checks),
        "skipped": dict(skipped),
        "seed": seed,
    }
    if as_json:
        print_json(about)
        return
    shell = console()
    shell.print(
        f"{len(schedule.items)} images in {len(schedule.batches)} batches of {schedule.tracks} tracks, for "
        f"{raters} people each: at least {people} people, {len(schedule.items) * raters} answers",
        soft_wrap=True,
    )
    if pairs * raters <= 100 * MOST_TOO_FEW:
        shell.print(
            f"These are {pairs * raters / 100:g} answers for each interval of visual change of 0.01, "
            f"and an interval counts with more than {MOST_TOO_FEW}: plan more pairs or more people",
            soft_wrap=True,
        )
    for reason, times in skipped.most_common():
        shell.print(f"skipped {times}: {reason}", markup=False, soft_wrap=True)
    shell.print(
        f"Wrote {out}: a page runs plan.json, answers go to answers.csv; keep key.json to yourself",
        soft_wrap=True,
    )
