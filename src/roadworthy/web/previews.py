"""What a run would do, on a few frames: the same cases, pictures and verdicts that it will have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from roadworthy.bbsl.method import BbslMethod
from roadworthy.cases import Answers, Case, Method, Predict, Predicted, Requirement, Verdict
from roadworthy.datasets import ChosenFrames, spread
from roadworthy.errors import EngineError, InputError, NotApplicable, RuleError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame
from roadworthy.labelling import estimated_by
from roadworthy.models import SystemUnderTest, history_of, load_model
from roadworthy.rules.gauges import unit_of
from roadworthy.runs.batches import looked_at, make_frames
from roadworthy.runs.gate import Gate
from roadworthy.runs.suites import suite_of
from roadworthy.runs.suites.kinds import Context, kind_of
from roadworthy.runs.suites.opening import open_data
from roadworthy.seeding import rng_for
from roadworthy.transforms.answers import overlays
from roadworthy.web.jobs.asks import AnyAsk, BbslAsk, RulesAsk

if TYPE_CHECKING:
    from roadworthy.rules.expectation import Expectation
    from roadworthy.web.pages import PictureCache


_OBJECTS = 12  # of a frame that are listed


@dataclass(frozen=True)
class PreviewTrial:
    """What is tried, with all that it names opened.

    Attributes:
        method: Makes and judges the cases.
        inside: What the entry of the suite stands for: the plan of a rule, or the method of a specification.
        requirement: What must hold.
        data: The frames.
        system: The model.
    """

    method: Method
    inside: Any
    requirement: Requirement
    data: ChosenFrames
    system: SystemUnderTest


def trial_of(ask: AnyAsk, model: str) -> PreviewTrial:
    """Return what a run would try on one of its models, opened now as the run would open it.

    Raises:
        InputError: Something of it cannot be used; says what.
    """
    suite = suite_of(ask.suite())
    ((id, entry),) = suite.form.requirements.items()
    ((name, form),) = suite.form.data.items()
    context = Context(suite.folder, ask.seed)
    kind = kind_of(entry)
    try:
        (part,) = kind.parts(entry, context)
    except RuleError as error:
        raise InputError(f"the rule is not understood: {error.reason}") from error
    system = load_model(model)
    data = open_data(name, form, suite.folder, history=history_of(system)).frames
    requirement = Requirement(id, part.text, kind.name)
    return PreviewTrial(kind.method({id: part}, context), part.inside, requirement, data, system)


def preview(ask: RulesAsk | BbslAsk, count: int, pictures: PictureCache) -> dict[str, Any]:
    """Return what the page shows before a run, with the answers of its first model.

    Args:
        ask: What the run would be.
        count: How many frames.
        pictures: Where pictures are kept for the page.

    Raises:
        InputError: Something of what is asked for cannot be used.

    Example:
        >>> from roadworthy.web.pages import PictureCache
        >>> ask = RulesAsk(text="If it is night, slow down.", models=("dave2",), data="world:town", frames=9)
        >>> [len(one["pictures"]) for one in preview(ask, 1, PictureCache())["frames"]]
        [2]
    """
    trial = trial_of(ask, ask.models[0])
    chosen = list(spread(len(trial.data), count))
    if isinstance(ask, BbslAsk):
        if not isinstance(trial.inside, BbslMethod):
            raise InputError(
                "a specification over several frames has no preview of single ones: start the run"
            )
        shown = [_labelled(trial, index, pictures) for index in chosen]
    else:
        shown = [_changed(trial, case, pictures) for case in _cases_of(trial, set(chosen), ask.seed)]
    return {"model": trial.system.name, "data": trial.data.name, "of": len(trial.data), "frames": shown}


def _cases_of(trial: PreviewTrial, chosen: set[int], seed: int) -> Iterator[Case]:
    """Yield the cases of some frames, as the runner will have them: with the same random numbers."""
    cases = trial.method.cases(trial.requirement, trial.data, rng_for(seed, "cases"))
    for number, case in enumerate(islice(cases, max(chosen) + 1)):
        if number in chosen and isinstance(case, Case):
            yield case


def _changed(trial: PreviewTrial, case: Case, pictures: PictureCache) -> dict[str, Any]:
    """Return a frame before and after the change, with the model's answers."""
    (ask,) = case.asks
    assert isinstance(ask, Predict)
    frames: list[Frame] = []
    expectations: Sequence[Expectation] = ()
    verdict: Verdict
    try:
        # One by one, so that those before one that cannot be made are shown.
        for one in looked_at(Gate(), ask.frames, make_frames(ask.frames)):
            if not isinstance(one.frame, Frame):
                raise one.frame
            frames.append(one.frame)
            if one.refusal:
                raise NotApplicable(one.refusal)
        predictions = tuple(trial.system.predict(frames))
        expectations = trial.inside.told_by(predictions[0]).expectations
        verdict = trial.method.judge(case, Answers((Predicted(tuple(frames), predictions),)))
    except NotApplicable as error:
        verdict = Verdict.not_applicable(case, error.reason)
    except EngineError as error:
        verdict = Verdict.engine_error(case, error.reason)
    except SystemUnderTestError as error:
        verdict = Verdict.error(case, str(error))
    # Of a clip, the frame that decides.
    each = len(trial.inside.scenarios) + 1
    first = int(str(verdict.measures.get("decides", 0))) * each
    return {
        "frame": case.id,
        "pictures": [pictures.add(frame.image) for frame in frames[first : first + each]],
        "size": [frames[0].width, frames[0].height] if frames else [],
        "status": str(verdict.status),
        "reason": verdict.reason,
        "margin": verdict.margin,
        "overlays": overlays(verdict.measures),
        "estimated": estimated_by(frames[-1].metadata) if frames else "",
        "answers": [
            {
                "output": one.output,
                "unit": "°" if one.output == "steering" else unit_of(one.output),
                "expected": str(one),
                "before": verdict.measures[f"before.{number}"],
                "after": verdict.measures[f"after.{number}"],
                "margin": verdict.measures[f"margin.{number}"],
                "visual_change": verdict.measures.get(f"visual_change.{number}"),
            }
            for number, one in enumerate(expectations, 1)
            if f"before.{number}" in verdict.measures
        ],
    }


