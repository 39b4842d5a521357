"""Specifications in a suite: the case that detections lead to must be that of the ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from roadworthy._files import naming
from roadworthy.runs.suites.forms import EntryForm, Some, Text
from roadworthy.runs.suites.kinds.base import Context, Kind, OfEach, Part, other_task
from roadworthy.runs.suites.opening import Facts

if TYPE_CHECKING:
    from roadworthy.bbsl.method import BbslMethod, BbslTrackMethod
    from roadworthy.cases import Method


class BbslForm(EntryForm):
    """A formal specification over bounding boxes.

    Keys:
        bbsl: The file of the specification, whose path counts from the suite's folder, or the specification
            itself.
        values: Values of external functions, or what gives them: {near: [275, 375], others: {boxes: truck}}.
        bindings: A YAML file of bindings.
        object: The external function that stands for the object under test.
        classes: Which objects are tested.
        matching: How detections are matched with objects.
        outside: What a test is whose object is not detected.
    """

    key = "bbsl"
    sendable = EntryForm.sendable | {"bbsl", "values", "object", "classes", "matching", "outside"}
    bbsl: Text
    values: dict[str, Any] = Field(default_factory=dict)
    bindings: Text | None = None
    object: Text | None = None
    classes: Some = Field(default_factory=lambda: ["vehicle"])
    matching: Literal["best", "greedy", "optimal"] = "best"
    outside: Literal["fail", "apart"] = "fail"


class BbslKind(Kind[BbslForm, "BbslMethod | BbslTrackMethod"]):
    """A file with a specification, or the specification itself."""

    name = "bbsl"
    forms = (BbslForm,)
    changes_frames = False

    def may_end_early(self, part: Part[BbslMethod | BbslTrackMethod]) -> bool:
        """Return that specifications of single frames may; tracks need the frames in their order."""
        from roadworthy.bbsl.method import BbslTrackMethod

        return not isinstance(part.inside, BbslTrackMethod)

    def parts(self, entry: BbslForm, context: Context) -> Iterator[Part[BbslMethod | BbslTrackMethod]]:
        """Yield the specification."""
        from roadworthy.bbsl import Bindings, load, load_bindings, parse
        from roadworthy.bbsl.bindings import source_of
        from roadworthy.bbsl.method import TEXT, method_for
        from roadworthy.bbsl.testing import find_role

        file = None if "endcase" in entry.bbsl else context.located(entry.bbsl)
        spec = parse(entry.bbsl) if file is None else load(file)
        spec.check_types()
        sources: dict[str, Any] = {}
        if entry.bindings is not None:
            sources.update(load_bindings(context.located(entry.bindings)).sources)
        for name, given in entry.values.items():
            with naming(f"values, {name}"):
                sources[name] = source_of(given, context.folder)
        bindings = Bindings(sources)
        role = find_role(spec, sources, function=entry.object or "", classes=entry.classes)
        method = method_for(spec, bindings, role, matching=entry.matching, outside=entry.outside)
        parameters = {
            "specification": entry.bbsl if file is None else file.name,
            **entry.model_dump(include={"values", "classes", "matching", "outside"}),
        }
        yield Part("", TEXT if file is None else f"{TEXT} ({file.name})", parameters, method)

    def misfit(self, part: Part[BbslMethod | BbslTrackMethod], facts: Facts) -> str:
        """It needs a detector, and frames with boxes."""
        if reason := other_task(facts, "detection", "specifications are about boxes"):
            return reason
        if facts.data is not None and facts.data.first.boxes is None:
            return f"{facts.data.name} has no boxes, so there is nothing to expect"
        return ""

    def method(self, parts: Mapping[str, Part[BbslMethod | BbslTrackMethod]], context: Context) -> Method:
        """Return one method for all specifications: they share the answers to each frame."""
        return OfEach(self.name, {id: part.inside for id, part in parts.items()})

    def cases(self, part: Part[BbslMethod | BbslTrackMethod], frames: int) -> int:
        """Return a case for each frame; with an object under test it is one for each object instead."""
        return frames
