"""Describing a model in a file or in options: YAML and text in, a checked spec out.

The same keys are used in ``model.yaml``, in ``load_model(…, input={…}, output={…})`` and, joined by dots, on
the command line: ``-m input.width=200``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from roadworthy._files import numbered_names, rendered
from roadworthy._yaml import Place, check_form, read_yaml
from roadworthy.class_lists import class_lists
from roadworthy.errors import InputError, suggest, told_as
from roadworthy.frames import SignalUnits
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.images import ImageInput
from roadworthy.models.network import ModelSpec, Recognised, Runtime, Tensor
from roadworthy.models.outputs import OUTPUTS, Output


def _listed(value: object) -> object:
    """Take text as a list: the command line has no other way to write one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


def _mapped(value: object) -> object:
    """Take text such as "person=pedestrian,dog=none" as a mapping."""
    if not isinstance(value, str):
        return value
    return {
        name.strip(): None if word.strip().lower() in ("", "none", "null") else word.strip()
        for name, _, word in [part.partition("=") for part in value.split(",") if part.strip()]
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


# What a field of a declaration is read as.
_READ: dict[Any, Any] = {
    int: Whole,
    float: Number,
    tuple[str, ...]: Words,
    tuple[float, ...]: Numbers,
    tuple[float, float]: Two,
    Mapping[str, str | None]: Names,
}


def _form(kind: type[Any], **more: Any) -> type[_Form]:
    """Return what is written for a declaration: its fields, with what text on a command line stands for."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    for one in dataclasses.fields(kind):
        hint = hints[one.name]
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        read: Any = Union.__getitem__(tuple(_READ.get(part, part) for part in parts))
        made = one.default_factory
        usual = ... if one.default is dataclasses.MISSING else one.default
        fields[one.name] = (read, usual if made is dataclasses.MISSING else Field(default_factory=made))
    return create_model(f"_{kind.__name__}", __base__=_Form, **more, **fields)


_Input = _form(ImageInput)
_Units = _READ[SignalUnits] = _form(SignalUnits)


_Description = create_model(
    "_Description",
    __base__=_Form,
    model=(str | None, None),
    name=(str | None, None),
    input=(_Input, Field(default_factory=_Input)),
    output=(dict[str, Any] | None, None),
    batch=(Whole | None, None),
    options=(dict[str, Any], {}),
)
_OUTPUTS: dict[str, tuple[type[_Form], Callable[..., Output[Any]]]] = {
    kind.task: (_form(kind, task=(str, kind.task)), kind) for kind in (*OUTPUTS, DetectionOutput)
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
        given = any(place[: len(one)] == one for one in changed)
        return f"option {'.'.join(place)}" if given else where(*place)

    form: Any = check_form(_Description, document, place_of)
    output = None if form.output is None else _output(form.output, place_of, folder)
    if output is None and ("input" in document or "batch" in document):
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
    if type(count := data.get("classes")) is int and count > 0:
        if count > MOST_CLASSES:
            raise InputError(f"{where('output', 'classes')}: at most {MOST_CLASSES:,} classes, got {count:,}")
        data = {**data, "classes": list(map(str, range(count)))}
    if isinstance(text := data.get("classes"), str):
        if known := class_lists().get(text.lower()):
            data = {**data, "classes": list(known.names)}
            if task != "classification":
                own = _mapped(data.get("class_names")) or {}
                data["class_names"] = {**known.words, **own} if isinstance(own, Mapping) else own
        else:
            data = {**data, "classes": _classes(text, where("output", "classes"), folder)}
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
    with told_as(InputError, f"{where}: cannot read the class names {path}", OSError, ValueError):
        content = path.read_text("utf-8-sig")
        found = json.loads(content) if suffix == ".json" else content.splitlines()
    if isinstance(found, dict) and set(found) == {str(number) for number in range(len(found))}:
        found = [found[str(number)] for number in range(len(found))]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise InputError(f"{where}: {path} must list class names, or have a name for each number from 0 on")
    return numbered_names(found, path)


def _built(build: Callable[[], Any], where: str) -> Any:
    """Build a part of the spec, and say where it is written if it cannot be."""
    with told_as(InputError, f"{where}", InputError):
        return build()


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
        if value != (one.default if made is dataclasses.MISSING else made()):
            found[one.name] = _plain(value)
    return found


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return _changed(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


MOST_CLASSES = 100_000
"""Of a network, at most: more is a slip, and their names alone would fill the memory."""
_NO_FILES = ("http", "https", "torch", "callable", "python")
_SIGNALS = ("steering", "speed", "throttle", "brake")
# A network that gives more numbers than this tells classes apart, more likely than it drives.
_MOST_SIGNALS = 3


def draft_description(reference: str, runtime: Runtime) -> str:
    """Return a ``model.yaml`` for a network: what its file says, and what it most likely answers.

    What is guessed has a comment, because no file says it: colours, range, and what the numbers mean.

    Args:
        reference: The model as it was named, such as ``onnx:nets/net.onnx``; it lies beside the description.
        runtime: What runs the network.
    """
    seen: ImageInput | None = None
    shape = () if runtime.input is None else runtime.input.shape
    history = (shape[1] or 1) - 1 if len(shape) == 5 else 0
    for guess in (ImageInput(history=history), ImageInput(color="gray", history=history)):
        with suppress(InputError):
            seen = guess.completed(shape, None if runtime.input is None else runtime.input.dtype)
            break
    sizes = [[size for size in one.shape[1:] if size is not None] for one in runtime.outputs]
    # Of an output with a free axis it is not known how many numbers it gives.
    declared = zip(sizes, runtime.outputs, strict=True)
    known = [math.prod(one) for one, of in declared if len(one) == len(of.shape[1:])]
    return rendered(
        Path(__file__).with_name("draft.yaml.jinja"),
        names=[*_name_lines(reference)],
        declared=runtime.input,
        seen=seen,
        history=history,
        outputs=runtime.outputs,
        ranks=[len(one.shape) for one in runtime.outputs],
        known=known,
        signals=_likely_signals(runtime.outputs, max(1, sum(known))),
        most_signals=_MOST_SIGNALS,
        class_list=_class_list,
        head=_likely_head(runtime.outputs),
    )


def ready_description(reference: str, recognised: Recognised, options: Mapping[str, object]) -> str:
    """Return the ``model.yaml`` of a network that is recognised; there is nothing to correct in it.

    Args:
        reference: The model as it was named; it lies beside the description.
        recognised: What it is.
        options: The options of its adapter.
    """
    import yaml

    written = {**recognised.sections, **({"options": dict(options)} if options else {})}
    text = yaml.safe_dump(written, sort_keys=False, default_flow_style=None, allow_unicode=True, width=100)
    return "\n".join([*_name_lines(reference), text])


def _name_lines(reference: str) -> Iterator[str]:
    import yaml

    kind, _, path = reference.partition(":")
    beside = "//" not in path and kind not in _NO_FILES
    named = {"model": f"{kind}:{Path(path).name}" if beside else reference, "name": Path(path).stem or kind}
    yield from yaml.safe_dump(named, sort_keys=False, allow_unicode=True, width=math.inf).splitlines()


def _likely_signals(outputs: Sequence[Tensor], count: int) -> list[str]:
    """Return what so many numbers are: as the outputs are called, where they say it, or the usual."""
    named = [next((one for one in _SIGNALS if one[:5] in output.name.lower()), "") for output in outputs]
    told = len(named) == count == len(set(named)) and all(named)
    return named if told else list(_SIGNALS[:count])


def _class_list(count: int) -> str:
    return str(count) if count > MOST_CLASSES else f"[{', '.join(f'class-{one}' for one in range(count))}]"


def _likely_head(outputs: Sequence[Tensor]) -> str:
    if len(outputs) == 3:
        return "separate"
    shape = outputs[0].shape if outputs else ()
    return "yolov8" if len(shape) == 3 and (shape[1] or 0) < (shape[2] or 0) else "yolov5"
