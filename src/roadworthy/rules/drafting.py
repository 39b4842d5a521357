"""From a handbook to rules: sentences that state duties, in words that can be tested, for a person to accept.

A draft is a file of rules in which every proposal is a comment until somebody takes its mark away.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from roadworthy._files import read_text, write_text
from roadworthy._http import Endpoint, NoAnswer, UnusableAnswer, excerpt
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, RuleError
from roadworthy.rules.files import OPEN, REJECTED
from roadworthy.rules.language.lexicon import filled
from roadworthy.rules.language.parser import parse_all
from roadworthy.rules.language.quantities import read_number
from roadworthy.rules.language.words import Words, analysed_all

Wording: TypeAlias = Callable[[str], Sequence[str]]
"""Returns a sentence in other words."""

_WAITS = re.compile(r"(?:[:—–]|\b(?:when|if|where|in|to|for|of|near|on|at|and|or))$", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•–—▪◦]|\(?(?:\d{1,3}|[a-z])[.)])\s+")
_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")
_ABBREVIATIONS = re.compile(r"(?i)\b(?:e\.g|i\.e|etc|approx|no|fig|para|sec|art|mr|mrs|dr|st|vs)\.$")
_MODAL = re.compile(
    r"(?i)\b(?:must|should|shall|ought to|ha(?:ve|s) to|needs? to|(?:is|are) (?:required|obliged|expected) to"
    r"|never|always|do not|don't|be (?:prepared|ready) to)\b"
)
_PERMISSION = re.compile(r"\b(?:do(?:es)? not|don't|doesn't) (?:have|need) to\b", re.IGNORECASE)


_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of rewritings", "'rewritings:'").data
_REWRITINGS = [
    (
        re.compile(filled(one["words"], _FILE["parts"]), re.IGNORECASE),
        one.get("by", ""),
        one.get("remark", ""),
    )
    for one in _FILE["rewritings"]
]
_MOST_PARAPHRASES, _LONGEST_RULE, _LONGEST_ANSWER = 3, 400, 2**18
_LONGEST_SENTENCE, _LONGEST_WORD = 1000, 40


@dataclass(frozen=True)
class Duty:
    """A sentence of a text that says what a driver has to do, and how it is read.

    Attributes:
        source: The name of the text.
        line: Where the sentence starts, counted from 1.
        sentence: Its words.
        rule: The rule that is proposed; empty where no words were found that can be read.
        reading: The rule in plain words, a line for each block.
        remarks: What differs between sentence and rule.
        reason: Why it is not read.
    """

    source: str
    line: int
    sentence: str
    rule: str = ""
    reading: str = ""
    remarks: tuple[str, ...] = ()
    reason: str = ""

    @property
    def place(self) -> str:
        """The text and the line."""
        return f"{self.source}:{self.line}"

    def document(self) -> dict[str, Any]:
        """Return it for scripts."""
        return {**asdict(self), "remarks": list(self.remarks)}

    def lines(self) -> list[str]:
        """Return it for people: where it stands, the rule in other words, how it is read, and remarks."""
        return [
            f"{self.place}: {self.sentence}",
            *([f"    rule: {self.rule}"] if self.rule not in ("", self.sentence) else []),
            *(
                [f"    reads: {line}" for line in self.reading.splitlines()]
                or [f"    not read: {self.reason}"]
            ),
            *(f"    note: {remark}" for remark in self.remarks),
        ]


@dataclass(frozen=True)
class Paraphraser:
    """Asks a language model behind an OpenAI-compatible endpoint for other words.

    What it answers is only ever a proposal: the reader must read it, and a person accepts it.

    Attributes:
        url: The address up to its version, such as ``http://127.0.0.1:8000/v1``.
        model: The name of the model there.
        key: What the endpoint asks for, if anything.
        timeout: Seconds for one sentence.
    """

    url: str
    model: str
    key: str = ""
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not (self.key.isascii() and self.key.isprintable()):
            raise InputError("the key of an endpoint must be one word of plain letters, and it is not")

    def __call__(self, sentence: str) -> list[str]:
        """Return the sentence in other words, at most three times.

        Raises:
            NoAnswer: Nobody answers there.
            UnusableAnswer: What is answered is no answer of such an endpoint.
        """
        messages = [{"role": "system", "content": _FILE["guide"]}, {"role": "user", "content": sentence}]
        body = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": 300}
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        endpoint = Endpoint(address, timeout=self.timeout, retries=1, longest=_LONGEST_ANSWER)
        answer = endpoint.post(json.dumps(body).encode(), headers)
        try:
            content = json.loads(answer)["choices"][0]["message"]["content"]
            lines = [_BULLET.sub("", line.strip()).strip(" \"'`") for line in str(content).splitlines()]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UnusableAnswer(f"{address} gave no chat completion, but {excerpt(answer)}") from None
        usable = [line for line in lines if line and line != "NONE" and len(line) <= _LONGEST_RULE]
        return usable[:_MOST_PARAPHRASES]


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the sentences of a text and the lines they start on; points of a list go on with its beginning.

    Example:
        >>> list(sentences_of("Slow down when\n- it rains\n- it snows.\n\nA fact. Stop\nhere."))
        [(2, 'Slow down when it rains'), (3, 'Slow down when it snows.'), (5, 'A fact.'), (5, 'Stop here.')]
    """
    stem = ""
    for bullet, lines in _paragraphs(text):
        starts = list(_line_starts(lines))
        placed = [(_line_at(starts, at), one) for at, one in _split(" ".join(line for _, line in lines))]
        if bullet and stem:
            line, point = placed.pop(0)
            yield line, f"{stem} {point[:1].lower()}{point[1:]}"
        elif not bullet:
            stem = ""
            # What ends without a full stop is a heading, or waits for the points of a list.
            if placed and _WAITS.search(placed[-1][1]):
                stem = placed.pop()[1].rstrip(":—– ")
        yield from placed


