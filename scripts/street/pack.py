"""Packs what the street, filling, speed and path networks learn from into zip files that travel well.

::

    python -m scripts.street.pack real --camvid DIR --udacity DIR --hmb1 DIR --networks DIR --out real.zip
    python -m scripts.street.pack world --count 2040 --workers 15 --out world.zip
    python -m scripts.street.pack drives --udacity DIR --hmb1 DIR --count 9600 --workers 15 --out drives.zip
    python -m scripts.street.pack paths --udacity DIR --hmb1 DIR --count 20000 --workers 15 --out paths.zip

``real`` holds frames of CamVid with human labels, and frames of two Udacity drives with what three public
networks say about them: road and marks, boxes, relative depth. CamVid's sequence 0006R0 is marked as held
out, and the last fifth of each drive is not packed. ``world`` holds drawn frames with exact labels and depth.
``drives`` holds frames with speed and steering, ``paths`` what the path network sees of frames with the path
that is driven next: in the world the careful driver's, with things added to most scenes; of one drive that of
its recorded speed and steering; of the other, whose speed is unknown, steering alone. A zip file has
``index.json``, a list of entries, and beside it ``NAME.jpg``, ``NAME.labels.png``, ``NAME.road.png`` and
``NAME.depth.png``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.datasets import load
from roadworthy.frames import Frame, LabelMap
from roadworthy.models.zoo import architecture
from roadworthy.seeding import rng_for
from roadworthy.world import PATH_TIMES, Scene, add, careful_path, frame_of
from roadworthy.world.driver import WHEELBASE

__all__ = [
    "CLASSES",
    "HELD_OUT",
    "VOID",
    "Entry",
    "Teachers",
    "busy_scene",
    "class_ids",
    "driven_paths",
    "main",
]

CLASSES = (
    "road", "line", "sidewalk", "building", "vegetation", "sky", "vehicle", "pedestrian", "bicyclist",
    "pole", "sign", "traffic light", "terrain",
)  # fmt: skip
"""The classes of the street network, in the order of its scores."""

VOID = 255
HELD_OUT = "0006R0"
"""The sequence of CamVid that nothing is trained on."""

TRAINING_SHARE = 0.8
"""Of each drive; the rest, later in time, is for measuring."""

_OURS = {"crosswalk": "line", "stop and yield line": "line", "tree": "vegetation", "traffic sign": "sign"}
_THINGS = {0: "pedestrian", 1: "bicyclist", 2: "vehicle", 3: "bicyclist", 5: "vehicle", 7: "vehicle"}
_SURE = 0.7
_DEPTH_SIZE = (160, 96)
_SEEDS = 12

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Entry:
    """One frame of a pack.

    Attributes:
        name: Of its files.
        source: The data set it comes from.
        use: "train", or "test" for what is held out.
        boxes: Things that the detector sees: class, score, left, top, right, bottom in shares of the image.
        speed: In m/s, where it is known.
        steering: In degrees at the wheels, positive to the right, where it is known.
        path: Metres ahead and right at the times of `PATH_TIMES`, where they are known.
    """

    name: str
    source: str
    use: str
    boxes: tuple[tuple[str, float, float, float, float, float], ...] = field(default=())
    speed: float | None = None
    steering: float | None = None
    path: tuple[tuple[float, float], ...] | None = None


Packed = tuple[Entry, dict[str, bytes]]


class Teachers:
    """Three public networks that label real frames.

    Args:
        folder: Where their ONNX files are.
    """

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1

        def session(name: str) -> Any:
            return onnxruntime.InferenceSession(str(folder / name), options)

        self._road = session("road-segmentation-adas-0001.onnx")
        self._things = session("yolox_nano.onnx")
        self._depth = session("tcmonodepth_small_192x320.onnx")

    def road(self, image: Image) -> Image:
        """Return 0 for background, 1 for road, 2 for curb, 3 for marks, 255 where the network is unsure."""
        given = cv2.resize(image[..., ::-1], (896, 512)).astype(np.float32)
        scores = self._road.run(None, {self._road.get_inputs()[0].name: given[None]})[0][0]
        if scores.min() < 0 or scores.max() > 1.001:
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
        height, width = image.shape[:2]
        scores = cv2.resize(scores, (width, height), interpolation=cv2.INTER_AREA)
        found: Image = np.where(scores.max(-1) < _SURE, VOID, scores.argmax(-1)).astype(np.uint8)
        return found

    def things(self, image: Image) -> tuple[tuple[str, float, float, float, float, float], ...]:
        """Return boxes of vehicles, pedestrians and bicyclists with scores, also of unlikely ones."""
        height, width = image.shape[:2]
        scale = 416 / max(height, width)
        small = cv2.resize(image[..., ::-1], (round(width * scale), round(height * scale)))
        given = np.full((416, 416, 3), 114, np.uint8)
        given[: small.shape[0], : small.shape[1]] = small
        raw = self._things.run(None, {"images": given.transpose(2, 0, 1)[None].astype(np.float32)})[0][0]
        cells = [
            np.stack([x.ravel(), y.ravel(), np.full(x.size, stride)], 1)
            for stride in (8, 16, 32)
            for y, x in [np.mgrid[: 416 // stride, : 416 // stride]]
        ]
        grid = np.concatenate(cells).astype(np.float32)
        middle = (raw[:, :2] + grid[:, :2]) * grid[:, 2:]
        size = np.exp(raw[:, 2:4]) * grid[:, 2:]
        scores = raw[:, 4:5] * raw[:, 5:]
        best = scores[:, :8].argmax(1)
        found = []
        for kind in sorted(_THINGS):
            chosen = (best == kind) & (scores[:, kind] >= 0.08)
            boxes = np.concatenate([middle - size / 2, size], 1)[chosen]
            for index in cv2.dnn.NMSBoxes(boxes.tolist(), scores[chosen, kind].tolist(), 0.08, 0.5):
                x, y, w, h = boxes[index] / scale
                corners = (x / width, y / height, (x + w) / width, (y + h) / height)
                score = float(scores[chosen, kind][index])
                found.append((_THINGS[kind], round(score, 3), *(round(float(one), 4) for one in corners)))
        return tuple(found)  # type: ignore[arg-type]

    def depth(self, image: Image) -> Image:
        """Return relative inverse depth, 0 far away to 255 near."""
        given = cv2.resize(image, (320, 192), interpolation=cv2.INTER_AREA).transpose(2, 0, 1)
        inverse = self._depth.run(None, {"input": given[None].astype(np.float32)})[0].reshape(192, 320)
        return _as_bytes(cv2.resize(inverse, _DEPTH_SIZE, interpolation=cv2.INTER_AREA))


def class_ids(labels: LabelMap) -> Image:
    """Return a label map in the numbers of `CLASSES`, 255 where it says nothing."""
    table = np.full(256, VOID, np.uint8)
    for number, name in enumerate(labels.classes):
        ours = _OURS.get(name, name)
        if ours in CLASSES:
            table[number] = CLASSES.index(ours)
    found: Image = table[labels.ids]
    return found


def _as_bytes(inverse: NDArray[Any]) -> Image:
    low, high = np.percentile(inverse, (1, 99))
    scaled: Image = np.round(255 * np.clip((inverse - low) / max(high - low, 1e-6), 0, 1)).astype(np.uint8)
    return scaled


def _png(image: Image) -> bytes:
    return bytes(cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 9])[1].tobytes())


def _jpeg(image: Image, quality: int = 92) -> bytes:
    written = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return bytes(written.tobytes())


def _real(camvid: Path, udacity: Path, hmb1: Path, networks: Path, every: int) -> Iterator[Packed]:
    teachers = Teachers(networks)
    for frame in load(f"camvid:{camvid}"):
        use = "test" if frame.id.startswith(HELD_OUT) else "train"
        assert frame.labels is not None
        files = {
            # The bytes as published: another round of JPEG would add nothing but loss.
            "jpg": (camvid / "images" / f"{frame.id}.jpg").read_bytes(),
            "labels.png": _png(class_ids(frame.labels)),
            "depth.png": _png(teachers.depth(frame.image)),
        }
        boxes = teachers.things(frame.image) if use == "train" else ()
        yield Entry(f"camvid-{frame.id}", "camvid", use, boxes), files
    for source, folder, step in (("udacity_ch2", udacity, every), ("udacity_hmb1", hmb1, 2 * every)):
        data = load(f"udacity-ch2:{folder}")
        for number in range(0, round(TRAINING_SHARE * len(data)), step):
            frame = data[number]
            files = {
                "jpg": (folder / "frames" / f"{frame.id}.jpg").read_bytes(),
                "road.png": _png(teachers.road(frame.image)),
                "depth.png": _png(teachers.depth(frame.image)),
            }
            yield Entry(f"{source}-{frame.id}", source, "train", teachers.things(frame.image)), files


def _world(count: int, workers: int, season: str) -> Iterator[Packed]:
    for seed in range(_SEEDS):
        data = load(
            "world:town,meadow,mountain",
            weather="all",
            time="day,day,dusk,night",
            level="all",
            season=season,
            traffic=(1.0, 2.0, 4.0)[seed % 3],
            jitter=3,
            size=("480x360", "480x360", "400x300", "560x320")[seed % 4],
            count=count // _SEEDS,
            seed=9000 + seed,
        )
        yield from _mapped(_drawn, data, workers)


def _drawn(data: Dataset, number: int) -> Packed:
    frame = data[number]
    assert frame.labels is not None
    assert frame.depth is not None
    inverse = np.where(np.isfinite(frame.depth), 1 / np.maximum(frame.depth, 1e-3), 0)
    height, width = frame.depth.shape
    small = cv2.resize(inverse.astype(np.float32), (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    files = {
        "jpg": _jpeg(frame.image, 95),
        "labels.png": _png(class_ids(frame.labels)),
        "depth.png": _png(_as_bytes(small)),
    }
    return Entry(f"world-{number:05d}-{frame.id}", "world", "train"), files


def _drives(
    udacity: Path | None, hmb1: Path | None, count: int, workers: int, every: int
) -> Iterator[Packed]:
    for source, folder, step in (("udacity_ch2", udacity, max(1, every // 2)), ("udacity_hmb1", hmb1, 1)):
        if folder is not None:
            data = load(f"udacity-ch2:{folder}")
            for number in range(0, round(TRAINING_SHARE * len(data)), step):
                frame = data[number]
                published = (folder / "frames" / f"{frame.id}.jpg").read_bytes()
                yield _signals(frame, source), {"jpg": published}
    for seed in range(_SEEDS if count else 0):
        data = load(
            "world:town,meadow,mountain",
            weather="all",
            time="all",
            level="all",
            season="all" if seed % 2 else "summer",
            jitter=(1.0, 3.0)[seed % 2],
            count=count // _SEEDS,
            seed=7000 + seed,
        )
        yield from _mapped(_drive_frame, data, workers)


def _drive_frame(data: Dataset, number: int) -> Packed:
    frame = data[number]
    entry = _signals(frame, "world")
    return replace(entry, name=f"{number:05d}-{entry.name}"), {"jpg": _jpeg(frame.image, 97)}


def _signals(frame: Frame, source: str) -> Entry:
    told = frame.signals
    return Entry(f"{source}-{frame.id}", source, "train", (), told.speed, told.steering)


def _paths(udacity: Path | None, hmb1: Path | None, count: int, workers: int, every: int) -> Iterator[Packed]:
    if udacity is not None:
        data = load(f"udacity-ch2:{udacity}")
        for number in range(0, round(TRAINING_SHARE * len(data)), max(1, every // 2)):
            frame = data[number]
            yield _signals(frame, "udacity_ch2"), {"jpg": _seen(frame)}
    if hmb1 is not None:
        data = load(f"udacity-ch2:{hmb1}")
        frames = [data[number] for number in range(round(TRAINING_SHARE * len(data)))]
        for frame, path in zip(frames, driven_paths(frames), strict=True):
            if path is not None:
                yield replace(_signals(frame, "udacity_hmb1"), path=path), {"jpg": _seen(frame)}
    for seed in range(_SEEDS if count else 0):
        yield from _mapped(_path_frame, _busy(seed, count // _SEEDS), workers)


def _busy(seed: int, count: int, tracks: str = "town,meadow,mountain") -> Any:
    """Return frames of the world, in all weathers."""
    return load(
        f"world:{tracks}",
        weather="all",
        time="day,day,dusk,night",
        level="all",
        season="all" if seed % 2 else "summer",
        traffic=(0.5, 1.0)[seed % 2],
        jitter=(1.0, 2.0)[seed % 2],
        count=count,
        seed=8000 + seed,
    )


def driven_paths(frames: Sequence[Frame]) -> list[tuple[tuple[float, float], ...] | None]:
    """Return the paths that recorded speed and steering lead along, None near the end of the drive."""
    told = [one.signals for one in frames]
    times = np.array([one.timestamp for one in told], float)
    speed, steering = (
        np.array([getattr(one, name) for one in told], float) for name in ("speed", "steering")
    )
    steps = np.diff(times, append=times[-1])
    heading = np.concatenate(
        [[0.0], np.cumsum(speed * np.tan(np.radians(steering)) / WHEELBASE * steps)[:-1]]
    )
    ahead, right = (
        np.concatenate([[0.0], np.cumsum(speed * part(heading) * steps)[:-1]]) for part in (np.cos, np.sin)
    )
    found: list[tuple[tuple[float, float], ...] | None] = []
    for now in range(len(frames)):
        when = times[now] + np.array(PATH_TIMES)
        if when[-1] > times[-1]:
            found.append(None)
            continue
        x, y = (np.interp(when, times, one) - one[now] for one in (ahead, right))
        cos, sin = np.cos(heading[now]), np.sin(heading[now])
        points = np.stack([x * cos + y * sin, y * cos - x * sin], axis=1).round(3).tolist()
        found.append(tuple((a, b) for a, b in points))
    return found


def _seen(frame: Frame) -> bytes:
    """Return what the path network sees of a frame."""
    return _jpeg(architecture("path").variant().spec.input.view(frame).images[0], 84)


_ADDED: tuple[tuple[str, dict[str, Any]], ...] = (
    *(
        ("pedestrian", {"place": place})
        for place in ("lane", "lane", "lane", "sidewalk", "kerb", "oncoming lane")
    ),
    ("pedestrian", {"place": "sidewalk", "side": "left"}),
    *((kind, {"place": "lane"}) for kind in ("car", "car", "van", "truck", "school bus")),
    *((kind, {"place": "oncoming lane", "yaw": math.pi}) for kind in ("car", "truck")),
    *((color, {"place": "kerb"}) for color in ("red light", "red light", "yellow light", "green light")),
    *((kind, {"place": "kerb"}) for kind in ("stop sign", "stop sign", "yield sign", "speed limit sign")),
    ("bicyclist", {"place": "road edge"}),
)


def busy_scene(scene: Scene, number: int) -> Scene:
    """Return a scene with something added that a driver minds, or does not, or as it was."""
    rng = rng_for(8000, "added", number, round(scene.s * 1000))
    if rng.random() < 0.25:
        return scene
    what, how = _ADDED[int(rng.integers(len(_ADDED)))]
    details = dict(how, look=int(rng.integers(10_000)))
    if what == "speed limit sign":
        details["value"] = int(rng.choice([20, 30, 40, 50, 60]))
    if what in ("car", "van", "truck"):
        details["color"] = str(rng.choice(["white", "black", "silver", "grey", "blue", "red", "green"]))
    return add(scene, what, ahead=float(rng.uniform(7, 45)), **details)


def _path_frame(data: Any, number: int) -> Packed:
    scene = busy_scene(data.scene(number), number)
    frame = frame_of(scene, id=data.ids[number])
    points = tuple((round(a, 3), round(b, 3)) for a, b in careful_path(scene).points.tolist())
    entry = replace(_signals(frame, "world"), path=points)
    return replace(entry, name=f"{number:05d}-{entry.name}"), {"jpg": _seen(frame)}


def _mapped(work: Any, data: Dataset, workers: int) -> Iterator[Packed]:
    """Do work on all frames of a data set that can be drawn in any process."""
    if workers < 2:
        yield from (work(data, number) for number in range(len(data)))
        return
    parts = [(work, data, range(start, len(data), workers)) for start in range(workers)]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for done in pool.map(_part, parts):
            yield from done


def _part(job: tuple[Any, Dataset, range]) -> list[Packed]:
    cv2.setNumThreads(1)
    work, data, numbers = job
    return [work(data, number) for number in numbers]


def _write(packed: Iterator[Packed], out: Path) -> int:
    entries: list[dict[str, Any]] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for entry, files in packed:
            entry = replace(entry, name=f"{len(entries):05d}-{entry.name}")
            entries.append(asdict(entry))
            for ending, data in files.items():
                archive.writestr(f"{entry.name}.{ending}", data)
        archive.writestr("index.json", json.dumps(entries))
    return len(entries)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="pack", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("real", "world", "drives", "paths"))
    parser.add_argument("--out", type=Path, required=True, help="the zip file to write")
    parser.add_argument("--camvid", type=Path, help="the folder of CamVid")
    parser.add_argument("--udacity", type=Path, help="the folder of Udacity's challenge 2")
    parser.add_argument("--hmb1", type=Path, help="the folder of Udacity's drive HMB 1")
    parser.add_argument("--networks", type=Path, help="the folder of the teachers' ONNX files")
    parser.add_argument("--every", type=int, default=4, help="of real frames without labels, one in so many")
    parser.add_argument("--count", type=int, default=2400, help="frames of the world")
    # In winter the world labels bare crowns as a whole; people label the sky between the branches.
    parser.add_argument("--season", default="spring,summer,autumn", help="of the world's frames")
    parser.add_argument("--workers", type=int, default=1, help="processes that draw")
    given = parser.parse_args(arguments)
    if given.what == "real":
        needed = ("camvid", "udacity", "hmb1", "networks")
        if missing := [f"--{name}" for name in needed if getattr(given, name) is None]:
            parser.error(f"real frames need {', '.join(missing)}")
        packed = _real(given.camvid, given.udacity, given.hmb1, given.networks, given.every)
    elif given.what == "world":
        packed = _world(given.count, given.workers, given.season)
    elif given.what == "paths":
        packed = _paths(given.udacity, given.hmb1, given.count, given.workers, given.every)
    else:
        packed = _drives(given.udacity, given.hmb1, given.count, given.workers, given.every)
    count = _write(packed, given.out)
    sys.stdout.write(f"{count} frames, {given.out.stat().st_size / 2**20:.1f} MiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
