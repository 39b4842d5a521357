"""The two requirements of Hu et al., made precise, and which of them fit a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, TypeAlias, get_args

from roadworthy.cases import Prediction, Requirement
from roadworthy.errors import InputError, check_choice, check_number
from roadworthy.models import SystemUnderTest, Task, task_of
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.scorers import answered_classes
from roadworthy.reliability.checking import Bootstrap
from roadworthy.reliability.measures import (
    SignalWithin,
    TaskMeasure,
    measures_for,
    read_measure,
    usual_number,
)
from roadworthy.reliability.scenes import BoxPrecision
from roadworthy.reliability.transformations import Sampling, Transformation, transformation_named
from roadworthy.statistics import bonferroni, clusters_needed
from roadworthy.visual_change.tolerance import DEFAULT_STUDY, Preserved, known_tolerance

METHOD = "reliability"
"""The name of the method that tests these requirements."""

Rule: TypeAlias = Literal["bound", "paper"]
"""What decides: the bounds of the distance over clusters and what is tolerated, or Δ + 1.645 σ ≤ 0."""
TOLERANCE = 0.05
"""How much may be lost where nobody says."""

# The parameters of a requirement that are settings of its `Bootstrap`, by their names there.
_BOOTSTRAP = {
    "batches": "batches",
    "batch": "images",
    **{name: name for name in ("confidence", "baseline", "similar", "seed")},
}
_PLAIN = ("versions", "sampling", "rule", "tolerance", "requirements")
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
        bootstrap: How sure one wants to be, and how the paper's rule draws batches.
        rule: What decides.
        tolerance: The reliability distance that is tolerated; of no use to the paper's rule.
        requirements: How many requirements share the confidence: as many as are tried of a model at once.
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
    rule: Rule = "bound"
    tolerance: float = TOLERANCE
    requirements: int = 1
    source: str = ""
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("preserve", self.preserve, get_args(Preserved))
        check_choice("sampling", self.sampling, get_args(Sampling))
        check_number("the limit of visual change", self.limit, above=0, most=1)
        check_number("versions of each image", self.versions, least=1)
        check_choice("rule", self.rule, get_args(Rule))
        check_number("the tolerance", self.tolerance, least=0, below=1)
        check_number("requirements", self.requirements, least=1)

    @property
    def confidence(self) -> float:
        """The confidence of each bound, so that all requirements together have the one asked for."""
        return bonferroni(self.bootstrap.confidence, self.requirements)

    def needed(self, heaviest: float = 1.0) -> int | None:
        """Return how many clusters without a loss would show that it holds; None where no number does.

        Args:
            heaviest: How much more the cluster that matters most does than the average one.

        Example:
            >>> from roadworthy.reliability.measures import Accuracy
            >>> fog = Preservation("correctness", transformation_named("fog"), 0.8, Accuracy())
            >>> fog.needed(), replace(fog, requirements=16).needed()
            (59, 113)
        """
        if not self.tolerance:
            return None
        return clusters_needed(self.tolerance / heaviest, confidence=self.confidence)

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
        by_paper = self.rule == "paper"
        if self.preserve == "correctness":
            at_least = "at least that" if by_paper else f"at most {self.tolerance:g} below that"
            kept = f"the {self.measure.name} is {at_least} on the original images"
            return f"Correctness is preserved: {under} {edge}, {kept}."
        stable = "at least as stable as" if by_paper else f"at most {self.tolerance:g} less stable than"
        kept = f"answers are {stable} under a barely visible change"
        return f"Predictions are preserved: {under} {edge}, {kept} ({self.measure.name})."

    def requirement(self, id: str | None = None) -> Requirement:
        """Return it as what a run tests."""
        parameters = {
            "preserve": self.preserve,
            "transformation": self.transformation.name,
            "limit": self.limit,
            "source": self.source,
            "measure": str(self.measure),
            **{name: getattr(self, name) for name in _PLAIN},
            **{name: getattr(self.bootstrap, field) for name, field in _BOOTSTRAP.items()},
            **({"only": list(self.only)} if self.only else {}),
        }
        return Requirement(id or self.id, self.text, METHOD, parameters)

    @classmethod
    def of(cls, requirement: Requirement) -> Preservation:
        """Read it from the parameters of a requirement; the paper's rule decides those that tolerate nothing.

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
        others = {name: given[name] for name in ("source", *_PLAIN) if name in given}
        others["rule"] = given.get("rule", "bound" if "tolerance" in given else "paper")
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
    alike = (one for one in given if one.task == usual[0].task)
    fitting = [one for one in alike if not isinstance(one, SignalWithin) or one.output in outputs]
    if not fitting:
        kinds = ", ".join(one.name for one in given)
        raise InputError(
            f"{system.name} is a model for {task_of(answer)}, which {kinds} does not measure: leave out the "
            f"measure, or use {' or '.join(str(one) for one in usual)}"
        )
    return fitting


def tried_together(transforms: int, kinds: int, task: Task, texts: Sequence[str]) -> int:
    """Return how many requirements are tried of a model at once, the same for all models of a task.

    Args:
        transforms: How many transformations there are.
        kinds: How many of correctness and prediction must be preserved.
        task: What the models are for.
        texts: Measures as they are written; none for those that are usual.

    Example:
        Eight changes, for correctness and prediction; of a driving network, speed and steering:

        >>> tried_together(8, 2, "classification", []), tried_together(8, 2, "regression", [])
        (16, 32)
    """
    given = sum(1 for one in texts if read_measure(one).task == task)
    return transforms * kinds * ((given or 1) if texts else usual_number(task))


def requirements_of(
    measures: Sequence[TaskMeasure], transforms: Sequence[str], preserve: str, **how: Any
) -> list[Preservation]:
    """Return the requirements of each measure under each transformation.

    Args:
        measures: How answers are measured.
        transforms: What changes the images.
        preserve: "correctness", "prediction" or "both".
        how: Whose tolerated ranges (study), or the largest visual change (limit); and the other attributes of
            `Preservation`.

    Raises:
        InputError: Nobody has measured how much of a transformation people tolerate, or a setting cannot be
            used.
    """
    kinds: tuple[Any, ...] = PRESERVED[preserve]
    asked = product(measures, transforms, kinds)
    return [Preservation.published(kind, name, one, **how) for one, name, kind in asked]
