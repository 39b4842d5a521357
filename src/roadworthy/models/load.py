"""Opening any model by one spelling."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from roadworthy._files import is_file, is_folder
from roadworthy._options import check_path, checked_options, options_of
from roadworthy.errors import InputError, UnknownNameError
from roadworthy.models.network import ModelSpec
from roadworthy.models.networks import imported_folder, known_file, public_networks
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.registry import models

_KINDS = {
    ".onnx": "onnx",
    ".ort": "onnx",
    ".tflite": "tflite",
    ".pt": "torchscript",
    ".pth": "torchscript",
    ".ts": "torchscript",
    ".cfg": "darknet",
    ".csv": "recorded",
    ".json": "recorded",
}
_DESCRIPTIONS = (".yaml", ".yml")
_SECTIONS = ("input", "output", "batch")


def load_model(
    reference: str | PathLike[str], relative_to: Path = Path(), /, **options: object
) -> SystemUnderTest:
    """Open a model.

    Args:
        reference: An adapter and what it opens, such as ``"onnx:net.onnx"``; the address of an HTTP
            endpoint; a ``model.yaml``, or the folder in which it lies; a file or a Hugging Face folder alone,
            whose kind its ending tells; or the name of a registered model or an imported public network.
        relative_to: The folder that paths count from.
        options: ``input``, ``output`` and ``batch`` describe the network as a ``model.yaml`` does, or
            ``spec`` as a `ModelSpec`; the others are those of the adapter. Text is converted. Keys may be
            joined by dots: ``**{"output.signals": "steering,speed"}``.

    Raises:
        UnknownNameError: No adapter or model has this name.
        InputError: The model, a file or an option cannot be used.

    Example:
        >>> load_model("truth").name
        'truth'
        >>> load_model("net.onnx")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: cannot read the ONNX network net.onnx: there is no such file
    """
    text = spelled(str(reference), relative_to)
    if is_description(text, relative_to):
        path = relative_to / text
        return _from_description(path / "model.yaml" if is_folder(path) else path, options)
    sections = {key: value for key, value in options.items() if key.partition(".")[0] in _SECTIONS}
    others = {key: value for key, value in options.items() if key not in sections}
    if sections:
        from roadworthy.models.description import described

        if others.get("spec") is not None:
            raise InputError(f"{text}: give either spec or {', '.join(sections)}, not both")
        try:
            others["spec"] = described(sections).spec
        except InputError:
            # Perhaps it says less than all, because the network is recognised.
            recognised = None
            with suppress(InputError):
                recognised = getattr(_opened(text, others, relative_to), "recognised", None)
            if recognised is None:
                raise
            others["spec"] = described(sections, recognised.sections).spec
    return _opened(text, others, relative_to)


def spelled(text: str, folder: Path = Path()) -> str:
    """Return a reference with the kind of model before its file, or the folder of an imported network.

    Raises:
        InputError: It names a public network that is not imported, or one that is no system under test.

    Example:
        >>> spelled("nets/mine.onnx")
        'onnx:nets/mine.onnx'
    """
    if ":" in text or is_description(text, folder):
        return text
    if imported := imported_folder(text):
        return str(imported.absolute())
    path, kind = folder / text, _KINDS.get(Path(text).suffix.lower())
    if is_file(path) and (known := known_file(path)):
        network, _ = known
        if str(network.describe.get("model", "")).partition(":")[0] != kind:
            raise InputError(
                f"{path} is of {network.title}: roadworthy networks import {path}, and use it by its name, "
                f"{network.name}"
            )
    if is_file(path / "config.json"):
        kind = "huggingface"
    return f"{kind}:{text}" if kind else text


def is_description(reference: str, relative_to: Path = Path()) -> bool:
    """Return whether a reference is a ``model.yaml``, or the folder in which one lies: it may name anything.

    Example:
        >>> is_description("nets/MODEL.YAML"), is_description("onnx:net.onnx")
        (True, False)
    """
    path = relative_to / reference
    return path.suffix.lower() in _DESCRIPTIONS or is_file(path / "model.yaml")


def _from_description(path: Path, options: Mapping[str, object]) -> SystemUnderTest:
    from roadworthy.models.description import read_description

    changes = {key: value for key, value in options.items() if key.partition(".")[0] in (*_SECTIONS, "name")}
    description = read_description(path, changes)
    if description.model is None:
        raise InputError(f"{path}: expected 'model:' with the model that is described, such as onnx:net.onnx")
    given = {**description.options, **{key: one for key, one in options.items() if key not in changes}}
    given.setdefault("spec", description.spec)
    if description.name is not None:
        given.setdefault("name", description.name)
    return _opened(description.model, given, description.folder)


def _opened(reference: str, options: Mapping[str, object], folder: Path) -> SystemUnderTest:
    kind, _, path = reference.partition(":")
    try:
        factory = models.get(kind)
    except UnknownNameError:
        if not path and is_file(folder / reference):
            raise UnknownNameError(
                f"expected the kind of model before its file, such as 'onnx:{reference}'; kinds are "
                f"{', '.join(models.names())}"
            ) from None
        if path or not reference or not is_folder(folder / reference):
            raise
        raise UnknownNameError(
            f"{reference} is a folder without a model.yaml: name the file of the network, such as "
            f"onnx:{reference}/net.onnx, or put a model.yaml beside it; `roadworthy models try` prints one"
        ) from None
    check_path(kind, factory, path, f"to know what to open: write '{kind}:…'; see roadworthy list models")
    given = {key: value for key, value in options.items() if not (key == "spec" and value is None)}
    known = {option.name for option in options_of(factory)}
    if "spec" in given and "spec" not in known:
        raise InputError(f"{kind!r} takes no description of input and output: it is no network")
    if not isinstance(given.get("spec"), ModelSpec | None):
        raise InputError(f"spec must be a ModelSpec, got {type(given['spec']).__name__}")
    checked = checked_options(kind, factory, given, folder)
    if "name" in known and folder != Path():
        checked.setdefault("name", reference)
    system = factory(*([_located(kind, path, reference, factory, folder)] if path else []), **checked)
    if not isinstance(system, SystemUnderTest):
        raise InputError(f"{kind!r} must give a model with name and predict, got {type(system).__name__}")
    return system


def _located(kind: str, path: str, reference: str, factory: Callable[..., Any], folder: Path) -> str | Path:
    """Return what an adapter opens; a file that a description names lies beside the description."""
    if kind in ("http", "https"):
        return reference
    first = next(iter(inspect.signature(factory, eval_str=True).parameters.values()))
    if Path in (first.annotation, *get_args(first.annotation)):
        return folder / path
    where, colon, name = path.rpartition(":")
    return f"{folder / where}:{name}" if colon and where.endswith(".py") else path


def model_name(reference: str) -> str:
    """Return what runs call a model: as its description says, or its reference without folders.

    Raises:
        InputError: It has a description that cannot be opened.
    """
    named = is_description(reference) or reference in public_networks()
    return load_model(reference).name if named else short_name(reference)


def short_name(reference: str) -> str:
    """Return a reference of a model or of data without the folders of this machine.

    Example:
        >>> short_name("onnx:nets/mine.onnx"), short_name("world:town")
        ('onnx:mine.onnx', 'world:town')
    """
    kind, colon, path = reference.partition(":")
    parts = Path(path if colon else reference).parts
    return reference if len(parts) < 2 else f"{kind}:{parts[-1]}" if colon else parts[-1]
