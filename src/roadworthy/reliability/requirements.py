"""The two requirements of Hu et al., made precise, and which of them fit a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from roadworthy.cases import Prediction, Requirement
from roadworthy.errors import InputError, check_choice
from roadworthy.models import SystemUnderTest, task_of
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import answered_classes
from roadworthy.reliability.checking import Bootstrap
from roadworthy.reliability.measures import SignalWithin, TaskMeasure, measures_for, read_measure
from roadworthy.reliability.sampling import Sampling
from roadworthy.reliability.scenes import BoxPrecision
from roadworthy.reliability.transformations import Transformation, transformation_named
from roadworthy.visual_change.tolerance import DEFAULT_STUDY, Preserved, known_tolerance

METHOD = "reliability"
"""The name of the method that tests these requirements."""

_BOOTSTRAP = {
    "batches": "batches",
    "batch": "images",
    **{name: name for name in ("confidence", "baseline", "similar", "seed")},
}
"""The parameters of a requirement that are settings of its `Bootstrap`, by their names there."""
_SYMBOLS = {"correctness": "t_c", "prediction": "t_p"}


@dataclass(frozen=True)
class Preservation:
    """A requirement of reliability.

    Attributes:
        preserve: What must stay: "correctness" or "prediction".
        transformation: What changes the images.
        limit: The edge of the tolerated range, t_c or t_p.
        measure: How answers are measured.
        versions: How many changed images are made of each original.
        sampling: Which changes are tried.
        bootstrap: How batches are drawn, and how sure one wants to be.
        source: Where the limit comes from.
        only: The ids of the cases that are tried, each exactly as among all of them; all if empty.

    Raises:
        InputError: A value cannot be used.

    Example:
        >>> from roadworthy.reliability.measures import Accuracy
        >>> fog = Preservation("correctness", transformation_named("fog"), 0.8, Accuracy())
        >>> fog.text.partition(":")[0]
        'Correctness is preserved'
        >>> Preservation.of(fog.requirement("R1")) == fog
        True
    """

    preserve: Preserved
    transformation: Transformation
    limit: float
    measure: TaskMeasure
    versions: int = 4
    sampling: Sampling = "even"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    source: str = ""
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("preserve", self.preserve, get_args(Preserved))
        check_choice("sampling", self.sampling, get_args(Sampling))
        if not 0 < self.limit <= 1:
            raise InputError(f"the limit of visual change must be above 0 and at most 1, got {self.limit}")
        if self.versions < 1:
            raise InputError(f"versions of each image must be 1 or more, got {self.versions}")

    @classmethod
    def published(
        cls,
        preserve: Preserved,
        transformation: str,
        measure: TaskMeasure,
        *,
        study: str = DEFAULT_STUDY,
        limit: float | None = None,
        **others: Any,
    ) -> Preservation:
        """Return the requirement with the limit that a study with people has found.

        Args:
            preserve: What must stay.
            transformation: The name of what changes the images.
            measure: How answers are measured.
            study: Whose limits.
            limit: A limit of one's own instead.
            others: The other attributes.

        Raises:
            InputError: Nobody has measured how much of this transformation people tolerate, and no limit is
                given.

        Example:
            >>> from roadworthy.reliability.measures import Accuracy
            >>> Preservation.published("prediction", "contrast", Accuracy()).limit
            0.28
        """
        kind = transformation_named(transformation)
        if limit is not None:
            return cls(preserve, kind, limit, measure, source="given", **others)
        known = known_tolerance(kind.name, study=study)
        if known is None:
            raise InputError(
                f"no study has measured how much {kind.name} people tolerate ({study}): give the "
                "limit of its visual change, which `roadworthy reliability thresholds` finds from answers"
            )
        return cls(preserve, kind, known.limit(preserve), measure, source=known.source, **others)

    @property
    def id(self) -> str:
        """What it is called in rows and folders."""
        parts = [self.transformation.name, self.preserve, self.measure.label]
        parts.append("" if self.sampling == "even" else self.sampling)
        return " ".join(part for part in parts if part)

    @property
    def text(self) -> str:
        """What must hold, in words."""
        under = f"under {self.transformation.name} with a visual change of at most"
        edge = f"{_SYMBOLS[self.preserve]} = {self.limit:g}"
        if self.preserve == "correctness":
            kept = f"the {self.measure.name} is at least that on the original images"
            return f"Correctness is preserved: {under} {edge}, {kept}."
        kept = "answers stay as they were at least as much as under a change that is hardly one"
        return f"Predictions are preserved: {under} {edge}, {kept} ({self.measure.name})."

    def requirement(self, id: str | None = None) -> Requirement:
        """Return it as what a run tests."""
        return Requirement(
            id or self.id,
            self.text,
            METHOD,
            {
                "preserve": self.preserve,
                "transformation": self.transformation.name,
                "limit": self.limit,
                "source": self.source,
                "measure": str(self.measure),
                "versions": self.versions,
                "sampling": self.sampling,
                **{name: getattr(self.bootstrap, field) for name, field in _BOOTSTRAP.items()},
                **({"only": list(self.only)} if self.only else {}),
            },
        )

    @classmethod
    def of(cls, requirement: Requirement) -> Preservation:
        """Read it from the parameters of a requirement.

        Raises:
            InputError: Parameters are missing or cannot be used; those without a default are preserve,
                transformation, limit and measure.
        """
        given = dict(requirement.parameters)
        for name in ("preserve", "transformation", "limit", "measure"):
            if name not in given:
                raise InputError(f"requirement {requirement.id!r} needs the parameter {name!r}")
        known: dict[str, Any] = {field: given[name] for name, field in _BOOTSTRAP.items() if name in given}
        made = cls(
            str(given["preserve"]),  # type: ignore[arg-type]  # checked there
            transformation_named(str(given["transformation"])),
            _number(requirement.id, "limit", given["limit"]),
            read_measure(str(given["measure"])),
            bootstrap=Bootstrap(**known),
        )
        others = {name: given[name] for name in ("versions", "sampling", "source") if name in given}
        only = given.get("only", ())
        if not isinstance(only, list | tuple):
            raise InputError(f"only of requirement {requirement.id!r} must be a list of cases, got {only!r}")
        return replace(made, only=tuple(map(str, only)), **others)  # type: ignore[arg-type]


def _number(id: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} of requirement {id!r} must be a number, got {value!r}")
    return float(value)


PRESERVED = {
    "both": ("correctness", "prediction"),
    "correctness": ("correctness",),
    "prediction": ("prediction",),
}
"""What must be preserved, by what one asks for."""


def fitting_measures(system: SystemUnderTest, answer: Prediction, texts: Sequence[str]) -> list[TaskMeasure]:
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
    measures: Sequence[TaskMeasure],
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
