"""The compact lexicon of WordNet 3.0, and how alike the meanings of words are (Wu-Palmer)."""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain, compress, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias

from roadworthy.errors import InputError, check_choice, suggest

FORMAT = 1
LEXICON = Path(__file__).with_name("lexicon.json.gz")
"""The file that ships."""

PartOfSpeech: TypeAlias = Literal["n", "v"]

_CALLED: Mapping[PartOfSpeech, str] = {"n": "noun", "v": "verb"}
_EXAMPLE: Mapping[PartOfSpeech, str] = {"n": "pedestrian.n.01", "v": "appear.v.02"}
_SENSE_NAME = re.compile(r"\S+\.(?P<letter>[a-z])\.\d\d")
# How regular forms end, and how their lemmas do: WordNet's own rules, and "ves".
_ENDINGS: Mapping[PartOfSpeech, tuple[tuple[str, str], ...]] = {
    "n": (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("es", "e"), ("es", ""), ("s", "")),
    "v": (
        ("ies", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ing", "e"), ("ing", ""), ("ed", "e"), ("ed", ""),
    ),
}  # fmt: skip


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
                f"expected a {_CALLED[self.pos]} of the lexicon like {_EXAMPLE[self.pos]}, got {name!r}"
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
    check_choice("a part of speech", pos, ("n", "v"))
    return Lexicon.from_json(pos, _document()[pos])


COMMON = 0.1
"""The least share of a word's uses that a sense must have to be compared: one in ten.

The share comes from the counts of tagged texts (see `Sense.share`). Without such a limit every word is like
everything: "dog" has a sense "andiron", "bank" a sense "building" that nobody tagged once in 48 uses.
"""


def synsets(word: str, pos: PartOfSpeech = "n") -> tuple[str, ...]:
    """Return the synsets of a word by name, the most common sense first; none where the word is not known.

    Example:
        >>> synsets("taxi"), synsets("blorp")
        (('cab.n.03',), ())
    """
    words = lexicon(pos)
    return tuple(words.name(sense.synset) for sense in words.senses(word))


def common_senses(word: str, pos: PartOfSpeech = "n") -> tuple[Sense, ...]:
    """Return the senses of a word that are not rare (see `COMMON`); the commonest is always among them.

    Example:
        >>> [sense.name for sense in common_senses("bank")]
        ['bank.n.01', 'bank.n.02']
    """
    senses = lexicon(pos).senses(word)
    least = min(COMMON, max((sense.share for sense in senses), default=0.0))
    return tuple(sense for sense in senses if sense.share >= least)


def is_kind_of(sense: str, ancestor: str) -> bool:
    """Return whether a sense is the same as another or lies below it.

    Example:
        >>> is_kind_of("taxi.n.01", "motor_vehicle.n.01"), is_kind_of("bicycle.n.01", "motor_vehicle.n.01")
        (True, False)
    """
    words = lexicon(_part_of_speech(sense))
    return words.synset(ancestor) in words.ancestors(words.synset(sense))


def wup(a: str, b: str, pos: PartOfSpeech = "n", *, virtual_root: bool = True) -> float:
    """Return the Wu-Palmer similarity of two senses, or of two words, from 0 to 1.

    Args:
        a: A sense such as "person.n.01"; or a word, which stands for its common senses (see `COMMON`).
        b: The same; of two words the most similar senses are compared.
        pos: The part of speech of words; a sense names its own.
        virtual_root: Whether a root is thought above all roots. Without it, nouns get the numbers of NLTK,
            which adds such a root for verbs only, and two senses without a common ancestor get 0.

    Raises:
        InputError: A sense or word is not in the lexicon.

    Example:
        >>> round(wup("person.n.01", "pedestrian.n.01"), 3), round(wup("person", "pedestrian"), 3)
        (0.889, 0.889)
        >>> round(wup("dog.n.01", "cat.n.01", virtual_root=False), 3)
        0.857
    """
    kind, other_kind = (_part_of_speech(one) if letter_of(one) else pos for one in (a, b))
    if kind != other_kind:
        raise InputError(f"only words of the same part of speech can be compared, got {a!r} and {b!r}")
    return max(
        _similarity(kind, one, other, virtual_root) for one in _meant(a, kind) for other in _meant(b, kind)
    )


def nearest(
    word: str, anchors: Mapping[str, Sequence[str]], pos: PartOfSpeech = "n"
) -> list[tuple[str, float]]:
    """Return how alike a word is to things that are given by the senses meant, the most alike first.

    The common senses of the word (see `COMMON`) are compared with the anchors and with no other senses of the
    anchors' words. Anchors of another part of speech are passed over.

    Args:
        word: Any word; the list is empty where the lexicon does not have it.
        anchors: The senses that stand for each thing.
        pos: The part of speech of the word.

    Raises:
        InputError: An anchor is no sense in the lexicon.

    Example:
        >>> anchors = {"pedestrian": ["person.n.01"], "vehicle": ["car.n.01", "truck.n.01"]}
        >>> [(name, round(similarity, 2)) for name, similarity in nearest("limousine", anchors)]
        [('vehicle', 0.96), ('pedestrian', 0.48)]
    """
    words = lexicon(pos)
    meant = [sense.synset for sense in common_senses(word, pos)]
    if not meant:
        return []
    found = []
    for name, senses in anchors.items():
        fixed = [words.synset(sense) for sense in senses if letter_of(sense) == pos]
        if fixed:
            best = max(_similarity(pos, one, other, True) for one in meant for other in fixed)
            found.append((name, best))
    return sorted(found, key=lambda one: -one[1])


def _part_of_speech(sense: str) -> PartOfSpeech:
    # What is no noun and no verb is no noun of the lexicon either: `Lexicon.synset` refuses it.
    return "v" if letter_of(sense) == "v" else "n"


def _meant(one: str, pos: PartOfSpeech) -> list[int]:
    """Return the synsets that a sense or a word stands for."""
    if letter_of(one):
        return [lexicon(pos).synset(one)]
    senses = common_senses(one, pos)
    if not senses:
        raise InputError(f"a word or a sense of the lexicon is needed, got {one!r}")
    return [sense.synset for sense in senses]


@lru_cache(maxsize=1 << 16)
def _similarity(pos: PartOfSpeech, a: int, b: int, virtual_root: bool) -> float:
    words = lexicon(pos)
    above_a, above_b = words.ancestors(a), words.ancestors(b)
    common = above_a.keys() & above_b.keys()
    extra = 1 if virtual_root else 0
    if common:
        # Of two equally deep ancestors the one that is fewer steps away.
        steps, depth = min(
            ((above_a[one] + above_b[one], words.depth(one)) for one in common),
            key=lambda one: (-one[1], one[0]),
        )
        depth += extra
    elif virtual_root:
        steps, depth = _steps_to_top(pos, a) + _steps_to_top(pos, b), 1
    else:
        return 0.0
    return 2 * depth / (2 * depth + steps)


def _steps_to_top(pos: PartOfSpeech, synset: int) -> int:
    words = lexicon(pos)
    return 1 + min(steps for one, steps in words.ancestors(synset).items() if not words.above(one))
