"""The page on BBSL: its specifications and bindings work as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roadworthy.bbsl import load_bindings, parse
from roadworthy.bbsl.bindings import SOURCES
from roadworthy.bbsl.parsing import grammar

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bbsl.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("text", blocks("bbsl"))
def test_specifications_are_right(text: str) -> None:
    spec = parse(text)
    spec.check_types()
    assert parse(spec.format(ascii=True)) == spec


def test_the_first_one_is_in_canonical_form() -> None:
    text = blocks("bbsl")[0]
    assert parse(text).format() == text


def test_the_yaml_can_be_read_and_every_source_is_described(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    (tmp_path / "bind.yaml").write_text(text, "utf-8")
    (tmp_path / "crosswalks.csv").write_text("frame,x1,y1,x2,y2\na,1,2,3,4\n")
    assert load_bindings(tmp_path / "bind.yaml").sources
    assert all(f"| `{name}" in PAGE for name in SOURCES)


def constructs() -> set[str]:
    """What the grammar builds trees of: all its rules but those that leave no node of their own."""
    named = set()
    for rule in grammar().rules:
        inlined = rule.origin.name.startswith("_") or (rule.options.expand1 and len(rule.expansion) == 1)
        if rule.alias or not inlined:
            named.add(rule.alias or rule.origin.name)
    return {name.partition("{")[0] for name in named}


def test_every_construct_of_the_grammar_is_shown() -> None:
    shown: set[str] = set()
    tokens: set[str] = set()
    for text in blocks("bbsl"):
        shown |= {str(node.data).partition("{")[0] for node in grammar().parse(text).iter_subtrees()}
        tokens |= {token.type for token in grammar().parse_interactive(text).exhaust_lexer()}
    assert len(constructs()) > 20
    assert constructs() - shown == set()
    ignored = {"COMMENT", "__IGNORE_1"}
    assert {one.name for one in grammar().terminals} - tokens - ignored == set()


def test_every_spelling_is_shown() -> None:
    """The words and symbols of each terminal that is a choice of spellings."""
    code = "\n".join([*re.findall(r"`([^`\n]+)`", PAGE), *blocks("bbsl")])
    for terminal in grammar().terminals:
        pattern = str(terminal.pattern.value)
        if terminal.name in ("NAME", "NUMBER", "LABEL", "COMMENT", "__IGNORE_1"):
            continue
        words = set(re.findall(r"[A-Za-z]{2,}", re.sub(r"\\[a-z]|\[[^]]*\]", " ", pattern)))
        symbols = {one for one in pattern if ord(one) > 127}
        assert {one for one in words if not re.search(rf"(?<![A-Za-z]){one}", code)} == set(), terminal.name
        assert {one for one in symbols if one not in code} == set(), terminal.name
    assert "//" in code
    assert "(*" in code
