"""The suites that the page on suites shows are suites, and they are planned as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.runs.suites.forms import KIND_KEYS, EntryForm

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "suites.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_they_are_valid(block: str, tmp_path: Path) -> None:
    file = tmp_path / "shown.suite.yaml"
    file.write_text(block, encoding="utf-8")
    read_suite(file)


def test_the_one_with_all_kinds_can_be_run(tmp_path: Path) -> None:
    (block,) = [one for one in BLOCKS if "coverage:" in one]
    file = tmp_path / "shown.suite.yaml"
    file.write_text(block.replace("../examples", str(DOCS.parent / "examples")), encoding="utf-8")
    plan = plan_suite(read_suite(file), sample=3)
    assert {trial.kind.name for trial in plan.trials} == {
        "rules",
        "coverage",
        "reliability",
        "bbsl",
        "driving",
    }
    ids = {trial.requirement.id for trial in plan.trials}
    assert {"paper/R1", "paper/R3", "blur/jpeg-prediction", "lane"} <= ids


def test_every_construct_is_shown() -> None:
    shown = set(re.findall(r"^\s*(?:#\s*)?(\w+):|[{,]\s*(\w+):", "\n".join(BLOCKS), re.M))
    words = {word for pair in shown for word in pair if word}
    assert set(KIND_KEYS) <= words
    assert set(EntryForm.model_fields) <= words
