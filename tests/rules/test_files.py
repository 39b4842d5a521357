from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.rules.files import WrittenRule, read_rules

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rules"

RAIN = "If it rains, slow down."
NIGHT = "Drive more slowly at night."


def read(folder: Path, text: str | bytes) -> tuple[WrittenRule, ...]:
    file = folder / "mine.rules"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_rules(file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"R1: {RAIN}", [("R1", RAIN, 1)]),
        (f"R1: {RAIN}\n\nR2: {NIGHT}\n", [("R1", RAIN, 1), ("R2", NIGHT, 3)]),
        (f"R1: {RAIN}\nR2: {NIGHT}\n", [("R1", RAIN, 1), ("R2", NIGHT, 2)]),
        (f"# rain\n\n\n  R1:  {RAIN}", [("R1", RAIN, 4)]),
        (f"Rule 1: {RAIN}\nwet-night.2: {NIGHT}", [("Rule 1", RAIN, 1), ("wet-night.2", NIGHT, 2)]),
        ("R1: If it rains,\n# or hails\n    slow\tdown.", [("R1", RAIN, 1)]),
        (f"R1:\n    {RAIN}", [("R1", RAIN, 1)]),
        (f"{RAIN}\n\n{NIGHT}", [("line-1", RAIN, 1), ("line-3", NIGHT, 3)]),
        (f"R1: {RAIN}\r\n\r\nR2: {NIGHT}\r\n", [("R1", RAIN, 1), ("R2", NIGHT, 3)]),
        (f"R1: {RAIN}".encode("utf-8-sig"), [("R1", RAIN, 1)]),
    ],
)
def test_rules_are_read(text: str | bytes, expected: list[tuple[str, str, int]], tmp_path: Path) -> None:
    assert [tuple(rule) for rule in read(tmp_path, text)] == expected


def test_the_words_if_and_then_are_no_ids(tmp_path: Path) -> None:
    text = "If: it rains,\nThen: slow down.\nWHEN: it snows,\nthen: stop.\n\nR2: If: it rains\nThen: stop."
    assert [tuple(rule) for rule in read(tmp_path, text)] == [
        ("line-1", "If: it rains, Then: slow down.", 1),
        ("line-3", "WHEN: it snows, then: stop.", 3),
        ("R2", "If: it rains Then: stop.", 6),
    ]


def test_without_ids_a_line_is_a_rule_unless_it_goes_on(tmp_path: Path) -> None:
    text = f"{RAIN}\n{NIGHT}\n    If it gets foggy, slow down more.\n"
    assert [rule.text for rule in read(tmp_path, text)] == [
        RAIN,
        f"{NIGHT} If it gets foggy, slow down more.",
    ]
    goes_on = "If it rains.\nThen slow down.\n"
    assert [rule.text for rule in read(tmp_path, f"{goes_on}{NIGHT}\n")] == [
        "If it rains. Then slow down.",
        NIGHT,
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"mine\.rules: expected rules such as .* got none"),
        ("# only\n\n# comments\n", r"mine\.rules: expected rules such as .* got none"),
        (f"R1: {RAIN}\n\nR1: {NIGHT}", r"mine\.rules:3: the id 'R1' is used twice, first on line 1"),
        (f"R1:\n\nR2: {NIGHT}", r"mine\.rules:1: expected a rule after 'R1:', got none"),
        (f"R1: {RAIN}\nR2:", r"mine\.rules:2: expected a rule after 'R2:', got none"),
        (b"R1: If it rains\xff, stop", r"mine\.rules: it is no UTF-8 text"),
    ],
)
def test_bad_files_are_refused(text: str | bytes, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, text)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.rules: No such file"):
        read_rules(tmp_path / "none.rules")
    with pytest.raises(InputError, match="Is a directory"):
        read_rules(tmp_path)


words = st.sampled_from(["if", "it", "rains,", "the", "car", "should", "slow", "down.", "30%"])
sentences = st.lists(words, min_size=1).map(" ".join)


@given(st.lists(sentences, min_size=1, max_size=5))
def test_what_is_written_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    written = "\n\n".join(f"R{index}: {text}" for index, text in enumerate(texts))
    rules = read(tmp_path_factory.mktemp("rules"), written)
    assert [(rule.id, rule.text) for rule in rules] == [
        (f"R{index}", text) for index, text in enumerate(texts)
    ]


def test_the_rules_of_the_paper_ship() -> None:
    rules = {rule.id: rule.text for rule in read_rules(EXAMPLES / "paper.rules")}
    assert list(rules) == [*(f"R{number}" for number in range(1, 8)), "CR1", "CR2", "CR3"]
    assert rules["R7"] == "If: the driving time changes into night, Then: the ego-vehicle should slow down."


def test_thirty_rules_of_handbooks_ship() -> None:
    assert len(read_rules(EXAMPLES / "handbooks.rules")) == 30
