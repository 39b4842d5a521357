"""The description of the syntax for editors knows every word and sign of the grammar."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import roadworthy.bbsl
from roadworthy.bbsl.parsing import grammar

PATH = Path(roadworthy.bbsl.__file__).parent / "editors" / "bbsl.tmLanguage.json"
DESCRIPTION = json.loads(PATH.read_text("utf-8"))
# The names and numbers of users, and labels, which are no words of the language.
FREE = {"NAME", "NUMBER", "LABEL", "COMMENT", "PROJECTION", "BOUNDS"}
PLAIN = set('()[]{}:,."')


def _coloured(text: str) -> str | None:
    """Return the first pattern that colours the whole of a text, as editors try them."""
    for entry in DESCRIPTION["patterns"]:
        name = entry["include"].removeprefix("#")
        rules = DESCRIPTION["repository"][name]
        for rule in rules.get("patterns", [rules]):
            pattern = rule.get("match", "").replace(r"\p{L}\p{N}_", r"\w").replace(r"\p{L}_", r"A-Za-z_")
            if pattern and (found := re.match(pattern, text)) and found[0] == text:
                return str(name)
    return None


def _spellings() -> set[str]:
    """Return every spelling of every word and sign in the grammar."""
    found: set[str] = set()
    for terminal in grammar().terminals:
        if terminal.name in FREE or terminal.name.startswith("__IGNORE"):
            continue
        text = terminal.pattern.value
        if terminal.pattern.type == "str":
            found.add(text)
            continue
        text = re.sub(r"\(\?=.*\)$", "(", text.replace(r"\b", ""))
        for signs in re.findall(r"\[([^\]]*)\]", text):
            found.update(signs)
        found.update(re.findall(r"[^\W\d]+|<=|>=|[^\w\s()|\[\]\\?]", re.sub(r"\[[^\]]*\]", "", text)))
    return found - PLAIN


def test_the_grammar_has_the_words_that_the_paper_uses() -> None:
    assert {"exfunction", "endcase", "let", "in", "and", "setBB", "≈", "∈", "∩", "RAT"} <= _spellings()


@pytest.mark.parametrize("spelling", sorted(_spellings()))
def test_every_word_and_sign_is_coloured(spelling: str) -> None:
    assert _coloured(spelling) or _coloured_before_bracket(spelling), f"{spelling!r} is not in {PATH.name}"


def _coloured_before_bracket(text: str) -> bool:
    pattern = DESCRIPTION["repository"]["builtins"]["match"]
    return re.match(pattern, f"{text}(") is not None


def test_no_word_is_coloured_that_the_grammar_lacks() -> None:
    words = {
        word
        for name in ("blocks", "types", "time", "quantifiers", "logic", "relations", "constants")
        for word in re.findall(r"[A-Za-z]{2,}", DESCRIPTION["repository"][name]["match"].replace(r"\b", ""))
    }
    assert words - {"inf"} <= _spellings()


@pytest.mark.parametrize("text", ["PROJ_x", "PROJ_y.lower", "PROJ_yU", "PROJ_y\u0332", "PROJ_{x}"])
def test_projections_are_coloured(text: str) -> None:
    assert _coloured(text) == "projections"
