"""Sheets of changed real frames, for people to count what they believe.

::

    python -m benchmarks.realism.sheets FOLDER [--kind person] [--data ch2] [--frames 30] [--part 0]

Each case is a changed frame beside the changed part, enlarged, before and after. Only what a run would judge
is shown: what the transform makes and the gate lets pass. ``index.csv`` says what each case is, and
``refused.csv`` why others were not made or not judged. Frames are spread over each data set; `part` chooses
others beside them, so that nobody is shown what constants were set on.

The frames are those of ``../shared/data``. The sheets show them, so they belong nowhere else.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from benchmarks.realism.objects import REAL
from roadworthy.datasets import ChosenFrames, load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.labelling import as_needed
from roadworthy.runs.gate import FrameChange, Gate
from roadworthy.transforms import parse_transform

KINDS: Mapping[str, str] = {
    "person": "add(element=pedestrian)",
    "car-ahead": "add:vehicle-ahead(element=car, realism=any)",
    "no-vehicles": "remove(element=vehicle, realism=any)",
    "no-people": "remove(element=pedestrian)",
    "no-lines": "remove(element=line)",
    "no-signs": "remove(element=traffic sign)",
    "trees-for-houses": "replace(element=building, by=tree, realism=any)",
}
DATA: Mapping[str, tuple[str, dict[str, str]]] = {
    "ch2": ("udacity-ch2:udacity_ch2", {}),
    "hmb1": ("folder:udacity_hmb1/frames", {}),
    "camvid": ("camvid:camvid", {}),
    "camvid-estimated": ("folder:camvid/images", {}),
    "a2d2": ("a2d2:a2d2", {}),
    "kitti": ("kitti:kitti/frames", {}),
}
USUAL = ("person", "no-people", "no-lines", "no-signs")
AFTER, PART = 560, 290
"""Pixels: the width of a changed frame on a sheet, and of an enlarged part."""
HIGH = 2 * PART + 4
ACROSS, DOWN = 2, 2
LEAST_PART = 0.22
"""Of an image's width: an enlarged part shows at least so much of it."""


class Shown(NamedTuple):
    """A changed frame that is judged."""

    data: str
    before: Frame
    after: Frame
    seed: int

    def words(self) -> str:
        """What it is: the data, the frame, and how far away what was added is."""
        notes: Any = self.after.metadata.get("added") or [{}]
        far = f", {notes[-1]['distance']:.0f} m" if "distance" in notes[-1] else ""
        return f"{self.data} {self.before.id}, seed {self.seed}{far}"


def frames_of(name: str, count: int, part: int) -> Iterator[tuple[int, Frame]]:
    """Yield frames that are spread over a data set, each with the seed that it is changed by."""
    reference, options = DATA[name]
    kind, _, place = reference.partition(":")
    data = load(f"{kind}:{REAL / place}", **options)
    step = len(data) / min(count, len(data))
    shift = part % max(1, int(step)) if step < 10 else 3 + part % 7
    numbers = [int(step * index) for index in range(min(count, len(data)))]
    numbers = [min(len(data) - 1, (one - one % 10 if step >= 10 else one) + shift) for one in numbers]
    chosen = ChosenFrames(name, data, tuple(numbers), estimator=as_needed)
    yield from zip(numbers, chosen, strict=True)


def changed(kind: str, names: Sequence[str], count: int, part: int) -> Iterator[Shown | tuple[str, str, str]]:
    """Yield what is judged, and of all else the data, the frame and the reason."""
    transform, gate = parse_transform(KINDS[kind]), Gate()
    for name in names:
        for number, frame in frames_of(name, count, part):
            try:
                after = transform(frame, number, measure=False)
            except NotApplicable as error:
                yield name, frame.id, error.reason
                continue
            before = frame.with_known("labels")
            (refusal,) = gate.refusals([FrameChange(before, after, (transform,))])
            if refusal:
                yield name, frame.id, f"gate: {refusal}"
            else:
                yield Shown(name, before, after, number)


def _window(one: Shown) -> tuple[slice, slice]:
    """Return the changed part with something around it, as a square inside the image where it fits."""
    differs = cv2.absdiff(one.before.image, one.after.image).max(axis=2) > 6
    left, top, wide, high = cv2.boundingRect(differs.astype(np.uint8))
    side = int(min(max(1.5 * max(wide, high), LEAST_PART * one.before.width), *differs.shape))
    x = int(np.clip(left + wide / 2 - side / 2, 0, one.before.width - side))
    y = int(np.clip(top + high / 2 - side / 2, 0, one.before.height - side))
    return slice(y, y + side), slice(x, x + side)


def _fitted(image: Image, wide: int, high: int) -> Image:
    scale = min(wide / image.shape[1], high / image.shape[0])
    size = round(image.shape[1] * scale), round(image.shape[0] * scale)
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    made = np.full((high, wide, 3), 40, np.uint8)
    made[: size[1], : size[0]] = cv2.resize(image, size, interpolation=method)
    return made


def _tile(number: int, one: Shown) -> Image:
    window = _window(one)
    parts = [_fitted(image[window], PART, PART) for image in (one.before.image, one.after.image)]
    seam = np.full((4, PART, 3), 255, np.uint8)
    tile = np.hstack([_fitted(one.after.image, AFTER, HIGH), np.vstack([parts[0], seam, parts[1]])])
    head = np.full((26, tile.shape[1], 3), 255, np.uint8)
    cv2.putText(head, f"{number}: {one.words()}", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1)
    whole = cv2.copyMakeBorder(np.vstack([head, tile]), 0, 8, 0, 8, cv2.BORDER_CONSTANT, value=(255,) * 3)
    return np.asarray(whole, np.uint8)


def write(folder: Path, kind: str, names: Sequence[str], count: int, part: int) -> None:
    """Write the sheets of a kind, and say in the index what is on them."""
    found = list(changed(kind, names, count, part))
    shown = [one for one in found if isinstance(one, Shown)]
    left_out = [one for one in found if not isinstance(one, Shown)]
    folder.mkdir(parents=True, exist_ok=True)
    each = ACROSS * DOWN
    with (folder / "index.csv").open("a", newline="") as index:
        for start in range(0, len(shown), each):
            tiles = [_tile(start + place + 1, one) for place, one in enumerate(shown[start : start + each])]
            tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % ACROSS)
            sheet = folder / f"{kind}-{start // each + 1:02}.png"
            page = np.vstack([np.hstack(tiles[row : row + ACROSS]) for row in range(0, len(tiles), ACROSS)])
            cv2.imwrite(str(sheet), cv2.cvtColor(page, cv2.COLOR_RGB2BGR))
            for place, one in enumerate(shown[start : start + each]):
                csv.writer(index).writerow([sheet.name, start + place + 1, KINDS[kind], one.words()])
    with (folder / "refused.csv").open("a", newline="") as refused:
        csv.writer(refused).writerows((kind, *one) for one in left_out)
    print(f"{kind}: {len(shown)} judged, {len(left_out)} not")


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.realism.sheets")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", action="append", choices=[*KINDS], help="which changes; the usual if none")
    parser.add_argument("--data", action="append", choices=[*DATA], help="which data; all if none")
    parser.add_argument("--frames", type=int, default=30, help="frames of each data set, at most")
    parser.add_argument("--part", type=int, default=0, help="which of neighbouring frames, 0 to 6")
    told = parser.parse_args()
    cv2.setNumThreads(1)
    for kind in told.kind or USUAL:
        write(told.folder, kind, told.data or [*DATA], told.frames, told.part)


if __name__ == "__main__":
    main()
