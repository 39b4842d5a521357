"""``roadworthy demo``: the main job on the built-in world, with nothing to download."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import make_folder, tracked
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.frames import Frame, Signals
    from roadworthy.report import Image, Pair
    from roadworthy.world import Scene


app = typer.Typer()


@command(app)
def demo(out: Path = Path("demo-out")) -> Answer:
    """Draw the built-in world, and test the shipped networks by requirements of all five kinds.

    Options:
        out (FOLDER): Where to write.

    Examples:
        roadworthy demo
        roadworthy demo --out pictures --json
    """
    from roadworthy.images import write_image
    from roadworthy.report import frame_sheet, pair_sheet

    make_folder(out)
    folder = _emptied(out / "run")
    pairs = counterfactual_pairs()
    sheets = {
        "world": frame_sheet(
            _world_frames(),
            overlays="boxes,signals",
            title="The built-in world",
            note="every weather at every time of day",
        ),
        "ground-truth": ground_truth_sheet(),
        "counterfactuals": pair_sheet(
            pairs, scale=1.5, title="Counterfactuals", note="the same scene with one thing changed"
        ),
    }
    paths = {name: out / f"{name}.png" for name in sheets}
    for name, sheet in sheets.items():
        write_image(paths[name], sheet)
    how = RunOptions(out=folder)
    published = run_plan(planned(demo_suite(), how, folder), how, folder)
    suite = answer_of(published, how)
    shown = [
        _changes_table(pairs),
        *(f"Wrote {path}" for path in paths.values()),
        f"A suite with requirements of all five kinds, from {demo_suite()}:",
        *outcome_lines(published.result),
        *suite.shown,
        _NEXT_STEPS,
    ]
    document = {**_document(paths, pairs), "suite": suite.document}
    return Answer(document, shown, suite.notes, suite.report)


_NEXT_STEPS = (
    "The networks are small ones from the papers: what is violated above are faults that they really have. "
    "After the report, try a sentence of your own, or the page to look at failures:\n"
    "  roadworthy rules run --model dave2 --rule "
    '"If a pedestrian appears on the roadside, the ego-vehicle should slow down."\n'
    "  roadworthy serve"
)


def demo_suite() -> Path:
    """Return the suite of the demonstration: an example that comes with the package."""
    package = Path(__file__).parents[1]
    shipped, source = package / "examples", package.parents[1] / "examples"
    return (shipped if shipped.is_dir() else source) / "demo.suite.yaml"


def _emptied(folder: Path) -> Path:
    """Return a folder without what an earlier demonstration left in it.

    Raises:
        InputError: It holds something else.
    """
    if not folder.exists():
        return folder
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} is not from an earlier demonstration: choose another --out")
    shutil.rmtree(folder)
    return folder


def _world_frames() -> list[Frame]:
    """Return one frame for every weather and time of day, a row of the sheet for each weather."""
    from roadworthy.datasets import WorldDataset
    from roadworthy.world import TIMES, WEATHERS

    data = WorldDataset(weather="all", time="all", count=len(WEATHERS) * len(TIMES), seed=1, jitter=0)

    def place(index: int) -> tuple[int, int]:
        conditions = data.scene(index).conditions
        return WEATHERS.index(conditions.weather), TIMES.index(conditions.time)

    order = sorted(range(len(data)), key=place)
    return [data[index] for index in tracked(order, "Driving through the world")]


def busy_scene() -> Scene:
    """Return a street with something of everything on it."""
    from math import pi

    from roadworthy.world import add, make_scene

    scene = make_scene("town", s=975, seed=3, traffic=0)
    scene = add(scene, "pedestrian", ahead=13, look=2)
    scene = add(scene, "pedestrian", ahead=17, place="sidewalk", side="left", look=5)
    scene = add(scene, "bicyclist", ahead=19, place="road edge", look=4)
    scene = add(scene, "van", ahead=30, place="lane", color="red")
    return add(scene, "car", ahead=21, place="oncoming lane", color="blue", yaw=pi)


def ground_truth_sheet() -> Image:
    """Return one busy scene with everything that is known about it."""
    from roadworthy.report import Tile, contact_sheet, draw_frame, draw_legend
    from roadworthy.world import frame_of

    frame = frame_of(busy_scene())
    shown = {"boxes": "boxes", "label map": "labels", "instances": "instances", "depth": "depth"}
    tiles = [Tile(draw_frame(frame, names, legend=False), title) for title, names in shown.items()]
    classes = frame.labels.present() if frame.labels is not None else ()
    return contact_sheet(
        tiles,
        columns=2,
        title="Ground truth",
        note="known exactly for every pixel",
        footer=draw_legend(classes, 2 * tiles[0].image.shape[1]),
    )


def _changes() -> list[tuple[str, Scene, Callable[[Scene], Scene]]]:
    """Return what is changed in which scene."""
    from roadworthy.world import add, make_scene, remove, replace, with_conditions

    town = make_scene("town", s=933, seed=3)
    suburb = make_scene("meadow", s=421, seed=3)
    forest = make_scene("mountain", s=58, seed=3)
    return [
        ("a pedestrian on the sidewalk", town, lambda scene: add(scene, "pedestrian", ahead=14)),
        ("trees instead of buildings", town, lambda scene: replace(scene, "building", "tree")),
        ("night", town, lambda scene: with_conditions(scene, time="night")),
        ("a stop sign", town, lambda scene: add(scene, "stop sign", ahead=13, place="kerb")),
        ("no lane lines", suburb, lambda scene: remove(scene, "line")),
        ("heavy rain", suburb, lambda scene: with_conditions(scene, weather="rainy", level="heavy")),
        ("fog", suburb, lambda scene: with_conditions(scene, weather="foggy")),
        ("a truck ahead", forest, lambda scene: add(scene, "truck", ahead=18, place="lane")),
        ("heavy snow", forest, lambda scene: with_conditions(scene, weather="snowy", level="heavy")),
    ]


def counterfactual_pairs() -> list[Pair]:
    """Return scenes before and after one change."""
    from roadworthy.report import Pair
    from roadworthy.world import frame_of

    return [
        Pair(title, frame_of(scene), frame_of(change(scene)))
        for title, scene, change in tracked(_changes(), "Changing one thing")
    ]


def _document(paths: dict[str, Path], pairs: Sequence[Pair]) -> dict[str, object]:
    return {
        "sheets": {name: str(path) for name, path in paths.items()},
        "counterfactuals": [
            {
                "change": pair.title,
                "before": pair.before.signals.as_dict(),
                "after": pair.after.signals.as_dict(),
            }
            for pair in pairs
        ],
    }


def _change(old: float, new: float) -> str:
    percent = round(100 * (new / old - 1)) if old else 0
    return f"{percent:+d}%" if percent else "same"


def _degrees(signals: Signals) -> str:
    # Adding zero after rounding turns -0.0 into 0.0.
    return f"{round(signals.steering or 0.0, 1) + 0.0:5.1f}"


def _changes_table(pairs: Sequence[Pair]) -> ResultTable:
    rows = []
    for pair in pairs:
        before, after = pair.before.signals, pair.after.signals
        old, new = before.speed or 0.0, after.speed or 0.0
        rows.append(
            (
                pair.title,
                f"{old * 3.6:3.0f} → {new * 3.6:3.0f}",
                _change(old, new),
                f"{_degrees(before)} → {_degrees(after)}",
            )
        )
    title = "What a careful driver does before and after one change"
    return ResultTable(title, ("change", "speed in km/h", "", "steering in °"), tuple(rows))
