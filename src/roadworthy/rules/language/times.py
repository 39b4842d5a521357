"""The words of a rule that say when: "within 2 s", "for at least 1 s", "while it is visible"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, RuleError
from roadworthy.rules.language.lexicon import filled
from roadworthy.rules.reading import Block, Rule, thing_in_words
from roadworthy.rules.timing import Timing

_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of words", "'when:'").data
_COUNTS: dict[str, float] = _FILE["counts"]
_PARTS = _FILE["parts"] | {"COUNT": "|".join(sorted(_COUNTS, key=len, reverse=True))}
_WHEN = re.compile(rf"\b(?:{'|'.join(filled(one, _PARTS) for one in _FILE['when'])})", re.IGNORECASE)
_NUMBER = re.compile(filled("({DIGITS}|{COUNT})( {HALF})?[ -]?({UNIT})( {HALF})?", _PARTS), re.IGNORECASE)
_MORE = re.compile(filled(r"\s*{MORE}", _PARTS), re.IGNORECASE)
_MOVES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _FILE["moves"].items()}
_STANDS = re.compile(_FILE["stands"], re.IGNORECASE)
# With "not" before them: never, or not always?
_ALL_TIMES = re.compile(r"at all times|(?:the whole|all the) time|throughout.*", re.IGNORECASE)
_NOT = re.compile(r"(?:\bnot\b|n['’]t\b)[^,.;!?]*$", re.IGNORECASE)
_ONE_AFTER = "one time says after how long it changes; what should happen comes within a time: 'within 3 s'"
# After a time: "within 1 s and must not accelerate", but not "within 1 s and for at least 2 s".
_JOINED = re.compile(
    r"\s*,?\s*(?:and|but)\s+(?!(?:for|by|at|to|in|within|while|as|no|if|when|where)\b)\w", re.IGNORECASE
)
_EXAMPLE = "If a pedestrian appears on the roadside, the ego-vehicle should slow down within 2 s."


@dataclass(frozen=True)
class TimeWords:
    """Words that say when.

    Attributes:
        timing: What they mean; None where they cannot be used.
        span: Their first character in the rule and the one after their last.
        problem: Why they cannot be used.
        after: Of words that say when something changes during a drive, after how many seconds.
    """

    timing: Timing | None
    span: tuple[int, int]
    problem: str = ""
    after: float = 0.0

    @property
    def gives(self) -> str:
        """What they gave to the reading."""
        return f"after {self.after:g} s" if self.after else str(self.timing)


def time_words(text: str) -> Iterator[TimeWords]:
    """Yield the words of a rule that say when what it expects must hold.

    Example:
        >>> found = list(time_words("If it rains, slow down within 500 ms for at least two seconds."))
        >>> [str(one.timing) for one in found]
        ['within 0.5 s', 'for at least 2 s']
    """
    for found in _WHEN.finditer(text):
        others = text[: found.start()] + " " + text[found.end() :]
        times = (found["within"], found["lasting"])
        said = (*times, found["after"])
        named = [word for thing in found.groups() if thing and thing not in said for word in thing.split()]
        if not all(re.search(rf"\b{re.escape(word)}", others, re.IGNORECASE) for word in named):
            continue  # of something that the rule does not speak of
        if any(times) and (more := _MORE.match(text, found.end())):
            yield TimeWords(None, (found.start(), more.end()), "a time has one number")
            continue
        try:
            if (after := _seconds(found["after"])) is not None:
                # What a time may be is the same.
                Timing(after)
                yield TimeWords(None, found.span(), after=after)
                continue
            yield TimeWords(Timing(*map(_seconds, times)), found.span())
        except InputError as error:
            yield TimeWords(None, found.span(), str(error))


def _seconds(words: str | None) -> float | None:
    if words is None:
        return None
    found = _NUMBER.fullmatch(words)
    assert found is not None
    number, half = _COUNTS.get(found[1].lower()) or float(found[1]), bool(found[2] or found[4])
    small = found[3].lower().startswith("m")
    if half and (small or number != int(number)):
        raise InputError("a time has one number")
    return number / 1000 if small else number + half / 2


def without_times(text: str) -> str:
    """Return a text with blanks where it says when."""
    for one in time_words(text):
        start, stop = one.span
        text = text[:start] + " " * (stop - start) + text[stop:]
    return text


def timed(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with when their expectations must hold; a rule has one time for all of its blocks.

    What stays the same, or must not happen, does so from the first frame on in which the change is seen.

    Raises:
        RuleError: A time is said of a condition, twice, is out of range, or does not suit what is expected.
    """
    timing: Timing | None = None
    blocks = list(blocks)
    later = [run for block in blocks[1:2] for run in (*block.condition, *block.outcome)]
    steady = {one.expectation.negated or one.expectation.allows_no_change for one in blocks}
    for one in time_words(text):
        if one.after:
            number = next((n for n, block in enumerate(blocks) if _is_of_change(text, block, one)), None)
            if number is None or blocks[number].after:
                raise _refused(_ONE_AFTER, text, one)
            blocks[number] = replace(blocks[number], after=one.after)
            continue
        said = one.timing or Timing()
        late, mixed = said.within and True in steady, said.lasting and len(steady) > 1
        all_times = _ALL_TIMES.fullmatch(text, *one.span) and _NOT.search(text[: one.span[0]])
        problems = {
            one.problem: one.timing is None,
            "a time is said of what should happen, not of what changes": _in_condition(text, blocks, one),
            "what stays the same, or must not happen, does so from the beginning on, not within a time": late,
            "what must happen and what must not are two: write a rule for each": mixed,
            "of what else this is said, is open: write a rule for each": bool(
                _JOINED.match(text, one.span[1])
            ),
            "a rule has one time: say it of its first sentence": any(run[0] < one.span[0] for run in later),
            "is this never, or not always?": all_times,
        }
        if reason := next((reason for reason, is_so in problems.items() if is_so), None):
            raise _refused(reason, text, one)
        timing = said if timing is None else _joined(text, timing, one)
    if timing and timing.lasting and True in steady:
        timing = replace(timing, within=0.0)
    return [replace(block, timing=timing) for block in blocks] if timing else blocks


