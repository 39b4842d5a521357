"""What errors say to people."""

from __future__ import annotations

import math
from typing import Any

import pytest

from roadworthy.errors import (
    EngineError,
    InputError,
    NotApplicable,
    RuleError,
    check_choice,
    check_number,
    excerpt,
    memory_advice,
    shortened,
    suggest,
)


def test_the_words_of_a_rule_that_are_at_fault_are_underlined() -> None:
    text = "If it rains,\nthen a unicorn\nslows down"
    start = text.index("unicorn")
    error = RuleError("no", text=text, span=(start, start + 7), suggestions=["car", "bus"])
    assert str(error) == "no; known: car, bus\n  then a unicorn\n         ^^^^^^^"
    assert error.document() == {
        "reason": "no",
        "span": [start, start + 7],
        "words": "unicorn",
        "suggestions": ["car", "bus"],
    }
    # Words over two lines are underlined to the end of the first, and at the end of a text one mark is left.
    assert str(RuleError("no", text="a bc\nd", span=(2, 6))).splitlines()[2] == "    ^^"
    assert str(RuleError("no", text="ab", span=(2, 2))).splitlines()[2] == "    ^"


def test_a_reason_and_its_frame() -> None:
    assert str(NotApplicable("no room")) == "no room"
    assert str(NotApplicable("no room", frame="")) == "frame '': no room"
    assert EngineError("it broke").reason == "it broke"


def test_too_little_memory_is_told_with_advice() -> None:
    told = memory_advice(MemoryError("x" * 300 + "\nmore"))
    assert told.startswith("there is not enough memory (MemoryError: xxx")
    assert "more" not in told.partition(")")[0]
    assert "use fewer --workers" in told
    assert memory_advice("CUDA Out Of Memory")
    assert memory_advice(ValueError("no such file")) == ""


@pytest.mark.parametrize(
    ("value", "ends", "words"),
    [
        (None, {"least": 1}, ""),
        (1, {"least": 1}, ""),
        (0, {"least": 1}, "--n must be 1 or more, got 0"),
        (math.nan, {"least": 1}, "--n must be 1 or more, got nan"),
        (2, {"least": 1, "most": 2}, ""),
        (3, {"least": 1, "most": 2}, "--n must be from 1 to 2, got 3"),
        (0, {"least": 1, "most": 2}, "--n must be from 1 to 2, got 0"),
        (0.5, {"least": 0}, ""),
        (1.0, {"least": 0, "below": 1}, "--n must be from 0 to below 1, got 1.0"),
        (0, {"above": 0}, "--n must be above 0, got 0"),
        (math.inf, {"above": 0}, ""),
        (0, {"above": 0, "most": 1}, "--n must be above 0 and at most 1, got 0"),
        (1, {"above": 0, "most": 1}, ""),
        (1, {"above": 0, "below": 1}, "--n must be between 0 and 1, both excluded, got 1"),
        (math.inf, {"above": 0, "below": math.inf}, "--n must be above 0 and finite, got inf"),
        (-1, {"least": 0, "below": math.inf}, "--n must be 0 or more and finite, got -1"),
        (-math.inf, {"above": -math.inf, "below": math.inf}, "--n must be finite, got -inf"),
        (3, {"above": -math.inf, "below": math.inf}, ""),
    ],
)
def test_numbers_that_are_too_small_or_too_large(
    value: float | None, ends: dict[str, Any], words: str
) -> None:
    if not words:
        check_number("--n", value, **ends)
        return
    with pytest.raises(InputError) as refused:
        check_number("--n", value, **ends)
    assert str(refused.value) == words


def test_near_names_or_all_of_them() -> None:
    assert suggest("Wrold", ["world", "kitti"]) == "did you mean 'world'?"
    assert suggest("zzz", ["b", "a"]) == "known names are a, b"
    assert suggest("zzz", []) == "no names are known"
    assert suggest("aaaa", ["aaab", "aaac", "aaad", "aaae"]).count("aaa") == 3
    with pytest.raises(InputError, match="how must be one of a, b, got 'c'"):
        check_choice("how", "c", ("a", "b"))


def test_a_long_list_says_how_many_more() -> None:
    assert shortened(["a", "b"], 2) == "a, b"
    assert shortened(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_a_place_in_a_file_is_shown_however_long_its_line_is() -> None:
    assert excerpt("f", "no", "\tab", 12, 2, 1) == "f:12:2: no\n  12 | \tab\n     | \t^"
    assert excerpt("f", "no", "ab", 1, 3, 5).endswith("  1 | ab\n    |   ^")
    shown = excerpt("f", "no", "x" * 80 + "WORD" + "y" * 80, 1, 81, 4).splitlines()
    assert shown[1] == f"  1 | …{'x' * 50}WORD{'y' * 46}…"
    assert shown[2] == f"    | {' ' * 51}^^^^"
