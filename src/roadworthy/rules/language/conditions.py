"""The words of a condition from left to right, and what its clauses come to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import NounReading, is_environment, is_weightless
from roadworthy.rules.language.phrases import Phrase, VerbGroup, after_fillers, verb_group
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Comparative, Op, Position, Proposition, SceneChange

UNDERSTOOD = ("appears", "is removed", "is replaced with", "changes into", "gets closer")
"""What is suggested where the words of a condition are not understood."""

AND = frozenset({",", "and", "&", "while", "plus", "but", "also"})
JOINTS = AND | {"that", "if", "when"}
"""What joins clauses or opens them and gives nothing else."""
AWAY = ("from", "off", "out of")
INSTEAD = (("instead", "of"), ("rather", "than"))
ANY_MORE = (("any", "more"), ("any", "longer"), ("anymore",))
_TOGETHER = lexicon.phrases_of("as well as, together with, along with, in addition to, at the same time")


class WordStream:
    """Words, and how far they are read."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.at = 0
        self.result = ConditionReading()

    def lower(self, ahead: int = 0) -> str:
        """Return a word in lower case; empty beyond the end."""
        place = self.at + ahead
        return self.words[place].lower if place < len(self.words) else ""

    def step(self, many: int = 1) -> Words:
        """Step over some words and return them."""
        self.at += many
        return self.words[self.at - many : self.at]

    def saying(self, phrases: Sequence[tuple[str, ...]]) -> Words | None:
        """Step over one of some phrases and return it, where one stands here."""
        for phrase in phrases:
            if tuple(map(self.lower, range(len(phrase)))) == phrase:
                return self.step(len(phrase))
        return None

    def skip(self) -> None:
        """Step over adverbs without a bearing on the meaning."""
        self.at = after_fillers(self.words, self.at)

    def over(self) -> bool:
        """Return whether no words are left."""
        self.skip()
        return self.at >= len(self.words)

    def rest(self) -> Words:
        """Return the words that are left, or the last one."""
        return self.words[self.at :] or self.words[-1:]

    def conjunction(self) -> bool:
        """Step over words that join two parts."""
        begin = self.at
        while True:
            self.skip()
            if together := self.saying(_TOGETHER):
                self.result.bind(together, "and")
            elif self.lower() in AND:
                self.at += 1
            elif self.lower() in ("or", "either"):
                reason = "a rule cannot leave open which of two changes is made: write one rule for each"
                raise self.words[self.at : self.at + 1].refuse(reason, ["and"])
            else:
                return self.at > begin

    def group(self, missing: str = "what happens is not understood here") -> VerbGroup:
        """Read the verb of a clause, which must be there."""
        self.skip()
        found = verb_group(self.words, self.at)
        if found is None:
            raise self.rest().refuse(missing, UNDERSTOOD)
        self.at = found[1]
        self.certain(found[0])
        return found[0]

    def certain(self, group: VerbGroup) -> None:
        """Refuse a verb that may happen or not, has not happened yet, or has a particle that changes it."""
        if group.open is not None:
            raise group.open.refuse(f"{str(group.open)!r} leaves open whether it happens", UNDERSTOOD)
        if group.about:
            seen = ("appears", "is waiting to cross")
            raise group.words.refuse("what has not happened yet, or is over, cannot be seen", seen)
        if group.particle and (group.lemma, group.particle) not in lexicon.PHRASAL:
            reason = f"{str(group.words)!r} is another verb than {group.lemma!r}, and not known"
            raise group.words.refuse(reason, UNDERSTOOD)

    def contrasted(self, group: VerbGroup) -> VerbGroup:
        """Return "is not green but red" as "is red instead of green", in the order of these words."""
        rest = self.words[self.at :]
        but = next((n for n, word in enumerate(rest) if word.lower == "but"), 0)
        stop = next((n for n in range(but, len(rest)) if rest[n].lower in (",", "and")), len(rest))
        if not but or not (group.negated or group.no_longer) or group.lemma not in ("be", "become"):
            return group
        instead = [replace(rest[but], lower=one) for one in INSTEAD[0]]
        old = rest[: but - (rest[but - 1].lower == ",")]
        items = (*self.words[: self.at], *rest[but + 1 : stop], *instead, *old, *rest[stop:])
        self.words = Words(self.words.text, items)
        return replace(group, negated=False, no_longer=False)

    def affirmed(self, group: VerbGroup, gives: str = "") -> None:
        """Refuse a verb that is negated where nothing would change then, and note what it gives."""
        if group.negated or group.no_longer:
            raise group.words.refuse("something that does not happen is no change", UNDERSTOOD)
        if gives:
            self.result.bind(group.words, gives)

    def some(self, thing: NounReading) -> None:
        """Refuse a thing that there is none of, where nothing would change then: "no tree is removed"."""
        if thing.negated:
            raise thing.words.refuse("something that does not happen is no change", UNDERSTOOD)

    def presence(self, gone: bool, thing: NounReading) -> Op:
        """Return whether a thing comes or goes, which one negation decides: "is not there", "no car"."""
        if gone:
            self.some(thing)
        return "remove" if gone or thing.negated else "add"

    def weather_at(self, ahead: int) -> bool:
        """Return whether a word further on names a weather, a time or a season."""
        word = self.lower(ahead)
        return word in ontology() and is_environment(word)

    def noun_at(self, ahead: int) -> bool:
        """Return whether a word further on is a noun."""
        place = self.at + ahead
        return place < len(self.words) and self.words[place].pos in ("NOUN", "PROPN")


