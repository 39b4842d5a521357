"""The 24 operators of DeepCrime: faults that developers make when they train a network, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, suggest
from roadworthy.training import Settings


@dataclass(frozen=True)
class Crime:
    """One of DeepCrime's operators.

    Attributes:
        name: Its three letters.
        group: What of a training it changes.
        does: What it does.
        searched: Whether it has a number that is searched, from harmless to aggressive.
        choices: The words that it can be told; empty where there are none.
        layered: Whether it changes one layer.
    """

    name: str
    group: str
    does: str
    searched: bool = False
    choices: tuple[str, ...] = ()
    layered: bool = False


_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of operators", "operators by name").data
CRIMES: Mapping[str, Crime] = {
    name: Crime(name, **{**one, "choices": tuple(one.get("choices", ()))}) for name, one in _FILE.items()
}
"""All 24 operators, with the names of DeepCrime (Humbatova et al., 2021)."""

SEARCHED = ("TCL", "TRD", "TUD", "TAN", "TCO", "HLR", "HNE")
"""The seven that papers/driving-quality.txt searches the parameter of."""
PAPER = (*SEARCHED, "HBS", "ACH", "AAL", "RAW", "RCD", "WCI", "LCH", "OCH")
"""The fifteen that apply to driving networks. The paper does not name them: these are those that DeepCrime's
own settings for the Udacity simulator search, seven by halving a range and eight by trying all words."""


@dataclass(frozen=True)
class SearchRange:
    """The numbers of a searched operator, from harmless to aggressive.

    Attributes:
        harmless: The value that changes nothing, or least.
        aggressive: The value that changes most.
        step: Two values nearer than this are not told apart.
        whole: Whether the values are whole numbers.
    """

    harmless: float
    aggressive: float
    step: float
    whole: bool = False


def search_range(operator: str, settings: Settings) -> SearchRange:
    """Return the range of an operator's number, for a training with these settings.

    The ranges are DeepCrime's: percent of the data, noise in percent of the spread, the learning rate down to
    a tenth, and the number of epochs down to one.

    Raises:
        InputError: The operator has no number to search.

    Example:
        >>> search_range("HNE", Settings(epochs=30))
        SearchRange(harmless=30, aggressive=1, step=1, whole=True)
    """
    ranges = {
        **dict.fromkeys(("TCL", "TUD", "TAN", "TCO"), SearchRange(0, 100, 5)),
        "TRD": SearchRange(0, 99, 5),
        "HLR": SearchRange(settings.learning_rate, settings.learning_rate / 10, settings.learning_rate / 10),
        "HNE": SearchRange(settings.epochs, 1, 1, whole=True),
        "RCP": SearchRange(settings.patience, 1, 1, whole=True),
    }
    if operator not in ranges:
        raise InputError(f"{operator!r} has no number to search; these have: {', '.join(ranges)}")
    return ranges[operator]


@dataclass(frozen=True)
class PlannedMutation:
    """What all mutations have; as plain data they are without what does not belong to their operator."""

    operator: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {key: value for key, value in dataclasses.asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return what `to_dict` gave.

        Raises:
            InputError: It is something else.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        if "operator" not in document or not known >= set(document):
            raise InputError(
                f"a mutation has an operator and may have {', '.join(sorted(known - {'operator'}))}, got "
                f"{', '.join(map(str, document)) or 'nothing'}"
            )
        return cls(**document)

    def _named(self, *parts: str | float | None, seed: int) -> str:
        """Return what the mutant is called, such as in files, from what belongs to its operator."""
        words = [f"{part:g}" if isinstance(part, float | int) else part for part in parts]
        return "-".join(filter(None, [self.operator, *words, f"seed{seed}" if seed else ""]))


@dataclass(frozen=True)
class TrainingMutation(PlannedMutation):
    """What is done to a training. With data, settings and network, it is all that a mutant is made from.

    Attributes:
        operator: One of `CRIMES`.
        value: The number of an operator that has one, see `search_range`.
        choice: The word of an operator that has some.
        layer: The layer that is changed, by its name in the network, where one is.
        seed: Chooses what is random in the fault; the training keeps the seed of its settings.

    Raises:
        InputError: Something is missing, or does not belong to the operator.

    Example:
        >>> TrainingMutation("ACH", choice="tanh", layer="dense.1").name
        'ACH-tanh-dense.1'
        >>> TrainingMutation("TRD")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: TRD needs a value and nothing else
    """

    value: float | None = None
    choice: str | None = None
    layer: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.operator not in CRIMES:
            raise InputError(f"there is no operator {self.operator!r}: {suggest(self.operator, CRIMES)}")
        crime = CRIMES[self.operator]
        needed = {"value": crime.searched, "choice": bool(crime.choices), "layer": crime.layered}
        if any((getattr(self, key) is not None) != wanted for key, wanted in needed.items()):
            told = " and ".join(f"a {key}" for key, wanted in needed.items() if wanted) or "nothing"
            raise InputError(
                f"{self.operator} needs {told}" + (" and nothing else" if told != "nothing" else "")
            )
        if self.choice is not None and self.choice not in crime.choices:
            raise InputError(
                f"{self.operator} does not know {self.choice!r}: {suggest(self.choice, crime.choices)}"
            )

    @property
    def name(self) -> str:
        """What the mutant is called, such as in files."""
        return self._named(self.value, self.choice, self.layer, seed=self.seed)