def _paragraphs(text: str) -> Iterator[tuple[bool, list[tuple[int, str]]]]:
    """Yield runs of lines that belong together, with their numbers, and whether each is a point of a list."""
    bullet, lines = False, list[tuple[int, str]]()
    for number, written in enumerate([*text.splitlines(), ""], 1):
        line = " ".join(written.split())
        mark = _BULLET.match(line)
        if lines and (not line or mark):
            yield bullet, lines
            bullet, lines = False, []
        if mark:
            bullet, line = True, line[mark.end() :]
        if line:
            lines.append((number, line))


def _line_starts(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    at = 0
    for number, line in lines:
        yield at, number
        at += len(line) + 1


def _line_at(starts: Sequence[tuple[int, int]], at: int) -> int:
    return starts[bisect_right(starts, at, key=itemgetter(0)) - 1][1]


def _split(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for gap in _END.finditer(text):
        if not _ABBREVIATIONS.search(text[max(begin, gap.start() - _LONGEST_WORD) : gap.start()]):
            yield begin, text[begin : gap.start()]
            begin = gap.end()
    if text[begin:].strip():
        yield begin, text[begin:]


def _is_order(words: Words) -> bool:
    """Return whether a sentence tells its reader to do something: it or a clause begins with a bare verb."""
    return any(
        word.tag in ("VB", "VBP") and (number == 0 or words[number - 1].text in (",", ";", ":"))
        for number, word in enumerate(words)
    )


def draft(text: str, source: str, *, paraphrase: Wording | None = None) -> tuple[list[Duty], list[str]]:
    """Find the duties in a text and put them into words that can be tested.

    Args:
        text: Plain English.
        source: What the text is called.
        paraphrase: Gives other words for sentences that are not read otherwise.

    Returns:
        The duties in their order, and what went wrong on the way, a sentence each.

    Example:
        >>> duties, _ = draft("Fog is common. You should reduce speed in fog (see 3.2).", "handbook.txt")
        >>> duties[0].rule, duties[0].remarks
        ('You should reduce speed in fog.', ('what stands in brackets is left out',))
    """
    # A name may hold line breaks, and in a file of rules a line that is no comment is a rule.
    source, problems = " ".join(source.split()), list[str]()
    found = list(dict.fromkeys(_short_enough(sentences_of(text), source, problems)))
    orders = analysed_all(sentence for _, sentence in found)
    duties = [
        Duty(source, line, sentence)
        for (line, sentence), words in zip(found, orders, strict=True)
        if not _PERMISSION.search(sentence) and (_MODAL.search(sentence) or _is_order(words))
    ]
    duties = _read(duties, [_wordings(one.sentence) for one in duties])
    if paraphrase is not None:
        duties = _paraphrased(duties, paraphrase, problems)
    return duties, problems


def _short_enough(
    found: Iterable[tuple[int, str]], source: str, problems: list[str]
) -> Iterator[tuple[int, str]]:
    """Yield the sentences that anybody could read, and tell of the others: analysing them takes for ever."""
    for line, sentence in found:
        if len(sentence) <= _LONGEST_SENTENCE:
            yield line, sentence
        else:
            told = f"{source}:{line}: a sentence of {len(sentence):,} characters is not read"
            problems.append(f"{told}: {_LONGEST_SENTENCE:,} at most")


def _wordings(sentence: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return a sentence as it is, and as it is after more and more rewriting, with what changed."""
    wordings: list[tuple[str, tuple[str, ...]]] = [(sentence, ())]
    words, remarks = sentence, dict[str, None]()
    for pattern, by, remark in _REWRITINGS:
        changed = " ".join(pattern.sub(by, words).split())
        if changed != words:
            words = changed
            remarks |= {remark: None} if remark else {}
            wordings.append((words[:1].upper() + words[1:], tuple(remarks)))
    return wordings


def _read(duties: Sequence[Duty], wordings: Sequence[Sequence[tuple[str, tuple[str, ...]]]]) -> list[Duty]:
    """Return the duties with the first of their wordings that is read, or why the last is not."""
    flat = [words for tried in wordings for words, _ in tried]
    readings = parse_all(flat)
    found = []
    for duty, tried in zip(duties, wordings, strict=True):
        # All are taken, because the readings come in one stream.
        for (words, remarks), reading in [(one, next(readings)) for one in tried]:
            if duty.rule:
                continue
            if isinstance(reading, RuleError):
                at_fault = reading.text[slice(*reading.span)]
                duty = replace(duty, reason=f"{at_fault!r}: {reading.reason}" if at_fault else reading.reason)
            else:
                remarks = (*remarks, *reading.notes)
                duty = replace(duty, rule=words, reading=str(reading), remarks=remarks, reason="")
        found.append(duty)
    return found


def _paraphrased(duties: Sequence[Duty], paraphrase: Wording, problems: list[str]) -> list[Duty]:
    found = []
    fails = False
    for duty in duties:
        if not duty.rule and not fails:
            try:
                offered = paraphrase(duty.sentence)
            except (NoAnswer, UnusableAnswer) as error:
                problems.append(f"no paraphrases: {error}")
                offered, fails = [], True
            said = _numbers(duty.sentence)
            other = [one for one in offered if _numbers(one) != said]
            tried = [(one, ("in the words of a language model",)) for one in offered if one not in other]
            read = _read([duty], [tried])[0] if tried else duty
            if read.rule:
                duty = read
            elif other:
                duty = replace(duty, reason=f"{duty.reason}; a language model has other numbers: {other[0]}")
        found.append(duty)
    return found


def _numbers(text: str) -> set[float]:
    """Return the numbers of a text, in digits or in words; "one" and "a half" are none to count on.

    Example:
        >>> sorted(_numbers("by thirty percent, or 5.5 km/h (see Rule 126)"))
        [5.5, 30.0]
    """
    words = re.findall(r"\d+(?:\.\d+)?|[a-z]+", re.sub(r"[(\[][^()\[\]]*[)\]]", "", text.lower()))
    read = (read_number(words, place) for place, word in enumerate(words) if word != "one")
    return {one.value for one in read if one is not None and not one.fraction}


def write_draft(duties: Iterable[Duty], path: str | PathLike[str]) -> tuple[int, int]:
    """Write proposals into a file of rules, each as a comment; what the file has stays as it is.

    Returns:
        How many proposals were added, and how many were there before, decided or not.
    """
    path = Path(path)
    text = read_text(path) if path.exists() else ""
    # By its words, because the lines of a text that goes on growing move.
    known = set(re.findall(r"^# (\S.*):\d+: (.*)$", text, re.MULTILINE))
    marks = f"{re.escape(OPEN)}|{re.escape(REJECTED)}"
    ids = set(re.findall(rf"^(?:{marks})?([A-Za-z][\w.-]*):\s", text, re.MULTILINE))
    if not text:
        text = (
            f'# Rules drafted from a text. Delete "{OPEN}" to accept one, and change its words as you like.\n'
            f'# Write "{REJECTED}" instead to reject it. Drafting again adds what is new, no more.\n'
        )
    added = before = 0
    for duty in duties:
        if not duty.rule:
            continue
        if (duty.source, duty.sentence) in known:
            before += 1
            continue
        known.add((duty.source, duty.sentence))
        added += 1
        id = _id(duty, ids)
        ids.add(id)
        told = [f"{duty.place}: {duty.sentence}", *(f"  reads: {one}" for one in duty.reading.splitlines())]
        told += [f"  note: {one}" for one in duty.remarks]
        text += "\n" + "".join(f"# {one}\n" for one in told) + f"{OPEN}{id}: {duty.rule}\n"
    if added or not path.exists():
        write_text(path, text)
    return added, before


def _id(duty: Duty, taken: set[str]) -> str:
    stem = re.sub(r"[^\w-]+", "-", Path(duty.source).stem, flags=re.ASCII).strip("-")
    stem = stem if stem[:1].isalpha() else f"text-{stem}".rstrip("-")
    first = f"{stem}-{duty.line}"
    names = chain([first], (f"{first}.{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def read_handbook(path: str | PathLike[str]) -> str:
    """Return a text to draft from.

    Raises:
        InputError: It cannot be read, or has no words.
    """
    text = read_text(Path(path))
    if not re.search(r"[A-Za-z]", text):
        raise InputError(f"{path}: expected a text with sentences like 'Slow down when it rains.', got none")
    return text
