"""What runs may use: the models and data sets that were declared when the server was started, no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING

from roadworthy.errors import InputError, RoadworthyError, suggest

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models import SystemUnderTest

__all__ = ["Choice", "Declared", "opened_data"]

WORLDS = {
    "world:town": "houses, signs and lights",
    "world:meadow": "a country road",
    "world:mountain": "bends between slopes",
    "world": "all three tracks in turn",
}
"""The built-in data, with what the page says of it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that a form may choose.

    Attributes:
        reference: What opens it, also in forms.
        name: What rows, reports and pages call it; of a model that is its own name.
        summary: What it is.
        task: Of a model, what it is for: regression, detection, ….
        outputs: Of a model that predicts signals, which.
        problem: Why it cannot be used.
    """

    reference: str
    name: str
    summary: str = ""
    task: str = ""
    outputs: tuple[str, ...] = ()
    problem: str = ""


class Declared:
    """The models and data sets that runs may use.

    Args:
        models: References of models, beside the networks that come with the package.
        data: References of data sets, beside the built-in world.

    Example:
        >>> declared = Declared((), ())
        >>> declared.check("models", "callable:os:system")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: this server has no model 'callable:os:system': known names are \
chauffeur, classifier, dave2, ...
    """

    def __init__(self, models: Sequence[str], data: Sequence[str]) -> None:
        from roadworthy.models.zoo import SHIPPED
        from roadworthy.registry import models as registered

        there = set(registered.names())
        shipped = {name: summary for name, summary in SHIPPED.items() if name in there}
        self._summaries = {
            "models": {**shipped, **dict.fromkeys(models, "declared when the server was started")},
            "data": {**WORLDS, **dict.fromkeys(data, "declared when the server was started")},
        }
        self._lock = RLock()
        self._opened: dict[str, SystemUnderTest] = {}
        self._choices: dict[str, Choice] = {}

    def check(self, kind: str, reference: str) -> str:
        """Return a reference that was declared.

        Raises:
            InputError: It was not.
        """
        if reference not in self._summaries[kind]:
            what, option = ("model", "--model") if kind == "models" else ("data set", "--data")
            known = suggest(reference, self._summaries[kind])
            raise InputError(
                f"this server has no {what} {reference!r}: {known}; start it with {option} to add one"
            )
        return reference

    def model(self, reference: str) -> SystemUnderTest:
        """Return a declared model, opened once.

        Raises:
            InputError: It was not declared, or cannot be opened.
        """
        from roadworthy.models import load_model

        self.check("models", reference)
        with self._lock:
            if reference not in self._opened:
                self._opened[reference] = load_model(reference)
            return self._opened[reference]

    def models(self, task: str) -> list[Choice]:
        """Return the models for a task, and those of which nothing is known before they are asked."""
        with self._lock:
            found = [self._model_choice(reference) for reference in self._summaries["models"]]
        return [one for one in found if one.task in ("", task)]

    def names(self, references: Sequence[str]) -> list[str]:
        """Return what models are called in results; one that cannot be opened any more, as it was declared.

        Example:
            >>> Declared((), ()).names(["dave2", "gone"])
            ['dave2', 'gone']
        """
        with self._lock:
            return [
                self._model_choice(one).name if one in self._summaries["models"] else one
                for one in references
            ]

    def data(self) -> list[Choice]:
        """Return the data sets."""
        return [
            Choice(reference, reference, summary) for reference, summary in self._summaries["data"].items()
        ]

    def _model_choice(self, reference: str) -> Choice:
        from roadworthy.models import Network
        from roadworthy.models.outputs import RegressionOutput

        if reference not in self._choices:
            summary = self._summaries["models"][reference]
            try:
                system = self.model(reference)
            except (RoadworthyError, OSError) as error:
                choice = Choice(reference, reference, summary, problem=str(error))
            else:
                task, outputs = "", tuple[str, ...]()
                if isinstance(system, Network):
                    task = system.task
                    if isinstance(system.output, RegressionOutput):
                        outputs = tuple(system.output.signals)
                choice = Choice(reference, system.name, summary, task, outputs)
            self._choices[reference] = choice
        return self._choices[reference]


def opened_data(
    reference: str, frames: int, *, seed: int = 0, systems: Sequence[SystemUnderTest] = ()
) -> Dataset:
    """Open a data set: as many frames as are asked for, or as there are, spread over it.

    Args:
        reference: What names it.
        frames: How many frames.
        seed: Of data that is made: the same seed makes the same frames.
        systems: Who is to see the frames, with as many earlier ones as they want.

    Raises:
        InputError: It cannot be opened, or has no frames.

    Example:
        >>> len(opened_data("world:town", 5))
        5
    """
    from roadworthy.datasets import load_fitting, sample_of
    from roadworthy.models import history_of

    history = max((history_of(one) for one in systems), default=0)
    return sample_of(load_fitting(reference, count=frames, seed=seed, history=history or None), frames)
