"""Describing a model in a file or in options: YAML and text in, a checked spec out.

The same keys are used in ``model.yaml``, in ``load_model(…, input={…}, output={…})`` and, joined by dots, on
the command line: ``-m input.width=200``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from roadworthy._yaml import Place, check_form, read_yaml
from roadworthy.errors import InputError, suggest
from roadworthy.frames import SignalUnits
from roadworthy.models.detection import BoxFormat, Coordinates, DetectionOutput, Head
from roadworthy.models.images import Color, Dtype, Fit, ImageInput, Interpolation, Layout, Stacking
from roadworthy.models.network import ModelSpec
from roadworthy.models.outputs import ClassificationOutput, Output, RegressionOutput, SegmentationOutput


def _listed(value: object) -> object:
    """Take text as a list: the command line has no other way to write one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


def _mapped(value: object) -> object:
    """Take text such as "person=pedestrian,dog=none" as a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {
        name.strip(): None if word.strip().lower() in ("", "none", "null") else word.strip()
        for name, _, word in pairs
    }


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("Input should be a number")
    return value


Whole = Annotated[int, BeforeValidator(_no_truth)]
Number = Annotated[float, BeforeValidator(_no_truth)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Numbers = Annotated[tuple[Number, ...], BeforeValidator(_listed)]
Two = Annotated[tuple[Number, Number], BeforeValidator(_listed)]
Names = Annotated[dict[str, str | None], BeforeValidator(_mapped)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Input(_Form):
    width: Whole | None = None
    height: Whole | None = None
    color: Color = "rgb"
    layout: Layout | None = None
    dtype: Dtype | None = None
    range: Two | None = None
    mean: Numbers = ()
    std: Numbers = ()
    crop: Two = (0, 0)
    fit: Fit = "stretch"
    interpolation: Interpolation = "linear"
    history: Whole = 0
    stacking: Stacking = "time"


class _Units(_Form):
    speed: Number | str = "m/s"
    steering: Number | str = "deg"
    steering_positive: Literal["left", "right"] = "right"
    steering_ratio: Number = 1.0


class _Regression(_Form):
    task: Literal["regression"] = "regression"
    signals: Words
    units: _Units = Field(default_factory=_Units)
    outputs: Words = ()


class _Classification(_Form):
    task: Literal["classification"]
    classes: Words
    class_names: Names = {}
    activation: Literal["none", "softmax", "sigmoid"] = "none"
    outputs: Words = ()


class _Detection(_Form):
    task: Literal["detection"]
    classes: Words
    head: Head = "separate"
    box: BoxFormat | None = None
    coordinates: Coordinates | None = None
    class_names: Names = {}
    on_unknown: Literal["error", "skip"] = "error"
    score_threshold: Number = 0.25
    iou_threshold: Number | None = 0.45
    iou_threshold_across: Number | None = 0.7
    limit: Whole = 300
    outputs: Words = ()


class _Segmentation(_Form):
    task: Literal["segmentation"]
    classes: Words
    class_names: Names = {}
    on_unknown: Literal["error", "skip"] = "error"
    outputs: Words = ()


class _Description(_Form):
    model: str | None = None
    name: str | None = None
    input: _Input = Field(default_factory=_Input)
    output: dict[str, Any] | None = None
    batch: Whole | None = None
    options: dict[str, Any] = {}


_OUTPUTS: dict[str, tuple[type[_Form], Callable[..., Output[Any]]]] = {
    "regression": (_Regression, RegressionOutput),
    "classification": (_Classification, ClassificationOutput),
    "detection": (_Detection, DetectionOutput),
    "segmentation": (_Segmentation, SegmentationOutput),
}


@dataclass(frozen=True)
class Description:
    """What a description says.

    Attributes:
        model: The model, as `load_model` spells it; None in options alone.
        name: What it is called.
        spec: What it takes and what its numbers mean; None where no output is described.
        options: The options of the adapter.
        folder: What paths are relative to.
    """

    model: str | None
    name: str | None
    spec: ModelSpec[Any] | None
    options: Mapping[str, object]
    folder: Path


def read_description(path: Path, changes: Mapping[str, object] | None = None) -> Description:
    """Read a ``model.yaml``.

    Args:
        path: The file.
        changes: What to say otherwise than the file, by keys such as "input" or "input.width".

    Raises:
        InputError: Something in it cannot be used; names file and line.
    """
    file = read_yaml(path, "model description", "'model:' and 'output:'")
    return described(changes or {}, file.data, file.where, path.parent)


def described(
    changes: Mapping[str, object],
    written: Mapping[str, Any] | None = None,
    where: Callable[..., str] = lambda *_: "options",
    folder: Path = Path(),
) -> Description:
    """Return what options say, over what is written in a file.

    Raises:
        InputError: Something cannot be used.

    Example:
        >>> described({"output.signals": "steering,speed", "batch": "1"}).spec.output.signals
        ('steering', 'speed')
    """
    document: dict[str, Any] = _copied(written or {})
    changed = [_set(document, key, value) for key, value in changes.items()]

    def place_of(*place: str) -> str:
        for one in changed:
            if place[: len(one)] == one:
                return f"option {'.'.join(place)}"
        return where(*place)

    form = check_form(_Description, document, place_of)
    output = None if form.output is None else _output(form.output, place_of, folder)
    with_input = "input" in document or "batch" in document
    if output is None and with_input:
        raise InputError(
            f"{place_of('input')}: an input is described but no output: say what the model answers, "
            "such as output: {signals: [steering]}"
        )
    spec = None
    if output is not None:
        values = {key: getattr(form.input, key) for key in _Input.model_fields}
        image = _built(lambda: ImageInput(**values), place_of("input"))
        spec = _built(lambda: ModelSpec(output, image, form.batch), place_of("batch"))
    return Description(form.model, form.name, spec, form.options, folder)


def _copied(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, Mapping) else value for key, value in mapping.items()}


def _set(document: dict[str, Any], key: str, value: object) -> Place:
    """Write one change into a document and return its place."""
    place = tuple(key.split("."))
    inner = document
    for part in place[:-1]:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError(f"option {key}: {part!r} is no section")
    if isinstance(value, Mapping) and isinstance(inner.get(place[-1]), dict):
        inner[place[-1]] = {**inner[place[-1]], **_copied(value)}
    else:
        inner[place[-1]] = _copied(value) if isinstance(value, Mapping) else value
    return place


def _output(data: Mapping[str, Any], where: Callable[..., str], folder: Path) -> Output[Any]:
    task = data.get("task", "regression")
    if not isinstance(task, str) or task not in _OUTPUTS:
        raise InputError(f"{where('output', 'task')}: unknown task {task!r}: {suggest(str(task), _OUTPUTS)}")
    if isinstance(data.get("classes"), str):
        data = {**data, "classes": _classes(data["classes"], where("output", "classes"), folder)}
    kind, build = _OUTPUTS[task]
    form: Any = check_form(kind, data, where, inside=("output",))
    values = {key: getattr(form, key) for key in kind.model_fields if key != "task"}
    if isinstance(units := values.get("units"), _Units):
        values["units"] = _built(lambda: SignalUnits(**dict(units)), where("output", "units"))
    built: Output[Any] = _built(lambda: build(**values), where("output"))
    return built


def _classes(text: str, where: str, folder: Path) -> list[str]:
    """Return the classes that text names: in a file, or words with commas between them."""
    suffix = Path(text).suffix
    if "," in text or suffix not in (".names", ".txt", ".json"):
        return [part.strip() for part in text.split(",")]
    path = folder / text
    try:
        content = path.read_text("utf-8-sig")
        found = json.loads(content) if suffix == ".json" else content.splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot read the class names {path}: {error}") from error
    if isinstance(found, dict) and set(found) == {str(number) for number in range(len(found))}:
        found = [found[str(number)] for number in range(len(found))]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise InputError(
            f"{where}: the class names {path} must be a list of names, or a name for each number from 0 on"
        )
    return [name.strip() for name in found if name.strip()]


def _built(build: Callable[[], Any], where: str) -> Any:
    """Build a part of the spec, and say where it is written if it cannot be."""
    try:
        return build()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def sections(spec: ModelSpec[Any]) -> dict[str, Any]:
    """Return the sections of a ``model.yaml`` that describe a network, without what goes without saying.

    Example:
        >>> from roadworthy.models.zoo import architecture
        >>> sections(architecture("dave2").variant(["steering"]).spec)["output"]
        {'task': 'regression', 'signals': ['steering']}
    """
    return {"input": _changed(spec.input), "output": {"task": spec.output.task, **_changed(spec.output)}}


def _changed(declared: Any) -> dict[str, Any]:
    """Return the fields of a declaration that have another value than usual, as plain data."""
    found = {}
    for one in dataclasses.fields(declared):
        value = getattr(declared, one.name)
        made = one.default_factory
        usual = one.default if made is dataclasses.MISSING else made()
        if value != usual:
            found[one.name] = _plain(value)
    return found


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return _changed(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
