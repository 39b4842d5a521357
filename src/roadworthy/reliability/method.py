"""The method of reliability: frames change inside the range that humans tolerate, answers must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import rendered
from roadworthy.cases import (
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Outcome,
    OutcomeStatus,
    Predict,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.errors import InputError, NotApplicable
from roadworthy.reliability.checking import DistanceBounds, Pairs, Reliability, bound_distance, check
from roadworthy.reliability.measures import Record, read_measure
from roadworthy.reliability.requirements import METHOD, Preservation
from roadworthy.reliability.transformations import changed_frames
from roadworthy.statistics import FEWEST_CLUSTERS, ClusterTally
from roadworthy.transforms.answers import stored_answers

_BEFORE, _AFTER = "record.before", "record.after"


class ReliabilityMethod(BaseMethod):
    """Tests requirements of reliability: each case is an original and one of its changed images.

    A case passes when the changed image loses no more than the measure's slack: of its performance for
    correctness, of the likeness of its answer for prediction. The margin is the slack less the loss, in the
    unit of the measure. A row also holds the strength of the change, how far the transformation can go on
    this image (``reach``), and what is kept of both answers, from which `conclude` works out the reliability
    distance.

    The requirement passes when the upper bound of the distance is within the tolerance, is violated when the
    lower bound is beyond it or an answer could not be had, and is inconclusive in between. It is
    inconclusive, too, where correctness is asked of a model that has no more to lose than is tolerated. By
    the paper's rule it passes when Δ + 1.645 σ ≤ 0 and is violated when Δ > 0.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> from roadworthy.reliability import SignalWithin, transformation_named
        >>> from roadworthy.runs import run
        >>> blur = Preservation("prediction", transformation_named("defocus"), 0.94, SignalWithin("steering"))
        >>> frames, model = load("world:town", count=6), load_model("dave2")
        >>> result = run(ReliabilityMethod(), blur.requirement(), frames, model)
        >>> sum(result.counts.values()), result.outcome.measures["images"]
        (24, 6)
    """

    name = METHOD

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield a case for every frame and version.

        Raises:
            InputError: There are too few frames for a batch of the paper's rule.
        """
        asked = Preservation.of(requirement)
        if asked.rule == "paper":
            asked.bootstrap.batch_of(len(data))
        for id, version, original, changed in changed_frames(
            data, asked.transformation, asked.limit, versions=asked.versions, rng=rng, sampling=asked.sampling
        ):
            if asked.only and f"{id}#{version}" not in asked.only:
                continue
            parameters: dict[str, Scalar] = {
                "frame": id,
                "version": version,
                "transformation": asked.transformation.name,
                "preserve": asked.preserve,
                "measure": str(asked.measure),
                "seed": changed.seed,
                "share": changed.share,
            }
            yield Case(f"{id}#{version}", requirement.id, (Predict((original, changed)),), parameters)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the change costs this image more than the slack.

        Raises:
            NotApplicable: Correctness is asked for, and the frame does not tell what is true.
            SystemUnderTestError: The answer is of another kind than the measure is for.
        """
        # The measure comes along because this may be another process than that of `cases`.
        measure = read_measure(str(case.parameters["measure"]))
        predicted = answers.predicted()
        (original, changed), (before, after) = predicted.frames, predicted.predictions
        notes = changed.metadata.get("change")
        assert isinstance(notes, Mapping)
        similarity = measure.similarity(before, after)
        measures: dict[str, Scalar] = {
            "frame": str(case.parameters["frame"]),
            "similarity": similarity,
            **{name: notes[name] for name in ("transform", "strength", "reach") if name in notes},
        }
        loss = 1 - similarity
        try:
            records = measure.record(original, before), measure.record(original, after)
        except NotApplicable:
            if case.parameters["preserve"] == "correctness":
                raise
        else:
            values = [measure.value(one) for one in records]
            measures |= dict(zip((_BEFORE, _AFTER), records, strict=True))
            if not np.isnan(values).any():
                measures |= {"before": values[0], "after": values[1]}
            if case.parameters["preserve"] == "correctness":
                loss = 0.0 if np.isnan(values).any() else values[0] - values[1]
        # A loss that is exactly the slack may be a little more by rounding.
        margin = round(measure.slack - loss, 9)
        counted = replace(predicted, predictions=(measure.counted(before), measure.counted(after)))
        measures |= stored_answers(counted, violated=margin < 0)
        return Verdict.from_margin(case, margin, measures=measures)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the reliability distance with its bounds, and whether the requirement holds."""
        asked = Preservation.of(requirement)
        counts = dict.fromkeys(Status, 0)
        reasons: dict[str, int] = {}
        kept: list[Verdict] = []
        tally = ClusterTally()
        for verdict in verdicts:
            counts[verdict.status] += 1
            if verdict.status.is_judged:
                # All versions of an image belong together, also in rows of older runs, which do not say so.
                cluster = verdict.cluster or verdict.case_id.rpartition("#")[0]
                tally.add(cluster, failed=verdict.status is not Status.PASSED)
            if verdict.margin is not None:
                kept.append(verdict)
            else:
                reasons[verdict.reason] = reasons.get(verdict.reason, 0) + 1
        applicable = len(kept) + counts[Status.ERROR]
        rate = (counts[Status.VIOLATED] + counts[Status.ERROR]) / applicable if applicable else None
        if asked.only:
            return _of_chosen(requirement, counts, rate)
        try:
            found = _found(asked, collected(kept))
        except InputError as error:
            why = max(reasons, key=lambda one: reasons[one], default="")
            summary = f"nothing can be concluded: {error}" + (f"; most often: {why}" if why else "")
            status = OutcomeStatus.VIOLATED if counts[Status.ERROR] else OutcomeStatus.INCONCLUSIVE
            return Outcome(requirement.id, status, counts, rate, summary)
        measures = measured_by(found, kept, asked)
        measures["effective_cases"] = round(tally.rate().effective, 1)
        status = _status(found, asked, counts[Status.ERROR])
        summary = _summary(found, asked, status, counts[Status.ERROR], measures)
        return Outcome(requirement.id, status, counts, rate, summary, measures)


