"""``roadworthy engines compare``: learned engines beside what is built in, against the world's own truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, progress
from roadworthy.cli._datasets import AsJson
from roadworthy.cli._values import two_numbers
from roadworthy.cli.engines._group import app, opened_engine
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.training.engines.pairs import WorldChange
    from roadworthy.transforms.learned import LearnedEngine


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy engines compare day-to-night clear-to-rain",
        "roadworthy engines compare my-engine --sample 200 --seed 900 --workers 8",
    ),
)
def compare(
    which: Annotated[
        list[str], typer.Argument(metavar="ENGINE…", help="Learned engines: their folders or names.")
    ],
    sample: Annotated[
        int, typer.Option("--sample", "-n", metavar="N", help="How many scenes of the world.")
    ] = 60,
    tracks: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Tracks of the world, joined by commas, or all; if left out, those that nothing shipped "
            "was trained on.",
        ),
    ] = None,
    size: Annotated[str, typer.Option(metavar="WIDTHxHEIGHT", help="Of the frames.")] = "320x160",
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of the scenes; not one that an engine learned from.")
    ] = 9001,
    workers: Annotated[int, typer.Option(metavar="N", help="How many processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Measure how near learned engines and the built-in transforms come to the world's own truth.

    The world can draw a scene with the change made. The distance compares brightness, contrast and colour at
    several scales: where the truth differs from the frame, or everywhere for weather, time and season.
    Intervals are bootstrapped, at 95%. An engine is nearer if all of the interval of the difference says so.
    """
    from roadworthy.training.engines.comparing import compared, interval
    from roadworthy.training.engines.pairs import PairSource
    from roadworthy.world import HELD_OUT_TRACK_NAMES

    if sample < 2 or workers < 1:
        raise InputError(f"--sample must be 2 or more and --workers 1 or more, got {sample} and {workers}")
    width, height = two_numbers(size, "--size must be WIDTHxHEIGHT, such as 320x160")
    source = PairSource(tracks or ",".join(HELD_OUT_TRACK_NAMES), (seed,), sample, (height, width))
    rows: list[dict[str, Any]] = []
    asked = [(engine, change) for engine in map(opened_engine, which) for change in _changes(engine)]
    for engine, change in asked:
        with progress(f"{engine.name}, {change.name}", 1) as show:
            found = compared(
                change,
                engine.backend.files[0].parent,
                source,
                workers=workers,
                progress=lambda done, total, show=show: show(done / total),  # type: ignore[misc]
            )
        apart = found.distances["learned"] - found.distances["classical"]
        rows.append(
            {
                "engine": engine.name,
                "change": change.name,
                "frames": len(found),
                "distance": {key: float(one.mean()) for key, one in found.distances.items()},
                "ssim": {key: float(one.mean()) for key, one in found.likeness.items()},
                "learned_minus_built_in": {"mean": float(apart.mean()), "interval": list(interval(apart))},
                "learned_is_nearer": found.is_better,
            }
        )
    if as_json:
        print_json({"data": source.name, "confidence": 0.95, "comparisons": rows})
        return
    table = plain_table("engine", "frames", "learned", "built in", "unchanged", "difference", "nearer")
    for row in rows:
        low, high = row["learned_minus_built_in"]["interval"]
        who = "built in" if low > 0 else "open"
        table.add_row(
            row["engine"] if row["engine"] == row["change"] else f"{row['engine']}, {row['change']}",
            str(row["frames"]),
            *(f"{row['distance'][key]:.3f}" for key in ("learned", "classical", "unchanged")),
            f"{row['learned_minus_built_in']['mean']:+.3f} ({low:+.3f} to {high:+.3f})",
            "learned" if row["learned_is_nearer"] else who,
        )
    console().print(table)
    console().print(
        f"Distance to the world's truth, 95% intervals; {source.name}", soft_wrap=True, markup=False
    )


def _changes(engine: LearnedEngine) -> list[WorldChange]:
    """Return the changes that an engine makes and whose truth the world can draw."""
    from roadworthy.training.engines.pairs import CHANGES

    found = [one for one in CHANGES.values() if engine.supports(one.operation)]
    if not found:
        known = ", ".join(" ".join(one.supports.values()) for one in CHANGES.values())
        raise InputError(
            f"the engine {engine.name!r} makes none of the changes whose truth is drawn here: {known}"
        )
    return found
