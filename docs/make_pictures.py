"""Draw the pictures of the built-in world that README and docs show. Run it with ``make docs``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.images import read_image, write_image
from roadworthy.report import Image, Pair, Tile, contact_sheet, pair_sheet
from roadworthy.report.drawing import draw_frame, draw_legend
from roadworthy.world import (
    SEASONS,
    TIMES,
    WEATHERS,
    Camera,
    Conditions,
    Scene,
    add,
    frame_of,
    make_scene,
    remove,
    render,
    replace,
    with_conditions,
)

PICTURES = Path(__file__).parent / "pictures"
WIDE, SMALL = Camera(640, 320), Camera(480, 240)

HERO = (
    ("town", 560.0, 5, "rainy", "day"),
    ("meadow", 905.0, 4, "sunny", "dusk"),
    ("mountain", 700.0, 7, "snowy", "day"),
    ("meadow", 640.0, 4, "foggy", "day"),
    ("town", 560.0, 5, "sunny", "night"),
)


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


def counterfactuals() -> Image:
    """Scenes before and after one change."""
    pairs = [Pair(title, frame_of(scene), frame_of(change(scene))) for title, scene, change in _changes()]
    return pair_sheet(pairs, scale=1.25)


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


def hero() -> Image:
    """Six scenes side by side."""
    tiles = [Tile(render(busy_scene(), WIDE).image)]
    for track, s, seed, sky, time in HERO:
        scene = make_scene(track, s, seed=seed, traffic=1.6, conditions=Conditions(sky, time=time))
        tiles.append(Tile(render(scene, WIDE).image))
    return contact_sheet(tiles, columns=3)


def weather() -> Image:
    """One place under every weather at every time of day."""
    scene = make_scene("town", 600.0, seed=3, traffic=1.6)
    tiles = []
    for sky in WEATHERS:
        for time in TIMES:
            picture = render(scene.replace(conditions=Conditions(sky, time=time)), SMALL)
            tiles.append(Tile(picture.image, f"{sky}, {time}"))
    return contact_sheet(tiles, columns=3)


def seasons() -> Image:
    """Three places in every season, and winter under three other skies."""
    places = (("mountain", 300.0, 2), ("town", 40.0, 1), ("meadow", 700.0, 3))
    tiles = []
    for track, s, seed in places:
        for season in SEASONS:
            scene = make_scene(track, s, seed=seed, traffic=1.6, conditions=Conditions(season=season))
            tiles.append(Tile(render(scene, SMALL).image, season))
    skies = (("sunny", "dusk"), ("sunny", "night"), ("snowy", "day"), ("rainy", "day"))
    for weather, time in skies:
        scene = make_scene(
            "village", 500.0, seed=1, conditions=Conditions(weather, time=time, season="winter")
        )
        tiles.append(Tile(render(scene, SMALL).image, f"winter, {weather}, {time}"))
    return contact_sheet(tiles, columns=4)


def tracks() -> Image:
    """Four places on each track."""
    tiles = [
        Tile(render(make_scene(track, s, seed=2, traffic=1.6), SMALL).image, f"{track}, {s:.0f} m")
        for track, places in {
            "meadow": (20, 300, 560, 900),
            "town": (20, 275, 560, 933),
            "mountain": (58, 400, 700, 1050),
            "coast": (20, 420, 640, 980),
            "village": (60, 300, 560, 900),
        }.items()
        for s in places
    ]
    return contact_sheet(tiles, columns=4)


def rule_violations() -> Image:
    """The worst violations of the first rule of the paper."""
    rule = "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down."
    with TemporaryDirectory() as folder:
        few = ("-o", "seed=5", "--sample", "60", "--worst", "4", "--out", f"{folder}/rules")
        done = CliRunner().invoke(app, ["rules", "run", "--model", "dave2", "--rule", rule, *few])
        assert done.exit_code in (0, 1), done.output
        return read_image(next((Path(folder) / "rules" / "sheets").iterdir()))


def coverage_search() -> Iterator[tuple[str, Image]]:
    """How searches on the world grow beside each other, and the most different findings of one."""
    few = ("--data", "world", "--sample", "20", "--seed", "3")
    with TemporaryDirectory() as folder:
        for command in (
            ("study", "guided", *few, "--tries", "400", "--out", f"{folder}/study"),
            ("search", *few, "--tries", "200", "--worst", "5", "--deepest", "4", "--out", f"{folder}/search"),
        ):
            done = CliRunner().invoke(app, ["coverage", *command])
            assert done.exit_code in (0, 1), done.output
        yield "coverage-growth", read_image(Path(folder) / "study" / "guided-dave2.png")
        yield "coverage-findings", read_image(Path(folder) / "search" / "findings.png")


def pictures() -> Iterator[tuple[str, Image]]:
    """Every picture with its name."""
    yield "hero", hero()
    yield "weather", weather()
    yield "seasons", seasons()
    yield "tracks", tracks()
    yield "ground-truth", ground_truth_sheet()
    yield "counterfactuals", counterfactuals()
    yield "rule-violations", rule_violations()
    yield from coverage_search()


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, image in pictures():
        write_image(PICTURES / f"{name}.jpg", image)


if __name__ == "__main__":
    main()
