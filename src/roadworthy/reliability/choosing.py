"""Which requirements of reliability fit a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roadworthy.cases import Prediction
from roadworthy.errors import InputError
from roadworthy.models import SystemUnderTest, task_of
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import answered_classes
from roadworthy.reliability.measures import Measure, SignalWithin, measures_for, read_measure
from roadworthy.reliability.requirements import Preservation
from roadworthy.reliability.scenes import BoxPrecision

__all__ = ["PRESERVED", "fitting_measures", "requirements_of"]

PRESERVED = {
    "both": ("correctness", "prediction"),
    "correctness": ("correctness",),
    "prediction": ("prediction",),
}
"""What must be preserved, by what one asks for."""


def fitting_measures(system: SystemUnderTest, answer: Prediction, texts: Sequence[str]) -> list[Measure]:
    """Return the measures that fit a model as it was opened, of those that are given, or the usual ones.

    Args:
        system: The model.
        answer: One of its answers.
        texts: Measures as they are written; none for those that are usual.

    Raises:
        InputError: None of the measures fits what it answers.
    """
    usual = measures_for(answer)
    given = [read_measure(one) for one in texts]
    output = getattr(system, "output", None)
    if isinstance(output, DetectionOutput):
        # What a detector does not look for it cannot lose, and what it is sure of is for it to say.
        known: dict[str, Any] = {"classes": answered_classes(system) or (), "score": output.score_threshold}
        usual = [BoxPrecision(**known)]
        given = [read_measure(one, **known) for one in texts]
    if not texts:
        return list(usual)
    outputs = {one.output for one in usual if isinstance(one, SignalWithin)}
    fitting = [
        one
        for one in given
        if one.task == usual[0].task and (not isinstance(one, SignalWithin) or one.output in outputs)
    ]
    if not fitting:
        kinds = ", ".join(one.name for one in given)
        raise InputError(
            f"{system.name} is a model for {task_of(answer)}, which {kinds} does not measure: leave out the "
            f"measure, or use {' or '.join(str(one) for one in usual)}"
        )
    return fitting


def requirements_of(
    measures: Sequence[Measure],
    transforms: Sequence[str],
    preserve: str,
    *,
    study: str,
    limit: float | None,
    **others: Any,
) -> list[Preservation]:
    """Return the requirements of each measure under each transformation.

    Args:
        measures: How answers are measured.
        transforms: What changes the images.
        preserve: "correctness", "prediction" or "both".
        study: Whose tolerated ranges.
        limit: The largest visual change instead.
        others: The other attributes of `Preservation`.

    Raises:
        InputError: Nobody has measured how much of a transformation people tolerate, or a setting cannot be
            used.
    """
    return [
        Preservation.published(kind, name, one, study=study, limit=limit, **others)  # type: ignore[arg-type]
        for one in measures
        for name in transforms
        for kind in PRESERVED[preserve]
    ]
