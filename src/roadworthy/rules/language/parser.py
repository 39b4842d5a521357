"""Rules: from the text to its if-then blocks, each read by the readers of conditions and outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from roadworthy.errors import InputError, RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.gauges import ANYTHING, Gauge, gauge_of
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.changes import read_condition
from roadworthy.rules.language.conditions import ConditionReading
from roadworthy.rules.language.distances import AWAY, EXAMPLE, at_distances, metres_of
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import is_weightless
from roadworthy.rules.language.outcome_words import VERBS, base_form
from roadworthy.rules.language.outcomes import ExpectedOutcome, read_outcome
from roadworthy.rules.language.splits import marker, splits, trimmed
from roadworthy.rules.language.times import time_words, timed, without_times
from roadworthy.rules.language.words import Word, Words, analysed, analysed_all
from roadworthy.rules.reading import Block, BoundWords, Rule, SceneChange, thing_in_words

_LABEL = re.compile(r"\s*(?:(?:rule|r|cr)\s*\d+\s*[:.)]|\d+[.)](?=\s)|[-*•](?=\s))\s*", re.IGNORECASE)
_COLON = re.compile(r"\b(if|then|when|given)\s*:", re.IGNORECASE)
# What people write for plain words that are read, which stand in its place and are no longer.
_IDIOMS = [(re.compile(said, re.IGNORECASE), plain) for said, plain in lexicon.FILE["idioms"].items()]
# How the ego-vehicle is named so that "it" may stand for it.
_OURS = re.compile(lexicon.FILE["ours"], re.IGNORECASE)
_DASH = re.compile(r"(?<=[a-z] )-(?= [a-z])", re.IGNORECASE)
_ARROW = re.compile(r"[-=]>")
# What joins sentences and halves of sentences and gives nothing to a reading.
_PASSED = SETS["connectors"] | {"then", "therefore", "hence", "means", "mean", "that", "who"}
_DONE = lexicon.words_of("slow stop brake halt decelerate accelerate speed steer turn drive keep reduce")
_LINKED = re.compile(lexicon.FILE["linked"], re.IGNORECASE)
_MOST_WORDS = 120
# To split one word, or to look for headings, takes time by the square of the length.
_TOO_LONG = re.compile(r"\S{101,}|\A.{10001,}", re.DOTALL)
_MOST_CONDITIONS = 6


def parse(text: str) -> Rule:
    """Read a testing rule.

    Args:
        text: One if-then sentence or several, in plain English.

    Returns:
        What it says.

    Raises:
        RuleError: Something in it is not understood; says which words, why, and what would be.

    Example:
        >>> rule = parse("If a pedestrian appears on the roadside, then the ego-vehicle should slow down.")
        >>> change = rule.blocks[0].changes[0]
        >>> change.op, change.target, change.position, change.reference
        ('add', 'pedestrian', 'on', 'sidewalk')
        >>> rule.blocks[0].expectation.holds(before=10.0, after=8.0)
        True
    """
    if not isinstance(text, str):
        raise InputError(f"a rule must be text, got {type(text).__name__}")
    if (problem := _problem(text)) is not None:
        raise problem
    return _read(text, analysed(_without_headings(text)))


def parse_all(texts: Sequence[str]) -> Iterator[Rule | RuleError]:
    """Read many rules, in less time than one by one; yield what each says, or what is wrong with it.

    Example:
        >>> good, bad = parse_all(["If it rains, the speed should decrease.", "If it rains"])
        >>> good == parse("If it rains, the speed should decrease."), type(bad).__name__
        (True, 'RuleError')
    """
    problems = [_problem(text) for text in texts]
    readable = (_without_headings(t) if p is None else "" for t, p in zip(texts, problems, strict=True))
    for text, problem, words in zip(texts, problems, analysed_all(readable), strict=True):
        try:
            yield problem or _read(text, words)
        except RuleError as error:
            yield error


def _problem(text: str) -> RuleError | None:
    """Return what keeps a text from being analysed at all."""
    if not re.search(r"\w", text):
        return RuleError("the rule is empty", text=text, span=(0, len(text)), suggestions=[EXAMPLE])
    if (word := _TOO_LONG.search(text)) is not None:
        reason = "a word may have 100 characters at most, a rule 10,000"
        return RuleError(reason, text=text, span=word.span(), suggestions=[EXAMPLE])
    return None


def _read(text: str, analysis: Words) -> Rule:
    """Return what the words of a rule say."""
    label = _LABEL.match(text)
    begin = label.end() if label is not None else 0
    words = Words(text, tuple(word for word in _as_written(text, analysis) if word.start >= begin))
    blocks: list[Block] = []
    pieces = _merged(_pieces(words))
    while pieces:
        piece = pieces.pop(0)
        _check_length(piece)
        try:
            blocks += _blocks(piece, blocks)
        except RuleError:
            if not pieces or marker(pieces[0], 0) is not None:
                raise
            # "Add a crosswalk; the speed must go down": the outcome is a sentence of its own.
            opened = marker(piece, 0) or 0
            condition, outcome = piece[opened:], pieces[0]
            understood, error = _tried(condition, outcome, blocks)
            if error is not None or understood is None:
                raise
            whole = Words(text, piece.items + pieces.pop(0).items)
            blocks.append(_made(whole, (condition, outcome), *understood))
    if not blocks:
        raise words.refuse("the rule is empty", [EXAMPLE])
    if words.text.rstrip(" .!\"')").endswith("?"):
        raise words[-1:].refuse("a rule tells what should follow, and does not ask", [EXAMPLE])
    return _accounted(words, timed(text, at_distances(text, blocks)))


def _accounted(words: Words, blocks: list[Block]) -> Rule:
    """Return the rule with what each of its words gave: those inside a half, and those that stand outside.

    Raises:
        RuleError: A word was passed over that is none of those that open, join or end sentences.
    """
    bound = {start: gives for block in blocks for start, gives in block.bound.items()}
    halves = [run for block in blocks for run in (*block.condition, *block.outcome)]
    inside = [any(start <= word.start < stop for start, stop in halves) for word in words]
    number = 0
    while number < len(words):
        word, opened = words[number], marker(words, number)
        stop = number + 1
        if inside[number]:
            pass
        elif word.lower in SETS["reasons"]:
            while stop < len(words) and not inside[stop] and words[stop].lower not in SETS["ends"]:
                stop += 1
            bound |= {one.start: "reason" for one in words[number:stop]}
            earlier = (n for n in reversed(range(len(blocks))) if blocks[n].outcome[0][0] < word.start)
            told = next(earlier, 0)
            note = f"'{words[number:stop]}' is not tested."
            blocks[told] = replace(blocks[told], notes=(*blocks[told].notes, note))
        elif opened is not None:
            stop = opened
            bound |= {one.start: "if" for one in words[number:stop]}
        elif not (is_weightless(word) or word.lower in _PASSED):
            raise words[number:stop].refuse(f"{word.text!r} would be lost here", [EXAMPLE])
        number = stop
    for found in AWAY.finditer(words.text):
        bound[found.start()] = f"{metres_of(found):g} m away"
    bound |= {one.span[0]: one.gives for one in time_words(words.text)}
    return Rule(words.text, tuple(blocks), tuple(_bound_runs(words, bound)))


def _bound_runs(words: Words, bound: Mapping[int, str]) -> Iterator[BoundWords]:
    """Return the words of a rule in runs that gave one thing each."""
    places = {word.start: word.stop for word in words if any(map(str.isalnum, word.lower))}
    places |= {found.start(): found.end() for found in AWAY.finditer(words.text)}
    places |= {one.span[0]: one.span[1] for one in time_words(words.text)}
    runs: list[tuple[int, int, str]] = []
    for start, stop in sorted(places.items()):
        gives = bound.get(start, "")
        if len(runs) > 1 and not runs[-1][2] and runs[-2][2] == gives:
            del runs[-1]  # "on the left": what has no weight among words that give one thing is one of them
        if runs and runs[-1][2] == gives:
            runs[-1] = (runs[-1][0], stop, gives)
        else:
            runs.append((start, stop, gives))
    return (BoundWords(words.text[start:stop], (start, stop), gives) for start, stop, gives in runs)


def _check_length(piece: Words) -> None:
    """Refuse a sentence in which nobody would find the way, and which takes longer to read than one waits."""
    if len(piece) > _MOST_WORDS:
        raise piece.refuse(f"a sentence may have {_MOST_WORDS} words at most: write several", [EXAMPLE])
    if sum(1 for _ in _inner_markers(piece)) >= _MOST_CONDITIONS:
        raise piece.refuse(
            f"a sentence may have {_MOST_CONDITIONS} conditions at most: give each a sentence of its own",
            [EXAMPLE],
        )


def _without_headings(text: str) -> str:
    """Return a text without distances and times; idioms are plain words, arrows one sign."""
    plain = _in_plain_words(text)[0]
    return without_times(AWAY.sub(lambda found: " " * len(found[0]), plain))


def _in_plain_words(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text of the same length in which idioms are plain words, and where they stand.

    What is named "left" in an idiom is no part of it, but only what it stands behind.
    """
    plain = _ARROW.sub("→ ", _COLON.sub(lambda found: found[0][:-1] + " ", _DASH.sub("–", text)))
    spans: list[tuple[int, int]] = []
    for idiom, instead in _IDIOMS:
        for found in idiom.finditer(plain):
            (start, stop), said = found.span(), found.expand(instead)
            plain = plain[:start] + said.ljust(stop - start) + plain[stop:]
            spans.append(
                (found.end("left") if idiom.groupindex else start, start + len(found[0].rstrip(" :")))
            )
    return plain, spans


