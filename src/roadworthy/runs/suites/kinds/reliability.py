"""Reliability in a suite: what a human still sees, the model must still see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from roadworthy.errors import UnknownNameError
from roadworthy.models import SystemUnderTest
from roadworthy.runs.suites.forms import Count, EntryForm, Number, Share, Some, Text
from roadworthy.runs.suites.kinds.base import Context, Kind, NoTruth, OtherTask, Part
from roadworthy.runs.suites.opening import Facts

if TYPE_CHECKING:
    from roadworthy.cases import Method
    from roadworthy.frames import Frame
    from roadworthy.reliability import Preservation
    from roadworthy.reliability.measures import TaskMeasure


class ReliabilityForm(EntryForm):
    """What a human still sees, the model must still see: the two requirements of Hu et al.

    Keys:
        reliability: What changes the images: fog, [frost, jpeg], …; a requirement for each.
        preserve: What must be preserved; a requirement for each. Of both, correctness only where data has the
            truth.
        measure: accuracy, ap(iou=0.5), miou, steering(tolerance=1.39), … or several of them; what suits the
            model if left out.
        limit: The largest visual change, instead of what people tolerate.
        study: Whose tolerated ranges: imagenet, cifar10 or a YAML file.
        versions: How many changed images are made of each frame.
        sampling: Which changes are tried.
        tolerance: The reliability distance that is tolerated.
        confidence: How sure one wants to be, over all requirements of the entry together.
        decide: What decides: the bounds of the distance and what is tolerated, or the paper's own rule, which
            claims no coverage.
        batches: Bootstrap batches of the paper's rule.
        batch: Images in a batch of the paper's rule; 50, or all of fewer, if left out.
        only: Only these cases, by their ids such as town-000003#1, each as it is among all of them.
    """

    key = "reliability"
    sendable = EntryForm.sendable | {
        *("reliability", "preserve", "measure", "limit", "versions", "sampling", "batches", "batch"),
        *("confidence", "tolerance", "decide"),
    }
    reliability: Some
    preserve: Literal["both", "correctness", "prediction"] = "both"
    measure: Some | None = None
    limit: Number | None = Field(default=None, gt=0, le=1)
    study: Text = "imagenet"
    versions: Count = 4
    sampling: Literal["even", "published", "levels"] = "even"
    tolerance: Share = Field(default=0.05, lt=1)
    confidence: Share = 0.95
    decide: Literal["bound", "paper"] = "bound"
    batches: int = Field(default=200, ge=2)
    batch: Count | None = None
    only: Some | None = None


@dataclass(frozen=True)
class Wanted:
    """A requirement of reliability before it is known of which model, and afterwards."""

    transform: str
    preserve: str
    entry: ReliabilityForm
    study: str
    seed: int
    made: Preservation | None = None


class ReliabilityKind(Kind[ReliabilityForm, Wanted]):
    """One requirement for each transformation and for each of what must be preserved."""

    name = "reliability"
    forms = (ReliabilityForm,)

    def no_rate(self, search: object) -> str:
        """Return that it decides otherwise."""
        return (
            "reliability accepts no share of failures, it decides by the reliability distance: leave out "
            "'accept', and give 'tolerance' and 'confidence'"
        )

    def parts(self, entry: ReliabilityForm, context: Context) -> Iterator[Part[Wanted]]:
        """Yield a part for each transformation and requirement."""
        from roadworthy.reliability import Accuracy
        from roadworthy.reliability.requirements import PRESERVED

        study = entry.study
        if study.endswith((".yaml", ".yml")):
            study = str(context.located(study))
        kinds = PRESERVED[entry.preserve]
        for transform in entry.reliability:
            for kind in kinds:
                wanted = Wanted(transform, kind, entry, study, context.seed)
                # Any measure will do to see whether the rest can be used.
                self._made(wanted, [Accuracy()])
                names = [transform if len(entry.reliability) > 1 else "", kind if len(kinds) > 1 else ""]
                yield Part("-".join(name for name in names if name), "", {}, wanted)

    def _made(
        self, wanted: Wanted, measures: Sequence[TaskMeasure], requirements: int = 1
    ) -> list[Preservation]:
        from roadworthy.reliability import Bootstrap
        from roadworthy.reliability.requirements import requirements_of

        entry = wanted.entry
        bootstrap = Bootstrap(
            batches=entry.batches, images=entry.batch, confidence=entry.confidence, seed=wanted.seed
        )
        chosen = entry.model_dump(include={"limit", "versions", "sampling", "tolerance"})
        chosen |= {
            "rule": entry.decide,
            "requirements": requirements,
            "study": wanted.study,
            "bootstrap": bootstrap,
            "only": tuple(entry.only or ()),
        }
        return requirements_of(measures, [wanted.transform], wanted.preserve, **chosen)

    def needs(self, part: Part[Wanted]) -> Collection[str]:
        """Return what the transformation looks better with."""
        from roadworthy.transforms import kind_of

        try:
            return kind_of(part.inside.transform).wants
        except UnknownNameError:
            return ()  # a transformation of its own, which needs the image alone

    def misfit(self, part: Part[Wanted], facts: Facts) -> str:
        """It needs pictures that the model is for, and enough of them; for correctness, the truth, too."""
        name, data = facts.model.name, facts.data
        if facts.answer is None:
            return f"{name} fails on the first frame, so no measure can be chosen: {facts.failure}"
        assert data is not None
        assert facts.task is not None
        truths = _truths(data.first)
        of_classes = truths == {"classification"} or facts.task == "classification"
        if truths and facts.task not in truths and of_classes:
            what = " and ".join(sorted(truths))
            return OtherTask(f"{data.name} is for {what}, and {name} is a model for {facts.task}")
        if part.inside.preserve == "correctness" and facts.task not in truths:
            reason = f"{data.name} does not know what is true for {facts.task}, and correctness needs that"
            return NoTruth(reason) if part.inside.entry.preserve == "both" else reason
        return ""

    def variants(self, part: Part[Wanted], facts: Facts) -> Sequence[Part[Wanted]]:
        """Return a part for each measure that suits the model."""
        from roadworthy.reliability.requirements import PRESERVED, fitting_measures, tried_together

        wanted, entry = part.inside, part.inside.entry
        assert facts.answer is not None
        assert facts.data is not None
        measures = fitting_measures(facts.model.system, facts.answer, entry.measure or [])
        kinds = [replace(part, inside=replace(wanted, preserve=kind)) for kind in PRESERVED[entry.preserve]]
        # All that the entry tries share its confidence, also where only some of it is run.
        together = tried_together(
            len(entry.reliability),
            sum(1 for one in kinds if not self.misfit(one, facts)),
            measures[0].task,
            entry.measure or [],
        )
        made = []
        for one in self._made(wanted, measures, together):
            if entry.decide == "paper":
                one.bootstrap.batch_of(len(facts.data.frames))
            word = one.measure.label or one.measure.word
            named = f"{part.name}/{word}" if part.name else word
            made.append(Part(named, one.text, one.requirement().parameters, replace(wanted, made=one)))
        return made

    def method(self, parts: Mapping[str, Part[Wanted]], context: Context) -> Method:
        """Return one method for all."""
        from roadworthy.reliability import ReliabilityMethod

        return ReliabilityMethod()

    def system(self, system: SystemUnderTest, part: Part[Wanted]) -> SystemUnderTest:
        """Return the model as it is measured: a detector gives all its boxes, also those it is unsure of."""
        from roadworthy.models.scorers import with_all_boxes

        return with_all_boxes(system)

    def cases(self, part: Part[Wanted], frames: int) -> int:
        """Return a case for each version of each frame."""
        return frames * part.inside.entry.versions

    def probed(self, part: Part[Wanted], frames: int, of: int) -> tuple[Mapping[str, Any], float]:
        """Return the same with batches of as many images as there are."""
        return {**part.parameters, "batch": None}, frames / of


def _truths(frame: Frame) -> set[str]:
    """Return for which tasks it is known what is true in a frame."""
    found = set()
    if "class" in frame.metadata:
        return {"classification"}
    if frame.boxes is not None:
        found.add("detection")
    if frame.labels is not None:
        found.add("segmentation")
    if frame.signals.as_dict():
        found.add("regression")
    return found