def _refused(reason: str, text: str, one: TimeWords) -> RuleError:
    return RuleError(reason, text=text, span=one.span, suggestions=[_EXAMPLE])


def _joined(text: str, first: Timing, one: TimeWords) -> Timing:
    """Return "within 2 s for at least 1 s" as one; other pairs are two times."""
    second = one.timing
    assert second is not None
    named = [(each.within, each.lasting) for each in (first, second)]
    if first.throughout or second.throughout or any(all(pair) for pair in zip(*named, strict=True)):
        raise _refused("a rule has one time: write a rule for each", text, one)
    return Timing(first.within or second.within, first.lasting or second.lasting)


def _is_of_change(text: str, block: Block, one: TimeWords) -> bool:
    """Return whether "after 3 s" is said of what changes: before or in the condition, or right after it."""
    start, condition, outcome = one.span[0], block.condition[0][0], block.outcome[0][0]
    if outcome < condition:
        return start >= condition
    end = max(stop for _, stop in block.condition)
    return start < outcome and (start < end or not text[end:start].strip())


def _in_condition(text: str, blocks: Sequence[Block], one: TimeWords) -> bool:
    """Return whether a time stands among the words of a condition, or ends it: "appears within 2 s, …"."""
    start, stop = one.span
    for block in blocks:
        for begin, end in block.condition:
            if begin < start < end:
                return True
            between = text[end:start].strip()
            later = [run for run in block.outcome if run[0] >= stop]
            # After a comma it begins what should happen; before one, or at the end, it ends the condition.
            if end <= start and not between and not later:
                return True
            if end <= start and not between and later and text[stop:].lstrip().startswith(","):
                return True
    return False


def is_standing(rule: Rule, block: Block) -> bool:
    """Return whether the condition of a block says that what comes stands.

    Example:
        >>> from roadworthy.rules import parse
        >>> rule = parse("If a truck stands in the oncoming lane, slow down.")
        >>> is_standing(rule, rule.blocks[0])
        True
    """
    return any(_STANDS.search(rule.text, *run) for run in block.condition)


def motions_of(rule: Rule) -> list[str]:
    """Return how pedestrians of each block go in a clip; who is named before goes on as he did.

    Example:
        >>> from roadworthy.rules import parse
        >>> text = "If a pedestrian crosses the road, stop within 1 s. If it also rains, slow down more."
        >>> motions_of(parse(text))
        ['across', 'across']
    """
    found: list[str] = []
    for block in rule.blocks:
        named = "pedestrian" in block.bound.values()
        found.append(motion_of(rule, block) if named or not found else found[-1])
    return found


def motion_of(rule: Rule, block: Block) -> str:
    """Return how pedestrians that a block adds go in a clip: "across", "along", or not at all.

    Raises:
        InputError: Other things cross, or some of the pedestrians go otherwise than others.

    Example:
        >>> from roadworthy.rules import parse
        >>> rule = parse("If a car appears and a pedestrian crosses the road, slow down within 1 s.")
        >>> motion_of(rule, rule.blocks[0])
        'across'
    """
    added = {thing_in_words(one.target, one.properties) for one in block.changes if one.op == "add"}
    heard = {float(at): gives for at, gives in block.bound.items() if gives in {"add", *added}}
    things = [] if added & set(heard.values()) else list(added)
    for way, verb in reversed(_MOVES.items()):
        for one in verb.finditer(rule.text):
            inside = any(begin <= one.start() < end for begin, end in block.condition)
            if inside and block.bound.get(one.start(), "add") == "add":
                # "A walking pedestrian" is one that walks.
                attribute = heard.get(one.end() + 1, "add") != "add"
                heard[one.end() + 1.5 if attribute else one.start()] = f"goes {way}"
    found: set[tuple[str, str]] = set()
    # What is named does what the verbs say that follow it.
    for is_thing, run in groupby((heard[at] for at in sorted(heard)), key=added.__contains__):
        if is_thing:
            things = list(run)
        else:
            going = next((one.removeprefix("goes ") for one in run if one != "add"), "")
            found |= {(one, going) for one in things}
    ways = {way for one, way in found if one == "pedestrian" or way == "across"}
    if len(ways) > 1 or ("across" in ways and {one for one, way in found if way} != {"pedestrian"}):
        raise InputError("over a clip only pedestrians cross, and all go the same way: write a rule for each")
    return next(iter(ways), "")
