"""What readers of annotations share: class names, and boxes that leave the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from roadworthy._files import naming
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes
from roadworthy.ontology import VOID, normalized, ontology

__all__ = [
    "CLIPPED",
    "ClassNames",
    "OnUnknown",
    "Outside",
    "class_names_of",
    "named_meaning",
    "placed",
]

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
