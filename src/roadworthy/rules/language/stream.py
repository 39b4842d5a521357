"""The words of a condition, read from left to right."""

from __future__ import annotations

from roadworthy.ontology import ontology
from roadworthy.rules.language.nouns import is_environment
from roadworthy.rules.language.phrases import VerbGroup, after_fillers, verb_group
from roadworthy.rules.language.words import Words

__all__ = ["AND", "UNDERSTOOD", "WordStream"]

UNDERSTOOD = ("appears", "is removed", "is replaced with", "changes into", "gets closer")
"""What is suggested where the words of a condition are not understood."""

AND = frozenset({",", "and", "&", "while", "plus", "but", "also"})
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

    def weather_at(self, ahead: int) -> bool:
        """Return whether a word further on names a weather, a time or a season."""
        word = self.lower(ahead)
        return word in ontology() and is_environment(word)

    def noun_at(self, ahead: int) -> bool:
        """Return whether a word further on is a noun."""
        place = self.at + ahead
        return place < len(self.words) and self.words[place].pos in ("NOUN", "PROPN")
