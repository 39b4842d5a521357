"""Learned engines on real frames, where nobody knows the truth: how what they make differs from what is real.

- What is painted into a frame, beside what it should look like: the road around a line that was removed, the
  trees of the same data for a building that became one. Told are the gap in colour, in grey levels, and how
  much fine detail there is, as a multiple of what is real. 0 and 1 are best.
- Another time of day: the Fréchet distance to real frames of it, in the features of the shipped detector.

ROADWORTHY_ENGINES names the engines file, ROADWORTHY_CAMVID the folder of CamVid, whose drive 0001TP is the
one at dusk. ROADWORTHY_FRAMES is how many frames of the others are changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.training.engines.losses import feature_network, frechet_distance, pooled
from roadworthy.training.engines.pairs import interval
from roadworthy.transforms import ReplaceOperation, Transform, read_engines, transform_for
from roadworthy.transforms.learned import LearnedEngine

FRAMES = int(os.environ.get("ROADWORTHY_FRAMES", "100"))
DUSK = "0001TP"
AROUND = 9  # pixels around what was painted that are looked at
LEAST = 200  # pixels, for a mean that says something

Mask = NDArray[np.bool_]
Look = tuple[NDArray[np.float64], float]


def _look(image: Image, where: Mask) -> Look | None:
    """Return the mean colour and the amount of fine detail somewhere."""
    if np.count_nonzero(where) < LEAST:
        return None
    detail = np.abs(cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.CV_32F))
    return image[where].mean(0), float(detail[where].mean())


def _inner(where: Mask) -> Mask:
    """Return a part without its rim, where fine detail would be that of the boundary."""
    return cv2.erode(where.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0


def _road_around(frame: Frame, painted: Mask) -> Look | None:
    assert frame.labels is not None
    near = cv2.dilate(painted.astype(np.uint8), np.ones((2 * AROUND + 1,) * 2, np.uint8)) > 0
    return _look(frame.image, near & ~painted & _inner(frame.labels.mask("road")))


def _trees(frames: Sequence[Frame]) -> Look:
    found = [_look(one.image, _inner(one.labels.mask("tree"))) for one in frames if one.labels is not None]
    known = [one for one in found if one is not None]
    return np.mean([one[0] for one in known], 0), float(np.mean([one[1] for one in known]))


def _told(values: Sequence[float]) -> str:
    if not values:
        return "none"
    low, high = interval(np.array(values))
    return f"{np.mean(values):.2f} ({low:.2f} to {high:.2f})"


def _print_painted(makers: Mapping[str, Transform], frames: Sequence[Frame], *, trees: bool) -> None:
    real_trees = _trees(frames) if trees else None
    for name, change in makers.items():
        gaps, details = [], []
        for number, frame in enumerate(frames):
            try:
                made = change(frame, number, measure=False)
            except NotApplicable:
                continue
            assert frame.labels is not None
            painted = frame.labels.mask("line")
            if trees:
                assert made.labels is not None
                painted = made.labels.mask("tree") & ~frame.labels.mask("tree")
            real = real_trees or _road_around(frame, painted)
            look = _look(made.image, _inner(painted) if trees else painted)
            if real is not None and look is not None:
                gaps.append(float(np.abs(look[0] - real[0]).mean()))
                details.append(look[1] / real[1])
        print(f"    {name:>24} {len(gaps):>7} {_told(gaps):>24} {_told(details):>24}")


def _features(images: Sequence[Image]) -> NDArray[np.float64]:
    network = feature_network()
    small = (cv2.resize(one, (320, 240)) for one in images)
    stack = [torch.from_numpy(one).permute(2, 0, 1)[None] / 127.5 - 1 for one in small]
    return np.concatenate([pooled(network, one) for one in stack])


def _print_time(makers: Mapping[str, Transform], frames: Sequence[Frame], real: Sequence[Frame]) -> None:
    there = _features([one.image for one in real])
    for name, change in makers.items():
        made = [change(one, number, measure=False).image for number, one in enumerate(frames)]
        print(f"    {name:>24} {len(made):>7} {frechet_distance(_features(made), there):>24.2f}")
    unchanged = frechet_distance(_features([one.image for one in frames]), there)
    print(f"    {'unchanged':>24} {len(frames):>7} {unchanged:>24.2f}")


def main() -> None:
    data = load(f"camvid:{os.environ['ROADWORTHY_CAMVID']}")
    day = [one for one in data if not one.id.startswith(DUSK)]
    dusk = [one for one in data if one.id.startswith(DUSK)]
    some = [day[number] for number in np.linspace(0, len(day) - 1, min(FRAMES, len(day))).round().astype(int)]
    for engine in read_engines(os.environ["ROADWORTHY_ENGINES"]):
        assert isinstance(engine, LearnedEngine)
        for support in engine.supported:
            operation = support.asked()
            assert operation is not None
            makers = {"learned": engine.transform(operation), "built in": transform_for(operation)}
            print(f"\n{engine.name}: {operation.element}")
            if isinstance(operation, ReplaceOperation) and operation.element == "time":
                print(f"    {'':>24} {'frames':>7} {'Fréchet distance':>24}")
                _print_time(makers, some, dusk)
            elif operation.element in {"line", "building"}:
                print(f"    {'':>24} {'frames':>7} {'gap in colour':>24} {'detail':>24}")
                _print_painted(makers, some, trees=operation.element == "building")
            else:
                print("    nothing real to compare with")
