"""The operations that an engine does, as people write them on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

import typer

from roadworthy.errors import InputError

Supports = Annotated[
    list[str] | None,
    typer.Option(
        "--supports",
        metavar="WORDS",
        help='What the engine does: "remove line", "replace building by tree", "replace time by night", '
        '"replace season by winter"; repeatable.',
    ),
]

_FORM = re.compile(r"\s*(add|remove|replace)\s+(.+?)(?:\s+by\s+(.+?))?\s*", re.IGNORECASE)


def parse_supports(given: Iterable[str]) -> tuple[dict[str, str], ...]:
    """Return operations as a card has them.

    Raises:
        InputError: One is written in another way, or means nothing.

    Example:
        >>> parse_supports(["replace building by tree"])
        ({'operation': 'replace', 'element': 'building', 'by': 'tree'},)
    """
    from roadworthy.transforms.engines.files import SupportForm

    found = []
    for text in given:
        words = _FORM.fullmatch(text)
        if words is None or (words[1].lower() == "replace") != (words[3] is not None):
            raise InputError(
                "--supports: what an engine does is written 'remove THING', 'add THING' or "
                f"'replace THING by THING', got {text!r}"
            )
        one = {"operation": words[1].lower(), "element": words[2]}
        if words[3] is not None:
            one["by"] = words[3]
        SupportForm.model_validate(one).support(lambda *_, text=text: f"--supports {text!r}")
        found.append(one)
    return tuple(found)
