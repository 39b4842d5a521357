"""A simulator that speaks the protocol of `serving`, and does not, as it is told.

    PYTHON pretending.py TROUBLE

Steps take 0.1 s; the vehicle drives straight on, as fast as the pedal says. With "noisy FILE BASE", for 2 s:
at BASE m/s, and from 0.4 s on by as much faster as `noise` says of how often it was started, which it counts
in the file.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path


def noise(start: int) -> float:
    """Return by how many m/s the vehicle is faster after a start."""
    return random.Random(start).gauss(0.0, 0.5)


def main(trouble: str) -> None:
    """Answer until the pipe ends."""
    metres = speed = 0.0
    steps = -1
    noisy = trouble.split() if trouble.startswith("noisy ") else []
    start = 0
    if noisy:
        counted = Path(noisy[1])
        start = int(counted.read_text()) if counted.exists() else 0
        counted.write_text(str(start + 1))
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "close":
            if trouble == "stays":
                time.sleep(600)
            return
        steps += 1
        if request["do"] == "reset":
            metres = speed = steps = 0
        speed = max(0.0, min(10.0, speed + request.get("pedal", 0.0)))
        if noisy:
            speed = float(noisy[2]) + (noise(start) if steps >= 4 else 0.0)
        metres += speed / 10
        third = steps == 3
        if third and trouble == "dies":
            os.write(2, b"no map tile at 3\n")
            os._exit(7)
        if third and trouble == "hangs":
            time.sleep(600)
        height, width = (8, 12) if not (third and trouble == "grows") else (16, 24)
        told = {
            "answers": request["request"] + (third and trouble == "answers another"),
            "time": steps / 10 if not (third and trouble == "stands still") else 0.1,
            "signals": {"speed": speed, "distance": metres, "steering": request.get("steering", 0.0) * 20},
            "events": {"crash": third and trouble == "crashes", "aquaplaning": True},
            "sector": f"street {metres // 2:.0f}",
            "ended": "arrived" if (steps >= 20 if noisy else metres > 8) else "",
            "image": [height, width, 3] if not (third and trouble == "bends") else [height, width],
        }
        if request["do"] == "reset":
            told |= {"protocol": 1 + (trouble == "newer"), "full_lock": 20 * (trouble != "locked")}
        if third and trouble == "NaN":
            told["signals"] = {"speed": float("nan"), "distance": "far"}
        if third and trouble == "lists":
            told["signals"] = [1, 2]
        if third and trouble == "refuses":
            told = {"answers": request["request"], "error": "ValueError: out of asphalt"}
        pixels = bytes([0 if third and trouble == "black" else 90]) * (height * width * 3)
        told["bytes"] = len(pixels) if "error" not in told else 0
        line = json.dumps(told).encode() + b"\n"
        if third and trouble == "prints":
            line = b"Known pipe types:\n" + line
        if third and trouble == "huge line":
            line = b"x" * 200_000
        sys.stdout.buffer.write(line + pixels[: told["bytes"] // (2 if third and trouble == "halves" else 1)])
        if third and trouble == "halves":
            sys.stdout.buffer.flush()
            os._exit(0)
        if third and trouble == "floods":
            sys.stdout.buffer.write(line + pixels)
            while True:
                sys.stdout.buffer.write((line + pixels) * 100)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
