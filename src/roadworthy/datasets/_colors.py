"""Label maps in the colours of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from roadworthy._files import naming
from roadworthy.datasets._annotations import ClassNames, class_names_of
from roadworthy.errors import InputError
from roadworthy.frames import LabelMap
from roadworthy.images import read_image

__all__ = ["Color", "UnknownColors", "classes_by_color", "read_label_map"]

Color = tuple[int, int, int]
UnknownColors = Literal["error", "void"]


def classes_by_color(
    path: Path, colors: Mapping[Color, str], known: ClassNames, given: ClassNames | str | None
) -> dict[Color, str | None]:
    """Return the ontology class of each colour.

    Args:
        path: The file that names the colours, for messages.
        colors: The data set's own class name of each colour.
        known: What the data set's class names mean.
        given: What the user says they mean, as `class_names_of` takes it; goes before what is known.

    Raises:
        InputError: A class name has no meaning, or the user's word for one is unknown.
    """
    meanings = {**known, **class_names_of(given)}
    for color, name in colors.items():
        if name not in meanings:
            raise InputError(
                f"{path}: the class {name!r} of colour {color} is unknown: "
                f"say what it means with class_names={name}=..., or {name}=none for void"
            )
    return {color: meanings[name] for color, name in colors.items()}


def read_label_map(
    path: Path, classes: Mapping[Color, str | None], unknown_colors: UnknownColors
) -> LabelMap:
    """Read a label map from a picture.

    Raises:
        FrameError: The file cannot be read, or has a colour without a class.
    """
    picture = read_image(path)
    with naming(path):
        return LabelMap.from_rgb(picture, classes, on_unknown=unknown_colors)
