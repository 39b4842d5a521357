"""Reading real frames: opening a data set, and a pass over it beside a plain loop of image reads.

The plain loop reads the same files with OpenCV alone and turns them to RGB. The ratio says what names, checks
and signals cost on top of decoding. The passes take turns, so that a change of the machine's speed hits both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import cv2

from benchmarks._measured import Bar, Beside, Measured
from roadworthy.datasets import UdacityCh2Dataset

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "udacity_ch2"
MOST = 1.25  # times the plain loop
ROUNDS = 3
PASS = "A pass over real frames of 320×240"
BAR = Bar("times", "≥", 1 / MOST)


def plain_pass(files: list[str]) -> None:
    """Read all images the plain way."""
    for file in files:
        image = cv2.imread(file)
        assert image is not None, file
        cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> list[Measured]:
    if not DATA.is_dir():
        print(f"Reading data sets: skipped, the real data is not at {DATA}\n")
        return [Measured(PASS, None, "frames/s", bar=BAR, note="the real data is not there")]
    files = [str(file) for file in sorted((DATA / "frames").glob("*.jpg"))]
    data = UdacityCh2Dataset(str(DATA))
    opening = min(_seconds(lambda: UdacityCh2Dataset(str(DATA))) for _ in range(5))
    plain_pass(files[:200])  # the files are in the cache of the system for both
    ours, plain = [], []
    for _ in range(ROUNDS):
        ours.append(_seconds(lambda: sum(1 for _ in data)))
        plain.append(_seconds(lambda: plain_pass(files)))
    count = len(data)
    ratio = min(ours) / min(plain)
    print(f"Reading {count} frames of 320x240 (udacity-ch2), best of {ROUNDS}")
    print(f"  opening     {opening * 1000:8.1f} ms")
    print(f"  reader      {count / min(ours):8.0f} frames/s  {min(ours) / count * 1e6:6.0f} us a frame")
    print(f"  plain loop  {count / min(plain):8.0f} frames/s  {min(plain) / count * 1e6:6.0f} us a frame")
    print(f"  ratio       {ratio:8.2f}  {'ok' if ratio <= MOST else 'SLOW'} (at most {MOST})\n")
    return [
        Measured(f"Opening {count} frames", opening * 1000, "ms"),
        Measured(
            PASS,
            count / min(ours),
            "frames/s",
            Beside("a plain loop of image reads", count / min(plain), 1 / ratio),
            BAR,
        ),
    ]
