"""What a suite as a whole may say: models, data, defaults and requirements."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from roadworthy.runs.suites.forms.requirements import DefaultsForm, RequirementForm, short_requirement
from roadworthy.runs.suites.forms.values import (
    TEXT_SCHEMA,
    Count,
    Form,
    Name,
    Or,
    Size,
    Some,
    Text,
    names_of,
)


class ModelForm(Form):
    """A model under test."""

    model: Text = Field(
        description="What to open: a name, kind:path (onnx:net.onnx) or a model.yaml; paths count from the "
        "suite's folder."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the model, or keys of a model.yaml such as input.width."
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return {"model": given} if isinstance(given, str) else given


class DataForm(Form):
    """Frames to test on."""

    data: Text = Field(
        description="What to open: a name such as world, or name:path; paths count from the suite's folder."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the reader, such as weather: rain."
    )
    sample: Count | None = Field(
        default=None, description="How many frames, spread over the data; all if left out."
    )
    frames: Some | None = Field(
        default=None, description="Only these frames, by their ids; a sample is then one of these."
    )
    labels: Size | None = Field(
        default=None,
        description="Read labels without images, for recorded detections: the size of the images, 1242x375.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return {"data": given} if isinstance(given, str) else given


def _named(given: object) -> object:
    """Turn one reference, or a list of them, into a mapping of names, which are what they refer to."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        names = names_of(given)
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is listed twice: give names of your own, as in {{mine: …}}")
        return dict(zip(names, given, strict=True))
    return given


class SuiteForm(Form):
    """A suite of requirements: what is tested, on what, and what must hold."""

    suite: Text | None = Field(default=None, description="What the suite is called in reports.")
    about: Text | None = Field(default=None, description="What it is for, in a few sentences.")
    base: Text | None = Field(
        default=None,
        description="The folder that paths in the suite count from, seen from its own; that one if left out.",
    )
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="The same seed makes the same images and the same verdicts."
    )
    passes: int = Field(
        default=0,
        ge=0,
        description="Of how many cases that pass images are stored as well, for each requirement and model.",
    )
    models: Annotated[
        dict[Name, Annotated[ModelForm, Or(TEXT_SCHEMA)]],
        BeforeValidator(_named),
        Or(TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA, "minItems": 1}),
    ] = Field(description="The models under test, by the names that you give them.", min_length=1)
    data: Annotated[
        dict[Name, Annotated[DataForm, Or(TEXT_SCHEMA)]],
        BeforeValidator(_named),
        Or(TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA, "minItems": 1}),
    ] = Field(default_factory=dict, description="The frames to test on, by the names that you give them.")
    defaults: DefaultsForm = Field(
        default_factory=DefaultsForm, description="What holds for requirements that do not say otherwise."
    )
    requirements: dict[
        Name, Annotated[RequirementForm, BeforeValidator(short_requirement), Or(TEXT_SCHEMA)]
    ] = Field(
        description="What must hold, by ids of your own: a sentence is a rule, a file of rules or of a "
        "specification stands for itself, everything else says its kind.",
        min_length=1,
    )
