"""How alike the meanings of words are: Wu-Palmer similarity over the synsets of WordNet 3.0.

The similarity of two senses is 2·d / (2·d + a + b). Here d is the depth of their deepest common ancestor,
counted in synsets from the top on the longest way, and a and b are the steps from the senses up to it on the
shortest ways. The top is a root that is thought above all roots, so that verbs, which have 559 of them, can
be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from roadworthy.errors import InputError
from roadworthy.rules.wordnet.lexicon import PartOfSpeech, Sense, letter_of, lexicon

__all__ = ["COMMON", "common_senses", "is_kind_of", "nearest", "synsets", "wup"]

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
