"""How pictures look, in few numbers that are kept: what changes them unasked is noticed.

Networks, recorded results and pages rest on what the world and the transforms draw. After a change that was
meant, `python -m tests.looks` keeps how they look now; look at the pictures first.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 5, 8
SCALE = 20
NEAR = 0.5  # grey levels in the mean of a cell: other processors round single pixels otherwise


def look_of(image: NDArray[np.uint8]) -> str:
    """Return mean colours and grain of the cells of a picture."""
    cells = [
        (*(cell.mean((0, 1))), cell.astype(np.float64).mean(2).std())
        for row in np.array_split(image, ROWS)
        for cell in np.array_split(row, COLUMNS, axis=1)
    ]
    return base64.b64encode(np.rint(np.array(cells) * SCALE).astype("<i2").tobytes()).decode()


def apart(one: str, other: str) -> float:
    """Return by how many grey levels two looks differ at most."""
    first, second = (np.frombuffer(base64.b64decode(look), "<i2").astype(float) for look in (one, other))
    return float(np.abs(first - second).max()) / SCALE


def kept(file: Path) -> Any:
    """Return what is kept in a file."""
    return json.loads(file.read_text())


def keep(file: Path, looks: Mapping[str, Callable[[], object]]) -> None:
    """Write how everything looks now."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(look())}" for name, look in looks.items())
    file.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    from tests.datasets import test_looks as datasets
    from tests.transforms import test_looks as transforms
    from tests.world import test_looks as world
    from tests.world import test_numbers as numbers

    for room in (world, numbers, transforms, datasets):
        keep(room.KEPT, room.LOOKS)
