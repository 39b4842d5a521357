"""How good the street network is on real frames, and how fast, as `labels=street` uses it.

    python -m benchmarks.street --out sheets [--network other.onnx] [--data ../shared/data]

- IoU of each class on CamVid's sequence 0006R0, which nothing was trained on.
- Road and lines together against road-segmentation-adas-0001: 41 frames of the last fifth of Udacity's
  challenge 2, 12 of HMB 1, all of A2D2 and KITTI.
- Time of the processor for an image of 480×360 pixels on one core.
- With --out, a sheet of those 60 frames beside their labels, to be looked at and counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from roadworthy.datasets import ChosenFrames, load, spread
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image, write_image
from roadworthy.labelling.street import STREET, StreetNetwork, fitted
from roadworthy.models import load_model

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TEACHER = "road-segmentation-adas-0001.onnx"
HELD_OUT = "0006R0"
BARS = {"road": 0.93, "sky": 0.85, "tree": 0.68, "vehicle": 0.68, "building": 0.62, "line": 0.55,
        "sidewalk": 0.40, "pedestrian": 0.30, "pole": None, "sign": None}  # fmt: skip
AGREEMENT, SPEED = 0.92, 25.0
ROAD = ("road", "line")
TILE, COLUMNS = (320, 200), 5  # pixels of an image on the sheet, and how many pairs stand side by side

Pair = tuple[Frame, LabelMap]


def _shares(pairs: Sequence[tuple[LabelMap, LabelMap]], *words: str) -> float:
    """Return the IoU of some classes taken together, over the pixels that the truth knows."""
    both = either = 0
    for truth, found in pairs:
        known, one, two = ~truth.mask("void"), truth.mask(*words), found.mask(*words)
        both += int(np.count_nonzero(one & two & known))
        either += int(np.count_nonzero((one | two) & known))
    return both / either if either else float("nan")


def _against_people(network: StreetNetwork, data: Any) -> list[Frame]:
    frames = [data[number] for number, one in enumerate(data.ids) if one.startswith(HELD_OUT)]
    pairs = [(frame.label_map, network.look([frame.image])[0][0]) for frame in frames]
    print(f"IoU on {len(frames)} frames of CamVid's {HELD_OUT}")
    for word, bar in BARS.items():
        print(f"    {word:<12} {_shares(pairs, word):.4f}" + (f"  bar {bar}" if bar else ""))
    return frames


def _last_fifth(data: Any, count: int) -> ChosenFrames:
    start = len(data) * 4 // 5
    ids = [data.ids[start + number] for number in spread(len(data) - start, count)]
    return ChosenFrames.named("last fifth", data, ids)


def _against_the_teacher(network: StreetNetwork, folder: Path) -> list[Pair]:
    teacher = load_model(str(folder / "networks" / TEACHER))
    places = {
        "udacity_ch2, last fifth": _last_fifth(load(f"udacity-ch2:{folder / 'udacity_ch2'}"), 41),
        "udacity_hmb1, last fifth": _last_fifth(load(f"udacity-ch2:{folder / 'udacity_hmb1'}"), 12),
        "a2d2": load(f"a2d2:{folder / 'a2d2'}"),
        "kitti": load(f"kitti:{folder / 'kitti' / 'frames'}"),
    }
    print(f"road and lines against {TEACHER} (bar {AGREEMENT})")
    seen: list[Pair] = []
    for name, data in places.items():
        frames = list(data)
        found = [network.look([frame.image])[0][0] for frame in frames]
        # What the teacher calls background is no road; to a label map it is void.
        told = [one.mask(*ROAD) for one in teacher.predict(frames)]  # type: ignore[union-attr]
        ours = [one.mask(*ROAD) for one in found]
        shared = [int((one & two).sum()) for one, two in zip(told, ours, strict=True)]
        joined = [int((one | two).sum()) for one, two in zip(told, ours, strict=True)]
        each = sorted(one / max(1, two) for one, two in zip(shared, joined, strict=True))
        agreement = f"{sum(shared) / sum(joined):.3f}  {each[0]:.2f} to {each[-1]:.2f} a frame"
        print(f"    {name:<26} {len(frames):>3} frames  {agreement}")
        seen += zip(frames, found, strict=True)
    return seen


def _speed(network: StreetNetwork, frames: Sequence[Frame]) -> None:
    """Print what a core does in a second: processor time, so that others on the machine count less."""
    tensors = [fitted(frame.image)[None] for frame in frames]
    times: dict[str, list[float]] = {"in all": [], "network alone": []}
    for frame, tensor in zip(frames, tensors, strict=True):
        start = time.process_time()
        network.look([frame.image])
        middle = time.process_time()
        network.scores(tensor)
        times["in all"].append(middle - start)
        times["network alone"].append(time.process_time() - middle)
    width, height = frames[0].width, frames[0].height
    print(f"frames of {width}×{height} a second of one core (bar {SPEED:g})")
    for name, taken in times.items():
        print(f"    {name:<14} median {1 / np.median(taken):.1f}, best {1 / min(taken):.1f}")


def _sheet(pairs: Sequence[Pair]) -> Image:
    tiles = []
    for number, (frame, labels) in enumerate(pairs, 1):
        plain = cv2.resize(frame.image, TILE, interpolation=cv2.INTER_AREA)
        colors = cv2.resize(labels.to_rgb(), TILE, interpolation=cv2.INTER_NEAREST)
        tile = np.hstack([plain, cv2.addWeighted(plain, 0.4, colors, 0.6, 0)])
        cv2.putText(tile, str(number), (6, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 0), 2)
        tiles.append(tile)
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % COLUMNS)
    rows = [np.hstack(tiles[start : start + COLUMNS]) for start in range(0, len(tiles), COLUMNS)]
    return np.vstack(rows)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.street")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real data")
    parser.add_argument(
        "--network", type=Path, default=STREET, help="another network than the one that ships"
    )
    parser.add_argument("--out", type=Path, help="where the sheet goes; none is drawn without")
    told = parser.parse_args(arguments)
    cv2.setNumThreads(1)
    network = StreetNetwork(told.network, threads=1)
    frames = _against_people(network, load(f"camvid:{told.data / 'camvid'}"))
    pairs = _against_the_teacher(network, told.data)
    _speed(network, frames)
    if told.out:
        told.out.mkdir(parents=True, exist_ok=True)
        for start in range(0, len(pairs), 20):
            write_image(told.out / f"street-{start + 1}.png", _sheet(pairs[start : start + 20]))


if __name__ == "__main__":
    main(sys.argv[1:])
