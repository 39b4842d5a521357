"""Verb groups and prepositional phrases: the parts of a clause around its nouns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roadworthy.ontology import ontology
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import SCENE, NounReading, is_pronoun, noun_phrase
from roadworthy.rules.language.words import Word, Words
from roadworthy.rules.reading import Position

# Auxiliaries that leave open whether something happens.
# Verbs that only say that what comes next happens: "starts to rain".
# Verbs of those who are about to do something: "wants to cross".
SIDES = ("to the left of", "to the right of")
_KINDS = "add remove replace see presence vanish change heavier lighter other"
_VERBS = frozenset(lexicon.WEATHER_VERBS).union(*(SETS[kind] for kind in _KINDS.split()))


@dataclass(frozen=True)
class VerbGroup:
    """The verb of a clause with its auxiliaries.

    Attributes:
        lemma: The verb that carries the meaning; "be" where there is no other.
        words: The whole group.
        passive: Whether something is done to the subject.
        negated: Whether it does not happen.
        no_longer: Whether it has ceased to happen.
        particle: "up" of "shows up".
        about: Whether it is about to happen, and has not yet.
        open: The word that leaves open whether it happens at all: "might".
        lasts: Whether it is over once it is done: "crosses", but not "appears".
    """

    lemma: str
    words: Words
    passive: bool = False
    negated: bool = False
    no_longer: bool = False
    particle: str = ""
    about: bool = False
    open: Words | None = None
    lasts: bool = False


@dataclass(frozen=True)
class Phrase:
    """A prepositional phrase.

    Attributes:
        preposition: As it is written, in lower case.
        position: The position it stands for.
        thing: What follows it.
        value: The property and value that follow it instead: "to red".
        words: The whole phrase.
    """

    preposition: str
    position: Position | None
    words: Words
    thing: NounReading | None = None
    value: tuple[str, str] | None = None


def after_fillers(words: Words, at: int, more: Sequence[str] = ()) -> int:
    """Return the number of the first word from there that has a bearing on the meaning."""
    while at < len(words) and (words[at].lower in SETS["fillers"] or words[at].lower in more):
        if words[at].lower == "too" and noun_begins(words, at + 1):
            break  # "too many"
        at += 1
    return at


def is_verb(word: Word) -> bool:
    """Return whether a word can be the verb of a condition."""
    if word.lower in ("near", "nearer", "close", "closer"):
        return False
    return word.lemma in _VERBS or _stem(word) in _VERBS or word.lower in SETS["be"]


def base_of(word: Word) -> str:
    """Return the dictionary form of a verb."""
    return word.lemma if word.lemma in _VERBS else _stem(word)


_ENDINGS = (
    ("ies", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ed", "e"), ("ed", ""), ("ing", ""), ("ing", "e"),
)  # fmt: skip


def _stem(word: Word) -> str:
    """Return the verb that a word is a form of, where it was taken for a noun: "appears", "changes"."""
    lower = word.lower
    stems = [lower.removesuffix(end) + instead for end, instead in _ENDINGS if lower.endswith(end)]
    stems += [one[:-1] for one in stems if len(one) > 2 and one[-1] == one[-2]]
    return next((one for one in stems if one in _VERBS), word.lemma)


def verb_group(words: Words, at: int) -> tuple[VerbGroup, int] | None:
    """Read the verb of a clause, with what helps it.

    Returns:
        The group and the number of the word after it; None where no verb is.
    """
    begin = at
    being = negated = no_longer = about = later = False
    unsure: Words | None = None
    able: Words | None = None
    lemma, passive, last = "", False, at
    while at < len(words):
        word = words[at]
        lower = word.lower
        if lower in SETS["negations"]:
            if lower == "no" and at + 1 < len(words) and words[at + 1].lower == "longer":
                no_longer = True
                last = at = at + 2
                continue
            if lower == "no":
                break
            negated = True
            last = at + 1 if last > begin else last
        elif lower in ("anymore", "longer"):
            no_longer = no_longer or negated
        elif lower == "any" and at + 1 < len(words) and words[at + 1].lower in ("more", "longer"):
            no_longer = True
            at += 2
            continue
        elif lower in SETS["be"] or word.lemma == "be":
            being = True
            last = at + 1
        elif word.lemma in SETS["auxiliaries"] and lower != "having":
            unsure = words[at : at + 1] if word.lemma in SETS["open"] or lower in SETS["open"] else unsure
            later = later or word.lemma in ("will", "shall")
            able = words[at : at + 1] if word.lemma == "can" else able
            last = at + 1
        elif (last > begin and _to_verb(words, at)) or lower in SETS["fillers"]:
            # "Is to cross", "has to cross"
            later = later or (lower == "to" and words[at - 1].lemma in ("be", "have"))
            about = about or lower == "about"
        elif _opens(words, at):
            about = about or lower == "going" or word.lemma in SETS["intentions"]
            being = being and lower.endswith("ing")
            last = at + 1
        elif lower in ("get", "gets", "got", "getting", "gotten") and _participle(words, at + 1):
            being = True
        elif lower in SETS["absent"]:
            break
        elif is_verb(word):
            lemma = base_of(word)
            passive = being and _is_participle(word)
            last = at = at + 1
            break
        else:
            break
        at += 1
    if not lemma and not being:
        if last > begin and words[last - 1].lemma == "have":
            return VerbGroup("have", words[begin:last], False, negated, no_longer), last
        return None
    if lemma == "get" and tuple(word.lower for word in words[last : last + 2]) == ("rid", "of"):
        return VerbGroup("remove", words[begin : last + 2], False, negated, no_longer), last + 2
    particle = ""
    if lemma and last < len(words) and _is_particle(words, last, lemma):
        particle = words[last].lower
        last += 1
    if not lemma:
        last = at = max(last, begin + 1)
        while last < len(words) and (
            words[last].lower in SETS["negations"] - {"no"} or (negated and words[last].lower == "longer")
        ):
            negated = True
            last += 1
    # What stays longer is not gone.
    while last < len(words) and words[last].lower in (("anymore", "longer") if negated else ("anymore",)):
        no_longer = True
        last += 1
    said = words[begin:last]
    # "Was red", "has been raining", "braked": it may be over. "Was removed", "has appeared": it is not.
    first = words[begin].lower
    follows = particle or (words[last].lower if last < len(words) else "")
    lasts = _lasts(said, lemma, follows)
    perfect = first in ("has", "have", "'ve") and (being or lasts)
    over = lasts and (lemma in ("brake", "overtake", "cross", "wait") or follows in ("across", "past", "by"))
    past = first == "was" or perfect or (over and words[begin].tag == "VBD")
    gone = past and not passive and not no_longer
    about = about or later or gone
    unsure = unsure or (able if lemma not in (*SETS["see"], "") else None)  # what can be seen is there
    return VerbGroup(lemma or "be", said, passive, negated, no_longer, particle, about, unsure, lasts), last


def _lasts(said: Words, lemma: str, follows: str) -> bool:
    """Return whether what a verb says is over once it is done: "crossed", but not "started to cross"."""
    opened = any(one.lemma in SETS["openers"] for one in said[:-1])
    return lemma in SETS["lasting"] and not opened and follows not in ("onto", "into", "off", "out", "up")


def _to_verb(words: Words, at: int) -> bool:
    """Return whether "to" or "about to" leads on to a verb: "is about to cross"."""
    at += 1 if words[at].lower == "about" else 0
    return at + 1 < len(words) and words[at].lower == "to" and _leads_on(words[at + 1])


def _opens(words: Words, at: int) -> bool:
    """Return whether a verb only opens another: "starts to", "begins raining", "is going to"."""
    word = words[at]
    if word.lemma not in SETS["openers"] | SETS["intentions"] and _stem(word) not in SETS["openers"]:
        return False
    nxt = after_fillers(words, at + 1)
    if nxt >= len(words):
        return False
    if words[nxt].lower == "to":
        return nxt + 1 < len(words) and _leads_on(words[nxt + 1])
    return words[nxt].lower.endswith("ing") and is_verb(words[nxt]) and word.lemma not in ("go", "appear")


def _leads_on(word: Word) -> bool:
    return is_verb(word) or word.lemma in ("be", "have", "get")


def _is_participle(word: Word) -> bool:
    endings = ("ed", "en", "put", "set", "seen", "shown", "drawn", "built")
    return word.tag in ("VBN", "VBD") or word.lower.endswith(endings)


def _participle(words: Words, at: int) -> bool:
    at = after_fillers(words, at)
    return at < len(words) and _is_participle(words[at]) and is_verb(words[at])


def _is_particle(words: Words, at: int, lemma: str) -> bool:
    """Return whether a word belongs to the verb before it and opens no phrase of its own."""
    lower = words[at].lower
    if lower in ("up", "out", "away", "down", "off"):
        return not (lower == "up" and at + 1 < len(words) and words[at + 1].lower == "ahead")
    if lower == "in" and lemma in ("come", "roll", "set", "cut", "pull", "move", "close"):
        return at + 1 >= len(words) or noun_begins(words, at + 1) is False
    if lower in ("over", "by", "on", "along", "past", "through", "across", "around"):
        return at + 1 >= len(words) or words[at + 1].lower in (",", ".", "and", "in", "on", "at")
    return False


def noun_begins(words: Words, at: int) -> bool:
    """Return whether a noun phrase seems to begin at a word."""
    if at >= len(words):
        return False
    word = words[at]
    return word.pos in ("DET", "NOUN", "PROPN", "PRON", "ADJ", "NUM") or word.lower in lexicon.VALUES


def preposition(words: Words, at: int) -> tuple[str, Position | None, int] | None:
    """Return the preposition that begins at a word, its position, and where it ends."""
    for phrase, position in lexicon.PREPOSITIONS:
        stop = at + len(phrase)
        if stop <= len(words) and tuple(word.lower for word in words[at:stop]) == phrase:
            return " ".join(phrase), position, stop
    return None


def prepositional(words: Words, at: int) -> tuple[Phrase, int] | None:
    """Read a prepositional phrase, or an adverb of place, which stands for one about the ego-vehicle.

    Returns:
        The phrase and the number of the word after it; None where none begins.
    """
    begin = at
    at = after_fillers(words, at, ("right", "just", "directly"))
    for adverb, place in lexicon.ADVERB_PLACES:
        stop = at + len(adverb)
        if tuple(word.lower for word in words[at:stop]) == adverb and not _goes_on(words, adverb, stop):
            here = NounReading("ego-vehicle", words[at:stop], {}, "the")
            return Phrase(" ".join(adverb), place, words[begin:stop], here), stop
    found = preposition(words, at)
    if found is None:
        return None
    text, position, stop = found
    inner = after_fillers(words, stop)
    if inner < len(words) and is_pronoun(words[inner]) and not noun_follows(words, inner):
        thing = NounReading("", words[inner : inner + 1], {}, words[inner].lower)
        return Phrase(text, position, words[begin : inner + 1], thing), inner + 1
    if inner < len(words) and words[inner].lower in ("us", "you", "me", "yourself", "itself"):
        thing = NounReading("ego-vehicle", words[inner : inner + 1], {}, "the")
        return Phrase(text, position, words[begin : inner + 1], thing), inner + 1
    if text in ("to", "into", "from", "with", "by", "for") and (value := _value(words, inner)) is not None:
        return Phrase(text, position, words[begin : value[1]], value=value[0]), value[1]
    noun = _side(words, inner) if text in ("on", "to") else None
    noun = noun or noun_phrase(words, inner)
    if noun is None or (text in ("before", "after", "by", "for") and words[inner].lower == "crossing"):
        return None
    thing, stop = noun
    if text in SIDES:
        if thing.element in ("lane", "sidewalk", "terrain"):
            raise words[begin:stop].refuse(
                "what is beside it is not said", ["in the left lane", "on the left"]
            )
        thing = replace(thing, properties={**thing.properties, "position": text.split()[2]})
        if thing.element == "road":
            thing, position = replace(thing, element="sidewalk"), "on"
    elif thing.words[-1].lower in ("left", "right"):
        position = "on"
    condition = ontology().condition_of(thing.element)
    # "After dark" it is night, but after winter it is not winter, nor near it.
    beside = position in ("front", "behind", "beside") and text != "by"
    if condition is not None and (
        text == "before"
        or (condition == "season" and beside)
        or (text == "after" and (condition != "time" or thing.words[-1].lower in SETS["passing"]))
    ):
        reason = f"{str(words[begin:stop])!r} does not say which {condition} it is"
        raise words[begin:stop].refuse(reason, lexicon.SUCH_AS[condition])
    if thing.words[-1].lower == "side" and stop < len(words) and words[stop].lower == "of":
        # "On the left side of the truck"; that of the road is one phrase, and the roadside.
        owner = noun_phrase(words, stop + 1)
        if owner is not None:
            if owner[0].element in ("lane", "sidewalk", "terrain"):
                raise words[begin : owner[1]].refuse("is this another lane?", ["in the left lane"])
            if owner[0].element == SCENE or "direction" in thing.properties:
                reason = "which side of it this is, is not understood"
                raise words[begin : owner[1]].refuse(reason, ["behind the truck", "on the left"])
            owned = replace(owner[0], properties={**owner[0].properties, **thing.properties})
            return Phrase(text, "beside", words[begin : owner[1]], owned), owner[1]
    return Phrase(text, position, words[begin:stop], thing), stop


def _side(words: Words, at: int) -> tuple[NounReading, int] | None:
    """Read a side that stands by itself: "on the left" is the roadside there, "on the left lane" is not."""
    begin = at
    at += 1 if at < len(words) and words[at].lower in ("the", "your", "our") else 0
    following = words[at + 1 : at + 2]
    there = bool(following) and following[0].lower == "there"
    goes_on = (noun_begins(words, at + 1) and not there) or (
        following and following[0].lower in ("-", "hand", "of")
    )
    if at >= len(words) or words[at].lower not in ("left", "right"):
        return None
    if goes_on and following[0].lemma not in SETS["vanish"]:
        return None
    return NounReading("sidewalk", words[begin : at + 1], {"position": words[at].lower}, "the"), at + 1


def _goes_on(words: Words, adverb: tuple[str, ...], at: int) -> bool:
    """Return whether an adverb of place is in truth a preposition: "behind the car", "ahead of us"."""
    if at >= len(words):
        return False
    alone = any(adverb == phrase for phrase, _ in lexicon.PREPOSITIONS)
    return words[at].lower == "of" or (alone and noun_begins(words, at))


def noun_follows(words: Words, at: int) -> bool:
    """Return whether a word such as "that" or "her" stands before a noun rather than for one."""
    if words[at].lower in ("it", "he", "she", "him", "they", "them"):
        return False
    if at + 1 >= len(words) or words[at + 1].pos not in ("NOUN", "PROPN", "ADJ"):
        return False
    verb = is_verb(words[at + 1]) and words[at + 1].tag == "VBZ"
    return not (verb and words[at].lower in ("this", "that"))


def _value(words: Words, at: int) -> tuple[tuple[str, str], int] | None:
    """Return the value of a property that stands by itself: "to red", "a red one", not "a red car"."""
    if at + 2 < len(words) and words[at].lower in SETS["determiners"] and words[at + 2].lower in SETS["ones"]:
        at += 1
    if at >= len(words) or words[at].lower not in lexicon.VALUES:
        return None
    value, after = lexicon.VALUES[words[at].lower], words[at + 1 : at + 2]
    if after and after[0].lower in SETS["ones"]:
        return value, at + 2
    described = after and after[0].pos in ("NOUN", "PROPN", "ADJ", "PUNCT")
    return None if described and after[0].lower not in (",", "and", ".") else (value, at + 1)
