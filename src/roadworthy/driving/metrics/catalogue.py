"""The metrics of Table I: their names, what they mean, and how often they were used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, suggest

OPERATORS: Mapping[str, str] = FrozenDict(
    {
        "Min": "minimum",
        "Max": "maximum",
        "Mean": "mean",
        "Med": "median",
        "Mode": "mode: the middle of the bin with most values, the lowest of equals",
        "Sum": "sum",
        "Count": "how often it happens: how often it begins",
        "SD": "standard deviation of a sample, with n - 1",
        "Var": "variance of a sample, with n - 1",
        "CV": "coefficient of variation: SD over mean",
        "RMSE": "root of the mean square of the distance from the target",
        "Ent": "entropy of the histogram, in bits",
        "AbsDev": "mean distance from the mean",
        "SoS": "sum of squares",
        "Skew": "Pearson's first skewness coefficient: mean minus mode, over SD",
        "PowF": "power of the signal in a band of frequencies",
        "SER": "standard error of the regression line over time, with n - 2",
        "DevT": "distance from the target",
        "Diff": "maximum minus minimum",
        "TimeC": "seconds in which a condition holds",
        "CountC": "how often a condition begins to hold",
        "TimeE": "seconds to an event",
        "RT": "reaction time: from what asks for an action to its begin, the mean of all",
        "RA": "reaction accuracy: the share of what asks for an action that gets it in time",
    }
)
"""What the operators mean."""

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
    """

    name: str
    title: str
    group: str
    unit: str
    event: str | None
    names: tuple[str, ...]


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
    return FrozenDict(
        {
            name: Primitive(
                name,
                given["title"],
                group,
                given.get("unit", ""),
                given.get("event"),
                tuple(given.get("names", ())),
            )
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
                chain = tuple(operators.rstrip(")").split("("))
                entries.append(CatalogueMetric(Metric(chain, name), uses))
    return tuple(entries)


CATALOGUE: tuple[CatalogueMetric, ...] = _catalogue()
"""The 126 metrics of Table I and RT(BR), in its order."""
