"""What metrics need to be told: targets, conditions, bins, bands and what counts as a reaction."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_serializer,
    model_validator,
)

from roadworthy._yaml import Place, explained, read_yaml
from roadworthy.driving.metrics.catalogue import OPERATORS, parse_metric
from roadworthy.errors import InputError, suggest

_CONDITION = re.compile(r"^\s*(>=|<=|>|<)\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*$")
_BY_METRIC = ("conditions", "reactions")
_BY_PRIMITIVE = ("magnitude", "targets", "bins", "bands")
_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


class NumberCondition(BaseModel):
    """A comparison with a number, written as text: "> 13.9".

    Example:
        >>> NumberCondition.model_validate("> 13.9").holds(np.array([10.0, 14.0])).tolist()
        [False, True]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sign: str
    value: float

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        if isinstance(given, NumberCondition | Mapping):
            return given
        found = _CONDITION.match(given) if isinstance(given, str) else None
        if found is None:
            raise ValueError(f"expected a comparison such as '> 13.9' or '< 2', got {given!r}")
        return {"sign": found[1], "value": float(found[2])}

    @model_serializer
    def _as_text(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where the values satisfy it; an unknown value does not."""
        return np.asarray(_COMPARE[self.sign](values, self.value))


class Reaction(BaseModel):
    """What asks for an action and what counts as one.

    Attributes:
        to: The event, or the primitive of an event, that asks for it.
        action: The event, or the primitive of an event, that is it; `with` in a file.
        within: Seconds in which it must begin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)

    to: str
    action: str = Field(alias="with")
    within: float = Field(gt=0)


class _Reversal(BaseModel):
    """When a steering reversal counts."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    gap: float = Field(gt=0)
    below: float | None = Field(gt=0)


def _operator(name: str) -> str:
    if name not in OPERATORS:
        raise ValueError(f"there is no operator {name!r}: {suggest(name, OPERATORS)}")
    return name


def _in_order(band: tuple[float, float]) -> tuple[float, float]:
    if not 0 <= band[0] < band[1]:
        raise ValueError("expected a band from a lower to a higher frequency")
    return band


class MetricSettings(BaseModel):
    """Everything that the metrics of Table I leave open; `settings.yaml` has what stands if nothing is said.

    Example:
        >>> MetricSettings.standard().with_changes({"reversal": {"gap": 5.0}}).reversal.gap
        5.0
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    smoothing: float = Field(gt=0)
    magnitude: Mapping[str, tuple[Annotated[str, AfterValidator(_operator)], ...]]
    targets: Mapping[str, float | str]
    conditions: Mapping[str, NumberCondition]
    bins: Mapping[str, Annotated[float, Field(gt=0)]]
    bands: Mapping[str, Annotated[tuple[float, float], AfterValidator(_in_order)]]
    reversal: _Reversal
    braking: float
    steering_action: float = Field(gt=0)
    reactions: Mapping[str, Reaction]

    @classmethod
    def standard(cls) -> Self:
        """Return the settings that come with the package."""
        return cls.model_validate(_standard())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the standard settings with what a YAML file says differently.

        Raises:
            InputError: The file cannot be read, or says something that there is not; with its line.
        """
        file = read_yaml(Path(path), "file of metric settings", "targets, conditions, bins …")
        try:
            return cls.model_validate(_merged(_standard(), _named(file.data, file.where)))
        except ValidationError as error:
            raise InputError(explained(error.errors()[0], file.where, _beside)) from None

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings with some of them changed, written as in the file.

        Raises:
            InputError: There is no such setting, or its value is not possible.
        """

        def where(*_: str) -> str:
            return "settings of metrics"

        try:
            return self.model_validate(_merged(self.model_dump(by_alias=True), _named(changes, where)))
        except ValidationError as error:
            raise InputError(explained(error.errors()[0], where, _beside)) from None


@cache
def _standard() -> dict[str, Any]:
    return read_yaml(Path(__file__).with_name("settings.yaml"), "file of metric settings", "targets …").data


def _named(changes: Mapping[str, Any], where: Callable[..., str]) -> dict[str, Any]:
    """Return changes with metrics and primitives named as in the catalogue, whatever their spelling.

    Raises:
        InputError: There is no such metric; what it says would have no effect.
    """
    named = dict(changes)
    for block in (*_BY_METRIC, *_BY_PRIMITIVE):
        if not isinstance(changes.get(block), Mapping):
            continue
        named[block] = {}
        for key, value in changes[block].items():
            try:
                metric = parse_metric(str(key))
            except InputError as error:
                raise InputError(f"{where(block, str(key))}: {error}") from None
            if metric.operators and block in _BY_PRIMITIVE:
                raise InputError(
                    f"{where(block, str(key))}: {block} are told for what is measured, such as "
                    f"{metric.primitive}, got {key}"
                )
            named[block][str(metric)] = value
    return named


def _merged(own: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with changes, mapping by mapping."""
    merged = dict(own)
    for key, value in changes.items():
        before = merged.get(key)
        inner = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(before, value) if inner and before is not None else value
    return merged


def _beside(place: Place) -> list[str]:
    """Return the keys that there are where an unknown one is written."""
    block: Any = _standard()
    for key in place[:-1]:
        block = block.get(key, {}) if isinstance(block, Mapping) else {}
    return list(block)