def _of_chosen(requirement: Requirement, counts: Mapping[Status, int], rate: float | None) -> Outcome:
    """Return the outcome of a few chosen cases, which is theirs alone: a distance is of all images."""
    failed = counts[Status.VIOLATED] + counts[Status.ERROR]
    judged = failed + counts[Status.PASSED]
    status = OutcomeStatus.VIOLATED if failed else OutcomeStatus.PASSED
    if not judged:
        status = OutcomeStatus.INCONCLUSIVE
    summary = f"{failed} of {judged} chosen cases failed; a reliability distance needs all cases"
    return Outcome(requirement.id, status, counts, rate, summary)


def collected(verdicts: Iterable[Verdict]) -> Pairs:
    """Return what is kept of the answers, from the verdicts on their cases."""
    rows = list(verdicts)
    frames = [str(one.measures["frame"]) for one in rows]
    # Rows of older runs do not say their cluster.
    clusters = [one.cluster or frame for one, frame in zip(rows, frames, strict=True)]
    changes = np.array([one.visual_change or 0.0 for one in rows], float)
    alike = np.array([_as_float(one.measures["similarity"]) for one in rows], float)
    pairs = Pairs(_numbered(frames), changes, alike, cluster=_numbered(clusters))
    if any(one.measures.get(_AFTER) is None for one in rows):
        return pairs
    before = {frame: _record(one.measures[_BEFORE]) for frame, one in zip(frames, rows, strict=True)}
    after = [_record(one.measures[_AFTER]) for one in rows]
    return replace(pairs, before=list(before.values()), after=after)


def _numbered(names: Sequence[str]) -> NDArray[np.intp]:
    """Return names as numbers, in the order in which they first come."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.intp)


def _record(value: Scalar) -> Record:
    return value if isinstance(value, str) else _as_float(value)


def _as_float(value: Scalar) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _found(asked: Preservation, pairs: Pairs) -> Reliability | DistanceBounds:
    if asked.rule == "paper":
        return check(pairs, asked.preserve, asked.measure, asked.bootstrap, asked.limit)
    how = {"confidence": asked.confidence, "limit": asked.limit, "baseline": asked.bootstrap.baseline}
    return bound_distance(pairs, asked.preserve, asked.measure, seed=asked.bootstrap.seed, **how)


def measured_by(
    found: Reliability | DistanceBounds, verdicts: Iterable[Verdict], asked: Preservation
) -> dict[str, Scalar]:
    """Return what a check found as one row."""
    reaches = [_as_float(one.measures["reach"]) for one in verdicts if one.measures.get("reach") is not None]
    measures: dict[str, Scalar] = {"limit": asked.limit, "distance": found.distance, "rule": asked.rule}
    if isinstance(found, Reliability):
        measures |= {
            "deviation": found.deviation,
            "bound": found.bound,
            "required": found.required.mean,
            "reached": found.reached.mean,
            "converged": found.converged,
            "other_distance": found.other[0],
            "other_bound": found.other[1],
            "batches": found.batches,
            "batch": found.batch,
        }
    else:
        measures |= {
            "bound": found.upper,
            "lower_bound": found.lower,
            "tolerance": asked.tolerance,
            "requirements": asked.requirements,
            "required": found.required,
            "reached": found.reached,
            "clusters": found.clusters,
            "counted": "images" if found.single else "clusters",
            "clusters_needed": asked.needed(found.heaviest),
        }
    return measures | {
        "vacuous": _vacuous(found, asked),
        "epsilon": found.epsilon,
        "images": found.images,
        "pairs": found.pairs,
        "empty_tenths": sum(1 for one in found.spread if not one),
        "reach": max(reaches) if reaches else None,
        "share_reaching": float(np.mean([one >= asked.limit for one in reaches])) if reaches else None,
    }


def _vacuous(found: Reliability | DistanceBounds, asked: Preservation) -> bool:
    """Return whether correctness is asked of a model that has no more to lose than is tolerated."""
    if isinstance(found, Reliability):
        return found.vacuous
    return asked.preserve == "correctness" and found.required <= asked.tolerance


def _status(found: Reliability | DistanceBounds, asked: Preservation, errors: int) -> OutcomeStatus:
    if isinstance(found, Reliability):
        violated, passed = found.distance > 0, found.satisfied
    else:
        violated, passed = found.lower > asked.tolerance, found.upper <= asked.tolerance
        if found.few:
            violated = passed = False
    if errors or violated:
        return OutcomeStatus.VIOLATED
    return OutcomeStatus.PASSED if passed and not _vacuous(found, asked) else OutcomeStatus.INCONCLUSIVE


def _summary(
    found: Reliability | DistanceBounds,
    asked: Preservation,
    status: OutcomeStatus,
    errors: int,
    measures: Mapping[str, Scalar],
) -> str:
    facts = {"found": found, "by_paper": isinstance(found, Reliability), "fewest": FEWEST_CLUSTERS}
    template = Path(__file__).with_name("summary.jinja")
    clauses = rendered(template, asked=asked, status=status, errors=errors, measures=measures, **facts)
    return "; ".join(clauses.splitlines())
