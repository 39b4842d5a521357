"""Sheets of weather, light and season on real frames, to be looked at: before and after, side by side.

    python -m benchmarks.realism.weather_sheets FOLDER [FIRST [DATA …]]

Only what the transforms make and the gate of a run lets pass is shown; index.txt beside the sheets tells how
many frames were tried, how many were made, and why the others were not. FIRST (0) shifts the frames that are
taken, so that other ones can be looked at than those on which thresholds were chosen. The frames are those of
``../shared/data``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.realism.objects import REAL
from roadworthy.datasets import ChosenFrames, load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.labelling.dataset import as_needed
from roadworthy.runs.gate import FrameChange, Gate
from roadworthy.transforms import parse_transform

KINDS = ("night", "dusk", "fog", "rain", "snow")
ESTIMATED = {"labels": "street", "depth": "street"}
DATA: dict[str, tuple[str, dict[str, str], int]] = {
    "ch2": (f"udacity-ch2:{REAL / 'udacity_ch2'}", {}, 47),
    "hmb1": (f"udacity-ch2:{REAL / 'udacity_hmb1'}", {}, 71),
    "camvid": (f"camvid:{REAL / 'camvid'}", {}, 10),
    "camvid-estimated": (f"camvid:{REAL / 'camvid'}", ESTIMATED, 10),
    "a2d2": (f"a2d2:{REAL / 'a2d2'}", {}, 1),
    "a2d2-estimated": (f"a2d2:{REAL / 'a2d2'}", ESTIMATED, 1),
    "kitti": (f"folder:{REAL / 'kitti' / 'frames' / 'image_2'}", {}, 1),
}
"""Each with every how many of its frames are taken."""
WIDTH, PAIRS = 640, 3


def shown(frame: Frame, after: Frame, text: str) -> Image:
    """Return a frame before and after, as wide as a sheet."""
    size = WIDTH, round(frame.height * WIDTH / frame.width)
    both = [cv2.resize(one.image, size, interpolation=cv2.INTER_AREA) for one in (frame, after)]
    head = np.full((22, 2 * WIDTH, 3), 255, np.uint8)
    cv2.putText(head, text, (4, 16), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
    return np.vstack([head, np.hstack(both)])


def changed(frame: Frame, kind: str, number: int, gate: Gate) -> Frame | str:
    """Return a frame under other conditions, or why it is not judged."""
    transform = parse_transform(kind)
    try:
        after = transform(frame, number, measure=False)
    except NotApplicable as error:
        return error.reason
    return str(next(iter(gate.refusals([FrameChange(frame, after, (transform,))]))) or "") or after


def main(folder: Path, first: int, names: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    gate, counts = Gate(), dict.fromkeys(KINDS, 0)
    tiles: dict[str, list[Image]] = {kind: [] for kind in KINDS}
    for name in names:
        reference, options, every = DATA[name]
        data: Any = load(reference, **options)
        numbers = tuple(range(first % every, len(data), every))
        reasons: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        for number, frame in zip(
            numbers, ChosenFrames(name, data, numbers, estimator=as_needed), strict=True
        ):
            for kind in KINDS:
                after = changed(frame, kind, number, gate)
                reasons[kind]["made" if isinstance(after, Frame) else after] += 1
                if isinstance(after, Frame):
                    tiles[kind].append(shown(frame, after, f"{kind}: {name} {number}"))
                    sheet = f"{kind}-{counts[kind] // PAIRS:02d}.png"
                    _tell(folder, f"{sheet}, {counts[kind] % PAIRS + 1}: {name} {number} ({frame.id})")
                    cv2.imwrite(str(folder / sheet), cv2.cvtColor(np.vstack(tiles[kind]), cv2.COLOR_RGB2BGR))
                    counts[kind] += 1
                    tiles[kind] = [] if len(tiles[kind]) == PAIRS else tiles[kind]
        for kind, found in reasons.items():
            _tell(folder, f"# {name}, {len(numbers)} frames, {kind}: {dict(found.most_common())}")


def _tell(folder: Path, line: str) -> None:
    with (folder / "index.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int([*sys.argv, "0"][2]), sys.argv[3:] or tuple(DATA))
