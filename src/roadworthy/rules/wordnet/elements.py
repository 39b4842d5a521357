"""Which element of the ontology a noun of WordNet means.

An element means what its senses mean and every kind of it: below car.n.01 lie hatchback and taxi. Some senses
of the ontology are wider than the element, which shows in its description: vehicle.n.01 is above boats and
bicycles, person.n.01 above kings and astronauts. Here stands, in WordNet 3.0's own senses, what is admitted
instead. Senses that users add to the ontology reach down to everything below them.

Wu-Palmer similarity above a floor, as in the RMT paper (0.75), lets too much through: a dog is 0.78 like a
person, a boat 0.86 like a vehicle. So a word means an element when both of these hold:

1. One of its senses is a kind of what the element means: it lies at or below an anchor, a sense that the
   ontology gives the element (`WIDE` narrows anchors that are wider than their element).
2. The word means this clearly more often than not: such senses have a share of its uses (see `Sense.share`)
   above `MAJORITY`, or above `MAJORITY_UNTAGGED` where none of its senses was ever counted: WordNet's first
   "server" is a waiter. Senses that come from the same thing, such as the wood of a tree, do not count.

At most one element can have the majority, so none is preferred by a hair. A category ("object") has no kinds
of its own: only a synonym of it means it. The paper's floor is not asked for besides: all words that are
matched with the built-in ontology reach it, and it would only cut off deep trees below the senses of users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from roadworthy._files import naming
from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.ontology import Element, Ontology, ontology
from roadworthy.rules.wordnet.lexicon import Lexicon, Sense, letter_of, lexicon, nearest, wup

_SENSES = read_yaml(Path(__file__).with_name("elements.yaml"), "file of senses", "'wide:'").data
WIDE = frozenset(_SENSES["wide"])
"""Anchors that stand for themselves only, not for what lies below them."""
ALSO, NEVER, SIDE_MEANINGS = (
    {name: frozenset(senses) for name, senses in _SENSES[key].items()}
    for key in ("also", "never", "side meanings")
)
"""Anchors of an element besides those of the ontology; what lies below an anchor and is not meant, with all
below it; and senses of a word that are no reason to doubt that it means the element in another sense."""
USUAL: Mapping[str, str | None] = _SENSES["usual"] | dict.fromkeys(_SENSES["doubtful"])
"""The sense that is usual on a road where WordNet's order says otherwise; None where there is none."""


MAJORITY = 0.6
"""The share of a word's uses that must be exceeded."""
MAJORITY_UNTAGGED = 0.75
"""The same where no sense of the word was counted, so that shares come from WordNet's order alone."""


@dataclass(frozen=True)
class ElementMatch:
    """What a word means in the ontology.

    Attributes:
        element: The name of the element.
        properties: What the word says besides: a hatchback is a vehicle with type car.
        sense: The sense of the word that is meant; None where the ontology itself has the word.
        anchor: The sense of the element that it is a kind of; None likewise.
        similarity: Wu-Palmer similarity of these two.
        share: The part of the word's uses in which it means this.
    """

    element: str
    properties: Mapping[str, str] = field(default_factory=FrozenDict)
    sense: str | None = None
    anchor: str | None = None
    similarity: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class _Reach:
    """The synsets that an element reaches down from, and those where this ends."""

    name: str
    alone: frozenset[int]
    down: frozenset[int]
    never: frozenset[int]
    side: frozenset[int]

    def anchor(self, synset: int, words: Lexicon) -> int | None:
        """Return the nearest anchor that a synset is a kind of, if any."""
        above = words.ancestors(synset)
        anchors = [one for one in self.down if one in above]
        if synset in self.alone:
            anchors.append(synset)
        nearest_anchor = min(anchors, key=lambda one: above[one], default=None)
        # An anchor below an exception wins over it: passengers are not met on foot, but commuters are.
        barred = min((above[one] for one in self.never if one in above), default=None)
        if nearest_anchor is None or (barred is not None and barred <= above[nearest_anchor]):
            return None
        return nearest_anchor

    def doubts(self, synset: int, words: Lexicon) -> bool:
        """Return whether a sense that is no kind of the element speaks against the word meaning it."""
        above = words.ancestors(synset)
        return any(one in above for one in self.never) or not any(one in above for one in self.side)


@dataclass(frozen=True)
class _ElementAnchor:
    """Where a sense hangs: the element that reaches it and the anchor above it."""

    reach: _Reach
    anchor: int


