"""The words of a rule that say when: "within 2 s", "for at least 1 s", "while it is visible"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from roadworthy.errors import InputError, RuleError
from roadworthy.rules.reading import Block
from roadworthy.rules.timing import Timing

_COUNTS = {
    "a": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0, "half a": 0.5, "a half": 0.5, "one half": 0.5,
    "one and a half": 1.5, "two and a half": 2.5,
}  # fmt: skip
_WORDED = "|".join(sorted(_COUNTS, key=len, reverse=True))
_UNIT = r"(?:ms|msecs?|milliseconds?|s|secs?|seconds?)\b(?!/)"
_SECONDS = rf"(?:\d+(?:\.\d+)?|{_WORDED})[ -]?{_UNIT}"
_IT = "it|he|she|they|him|her|them|this|that"
_THING = rf"(?:{_IT}|the (?P<thing{{}}>[a-z-]+(?: [a-z-]+){{{{0,2}}}}))"
_SEEN = "(?:visible|in view|in sight|to be seen|seen|there)"
_COMES = (
    rf"(?: (?:of|after|from) (?:(?:when |the moment )?(?:{_THING.format(1)}) (?:first )?(?:appears?|is seen"
    rf"|(?:becomes?|is) {_SEEN}|comes? into view|appearing|becoming {_SEEN})|(?:its|his|her|their) appearance"
    rf"|(?:seeing|noticing|detecting) (?:{_THING.format(2)})))?"
)
_WHEN = re.compile(
    rf"\b(?:(?:within|in (?:at most|less than|under|no more than)|(?:no|not) later than)"
    rf" (?:the (?:first|next) )?(?P<within>{_SECONDS}){_COMES}"
    rf"|for (?:at least|no less than|a minimum of) (?P<lasting>{_SECONDS})"
    rf"|(?P<visible>(?:for )?(?:while|as long as|so long as) (?:(?:{_THING.format(3)})"
    rf" (?:is|are|stays?|remains?) {_SEEN}|(?:you|we|it|the ego-vehicle) (?:can )?sees?"
    rf" (?:{_THING.format(4)}))"
    r"|at (?:all times|any time|any moment)|(?:the whole|all the) time|throughout(?: the (?:clip|drive))?))",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"(?P<number>\d+(?:\.\d+)?|{_WORDED})[ -]?(?P<unit>{_UNIT})", re.IGNORECASE)
_EXAMPLE = "If a pedestrian appears on the roadside, the ego-vehicle should slow down within 2 s."


@dataclass(frozen=True)
class TimeWords:
    """Words that say when.

    Attributes:
        timing: What they mean.
        span: Their first character in the rule and the one after their last.
    """

    timing: Timing | None
    span: tuple[int, int]
    problem: str = ""


def time_words(text: str) -> Iterator[TimeWords]:
    """Yield the words of a rule that say when what it expects must hold.

    Example:
        >>> found = list(time_words("If it rains, slow down within 500 ms for at least two seconds."))
        >>> [str(one.timing) for one in found]
        ['within 0.5 s', 'for at least 2 s']
    """
    for found in _WHEN.finditer(text):
        things = [found[f"thing{number}"] for number in range(1, 5)]
        others = text[: found.start()] + " " + text[found.end() :]
        named = [word for thing in things if thing for word in thing.lower().split()]
        if not all(re.search(rf"\b{re.escape(word)}", others, re.IGNORECASE) for word in named):
            continue  # of something that the rule does not speak of
        try:
            timing = Timing(_seconds(found["within"]), _seconds(found["lasting"]))
        except InputError as error:
            yield TimeWords(None, found.span(), str(error))
        else:
            yield TimeWords(timing, found.span())


def _seconds(words: str | None) -> float | None:
    if words is None:
        return None
    found = _NUMBER.fullmatch(words)
    assert found is not None
    number = _COUNTS.get(found["number"].lower())
    value = float(found["number"]) if number is None else number
    return value / 1000 if found["unit"].lower().startswith("m") else value


def without_times(text: str) -> str:
    """Return a text with blanks where it says when."""
    for one in time_words(text):
        start, stop = one.span
        text = text[:start] + " " * (stop - start) + text[stop:]
    return text


def timed(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with when their expectations must hold; a rule has one time for all of its blocks.

    Raises:
        RuleError: A time is said of a condition, twice, or is out of range.
    """
    timing: Timing | None = None
    for one in time_words(text):
        if one.timing is None:
            raise _refused(one.problem, text, one)
        if _in_condition(text, blocks, one):
            raise _refused("a time is said of what should happen, not of what changes", text, one)
        timing = one.timing if timing is None else _joined(text, timing, one)
    return [replace(block, timing=timing) for block in blocks] if timing else list(blocks)


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


def _in_condition(text: str, blocks: Sequence[Block], one: TimeWords) -> bool:
    """Return whether a time stands among the words of a condition, or ends it: "appears within 2 s, …"."""
    start, stop = one.span
    for block in blocks:
        for begin, end in block.condition:
            if begin < start < end:
                return True
            between = text[end:start].strip()
            later = [run for run in block.outcome if run[0] >= stop]
            # After a comma it begins what should happen; before one it ends the condition.
            if end <= start and not between and later and text[stop:].lstrip().startswith(","):
                return True
    return False
