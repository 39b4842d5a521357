"""What may stand in a suite: keys, what they take and mean. The JSON Schema for editors is made from this."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

__all__ = [
    "KIND_KEYS",
    "AcceptForm",
    "BbslForm",
    "CoverageForm",
    "DataForm",
    "DefaultsForm",
    "DrivingForm",
    "EntryForm",
    "ImageForm",
    "ModelForm",
    "ReliabilityForm",
    "RequirementForm",
    "RuleForm",
    "RulesForm",
    "Share",
    "StepForm",
    "SuiteForm",
    "as_name",
    "names_of",
    "read_share",
]

KIND_KEYS = ("rule", "rules", "coverage", "reliability", "bbsl", "driving")
"""The keys that say of which kind a requirement is."""

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
    if not isinstance(value, dict) or not value or not all(map(_finite, value.values())):
        raise ValueError(
            "expected metrics with their thresholds, such as {SD(SA): 3.1}, or a file that `driving oracle "
            "--json` wrote"
        )
    return {str(name): float(one) for name, one in value.items()}


def _size(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,5}x\d{1,5}", value):
        raise ValueError("expected width and height such as 1242x375")
    return value


_SHARE_SCHEMA = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": r"^\s*(\d+(\.\d*)?|\.\d+)\s*%?\s*$"},
    ]
}
_TOLERANCE_SCHEMA = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^\s*\d+(\.\d*)?\s*%\s*$"}]
}
_THRESHOLDS_SCHEMA = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1},
        {"type": "string", "minLength": 1},
    ]
}
_WORDS_SCHEMA = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]
}

Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Share = Annotated[float, BeforeValidator(read_share), WithJsonSchema(_SHARE_SCHEMA)]
Words = Annotated[list[Text], BeforeValidator(_listed), WithJsonSchema(_WORDS_SCHEMA)]
Some = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_WORDS_SCHEMA["anyOf"][0], {**_WORDS_SCHEMA["anyOf"][1], "minItems": 1}]}),
]
Number = Annotated[float, Field(allow_inf_nan=False)]
Tolerance = Annotated[float | str, BeforeValidator(_tolerance), WithJsonSchema(_TOLERANCE_SCHEMA)]
Thresholds = Annotated[
    dict[str, float] | str, BeforeValidator(_thresholds), WithJsonSchema(_THRESHOLDS_SCHEMA)
]
Size = Annotated[
    str, BeforeValidator(_size), WithJsonSchema({"type": "string", "pattern": r"^\d{1,5}x\d{1,5}$"})
]
Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f/@]+$")]


class _Or:
    """Says in the JSON Schema what else may be written: the short form."""

    def __init__(self, *schemas: JsonSchemaValue) -> None:
        self._schemas = schemas

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [*self._schemas, handler(core)]}


_TEXT: JsonSchemaValue = {"type": "string", "minLength": 1}


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelForm(_Form):
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


class DataForm(_Form):
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


class AcceptForm(_Form):
    """What is accepted."""

    rate: Share = Field(default=0.0, description="The largest share of applicable cases that may fail.")
    confidence: Share = Field(
        default=0.95,
        description="How sure one wants to be: the confidence of the one-sided Clopper-Pearson bound.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: object) -> object:
        return {"rate": given} if isinstance(given, str | int | float) else given


Accept = Annotated[AcceptForm, _Or(_SHARE_SCHEMA)]
_ACCEPT = Field(
    default=None,
    description="Which share of the cases may fail: 5%, or {rate: 5%, confidence: 99%}; the requirement "
    "passes when the bound of that confidence is within it. With 0, or if left out, it passes when no case "
    "tried fails.",
)
_MODELS = Field(
    default=None,
    description="The models it is for, by their names here; all that predict what it is about if left out.",
)
_DATA = Field(
    default=None,
    description="The data it is tried on, by their names here; all that fit it if left out.",
)


class DefaultsForm(_Form):
    """What holds for every requirement that does not say otherwise."""

    tags: Words | None = Field(default=None, description="Added to the tags of every requirement.")
    severity: Literal["minor", "major", "critical"] | None = Field(
        default=None, description="How bad a violation is; major if left out."
    )
    accept: Accept | None = _ACCEPT
    models: Some | None = _MODELS
    data: Some | None = _DATA


class EntryForm(_Form):
    """What every requirement may say."""

    text: Text | None = Field(
        default=None, description="What must hold, in your words; from the requirement itself if left out."
    )
    tags: Words | None = Field(
        default=None,
        description="Operating-domain terms, standard and clause and the like: [night, ISO 21448:2022 7.3].",
    )
    severity: Literal["minor", "major", "critical"] | None = Field(
        default=None, description="How bad a violation is; major if left out."
    )
    accept: Accept | None = _ACCEPT
    models: Some | None = _MODELS
    data: Some | None = _DATA


class _RuleSettings(EntryForm):
    same: dict[Literal["steering", "speed"], Tolerance] = Field(
        default_factory=dict,
        description="How far answers that are the same may differ: {steering: 1.39, speed: 10%}, in degrees "
        "and m/s or as a share.",
    )
    gallery: Text = Field(default="shipped", description="Galleries of cut-outs, joined by commas.")
    traffic: Literal["right", "left"] = Field(default="right", description="The side that one drives on.")
    engines: Text | None = Field(
        default=None,
        description="A YAML file of image engines; or shipped, for the learned ones that come with "
        "Roadworthy, on frames of the built-in world. Engines that run code or call services need "
        "--allow-commands.",
    )


class RuleForm(_RuleSettings):
    """A rule: a sentence in plain English."""

    rule: Text = Field(description="If …, then …")


class RulesForm(_RuleSettings):
    """Every rule of a file, a requirement each; their ids come after that of the entry: paper/R1."""

    rules: Some = Field(description="A file of rules, or several; paths count from the suite's folder.")
    only: Some | None = Field(default=None, description="Only these of the file's rules, by their ids.")


class StepForm(_Form):
    """One change on the way to an image of a search."""

    number: int = Field(ge=0, description="The number of the try, which seeds what is random in it.")
    transform: Text = Field(description="What was done, such as rotation(angle=3).")


class ImageForm(_Form):
    """An image of a search, made again and judged as it was."""

    frame: Text = Field(description="The original, by its id.")
    seed: int = Field(ge=0, lt=2**63, description="What is random in the changes begins with it.")
    bound: Number = Field(gt=0, description="The largest squared error, in the data's own unit.")
    made: Annotated[list[StepForm], Field(min_length=1)] = Field(
        description="What was done to the original, one after the other."
    )


class CoverageForm(EntryForm):
    """A search for changed images that raise coverage, with a budget."""

    coverage: Text = Field(description="What guides it: neuron, top-k, 0.7*neuron + 0.3*top-k, …")
    reach: Share | None = Field(default=None, description="The coverage that must be reached.")
    tries: Count = Field(default=500, description="How many changed images are tried at most.")
    seconds: Number | None = Field(
        default=None, gt=0, description="For how long at most; then a rerun may try another number."
    )
    search: Literal["curious", "algorithm-1", "random", "random-deep"] = Field(
        default="curious", description="What decides what is tried."
    )
    transforms: Some = Field(
        default_factory=lambda: ["simple"],
        description="simple, composite, deeptest, a transform, or one with its parameters.",
    )
    lambda_: Number = Field(
        default=5.0, gt=0, alias="lambda", description="λ of Equation 2: how many times the error may grow."
    )
    reference: Literal["mse", "rmse"] = Field(default="mse", description="What λ multiplies.")
    output: Literal["steering", "speed"] = Field(default="steering", description="Which answer is judged.")
    counting: Text = Field(default="distinct", description="Which outputs count as neurons.")
    deepest: Count = Field(default=8, description="How many transformations of an image, at most.")
    max_failed_tries: int = Field(
        default=10, ge=0, description="Of algorithm-1: after how many more an image is given up."
    )
    again: bool = Field(
        default=False, description="Of algorithm-1: push the seeds again when the stack is empty."
    )
    only: Annotated[list[ImageForm], Field(min_length=1)] | None = Field(
        default=None,
        description="Only these images of an earlier search, each made and judged as it was then; nothing is "
        "searched for.",
    )


class ReliabilityForm(EntryForm):
    """What a human still sees, the model must still see: the two requirements of Hu et al."""

    reliability: Some = Field(
        description="What changes the images: fog, [frost, jpeg], …; a requirement for each."
    )
    preserve: Literal["both", "correctness", "prediction"] = Field(
        default="both", description="What must be preserved; a requirement for each."
    )
    measure: Text | None = Field(
        default=None,
        description="accuracy, ap(iou=0.5), miou, steering(tolerance=1.39), …; what suits the model if left "
        "out.",
    )
    limit: Number | None = Field(
        default=None, gt=0, le=1, description="The largest visual change, instead of what people tolerate."
    )
    study: Text = Field(
        default="imagenet", description="Whose tolerated ranges: imagenet, cifar10 or a YAML file."
    )
    versions: Count = Field(default=4, description="How many changed images are made of each frame.")
    sampling: Literal["even", "published", "levels"] = Field(
        default="even", description="Which changes are tried."
    )
    batches: int = Field(default=200, ge=2, description="Bootstrap batches.")
    batch: Count | None = Field(
        default=None, description="Images in a batch; 50, or all of fewer, if left out."
    )
    confidence: Share = Field(default=0.95, description="How sure one wants to be.")
    only: Some | None = Field(
        default=None,
        description="Only these cases, by their ids such as town-000003#1, each as it is among all of them.",
    )


class BbslForm(EntryForm):
    """A formal specification over bounding boxes."""

    bbsl: Text = Field(
        description="The file of the specification, whose path counts from the suite's folder, or the "
        "specification itself."
    )
    values: dict[str, Any] = Field(
        default_factory=dict,
        description="Values of external functions, or what gives them: {near: [275, 375], others: {boxes: "
        "truck}}.",
    )
    bindings: Text | None = Field(default=None, description="A YAML file of bindings.")
    object: Text | None = Field(
        default=None, description="The external function that stands for the object under test."
    )
    classes: Some = Field(default_factory=lambda: ["vehicle"], description="Which objects are tested.")
    matching: Literal["best", "greedy", "optimal"] = Field(
        default="best", description="How detections are matched with objects."
    )
    outside: Literal["fail", "apart"] = Field(
        default="fail", description="What a test is whose object is not detected."
    )


class DrivingForm(EntryForm):
    """An oracle of driving quality: metrics must stay within thresholds in every sector of a drive."""

    driving: Thresholds = Field(
        description="Metrics with their thresholds: {SD(SA): 3.1, Max(LP): 1.2}; or a file that `driving "
        "oracle --json` wrote."
    )
    worse: dict[str, Literal["up", "down"]] = Field(
        default_factory=dict, description="Whether a metric gets worse upwards or downwards, if not as usual."
    )
    simulator: Some = Field(
        default_factory=lambda: ["world:meadow"], description="Where it is driven; a drive for each."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="Options of the simulator, such as weather: rain."
    )
    laps: Count = Field(default=1, description="After how many laps a drive ends.")
    seconds: Number = Field(default=600.0, gt=0, description="After how many seconds at most.")
    metres: Number | None = Field(default=None, gt=0, description="After how many metres.")
    sectors: Some | None = Field(
        default=None, description="Which sectors are judged; simulators other than world need them."
    )
    events: Some | None = Field(
        default=None, description="What violates it wherever it happens; crash and line crossing if left out."
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="What the metrics leave open.")


def _kind_of(given: object) -> str | None:
    if isinstance(given, EntryForm):
        return next(key for key in KIND_KEYS if key in type(given).model_fields)
    found = [key for key in KIND_KEYS if key in given] if isinstance(given, dict) else []
    return found[0] if len(found) == 1 else None


def _short_requirement(given: object) -> object:
    """Turn a sentence, a file of rules or a specification into the requirement that it stands for."""
    if not isinstance(given, str):
        return given
    if given.strip().endswith(".rules"):
        return {"rules": given.strip()}
    return {"bbsl": given.strip()} if given.strip().endswith(".bbsl") else {"rule": given}


def names_of(given: object) -> list[str]:
    """Return the names of models or data: of what is only referred to, what it refers to.

    Example:
        >>> names_of(["dave2", "onnx:nets/mine.onnx"]), names_of({"mine": "dave2"}), names_of(None)
        (['dave2', 'onnx:nets-mine.onnx'], ['mine'], [])
    """
    if isinstance(given, dict):
        return list(given)
    listed = given if isinstance(given, list) else [given]
    return [as_name(one) for one in listed if isinstance(one, str)]


def as_name(text: str) -> str:
    """Return what a suite may call a model, data or a requirement: neither / nor @ is in it.

    Example:
        >>> as_name("onnx:nets/mine.onnx")
        'onnx:nets-mine.onnx'
    """
    return re.sub(r"[/@\x00-\x1f]+", "-", text)


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


RequirementForm = Annotated[
    Annotated[RuleForm, Tag("rule")]
    | Annotated[RulesForm, Tag("rules")]
    | Annotated[CoverageForm, Tag("coverage")]
    | Annotated[ReliabilityForm, Tag("reliability")]
    | Annotated[BbslForm, Tag("bbsl")]
    | Annotated[DrivingForm, Tag("driving")],
    Discriminator(_kind_of),
]


class SuiteForm(_Form):
    """A suite of requirements: what is tested, on what, and what must hold."""

    suite: Text | None = Field(default=None, description="What the suite is called in reports.")
    about: Text | None = Field(default=None, description="What it is for, in a few sentences.")
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="The same seed makes the same images and the same verdicts."
    )
    models: Annotated[
        dict[Name, Annotated[ModelForm, _Or(_TEXT)]],
        BeforeValidator(_named),
        _Or(_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}),
    ] = Field(description="The models under test, by the names that you give them.", min_length=1)
    data: Annotated[
        dict[Name, Annotated[DataForm, _Or(_TEXT)]],
        BeforeValidator(_named),
        _Or(_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}),
    ] = Field(default_factory=dict, description="The frames to test on, by the names that you give them.")
    defaults: DefaultsForm = Field(
        default_factory=DefaultsForm, description="What holds for requirements that do not say otherwise."
    )
    requirements: dict[Name, Annotated[RequirementForm, BeforeValidator(_short_requirement), _Or(_TEXT)]] = (
        Field(
            description="What must hold, by ids of your own: a sentence is a rule, a file of rules or of a "
            "specification stands for itself, everything else says its kind.",
            min_length=1,
        )
    )
