"""The compact lexicon: common nouns and verbs of WordNet 3.0 with their senses and what those are kinds of.

`lexicon.json.gz` is made by `scripts/make_wordnet_lexicon.py`. It is a JSON object with one object for nouns
("n") and one for verbs ("v"). Synsets are numbered from the roots down, layer by layer:

    lemmas            the words in alphabetical order, one a line; spaces are underscores
    senses_per_lemma  how many senses each has
    senses            their synsets, lemma by lemma, the most common sense first, as WordNet numbers them
    counts            how often each sense was met in the texts that WordNet's authors tagged
    first             1 where the lemma is the first of its synset and so names it: "dog.n.01"
    children          how many synsets hang below each; they follow each other, so this is the whole tree
    more_above        [synset, further synsets that it is a kind of, …]
    names             synsets of names ("James Cook"), which are examples and not kinds
    irregular         forms that no rule leads back to their lemma: "policemen"
"""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate, chain, compress, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias

from roadworthy.errors import InputError, suggest

__all__ = ["FORMAT", "LEXICON", "Lexicon", "PartOfSpeech", "Sense", "letter_of", "lexicon", "regular_forms"]

FORMAT = 1
LEXICON = Path(__file__).with_name("lexicon.json.gz")
"""The file that ships."""

PartOfSpeech: TypeAlias = Literal["n", "v"]

_CALLED: Mapping[PartOfSpeech, str] = {"n": "noun", "v": "verb"}
_EXAMPLE: Mapping[PartOfSpeech, str] = {"n": "pedestrian.n.01", "v": "appear.v.02"}
_SENSE_NAME = re.compile(r"\S+\.(?P<letter>[a-z])\.\d\d")
_ENDINGS: Mapping[PartOfSpeech, tuple[tuple[str, str], ...]] = {
    "n": (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("es", "e"), ("es", ""), ("s", "")),
    "v": (
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("s", ""),
        ("ing", "e"),
        ("ing", ""),
        ("ed", "e"),
        ("ed", ""),
    ),
}
"""How regular forms end, and how their lemmas do: WordNet's own rules, and "ves"."""


def regular_forms(word: str, pos: PartOfSpeech) -> tuple[str, ...]:
    """Return what a word may be a regular form of.

    Example:
        >>> regular_forms("buses", "n"), regular_forms("braking", "v")
        (('buse', 'bus'), ('brake', 'brak'))
    """
    fitting = [(ending, lemma) for ending, lemma in _ENDINGS[pos] if word.endswith(ending)]
    return tuple(dict.fromkeys(word.removesuffix(ending) + lemma for ending, lemma in fitting))