def _as_written(text: str, words: Words) -> Iterator[Word]:
    """Yield words that end where the idioms end that they stand for."""
    spans = _in_plain_words(text)[1]
    for word, after in zip_longest(words, words[1:]):
        end = after.start if after else len(text)
        stops = [
            min(stop, end) for start, stop in spans if start <= word.start < stop or word.stop <= stop <= end
        ]
        yield replace(word, stop=len(text[: max(stops)].rstrip())) if stops else word


def _pieces(words: Words) -> Iterator[Words]:
    """Yield the sentences of a rule."""
    begin = 0
    for number, word in enumerate(words):
        if word.lower in SETS["ends"]:
            if number > begin:
                yield words[begin:number]
            begin = number + 1
    if begin < len(words):
        yield words[begin:]


def _merged(pieces: Iterator[Words]) -> list[Words]:
    """Join a sentence that begins with "then" to the one before."""
    found: list[Words] = []
    for piece in pieces:
        if piece[0].lower == "then" and found and marker(piece, 1) is None and not _has_then(found[-1]):
            found[-1] = Words(piece.text, found[-1].items + piece.items)
        else:
            found.append(piece)
    return found


def _has_then(words: Words) -> bool:
    return any(word.lower == "then" for word in words)


def _blocks(piece: Words, earlier: Sequence[Block]) -> list[Block]:
    """Read one sentence: one block, or several that are joined."""
    piece = _taken_alone(piece)
    if not len(piece):
        return []
    try:
        return [_block(piece, earlier)]
    except RuleError as error:
        first_error = error
    for cut in _inner_markers(piece):
        try:
            # One block: were it several, the cut between them would have been tried before this one.
            first = _block(_taken_alone(piece[:cut]), earlier)
        except RuleError:
            continue
        try:
            return [first, *_blocks(piece[cut:], [*earlier, first])]
        except RuleError as error:
            first_error = error
    raise first_error


