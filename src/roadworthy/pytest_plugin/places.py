"""Where the words of a rule stand in its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from roadworthy._files import read_text
from roadworthy.errors import RuleError, excerpt
from roadworthy.rules.files import WrittenRule


def rule_error_in_file(path: Path, rule: WrittenRule, error: RuleError) -> str:
    """Return what is wrong with a rule, with file, line and column and the words underlined.

    A rule may be written over several lines, of which the reader of rules makes one.
    """
    nearest = f"; known: {', '.join(error.suggestions)}" if error.suggestions else ""
    message = f"{error.reason}{nearest}"
    lines = read_text(path).splitlines()
    start, stop = error.span
    first = error.text[:start].count(" ")
    offset = start - (error.text.rfind(" ", 0, start) + 1)
    for number, (line, column) in enumerate(_words(lines, rule)):
        if number == first:
            text = lines[line - 1]
            width = min(stop - start, len(text.rstrip()) - (column + offset))
            return excerpt(str(path), message, text, line, column + offset + 1, width)
    return f"{path}:{rule.line}: {error}"


def _words(lines: list[str], rule: WrittenRule) -> Iterator[tuple[int, int]]:
    """Yield the line and column of every word of a rule, as far as they stand where they should."""
    wanted = rule.text.split()
    found = 0
    for number in range(rule.line, len(lines) + 1):
        text = lines[number - 1]
        if text.strip().startswith("#"):
            continue
        begin = 0
        if number == rule.line and text.strip().startswith(f"{rule.id}:"):
            begin = text.index(f"{rule.id}:") + len(rule.id) + 1
        for word in re.finditer(r"\S+", text[begin:]):
            if found >= len(wanted) or word[0] != wanted[found]:
                return
            yield number, begin + word.start()
            found += 1
