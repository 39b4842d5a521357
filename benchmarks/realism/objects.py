"""Things added by the transform, beside the world's own, and where they stand in made and in real frames.

For the truth, the ground point on which a cut-out stands is found in the world, and the world puts the very
thing that the cut-out shows there. Everything is measured inside the region in which either of the two
differs from the frame as it was. The real frames are those of ``../shared/data``; without them they are
left out.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import adding
from roadworthy.datasets import load
from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.transforms import Add, Transform, make_transform
from roadworthy.transforms.objects.cutting import harvest
from roadworthy.transforms.objects.request import Request, plan_of
from roadworthy.transforms.objects.surroundings import OCCUPYING
from roadworthy.transforms.perspective import Perspective
from roadworthy.visual_change import look_distance, ssim
from roadworthy.world import TRACK_NAMES, Camera, Scene, WorldObject, frame_of
from roadworthy.world.scene import FIRST_ACTOR_ID, Details

CAMERA = Camera(480, 240)
COUNT = 60
CASES: Mapping[str, dict[str, str]] = {
    "pedestrian": {"element": "pedestrian"},
    "car ahead": {"element": "car", "reference": "lane"},
    "car at roadside": {"element": "car"},
    "truck ahead": {"element": "truck", "reference": "lane"},
    "bicyclist": {"element": "bicyclist"},
    "traffic sign": {"element": "traffic sign"},
    "traffic light": {"element": "traffic light"},
    "tree": {"element": "tree"},
}
SKIES: Mapping[str, dict[str, str]] = {
    "sunny": {},
    "cloudy": {"weather": "cloudy"},
    "fog": {"weather": "foggy"},
    "rain": {"weather": "rainy"},
    "snow": {"weather": "snowy"},
    "dusk": {"time": "dusk"},
    "night": {"time": "night"},
}
Note = Mapping[str, Any]
"""What the transform says about a thing that it added."""
REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@dataclass(frozen=True)
class Score:
    """How near one added thing comes to the world's own: distances, shares of overlap and sizes."""

    distance: float
    unchanged: float
    similarity: float
    unchanged_similarity: float
    overlap: float
    size: float
    brightness: float
    outside: bool


def main() -> None:
    _print_truth()
    _print_places()
    _print_yields()
    _print_perspective()
    adding.main()


def true_scene(scene: Scene, note: Note) -> Scene:
    """Return the scene with the thing that was added, where its cut-out stands in the frame."""
    left, _, right, bottom = note["box"]
    distance, element = note["distance"], note["element"]
    details = _details(note["cut_out"], element, note["properties"])
    view, projection = scene.view(CAMERA), CAMERA.projection()
    if element == "vehicle":
        # Its near end stands there, its middle farther away.
        distance += _LENGTHS[details["kind"]] / 2
    # The middle of a cut-out is that of the thing; feet may be one before the other.
    across = ((left + right) / 2 - 0.5 - projection.centre[0]) / projection.focal
    down = (bottom - 0.5 - projection.centre[1]) / projection.focal
    x, y, _ = view.origin + distance * (np.array([across, down, 1.0]) @ view.rotation)
    s, d = scene.track.locate(float(x), float(y), near=scene.s)
    number = max([FIRST_ACTOR_ID, *(actor.id + 1 for actor in scene.actors)])
    return scene.replace(actors=(*scene.actors, WorldObject(number, element, s, d, **details)))


_LENGTHS = {"car": 4.3, "van": 5.2, "truck": 8.2, "school bus": 9.0}


def _details(name: str, element: str, properties: Mapping[str, str]) -> Details:
    number = int(found[1]) if (found := re.search(r"-(\d+)$", name)) else 0
    match element:
        case "vehicle":
            yaw = math.pi if "-toward-" in name else 0.0
            return {"kind": properties["type"], "color": properties["color"], "yaw": yaw}
        case "traffic sign":
            value: Details = {"value": number} if properties["type"] == "speed limit" else {}
            return {"kind": properties["type"], **value}
        case "traffic light":
            return {"kind": properties["color"]}
        case "tree":
            return {"kind": name.partition("-")[0], "look": number}
    return {"look": number}


