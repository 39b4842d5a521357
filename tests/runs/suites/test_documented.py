"""The suites that the page on suites shows are suites, and they are planned as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import make_languages as made
from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.runs.suites.schema import suite_schema

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "suites.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_they_are_valid(block: str, tmp_path: Path) -> None:
    file = tmp_path / "shown.suite.yaml"
    file.write_text(block, encoding="utf-8")
    read_suite(file)


def test_the_one_with_all_kinds_can_be_run(tmp_path: Path) -> None:
    (block,) = [one for one in BLOCKS if "tries: 200" in one]
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


def keys_of(form: object) -> set[str]:
    fields = getattr(form, "model_fields", {})
    return {field.alias or name for name, field in fields.items()}


def test_every_key_of_every_form_is_shown() -> None:
    shown = set(re.findall(r"^\s*(?:#\s*)?(\w+):|[{,]\s*(\w+):", "\n".join(BLOCKS), re.M))
    words = {word for pair in shown for word in pair if word}
    every = list(made.suite_forms().values())
    assert len(every) > 10
    assert {key for form in every for key in keys_of(form)} - words == set()


def test_the_reference_of_keys_is_what_the_forms_say() -> None:
    _, _, written = PAGE.partition(made.START)
    assert written.strip() == made.suites_reference().strip(), "run make docs"
    told = {form.__name__ for form in made.suite_forms().values()}
    assert set(suite_schema()["$defs"]) - told == set()