@dataclass
class ConditionReading:
    """What a condition asks for.

    Attributes:
        changes: The changes.
        propositions: What was found in the words.
        inference: The rules of Table 4 that gave the changes.
        bound: What each word gave to the reading, by its number in the rule.
        notes: Where less is shown than the words say, a sentence each.
        refers: Whether it speaks of what an earlier block changed.
    """

    changes: list[SceneChange] = field(default_factory=list)
    propositions: list[Proposition] = field(default_factory=list)
    inference: list[str] = field(default_factory=list)
    bound: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refers: bool = False

    def bind(self, words: Words | None, gives: str) -> None:
        """Note what words gave to the reading."""
        for word in words or ():
            if not is_weightless(word):
                self.bound.setdefault(word.index, gives)

    def check_bound(self, words: Words) -> None:
        """Refuse words that gave nothing to the reading: their meaning would be lost."""
        loose = [
            number
            for number, word in enumerate(words)
            if word.index not in self.bound and not is_weightless(word) and word.lower not in JOINTS
        ]
        if loose:
            stop = loose[0]
            while stop in loose:
                stop += 1
            run = words[loose[0] : stop]
            raise run.refuse(f"{str(run)!r} would be lost here: nothing that can be shown says this")

    def tell_narrower(self, thing: NounReading) -> None:
        """Note a noun that is shown as any thing of its element."""
        if noun := thing.narrower:
            person = thing.element == "pedestrian" and thing.words[-1].lemma in SETS["shown people"]
            if not (person or noun in SETS["shown people"] or thing.element == "building"):
                raise thing.words.refuse(f"{noun!r} cannot be told from any {thing.element}", [thing.element])
            self.notes.append(f"{noun!r} is shown as any {thing.element}, and nothing more is tested.")

    def tell_state(self, thing: NounReading, pose: str) -> None:
        """Note what things that go are said to do: none are told apart by that."""
        states = [word.text for word in thing.words if word.lower in SETS["states"]]
        for state in states or filter(None, [pose]):
            self.notes.append(f"{state!r} is not told apart: others of the kind go, too.")

    def found(self, predicate: str, *arguments: str) -> None:
        """Note something that was found in the words."""
        self.propositions.append(Proposition(predicate, arguments))

    def infer(self, change: SceneChange) -> None:
        """Note a change with the rule of Table 4 that gives it."""
        self.changes.append(change)
        if change.op == "add":
            where = "" if change.position is None else f", {change.reference}, {change.position}"
            more = "" if change.comparative is None else f", {change.comparative}"
            self.inference.append(f"ADD({change.target}{where}{more})")
        elif change.op == "remove":
            self.inference.append(f"REMOVE({change.target})")
        else:
            kind = change.target if change.target in CONDITIONS else "object"
            self.inference.append(f"REPLACE({change.target}, {change.replacement}, {kind})")


