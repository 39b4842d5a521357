"""What people say of clips: whose answers count, whether raters agree, and which metrics go with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import rendered, write_json, write_text
from roadworthy._tables import csv_text
from roadworthy.driving.requirements import AUTONOMOUS
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError, check_known
from roadworthy.result_tables import ResultTable, markdown_text
from roadworthy.studies.clips import COLUMNS, LABELS, RATED_METRICS, Clip, ClipPlan, Kind
from roadworthy.studies.statistics import LEAST_DRIVES, MetricSummary, fleiss_kappa, summarise
from roadworthy.studies.study import ANSWERS, Study, check_score, read_answers, read_score

_HIGHEST = len(LABELS)


@dataclass(frozen=True)
class ClipRatings:
    """The scores of all raters of a study.

    Attributes:
        scores: By questionnaire, rater and clip, from 1 to 5; only of raters whose answers count.
        inattentive: By questionnaire, the raters who did not give a crash the lowest score.
        incomplete: By questionnaire, the raters who left out a clip.
    """

    scores: Mapping[str, Mapping[str, Mapping[str, int]]]
    inattentive: Mapping[str, Sequence[str]]
    incomplete: Mapping[str, Sequence[str]]


def read_clip_ratings(plan: ClipPlan, files: Sequence[Path]) -> ClipRatings:
    """Read the answers to a study, and tell apart whose count.

    Args:
        plan: The study.
        files: CSV files with the columns questionnaire, rater, clip and score. A line without a score counts
            as not answered, and a rater without any score is nobody.

    Raises:
        InputError: A file cannot be read, or rows are wrong; names the file and the lines.
    """
    known = {one.id: one for one in plan.questionnaires}
    given: dict[str, dict[str, dict[str, int | None]]] = {id: defaultdict(dict) for id in known}

    def take(row: dict[str, str], _: str) -> None:
        questionnaire, rater, clip, text = (row[name] for name in COLUMNS)
        check_known("there is no questionnaire", questionnaire, known)
        check_known(f"{questionnaire} has no clip", clip, known[questionnaire].clips)
        if not rater:
            raise InputError("expected the name of the rater, got none")
        score = read_score(text)
        if score is not None:
            score = check_score("score", score, 1, _HIGHEST)
        if clip in given[questionnaire][rater]:
            raise InputError(
                f"{rater} has rated clip {clip} of {questionnaire} before: leave one of the lines out"
            )
        given[questionnaire][rater][clip] = score

    read_answers(files, COLUMNS, take)
    kept: dict[str, dict[str, dict[str, int]]] = {id: {} for id in known}
    inattentive: dict[str, list[str]] = {id: [] for id in known}
    incomplete: dict[str, list[str]] = {id: [] for id in known}
    for id, one in known.items():
        for rater, cells in given[id].items():
            scores = {clip: score for clip, score in cells.items() if score is not None}
            if any(score != 1 and plan.clips[clip].kind == "attention" for clip, score in scores.items()):
                inattentive[id].append(rater)
            elif scores and len(scores) < len(one.clips):
                incomplete[id].append(rater)
            elif scores:
                kept[id][rater] = {clip: scores[clip] for clip in one.clips}
    return ClipRatings(kept, inattentive, incomplete)


@dataclass(frozen=True)
class QuestionnaireResult:
    """How the raters of one questionnaire agree.

    Attributes:
        questionnaire: Its id.
        track: Where its clips are from; empty where they are mixed.
        raters: How many raters count.
        inattentive: How many did not give the crash the lowest score.
        incomplete: How many left out a clip.
        kappa: Fleiss' κ over the clips that are rated; None where there is none.
        p: Its p-value.
        agreement: What Landis and Koch call it.
        left_out: Why its clips are not correlated with metrics; None where they are.
    """

    questionnaire: str
    track: str
    raters: int
    inattentive: int
    incomplete: int
    kappa: float | None
    p: float | None
    agreement: str | None
    left_out: str | None

    def cells(self) -> tuple[str, ...]:
        """Return it for a table."""
        figures = (f"{self.kappa:.2f}", f"{self.p:.3f}") if self.kappa is not None else ("–", "–")
        out = str(self.inattentive + self.incomplete)
        used = f"no: {self.left_out}" if self.left_out else "yes"
        words = self.agreement or "–"
        return self.questionnaire, self.track or "mixed", str(self.raters), out, *figures, words, used


@dataclass(frozen=True)
class ScoredClip:
    """What raters think of a clip.

    Attributes:
        clip: Its id.
        questionnaire: Where it was shown.
        track: Where it is from.
        driver: Who drove.
        kind: What it was shown for.
        sectors: The sectors that it is of.
        seconds: How long it lasts.
        score: The mean of its scores.
        raters: How many raters gave them.
        scores: How many gave 1, 2, 3, 4 and 5.
        used: Whether it is correlated with metrics.
        metrics: What it was like.
    """

    clip: str
    questionnaire: str
    track: str
    driver: str
    kind: Kind
    sectors: tuple[str, ...]
    seconds: float
    score: float
    raters: int
    scores: tuple[int, ...]
    used: bool
    metrics: Mapping[str, float]

    @classmethod
    def of(cls, clip: Clip, questionnaire: str, scores: tuple[int, ...], *, used: bool) -> ScoredClip:
        """Sum up the scores of a clip, at least one."""
        mean = float(np.dot(range(1, _HIGHEST + 1), scores) / sum(scores))
        shown = clip.id, questionnaire, clip.track, clip.driver, clip.kind, clip.sectors
        return cls(*shown, round(clip.seconds, 3), mean, sum(scores), scores, used, clip.metrics)


@dataclass(frozen=True)
class ClipResult:
    """What a study says.

    Attributes:
        plan: The study.
        questionnaires: How far raters agree.
        clips: What they think of the clips that were rated, attention clips aside.
        summary: Correlation and independence of the metrics, as in Table II; None where there is none.
        dropped: The metrics that are not in it, because some clip does not have them.
        notes: What a reader should know.
    """

    plan: ClipPlan
    questionnaires: tuple[QuestionnaireResult, ...]
    clips: tuple[ScoredClip, ...]
    summary: MetricSummary | None
    dropped: tuple[str, ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return all that the study says, as JSON can hold it."""
        return {
            "seed": self.plan.seed,
            "rule": self.plan.rule,
            "questionnaires": [asdict(one) for one in self.questionnaires],
            "clips": [asdict(one) for one in self.clips],
            "correlations": self.summary.rows() if self.summary else [],
            "explained": list(self.summary.independence.ratios) if self.summary else [],
            "dropped": list(self.dropped),
            "notes": list(self.notes),
        }

    def tables(self) -> list[ResultTable]:
        """Return it for people to read."""
        columns = ("questionnaire", "track", "raters", "left out", "κ", "p", "agreement", "clips used")
        rows = []
        for kind in ("good", "poor"):
            scores = [one.score for one in self.clips if one.kind == kind]
            figures = (sum(scores) / len(scores), min(scores), max(scores)) if scores else ()
            rows.append((kind, str(len(scores)), *([f"{one:.2f}" for one in figures] or ["–"] * 3)))
        tables = [
            ResultTable("Agreement", columns, tuple(one.cells() for one in self.questionnaires)),
            ResultTable("Scores", ("clips", "number", "mean score", "lowest", "highest"), tuple(rows)),
        ]
        if self.summary:
            used = sum(one.used for one in self.clips)
            tables.append(self.summary.table(f"Metrics and scores, over {used} clips"))
        return tables

    def remarks(self) -> list[str]:
        """Return what a reader should know, a sentence each."""
        constant = self.summary.independence.constant if self.summary else ()
        lines = [f"The same in all clips, so without a score: {', '.join(constant)}."] if constant else []
        lines += [f"Not known of every clip: {', '.join(self.dropped)}."] if self.dropped else []
        return [*lines, *(f"{note}." for note in self.notes)]

    def markdown(self) -> str:
        """Return the results for people to read."""
        return rendered(
            Path(__file__).with_name("clip_results.md.jinja"),
            questionnaires=self.questionnaires,
            rule=self.plan.rule,
            tables=self.tables(),
            remarks=self.remarks(),
            markdown_text=markdown_text,
        )

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write agreement.csv, clips.csv, correlations.csv, results.json and results.md.

        Returns:
            What was written.

        Raises:
            InputError: A file cannot be written.
        """
        document = self.document()
        clips = []
        for one in document["clips"]:
            metrics = one.pop("metrics")
            lists = {name: " ".join(map(str, one[name])) for name in ("sectors", "scores")}
            clips.append(one | lists | {name: metrics.get(name) for name in RATED_METRICS})
        texts = {
            "agreement.csv": _csv(document["questionnaires"], "questionnaire"),
            "clips.csv": _csv(clips, "clip"),
            "correlations.csv": _csv(document["correlations"], "metric"),
            "results.md": self.markdown(),
        }
        for name, text in texts.items():
            write_text(folder / name, text)
        write_json(folder / "results.json", self.document())
        return tuple(folder / name for name in sorted([*texts, "results.json"]))


def _csv(rows: Sequence[dict[str, Any]], first: str) -> str:
    """Return rows as CSV; without any, the name of the first column only."""
    columns = list(rows[0]) if rows else [first]
    return csv_text(columns, ([one.get(name) for name in columns] for one in rows))


def evaluate_clips(
    plan: ClipPlan, ratings: ClipRatings, *, least_kappa: float = 0.2, level: float = 0.05
) -> ClipResult:
    """Evaluate a study as the paper does.

    Raters who do not see a crash for what it is are left out, and so are those who left out a clip. Then
    Fleiss' κ says how far the raters of a questionnaire agree. Clips of questionnaires with less than a fair
    agreement (κ below 0.2, or p of 0.05 and more) are not correlated with metrics.

    Args:
        plan: The study.
        ratings: What raters answered.
        least_kappa: The least κ of a questionnaire that counts.
        level: Its p-value must be below this.
    """
    questionnaires, clips = list[QuestionnaireResult](), list[ScoredClip]()
    for one in plan.questionnaires:
        given = ratings.scores[one.id].values()
        rated = [id for id in one.clips if plan.clips[id].kind != "attention"]
        tallies = [Counter(scores[id] for scores in given) for id in rated]
        counts = [tuple(tally[score] for score in range(1, _HIGHEST + 1)) for tally in tallies]
        agreement = _agreement(counts, len(given), least_kappa, level)
        inattentive, incomplete = len(ratings.inattentive[one.id]), len(ratings.incomplete[one.id])
        result = QuestionnaireResult(one.id, one.track, len(given), inattentive, incomplete, *agreement)
        questionnaires.append(result)
        if given:
            clips += [
                ScoredClip.of(plan.clips[id], one.id, row, used=not result.left_out)
                for id, row in zip(rated, counts, strict=True)
            ]
    used = [one for one in clips if one.used]
    notes: list[str] = []
    summary: MetricSummary | None = None
    dropped: tuple[str, ...] = ()
    if len(used) < LEAST_DRIVES:
        notes.append(f"{len(used)} clips are left, which is too few to correlate metrics with scores")
    elif np.ptp([one.score for one in used]) == 0:
        notes.append("all clips have the same score, so no metric can go with it")
    else:
        summary, dropped = _summary(used)
        tracks = Counter(one.track for one in used)
        notes += [
            f"{track} has fewer than {LEAST_DRIVES} clips left and no column of its own"
            for track, count in tracks.items()
            if len(tracks) > 1 and count < LEAST_DRIVES
        ]
    return ClipResult(plan, tuple(questionnaires), tuple(clips), summary, dropped, tuple(notes))


def _agreement(
    counts: Sequence[Sequence[int]], raters: int, least_kappa: float, level: float
) -> tuple[float | None, float | None, str | None, str | None]:
    """Return κ, its p-value and its name, and why the clips are not used; None where they are."""
    if raters < 2:
        return None, None, None, f"{'1 rater is' if raters else '0 raters are'} too few to agree"
    try:
        found = fleiss_kappa(counts)
    except InputError as error:
        return None, None, None, str(error)
    why = f"κ is below {least_kappa:g}" if found.kappa < least_kappa else None
    if not found.p_value < level:
        why = f"agreement may be chance, p = {found.p_value:.2f}"
    return found.kappa, found.p_value, found.words, why


def _summary(clips: Sequence[ScoredClip]) -> tuple[MetricSummary, tuple[str, ...]]:
    """Return the correlations, and the metrics that not all clips have.

    As in the paper, what counts crashes and crossed lines is correlated with scores and not ranked.
    """
    known = [name for name in RATED_METRICS if all(name in one.metrics for one in clips)]
    if not known:
        raise InputError("no metric is known of every clip: record the drives with speed, steering and place")
    table = SectorTable.of({name: [one.metrics[name] for one in clips] for name in known})
    tracks, ranked = [one.track for one in clips], [name for name in known if name in AUTONOMOUS]
    summary = summarise(table, [one.score for one in clips], groups=tracks, ranked=ranked)
    return summary, tuple(name for name in RATED_METRICS if name not in known)


class ClipStudy(Study):
    """Clips of drives; people say how good the driving is."""

    kind = "clips"
    title = "How good is the driving"
    columns = COLUMNS
    item = "clip"
    asked = ("score",)

    def _parts(self) -> dict[str, list[dict[str, Any]]]:
        return {str(one["id"]): list(one["clips"]) for one in self.plan["questionnaires"]}

    def _other_files(self) -> list[str]:
        return [str(self.plan["reference"])] if self.plan.get("reference") else []

    def _prepare(self) -> int:
        self._orders = {
            str(one["id"]): [tuple(map(str, order)) for order in one["orders"]]
            for one in self.plan["questionnaires"]
        }
        for id, orders in self._orders.items():
            if not orders or any(set(order) != self.ids[id] for order in orders):
                raise ValueError(f"the orders of {id} are not those of its clips")
        self._asked = {
            "question": str(self.plan["question"]),
            "scale": [{"score": int(one["score"]), "label": str(one["label"])} for one in self.plan["scale"]],
            "reference": self.plan.get("reference"),
        }
        return int(self.plan["raters_per_questionnaire"])

    def begin(self, rater: str) -> dict[str, Any]:
        """Return a person's questionnaire: the one begun, or else the one that fewest have."""
        with self.answers.lock:
            rows = self.answers.read(rater)
            if not rows and (rows := self._dealt(rater)):
                self.answers.write(rater, rows)
        if not rows:
            return {"items": [], "part": ""}
        id = rows[0]["questionnaire"]
        files = {str(clip["id"]): str(clip["file"]) for clip in self.parts_of_plan[id]}
        items = [
            {"id": row["clip"], "file": files[row["clip"]], "given": read_score(row["score"])} for row in rows
        ]
        return {"part": id, **self._asked, "items": items}

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store the score of a clip."""
        self.fill_in(rater, item, {"score": check_score("score", values.get("score"), 1, _HIGHEST)})

    def _dealt(self, rater: str) -> list[dict[str, str]]:
        """Return an empty table for a person: no two people of a questionnaire rate in the same order.

        Whoever began and gave no score may have gone for good: such an order is dealt again, but last.
        """
        dealt = [
            (rows[0]["questionnaire"], tuple(row["clip"] for row in rows), bool(self.answered(rows)))
            for rows in self.answers.read_all().values()
            if rows
        ]
        begun = Counter((id, order) for id, order, _ in dealt)
        rated = {(id, order) for id, order, some in dealt if some}
        raters = Counter(id for id, _, some in dealt if some)
        free = [
            (raters[id] + begun[id, order], begun[id, order], id, order)
            for id, orders in self._orders.items()
            for order in orders
            if (id, order) not in rated
        ]
        if not free:
            return []
        _, _, id, order = min(free, key=lambda one: one[:3])
        return self.blank_rows(rater, order, questionnaire=id)

    def result(self) -> ClipResult:
        """Return what people think so far, on the page and in the table that is filled in by hand.

        Raises:
            InputError: The answers cannot be used.
        """
        plan, by_hand = ClipPlan.read(self.folder), self.folder / ANSWERS
        files = [*self.answers.paths, *([by_hand] if by_hand.is_file() else [])]
        return evaluate_clips(plan, read_clip_ratings(plan, files))
