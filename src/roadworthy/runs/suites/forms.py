"""The forms of models, data and requirements in a suite, and what may stand in single places of it.

A kind of requirement adds a form of its own, see `kinds`.
"""

from __future__ import annotations

import math
import re
from hashlib import sha256
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from roadworthy._options import described
from roadworthy._yaml import read_yaml

_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")


def read_share(value: object) -> float:
    """Return a share that is written as 10% or 0.1.

    Raises:
        ValueError: It is neither.

    Example:
        >>> read_share("10%"), read_share(0.1), read_share("0.1")
        (0.1, 0.1, 0.1)
    """
    share = math.nan
    if isinstance(value, str) and (found := _SHARE.fullmatch(value)):
        share = float(found[1]) / (100 if found[2] else 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value)
    if not 0 <= share <= 1:
        raise ValueError("expected a share such as 5% or 0.05")
    return share


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _tolerance(value: object) -> object:
    if isinstance(value, str) and (found := _SHARE.fullmatch(value)) and found[2]:
        return value.strip()
    if not _finite(value) or value < 0:  # type: ignore[operator]
        raise ValueError("expected a number in degrees or m/s, or a percentage such as 10%")
    return value


def _thresholds(value: object) -> object:
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, dict) or not all(map(_finite, value.values())):
        raise ValueError(
            "expected metrics with their thresholds, such as {SD(SA): 3.1}, or a file that `driving oracle "
            "--json` wrote"
        )
    return {str(name): float(one) for name, one in value.items()}


def _size(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,5}x\d{1,5}", value):
        raise ValueError("expected width and height such as 1242x375 (who labels: options)")
    return value


# Of values that may be written in several ways.
_SCHEMAS = read_yaml(Path(__file__).with_name("values.yaml"), "file of schemas", "schemas").data

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Share = Annotated[float, BeforeValidator(read_share), WithJsonSchema(_SCHEMAS["share"])]
Words = Annotated[list[Text], BeforeValidator(_listed), WithJsonSchema(_SCHEMAS["words"])]
Some = Annotated[
    list[Text], Field(min_length=1), BeforeValidator(_listed), WithJsonSchema(_SCHEMAS["some words"])
]
Number = Annotated[float, Field(allow_inf_nan=False)]
Tolerance = Annotated[float | str, BeforeValidator(_tolerance), WithJsonSchema(_SCHEMAS["tolerance"])]
Thresholds = Annotated[
    dict[str, float] | str, BeforeValidator(_thresholds), WithJsonSchema(_SCHEMAS["thresholds"])
]
Size = Annotated[str, BeforeValidator(_size), WithJsonSchema(_SCHEMAS["size"])]
Count = Annotated[int, Field(ge=1)]
_LONGEST_NAME = 120
Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME, pattern=r"^[^\x00-\x1f/@]+$")]


class Or:
    """Says in the JSON Schema what else may be written: the short form."""

    def __init__(self, *schemas: JsonSchemaValue) -> None:
        self._schemas = schemas

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [*self._schemas, handler(core)]}


TEXT_SCHEMA: JsonSchemaValue = {"type": "string", "minLength": 1}


