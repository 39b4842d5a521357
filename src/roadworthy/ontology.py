"""The classes of things on a road: their names, synonyms, WordNet senses, properties and label colours.

The built-in ontology is Table 3 of the RMT paper and lives in `ontology.yaml`; `Ontology.load` adds files of
your own to it. The rooms that need class names ask `ontology()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._frozen import FrozenDict
from roadworthy.errors import OntologyError, check_known, suggest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CONDITIONS", "MOST_WORDS", "VOID", "Element", "Ontology", "ontology", "use_ontology"]

CONDITIONS = ("weather", "time", "season")
"""What holds for a whole image: the elements whose children a condition is, and the names of these facts."""

VOID = "void"
"""The class of pixels about which nothing is known; label id 0, no element."""
VOID_COLOR = (0, 0, 0)

BUILT_IN = Path(__file__).with_name("ontology.yaml")

_SEPARATORS = re.compile(r"[\s_-]+")


def normalized(word: str) -> str:
    """Return the form in which words are compared: case, spaces, hyphens and underscores do not matter.

    Example:
        >>> normalized("Ego_Vehicle") == normalized("ego-vehicle")
        True
    """
    return _SEPARATORS.sub(" ", word).strip().casefold()


def _singulars(word: str) -> Iterator[str]:
    """Yield what a word may be the regular English plural of."""
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        yield word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]


@dataclass(frozen=True)
class Element:
    """One class of things.

    Attributes:
        name: The canonical name, lower case.
        parent: The name of the element one level up; None for a category.
        synonyms: Other words for the same thing.
        senses: WordNet 3.0 senses, such as "pedestrian.n.01".
        properties: The values each property may take, those inherited from the parents included.
        kinds: Words that mean this element with properties: "lorry" is a vehicle with type truck.
        color: RGB in label maps; None when no pixel has this class.
        description: One sentence.
    """

    name: str
    parent: str | None = None
    synonyms: tuple[str, ...] = ()
    senses: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=FrozenDict)
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=FrozenDict)
    color: tuple[int, int, int] | None = None
    description: str = ""


# Of a thing with all its properties: a longer text is none, and would take long to look up end by end.
MOST_WORDS = 24


class Ontology:
    """A checked tree of elements, looked up by any word for them.

    Words are compared without regard to case, spaces, hyphens and underscores. The regular plural of a word
    means the same as the word, unless a file gives it a meaning of its own; irregular plurals are synonyms.
    Values of its properties may stand before a word: "red car", "heavy rain", "solid white line".

    Example:
        >>> roads = Ontology.load()
        >>> roads["cyclist"].name
        'bicyclist'
        >>> "Traffic_Light" in roads, "lorries" in roads
        (True, True)
        >>> roads.ancestors("pedestrian")
        ('dynamic object', 'object')
    """

    def __init__(self, elements: Mapping[str, Element]) -> None:
        """Take elements that `load` has checked."""
        self._elements = FrozenDict(elements)
        self._words: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._children: dict[str, list[str]] = {name: [] for name in elements}
        plain: Mapping[str, str] = FrozenDict()
        for element in elements.values():
            for word in (element.name, *element.synonyms):
                self._words[normalized(word)] = (element.name, plain)
            for word, properties in element.kinds.items():
                self._words[normalized(word)] = (element.name, properties)
            if element.parent is not None:
                self._children[element.parent].append(element.name)

    @classmethod
    def load(cls, *extra_paths: str | PathLike[str]) -> Ontology:
        """Read the built-in file and then the user's files, which may add elements and extend known ones.

        Raises:
            OntologyError: A file cannot be read or contradicts itself or an earlier one; names file and line.

        Example:
            >>> len(Ontology.load().label_classes)
            19
        """
        from roadworthy._ontology_file import load_elements

        return cls(load_elements([BUILT_IN, *map(Path, extra_paths)]))

    @property
    def elements(self) -> Mapping[str, Element]:
        """All elements by name, in the order of the files."""
        return self._elements

    def get(self, word: str) -> Element | None:
        """Return the element a word stands for, or None."""
        found = self._look_up(word)
        return self._elements[found[0]] if found else None

    def _look_up(self, word: str) -> tuple[str, Mapping[str, str]] | None:
        if word in self._words:
            return self._words[word]
        key = normalized(word)
        if key in self._words:
            return self._words[key]
        words = key.split()
        if len(words) > MOST_WORDS:
            return None
        # From the last word on, each end of them once: what "red car" means follows from what "car" means.
        found: dict[int, tuple[str, Mapping[str, str]]] = {}
        for start in range(len(words) - 1, -1, -1):
            end = " ".join(words[start:])
            meanings = [self._words[one] for one in (end, *_singulars(end)) if one in self._words]
            # "bases" may be of "bas" or of "base": where two words fit and differ, neither is meant for sure.
            sure = end in self._words or all(one == meanings[0] for one in meanings)
            meaning = self._described(words, start, found) if not meanings else meanings[0] if sure else None
            if meaning is not None:
                found[start] = meaning
        return found.get(0)

    def _described(
        self, words: Sequence[str], start: int, found: Mapping[int, tuple[str, Mapping[str, str]]]
    ) -> tuple[str, Mapping[str, str]] | None:
        """Return what words mean that begin with the value of a property, such as "red car".

        Args:
            words: All words.
            start: From where on they are looked at.
            found: What the ends of them mean, by where they begin.
        """
        # The shortest end first; no value has more words than the longest.
        for split in range(min(len(words) - 1, start + self._longest_value), start, -1):
            if split not in found:
                continue
            name, known = found[split]
            first = " ".join(words[start:split])
            for property_, values in self._elements[name].properties.items():
                value = next((one for one in values if normalized(one) == first), None)
                if value is not None and known.get(property_, value) == value:
                    return name, FrozenDict({**known, property_: value})
        return None

    @cached_property
    def _longest_value(self) -> int:
        """How many words the longest value of a property has."""
        every = (one for element in self._elements.values() for one in element.properties.values())
        return max((len(normalized(value).split()) for values in every for value in values), default=0)

    def resolve(self, word: str) -> Element:
        """Return the element a name, a synonym or a kind stands for.

        Raises:
            OntologyError: No element has this word; suggests near ones.

        Example:
            >>> ontology().resolve("lorry").name, ontology().resolve("lane lines").name
            ('vehicle', 'line')
            >>> ontology().resolve("bilding")
            Traceback (most recent call last):
            ...
            roadworthy.errors.OntologyError: 'bilding' is not in the ontology: did you mean 'building'?
        """
        return self.resolve_with_properties(word)[0]

    def resolve_with_properties(self, word: str) -> tuple[Element, Mapping[str, str]]:
        """Return the element a word stands for and the properties the word adds.

        Example:
            >>> element, properties = ontology().resolve_with_properties("school bus")
            >>> element.name, dict(properties)
            ('vehicle', {'type': 'school bus'})
            >>> ontology().resolve_with_properties("red car")[1]
            {'type': 'car', 'color': 'red'}
        """
        found = self._look_up(word)
        if found is None:
            raise OntologyError(f"{word!r} is not in the ontology: {suggest(word, self._suggestions(word))}")
        return self._elements[found[0]], found[1]

    def _suggestions(self, word: str) -> list[str]:
        # Every word may be what was meant, but where none is near the names alone make a readable list.
        near = get_close_matches(normalized(word), self._words)
        return near or [*self._elements]

    def word_for(self, name: str, properties: Mapping[str, str]) -> str:
        """Return the most specific single word for an element with properties, the way back from a kind.

        Example:
            >>> ontology().word_for("vehicle", {"type": "truck", "color": "red"})
            'truck'
            >>> ontology().word_for("vehicle", {"color": "red"})
            'vehicle'
        """
        element = self.resolve(name)
        fitting = [word for word, kind in element.kinds.items() if kind.items() <= properties.items()]
        return max(fitting, key=lambda word: len(element.kinds[word]), default=element.name)

    def __getitem__(self, word: str) -> Element:
        return self.resolve(word)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._look_up(word) is not None

    def __repr__(self) -> str:
        return f"Ontology({len(self._elements)} elements, {len(self.label_classes)} label classes)"

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the names above an element, nearest first."""
        line = []
        parent = self.resolve(name).parent
        while parent is not None:
            line.append(parent)
            parent = self._elements[parent].parent
        return tuple(line)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the names directly below an element, in file order.

        Example:
            >>> ontology().children("dynamic object")
            ('pedestrian', 'vehicle', 'bicyclist')
        """
        return tuple(self._children[self.resolve(name).name])

    def leaves(self, name: str) -> tuple[str, ...]:
        """Return the names below an element that have nothing below them; itself when it is such a leaf.

        Example:
            >>> ontology().leaves("object")
            ('tree', 'building', 'traffic cone', 'pedestrian', 'vehicle', 'bicyclist', 'ego-vehicle', 'dog')
        """
        children = self.children(name)
        if not children:
            return (self.resolve(name).name,)
        return tuple(leaf for child in children for leaf in self.leaves(child))

    def is_a(self, word: str, ancestor: str) -> bool:
        """Return whether a thing is of a class: the same element or one below, with at least its properties.

        Example:
            >>> ontology().is_a("truck", "dynamic object"), ontology().is_a("vehicle", "truck")
            (True, False)
        """
        element, properties = self.resolve_with_properties(word)
        above, wanted = self.resolve_with_properties(ancestor)
        inside = above.name == element.name or above.name in self.ancestors(element.name)
        return inside and wanted.items() <= properties.items()

    def condition_of(self, word: str) -> str | None:
        """Return which of :data:`CONDITIONS` a word belongs to; None for things and for unknown words.

        Example:
            >>> [ontology().condition_of(word) for word in ("snow", "season", "car")]
            ['weather', 'season', None]
        """
        element = self.get(word)
        if element is None:
            return None
        line = (element.name, *self.ancestors(element.name))
        return next((kind for kind in CONDITIONS if kind in line), None)

    def check_property(self, name: str, key: str, value: str) -> str:
        """Return the value as the ontology spells it, or say which properties and values there are.

        Example:
            >>> ontology().check_property("vehicle", "type", "School_Bus")
            'school bus'
            >>> ontology().check_property("vehicle", "color", "gray")
            Traceback (most recent call last):
            ...
            roadworthy.errors.OntologyError: 'gray' is not a color of 'vehicle': did you mean 'grey'?
        """
        element = self.resolve(name)
        check_known(f"{element.name!r} has no property", key, element.properties, OntologyError)
        for known in element.properties[key]:
            if normalized(known) == normalized(value):
                return known
        raise OntologyError(
            f"{value!r} is not a {key} of {element.name!r}: {suggest(value, element.properties[key])}"
        )

    @cached_property
    def label_classes(self) -> tuple[str, ...]:
        """The classes of label maps; the index is the label id and stays the same when files are added."""
        return (VOID, *(element.name for element in self._elements.values() if element.color))

    def label_id(self, word: str) -> int:
        """Return the label id of a class.

        Example:
            >>> ontology().label_id("void"), ontology().label_id("road")
            (0, 1)
        """
        name = VOID if normalized(word) == VOID else self.resolve(word).name
        if name not in self.label_classes:
            raise OntologyError(
                f"{name!r} is no class of label maps, which are {', '.join(self.label_classes)}: "
                "an element needs a color to be one"
            )
        return self.label_classes.index(name)

    @cached_property
    def palette(self) -> NDArray[np.uint8]:
        """The RGB colours of the label classes, shape (n, 3), indexed by label id."""
        import numpy as np

        colors = [self._elements[name].color for name in self.label_classes[1:]]
        palette = np.array([VOID_COLOR, *colors], dtype=np.uint8)
        palette.setflags(write=False)
        return palette


@cache
def _built_in() -> Ontology:
    return Ontology.load()


_in_use: Ontology | None = None


def ontology() -> Ontology:
    """Return the ontology in use: the built-in one, read once, unless `use_ontology` set another.

    Example:
        >>> ontology()["car"].name
        'vehicle'
    """
    return _in_use or _built_in()


def use_ontology(value: Ontology | None) -> None:
    """Make this process use an ontology with the user's own files; None goes back to the built-in one.

    Frames check class names against the ontology in use: set it before reading data with classes of your own.

    Example:
        >>> use_ontology(Ontology.load())
        >>> use_ontology(None)
    """
    global _in_use
    _in_use = value
