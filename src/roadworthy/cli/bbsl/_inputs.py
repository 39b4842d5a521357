"""What the commands that test by specifications take in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli.options import image_size, opened
from roadworthy.errors import FrameError, InputError
from roadworthy.models.load import model_name

if TYPE_CHECKING:
    from roadworthy.bbsl import Bindings, Spec
    from roadworthy.bbsl.testing import ObjectRole
    from roadworthy.cases import Dataset


Truth = Annotated[
    str, typer.Option("--truth", metavar="DATA", help="The ground truth: a data set, such as kitti:path.")
]
Detections = Annotated[
    Path | None,
    typer.Option(
        "--detections",
        metavar="PATH",
        help="Recorded detections: a folder of KITTI results, or a file of COCO results.",
    ),
]
Model = Annotated[str, typer.Option("--model", metavar="MODEL", help="A detector to run instead.")]
Annotations = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The COCO annotations that go with COCO results.")
]
Invalid = Annotated[
    str,
    typer.Option("--invalid", metavar="WHAT", help="Detections whose corners are turned: error, or skip."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="An external function's value: near=275,375; repeatable."
    ),
]
ObjectName = Annotated[
    str,
    typer.Option(
        "--object", metavar="NAME", help="The external function that stands for the object under test."
    ),
]
Classes = Annotated[
    str, typer.Option("--classes", metavar="LIST", help="Which objects are tested, such as car,van,truck.")
]
Size = Annotated[
    str,
    typer.Option("--size", metavar="WIDTHxHEIGHT", help="The size of the images, for labels without images."),
]


def values_of(given: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of external functions that stand on the command line."""
    values: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"a value is written name=value, such as --set near=275,375, got {text!r}")
        values[name.strip()] = _value(value.strip(), text)
    return values


def _value(text: str, whole: str) -> bool | float | list[float]:
    if text in ("true", "false"):
        return text == "true"
    try:
        numbers = [float(part) for part in text.strip("[]()").split(",")]
    except ValueError:
        raise InputError(
            f"a value is true, false, a number, two numbers (an interval) or four (a box), got {whole!r}"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


@dataclass(frozen=True)
class Subject:
    """A specification with what it is tried with.

    Attributes:
        file: The file of the specification.
        spec: The specification.
        bindings: What gives external functions their values.
        role: What stands for the object under test.
        values: Those of the values that are the same in every frame and stand in no file.
        bound: The file of the other bindings.
    """

    file: Path
    spec: Spec
    bindings: Bindings
    role: ObjectRole | None
    values: Mapping[str, Any]
    bound: Path | None = None

    @property
    def files(self) -> list[Path]:
        """The files that it was read from."""
        return [one for one in (self.file, self.bound) if one is not None]

    @property
    def settings(self) -> dict[str, Any]:
        """What else the verdicts depend on; what JSON can hold."""
        return {
            "values": dict(self.values),
            "object": None if self.role is None else self.role.function,
            "classes": None if self.role is None else list(self.role.classes),
        }


def subject_of(
    file: Path, bind: Path | None, given: Sequence[str] | None, name: str, classes: str
) -> Subject:
    """Return a specification, its bindings, and what stands for the object under test."""
    return bound_subject(file, values_of(given), name, classes, bind)


def bound_subject(
    file: Path, values: Mapping[str, Any], name: str, classes: str, bind: Path | None = None
) -> Subject:
    """Return a specification with values of external functions, and a file that binds others."""
    from roadworthy.bbsl import Bindings, load, load_bindings
    from roadworthy.bbsl.testing import find_role

    bindings = Bindings({**({} if bind is None else load_bindings(bind).sources), **values})
    spec = load(file)
    spec.check_types()
    words = [word.strip() for word in classes.split(",") if word.strip()]
    role = find_role(spec, bindings.sources, function=name, classes=words)
    return Subject(file, spec, bindings, role, values, bind)


def truth_of(reference: str, options: list[str] | None, size: str) -> Dataset:
    """Open the ground truth; with a size, labels are read without images."""
    from roadworthy.bbsl.testing import LabelledFrames

    data = opened(reference, options)
    if not len(data):
        raise InputError(f"{data.name} has no frames to test on")
    if size:
        if not hasattr(data, "boxes"):
            raise InputError(f"{data.name} cannot be read without its images: leave --size out")
        return LabelledFrames(data, *image_size(size))  # type: ignore[arg-type]  # it has boxes
    try:
        data[0]
    except FrameError as error:
        hint = "; --size 1242x375 tests labels without images" if hasattr(data, "boxes") else ""
        raise InputError(f"{error}{hint}") from error
    return data


def detector_document(
    detections: Path | None, model: str, annotations: Path | None, invalid: str
) -> dict[str, Any]:
    """Return what is tested, by its name, as a suite has it: recorded detections, or a model."""
    if (detections is None) == (not model):
        raise InputError("give either --detections PATH or --model MODEL")
    if detections is None:
        return {model_name(model): model}
    if invalid not in ("error", "skip"):
        raise InputError(f"--invalid must be error or skip, got {invalid!r}")
    options = {"on_invalid": invalid} | ({} if annotations is None else {"annotations": str(annotations)})
    return {detections.name: {"model": f"recorded:{detections}", "options": options}}


def zones_of(subject: Subject, height: float) -> Mapping[str, tuple[str, Sequence[float]]]:
    """Return the intervals that are the same in every frame, to be drawn, in image pixels."""
    from roadworthy.report.specifications import zones_of as zones

    return zones(subject, height)
