"""What a run is asked for, as forms and job.json have it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=300)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RunAsk(_Form):
    """What both kinds share.

    Attributes:
        text: The rule or the specification.
        name: The id of the requirement, by which runs are compared; a general one when left empty.
        models: References of the models to test, each declared.
        data: The reference of the data set, declared.
        frames: How many frames of it.
        seed: The same seed makes the same cases.
        allow: The share of cases that may violate.
    """

    text: str
    name: Annotated[str, Field(max_length=80, pattern=r"^[\w .\-]*$")] = ""
    models: Annotated[tuple[Name, ...], Field(min_length=1, max_length=8)]
    data: Name
    frames: Annotated[int, Field(ge=1)] = 60
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    allow: Share = 0.0


class RulesAsk(_RunAsk):
    """A rule to be tried.

    Attributes:
        same_steering: How far steering angles that are the same may differ, in degrees.
        same_speed: How far speeds that are the same may differ, as a share.
    """

    kind: Literal["rules"] = "rules"
    same_steering: Annotated[float, Field(gt=0, le=90)] = 1.39
    same_speed: Annotated[float, Field(gt=0, le=1)] = 0.1


class Binding(_Form):
    """What an external function of a specification gets its value from.

    Nothing here reads a file: a form must not name one.

    Attributes:
        source: The object under test, a value that is the same in every frame, all boxes of some classes,
            whether there is one, the lead vehicle, whether there is one, or a recorded signal.
        value: The numbers, the classes or the signal.
    """

    source: Literal["object", "value", "boxes", "exists", "lead", "lead_exists", "signal"]
    value: Annotated[str, Field(max_length=300)] = ""


class BbslAsk(_RunAsk):
    """A specification that a detector is to be tested by.

    Attributes:
        bindings: Where the external functions get their values from, by their names.
        classes: Which objects are tested, where a function stands for one object.
    """

    kind: Literal["bbsl"] = "bbsl"
    bindings: Annotated[dict[Name, Binding], Field(max_length=100)] = {}
    classes: Annotated[str, Field(max_length=300)] = "vehicle"


Ask = Annotated[RulesAsk | BbslAsk, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[RulesAsk | BbslAsk] = TypeAdapter(Ask)


def read_ask(document: object) -> RulesAsk | BbslAsk:
    """Return what a document asks for.

    Raises:
        pydantic.ValidationError: It cannot be used.

    Example:
        >>> read_ask({"kind": "rules", "text": "…", "models": ["dave2"], "data": "world"}).frames
        60
    """
    return _ADAPTER.validate_python(document)
