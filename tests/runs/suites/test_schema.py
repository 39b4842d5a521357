from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from roadworthy.runs.suites import read_suite
from roadworthy.runs.suites.reading import SuiteError
from roadworthy.runs.suites.schema import SCHEMA_FILE, schema_text, suite_schema

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.suite.yaml"))
HEAD = {"models": "dave2", "data": "world"}


def problems(document: object) -> list[str]:
    return [one.message for one in Draft202012Validator(suite_schema()).iter_errors(document)]


def test_what_ships_is_what_the_forms_make() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), (
        "write it again: roadworthy suites schema --out src/roadworthy/runs/suites/suite.schema.json"
    )


def test_it_is_a_schema_with_a_description_for_every_key() -> None:
    schema = suite_schema()
    Draft202012Validator.check_schema(schema)
    for name, form in {"suite": schema, **schema["$defs"]}.items():
        for key, described in form["properties"].items():
            assert described.get("description"), f"{name} > {key} has no description"


@pytest.mark.parametrize("file", EXAMPLES, ids=[one.name for one in EXAMPLES])
def test_examples_are_valid(file: Path) -> None:
    assert problems(yaml.safe_load(file.read_text(encoding="utf-8"))) == []
    read_suite(file)


DOCUMENTS: list[tuple[dict[str, Any], bool]] = [
    ({**HEAD, "requirements": {"R": "If it rains, slow down."}}, True),
    ({**HEAD, "requirements": {"R": {"rule": "x", "accept": "5%"}}}, True),
    ({**HEAD, "requirements": {"R": {"rule": "x", "accept": {"rate": 0.1, "confidence": "99%"}}}}, True),
    ({**HEAD, "requirements": {"R": {"rule": "x", "same": {"steering": 1.39, "speed": "10%"}}}}, True),
    ({**HEAD, "requirements": {"R": {"driving": "oracle.json"}}}, True),
    ({**HEAD, "requirements": {"R": {"reliability": ["fog", "rain"], "limit": 0.5}}}, True),
    ({"models": ["a", "b"], "requirements": {"R": {"driving": {"SD(SA)": 3}}}}, True),
    (
        {"models": {"a": {"model": "b", "options": {"batch": 1}}}, "data": ["c"], "requirements": {"R": "x"}},
        True,
    ),
    ({**HEAD, "requirements": {"R": {"rule": "x", "acept": "5%"}}}, False),
    ({**HEAD, "requirements": {"R": {"rule": "x", "severity": "bad"}}}, False),
    ({**HEAD, "requirements": {"R": {"rule": "x", "accept": "much"}}}, False),
    ({**HEAD, "requirements": {"R": {"rule": "x", "bbsl": "y"}}}, False),
    ({**HEAD, "requirements": {"R": {"text": "x"}}}, False),
    ({**HEAD, "requirements": {"R/1": "x"}}, False),
    ({**HEAD, "requirements": {}}, False),
    ({**HEAD, "requirements": {"R": {"reliability": "fog", "accept": 0.1}}}, False),
    ({**HEAD, "requirements": {"R": {"coverage": "neuron", "tries": 0}}}, False),
    ({**HEAD, "seed": -1, "requirements": {"R": "x"}}, False),
    ({"data": "world", "requirements": {"R": "x"}}, False),
    ({**HEAD, "requirements": {"R": "x"}, "more": 1}, False),
]


@pytest.mark.parametrize(("document", "valid"), DOCUMENTS)
def test_it_says_what_the_reader_says(document: dict[str, Any], valid: bool, tmp_path: Path) -> None:
    assert (problems(document) == []) == valid
    file = tmp_path / "a.suite.yaml"
    file.write_text(json.dumps(document))
    if valid:
        read_suite(file)
    else:
        with pytest.raises(SuiteError):
            read_suite(file)