class Form(BaseModel):
    """What every part of a suite has in common: keys that are not known are refused.

    What a key means stands in the docstring of its form, below ``Keys:``; the schema and the pages say it.

    Attributes:
        sendable: The keys that a suite may use which comes over the network: none that names a file, a
            program, another machine, or an option that could.
        short: The key that is meant where a single value stands for the whole; empty where none may.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    sendable: ClassVar[frozenset[str]] = frozenset()
    short: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: object) -> object:
        return {cls.short: given} if cls.short and isinstance(given, str | int | float) else given

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.__doc__, told = described(cleandoc(cls.__doc__ or ""), "Keys")
        for name, (_form, help) in told.items():
            cls.model_fields[name].description = help
        cls.model_rebuild(force=True)


def names_of(given: object) -> list[str]:
    """Return the names of models or data: of what is only referred to, what it refers to.

    Example:
        >>> names_of(["dave2", "onnx:nets/mine.onnx"]), names_of({"mine": "dave2"}), names_of(None)
        (['dave2', 'onnx:nets-mine.onnx'], ['mine'], [])
    """
    if isinstance(given, dict):
        return list(given)
    return [as_name(one) for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)]


def as_name(text: str) -> str:
    """Return what a suite may call a model, data or a requirement: neither / nor @ is in it.

    Of one that is too long its end is left, and some digits that tell it from others with this end.

    Example:
        >>> as_name("onnx:nets/mine.onnx")
        'onnx:nets-mine.onnx'
        >>> long = as_name("kitti:" + "sorted/" * 20 + "training")
        >>> len(long), long[:13], long[-15:]
        (120, '97f2bb81…rted', 'sorted-training')
    """
    name = re.sub(r"[/@\x00-\x1f]+", "-", text)
    if len(name) <= _LONGEST_NAME:
        return name
    digits = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{digits}…{name[len(digits) + 1 - _LONGEST_NAME :]}"


class AcceptForm(Form):
    """What is accepted.

    Keys:
        rate: The largest share of applicable cases that may fail.
        confidence: How sure one wants to be: the confidence of each bound.
        decide: What decides that it is violated: the lower bound of the rate, or the rate seen.
        early: End as soon as a bound decides; frames come in random order.
    """

    short = "rate"
    rate: Share = 0.0
    confidence: Share = 0.95
    decide: Literal["bound", "estimate"] = "bound"
    early: bool = False

    @model_validator(mode="after")
    def _rated(self) -> Self:
        if self.early and not self.rate:
            raise ValueError("only a rate can be decided early: give 'rate', or leave out 'early'")
        return self


Accept = Annotated[AcceptForm, Or(_SCHEMAS["share"])]


class DefaultsForm(Form):
    """What holds for every requirement that does not say otherwise.

    Keys:
        tags: Added to the tags of every requirement.
        severity: How bad a violation is; major if left out.
        accept: Which share of the cases may fail: 5%, or {rate: 5%, confidence: 99%}. Passed when the upper
            bound of the rate is within it, violated when the lower bound is beyond it, inconclusive in
            between. With 0, or if left out, it is about the cases tried: passed when none of them fails.
        models: The models it is for, by their names here; all that predict what it is about if left out.
        data: The data it is tried on, by their names here; all that fit it if left out.
    """

    tags: Words | None = None
    severity: Literal["minor", "major", "critical"] | None = None
    accept: Accept | None = None
    models: Some | None = None
    data: Some | None = None


class EntryForm(DefaultsForm):
    """What every requirement may say.

    Attributes:
        key: What says of which kind an entry is; each kind's form has its own, and a field of that name.

    Keys:
        text: What must hold, in your words; from the requirement itself if left out.
        tags: Operating-domain terms, standard and clause and the like: [night, ISO 21448:2022 7.3].
    """

    key: ClassVar[str]
    sendable = frozenset({"text", "tags", "severity", "accept", "models", "data"})
    text: Text | None = None
    tags: Words | None = None


class ModelForm(Form):
    """A model under test.

    Keys:
        model: What to open: a name, kind:path (onnx:net.onnx) or a model.yaml; paths count from the suite's
            folder.
        options: Options of the model, or keys of a model.yaml such as input.width.
    """

    sendable = frozenset({"model"})
    short = "model"
    model: Text
    options: dict[str, Any] = Field(default_factory=dict)


class DataForm(Form):
    """Frames to test on.

    Keys:
        data: What to open: a name such as world, or name:path; paths count from the suite's folder.
        options: Options of the reader, such as weather: rain.
        sample: How many frames, spread over the data; all if left out.
        frames: Only these frames, by their ids; a sample is then one of these.
        clusters: Which frames belong together and so count as one when bounds are worked out: frame, folder,
            data, 200 frames or 5 s. As the reader knows if left out: drives, films, recordings.
        labels: Read labels without images, for recorded detections: the size of the images, 1242x375.
    """

    sendable = frozenset({"data", "sample", "frames", "clusters"})
    short = "data"
    data: Text
    options: dict[str, Any] = Field(default_factory=dict)
    sample: Count | None = None
    frames: Some | None = None
    clusters: Text | None = None
    labels: Size | None = None
