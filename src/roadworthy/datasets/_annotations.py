"""What readers of annotation files share: JSON, class names, boxes that leave the image, maps of ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from roadworthy.datasets._files import read_text
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Boxes
from roadworthy.ontology import ontology

__all__ = [
    "ClassNames",
    "OnUnknown",
    "Outside",
    "class_names_of",
    "locating",
    "named_meaning",
    "placed",
    "read_ids",
    "read_json",
]

ClassNames = Mapping[str, str | None]
OnUnknown = Literal["error", "skip"]
Outside = Literal["error", "clip"]

CLIPPED = "clipped_boxes"
"""The key in the metadata of a frame under which a reader says how many boxes it cut off."""


def read_json(path: Path) -> Any:
    """Return the document in a JSON file.

    Raises:
        FrameError: The file is missing or no JSON; says where it stops being JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FrameError(f"{path} must be JSON: {error}") from error


def class_names_of(given: ClassNames | str | None) -> dict[str, str | None]:
    """Return what the user says about class names; text spells it ``name=word,name=word``.

    The word "none", or no word at all, leaves boxes of the class out.

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
        if word is not None:
            with locating(f"class_names[{name!r}]"):
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


@contextmanager
def locating(where: str) -> Iterator[None]:
    """Say where it happened in front of the message of an input error that is raised inside."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{where}: {error}") from error


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
            f"{width}x{height}: cut such boxes off with outside='clip'"
        )
    return boxes.clipped(width, height), {CLIPPED: len(wrong)}


def read_ids(path: Path) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Read a picture whose pixels are numbers: one channel of 8 or 16 bits.

    Raises:
        FrameError: The file is missing, cut short, no picture, or one of colours.
    """
    import cv2

    try:
        data = path.read_bytes()
    except OSError as error:
        raise FrameError(f"cannot read the label map {path}: {error.strerror}") from error
    if data.startswith(b"\x89PNG") and b"IEND" not in data[-1024:]:
        raise FrameError(f"cannot read the label map {path}: the file is cut short after {len(data)} bytes")
    ids = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data else None
    if ids is None:
        raise FrameError(
            f"cannot read the label map {path}: it is corrupt or no image (got {len(data)} bytes)"
        )
    if ids.ndim != 2 or ids.dtype not in (np.uint8, np.uint16):
        shape = " × ".join(map(str, ids.shape))
        raise FrameError(
            f"the label map {path} must have one channel of 8 or 16 bits, got {shape} {ids.dtype}"
        )
    return cast("NDArray[np.uint8] | NDArray[np.uint16]", ids)