def _taken_alone(piece: Words) -> Words:
    """Return a sentence without the words that join it to others, and without the reason that it gives."""
    while len(piece) and piece[0].lower in SETS["connectors"] - {"in"}:
        piece = piece[1:]
    if len(piece) > 1 and piece[0].lower in ("then", "even") and marker(piece, 1) is not None:
        piece = piece[1:]
    while len(piece) and piece[-1].lower in SETS["cut"]:
        piece = piece[:-1]
    return _without_reason(piece)


def _inner_markers(piece: Words) -> Iterator[int]:
    """Yield where a second condition may open in a sentence: "…, and if he gets closer, …"."""
    for number in range(2, len(piece)):
        joined = piece[number - 1].lower in (",", "and", "but", ";") or _has_then(piece[:number])
        if joined and marker(piece, number) is not None:
            yield number - 1 if piece[number - 1].lower in ("and", "but") else number


def _without_reason(piece: Words) -> Words:
    if piece and piece[0].lower in SETS["reasons"]:  # "Because people are hard to see, slow down at night"
        cut = next((n for n, word in enumerate(piece) if word.lower == ","), len(piece))
        return piece[cut + 1 :] or piece
    for number, word in enumerate(piece):
        if word.lower in SETS["reasons"] and number:
            commas = [one.lower in SETS["cut"] for one in piece]
            for at in range(number, len(piece)):
                joints = ("and", "but", "or", "then", *(() if marker(piece, 0) else (",",)))
                joint = piece[at].lower in joints and at + 1 < len(piece)
                verb = joint and base_form(piece[at + 1].lower) in VERBS
                if verb or piece[at].lower[:1].isdigit():
                    raise piece[at:].refuse("what should follow stands before the reason", [EXAMPLE])
            inside = any(commas[number:]) and marker(piece, 0) and not any(commas[:number])
            return piece if inside else trimmed(piece[:number])  # "if a car brakes because …, slow down"
    return piece


