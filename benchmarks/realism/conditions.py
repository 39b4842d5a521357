"""Weather, light and season made by transforms, beside the world's own render of the same scene in them.

Clear days of the world are changed by the transform and compared with the world's counterfactual, which only
the renderer knows. The baseline is the unchanged frame; "nearer" is the share of its distance that is gone:
100% would be the render itself, 0% no better than doing nothing. Streaks and flakes of the render fall
elsewhere than those of the transform, so no transform reaches 100%: "floor" is the distance between two
renders that differ in their random numbers only. The columns of parts say how much nearer the sky, the road,
the ground beside it and what stands there came; "image only" says it for transforms that know neither labels
nor depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.transforms import make_transform
from roadworthy.visual_change import look_distance, ssim
from roadworthy.world import TRACK_NAMES, Camera, Scene, frame_of, make_scene, with_conditions

CAMERA = Camera(480, 240)
PLACES = [(track, s) for track in TRACK_NAMES for s in (40.0, 230.0, 420.0, 610.0, 800.0)]
SEEDS = (1, 2)
LEVELS = ("light", "normal", "heavy")
TIMES = ("dusk", "night")
SEASONS = ("winter",)
WEATHERS = {"fog": "foggy", "rain": "rainy", "snow": "snowy", "cloudy": "cloudy"}
# The world's camera has a dry lens.
SETTINGS: Mapping[str, Mapping[str, float]] = {"rain": {"lens": 0.0}}
PARTS = {
    "sky": ("sky",),
    "road": ("road", "line", "crosswalk", "stop and yield line"),
    "verge": ("sidewalk", "terrain"),
    "things": ("object", "pole", "traffic sign", "traffic light"),
}
LEAST_PART = 400  # pixels


@dataclass(frozen=True)
class Score:
    """How near a changed frame came to the render, and how near the unchanged frame was.

    Attributes:
        distance: Of the changed frame.
        baseline: Of the unchanged frame.
        similarity: SSIM of the changed frame.
        baseline_similarity: SSIM of the unchanged frame.
        parts: Distance and baseline of each part that is large enough.
    """

    distance: float
    baseline: float
    similarity: float
    baseline_similarity: float
    parts: Mapping[str, tuple[float, float]]


def score(clear: Frame, changed: Image, truth: Image) -> Score:
    """Return how near a changed frame came to the render."""
    assert clear.labels is not None
    masks = {name: clear.labels.mask(*classes) for name, classes in PARTS.items()}
    return Score(
        look_distance(changed, truth),
        look_distance(clear.image, truth),
        ssim(changed, truth),
        ssim(clear.image, truth),
        {
            name: (look_distance(changed, truth, mask), look_distance(clear.image, truth, mask))
            for name, mask in masks.items()
            if np.count_nonzero(mask) > LEAST_PART
        },
    )


def under(scene: Scene, name: str, level: str) -> Scene:
    """Return the scene in the weather or the season, or at the time, that a transform makes."""
    if name in TIMES:
        return with_conditions(scene, time=name)
    if name in SEASONS:
        return with_conditions(scene, season=name)
    return with_conditions(scene, weather=WEATHERS[name], level=level)


def scores(name: str, level: str, *, known: bool = True) -> list[Score]:
    """Return the scores of one condition; without `known` the transform sees the image alone."""
    transform = make_transform(f"{name}:{level}", **SETTINGS.get(name, {}))
    found = []
    for scene in _scenes():
        clear = frame_of(scene, CAMERA)
        truth = frame_of(under(scene, name, level), CAMERA).image
        given = clear if known else Frame(clear.id, clear.image, metadata=clear.metadata)
        found.append(score(clear, transform(given, scene.seed, measure=False).image, truth))
    return found


def _scenes() -> Iterator[Scene]:
    for track, s in PLACES:
        for seed in SEEDS:
            yield make_scene(track, s, seed=seed)


def _floor(name: str, level: str) -> tuple[float, float]:
    """Return distance and SSIM of renders that differ in their random numbers only."""
    apart = []
    for scene in _scenes():
        changed = under(scene, name, level)
        one, other = (
            frame_of(changed.replace(seed=seed), CAMERA).image for seed in (scene.seed, scene.seed + 17)
        )
        apart.append((look_distance(one, other), ssim(one, other)))
    distance, similarity = np.mean(apart, axis=0).tolist()
    return distance, similarity


def _row(name: str, level: str) -> list[str]:
    found, blind = scores(name, level), scores(name, level, known=False)
    distance, baseline = np.mean([(one.distance, one.baseline) for one in found], axis=0)
    alike, before = np.mean([(one.similarity, one.baseline_similarity) for one in found], axis=0)
    floor, floor_alike = _floor(name, level)
    cells = [f"{distance:.3f}", f"{baseline:.3f}", f"{floor:.3f}", f"{1 - distance / baseline:.0%}"]
    cells += [f"{alike:.3f}", f"{before:.3f}", f"{floor_alike:.3f}"]
    for part in PARTS:
        mine, yours = np.mean([one.parts[part] for one in found if part in one.parts], axis=0)
        cells.append(f"{1 - mine / yours:.0%}")
    mine, yours = np.mean([(one.distance, one.baseline) for one in blind], axis=0)
    return [*cells, f"{1 - mine / yours:.0%}"]


def main() -> None:
    count = len(PLACES) * len(SEEDS)
    print(f"Weather, light and season: {count} frames of the world each, {CAMERA.width}×{CAMERA.height}\n")
    heads = ("distance", "unchanged", "floor", "nearer", "SSIM", "unchanged", "floor", *PARTS, "image only")
    print(f"{'':>14} " + " ".join(f"{head:>10}" for head in heads))
    for name in (*WEATHERS, *TIMES, *SEASONS):
        for level in LEVELS if name in WEATHERS else ("normal",):
            print(f"{name + ' ' + level:>14} " + " ".join(f"{cell:>10}" for cell in _row(name, level)))
    print()