@dataclass
class PlacePhrase:
    """Where something is, and what else the phrases of a clause say."""

    position: Position | None = None
    reference: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def changed(self, op: Op, element: str, properties: Mapping[str, str], **more: Any) -> SceneChange:
        """Return a change of something at this place."""
        kept = dict(self.properties)
        if op != "add" and kept.get("position") == "both":
            del kept["position"]  # what is on both sides is all there is
        more["reference_properties"] = kept
        return SceneChange(op, element, properties, self.position, self.reference, **more)


@dataclass
class Tail:
    """What stands after the verb of a clause; `degree` are the words that compare or name a level.

    `together` is the word that says that things are close to each other, `ended` those that say that it is so
    no longer, and `instead` what gives way.
    """

    phrases: list[Phrase] = field(default_factory=list)
    comparative: Comparative | None = None
    level: str = ""
    degree: Words | None = None
    together: Words | None = None
    ended: Words | None = None
    instead: NounReading | None = None


def joined(first: Tail | None, second: Tail) -> Tail:
    """Return what stands after a noun and after its verb as one."""
    if first is None:
        return second
    names = ("comparative", "level", "degree", "together", "ended", "instead")
    return Tail(first.phrases + second.phrases, *(getattr(first, n) or getattr(second, n) for n in names))


def nearer(place: PlacePhrase, here: PlacePhrase, phrase: Phrase) -> PlacePhrase:
    """Return two places as one: all that a camera sees is ahead, so that the other one tells more than that.

    The road, or a lane that nothing is said of, tells less: a truck on the road ahead is in front of us.
    """
    if place == here:
        return place
    plain = [one for one in (place, here) if one.reference in ("road", "lane") and not one.properties]
    us = [one for one in (place, here) if one.reference == "ego-vehicle"]
    if us and plain:
        return us[0]
    if us and us[0].position == "front":
        return here if us[0] is place else place
    if plain and (named := [one for one in (place, here) if one.reference == "lane" and one.properties]):
        return named[0]
    # "On the left" alone is no roadside, and may be said of a lane.
    sided = phrase.words[-1].lower in ("left", "right") and place.reference == "lane"
    open_side = (sided or place.reference == "sidewalk") and not place.properties
    if open_side and here.reference == "sidewalk" and here.properties:
        return replace(place, properties=here.properties)  # "on the footway on the right"
    raise phrase.words.refuse("a thing can be at one place only", ["on the roadside"])


def is_plural(text: str, element: str) -> bool:
    """Return whether a text has a plural of an element: "cars" are one car at least."""
    known = (ontology().get(word) for word in re.findall(r"(\w+)s\b", text.lower()))
    return any(one is not None and one.name == element for one in known)


def fits(thing: NounReading, change: SceneChange) -> bool:
    """Return whether a thing may be what a change brought in."""
    if thing.element:
        same = change.target == thing.element and thing.properties.items() <= change.properties.items()
        return same or (change.target == "weather" and change.replacement == thing.element)
    person = change.target in SETS["people"]
    return change.op != "remove" and (person or thing.words[-1].lower not in SETS["he"])


def stands(element: str | None) -> bool:
    """Return whether an element is a thing, which nothing can be on."""
    above = ("object", "traffic infrastructure")
    return element is not None and any(ontology().is_a(element, one) for one in above)