def _block(piece: Words, earlier: Sequence[Block]) -> Block:
    """Read one if-then."""
    trials = list(splits(piece))
    errors: list[tuple[bool, RuleError]] = []
    for condition, outcome in trials:
        understood, error = _tried(condition, outcome, earlier)
        if error is None:
            assert understood is not None
            return _made(piece, (condition, outcome), *understood)
        errors.append(error)
    if not errors:
        raise _half(piece)
    if _is_condition(piece, earlier):
        raise _half(piece)
    # The split in which most was understood tells best what is wrong.
    raise max(errors, key=lambda one: one[0])[1]


def _made(piece: Words, halves: tuple[Words, Words], found: ConditionReading, came: ExpectedOutcome) -> Block:
    return Block(
        tuple(found.changes),
        came.expectation,
        str(piece),
        (*found.propositions, *came.propositions),
        (*found.inference, came.inference),
        _runs(halves[0]),
        _runs(halves[1]),
        (*dict.fromkeys(found.notes), *came.notes),
        {
            word.start: gives
            for word in (*halves[0], *halves[1])
            if (gives := found.bound.get(word.index) or came.bound.get(word.index))
        },
    )


def _runs(words: Words) -> tuple[tuple[int, int], ...]:
    """Return where words stand in the rule: the first character and the one after the last of each run."""
    runs: list[tuple[int, int]] = []
    for number, word in enumerate(words):
        if number and word.index == words[number - 1].index + 1:
            runs[-1] = runs[-1][0], word.stop
        else:
            runs.append((word.start, word.stop))
    return tuple(runs)


def _tried(
    condition: Words, outcome: Words, earlier: Sequence[Block]
) -> tuple[tuple[ConditionReading, ExpectedOutcome] | None, tuple[bool, RuleError] | None]:
    """Read both halves of a block; else return whether one of them was understood, and what is wrong."""
    came: ExpectedOutcome | None = None
    found: ConditionReading | None = None
    trouble: RuleError | None = None
    wrong: RuleError | None = None
    try:
        found = read_condition(condition, [block.changes for block in earlier])
    except RuleError as error:
        wrong = error
    changes = [change for block in earlier for change in block.changes] + (found.changes if found else [])
    try:
        came = read_outcome(
            outcome,
            earlier[-1].expectation.output if earlier else None,
            mentioned={word.lemma for word in condition if word.pos in ("NOUN", "PROPN")},
            others=_names_of_others(condition, outcome, changes),
            added=_added(condition, found, [block.changes for block in earlier]),
        )
    except RuleError as error:
        trouble = error
    if found is not None and came is not None:
        if _has_no_subject(outcome) and any(one.op == "add" for one in found.changes):
            return None, (True, outcome[:1].refuse("who does this is not said", ["the ego-vehicle", "brake"]))
        if duty := next((n for n, word in enumerate(condition) if n and word.lower in SETS["duties"]), 0):
            wrong = condition[duty : duty + 1].refuse("what should be so is no condition", ["appears"])
            return None, (True, wrong)
        if gone := _gone(found, gauge_of(came.expectation.output)):
            return None, (
                True,
                outcome.refuse(f"the {gone} was replaced or removed: what is meant is not said"),
            )
        if earlier and (apart := _apart(condition, outcome, found, came, earlier)):
            return None, (True, apart)
        return (found, came), None
    if wrong is not None and trouble is not None:
        return None, (False, wrong)
    failed = wrong or trouble
    assert failed is not None
    return None, (True, failed)


