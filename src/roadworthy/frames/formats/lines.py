"""Box formats with one line per box: KITTI's labels and results, and YOLO's labels.

KITTI object labels and results: one box per line, 15 columns, or 16 with a score.

Types: Car, Van, Truck and Tram are vehicles with that type; Cyclist is a bicyclist; Person_sitting is a
pedestrian with the attribute posture=sitting; Misc, which KITTI uses for trailers, segways and the like, is
a dynamic object. DontCare marks regions without labels and is left out.

Truncation is a share; -1 is unknown. Occlusion is a level: 0 fully visible, 1 partly occluded, 2 largely
occluded, 3 unknown. Levels 0, 1 and 2 become the shares 0, 0.25 and 0.75; going back, shares below 0.1 are
level 0, below 0.5 level 1, all others level 2, so levels survive a round trip. Unknown occlusion is written
as 3, in results as -1.

The observation angle and the 3-D box are not kept; they are written as KITTI's "unknown": -10 for angles,
-1 for sizes, -1000 for positions. Track ids have no column, nor have attributes other than those above.

YOLO labels: one box per line: class number, centre, size (as shares of the image), maybe a score.

Coordinates on a grid of 1/1024 pixel survive a round trip exactly. There is no place for track ids,
occlusion, truncation and attributes that the class name does not say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows
from roadworthy.frames.formats._rows import ReadOptions

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes

_VEHICLES = ("Car", "Van", "Truck", "Tram")
TYPES = FrozenDict(
    {
        **{name: ("vehicle", FrozenDict({"type": name.lower()})) for name in _VEHICLES},
        "Pedestrian": ("pedestrian", FrozenDict[str, str]()),
        "Person_sitting": ("pedestrian", FrozenDict({"posture": "sitting"})),
        "Cyclist": ("bicyclist", FrozenDict[str, str]()),
        "Misc": ("dynamic object", FrozenDict[str, str]()),
    }
)
UNKNOWN_3D = ("-1", "-1", "-1", "-1000", "-1000", "-1000", "-10")
OCCLUSION = {-1: _rows.NAN, 0: 0.0, 1: 0.25, 2: 0.75, 3: _rows.NAN}


def read_kitti(text: str | Iterable[str], **options: Unpack[ReadOptions]) -> Boxes:
    """Return the boxes of label or result lines.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> line = "Van 0.00 1 -1.5 100.00 150.00 180.00 200.00 2.1 1.9 5.0 1.0 1.5 20.0 -1.5"
        >>> boxes = Boxes.from_kitti(line)
        >>> boxes.classes, dict(boxes.attributes[0])
        (('vehicle',), {'type': 'van'})
    """
    rows = _rows.Rows.read_with(options, "KITTI", TYPES)
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


def write_kitti(boxes: Boxes, *, class_names: _rows.ClassNames | None = None) -> str:
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
        cut_off = "-1" if np.isnan(truncation) else _decimals(truncation)
        corners = map(_decimals, boxes.xyxy[index].tolist())
        columns = [name, cut_off, str(level), "-10", *corners, *UNKNOWN_3D]
        if boxes.scores is not None:
            columns.append(_decimals(float(boxes.scores[index])))
        lines.append(" ".join(columns) + "\n")
    return "".join(lines)


def _decimals(value: float) -> str:
    """Return two decimals, as KITTI has them, or as many as it takes to read the same float32 again."""
    exact = np.float32(value)
    short = f"{value:.2f}"
    return short if np.float32(short) == exact else np.format_float_positional(exact, trim="-")


def read_yolo(
    text: str | Iterable[str], width: int, height: int, names: _rows.Names, **options: Unpack[ReadOptions]
) -> Boxes:
    """Return the boxes of label lines of an image of this size.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes.from_yolo("0 0.5 0.5 0.2 0.4", 100, 50, ["person"]).xyxy.tolist()
        [[40.0, 15.0, 60.0, 35.0]]
    """
    _check_size(width, height)
    known = _rows.by_number(names)
    rows = _rows.Rows.read_with(options, "YOLO")
    for line, columns in _rows.text_lines(text):
        where = f"line {line}"
        if len(columns) not in (5, 6):
            raise FrameError(
                f"{where}: expected 5 columns (class, centre x, centre y, width, height) or 6 (with score), "
                f"got {len(columns)}: {' '.join(columns)!r}"
            )
        values = [_rows.number(where, f"column {index}", value) for index, value in enumerate(columns, 1)]
        name = _rows.named(where, "class", known, values[0])
        x, y, half_width, half_height = values[1], values[2], values[3] / 2, values[4] / 2
        left, right = (x - half_width) * width, (x + half_width) * width
        top, bottom = (y - half_height) * height, (y + half_height) * height
        rows.add(where, name, (left, top, right, bottom), score=values[5] if len(values) == 6 else None)
    return rows.boxes()


def write_yolo(
    boxes: Boxes, width: int, height: int, names: _rows.Names, *, class_names: _rows.ClassNames | None = None
) -> str:
    r"""Return one line per box, with a sixth column when there are scores.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> Boxes([[40, 15, 60, 35]], ["pedestrian"]).to_yolo(100, 50, ["person"])
        '0 0.5 0.5 0.2 0.4\n'
    """
    _check_size(width, height)
    numbers = _rows.by_name(names)
    lines = []
    for index, name in enumerate(_rows.Vocabulary("YOLO", class_names).names_for(boxes, numbers)):
        left, top, right, bottom = boxes.xyxy[index].tolist()
        values = [(left + right) / 2 / width, (top + bottom) / 2 / height]
        values += [(right - left) / width, (bottom - top) / height]
        columns = [str(numbers[name]), *(np.format_float_positional(value, trim="-") for value in values)]
        if boxes.scores is not None:
            columns.append(np.format_float_positional(boxes.scores[index], trim="-"))
        lines.append(" ".join(columns) + "\n")
    return "".join(lines)


def _check_size(width: int, height: int) -> None:
    if width <= 0 or height <= 0:
        raise FrameError(f"width and height of the image must be positive, got {width} and {height}")
