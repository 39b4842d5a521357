"""What commands share that use models: opening them, and data with as many earlier frames as they want."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roadworthy.cli._console import parse_options
from roadworthy.cli._datasets import opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models import SystemUnderTest


USUAL = ("dave2",)
"""What is opened where no model is named."""


def opened_models(references: Sequence[str] | None) -> list[SystemUnderTest]:
    """Open the models, each with a name of its own: what was written where two are called the same."""
    from roadworthy.models import Network, load_model

    written = list(references or USUAL)
    systems = [load_model(one) for one in written]
    called = Counter(one.name for one in systems)
    for system, reference in zip(systems, written, strict=True):
        if called[system.name] > 1 and isinstance(system, Network):
            system.name = reference
    names = [one.name for one in systems]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two models are called {name!r}: give one a name of its own in a model.yaml, or leave it out"
            )
    return systems


def history_of(system: SystemUnderTest) -> int | None:
    """Return how many earlier frames a system wants; None if it looks at none."""
    from roadworthy.models import history_of as wanted

    return wanted(system) or None


def opened_for(reference: str, given: list[str] | None, history: int | None) -> Dataset:
    """Open a data set for a network that sees so many earlier frames."""
    # Frames of drives have their history before them; single ones must be read with it.
    drives = "sequence" in parse_options(given or [])
    return opened(reference, given, history=None if drives else history)


def frames_of(
    reference: str, options: list[str] | None, systems: Sequence[SystemUnderTest], sample: int | None
) -> Dataset:
    """Open the data set with as many earlier frames as the models want, or a sample of it."""
    if sample is not None and sample < 1:
        raise InputError(f"--sample must be 1 or more, got {sample}")
    history = max((history_of(one) or 0 for one in systems), default=0)
    from roadworthy.datasets import sample_of

    return sample_of(opened(reference, options, count=sample, history=history or None), sample)
