"""The judge of the corpus, on readings made by hand."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests.rules.corpus_judge import Entry, Report, Verdict, judge, judge_all, read_corpus

from roadworthy.errors import InputError, NotApplicable, RuleError
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.reading import Block, Rule, SceneChange

TEXT = "If a van and a tree appear in the lane, slow down by half."

CORPUS = f"""
relations:
  slower: {{output: speed, holds: [[10, 9, true], [10, 10, false], [10, 11, false]]}}
rules:
  - rule: "{TEXT}"
    blocks:
      - changes:
          - {{op: add, target: vehicle, properties: {{type: van}}, position: ["on", in], reference: lane}}
          - {{op: add, target: tree, position: in, reference: lane}}
        output: speed
        holds: [[10, 5, true], [10, 5.1, false], [10, 10, false]]
  - rule: "If a unicorn appears, slow down."
    refused: {{about: unicorn}}
  - rule: "Slow down for two trees."
    either:
      - blocks: [{{changes: [{{op: add, target: tree}}, {{op: add, target: tree}}], expect: slower}}]
      - refused: {{about: two}}
  - rule: "If a pedstrian appears, slow down."
    refused: {{about: pedstrian, suggests: pedestrian}}
  - rule: "  "
    refused: {{about: ""}}
"""

VAN = SceneChange("add", "vehicle", {"type": "van"}, "in", "lane")
TREE = SceneChange("add", "tree", {}, "in", "lane")


@dataclass(frozen=True)
class Relation:
    """What the judge looks at in an expectation."""

    output: str
    holds: Callable[[float, float], bool]


def block(
    *changes: SceneChange,
    output: str = "speed",
    holds: Callable[[float, float], bool] = lambda before, after: after <= before / 2,
) -> Block:
    return Block(changes, cast(Expectation, Relation(output, holds)))


def rule(*blocks: Block) -> Rule:
    return Rule("", blocks)


def read(folder: Path, text: str = CORPUS) -> tuple[Entry, ...]:
    file = folder / "corpus.yaml"
    file.write_text(text, "utf-8")
    return read_corpus(file)


@pytest.fixture
def entries(tmp_path: Path) -> tuple[Entry, ...]:
    return read(tmp_path)


def verdict(entry: Entry, outcome: Rule | Exception, reason: str = "") -> Verdict:
    judged = judge(entry, outcome)
    assert re.search(reason, " | ".join(judged.reasons))
    return judged.verdict


def refusal(text: str, words: str, suggestions: tuple[str, ...] = ()) -> RuleError:
    start = text.index(words)
    return RuleError("no", text=text, span=(start, start + len(words)), suggestions=suggestions)


@pytest.mark.parametrize(
    "right",
    [
        rule(block(VAN, TREE)),
        rule(block(TREE, VAN)),
        rule(block(SceneChange("add", "vehicle", {"type": "van"}, "on", "lane"), TREE)),
    ],
    ids=["as-written", "other-order", "other-value"],
)
def test_what_is_right_is_exact(right: Rule, entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[0], right) is Verdict.EXACT


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (rule(block(VAN)), "1 changes, not 2"),
        (rule(block(VAN, TREE, TREE)), "3 changes, not 2"),
        (rule(block(VAN, VAN)), "target is 'vehicle', not 'tree'"),
        (rule(block(VAN, TREE), block(VAN, TREE)), "2 blocks, not 1"),
        (rule(), "0 blocks, not 1"),
        (
            rule(block(SceneChange("remove", "vehicle", {"type": "van"}, "in", "lane"), TREE)),
            "op is 'remove', not 'add'",
        ),
        (
            rule(block(SceneChange("add", "vehicle", {}, "in", "lane"), TREE)),
            r"properties is \{\}, not \{'type': 'van'\}",
        ),
        (
            rule(block(SceneChange("add", "vehicle", {"type": "van"}, "above", "lane"), TREE)),
            "not 'on' or 'in'",
        ),
        (rule(block(VAN, SceneChange("add", "tree", {}, "in"))), "reference is None, not 'lane'"),
        (
            rule(block(VAN, SceneChange("add", "tree", {}, "in", "lane", None, "closer"))),
            "comparative is 'closer'",
        ),
        (
            rule(
                block(
                    VAN,
                    SceneChange("add", "tree", {}, "in", "lane", reference_properties={"position": "left"}),
                )
            ),
            "reference_properties is {'position': 'left'}",
        ),
        (rule(block(VAN, TREE, output="steering")), "about the steering, not the speed"),
        (rule(block(VAN, TREE, holds=lambda before, after: after < before)), r"10\.0 → 5\.1 should be False"),
        (
            rule(block(VAN, TREE, holds=lambda before, after: after < before / 2)),
            r"10\.0 → 5\.0 should be True",
        ),
    ],
)
def test_what_is_read_wrong_is_a_silent_error(wrong: Rule, reason: str, entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[0], wrong, reason) is Verdict.SILENT_ERROR


def test_a_relation_that_cannot_be_asked_is_a_silent_error(entries: tuple[Entry, ...]) -> None:
    def holds(before: float, after: float) -> bool:
        raise NotApplicable("zero")

    wrong = rule(block(VAN, TREE, holds=holds))
    assert verdict(entries[0], wrong, "should be True, got NotApplicable: zero") is Verdict.SILENT_ERROR


def test_refusing_what_has_a_meaning_is_a_wrong_refusal(entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[0], refusal(TEXT, "van")) is Verdict.WRONG_REFUSAL


def test_reading_what_has_no_meaning_is_a_wrong_acceptance(entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[1], rule(block(TREE))) is Verdict.WRONG_ACCEPTANCE


def test_any_other_error_is_a_crash(entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[0], ValueError("oops"), "ValueError: oops") is Verdict.CRASH
    assert verdict(entries[1], InputError("oops")) is Verdict.CRASH


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("unicorn", Verdict.EXACT),
        ("a unicorn appears", Verdict.EXACT),
        ("corn", Verdict.EXACT),
        ("appears", Verdict.WRONG_UNDERLINE),
        ("If a ", Verdict.WRONG_UNDERLINE),
        ("If a unicorn appears, slow down.", Verdict.WRONG_UNDERLINE),
    ],
)
def test_a_refusal_must_underline_the_words(
    words: str, expected: Verdict, entries: tuple[Entry, ...]
) -> None:
    assert verdict(entries[1], refusal(entries[1].text, words)) is expected


def test_a_span_outside_the_rule_is_wrong(entries: tuple[Entry, ...]) -> None:
    for span in ((-3, 4), (5, 99), (7, 5)):
        error = RuleError("no", text=entries[1].text, span=span)
        assert verdict(entries[1], error, "lies outside") is Verdict.WRONG_UNDERLINE


def test_a_refusal_of_nothing_underlines_nothing(entries: tuple[Entry, ...]) -> None:
    assert verdict(entries[4], RuleError("no", text="  ", span=(0, 0))) is Verdict.EXACT
    assert verdict(entries[4], RuleError("no", text="  ", span=(0, 2))) is Verdict.EXACT


def test_a_suggestion_can_be_asked_for(entries: tuple[Entry, ...]) -> None:
    text = entries[3].text
    assert verdict(entries[3], refusal(text, "pedstrian", ("a Pedestrian",))) is Verdict.EXACT
    assert verdict(entries[3], refusal(text, "pedstrian", ("tree",)), "suggests") is Verdict.WRONG_UNDERLINE


def test_alternatives_are_all_right(entries: tuple[Entry, ...]) -> None:
    tree = SceneChange("add", "tree")
    slower = rule(block(tree, tree, holds=lambda before, after: after < before))
    one = rule(block(tree, holds=lambda before, after: after < before))
    assert verdict(entries[2], slower) is Verdict.EXACT
    assert verdict(entries[2], refusal(entries[2].text, "two trees")) is Verdict.EXACT
    assert verdict(entries[2], one) is Verdict.SILENT_ERROR
    assert verdict(entries[2], refusal(entries[2].text, "Slow down")) is Verdict.WRONG_UNDERLINE


def test_the_report_counts_each_verdict_apart(entries: tuple[Entry, ...]) -> None:
    outcomes: dict[str, Rule | Exception] = {
        entries[0].text: rule(block(VAN)),
        entries[1].text: refusal(entries[1].text, "unicorn"),
        entries[2].text: refusal(entries[2].text, "two"),
        entries[3].text: rule(block(TREE)),
        entries[4].text: IndexError(),
    }

    def parse(text: str) -> Rule:
        outcome = outcomes[text]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    report = judge_all(entries, parse)
    assert report.counts == {
        Verdict.EXACT: 2, Verdict.SILENT_ERROR: 1, Verdict.WRONG_ACCEPTANCE: 1, Verdict.CRASH: 1
    }  # fmt: skip
    assert report.accuracy == 0.4
    assert not report.passed
    assert [one.entry for one in report.of(Verdict.SILENT_ERROR)] == [entries[0]]
    assert f"corpus.yaml:5: {TEXT!r}" in str(report.of(Verdict.SILENT_ERROR)[0])
    assert "2 rules with a meaning, 1 exact (50.0%)" in str(report)
    assert "3 rules to refuse, 1 exact (33.3%)" in str(report)


@pytest.mark.parametrize(
    ("exact", "other", "passed"),
    [
        (97, Verdict.WRONG_REFUSAL, True),
        (96, Verdict.WRONG_REFUSAL, False),
        (97, Verdict.WRONG_UNDERLINE, True),
        (99, Verdict.SILENT_ERROR, False),
        (99, Verdict.WRONG_ACCEPTANCE, False),
        (99, Verdict.CRASH, False),
    ],
)
def test_the_bars(exact: int, other: Verdict, passed: bool, entries: tuple[Entry, ...]) -> None:
    good = judge(entries[1], refusal(entries[1].text, "unicorn"))
    bad = type(good)(entries[1], other)
    assert Report((good,) * exact + (bad,) * (100 - exact)).passed is passed


SLOWER = "output: speed, holds: [[10, 9, true], [10, 10, false], [10, 11, false]]"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("{blocks: []}", r"corpus\.yaml:2: expected the keys \['rule'\]"),
        ("{rule: x}", "expected one of blocks, refused and either, got 0"),
        ("{rule: x, refused: {about: x}, blocks: []}", "got 2"),
        ("{rule: x, refused: {about: y}}", "'y' is not in the rule"),
        ("{rule: x, refused: {abuot: x}}", "expected the keys .'about'."),
        ("{rule: x, blocks: [{changes: [], expect: slower}]}", "expected one of the relations"),
        ("{rule: x, blocks: [{changes: [], output: speed, holds: [[1, 2, true]]}]}", "at least three pairs"),
        (
            "{rule: x, blocks: [{changes: [], output: speed, holds: [[1, 2, on], [1, 3, on], [1, 4, on]]}]}",
            "some that hold and some that do not",
        ),
        ("{rule: x, blocks: [{changes: [], output: fuel, holds: [[1, 2, true]]}]}", "speed or steering"),
        (
            f"{{rule: x, blocks: [{{changes: [{{op: add, target: tree, positoin: in}}], {SLOWER}}}]}}",
            "positoin",
        ),
        (
            f"{{rule: x, blocks: [{{changes: [{{op: add, target: tree, position: on}}], {SLOWER}}}]}}",
            "got True",
        ),
        (
            f"{{rule: x, blocks: [{{changes: [{{op: replace, target: tree}}], {SLOWER}}}]}}",
            "replacement is needed",
        ),
        (f"{{rule: x, blocks: [{{changes: [{{op: chop, target: tree}}], {SLOWER}}}]}}", "got 'chop'"),
    ],
)
def test_mistakes_in_a_corpus_are_found(entry: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, f"rules:\n  - {entry}\n")


def test_a_rule_may_stand_in_a_corpus_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="written twice"):
        read(tmp_path, "rules:\n" + "  - {rule: x, refused: {about: x}}\n" * 2)