class _Matcher:
    """The elements of one ontology with their anchors."""

    def __init__(self, elements: Ontology) -> None:
        self.ontology = elements
        self.words = lexicon("n")
        self.anchors = {
            element.name: tuple(sense for sense in element.senses if letter_of(sense) == "n")
            for element in elements.elements.values()
        }
        self.reaches = [self._reach(element) for element in elements.elements.values()]

    def _synsets(self, senses: Iterable[str]) -> frozenset[int]:
        return frozenset(map(self.words.synset, senses))

    def _reach(self, element: Element) -> _Reach:
        with naming(f"senses of the ontology element {element.name!r}"):
            return self._checked_reach(element)

    def _checked_reach(self, element: Element) -> _Reach:
        senses = {*self.anchors[element.name], *ALSO.get(element.name, ())}
        alone = senses if self.ontology.children(element.name) else senses & WIDE
        return _Reach(
            element.name,
            self._synsets(alone),
            self._synsets(senses - alone),
            self._synsets(NEVER.get(element.name, ())),
            self._synsets(SIDE_MEANINGS.get(element.name, ())),
        )

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[int, Mapping[str, str]]]:
        """The synsets of the ontology's kinds: truck.n.01 has type truck, and so has what lies below it."""
        found: dict[str, dict[int, Mapping[str, str]]] = {}
        for reach in self.reaches:
            of_element = found[reach.name] = {}
            listed = self._synsets(self.anchors[reach.name])
            for word, properties in self.ontology.elements[reach.name].kinds.items():
                owned = {
                    sense.synset: place.anchor
                    for sense in self.words.senses(word)
                    if (place := self._place(sense.synset)) and place.reach is reach
                }
                # A van is what lies below the ontology's own truck.n.01 rather than a caravan.
                first = [synset for synset, anchor in owned.items() if anchor in listed]
                for synset in (first or [*owned])[:1]:
                    of_element.setdefault(synset, properties)
        return found

    def _place(self, synset: int) -> _ElementAnchor | None:
        """Return the nearest anchor of all elements: a cyclist is a person, but first of all a bicyclist."""
        above = self.words.ancestors(synset)
        places = [
            _ElementAnchor(reach, anchor)
            for reach in self.reaches
            if (anchor := reach.anchor(synset, self.words)) is not None
        ]
        return min(places, key=lambda place: above[place.anchor], default=None)

    def match(self, word: str) -> ElementMatch | None:
        if word in self.ontology:
            element, properties = self.ontology.resolve_with_properties(word)
            return ElementMatch(element.name, properties)
        senses = self._senses(word)
        needed = MAJORITY if any(sense.count for sense in senses) else MAJORITY_UNTAGGED
        places = {sense: self._place(sense.synset) for sense in senses if not sense.is_name}
        for reach in {place.reach.name: place.reach for place in places.values() if place}.values():
            meant = {sense: place for sense, place in places.items() if place and place.reach is reach}
            against = [
                sense
                for sense in senses
                if sense not in meant and (places.get(sense) or reach.doubts(sense.synset, self.words))
            ]
            weight = sum(sense.share for sense in meant)
            share = weight / (weight + sum(sense.share for sense in against))
            if share > needed:
                sense, place = next(iter(meant.items()))
                return self._match(sense, place, share)
        return None

    def _senses(self, word: str) -> list[Sense]:
        senses = self.words.senses(word)
        lemma = self.words.lemma(word) or ""
        if lemma in USUAL:
            return [sense for sense in senses if sense.name == USUAL[lemma]]
        # Berlin may be meant by "berlin", which is also a carriage; Pancho Villa is not by "villa".
        return [sense for sense in senses if sense.count or not sense.is_name]

    def _match(self, sense: Sense, place: _ElementAnchor, share: float) -> ElementMatch:
        anchor = self.words.name(place.anchor)
        above = self.words.ancestors(sense.synset)
        kinds = self.kinds[place.reach.name]
        kind = min((one for one in kinds if one in above), key=lambda one: above[one], default=None)
        properties = FrozenDict(kinds[kind]) if kind is not None else FrozenDict()
        return ElementMatch(place.reach.name, properties, sense.name, anchor, wup(sense.name, anchor), share)


@lru_cache(maxsize=4)
def _matcher(elements: Ontology) -> _Matcher:
    return _Matcher(elements)


@lru_cache(maxsize=4096)
def _matched(elements: Ontology, word: str) -> ElementMatch | None:
    return _matcher(elements).match(word)


def match_element(word: str) -> ElementMatch | None:
    """Return the element of the ontology in use that a noun means, or None where that is not sure.

    Args:
        word: One noun, or several words that are one ("fire engine"), singular or plural.

    Example:
        >>> match_element("hatchback").element, dict(match_element("hatchback").properties)
        ('vehicle', {'type': 'car'})
        >>> match_element("jogger").element, match_element("wolf"), match_element("bank")
        ('pedestrian', None, None)
    """
    return _matched(ontology(), word)


def nearest_elements(word: str, n: int = 3) -> list[tuple[str, float]]:
    """Return the elements that are most like a noun with their similarity, the nearest first.

    They are good for a hint, not for a decision: something is always nearest. Categories are left out.

    Example:
        >>> [(name, round(similarity, 2)) for name, similarity in nearest_elements("wolf", 2)]
        [('pedestrian', 0.76), ('bicyclist', 0.64)]
    """
    matcher = _matcher(ontology())
    leaves = {name: senses for name, senses in matcher.anchors.items() if not matcher.ontology.children(name)}
    return nearest(word, leaves)[:n]
