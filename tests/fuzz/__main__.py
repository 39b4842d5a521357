"""The long campaign: `python -m tests.fuzz`, or `make fuzz`.

Each target has a process of its own, one after the other, so that what brings down a library's own code
brings down no more than that.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz.campaign import campaign
from tests.fuzz.harness import CORPUS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all of them if left out")
    parser.add_argument("--minutes", type=float, default=1.0, help="of processor time for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write what came of it, a line for each target")
    parser.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Try all targets that were named, and return 1 if one crashed."""
    asked = _arguments()
    if asked.told:
        campaign(asked.targets[0], 60 * asked.minutes, asked.told, asked.seed)
    known = sorted(path.name for path in CORPUS.iterdir())
    wrong = [name for name in asked.targets if name not in known]
    if wrong:
        _tell(f"there is no target {wrong[0]}: {', '.join(known)}")
        return 2
    return max([_tried(name, asked) for name in asked.targets or known])


def _tried(name: str, asked: argparse.Namespace) -> int:
    with TemporaryDirectory() as folder:
        told = Path(folder, "told.json")
        command = [sys.executable, "-m", "tests.fuzz", name, "--minutes", str(asked.minutes)]
        command += ["--seed", str(asked.seed), "--told", str(told)]
        process = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        found: dict[str, Any] = {"target": name, "counts": {}, "crashes": {}}
        if told.is_file():
            found = json.loads(told.read_text())
    if process.returncode:
        # A library's own code fell over, or the target cannot even be imported.
        found["crashes"][f"exit {process.returncode}"] = process.stderr.decode(errors="replace")[-2000:]
    counts = found["counts"]
    _tell(
        f"{name}: {sum(counts.values())} executions, {counts.get('read', 0)} read, "
        f"{counts.get('refused', 0)} refused, {len(found['crashes'])} different crashes"
    )
    for signature, message in found["crashes"].items():
        _tell(f"  {signature}\n    {message}")
    if asked.json:
        with asked.json.open("a") as file:
            file.write(json.dumps(found) + "\n")
    return 1 if found["crashes"] else 0


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
