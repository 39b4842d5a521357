"""A tour of the built-in world: its weathers, its ground truth, and scenes with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import pi
from pathlib import Path
from typing import Any

from roadworthy.datasets import WorldDataset
from roadworthy.frames import Frame, Signals
from roadworthy.images import Image, write_image
from roadworthy.report.drawing import draw_frame, draw_legend
from roadworthy.report.sheets import Pair, Tile, contact_sheet, frame_sheet, pair_sheet
from roadworthy.result_tables import ResultTable
from roadworthy.world import (
    TIMES,
    WEATHERS,
    Scene,
    add,
    frame_of,
    make_scene,
    remove,
    replace,
    with_conditions,
)

Watch = Callable[[Sequence[Any], str], Iterable[Any]]
"""What shows how far it is: gives things on, and is told what is done."""


class WorldTour:
    """Sheets of the world, and what a careful driver does before and after one change.

    Args:
        watch: Shows how far it is.
    """

    def __init__(self, watch: Watch = lambda items, _: items) -> None:
        self._watch = watch

    @cached_property
    def pairs(self) -> list[Pair]:
        """Scenes before and after one change."""
        return [
            Pair(title, frame_of(scene), frame_of(change(scene)))
            for title, scene, change in self._watch(_changes(), "Changing one thing")
        ]

    def frames(self) -> list[Frame]:
        """Return one frame for every weather and time of day, a row of the sheet for each weather."""
        data = WorldDataset(weather="all", time="all", count=len(WEATHERS) * len(TIMES), seed=1, jitter=0)

        def place(index: int) -> tuple[int, int]:
            conditions = data.scene(index).conditions
            return WEATHERS.index(conditions.weather), TIMES.index(conditions.time)

        order = sorted(range(len(data)), key=place)
        return [data[index] for index in self._watch(order, "Driving through the world")]

    def write(self, folder: Path) -> dict[str, Path]:
        """Write the sheets into a folder; return their files by name."""
        sheets = {
            "world": frame_sheet(
                self.frames(),
                overlays="boxes,signals",
                title="The built-in world",
                note="every weather at every time of day",
            ),
            "ground-truth": ground_truth_sheet(),
            "counterfactuals": pair_sheet(
                self.pairs, scale=1.5, title="Counterfactuals", note="the same scene with one thing changed"
            ),
        }
        for name, sheet in sheets.items():
            write_image(folder / f"{name}.png", sheet)
        return {name: folder / f"{name}.png" for name in sheets}

    def document(self) -> list[dict[str, Any]]:
        """Return what the driver does before and after each change."""
        return [
            {
                "change": pair.title,
                "before": pair.before.signals.as_dict(),
                "after": pair.after.signals.as_dict(),
            }
            for pair in self.pairs
        ]

    def table(self) -> ResultTable:
        """Return the same for people."""
        rows = []
        for pair in self.pairs:
            before, after = pair.before.signals, pair.after.signals
            old, new = before.speed or 0.0, after.speed or 0.0
            speeds = f"{old * 3.6:3.0f} → {new * 3.6:3.0f}"
            rows.append((pair.title, speeds, _change(old, new), f"{_degrees(before)} → {_degrees(after)}"))
        title = "What a careful driver does before and after one change"
        return ResultTable(title, ("change", "speed in km/h", "", "steering in °"), tuple(rows))


def busy_scene() -> Scene:
    """Return a street with something of everything on it."""
    scene = make_scene("town", s=975, seed=3, traffic=0)
    scene = add(scene, "pedestrian", ahead=13, look=2)
    scene = add(scene, "pedestrian", ahead=17, place="sidewalk", side="left", look=5)
    scene = add(scene, "bicyclist", ahead=19, place="road edge", look=4)
    scene = add(scene, "van", ahead=30, place="lane", color="red")
    return add(scene, "car", ahead=21, place="oncoming lane", color="blue", yaw=pi)


def ground_truth_sheet() -> Image:
    """Return one busy scene with everything that is known about it."""
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


def _change(old: float, new: float) -> str:
    percent = round(100 * (new / old - 1)) if old else 0
    return f"{percent:+d}%" if percent else "same"


def _degrees(signals: Signals) -> str:
    # Adding zero after rounding turns -0.0 into 0.0.
    return f"{round(signals.steering or 0.0, 1) + 0.0:5.1f}"
