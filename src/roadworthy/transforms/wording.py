"""Words for elements of the ontology, and notes on what was done to a frame.

A note must stay true: where the image moves, the place in it is left out; where a thing goes or gets another
look, its note goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.errors import OntologyError
from roadworthy.frames import Frame
from roadworthy.ontology import MOST_WORDS, Element, Ontology, normalized, ontology

_ARTICLES = ("a", "an", "the", "all", "every", "any")


class Numbers:
    """The numbers of one section of believable.yaml, by their names."""

    def __init__(self, section: str) -> None:
        self.__dict__.update(believable()[section])

    def __getattr__(self, name: str) -> float:
        raise AttributeError(f"believable.yaml has no {name}")


@cache
def believable() -> Mapping[str, Any]:
    """Return what believable.yaml holds, by section."""
    return read_yaml(Path(__file__).with_name("believable.yaml"), "file of numbers", "sections").data


@dataclass(frozen=True)
class ElementDescription:
    """An element of the ontology, and what is said about it.

    Attributes:
        element: The name of the element.
        properties: Its properties, such as {"color": "red"}.
        words: What the user wrote, without article.
    """

    element: str
    properties: Mapping[str, str] = field(default_factory=FrozenDict)
    words: str = field(default="", compare=False)

    def is_a(self, element: str) -> bool:
        """Return whether it is an element or lies below it in the ontology."""
        return ontology().is_a(self.element, element)

    @property
    def condition(self) -> str | None:
        """Which of the ontology's conditions it is or is one of: "weather" for "heavy rain"; None for things.

        Example:
            >>> described("heavy rain").condition, described("winter").condition, described("tree").condition
            ('weather', 'season', None)
        """
        return ontology().condition_of(self.element)

    def covers(self, other: ElementDescription) -> bool:
        """Return whether all that `other` means is meant by this one too: "vehicle" covers "red car".

        Example:
            >>> described("vehicle").covers(described("red car"))
            True
            >>> described("red car").covers(described("vehicle"))
            False
        """
        return other.is_a(self.element) and self.properties.items() <= other.properties.items()

    def __str__(self) -> str:
        if self.words:
            return self.words
        word = ontology().word_for(self.element, self.properties)
        known = ontology().resolve_with_properties(word)[1]
        return " ".join([*(value for key, value in self.properties.items() if key not in known), word])


def described(words: str) -> ElementDescription:
    """Return what a few words describe: a word of the ontology, with properties of it before it.

    Raises:
        OntologyError: The words are none of the ontology's; says which are near.

    Example:
        >>> described("red truck")
        ElementDescription(element='vehicle', properties={'type': 'truck', 'color': 'red'}, words='red truck')
        >>> dict(described("white dashed lane lines").properties)
        {'type': 'dash', 'color': 'white'}
        >>> described("purple car")
        Traceback (most recent call last):
        ...
        roadworthy.errors.OntologyError: 'purple car' is not in the ontology: 'purple' is no property of \
'vehicle', which has type (car, truck, van, school bus, bus, motorcycle, tram, ambulance, police car, \
taxi) and color (white, black, blue, red, yellow, green, silver, grey, orange, brown)
    """
    # What a word means depends on the ontology in use, which may change.
    return _described(words, ontology())


@lru_cache(maxsize=256)
def _described(words: str, _in_use: Ontology) -> ElementDescription:
    tokens = normalized(words).split()
    while len(tokens) > 1 and tokens[0] in _ARTICLES:
        del tokens[0]
    plain = " ".join(tokens)
    if plain in ontology():
        element, known = ontology().resolve_with_properties(plain)
        return ElementDescription(element.name, FrozenDict(known), plain)
    for start in range(1, len(tokens) if len(tokens) <= MOST_WORDS else 0):
        tail = " ".join(tokens[start:])
        if tail in ontology():
            element, known = ontology().resolve_with_properties(tail)
            said = dict(_properties(element, tokens[:start], plain))
            for key, value in known.items():
                if said.setdefault(key, value) != value:
                    raise OntologyError(f"{plain!r} contradicts itself: the {key} is {said[key]} and {value}")
            ordered = {key: said[key] for key in element.properties if key in said}
            return ElementDescription(element.name, FrozenDict(ordered), plain)
    ontology().resolve(plain)  # raises, and says what is near
    raise AssertionError


def _properties(element: Element, tokens: list[str], words: str) -> Iterator[tuple[str, str]]:
    """Yield the properties that words before the word for an element stand for."""
    values = {normalized(value): (key, value) for key, known in element.properties.items() for value in known}
    start = 0
    while start < len(tokens):
        for end in range(len(tokens), start, -1):
            word = " ".join(tokens[start:end])
            if word in values:
                yield values[word]
                break
            # "dashed" is no value, but a "dashed line" is a kind of line.
            kind = element.kinds.get(f"{word} {element.name}")
            if kind is not None:
                yield from kind.items()
                break
        else:
            has = " and ".join(f"{key} ({', '.join(known)})" for key, known in element.properties.items())
            raise OntologyError(
                f"{words!r} is not in the ontology: {tokens[start]!r} is no property of {element.name!r}, "
                f"which has {has or 'none'}"
            )
        start = end


_KEY = "added"
# What a note says about where a thing is in the image, and which way round.
_PLACE = ("box", "foot", "places", "side", "mirrored")


def metadata_with(frame: Frame, note: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata of a frame with one more note."""
    return {**frame.metadata, _KEY: (*added_things(frame), FrozenDict(note))}


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
    if not (notes := added_things(frame)):
        return frame.metadata
    left = [one for one in notes if not gone.covers(ElementDescription(one["element"], one["properties"]))]
    others = {key: value for key, value in frame.metadata.items() if key != _KEY}
    return {**others, _KEY: tuple(left)} if left else others


def without_places(frame: Frame) -> Frame:
    """Return a frame that was moved: its notes no longer say where in the image things are."""
    if not (notes := added_things(frame)):
        return frame
    left = (FrozenDict({key: one[key] for key in one if key not in _PLACE}) for one in notes)
    return frame.replace(metadata={**frame.metadata, _KEY: tuple(left)})


def added_things(frame: Frame) -> tuple[Any, ...]:
    """Return the notes of what was added, the last one last; none where a data set means something else."""
    found = frame.metadata.get(_KEY)
    known = isinstance(found, tuple) and all(
        isinstance(one, Mapping) and {"element", "properties"} <= one.keys() for one in found
    )
    return found if known and isinstance(found, tuple) else ()


MOMENT, TRAVELLED = "moment", "travelled"
"""The keys in the metadata of a frame of a clip for its time in seconds, and the metres since some point."""
REALISM = ("believable", "any")
"""What is made on real frames: only what people believe, or all that can be made."""
