"""What a requirement of a suite may say: what all kinds have in common, and each kind's own keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from roadworthy.runs.suites.forms.values import (
    SHARE_SCHEMA,
    Count,
    Form,
    Number,
    Or,
    Share,
    Some,
    Text,
    Thresholds,
    Tolerance,
    Words,
)

KIND_KEYS = ("rule", "rules", "coverage", "reliability", "bbsl", "driving")
"""The keys that say of which kind a requirement is."""


class AcceptForm(Form):
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


Accept = Annotated[AcceptForm, Or(SHARE_SCHEMA)]
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


class DefaultsForm(Form):
    """What holds for every requirement that does not say otherwise."""

    tags: Words | None = Field(default=None, description="Added to the tags of every requirement.")
    severity: Literal["minor", "major", "critical"] | None = Field(
        default=None, description="How bad a violation is; major if left out."
    )
    accept: Accept | None = _ACCEPT
    models: Some | None = _MODELS
    data: Some | None = _DATA


class EntryForm(Form):
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
    by: Text | None = Field(
        default=None,
        description="What makes the rule's one change instead of what is built in: a transform such as "
        "rain:heavy, or engine:NAME.",
    )
    after: Text | None = Field(
        default=None,
        description="A change that is made first, and must itself do what the rule asks for: a transform "
        "such as rain:heavy, or engine:NAME.",
    )


class RulesForm(_RuleSettings):
    """Every rule of a file, a requirement each; their ids come after that of the entry: paper/R1."""

    rules: Some = Field(description="A file of rules, or several; paths count from the suite's folder.")
    only: Some | None = Field(default=None, description="Only these of the file's rules, by their ids.")


class StepForm(Form):
    """One change on the way to an image of a search."""

    number: int = Field(ge=0, description="The number of the try, which seeds what is random in it.")
    transform: Text = Field(description="What was done, such as rotation(angle=3).")


class ImageForm(Form):
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
    measure: Some | None = Field(
        default=None,
        description="accuracy, ap(iou=0.5), miou, steering(tolerance=1.39), … or several of them; what suits "
        "the model if left out.",
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
        "oracle --json` wrote; {} judges events alone."
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
    laps: int = Field(default=1, ge=0, description="After how many laps a drive ends; 0 does not count them.")
    seconds: Number = Field(default=600.0, gt=0, description="After how many seconds at most.")
    metres: Number | None = Field(default=None, gt=0, description="After how many metres.")
    end_at: Words = Field(
        default_factory=lambda: ["crash"], description="The events that end a drive at once."
    )
    frames: Literal["none", "failing", "all"] = Field(
        default="none", description="Of which drives what the camera saw is kept."
    )
    sectors: Some | None = Field(
        default=None,
        description="Which sectors are judged; simulators other than world need them, or `whole drive`.",
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


def short_requirement(given: object) -> object:
    """Turn a sentence, a file of rules or a specification into the requirement that it stands for."""
    if not isinstance(given, str):
        return given
    if given.strip().endswith(".rules"):
        return {"rules": given.strip()}
    return {"bbsl": given.strip()} if given.strip().endswith(".bbsl") else {"rule": given}


RequirementForm = Annotated[
    Annotated[RuleForm, Tag("rule")]
    | Annotated[RulesForm, Tag("rules")]
    | Annotated[CoverageForm, Tag("coverage")]
    | Annotated[ReliabilityForm, Tag("reliability")]
    | Annotated[BbslForm, Tag("bbsl")]
    | Annotated[DrivingForm, Tag("driving")],
    Discriminator(_kind_of),
]