def _apart(
    condition: Words, outcome: Words, found: ConditionReading, came: ExpectedOutcome, earlier: Sequence[Block]
) -> RuleError | None:
    """Return what is wrong with a block that goes on with none before and is compared with the last."""
    if came.comparative and came.expectation.output != earlier[-1].expectation.output:
        return outcome.refuse("the block before does not speak of this", ["slow down"])
    since = max(stop for _, stop in (*earlier[-1].condition, *earlier[-1].outcome))
    linked = _LINKED.search(outcome.text, since, max(condition.span[1], outcome.span[1]))
    besides = linked is not None and linked.end() <= condition.span[0]
    if found.refers or (not besides and (came.comparative or linked)):
        return None
    return condition.refuse(
        "this would be compared with the block before: write a rule for each", ["if it also"]
    )


def _gone(found: ConditionReading, gauge: Gauge) -> str:
    """Return what is spoken of that a change takes away or brings instead; empty for nothing."""
    if gauge.kind not in ("overlap", "confidence", "kept") or gauge.which == "added":
        return ""
    for one in found.changes:
        for name in filter(None, (one.target, one.replacement)) if one.op != "add" else ():
            thing, said = ontology().resolve_with_properties(name if gauge.thing == ANYTHING else gauge.thing)
            types = [told.get("type") for told in (one.properties, one.target_properties)]
            # "Turns red": the red light was none before.
            new = (said.keys() & one.properties.keys()) - {"type"}
            recoloured = one.target == one.replacement and types[0] == types[1] and not new
            if not recoloured and one.target not in CONDITIONS and ontology().is_a(name, thing.name):
                return name
    return ""


def _added(
    condition: Words, found: ConditionReading | None, earlier: Sequence[Sequence[SceneChange]]
) -> list[str]:
    """Return what a rule adds, each as often as there are of it, and twice what is named in the plural."""
    many = [word for word in condition if word.tag in ("NNS", "NNPS")]
    most: Counter[str] = Counter()
    for changes in (*earlier, found.changes if found else ()):
        came: Counter[str] = Counter()
        for one in changes:
            if one.op == "add":
                type_ = {key: value for key, value in one.properties.items() if key == "type"}
                whole = thing_in_words(one.target, one.properties)
                plural = found is not None and any(found.bound.get(word.index) == whole for word in many)
                came[thing_in_words(one.target, type_)] += 1 + plural
        most |= came
    return list(most.elements())


def _has_no_subject(outcome: Words) -> bool:
    """Return whether an outcome says what somebody does, and not who: "a car appears and then brakes"."""
    verb = outcome[1 if outcome[0].lower == "then" else 0].lower
    headed = outcome.text[: outcome[0].start].rstrip().endswith((":", "→", ">"))  # "Expected: slows down"
    return verb.endswith("s") and base_form(verb) in _DONE and not headed


def _names_of_others(condition: Words, outcome: Words, changes: Sequence[SceneChange]) -> set[str]:
    """Return what other vehicles may be called, which the ego-vehicle cannot be called then.

    "It" may be a vehicle that was named before, and is not where several things were and the ego-vehicle too.
    """
    types = [one.properties.get("type") for one in changes if one.target == "vehicle"]
    added = any(one.target == "vehicle" and one.op == "add" for one in changes)
    ours = bool(_OURS.search(outcome.text[: outcome.span[0]]))
    animate = any(one.op == "add" and one.target in ("dog", "bicyclist") for one in changes)
    animate &= not _OURS.search(outcome.text[: outcome.span[1]])
    named = outcome.span < condition.span or (len(changes) > 1 and ours)
    return {
        *(("car", "automobile") if {None, "car"} & set(types) else ()),
        *(("vehicle",) if None in types else ()),
        *(("a",) if types else ()),
        *(("it",) if (added or animate) and not named else ()),
    }


def _is_condition(piece: Words, earlier: Sequence[Block]) -> bool:
    """Return whether all of a sentence is a condition, so that what should come of it is missing."""
    opened = marker(piece, 0)
    if opened is None or any(word.lower in SETS["duties"] for word in piece[opened:]):
        return False
    try:
        read_condition(piece[opened:], [block.changes for block in earlier])
    except RuleError:
        return False
    return True


def _half(piece: Words) -> RuleError:
    """Return what to say about a sentence that has only one half of a rule."""
    opened = marker(piece, 0)
    if opened is not None:
        return piece.refuse("what should come of this is not said", ["then the ego-vehicle should slow down"])
    return piece.refuse("this is no rule: it needs a condition and what should come of it", [EXAMPLE])