def letter_of(sense: str) -> str:
    """Return the letter of the part of speech in the name of a sense; nothing where it is no such name.

    Example:
        >>> letter_of("rainy.s.01"), letter_of("r.v..n.01"), letter_of("rain")
        ('s', 'n', '')
    """
    named = _SENSE_NAME.fullmatch(sense)
    return named["letter"] if named else ""


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a word.

    Attributes:
        name: As WordNet names it, such as "oak.n.02".
        synset: Its number in the lexicon; words with the same one mean the same.
        count: How often it was met in tagged texts.
        share: How likely it is among the senses of the word, from 0 to 1: its count and 1/rank, divided by
            the sum of these. The 1/rank is what is known before any count: meanings of a word become rare in
            about this way, and WordNet lists the common ones first.
        is_name: Whether this is a name ("Cook", the captain) and no kind of thing.
    """

    name: str
    synset: int
    count: int
    share: float
    is_name: bool


@dataclass(frozen=True)
class Lexicon:
    """The words of one part of speech.

    Example:
        >>> nouns = lexicon("n")
        >>> [(sense.name, round(sense.share, 2)) for sense in nouns.senses("oak")]
        [('oak.n.01', 0.73), ('oak.n.02', 0.27)]
        >>> [nouns.name(synset) for synset in nouns.above(nouns.synset("pedestrian.n.01"))]
        ['traveler.n.01']
    """

    pos: PartOfSpeech
    lemmas: Mapping[str, int]
    starts: Sequence[int] = field(repr=False)
    synsets: Sequence[int] = field(repr=False)
    counts: Sequence[int] = field(repr=False)
    firsts: str = field(repr=False)
    parents: Sequence[int] = field(repr=False)
    more_above: Mapping[int, Sequence[int]] = field(repr=False)
    names: frozenset[int] = field(repr=False)
    irregular: Mapping[str, str] = field(repr=False)
    _ancestors: dict[int, Mapping[int, int]] = field(default_factory=dict, repr=False)
    _depths: dict[int, int] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, pos: PartOfSpeech, document: Mapping[str, Any]) -> Lexicon:
        """Take one part of speech from the file."""
        lemmas = document["lemmas"].split("\n")
        children = document["children"]
        roots = len(children) - sum(children)
        hanging = chain.from_iterable(repeat(index, many) for index, many in enumerate(children) if many)
        return cls(
            pos=pos,
            lemmas=dict(zip(lemmas, range(len(lemmas)), strict=True)),
            starts=[0, *accumulate(document["senses_per_lemma"])],
            synsets=document["senses"],
            counts=document["counts"],
            firsts=document["first"],
            parents=[*repeat(-1, roots), *hanging],
            more_above={synset: above for synset, *above in document["more_above"]},
            names=frozenset(document["names"]),
            irregular=document["irregular"],
        )

    def lemma(self, word: str) -> str | None:
        """Return the dictionary form of a word as the lexicon spells it, or None where it is not there.

        Example:
            >>> nouns = lexicon("n")
            >>> nouns.lemma("Policemen"), nouns.lemma("fire engines"), nouns.lemma("blorp")
            ('policeman', 'fire_engine', None)
        """
        plain = "_".join(word.lower().split())
        for spelling in dict.fromkeys((plain, plain.replace("-", "_"), plain.replace("-", ""))):
            for form in (spelling, self.irregular.get(spelling, ""), *regular_forms(spelling, self.pos)):
                if form in self.lemmas:
                    return form
        return None

    def senses(self, word: str) -> tuple[Sense, ...]:
        """Return the senses of a word, the most common first; none where the word is not in the lexicon."""
        lemma = self.lemma(word)
        if lemma is None:
            return ()
        start, stop = self._range(lemma)
        weights = [count + 1 / rank for rank, count in enumerate(self.counts[start:stop], 1)]
        return tuple(
            Sense(
                f"{lemma}.{self.pos}.{rank:02d}",
                self.synsets[start + rank - 1],
                self.counts[start + rank - 1],
                weight / sum(weights),
                self.synsets[start + rank - 1] in self.names,
            )
            for rank, weight in enumerate(weights, 1)
        )

    def synset(self, name: str) -> int:
        """Return the number of the synset that a sense such as "pedestrian.n.01" belongs to.

        Raises:
            InputError: There is no such sense in the lexicon.
        """
        lemma = name.rsplit(".", 2)[0].lower()
        if letter_of(name) != self.pos or lemma not in self.lemmas:
            raise InputError(
                f"a sense of a {_CALLED[self.pos]} in the lexicon is needed, such as "
                f"'{_EXAMPLE[self.pos]}', got {name!r}"
            )
        start, stop = self._range(lemma)
        position = start + int(name[-2:]) - 1
        if not start <= position < stop:
            known = [sense.name for sense in self.senses(lemma)]
            raise InputError(f"{name!r} is no sense in WordNet 3.0: {suggest(name, known)}")
        return self.synsets[position]

    def _range(self, lemma: str) -> tuple[int, int]:
        """Return where the senses of a lemma begin and end."""
        index = self.lemmas[lemma]
        return self.starts[index], self.starts[index + 1]

    def name(self, synset: int) -> str:
        """Return the name of a synset: its first word with the number of the sense."""
        position = self._firsts[synset]
        index = bisect_right(self.starts, position) - 1
        return f"{self._spellings[index]}.{self.pos}.{position - self.starts[index] + 1:02d}"

    @cached_property
    def _spellings(self) -> Sequence[str]:
        return [*self.lemmas]

    @cached_property
    def _firsts(self) -> Mapping[int, int]:
        """Where among the senses the first word of each synset stands."""
        is_first = [flag == "1" for flag in self.firsts]
        return dict(
            zip(compress(self.synsets, is_first), compress(range(len(is_first)), is_first), strict=True)
        )

    def above(self, synset: int) -> tuple[int, ...]:
        """Return the synsets that this one is a kind of, directly; none for a root."""
        first = self.parents[synset]
        return (first, *self.more_above.get(synset, ())) if first >= 0 else ()

    def ancestors(self, synset: int) -> Mapping[int, int]:
        """Return all synsets at or above this one with the least number of steps to each."""
        if synset not in self._ancestors:
            steps = {synset: 0}
            waiting = [synset]
            for one in waiting:  # grows on the way, nearest first
                for parent in self.above(one):
                    if parent not in steps:
                        steps[parent] = steps[one] + 1
                        waiting.append(parent)
            self._ancestors[synset] = steps
        return self._ancestors[synset]

    def depth(self, synset: int) -> int:
        """Return the number of synsets from a root down to this one, both counted, on the longest way."""
        if synset not in self._depths:
            self._depths[synset] = 1 + max(map(self.depth, self.above(synset)), default=0)
        return self._depths[synset]


@cache
def _document() -> Mapping[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(LEXICON.read_bytes()))
    if document.get("format") != FORMAT:
        raise InputError(f"{LEXICON} has format {document.get('format')}, {FORMAT} is needed: make it again")
    return document


@cache
def lexicon(pos: PartOfSpeech) -> Lexicon:
    """Return the words of one part of speech, read once.

    Raises:
        InputError: There is no such part of speech.

    Example:
        >>> "pedestrian" in lexicon("n").lemmas, "appear" in lexicon("v").lemmas
        (True, True)
    """
    if pos not in ("n", "v"):
        raise InputError(f"a part of speech must be 'n' or 'v', got {pos!r}")
    return Lexicon.from_json(pos, _document()[pos])
