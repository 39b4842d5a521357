"""The JSON Schema of suites, for editors that complete and check YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roadworthy.runs.suites.forms import SuiteForm

SCHEMA_FILE = Path(__file__).with_name("suite.schema.json")
"""The schema that comes with the package; a test sees that it is what `suite_schema` makes."""


def suite_schema() -> dict[str, Any]:
    """Return the JSON Schema of suites, with a description of every key.

    Example:
        >>> schema = suite_schema()
        >>> schema["required"], schema["properties"]["seed"]["default"]
        (['models', 'requirements'], 0)
    """
    schema = _tidied(SuiteForm.model_json_schema(by_alias=True))
    # What reliability decides by is no share of failures.
    del schema["$defs"]["ReliabilityForm"]["properties"]["accept"]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of requirements for Roadworthy",
    }
    return {**schema, **head}


def _tidied(part: Any) -> Any:
    """Return the schema without titles that only repeat names, and with nothing beside names that fit."""
    if isinstance(part, list):
        return [_tidied(one) for one in part]
    if not isinstance(part, dict):
        return part
    made = {key: _tidied(one) for key, one in part.items() if key != "title" or not isinstance(one, str)}
    return {**made, "additionalProperties": False} if "patternProperties" in made else made


def schema_text() -> str:
    """Return the schema as a file holds it."""
    return json.dumps(suite_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
