"""What a suite as a whole may say, and the JSON Schema of it for editors that complete and check YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag

from roadworthy.runs.gate import OFF, STREET
from roadworthy.runs.suites import forms
from roadworthy.runs.suites.kinds import FORMS


def _key_of(given: object) -> str | None:
    if isinstance(given, forms.EntryForm):
        return given.key
    found = [key for key in FORMS if key in given] if isinstance(given, dict) else []
    return found[0] if len(found) == 1 else None


if TYPE_CHECKING:
    RequirementForm = forms.EntryForm
else:
    RequirementForm = Annotated[
        Union[tuple(Annotated[form, Tag(key)] for key, form in FORMS.items())],  # noqa: UP007
        Discriminator(_key_of),
    ]


def _short_requirement(given: object) -> object:
    """Turn a sentence, a file of rules or a specification into the requirement that it stands for."""
    if not isinstance(given, str):
        return given
    if given.strip().endswith(".rules"):
        return {"rules": given.strip()}
    return {"bbsl": given.strip()} if given.strip().endswith(".bbsl") else {"rule": given}


def _named(given: object) -> object:
    """Turn one reference, or a list of them, into a mapping of names, which are what they refer to."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        names = forms.names_of(given)
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is listed twice: give names of your own, as in {{mine: …}}")
        return dict(zip(names, given, strict=True))
    return given


class SuiteForm(forms.Form):
    """A suite of requirements: what is tested, on what, and what must hold.

    Keys:
        suite: What the suite is called in reports.
        about: What it is for, in a few sentences.
        base: The folder that paths in the suite count from, seen from its own; that one if left out.
        seed: The same seed makes the same images and the same verdicts.
        passes: Of how many cases that pass images are stored as well, for each requirement and model.
        gate: What looks at changed frames before a model is asked: street, off, or a detector of yours.
        models: The models under test, by the names that you give them.
        data: The frames to test on, by the names that you give them.
        defaults: What holds for requirements that do not say otherwise.
        requirements: What must hold, by ids of your own: a sentence is a rule, a file of rules or of a
            specification stands for itself, everything else says its kind.
    """

    sendable = frozenset({"suite", "about", "seed", "passes", "models", "data", "defaults", "requirements"})
    suite: forms.Text | None = None
    about: forms.Text | None = None
    base: forms.Text | None = None
    seed: int = Field(default=0, ge=0, lt=2**63)
    passes: int = Field(default=0, ge=0)
    # YAML makes a plain off into False.
    gate: Annotated[forms.Text, BeforeValidator(lambda given: OFF if given is False else given)] = STREET
    models: Annotated[
        dict[forms.Name, Annotated[forms.ModelForm, forms.Or(forms.TEXT_SCHEMA)]],
        BeforeValidator(_named),
        forms.Or(forms.TEXT_SCHEMA, {"type": "array", "items": forms.TEXT_SCHEMA, "minItems": 1}),
    ] = Field(min_length=1)
    data: Annotated[
        dict[forms.Name, Annotated[forms.DataForm, forms.Or(forms.TEXT_SCHEMA)]],
        BeforeValidator(_named),
        forms.Or(forms.TEXT_SCHEMA, {"type": "array", "items": forms.TEXT_SCHEMA, "minItems": 1}),
    ] = Field(default_factory=dict)
    defaults: forms.DefaultsForm = Field(default_factory=forms.DefaultsForm)
    requirements: dict[
        forms.Name,
        Annotated[RequirementForm, BeforeValidator(_short_requirement), forms.Or(forms.TEXT_SCHEMA)],
    ] = Field(min_length=1)


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
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {**schema, "$schema": draft, "title": "A suite of requirements for Roadworthy"}


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
