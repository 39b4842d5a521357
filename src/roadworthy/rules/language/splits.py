"""How a sentence divides into a condition and what should come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from roadworthy.errors import RuleError
from roadworthy.ontology import ontology
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import noun_phrase
from roadworthy.rules.language.outcome_words import VERBS, base_form
from roadworthy.rules.language.outcomes import read_outcome
from roadworthy.rules.language.phrases import is_verb, preposition, verb_group
from roadworthy.rules.language.words import Word, Words

_MARKERS_OF: dict[str, list[tuple[str, ...]]] = {}
for _words in lexicon.MARKERS:
    _MARKERS_OF.setdefault(_words[0], []).append(_words)
_CHANGES_FIRST = SETS["add"] | SETS["remove"] | SETS["replace"] | {"change"}
# "Drivers who see …", "the driver of a vehicle approaching …": they must, when they do.
_DESCRIBED = re.compile(lexicon.FILE["described"], re.IGNORECASE)


def marker(words: Words, at: int) -> int | None:
    """Return where the word or words end that open a condition; None where none do."""
    if at >= len(words):
        return None
    for opening in _MARKERS_OF.get(words[at].lower, ()):
        stop = at + len(opening)
        if tuple(word.lower for word in words[at:stop]) == opening:
            if opening == ("should",) and (
                at or stop >= len(words) or words[stop].pos not in ("DET", "PRON", "NOUN", "NUM")
            ):
                continue
            if opening == ("after",) and _is_over(words, stop):
                continue
            return stop
    return None


def _is_over(words: Words, at: int) -> bool:
    """Return whether what stands there is over: "after winter", "after it rains", "after you pass a sign"."""
    try:
        noun = noun_phrase(words, at)
    except RuleError:
        return False
    it = at < len(words) and words[at].lower in SETS["pronouns"] | SETS["actors"]
    begin = at + 1 if it else noun[1] if noun else len(words)
    done = verb_group(words, begin)
    rained = done is not None and done[0].lemma == "fall" and noun is not None and noun[0].element != "night"
    if rained or (done is not None and (done[0].lasts or done[0].lemma == "pass")):
        return True
    if noun is None or (noun[1] < len(words) and is_verb(words[noun[1]])):
        return False
    over = ontology().condition_of(noun[0].element) != "time"
    return over or noun[0].words[-1].lower in SETS["passing"]


def splits(piece: Words) -> Iterator[tuple[Words, Words]]:
    """Yield the ways in which a sentence may divide into condition and outcome, the likeliest first."""
    if said := _DESCRIBED.match(str(piece)):
        first, last, end = (piece[0].start + place for place in (*said.span("who"), said.end()))
        who = tuple(word for word in piece if first <= word.start < last)
        begin = next(n for n, word in enumerate(piece) if word.start >= end)
        for number in range(begin + 1, len(piece)):
            if piece[number].tag == "MD":
                yield trimmed(piece[begin:number]), Words(piece.text, who + piece[number:].items)
    opened = marker(piece, 0)
    if opened is None:
        for number in range(1, len(piece)):
            stop = marker(piece, number)
            if stop is not None and stop < len(piece):
                even = number > 1 and piece[number - 1].lower == "even"
                yield piece[stop:], trimmed(piece[: number - even])
                cut = next((n for n in range(number) if piece[n].lower in SETS["cut"]), 0)
                if cut and preposition(piece, 0):  # "in winter, slow down when it snows"
                    both = Words(piece.text, piece[:cut].items + piece[stop:].items)
                    yield both, trimmed(piece[cut:number])
                yield from _moved_over(piece[:number], piece[stop:])
                cut = next((n for n in range(stop, len(piece)) if piece[n].lower == ","), 0)
                late = cut and piece[cut + 1 : cut + 2] and piece[cut + 1].lower in ("by", "but", "to")
                # "The car should, if it rains, slow down"
                if late or (cut and piece[number - 1].lower == ","):
                    around = trimmed(piece[:number]).items + piece[cut + 1 :].items
                    yield piece[stop:cut], Words(piece.text, around)
        for number in range(1, len(piece)):
            if piece[number].lower in ("then", "means", "mean") and number + 1 < len(piece):
                after = number + 2 if piece[number + 1].lower == "that" else number + 1
                yield trimmed(piece[:number]), piece[after:]
            elif piece[number].lower in ("requires", "require"):
                yield piece[:number], piece[number:]
        yield from _without_marker(piece)
        return
    body = piece[opened:]
    for number in range(1, len(body)):
        if body[number].lower == "then" and number + 1 < len(body):
            yield trimmed(body[:number]), trimmed(body[number + 1 :])
    for number in range(1, len(body)):
        if body[number].lower in SETS["cut"] and number + 1 < len(body):
            yield body[:number], trimmed(body[number + 1 :])
    if piece[opened - 1].lower == "whoever":
        who = piece[:1].items
        yield from (
            (body[:n], Words(piece.text, who + body[n:].items))
            for n in range(1, len(body))
            if body[n].tag == "MD"
        )
    cuts = (n for n in range(1, len(body)) if body[n].lower in SETS["cut"] and _orders(body[n + 1 :]))
    divided = max(cuts, default=0)
    for number in range(divided + 1, len(body)):
        word, before = body[number], body[number - 1]
        compound = before.dep == "compound" and before.head == word.index  # "a bus | stop"
        owned = before.lower in ("'s", "’s", "her", "his", "that", "this")  # "the pedestrian's | speed"
        owned |= word.lower in ("a", "an") and preposition(body, number - 1) is not None
        if word.lower in SETS["cut"] or compound or owned or _needs_subject(word):
            continue
        since = max((n + 1 for n in range(number) if body[n].lower == ","), default=0)
        alone = 0 < since < number and not any(map(is_verb, body[since:number]))
        if alone and preposition(body, since) is None:
            continue  # "a pedestrian appears, the child | …" begins a clause that is no condition
        if _is_clause(body[number:]):
            yield trimmed(body[:number]), body[number:]


def _orders(words: Words) -> bool:
    """Return whether words are an outcome by themselves: "if the rain stops, slow down" divides there."""
    try:
        read_outcome(trimmed(words))
    except RuleError:
        return False
    return True


def _needs_subject(word: Word) -> bool:
    """Return whether no outcome can begin with a word, because its subject is missing."""
    return (
        word.tag in ("MD", "VBZ")
        or word.lower in ("at", "on", "with", "of")
        or word.lemma in ("be", "have")
        or word.lower in ("not", "n't", "to", "and", "then")
        or word.lower in SETS["absent"]
    )


def _is_clause(words: Words) -> bool:
    """Return whether words have a verb before anything cuts them off.

    "If a car overtakes us, slow down" does not divide before "us".
    """
    for word in words:
        if word.lower in SETS["cut"] or word.lower == "then":
            return False
        if word.pos in ("VERB", "AUX") or word.tag == "MD" or base_form(word.lower) in VERBS:
            return True
    return True


def _moved_over(outcome: Words, condition: Words) -> Iterator[tuple[Words, Words]]:
    """Yield splits in which the end of the outcome is a condition: "slow down at night when …"."""
    for number in range(1, len(outcome)):
        if preposition(outcome, number) is not None:
            yield Words(outcome.text, outcome[number:].items + condition.items), outcome[:number]


def _without_marker(piece: Words) -> Iterator[tuple[Words, Words]]:
    """Yield the splits of a handbook sentence: "Drive more slowly at night", "At night, drive slowly"."""
    if piece[0].lemma in _CHANGES_FIRST and piece[0].tag != "VBG":
        for number in range(1, len(piece) - 1):
            if piece[number].lower == "and":
                yield trimmed(piece[:number]), piece[number + 1 :]
    nominal = any(word.lower in lexicon.NOMINALS for word in piece[:2]) or piece[0].tag == "VBG"
    nominal |= piece[0].lower.endswith("ing") and base_form(piece[0].lower) != piece[0].lower
    for number in range(1, len(piece)):
        if piece[number].tag in ("MD", "VBZ") and (nominal or _causes(piece, number)):
            yield piece[:number], piece[number:]
        between = next(
            (n for n in range(number + 1, len(piece)) if piece[n].tag == "MD" or piece[n].lower == "by"), 0
        )
        # "The speed | in fog | should …", "slow down | in fog | by …"
        if between and preposition(piece, number):
            yield piece[number:between], Words(piece.text, piece[:number].items + piece[between:].items)
    for number in range(1, len(piece)):
        if piece[number].lower in SETS["cut"] and number + 1 < len(piece) and piece[number + 1].tag != "MD":
            yield piece[:number], trimmed(piece[number + 1 :])
    for number in range(1, len(piece)):
        if preposition(piece, number) is not None:
            yield piece[number:], piece[:number]
    if preposition(piece, 0) is not None:
        for number in range(1, len(piece)):
            if not _needs_subject(piece[number]):
                yield piece[:number], piece[number:]


def _causes(piece: Words, at: int) -> bool:
    """Return whether what stands before a verb is no driver: "fog must lower the speed", "a car causes …"."""
    try:
        noun = noun_phrase(piece, 0)
    except RuleError:
        return False
    weather = noun is not None and noun[1] == at and ontology().condition_of(noun[0].element)
    led = weather or any(word.lemma in SETS["causes"] for word in piece[at + 1 : at + 3])
    return bool(led) and any(word.lemma in SETS["caused"] for word in piece[at + 1 :])


def trimmed(words: Words) -> Words:
    """Return words without the signs and joints at their ends."""
    while len(words) and (words[-1].lower in SETS["cut"] or words[-1].lower == "and"):
        words = words[:-1]
    while len(words) and words[0].lower in (*SETS["cut"], "so", "therefore", "hence"):
        words = words[1:]
    return words
