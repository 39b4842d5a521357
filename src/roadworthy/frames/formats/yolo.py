"""YOLO labels: one box per line: class number, centre, size (as shares of the image), maybe a score.

Coordinates on a grid of 1/1024 pixel survive a round trip exactly. There is no place for track ids,
occlusion, truncation and attributes that the class name does not say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

import numpy as np

from roadworthy.errors import FrameError
from roadworthy.frames.formats import _rows
from roadworthy.frames.formats._rows import ReadOptions

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes


def read(
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
    rows = _rows.Rows("YOLO", **options)
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
        score = values[5] if len(values) == 6 else None
        rows.add(where, name, (left, top, right, bottom), score=score)
    return rows.boxes()


def write(
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
