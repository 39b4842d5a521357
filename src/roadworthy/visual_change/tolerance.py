"""How much visual change people tolerate, as published: which failures would a human have made, too?

A failing image whose visual change is inside the human-tolerated range is a gap of the model. Outside of it,
a human may well fail, too. The numbers are those of Table 1 of Hu et al. (ICSE 2022), with where they come
from; they hold for cars in pictures like those of ImageNet or CIFAR-10, and for the VIF of wavelets. For data
of another kind, measure your own: `roadworthy reliability plan` and `thresholds`.

    >>> from roadworthy.visual_change.tolerance import tolerance_of, tolerated
    >>> tolerated(0.6, "contrast"), tolerated(0.6, "contrast", requirement="prediction")
    (True, False)
    >>> tolerance_of("brightness").note
    'the text (section 5) gives 0.8 and 0.86'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from roadworthy.errors import InputError, UnknownNameError, check_choice, check_number, suggest
from roadworthy.images import Image
from roadworthy.result_tables import ResultTable
from roadworthy.visual_change._measures import ReferenceImage

PUBLISHED = Path(__file__).with_name("tolerance.yaml")
DEFAULT_STUDY = "imagenet"

Preserved: TypeAlias = Literal["correctness", "prediction"]
"""What a change must leave as it is: that the answer is right, or which answer it is."""


@dataclass(frozen=True)
class Tolerance:
    """The largest visual change under one transformation that people tolerate, in one study.

    Attributes:
        study: The name of the study, which is that of its images.
        transformation: The change.
        correctness: t_c: up to here, people answer rightly as often as for the originals.
        prediction: t_p: up to here, people answer as they do for the originals.
        source: Where the numbers are published.
        note: What else is to be known about them, such as other numbers in the same source.
        names: Other names of the transformation.
    """

    study: str
    transformation: str
    correctness: float
    prediction: float
    source: str
    note: str = ""
    names: tuple[str, ...] = ()

    def limit(self, requirement: Preserved = "correctness") -> float:
        """Return the largest visual change that a requirement speaks of.

        Raises:
            InputError: There is no such requirement.
        """
        check_choice("the requirement", requirement, get_args(Preserved))
        return self.correctness if requirement == "correctness" else self.prediction


@dataclass(frozen=True)
class HumanStudy:
    """An experiment with people: what they were asked, and what came of it.

    Attributes:
        name: The name of its images.
        task: What people were asked.
        images: What they were shown.
        source: Where it is published.
        originals: The share of right answers for images without any change; None where it is not known.
        originals_source: Where that share comes from.
        tolerances: The result, by transformation.
    """

    name: str
    task: str
    images: str
    source: str
    originals: float | None
    originals_source: str
    tolerances: dict[str, Tolerance]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        names = ("task", "images", "source", "originals", "originals_source")
        limits = {
            one.transformation: {"t_c": one.correctness, "t_p": one.prediction, "note": one.note}
            for one in self.tolerances.values()
        }
        return {name: getattr(self, name) for name in names} | {"transformations": limits}

    def table(self) -> ResultTable:
        """Return the result for people."""
        rows = tuple(
            (one.transformation, f"{one.correctness:.2f}", f"{one.prediction:.2f}", one.note)
            for one in self.tolerances.values()
        )
        title = f"{self.name}: {self.task}; {self.images}"
        return ResultTable(title, ("transformation", "t_c", "t_p", ""), rows, self.source)


def tolerated(
    visual_change: float,
    transformation: str,
    *,
    requirement: Preserved = "correctness",
    study: str = DEFAULT_STUDY,
) -> bool:
    """Return whether a visual change is inside the range that people tolerate.

    Args:
        visual_change: Δv of the changed image.
        transformation: What changed it, such as "contrast"; spaces, underscores and case do not matter.
        requirement: Whether answers must stay right, or stay the same.
        study: Whose numbers: a published study, or a YAML file of your own.

    Raises:
        InputError: The visual change is none, or nobody has measured this transformation in this study; see
            `known_tolerance` where that is no mistake.

    Example:
        >>> tolerated(0.95, "Gaussian noise"), tolerated(0.0, "frost", study="cifar10")
        (False, True)
    """
    check_number("a visual change", visual_change, least=0, most=1)
    return visual_change <= tolerance_of(transformation, study=study).limit(requirement)


def tolerance_of(transformation: str, *, study: str = DEFAULT_STUDY) -> Tolerance:
    """Return what people tolerate of a transformation.

    Raises:
        UnknownNameError: There is no such study, or none of this transformation in it.
    """
    found = known_tolerance(transformation, study=study)
    if found is None:
        near = suggest(_word(transformation), human_study(study).tolerances)
        raise UnknownNameError(f"the study {study!r} has no thresholds for {transformation!r}: {near}")
    return found


def known_tolerance(transformation: str, *, study: str = DEFAULT_STUDY) -> Tolerance | None:
    """Return what people tolerate of a transformation, or None where nobody has measured it.

    Raises:
        UnknownNameError: There is no such study.

    Example:
        >>> known_tolerance("rain") is None, known_tolerance("Color_jitter").correctness
        (True, 0.48)
    """
    word = _word(transformation)
    return next(
        (one for one in human_study(study).tolerances.values() if word in (one.transformation, *one.names)),
        None,
    )


def human_studies(path: str | PathLike[str] = PUBLISHED) -> dict[str, HumanStudy]:
    """Return the studies of a file, by name; the published ones when left out.

    Raises:
        InputError: The file is no such file; names the line.
    """
    file = Path(path)
    return _studies(file, file.read_bytes() if file.is_file() else b"")


@lru_cache(maxsize=8)
def _studies(path: Path, content: bytes) -> dict[str, HumanStudy]:  # noqa: ARG001 - what the cache goes by
    from pydantic import BaseModel, BeforeValidator, Field, RootModel

    from roadworthy._yaml import read_form

    Share = Annotated[float, Field(strict=True, ge=0, le=1)]

    # A year, a number of images or a date that somebody writes without quotes is text as well.
    Text = Annotated[str, BeforeValidator(str)]

    class _LimitsForm(BaseModel):
        correctness: Share
        prediction: Share
        note: Text = ""
        names: tuple[str, ...] = ()

    class _StudyForm(BaseModel):
        task: Text = ""
        images: Text = ""
        source: Text = ""
        originals: Share | None = None
        originals_source: Text = ""
        transformations: dict[str, _LimitsForm]

    file, keys = "file of human tolerances", "studies with 'transformations:'"
    forms, _ = read_form(path, RootModel[dict[str, _StudyForm]], file, keys)
    studies = {}
    for name, form in forms.root.items():
        tolerances = {
            one: Tolerance(name, _word(one), source=form.source, **limits.model_dump())
            for one, limits in form.transformations.items()
        }
        facts = form.model_dump(exclude={"transformations"})
        studies[name] = HumanStudy(name, tolerances=tolerances, **facts)
    return studies


def human_study(name: str) -> HumanStudy:
    """Return a study by its name, or the one of a YAML file of your own, as `thresholds --save` writes it.

    Raises:
        UnknownNameError: There is no such study.
        InputError: The file is no such file, or has more studies than one.

    Example:
        >>> human_study("cifar10").originals
        0.967
    """
    if name.endswith((".yaml", ".yml")):
        studies = human_studies(name)
        if len(studies) != 1:
            raise InputError(f"{name} must hold one study, got {', '.join(studies) or 'none'}")
        return next(iter(studies.values()))
    studies = human_studies()
    if name not in studies:
        near = suggest(name, studies)
        raise UnknownNameError(f"there is no study {name!r} of human tolerance: {near}; or give a YAML file")
    return studies[name]


@dataclass(frozen=True)
class ChangeMeasurement:
    """How much of the change between two images a human sees, and whether people tolerate as much.

    Attributes:
        visual_change: Δv.
        vif: The visual information fidelity, of wavelets.
        vif_pixel: The same of pixels.
        vsnr: The visual signal-to-noise ratio in dB; infinite where the change is not seen.
        study: Whose tolerated ranges these are.
        limits: The ranges of the transformations that it may be.
    """

    visual_change: float
    vif: float
    vif_pixel: float
    vsnr: float
    study: str
    limits: tuple[Tolerance, ...]

    @property
    def visible(self) -> bool:
        """Whether a human sees the change at all."""
        return self.vsnr != math.inf

    @property
    def tolerated(self) -> bool:
        """Whether people tolerate it, whichever transformation it is, for both requirements."""
        return all(self._within(one, kind) for one in self.limits for kind in get_args(Preserved))

    def _within(self, limit: Tolerance, kind: Preserved) -> bool:
        return self.visual_change <= limit.limit(kind)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {
            "visual_change": self.visual_change,
            "vif": self.vif,
            "vif_pixel": self.vif_pixel,
            "vsnr": self.vsnr if math.isfinite(self.vsnr) else str(self.vsnr),
            "visible": self.visible,
            "study": self.study,
            "tolerated": {
                one.transformation: {
                    kind: {"limit": one.limit(kind), "tolerated": self._within(one, kind)}
                    for kind in get_args(Preserved)
                }
                for one in self.limits
            },
        }

    def lines(self) -> list[dict[str, str] | ResultTable]:
        """Return what people read."""
        facts = {
            "visual change Δv": f"{self.visual_change:.4f}",
            "VIF": f"{self.vif:.4f}   (of pixels: {self.vif_pixel:.4f})",
            "VSNR": f"{self.vsnr:.1f} dB" if self.visible else "∞",
            "visible": "yes" if self.visible else "no: below the threshold of detection",
        }
        columns = ("if it is", "correctness up to", "tolerated", "prediction up to", "tolerated")
        rows = []
        for one in self.limits:
            cells = [
                (f"{one.limit(kind):g}", "yes" if self._within(one, kind) else "no")
                for kind in get_args(Preserved)
            ]
            rows.append((one.transformation, *(cell for pair in cells for cell in pair)))
        return [facts, ResultTable("", columns, tuple(rows))]


def measure_change(
    before: Image, after: Image, transformation: str = "", *, study: str = DEFAULT_STUDY
) -> ChangeMeasurement:
    """Measure how much of the change between two images a human sees, and hold it against tolerated ranges.

    Args:
        before: The original image.
        after: The changed image.
        transformation: What changed it; all that the study knows if left out.
        study: Whose ranges.
    """
    reference = ReferenceImage(before)
    limits = human_study(study).tolerances.values()
    numbers = reference.visual_change(after), reference.vif(after), reference.vif_pixel(after)
    told = (tolerance_of(transformation, study=study),) if transformation else tuple(limits)
    return ChangeMeasurement(*numbers, reference.vsnr(after), study, told)


def _word(text: str) -> str:
    return "-".join(text.lower().replace("_", " ").replace("-", " ").split())
