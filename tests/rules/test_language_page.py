"""The page on the language of rules shows every construct, and what it says is how rules are read."""

from __future__ import annotations

from typing import get_args

import pytest

import make_languages as made
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules import gauges, parse
from roadworthy.rules.expectation import ExpectedChange, Measure, Measured, Modifier
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.language import lexicon
from roadworthy.rules.language import outcome_phrases as outcome_parts
from roadworthy.rules.language.outcome_words import LEXICON, REASONS
from roadworthy.rules.reading import Comparative, Op, Position, Rule


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return [parse(one) for one in made.examples()]


def test_the_page_is_what_the_code_says() -> None:
    _, _, written = made.RULES.read_text("utf-8").partition(made.START)
    assert written.strip() == made.rules_reference().strip(), "run make docs"


def test_every_change_is_shown(rules: list[Rule]) -> None:
    changes = [change for rule in rules for block in rule.blocks for change in block.changes]
    assert {one.op for one in changes} == set(get_args(Op))
    assert {one.position for one in changes} >= set(get_args(Position))
    assert {one.comparative for one in changes} >= set(get_args(Comparative))
    for properties in ("properties", "target_properties", "reference_properties"):
        assert any(getattr(one, properties) for one in changes), properties
    assert any(len(block.changes) > 1 for rule in rules for block in rule.blocks)
    assert any(len(rule.blocks) > 1 for rule in rules)
    environment = {one.replacement for one in changes if one.target in CONDITIONS}
    assert environment == {name for kind in CONDITIONS for name in ontology().children(kind)}


def test_every_relation_is_shown(rules: list[Rule]) -> None:
    expectations = [block.expectation for rule in rules for block in rule.blocks]
    assert {gauge_of(one.output).kind for one in expectations} == {"signal", *gauges._FORMS}
    assert {one.output for one in expectations} >= set(gauges._SIGNALS)
    assert {one.change for one in expectations} >= set(get_args(ExpectedChange))
    assert {one.modifier for one in expectations} >= set(get_args(Modifier))
    assert {one.measure for one in expectations} == set(get_args(Measure))
    assert {one.negated for one in expectations} == {True, False}
    assert {one.quantity.relative for one in expectations if one.quantity} == {True, False}
    assert {one.relation.measured for one in expectations} == set(get_args(Measured))


def test_every_kind_of_word_of_an_outcome_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[str, str]] = set()
    scanned = outcome_parts._Scanner.items

    def watched(self: outcome_parts._Scanner) -> list[outcome_parts.OutcomeItem]:
        items = scanned(self)
        seen.update((item.kind, item.value) for item in items)
        return items

    monkeypatch.setattr(outcome_parts._Scanner, "items", watched)
    for sentence in made.examples():
        parse(sentence)
    for sentence in made.REFUSED:
        made.refusal(sentence)
    assert {(one.kind, one.value) for one in LEXICON} - seen == set()
    assert set(REASONS) <= {kind for kind, _ in seen}


def test_every_list_of_words_is_on_the_page() -> None:
    # Words that stand for something said before, or only lead to a noun, are no vocabulary of their own.
    helpers = {"FILE", "POSES", "SUCH_AS", "ENDINGS", "SETS", "REFUSED"}
    verbs = ("add", "see", "presence", "remove", "vanish", "replace", "change", "heavier", "lighter")
    listed = [set(words) for words in made.WORDS.values()]
    for name in {one for one in vars(lexicon) if one.isupper() and not one.startswith("_")} - helpers:
        words = {
            " ".join(one[0]) if name in ("PREPOSITIONS", "ADVERB_PLACES") else one
            for one in getattr(lexicon, name)
        }
        words = {" ".join(one) if isinstance(one, tuple) else one for one in words}
        together = set().union(*(one for one in listed if one & words))
        assert words <= together, name
    for name in (*verbs, "absent", "plain adjectives", "fillers"):
        assert lexicon.SETS[name] in listed, name
    page = made.RULES.read_text("utf-8")
    assert [pose for poses in lexicon.POSES.values() for pose in poses if pose not in page] == []
    assert [name for name in ontology().elements if f"| {name} |" not in page] == []
