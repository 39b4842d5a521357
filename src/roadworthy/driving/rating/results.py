"""What a rating study says: whether raters agree, what they think of clips, and which metrics go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.driving.analysis import (
    Agreement,
    Correlation,
    MetricSummary,
    correlate,
    fleiss_kappa,
    summarise,
    variance_scores,
)
from roadworthy.driving.rating.answers import Ratings
from roadworthy.driving.rating.clips import RATED_METRICS, Clip
from roadworthy.driving.rating.plan import LABELS, Questionnaire, Study
from roadworthy.driving.requirements import AUTONOMOUS
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

_LEAST_CLIPS = 3  # for a correlation


@dataclass(frozen=True)
class QuestionnaireResult:
    """How the raters of one questionnaire agree.

    Attributes:
        questionnaire: The questionnaire.
        raters: How many raters count.
        inattentive: How many did not give the crash the lowest score.
        incomplete: How many left out a clip.
        agreement: Fleiss' κ over the clips that are rated; None where there is none.
        left_out: Why its clips are not correlated with metrics; empty where they are.
    """

    questionnaire: Questionnaire
    raters: int
    inattentive: int
    incomplete: int
    agreement: Agreement | None
    left_out: str


@dataclass(frozen=True)
class ScoredClip:
    """What raters think of a clip.

    Attributes:
        clip: The clip.
        questionnaire: Where it was shown.
        score: The mean of its scores.
        scores: How many raters gave 1, 2, 3, 4 and 5.
        used: Whether it is correlated with metrics.
    """

    clip: Clip
    questionnaire: str
    score: float
    scores: tuple[int, ...]
    used: bool


@dataclass(frozen=True)
class StudyResult:
    """What a study says.

    Attributes:
        study: The study.
        questionnaires: How far raters agree.
        clips: What they think of the clips that were rated, attention clips aside.
        summary: Correlation and independence of the metrics, as in Table II; None where there is none.
        dropped: The metrics that are not in it, because some clip does not have them.
        notes: What a reader should know.
    """

    study: Study
    questionnaires: tuple[QuestionnaireResult, ...]
    clips: tuple[ScoredClip, ...]
    summary: MetricSummary | None
    dropped: tuple[str, ...]
    notes: tuple[str, ...]


def evaluate_study(
    study: Study, ratings: Ratings, *, least_kappa: float = 0.2, level: float = 0.05
) -> StudyResult:
    """Evaluate a study as the paper does.

    Raters who do not see a crash for what it is are left out, and so are those who left out a clip. Then
    Fleiss' κ says how far the raters of a questionnaire agree. Clips of questionnaires with less than a fair
    agreement (κ below 0.2, or p of 0.05 and more) are not correlated with metrics.

    Args:
        study: The study.
        ratings: What raters answered.
        least_kappa: The least κ of a questionnaire that counts.
        level: Its p-value must be below this.
    """
    questionnaires = [_agreed(study, one, ratings, least_kappa, level) for one in study.questionnaires]
    clips = [clip for one in questionnaires for clip in _scored(study, one, ratings)]
    used = [one for one in clips if one.used]
    notes = []
    summary: MetricSummary | None = None
    dropped: tuple[str, ...] = ()
    if len(used) < _LEAST_CLIPS:
        notes.append(f"{len(used)} clips are left, which is too few to correlate metrics with scores")
    elif np.ptp([one.score for one in used]) == 0:
        notes.append("all clips have the same score, so no metric can go with it")
    else:
        summary, dropped, small = _summary(used)
        notes += [
            f"{track} has fewer than {_LEAST_CLIPS} clips left and no column of its own" for track in small
        ]
    return StudyResult(study, tuple(questionnaires), tuple(clips), summary, dropped, tuple(notes))


def _rated(study: Study, questionnaire: Questionnaire) -> list[str]:
    return [id for id in questionnaire.clips if study.clips[id].kind != "attention"]


def _counts(study: Study, questionnaire: Questionnaire, ratings: Ratings) -> list[list[int]]:
    """Return for each rated clip how many raters gave each score."""
    given = ratings.scores[questionnaire.id].values()
    every = range(1, len(LABELS) + 1)
    return [
        [sum(scores[id] == score for scores in given) for score in every]
        for id in _rated(study, questionnaire)
    ]


def _agreed(
    study: Study, questionnaire: Questionnaire, ratings: Ratings, least_kappa: float, level: float
) -> QuestionnaireResult:
    raters = len(ratings.scores[questionnaire.id])
    agreement, why = None, ""
    if raters < 2:
        why = f"{raters} raters are too few to agree"
    else:
        try:
            agreement = fleiss_kappa(_counts(study, questionnaire, ratings))
        except InputError as error:
            why = str(error)
    if agreement is not None:
        if not agreement.p_value < level:
            why = f"agreement may be chance, p = {agreement.p_value:.2f}"
        elif agreement.kappa < least_kappa:
            why = f"κ is below {least_kappa:g}"
    return QuestionnaireResult(
        questionnaire,
        raters,
        len(ratings.inattentive[questionnaire.id]),
        len(ratings.incomplete[questionnaire.id]),
        agreement,
        why,
    )


def _scored(study: Study, result: QuestionnaireResult, ratings: Ratings) -> list[ScoredClip]:
    if not result.raters:
        return []
    one = result.questionnaire
    counts = _counts(study, one, ratings)
    values = np.arange(1, len(LABELS) + 1)
    return [
        ScoredClip(
            study.clips[id],
            one.id,
            float(np.dot(values, row) / sum(row)),
            tuple(row),
            used=not result.left_out,
        )
        for id, row in zip(_rated(study, one), counts, strict=True)
    ]


def _summary(clips: Sequence[ScoredClip]) -> tuple[MetricSummary, tuple[str, ...], list[str]]:
    """Return the correlations, the metrics that not all clips have, and the tracks that are too small.

    As in the paper, what counts crashes and crossed lines is correlated with scores and not ranked.
    """
    known = [name for name in RATED_METRICS if all(name in one.clip.metrics for one in clips)]
    dropped = tuple(name for name in RATED_METRICS if name not in known)
    if not known:
        raise InputError("no metric is known of every clip: record the drives with speed, steering and place")
    table = _table(clips, known)
    every = summarise(table, [one.score for one in clips])
    tracks: dict[str, list[ScoredClip]] = {}
    for one in clips:
        tracks.setdefault(one.clip.track, []).append(one)
    large = {name: own for name, own in sorted(tracks.items()) if len(own) >= _LEAST_CLIPS}
    columns: dict[str, Mapping[str, Correlation | None]] = {}
    if len(tracks) > 1:
        columns = {name: _correlations(own, known) for name, own in large.items()}
    ranked = [name for name in known if name in AUTONOMOUS]
    independence = variance_scores(table.select(ranked)) if ranked else every.independence
    summary = MetricSummary(FrozenDict({**columns, **every.correlations}), independence)
    return summary, dropped, [name for name in tracks if name not in large and len(tracks) > 1]


def _table(clips: Sequence[ScoredClip], metrics: Sequence[str]) -> SectorTable:
    return SectorTable.of(
        {name: [one.clip.metrics[name] for one in clips] for name in metrics},
        drivers=[one.clip.driver for one in clips],
        sectors=[one.clip.id for one in clips],
    )


def _correlations(clips: Sequence[ScoredClip], metrics: Sequence[str]) -> FrozenDict[str, Correlation | None]:
    scores = [one.score for one in clips]
    return FrozenDict(
        {name: correlate([one.clip.metrics[name] for one in clips], scores) for name in metrics}
    )
