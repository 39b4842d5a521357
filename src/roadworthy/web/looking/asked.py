"""What a command was asked for: how models and data were opened, as the file says that it wrote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from roadworthy._files import read_json
from roadworthy.errors import InputError

__all__ = ["AskedRules", "AskedSearch", "read_asked"]


class _Asked(BaseModel, ABC):
    file: ClassVar[str]

    data: str
    options: dict[str, Any]

    @staticmethod
    @abstractmethod
    def told(document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what else the document says."""


def _tolerance(text: str) -> float | str:
    """Return a tolerance as a suite has it: a percentage, or a number."""
    return text if text.strip().endswith("%") else float(text)


class AskedRules(_Asked):
    """What `roadworthy rules run` was asked for."""

    file = "result.json"

    models: dict[str, str]
    sample: int | None
    same: dict[str, Annotated[float | str, BeforeValidator(_tolerance)]]
    gallery: str
    traffic: str
    engines: str | None
    seed: int

    @staticmethod
    def told(document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the seed, which stands beside it."""
        return {"seed": document["seed"]}


class AskedSearch(_Asked):
    """What `roadworthy coverage search` was asked for."""

    file = "search.json"

    model: str
    count: int | None
    counting: Annotated[str, Field(min_length=1)]
    criterion: Annotated[str, Field(min_length=1)]
    output: Literal["steering", "speed"]

    @staticmethod
    def told(document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is among the settings of the search."""
        return {name: document["settings"][name] for name in ("criterion", "output")}


A = TypeVar("A", bound=_Asked)


def read_asked(folder: Path, kind: type[A]) -> A | None:
    """Return what a command was asked for; None where the folder is of another, or of an older version.

    Example:
        >>> import json, tempfile
        >>> asked = {"model": "dave2", "data": "world", "options": {}, "count": 9, "counting": "distinct"}
        >>> document = {"asked": asked, "settings": {"criterion": "neuron", "output": "steering"}}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "search.json").write_text(json.dumps(document))
        ...     read_asked(Path(folder), AskedSearch).count, read_asked(Path(folder), AskedRules)
        (9, None)
    """
    try:
        found = read_json(folder / kind.file)
        return kind(**found["asked"], **kind.told(found))
    except (InputError, ValidationError, KeyError, TypeError):
        return None
