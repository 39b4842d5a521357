"""Networks described as a ``model.yaml`` has it, so that every command can open what training leaves."""

from __future__ import annotations

from pathlib import Path

from roadworthy._files import write_text
from roadworthy.models.description import sections
from roadworthy.models.zoo import Variant

__all__ = ["write_description"]


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
