from __future__ import annotations

from pathlib import Path

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules import parse, parse_all, read_rules

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "rules").glob("*.rules"))


@pytest.mark.parametrize("file", EXAMPLES, ids=[one.stem for one in EXAMPLES])
def test_many_rules_are_read_as_each_alone(file: Path) -> None:
    texts = [rule.text for rule in read_rules(file)]
    assert list(parse_all(texts)) == [parse(text) for text in texts]


def test_what_is_wrong_with_one_does_not_keep_others_from_it() -> None:
    texts = ["If a unicorn appears, slow down.", "If it rains, the speed should decrease.", "  ", "Slow down"]
    texts.append("If it rains" + "," * 3000)
    found = list(parse_all(texts))
    assert [isinstance(one, RuleError) for one in found] == [True, False, True, True, True]
    for text, one in zip(texts, found, strict=True):
        if isinstance(one, RuleError):
            with pytest.raises(RuleError) as alone:
                parse(text)
            assert str(alone.value) == str(one)
