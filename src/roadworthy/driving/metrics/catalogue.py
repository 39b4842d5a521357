"""The catalogue of driving metrics, and the numbers that they are set with."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_serializer, model_validator

from roadworthy._files import as_record, naming
from roadworthy._frozen import FrozenDict
from roadworthy._yaml import check_form, read_yaml
from roadworthy.errors import InputError, suggest

OPERATORS: Mapping[str, Mapping[str, str]] = FrozenDict(
    read_yaml(Path(__file__).with_name("operators.yaml"), "file of operators", "operators by name").data
)
"""What the operators make of a metric's `words` and `unit`."""

_SAME = {"Std": "SD", "StD": "SD", "Median": "Med"}
_NAME = re.compile(r"^((?:\w+\()*)\s*([A-Za-z]+)\s*(\)*)$")


@dataclass(frozen=True)
class Primitive:
    """What is measured at a moment, or an event.

    Attributes:
        name: Its abbreviation in Table I.
        title: Its name in words.
        group: The block of the table that it is in.
        unit: Of its values; empty for an event.
        event: The event of a drive that it is; None for a quantity.
        names: Other spellings.
        signal: The signal of a drive that it is; empty for another quantity.
        rate_of: The quantity whose rate it is; empty for another.
    """

    name: str
    title: str
    group: str
    unit: str
    event: str | None
    names: tuple[str, ...]
    signal: str
    rate_of: str


@dataclass(frozen=True)
class Metric:
    """Operators applied to a primitive, such as Mean(DevT(SP)).

    Attributes:
        operators: The outermost first; none for the primitive itself.
        primitive: The abbreviation of Table I.
    """

    operators: tuple[str, ...]
    primitive: str

    def __str__(self) -> str:
        return "(".join([*self.operators, self.primitive]) + ")" * len(self.operators)


@dataclass(frozen=True)
class CatalogueMetric:
    """A metric of the catalogue, with the number of papers that use it."""

    metric: Metric
    uses: int


@cache
def primitives() -> Mapping[str, Primitive]:
    """Return the primitives by their abbreviation, in the order of Table I."""
    usual = {"unit": "", "event": None, "names": (), "signal": "", "rate_of": ""}
    return FrozenDict(
        {
            name: as_record(Primitive, {**usual, "name": name, "group": group, **given})
            for group, block in _table().items()
            for name, given in block.items()
        }
    )


def parse_metric(text: str) -> Metric:
    """Return the metric of a name, in the spelling of Table I, Table II or the study's sheet.

    Raises:
        InputError: There is no such operator or primitive, or the parentheses do not match.

    Example:
        >>> str(parse_metric("Std(Speed)")), str(parse_metric("Mean(DevT(HP))"))
        ('SD(SP)', 'Mean(DevT(HP))')
    """
    found = _NAME.match(text.strip())
    if found is None or found[1].count("(") != len(found[3]):
        raise InputError(f"expected a metric such as SP, Mean(SP) or Mean(DevT(SP)), got {text!r}")
    operators = tuple(_SAME.get(name, name) for name in found[1].split("(")[:-1])
    for name in operators:
        if name not in OPERATORS:
            raise InputError(f"no operator {name} in {text!r}: there are {', '.join(OPERATORS)}")
    spellings = _spellings()
    primitive = spellings.get(found[2]) or spellings.get(found[2].lower())
    if primitive is None:
        raise InputError(f"no metric {found[2]} in {text!r}: {suggest(found[2], primitives())}")
    return Metric(operators, primitive)


@cache
def _spellings() -> Mapping[str, str]:
    spelt = {}
    for name, one in primitives().items():
        for spelling in (name, *one.names, one.title):
            spelt[spelling] = spelt[spelling.lower()] = name
    return spelt


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = read_yaml(
        Path(__file__).with_name("catalogue.yaml"), "catalogue", "blocks of metrics"
    ).data
    return table


@cache
def _catalogue() -> tuple[CatalogueMetric, ...]:
    entries = []
    for block in _table().values():
        for name, given in block.items():
            if given.get("uses"):
                entries.append(CatalogueMetric(Metric((), name), given["uses"]))
            for operators, uses in given.get("operators", {}).items():
                entries.append(CatalogueMetric(Metric(tuple(operators.rstrip(")").split("(")), name), uses))
    return tuple(entries)


CATALOGUE: tuple[CatalogueMetric, ...] = _catalogue()
"""The 126 metrics of Table I and RT(BR), in its order."""


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
    """When a steering reversal counts: a gap in degrees at the steering wheel, and a frequency."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    gap: float = Field(gt=0)
    steering_ratio: float = Field(gt=0)
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
        return check_form(cls, _merged(_standard(), _named(file.data, file.where)), file.where)

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings with some of them changed, written as in the file.

        Raises:
            InputError: There is no such setting, or its value is not possible.
        """

        def where(*_: str) -> str:
            return "settings of metrics"

        return check_form(type(self), _merged(self.model_dump(by_alias=True), _named(changes, where)), where)


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
            with naming(where(block, str(key))):
                metric = parse_metric(str(key))
                if metric.operators and block in _BY_PRIMITIVE:
                    raise InputError(f"{block} are told for {metric.primitive} alone, got {key}")
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
