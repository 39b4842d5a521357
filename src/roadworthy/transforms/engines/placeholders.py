"""Words in braces, which stand for what an engine is asked: in commands, prompts and fields of requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from roadworthy.errors import InputError, suggest

__all__ = ["WORDS", "check_words", "filled", "placeholders"]

WORDS: Mapping[str, str] = {
    "operation": "add, remove or replace",
    "element": "what is added, removed or replaced, in the words of the rule without article",
    "by": "what comes in its place",
    "relation": "how it stands to the reference",
    "reference": "where it is added",
    "side": "on which side",
    "distance": "metres from the camera, 0 where it is open",
    "seed": "a number from 0 to 2147483647; the same seed must give the same image",
    "width": "of the image in pixels",
    "height": "of the image in pixels",
}
"""What every engine may be told."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def placeholders(word: str) -> list[str]:
    """Return the names in braces in a word.

    Example:
        >>> placeholders("--size={width}x{height}"), placeholders("{{literally}}")
        (['width', 'height'], [])
    """
    return [found[1] for found in _BRACES.finditer(word) if found[1] is not None]


def check_words(words: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse names in braces that stand for nothing.

    Raises:
        InputError: There is one; suggests others.
    """
    known = tuple(known)
    for word in words:
        for name in placeholders(word):
            if name not in known:
                raise InputError(
                    f"{where}: {{{name}}} stands for nothing: {suggest(name, known)}; "
                    "write {{ and }} for braces"
                )


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with the values of its names in braces; what is in a value is not looked at again.

    Example:
        >>> filled("a {by} instead of {{braces}}", {"by": "{seed}"})
        'a {seed} instead of {braces}'
    """

    def value(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else values[found[1]]

    return _BRACES.sub(value, word)