def _labelled(trial: PreviewTrial, index: int, pictures: PictureCache) -> dict[str, Any]:
    """Return a frame with its true boxes and the detections, and the cases that both lead to."""
    frame = trial.data[index]
    if frame.boxes is None:
        raise InputError(
            f"frame {frame.id!r} of {trial.data.name} has no boxes: choose data with ground truth"
        )
    (found,) = trial.system.predict([frame])
    if not isinstance(found, Boxes):
        raise InputError(f"{trial.system.name} does not answer with boxes: choose a detector")
    alone = replace(trial.data, indices=[trial.data.indices[index]])
    rows = []
    for case in islice(trial.method.cases(trial.requirement, alone, rng_for(0, "cases")), _OBJECTS):
        if isinstance(case, Case):
            try:
                verdict = trial.method.judge(case, Answers((Predicted((frame,), (found,)),)))
            except NotApplicable as error:
                verdict = Verdict.not_applicable(case, error.reason)
            rows.append(_row(verdict))
    return {
        "frame": frame.id,
        "pictures": [pictures.add(frame.image)],
        "size": [frame.width, frame.height],
        "boxes": [*_boxes("truth", frame.boxes), *_boxes("detection", found)],
        "rows": rows,
    }


def _boxes(kind: str, boxes: Boxes) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "name": name, "corners": [round(float(side), 1) for side in corners]}
        for name, corners in zip(boxes.classes, boxes.xyxy.tolist(), strict=True)
    ]


def _row(verdict: Verdict) -> dict[str, Any]:
    told = {"status": str(verdict.status), "margin": verdict.margin, "reason": verdict.reason}
    return told | {name: verdict.measures.get(name) for name in ("expected", "found", "iou")}
