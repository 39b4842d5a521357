"""What a frame says about the things that were added to it, in ``metadata["added"]``.

A note must stay true: where the image moves, the place in it is left out; where a thing goes or gets another
look, its note goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roadworthy._frozen import FrozenDict
from roadworthy.frames import Frame
from roadworthy.transforms.wording import ElementDescription

_KEY = "added"
_PLACE = ("box", "foot", "side", "mirrored")
"""What a note says about where a thing is in the image, and which way round."""


def metadata_with(frame: Frame, note: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata of a frame with one more note."""
    return {**frame.metadata, _KEY: (*_notes(frame), FrozenDict(note))}


def metadata_without(frame: Frame, gone: ElementDescription) -> Mapping[str, object]:
    """Return the metadata of a frame without the notes about things that a description covers.

    Example:
        >>> import numpy as np
        >>> from roadworthy.transforms.wording import described
        >>> frame = Frame("a", np.zeros((2, 2, 3), np.uint8))
        >>> frame = frame.replace(metadata=metadata_with(frame, {"element": "tree", "properties": {}}))
        >>> metadata_without(frame, described("tree"))
        {}
    """
    if not (notes := _notes(frame)):
        return frame.metadata
    left = [one for one in notes if not gone.covers(ElementDescription(one["element"], one["properties"]))]
    others = {key: value for key, value in frame.metadata.items() if key != _KEY}
    return {**others, _KEY: tuple(left)} if left else others


def without_places(frame: Frame) -> Frame:
    """Return a frame that was moved: its notes no longer say where in the image things are."""
    if not (notes := _notes(frame)):
        return frame
    left = (FrozenDict({key: one[key] for key in one if key not in _PLACE}) for one in notes)
    return frame.replace(metadata={**frame.metadata, _KEY: tuple(left)})


def _notes(frame: Frame) -> tuple[Any, ...]:
    """Return the notes; none where a data set means something else by the word."""
    found = frame.metadata.get(_KEY)
    known = isinstance(found, tuple) and all(
        isinstance(one, Mapping) and {"element", "properties"} <= one.keys() for one in found
    )
    return found if known and isinstance(found, tuple) else ()
