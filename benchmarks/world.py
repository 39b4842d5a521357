"""Frames per second of the built-in world with all ground truth, beside a plain renderer of the same scenes.

The plain one draws the very same faces, but the obvious way: each face is filled once into the picture
(anti-aliased), once into the label map and once into the instance map, and its depth is written through a
mask; without texture, shadows, sky, haze or weather. The ratio says what the one buffer of face numbers buys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import cv2
import numpy as np

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.world import TIMES, TRACK_NAMES, WEATHERS, Camera, Conditions, Scene, frame_of, make_scene
from roadworthy.world.camera import vector
from roadworthy.world.mesh import Column
from roadworthy.world.painter import NEAR
from roadworthy.world.raster import geometry

BARS = {(320, 160): 300, (640, 320): 50}


def plain_render(scene: Scene, camera: Camera) -> None:
    """Fill every face into every buffer, one after another."""
    view = scene.view(camera)
    shape = geometry(scene, camera, view)
    size = (camera.height, camera.width)
    image = np.zeros((*size, 3), dtype=np.uint8)
    labels, instances = np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.uint16)
    depth = np.full(size, np.inf, dtype=np.float32)
    faces = shape.faces
    x = (np.arange(camera.width) - (camera.width - 1) / 2) / camera.focal
    y = ((np.arange(camera.height) - (camera.height - 1) / 2) / camera.focal)[:, None]
    for face in shape.order.tolist():
        corners = faces.corners[faces.first[face] : faces.first[face] + faces.count[face]]
        if corners[:, 2].min() < NEAR:
            continue
        pixel = corners[:, :2] * (camera.focal / corners[:, 2:])
        pixel += vector([(camera.width - 1) / 2, (camera.height - 1) / 2])
        points = [np.rint(np.clip(pixel, -9999, 9999) * 16).astype(np.int32)]
        cv2.fillPoly(image, points, shape.table[face, Column.COLOR].tolist(), cv2.LINE_AA, 4)
        cv2.fillPoly(labels, points, int(shape.label[face]), 8, 4)
        thing = int(faces.thing[face])
        cv2.fillPoly(instances, points, shape.things[thing].thing.id if thing >= 0 else 0, 8, 4)
        mask = np.zeros(size, dtype=np.uint8)
        cv2.fillPoly(mask, points, 1, 8, 4)
        plane = faces.plane[:, face]
        np.copyto(depth, 1 / np.maximum(plane[0] * x + plane[1] * y + plane[2], 1e-4), where=mask > 0)


def _seconds(work: Callable[[Scene, Camera], object], scenes: Sequence[Scene], camera: Camera) -> float:
    """Seconds of one core per scene: the mean over scenes of the best of five.

    Processor time and the best of five, because other work on the machine is not what is measured.
    """
    total = 0.0
    for scene in scenes:
        times = []
        for _ in range(5):
            start = time.process_time()
            work(scene, camera)
            times.append(time.process_time() - start)
        total += min(times)
    return total / len(scenes)


def main() -> list[Measured]:
    found = []
    places = [(name, float(s)) for name in TRACK_NAMES for s in np.arange(0, 1000, 77)]
    print("World: frames per second with picture, label map, instances, boxes, depth and signals\n")
    for (width, height), bar in BARS.items():
        camera = Camera(width, height)
        print(f"{width}×{height} (bar: {bar})")
        print("  " + " ".join(f"{name:>8}" for name in ("", *WEATHERS)))
        rates = []
        for hour in TIMES:
            row = []
            for weather in WEATHERS:
                conditions = Conditions(weather, time=hour)
                scenes = [make_scene(name, s, seed=int(s), conditions=conditions) for name, s in places]
                row.append(1 / _seconds(frame_of, scenes, camera))
            rates += row
            print(f"  {hour:>8} " + " ".join(f"{rate:8.0f}" for rate in row))
        scenes = [make_scene(name, s, seed=int(s)) for name, s in places]
        ours, plain = (_seconds(work, scenes, camera) for work in (frame_of, plain_render))
        mean = len(rates) / sum(1 / rate for rate in rates)
        print(f"  over all of them {mean:.0f}, slowest {min(rates):.0f}")
        print(
            f"  a clear day: {1 / ours:.0f}; a plain renderer: {1 / plain:.0f}; ratio: {plain / ours:.1f}\n"
        )
        size = f"{width}×{height}"
        found += [
            Measured(
                f"Frames with all ground truth, {size}, the slowest weather and time of day",
                min(rates),
                "frames/s",
                bar=Bar("value", "≥", bar),
            ),
            Measured(
                f"A clear day, {size}",
                1 / ours,
                "frames/s",
                Beside("a plain renderer of the same faces", 1 / plain, plain / ours),
            ),
        ]
    return found