def score(before: Frame, added: Frame, truth: Frame, declared: Mask) -> Score | None:
    assert before.labels is not None
    assert added.labels is not None
    assert truth.labels is not None
    ours = added.labels.ids != before.labels.ids
    theirs = truth.labels.ids != before.labels.ids
    region = np.any(added.image != before.image, axis=2) | (np.abs(_grey(truth) - _grey(before)) > 3)
    if np.count_nonzero(theirs) < 20:
        return None
    rows, columns = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    around = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    mine, true = (_grey(one)[mask].mean() for one, mask in ((added, ours), (truth, theirs)))
    return Score(
        look_distance(added.image, truth.image, region),
        look_distance(before.image, truth.image, region),
        ssim(added.image[around], truth.image[around]),
        ssim(before.image[around], truth.image[around]),
        float(np.count_nonzero(ours & theirs) / np.count_nonzero(ours | theirs)),
        _height(ours) / _height(theirs),
        float(mine / max(true, 1.0)),
        bool((added.image[~declared] == before.image[~declared]).all()),
    )


def _grey(frame: Frame) -> NDArray[np.float32]:
    return cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY).astype(np.float32)


def _height(mask: NDArray[np.bool_]) -> float:
    rows = np.flatnonzero(mask.any(axis=1))
    return float(rows[-1] - rows[0] + 1)


def _last(frame: Frame) -> Note:
    added = frame.metadata["added"]
    assert isinstance(added, tuple)
    note: Note = added[-1]
    return note


def _add(element: str, reference: str = "roadside") -> Add:
    return Add(element=element, reference=reference)


def scores(add: Add, sky: Mapping[str, str], *, depth: bool = True) -> list[Score]:
    """Return the scores of an addition to frames of the world, whose depth the transform may not be given."""
    size = (CAMERA.width, CAMERA.height)
    weather, hour = sky.get("weather", "sunny"), sky.get("time", "day")
    data = WorldDataset("all", count=COUNT, size=size, seed=4, weather=weather, time=hour)
    found = []
    for number in range(COUNT):
        scene = data.scene(number)
        before = frame_of(scene, CAMERA)
        given = before if depth else before.replace(depth=None)
        try:
            added = add(given, number, measure=False)
        except NotApplicable:
            continue
        if _last(added)["mirrored"] and _last(added)["element"] != "vehicle":
            continue  # the world has no mirror images to compare it with
        truth = frame_of(true_scene(scene, _last(added)), CAMERA)
        one = score(before, added, truth, add.region(given, number))
        if one is not None:
            found.append(one)
    return found


def _print_truth() -> None:
    print(f"Added things beside the world's own: {COUNT} frames each, {CAMERA.width}×{CAMERA.height}\n")
    columns = (
        "frames",
        "distance",
        "unchanged",
        "nearer",
        "SSIM",
        "unchanged",
        "overlap",
        "size",
        "bright",
        "outside",
    )
    print(f"{'':>26} " + " ".join(f"{name:>9}" for name in columns))
    rows: list[tuple[str, list[Score]]] = [(name, scores(_add(**case), {})) for name, case in CASES.items()]
    rows.append(("pedestrian, labels only", scores(Add(), {}, depth=False)))
    rows += [(f"pedestrian, {name}", scores(Add(), sky)) for name, sky in SKIES.items() if sky]
    for name, found in rows:
        middle = {
            key: float(np.median([getattr(one, key) for one in found])) for key in Score.__annotations__
        }
        cells = [
            f"{len(found)}", f"{middle['distance']:.3f}", f"{middle['unchanged']:.3f}",
            f"{1 - middle['distance'] / middle['unchanged']:.0%}", f"{middle['similarity']:.3f}",
            f"{middle['unchanged_similarity']:.3f}", f"{middle['overlap']:.2f}", f"{middle['size']:.3f}",
            f"{middle['brightness']:.2f}", "same" if all(one.outside for one in found) else "CHANGED",
        ]  # fmt: skip
        print(f"{name:>26} " + " ".join(f"{cell:>9}" for cell in cells))
    print()


@dataclass
class Places:
    """Where things were placed in some frames."""

    frames: int = 0
    placed: int = 0
    on_ground: int = 0
    free: int = 0
    foot_share: float = 0.0
    reasons: Counter[str] | None = None


def places(
    frames: Iterable[Frame], transform: Transform, request: Request, seeds: Sequence[int] = (0,)
) -> Places:
    """Return how many frames qualify, and on what the things that were added stand."""
    result = Places(reasons=Counter())
    allowed = plan_of(request).ground
    for number, frame in enumerate(frames):
        for seed in seeds:
            result.frames += 1
            try:
                added = transform(frame, 1000 * seed + number, measure=False)
            except NotApplicable as error:
                assert result.reasons is not None
                result.reasons[error.reason] += 1
                continue
            ground, covered = standing(frame, added, allowed)
            result.placed += 1
            result.foot_share += ground
            result.on_ground += ground >= 0.95
            result.free += covered == 0
    return result


