"""KITTI object labels and results: one box per line, 15 columns, or 16 with a score.

Types: Car, Van, Truck and Tram are vehicles with that type; Cyclist is a bicyclist; Person_sitting is a
pedestrian with the attribute posture=sitting; Misc, which KITTI uses for trailers, segways and the like, is
a dynamic object. DontCare marks regions without labels and is left out.

Truncation is a share; -1 is unknown. Occlusion is a level: 0 fully visible, 1 partly occluded, 2 largely
occluded, 3 unknown. Levels 0, 1 and 2 become the shares 0, 0.25 and 0.75; going back, shares below 0.1 are
level 0, below 0.5 level 1, all others level 2, so levels survive a round trip. Unknown occlusion is written
as 3, in results as -1.

The observation angle and the 3-D box are not kept; they are written as KITTI's "unknown": -10 for angles,
-1 for sizes, -1000 for positions. Track ids have no column, nor have attributes other than those above.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

TYPES = FrozenDict(
    {
        "Car": ("vehicle", FrozenDict({"type": "car"})),
        "Van": ("vehicle", FrozenDict({"type": "van"})),
        "Truck": ("vehicle", FrozenDict({"type": "truck"})),
        "Tram": ("vehicle", FrozenDict({"type": "tram"})),
        "Pedestrian": ("pedestrian", FrozenDict[str, str]()),
        "Person_sitting": ("pedestrian", FrozenDict({"posture": "sitting"})),
        "Cyclist": ("bicyclist", FrozenDict[str, str]()),
        "Misc": ("dynamic object", FrozenDict[str, str]()),
    }
)
UNKNOWN_3D = ("-1", "-1", "-1", "-1000", "-1000", "-1000", "-10")
OCCLUSION = {-1: _rows.NAN, 0: 0.0, 1: 0.25, 2: 0.75, 3: _rows.NAN}


def read(text: str | Iterable[str], **options: Unpack[_rows.ReadOptions]) -> Boxes:
    """Return the boxes of label or result lines.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> line = "Van 0.00 1 -1.5 100.00 150.00 180.00 200.00 2.1 1.9 5.0 1.0 1.5 20.0 -1.5"
        >>> boxes = Boxes.from_kitti(line)
        >>> boxes.classes, dict(boxes.attributes[0])
        (('vehicle',), {'type': 'van'})
    """
    rows = _rows.Rows("KITTI", TYPES, **options)
    for line, columns in _rows.text_lines(text):
        where = f"line {line}"
        if len(columns) not in (15, 16):
            raise FrameError(
                f"{where}: expected 15 columns (label) or 16 (result with score), "
                f"got {len(columns)}: {' '.join(columns)!r}"
            )
        name = columns[0]
        if name == "DontCare":
            continue
        values = [_rows.number(where, f"column {index}", value) for index, value in enumerate(columns[1:], 2)]
        if values[1] not in OCCLUSION:
            raise FrameError(f"{where}: occlusion must be 0, 1, 2, 3 or -1, got {columns[2]}")
        rows.add(
            where,
            name,
            (values[3], values[4], values[5], values[6]),
            truncation=_rows.NAN if values[0] < 0 else values[0],
            occlusion=OCCLUSION[int(values[1])],
            score=values[14] if len(values) == 15 else None,
        )
    return rows.boxes()


def write(boxes: Boxes, *, class_names: _rows.ClassNames | None = None) -> str:
    r"""Return label lines, or result lines when there are scores.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes([[1, 2, 3, 4]], ["car"], truncation=[0.25]).to_kitti()
        'Car 0.25 3 -10 1.00 2.00 3.00 4.00 -1 -1 -1 -1000 -1000 -1000 -10\n'
    """
    names = _rows.Vocabulary("KITTI", class_names, TYPES).names_for(boxes, [*(class_names or ()), *TYPES])
    unknown_level = 3 if boxes.scores is None else -1
    lines = []
    for index, name in enumerate(names):
        truncation = _rows.NAN if boxes.truncation is None else float(boxes.truncation[index])
        occlusion = _rows.NAN if boxes.occlusion is None else float(boxes.occlusion[index])
        level = unknown_level if np.isnan(occlusion) else int(occlusion >= 0.1) + int(occlusion >= 0.5)
        columns = [
            name,
            "-1" if np.isnan(truncation) else _decimals(truncation),
            str(level),
            "-10",
            *(_decimals(value) for value in boxes.xyxy[index].tolist()),
            *UNKNOWN_3D,
        ]
        if boxes.scores is not None:
            columns.append(_decimals(float(boxes.scores[index])))
        lines.append(" ".join(columns) + "\n")
    return "".join(lines)


def _decimals(value: float) -> str:
    """Return two decimals, as KITTI has them, or as many as it takes to read the same float32 again."""
    exact = np.float32(value)
    short = f"{value:.2f}"
    return short if np.float32(short) == exact else np.format_float_positional(exact, trim="-")
