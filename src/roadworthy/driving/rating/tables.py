"""The results of a rating study as files: CSV for programs, Markdown for people, JSON for both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.driving.rating.clips import RATED_METRICS
from roadworthy.driving.rating.results import StudyResult

_Rows = list[dict[str, Any]]


def write_results(result: StudyResult, folder: Path) -> tuple[Path, ...]:
    """Write agreement.csv, clips.csv, correlations.csv, results.json and results.md.

    Returns:
        What was written.

    Raises:
        InputError: A file cannot be written.
    """
    document = as_document(result)
    texts = {
        "agreement.csv": _csv(document["questionnaires"], "questionnaire"),
        "clips.csv": _csv([_flat(one) for one in document["clips"]], "clip"),
        "correlations.csv": _csv(document["correlations"], "metric"),
        "results.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        "results.md": as_markdown(result),
    }
    written = []
    for name, text in texts.items():
        write_text(folder / name, text)
        written.append(folder / name)
    return tuple(written)


def as_document(result: StudyResult) -> dict[str, Any]:
    """Return all that a study says, as JSON can hold it."""
    return {
        "seed": result.study.seed,
        "rule": result.study.rule,
        "questionnaires": _agreement(result),
        "clips": [
            {
                "clip": one.clip.id,
                "questionnaire": one.questionnaire,
                "track": one.clip.track,
                "driver": one.clip.driver,
                "kind": one.clip.kind,
                "sectors": list(one.clip.sectors),
                "seconds": round(one.clip.seconds, 3),
                "score": one.score,
                "raters": sum(one.scores),
                "scores": list(one.scores),
                "used": one.used,
                "metrics": dict(one.clip.metrics),
            }
            for one in result.clips
        ],
        "correlations": _correlations(result),
        "explained": list(result.summary.independence.ratios) if result.summary else [],
        "dropped": list(result.dropped),
        "notes": list(result.notes),
    }


def _agreement(result: StudyResult) -> _Rows:
    return [
        {
            "questionnaire": one.questionnaire.id,
            "track": one.questionnaire.track,
            "raters": one.raters,
            "inattentive": one.inattentive,
            "incomplete": one.incomplete,
            "kappa": None if one.agreement is None else one.agreement.kappa,
            "p": None if one.agreement is None else one.agreement.p_value,
            "agreement": None if one.agreement is None else one.agreement.words,
            "left_out": one.left_out or None,
        }
        for one in result.questionnaires
    ]


def _correlations(result: StudyResult) -> _Rows:
    """Return a row for each metric, the highest variance score first: the shape of Table II."""
    if result.summary is None:
        return []
    columns, scores = result.summary.correlations, result.summary.independence.scores
    known = [*scores, *(name for name in RATED_METRICS if name not in scores)]
    rows = []
    for name in known:
        row: dict[str, Any] = {"metric": name}
        for group, found in columns.items():
            if name not in found:
                break
            one = found[name]
            row |= {f"{group} cc": one and one.coefficient, f"{group} p": one and one.p_value}
            row |= {f"{group} n": one and one.count}
        else:
            rows.append(row | {"variance score": scores.get(name)})
    return rows


def as_markdown(result: StudyResult) -> str:
    """Return the results for people to read."""
    questionnaires = result.questionnaires
    used = sum(one.used for one in result.clips)
    lines = [
        "# Ratings of driving",
        "",
        f"{sum(one.raters for one in questionnaires)} raters of {len(questionnaires)} questionnaires count; "
        f"{sum(one.inattentive for one in questionnaires)} did not give a crash the lowest score and "
        f"{sum(one.incomplete for one in questionnaires)} left out a clip. Good and poor clips are told "
        f"apart by {result.study.rule}.",
        "",
        "## Agreement",
        "",
        *_markdown(
            ("questionnaire", "track", "raters", "left out", "κ", "p", "agreement", "clips used"),
            [
                (
                    one.questionnaire.id,
                    one.questionnaire.track or "mixed",
                    str(one.raters),
                    str(one.inattentive + one.incomplete),
                    "–" if one.agreement is None else f"{one.agreement.kappa:.2f}",
                    "–" if one.agreement is None else f"{one.agreement.p_value:.3f}",
                    "–" if one.agreement is None else one.agreement.words,
                    f"no: {one.left_out}" if one.left_out else "yes",
                )
                for one in questionnaires
            ],
        ),
        "",
        "## Scores",
        "",
        *_markdown(
            ("clips", "number", "mean score", "lowest", "highest"),
            [_row(result, kind) for kind in ("good", "poor")],
        ),
        "",
        f"## Metrics and scores, over {used} clips",
        "",
    ]
    if result.summary is not None:
        lines += [*_table_ii(result), "", "A star marks p < 0.05; VS is the variance score.", ""]
        if constant := result.summary.independence.constant:
            lines += [f"The same in all clips, so without a score: {', '.join(constant)}.", ""]
    if result.dropped:
        lines += [f"Not known of every clip: {', '.join(result.dropped)}.", ""]
    lines += [f"Note: {note}." for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def _row(result: StudyResult, kind: str) -> tuple[str, ...]:
    scores = [one.score for one in result.clips if one.clip.kind == kind]
    if not scores:
        return kind, "0", "–", "–", "–"
    return (
        kind,
        str(len(scores)),
        f"{sum(scores) / len(scores):.2f}",
        f"{min(scores):.2f}",
        f"{max(scores):.2f}",
    )


def _table_ii(result: StudyResult) -> list[str]:
    assert result.summary is not None
    groups = list(result.summary.correlations)
    head = ["metric", *(f"{group} {what}" for group in groups for what in ("cc", "p")), "VS"]
    rows = []
    for row in _correlations(result):
        cells = [row["metric"]]
        for group in groups:
            coefficient, p_value = row[f"{group} cc"], row[f"{group} p"]
            if coefficient is None:
                cells += ["N/A", "N/A"]
            else:
                cells += [f"{coefficient:+.2f}{'*' if p_value < 0.05 else ''}", f"{p_value:.2f}"]
        score = row["variance score"]
        rows.append((*cells, "–" if score is None else f"{score:.4f}"))
    return _markdown(head, rows)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _flat(clip: dict[str, Any]) -> dict[str, Any]:
    metrics = {name: clip["metrics"].get(name) for name in RATED_METRICS}
    told = {**clip, "sectors": " ".join(clip["sectors"]), "scores": " ".join(map(str, clip["scores"]))}
    return {**{name: value for name, value in told.items() if name != "metrics"}, **metrics}


def _csv(rows: Sequence[dict[str, Any]], first: str) -> str:
    """Return rows as CSV; without any, the name of the first column only."""
    columns = list(rows[0]) if rows else [first]
    return csv_text(columns, ([one.get(name) for name in columns] for one in rows))