def standing(before: Frame, added: Frame, allowed: tuple[str, ...]) -> tuple[float, int]:
    """Return the share of foot pixels on allowed classes, and how many pixels of other things are covered.

    The feet are what is new in the lowest 3% of the thing's rows; the old label map says what is there.
    """
    assert before.labels is not None
    assert added.labels is not None
    new = added.labels.ids != before.labels.ids
    rows = np.flatnonzero(new.any(axis=1))
    lowest = slice(rows[-1] + 1 - max(1, round(0.03 * (rows[-1] - rows[0]))), rows[-1] + 1)
    feet = before.labels.mask(*allowed)[lowest][new[lowest]]
    return float(feet.mean()), int(np.count_nonzero(before.labels.mask(*OCCUPYING) & new))


def _print_places() -> None:
    print("Where added pedestrians stand\n")
    columns = ("tries", "placed", "yield", "on allowed", "feet", "no overlap")
    print(f"{'':>34} " + " ".join(f"{name:>10}" for name in columns))
    data: dict[str, Iterable[Frame]] = {"world": load("world", count=120, weather="all", time="all")}
    galleries = {"shipped": "shipped"}
    with tempfile.TemporaryDirectory() as folder:
        if REAL.is_dir():
            camvid = load(f"camvid:{REAL / 'camvid'}")
            data |= {"camvid": camvid, "a2d2": load(f"a2d2:{REAL / 'a2d2'}")}
            data["a2d2, 320×160"] = load(f"a2d2:{REAL / 'a2d2'}", prepare="paper")
            harvest(camvid, ["pedestrian"], source="camvid").gallery().save(folder)
            galleries["harvested from camvid"] = folder
        for name, frames in data.items():
            for title, gallery in galleries.items():
                seeds = range(5) if name.startswith("a2d2") else (0,)
                found = places(
                    frames, make_transform("add", gallery=gallery), Request("pedestrian"), list(seeds)
                )
                cells = [
                    f"{found.frames}", f"{found.placed}", f"{found.placed / found.frames:.1%}",
                    f"{found.on_ground / found.placed:.1%}", f"{found.foot_share / found.placed:.1%}",
                    f"{found.free / found.placed:.1%}",
                ]  # fmt: skip
                print(f"{name + ', ' + title:>34} " + " ".join(f"{cell:>10}" for cell in cells))
                for reason, count in (found.reasons or Counter()).most_common():
                    print(f"{'':>34} {count:>10} {reason}")
    print()


def _print_yields() -> None:
    """Print how many frames offer a place to each thing."""
    data: dict[str, list[Frame]] = {"world": list(load("world", count=60, weather="all", time="all"))}
    if REAL.is_dir():
        camvid = load(f"camvid:{REAL / 'camvid'}")
        data["camvid"] = [camvid[number] for number in range(0, len(camvid), 5)]
    print(
        "Frames that offer a place: "
        + ", ".join(f"{len(one)} of {name}" for name, one in data.items())
        + "\n"
    )
    for name, case in CASES.items():
        transform, cells = make_transform("add", **case), []
        for frames in data.values():
            placed = 0
            for number, frame in enumerate(frames):
                try:
                    placed += transform(frame, number, measure=False) is not None
                except NotApplicable:
                    continue
            cells.append(f"{placed / len(frames):>10.0%}")
        print(f"{name:>26} " + " ".join(cells))
    print()


def _print_perspective() -> None:
    """Print by how much the horizon found without depth differs from that of the plane fitted to depth."""
    print("Horizon without depth, 320×160: difference in rows from the plane of the road\n")
    for track in TRACK_NAMES:
        frames = list(load(f"world:{track}", count=40))
        truth = [Perspective.of(frame).horizon for frame in frames]
        for name, hidden in {
            "labels and boxes": {},
            "labels only": {"boxes": None, "instances": None},
        }.items():
            found = [Perspective.of(frame.replace(depth=None, **hidden)).horizon for frame in frames]
            apart = np.abs(np.subtract(found, truth))
            print(
                f"{track + ', ' + name:>26}  median {np.median(apart):.1f}, nine of ten below "
                f"{np.percentile(apart, 90):.1f}, most {apart.max():.1f}"
            )
    print()
