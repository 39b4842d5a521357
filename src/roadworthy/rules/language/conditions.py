"""The words of a condition from left to right, and what its clauses come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language.nouns import NounReading, Words, is_environment
from roadworthy.rules.language.phrases import Phrase, VerbGroup, after_fillers, verb_group
from roadworthy.rules.reading import Comparative, Op, Position, Proposition, SceneChange

UNDERSTOOD = ("appears", "is removed", "is replaced with", "changes into", "gets closer")
"""What is suggested where the words of a condition are not understood."""

AND = frozenset({",", "and", "&", "while", "plus", "but", "also"})
AWAY = ("from", "off", "out of")
_TOGETHER = (("as", "well", "as"), ("together", "with"), ("along", "with"), ("in", "addition", "to"))


class WordStream:
    """Words, and how far they are read."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.at = 0

    def lower(self, ahead: int = 0) -> str:
        """Return a word in lower case; empty beyond the end."""
        place = self.at + ahead
        return self.words[place].lower if place < len(self.words) else ""

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
            together = next(
                (len(one) for one in _TOGETHER if tuple(self.lower(k) for k in range(len(one))) == one), 0
            )
            if together:
                self.at += together
            elif self.lower() in AND:
                self.at += 1
            elif self.lower() in ("or", "either"):
                raise self.words[self.at : self.at + 1].refuse(
                    "a rule cannot leave open which of two changes is made: write one rule for each", ["and"]
                )
            else:
                return self.at > begin

    def group(self, missing: str = "what happens is not understood here") -> VerbGroup:
        """Read the verb of a clause, which must be there."""
        self.skip()
        found = verb_group(self.words, self.at)
        if found is None:
            raise self.rest().refuse(missing, UNDERSTOOD)
        self.at = found[1]
        return found[0]

    def affirmed(self, group: VerbGroup) -> None:
        """Refuse a verb that is negated where nothing would change then."""
        if group.negated or group.no_longer:
            raise group.words.refuse("something that does not happen is no change", UNDERSTOOD)

    def some(self, thing: NounReading) -> None:
        """Refuse a thing that there is none of, where nothing would change then: "no tree is removed"."""
        if thing.negated:
            raise thing.words.refuse("something that does not happen is no change", UNDERSTOOD)

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
    """

    changes: list[SceneChange] = field(default_factory=list)
    propositions: list[Proposition] = field(default_factory=list)
    inference: list[str] = field(default_factory=list)

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
        more["reference_properties"] = self.properties
        return SceneChange(op, element, properties, self.position, self.reference, **more)


@dataclass
class Tail:
    """What stands after the verb of a clause."""

    phrases: list[Phrase] = field(default_factory=list)
    comparative: Comparative | None = None
    level: str = ""


def joined(first: Tail | None, second: Tail) -> Tail:
    """Return what stands after a noun and after its verb as one."""
    if first is None:
        return second
    return Tail(
        first.phrases + second.phrases, first.comparative or second.comparative, first.level or second.level
    )
