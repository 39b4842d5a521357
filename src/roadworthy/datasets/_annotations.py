"""What readers of annotations share: class names, boxes that leave the image, colours of label maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from roadworthy._files import naming
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes, LabelMap
from roadworthy.images import read_image
from roadworthy.ontology import VOID, normalized, ontology

ClassNames = Mapping[str, str | None]
"""The ontology word for each class name of a data set; None has no class: no box, or void pixels."""
OnUnknown = Literal["error", "skip"]
Outside = Literal["error", "clip"]

CLIPPED = "clipped_boxes"
"""The key in the metadata of a frame under which a reader says how many boxes it cut off."""


def class_names_of(given: ClassNames | str | None) -> dict[str, str | None]:
    """Return what the user says about class names; text spells it ``name=word,name=word``.

    The words "none" and "void", or no word at all, leave boxes of the class out and make its pixels void.

    Raises:
        InputError: The text is of another form, or a word is not in the ontology.

    Example:
        >>> class_names_of("rider=bicyclist,dog=none")
        {'rider': 'bicyclist', 'dog': None}
    """
    if given is None:
        return {}
    names: dict[str, str | None] = {}
    if isinstance(given, Mapping):
        names.update(given)
    elif isinstance(given, str):
        for part in filter(None, (part.strip() for part in given.split(","))):
            name, equals, said = map(str.strip, part.partition("="))
            if not equals or not name:
                raise InputError(
                    f"class_names must be written name=word,name=word such as rider=bicyclist, got {given!r}"
                )
            names[name] = None if said.lower() in ("", "none") else said
    else:
        raise InputError(f"class_names must map names to words of the ontology, got {given!r}")
    for name, word in names.items():
        if not isinstance(name, str) or not (word is None or isinstance(word, str)):
            raise InputError(f"class_names must map names to words of the ontology, got {name!r}: {word!r}")
        if word is not None and normalized(word) == VOID:
            names[name] = None
        elif word is not None:
            with naming(f"class_names[{name!r}]"):
                ontology().resolve(word)
    return names


def named_meaning(
    name: str, class_names: ClassNames, known: Mapping[str, tuple[str, Mapping[str, str]]]
) -> tuple[str, Mapping[str, str]] | None:
    """Return the class and attributes that a name stands for; None when the user leaves it out.

    Args:
        name: The class name in the file.
        class_names: What the user says; goes before everything else.
        known: What the format itself fixes; goes before the ontology.

    Raises:
        OntologyError: Nothing says what the name means.
    """
    if name in class_names:
        word = class_names[name]
        if word is None:
            return None
    elif name in known:
        return known[name]
    else:
        word = name
    element, properties = ontology().resolve_with_properties(word)
    return element.name, properties


def placed(boxes: Boxes, width: int, height: int, outside: Outside) -> tuple[Boxes, dict[str, int]]:
    """Return boxes that a frame of this size takes, and what its metadata shall say about them.

    A frame takes boxes that reach at most one pixel beyond the image. Others are an error, or are cut off
    and counted.

    Raises:
        FrameError: A box reaches farther beyond the image and `outside` is "error".

    Example:
        >>> placed(Boxes([[-5, 2, 5, 8]], ["car"]), 10, 10, "clip")[1]
        {'clipped_boxes': 1}
    """
    limits = np.array([width, height, width, height]) + 1
    wrong = np.flatnonzero(((boxes.xyxy < -1) | (boxes.xyxy > limits)).any(axis=1))
    if not len(wrong):
        return boxes, {}
    if outside == "error":
        index = int(wrong[0])
        numbers = ", ".join(f"{value:g}" for value in boxes.xyxy[index])
        raise FrameError(
            f"box {index} ({boxes.classes[index]}) at ({numbers}) reaches beyond the image of "
            f"{width}x{height}: cut such boxes off with outside=clip"
        )
    return boxes.clipped(width, height), {CLIPPED: len(wrong)}


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
