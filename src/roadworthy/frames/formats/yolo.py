"""YOLO labels: one box per line: class number, centre, size (as shares of the image), maybe a score.

Coordinates on a grid of 1/1024 pixel survive a round trip exactly. There is no place for track ids,
occlusion, truncation and attributes that the class name does not say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from roadworthy.errors import FrameError
from roadworthy.frames.formats._rows import (
    ClassNames,
    Names,
    OnInvalid,
    OnUnknown,
    Rows,
    Vocabulary,
    by_name,
    by_number,
    named,
    number,
    text_lines,
)

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes


def read(
    text: str | Iterable[str],
    width: int,
    height: int,
    names: Names,
    class_names: ClassNames | None,
    on_unknown: OnUnknown,
    on_invalid: OnInvalid,
) -> Boxes:
    """Return the boxes of label lines."""
    _check_size(width, height)
    known = by_number(names)
    rows = Rows(Vocabulary("YOLO", class_names), on_unknown, on_invalid)
    for line, columns in text_lines(text):
        where = f"line {line}"
        if len(columns) not in (5, 6):
            raise FrameError(
                f"{where}: expected 5 columns (class, centre x, centre y, width, height) or 6 (with score), "
                f"got {len(columns)}: {' '.join(columns)!r}"
            )
        values = [number(where, f"column {index}", value) for index, value in enumerate(columns, 1)]
        name = named(where, "class", known, values[0])
        x, y, half_width, half_height = values[1], values[2], values[3] / 2, values[4] / 2
        corners = (
            (x - half_width) * width,
            (y - half_height) * height,
            (x + half_width) * width,
            (y + half_height) * height,
        )
        rows.add(where, name, corners, score=values[5] if len(values) == 6 else None)
    return rows.boxes()


def write(boxes: Boxes, width: int, height: int, names: Names, class_names: ClassNames | None) -> str:
    """Return one line per box."""
    _check_size(width, height)
    numbers = by_name(names)
    lines = []
    for index, name in enumerate(Vocabulary("YOLO", class_names).names_for(boxes, numbers)):
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
