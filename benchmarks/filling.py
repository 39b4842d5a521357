"""What a removal on a real frame takes: filling its holes and the gate's look, 16 frames of 480×360 together.

    python -m benchmarks filling

Processor time of one core, the best of five rounds, because other jobs run beside it. The frames are those of
CamVid in ``../shared/data`` with the most vehicles; without it nothing is measured. OpenCV's inpainting and,
where ROADWORTHY_NPM names a folder with it (see `benchmarks.realism.real`), MI-GAN fill the same holes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from benchmarks._measured import Bar, Measured
from benchmarks.realism.objects import REAL
from benchmarks.realism.real import imported
from roadworthy.datasets import ChosenFrames, load
from roadworthy.errors import NotApplicable
from roadworthy.models import Inpainter
from roadworthy.runs.gate import FrameChange, Gate
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects.filling import fill_network

FRAMES, ROUNDS = 16, 5
BAR = 60.0  # milliseconds of one core for a frame, filling and gate together


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the processor time that a frame takes, of the best round; the first one is not counted."""
    best = math.inf
    for number in range(rounds + 1):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start) if number else best
    return 1000 * best / FRAMES


def changes() -> list[FrameChange]:
    """Return frames before and after the removal of vehicles, those with the most of them."""
    data: Any = load(f"camvid:{REAL / 'camvid'}")
    frames = list(ChosenFrames("camvid", data, tuple(range(0, len(data), 5))))
    frames.sort(key=lambda one: -float(one.label_map.mask("vehicle").mean()))
    remove, found = make_transform("remove", element="vehicle", realism="any"), []
    for number, frame in enumerate(frames):
        try:
            found.append(FrameChange(frame, remove(frame, number, measure=False), (remove,)))
        except NotApplicable:
            continue
        if len(found) == FRAMES:
            break
    return found


def main() -> list[Measured]:
    if not (REAL / "camvid").is_dir():
        print("Filling: left out, because ../shared/data is not there\n")
        return []
    made = changes()
    images = [one.before.image for one in made]
    masks = [np.any(one.before.image != one.after.image, axis=2) for one in made]
    share = 100 * float(np.mean(masks))
    print(f"Filling holes of {share:.1f}% of the image, {len(made)} frames, processor time a frame\n")
    gate, network = Gate(), fill_network()
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "our network": (lambda: network.fill(images, masks), ROUNDS),
        "the gate": (lambda: list(gate.refusals(made)), ROUNDS),
        "both": (lambda: (network.fill(images, masks), list(gate.refusals(made))), ROUNDS),
    }
    for name, method in (("Telea", cv2.INPAINT_TELEA), ("Navier-Stokes", cv2.INPAINT_NS)):
        ways[f"OpenCV, {name}"] = (
            lambda method=method: [  # type: ignore[misc]
                cv2.inpaint(one, mask.view(np.uint8), 3, method)
                for one, mask in zip(images, masks, strict=True)
            ],
            ROUNDS,
        )
    if imported("migan_pipeline_v2.onnx"):
        other = Inpainter()
        ways["MI-GAN"] = (lambda: [other.fill(*pair) for pair in zip(images, masks, strict=True)], 1)
    rows = []
    for name, (work, rounds) in ways.items():
        taken = milliseconds(work, rounds)
        print(f"  {name:<22} {taken:7.1f} ms")
        bar = Bar("value", "≤", BAR) if name == "both" else None
        rows.append(Measured(f"Filling and gate, 480×360: {name}", taken, "ms a frame", bar=bar))
    print()
    return rows
