"""Rules from text files, "id: sentence"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from roadworthy._files import read_text
from roadworthy.errors import InputError

OPEN, REJECTED = "#? ", "#- "
"""What stands before a drafted rule that nobody has decided on, and before one that is not wanted."""
_ID = re.compile(r"(?P<id>[A-Za-z][\w.-]*(?: \d[\w.-]*)?):(?=\s|$)")
# Words with a colon that belong to a rule: "If: a pedestrian appears, Then: …".
_OF_THE_SENTENCE = {"if", "then", "when", "whenever"}


class WrittenRule(NamedTuple):
    """One rule of a file.

    Attributes:
        id: What the file calls it; "line-7" where it has no name and starts on line 7.
        text: The sentence, on one line.
        line: Where it starts, counted from 1.
    """

    id: str
    text: str
    line: int


def read_rules(path: str | PathLike[str]) -> tuple[WrittenRule, ...]:
    r"""Return the rules of a file, in its order. They are not parsed.

    A rule starts with an id and a colon, "R1: If …", "Rule 1: If …", and goes on to the next id or empty
    line. Without an id it ends where a line ends a sentence, unless the next is indented or starts with
    "then". Lines that start with # are comments.

    Raises:
        InputError: The file cannot be read, holds no rule, uses an id twice, or has an id without a sentence.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "mine.rules")
        ...     _ = file.write_text("# Pedestrians\nR1: If a pedestrian appears,\n    slow down.")
        ...     read_rules(file)
        (WrittenRule(id='R1', text='If a pedestrian appears, slow down.', line=2),)
    """
    path = Path(path)
    rules = tuple(_rules(path))
    if not rules and f"\n{OPEN}" in read_text(path):
        raise InputError(
            f'{path}: none of its drafted rules is accepted: delete the "{OPEN}" before those you want'
        )
    if not rules:
        raise InputError(f"{path}: expected rules such as 'R1: If it rains, slow down.', got none")
    lines: dict[str, int] = {}
    for rule in rules:
        if rule.id in lines:
            raise InputError(
                f"{path}:{rule.line}: the id {rule.id!r} is used twice, first on line {lines[rule.id]}: "
                "give one of the rules another"
            )
        lines[rule.id] = rule.line
    return rules


def _rules(path: Path) -> Iterator[WrittenRule]:
    name, start, words = "", 0, list[str]()
    # The empty line at the end closes the last rule.
    for number, written in enumerate([*read_text(path).splitlines(), ""], start=1):
        line = written.strip()
        if line.startswith("#"):
            continue
        head = _head(line)
        ended = bool(words) and words[-1].endswith((".", "!", "?")) and not line.lower().startswith("then")
        another = not name and ended and not written[:1].isspace()
        if start and (head or not line or another):
            if not words:
                raise InputError(f"{path}:{start}: expected a rule after '{name}:', got none")
            yield WrittenRule(name or f"line-{start}", " ".join(words), start)
            name, start, words = "", 0, []
        if line and not start:
            name, start = head, number
        words.extend(line.removeprefix(f"{head}:" if head else "").split())


def _head(line: str) -> str:
    """Return the id that a line starts with, or nothing."""
    found = _ID.match(line)
    return found["id"] if found and found["id"].lower() not in _OF_THE_SENTENCE else ""
