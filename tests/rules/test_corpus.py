"""The development corpus: sound in itself, and read by the parser as people wrote it down."""

from itertools import zip_longest
from pathlib import Path

import pytest
from tests.rules.corpus_judge import (
    LEAST_EXACT,
    MAPPINGS,
    NEVER,
    READINGS,
    Entry,
    GoldChange,
    Readings,
    Report,
    Verdict,
    judge_all,
    read_corpus,
)

from roadworthy.ontology import ontology
from roadworthy.rules.files import read_rules

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rules"


@pytest.fixture(scope="module")
def corpus() -> tuple[Entry, ...]:
    return read_corpus()


# Much of what 7 and 8 say no picture shows, as their README tells.
HARDER = {f"blind-{number}": 0.9 for number in (7, 8)} | {"blind-53": 1.0, "blind-54": 0.99, "blind-56": 1.0}
BLIND = sorted(Path(__file__).with_name("corpus").glob("blind-*.yaml"))


@pytest.fixture(scope="module")
def readings() -> Readings:
    return Readings.of_all()


@pytest.fixture(scope="module")
def report(corpus: tuple[Entry, ...], readings: Readings) -> Report:
    return judge_all(corpus, readings)


def told(report: Report, *verdicts: Verdict) -> str:
    return "\n".join(map(str, report.of(*verdicts)))


def test_the_corpus_is_large_enough(corpus: tuple[Entry, ...]) -> None:
    assert sum(bool(entry.readings) for entry in corpus) >= 240
    assert sum(not entry.readings for entry in corpus) >= 60


def test_the_corpus_speaks_the_words_of_the_ontology(corpus: tuple[Entry, ...]) -> None:
    elements = ontology().elements

    def unknown(change: GoldChange) -> list[str]:
        named = ("target", "reference", "replacement")
        wrong = [str(name) for key in named for name in change.allowed[key] if name not in {None, *elements}]
        # A replacement has properties of its own; without one they are the target's.
        owners = (("replacement", "target"), ("target",), ("reference",))
        for key, owner in zip(MAPPINGS, owners, strict=True):
            (properties,) = change.allowed[key]
            owning = [name for one in owner for name in change.allowed[one] if name is not None]
            for name, value in properties.items():
                # Left and right of a thing or the road: Table 3 has sides for lanes only.
                if (key, name) == ("reference_properties", "position") and value in ("left", "right"):
                    continue
                if value not in elements[owning[0]].properties.get(name, ()):
                    wrong.append(f"{owning[0]} {name} {value}")
        return wrong

    assert [
        (entry.where, wrong)
        for entry in corpus
        for reading in entry.readings
        for block in reading.blocks
        for change in block.changes
        for wrong in unknown(change)
    ] == []


@pytest.mark.parametrize("name", ["paper.rules", "handbooks.rules"])
def test_every_rule_that_ships_has_a_gold_reading(name: str, corpus: tuple[Entry, ...]) -> None:
    readings = {entry.text for entry in corpus if entry.readings and not entry.refusals}
    assert [rule.text for rule in read_rules(EXAMPLES / name) if rule.text not in readings] == []


def test_nothing_is_read_as_something_else(report: Report) -> None:
    assert not report.of(*NEVER), told(report, *NEVER)


def test_nearly_everything_is_exact(report: Report) -> None:
    wrong = [verdict for verdict in Verdict if verdict is not Verdict.EXACT]
    assert report.accuracy >= LEAST_EXACT, f"{report}\n{told(report, *wrong)}"


def test_refusals_underline_the_words_at_fault(report: Report) -> None:
    refused = [one for one in report.judged if not one.entry.readings]
    underlined = sum(one.verdict is Verdict.EXACT for one in refused)
    assert underlined >= LEAST_EXACT * len(refused), told(report, Verdict.WRONG_UNDERLINE)


@pytest.mark.parametrize("path", BLIND, ids=lambda path: path.stem)
def test_rules_by_people_who_never_saw_the_parser(path: Path, readings: Readings) -> None:
    report = judge_all(read_corpus(path), readings)
    assert not report.of(*NEVER), told(report, *NEVER)
    understood = [one for one in report.judged if one.entry.readings]
    exact = sum(one.verdict is Verdict.EXACT for one in understood)
    least = HARDER.get(path.stem, 0.96)
    assert exact >= least * len(understood), told(report, Verdict.WRONG_REFUSAL)


def test_every_rule_is_read_as_before_to_the_last_word(readings: Readings) -> None:
    """What is told of each rule: changes, words, formula, what was found where, or why it is refused.

    This is what holds all that reads: parser, reader, phrases, nouns, events, changes, conditions, weather,
    quantities, outcomes, outcome_words, outcome_phrases, lexicon and elements.
    """
    kept = READINGS.read_text("utf-8").splitlines()
    differences = [
        f"line {number}: {now}\n    was {then}"
        for number, (now, then) in enumerate(zip_longest(readings.lines(), kept), 1)
        if now != then
    ]
    assert not differences, "\n".join([*differences[:20], "python -m tests.rules.corpus_judge --write"])
