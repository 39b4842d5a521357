"""Networks described as a ``model.yaml`` has it, so that every command can open what training leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roadworthy.models.network import ModelSpec
from roadworthy.models.training._writing import write_text
from roadworthy.models.zoo import Variant

__all__ = ["sections", "write_description"]


def write_description(path: Path, variant: Variant, model: str, *, name: str | None = None) -> None:
    """Write a ``model.yaml`` for a network of the zoo.

    Args:
        path: The file to write.
        variant: The network.
        model: The adapter and the file that it opens, beside the description: ``"onnx:dave2.onnx"``.
        name: What it is called in rows and reports; the network's name when left out.

    Raises:
        InputError: It cannot be written.
    """
    import yaml

    described = {"model": model, "name": name or variant.name, **sections(variant.spec)}
    write_text(path, yaml.safe_dump(described, sort_keys=False))


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
