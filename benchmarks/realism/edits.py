"""Things removed and replaced by transforms, beside the world's own render of the scene without them.

Everything is measured inside the region in which the render of the changed scene differs from that of the
scene as it was: what the thing covered, and its shadow. The baselines are the unchanged frame and OpenCV's
inpainting after Telea over the same region that the transform paints anew. "nearer" is the share of the
unchanged frame's distance that is gone. "labels" is the share of right ones among the label pixels that the
edit or the truth changes, "region" the share of the image that the edit declares to change, "outside" whether
every pixel outside that region stayed as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from roadworthy.datasets.world import WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image, Mask
from roadworthy.transforms import ObjectEdit, Remove, Replace
from roadworthy.visual_change import look_distance, ssim
from roadworthy.world import Camera, Scene, add, frame_of, remove, replace

CAMERA = Camera(480, 240)
COUNT = 60
REMOVED = (
    "line", "crosswalk", "vehicle", "pedestrian", "bicyclist", "traffic sign", "traffic light", "tree",
    "building",
)  # fmt: skip
REPLACED = (
    ("building", "tree"), ("tree", "building"), ("red light", "green light"), ("car", "truck"),
    ("pedestrian", "bicyclist"), ("stop sign", "yield sign"),
)  # fmt: skip
RARE = ("red light", "stop sign")


@dataclass(frozen=True)
class Score:
    """How near one edited frame comes to the truth, inside what should change, and that of the baselines."""

    distance: float
    unchanged: float
    telea: float
    similarity: float
    unchanged_similarity: float
    telea_similarity: float
    labels: float
    region: float
    untouched: float


def _score(before: Frame, edited: Frame, truth: Frame, region: Mask) -> Score | None:
    differs = np.any(before.image != truth.image, axis=2)
    assert before.labels is not None
    assert edited.labels is not None
    assert truth.labels is not None
    changed = before.labels.ids != truth.labels.ids
    differs |= changed
    if np.count_nonzero(differs) < 40:
        return None
    radius = max(2, CAMERA.width // 160)
    telea = cv2.inpaint(before.image, region.astype(np.uint8), radius, cv2.INPAINT_TELEA)

    def alike(image: Image) -> float:
        return ssim(image, truth.image, differs)

    def apart(image: Image) -> float:
        return look_distance(image, truth.image, differs)

    touched = changed | (before.labels.ids != edited.labels.ids)
    same = np.mean(edited.labels.ids[touched] == truth.labels.ids[touched]) if touched.any() else 1.0
    outside = ~region
    return Score(
        apart(edited.image),
        apart(before.image),
        apart(np.asarray(telea, np.uint8)),
        alike(edited.image),
        alike(before.image),
        alike(np.asarray(telea, np.uint8)),
        float(same),
        float(np.mean(region)),
        float((edited.image[outside] == before.image[outside]).all()),
    )


def scores(
    transform: ObjectEdit, change: Callable[[Scene], Scene], rare: str = ""
) -> tuple[list[Score], Counter[str]]:
    """Return the scores of the frames that qualify, and why the others do not.

    What is rare in the world is put into every scene.
    """
    data = WorldDataset("all", count=COUNT, size=(CAMERA.width, CAMERA.height), seed=4)
    found: list[Score] = []
    reasons: Counter[str] = Counter()
    for number in range(COUNT):
        scene = data.scene(number)
        if rare:
            scene = add(scene, rare, ahead=9 + number % 20, place="kerb")
        before = frame_of(scene, CAMERA)
        try:
            edited = transform(before, number, measure=False)
        except NotApplicable as error:
            reasons[error.reason] += 1
            continue
        region = transform.region(before, number)
        score = _score(before, edited, frame_of(change(scene), CAMERA), region)
        if score is not None:
            found.append(score)
    return found, reasons


def _cases() -> Mapping[str, tuple[ObjectEdit, Callable[[Scene], Scene]]]:
    cases: dict[str, tuple[ObjectEdit, Callable[[Scene], Scene]]] = {}
    for what in REMOVED:
        cases[f"remove {what}"] = (Remove(element=what), partial(remove, what=what))
    for what, by in REPLACED:
        cases[f"{what} → {by}"] = (Replace(element=what, by=by), partial(replace, what=what, by=by))
    return cases


def main() -> None:
    print(
        f"Edits: {COUNT} frames of the world each, {CAMERA.width}×{CAMERA.height}, where the truth changes\n"
    )
    columns = (
        "frames", "distance", "unchanged", "telea", "nearer", "SSIM", "unchanged", "telea", "labels",
        "region", "outside",
    )  # fmt: skip
    print(f"{'':>24} " + " ".join(f"{name:>9}" for name in columns))
    for name, (transform, change) in _cases().items():
        found, reasons = scores(transform, change, next((one for one in RARE if one in name), ""))
        if found:
            mean = {
                key: float(np.mean([getattr(one, key) for one in found])) for key in Score.__annotations__
            }
            row = [
                f"{len(found)}",
                *(f"{mean[key]:.3f}" for key in ("distance", "unchanged", "telea")),
                f"{1 - mean['distance'] / mean['unchanged']:.0%}",
                *(f"{mean[key]:.3f}" for key in ("similarity", "unchanged_similarity", "telea_similarity")),
                f"{mean['labels']:.0%}",
                f"{mean['region']:.1%}",
                "same" if mean["untouched"] == 1 else "CHANGED",
            ]
            print(f"{name:>24} " + " ".join(f"{cell:>9}" for cell in row))
        for reason, count in reasons.most_common():
            print(f"{'':>24} {count:>9} not applicable: {reason}")
    print()
